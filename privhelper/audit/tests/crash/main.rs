//! kill -9 after every single system call of a recorder that begins an epoch, records, signs and rotates: no record
//! that was acknowledged is lost, chain and seals hold, and nothing is taken for tampering.
//!
//! A program of its own without a test harness: the one that is killed is this one again, on one thread.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::as_conversions,
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::zombie_processes,
    reason = "a test stops at the first surprise, and this one tells its result itself"
)]

#[path = "../recorder/reader.rs"]
mod reader;

use nix::sys::ptrace::{self, Options};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::Pid;
use postern_audit::log::{AuditLog, Event, Limits, Record};
use reader::{epoch0, location, verified};
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};

fn main() {
    let mut arguments = std::env::args().skip(1);
    match (arguments.next().as_deref(), arguments.next()) {
        (Some("victim"), Some(directory)) => victim(Path::new(&directory)),
        // Another filter than this test's name: a harness would run nothing.
        (Some(filter), _) if !filter.starts_with('-') && !"crash".contains(filter) => {}
        _ => kill_everywhere(),
    }
}

fn acknowledge(seq: u64) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{seq}").unwrap();
    out.flush().unwrap();
}

/// All that a recorder does to its log, from the first start after `audit keygen` to the stop.
fn victim(directory: &Path) {
    std::io::stdin().read_exact(&mut [0]).unwrap();
    let audit = AuditLog::open(&location(directory)).unwrap();
    acknowledge(audit.durable(Event::Start, &Record::default()).unwrap());
    audit.sign().unwrap();
    audit.begin(&Record::default()).unwrap();
    acknowledge(audit.seq());
    audit.end(Event::End, &Record::default()).unwrap();
    acknowledge(audit.seq());
    audit.note(Event::Served, &Record::default()).unwrap();
    audit.limit(Limits { max_bytes: 1, ..Limits::default() });
    audit.tick();
    acknowledge(audit.seq());
    audit.begin(&Record::default()).unwrap();
    acknowledge(audit.seq());
    audit.stop().unwrap();
    acknowledge(audit.seq());
}

fn kill_everywhere() {
    let mut calls = 0;
    let mut most = 0;
    loop {
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        std::fs::write(location(directory.path()).next, epoch0().encode()).unwrap();
        let (ended, acknowledged) = killed_behind(calls, directory.path());
        check(directory.path(), acknowledged, calls);
        most = most.max(acknowledged);
        if ended {
            break;
        }
        calls += 1;
    }
    assert!(calls > 60 && most > 8, "{calls} system calls, {most} records");
    println!(
        "killed behind each of {calls} system calls; up to {most} records were acknowledged, none was lost"
    );
}

/// Runs the victim up to its n-th system call and kills it there; whether it ended before, and what it acknowledged last.
fn killed_behind(calls: usize, directory: &Path) -> (bool, u64) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .arg("victim")
        .arg(directory)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap());
    ptrace::seize(pid, Options::PTRACE_O_TRACESYSGOOD | Options::PTRACE_O_EXITKILL).unwrap();
    ptrace::interrupt(pid).unwrap();
    assert!(matches!(waitpid(pid, None).unwrap(), WaitStatus::PtraceEvent(..)));
    child.stdin.take().unwrap().write_all(b"1").unwrap();
    // Each call stops twice: before it and behind it. The state behind one is that before the next.
    let mut ended = false;
    for _ in 0..=calls * 2 {
        ptrace::syscall(pid, None).unwrap();
        match waitpid(pid, None).unwrap() {
            WaitStatus::PtraceSyscall(_) => {}
            WaitStatus::Exited(_, code) => {
                assert_eq!(code, 0);
                ended = true;
                break;
            }
            other @ (WaitStatus::Signaled(..)
            | WaitStatus::Stopped(..)
            | WaitStatus::PtraceEvent(..)
            | WaitStatus::Continued(_)
            | WaitStatus::StillAlive) => panic!("{other:?}"),
        }
    }
    if !ended {
        kill(pid, Signal::SIGKILL).unwrap();
        assert!(matches!(waitpid(pid, None).unwrap(), WaitStatus::Signaled(_, Signal::SIGKILL, _)));
    }
    let mut told = String::new();
    child.stdout.take().unwrap().read_to_string(&mut told).unwrap();
    (ended, told.lines().last().map_or(0, |seq| seq.parse().unwrap()))
}

/// The next recorder takes it up, and a reader finds everything.
fn check(directory: &Path, acknowledged: u64, calls: usize) {
    let audit = AuditLog::open(&location(directory)).unwrap();
    audit.durable(Event::Start, &Record::default()).unwrap();
    audit.stop().unwrap();
    let mut files: Vec<_> =
        std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "jsonl"));
    files.sort_by_key(|path| (path.ends_with("audit.jsonl"), path.clone()));
    let text: String = files.iter().map(|path| std::fs::read_to_string(path).unwrap()).collect();
    let lines: Vec<String> = text.lines().map(str::to_owned).collect();
    assert!(!text.contains("\"event\":\"tampered\""), "behind call {calls}: {text}");
    assert!(lines.len() as u64 > acknowledged, "behind call {calls}: {acknowledged} of {text}");
    // Every number from 1 on, each behind the one before.
    let reader = verified(&lines);
    assert!(lines[0].starts_with("{\"v\":1,\"seq\":1,") && reader.signatures > 0, "behind call {calls}");
    assert_eq!(std::fs::read_to_string(location(directory).next).unwrap(), epoch0().next().encode());
}

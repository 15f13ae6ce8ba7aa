//! Row 20: no thread is to be had. The order waits, and is done and recorded once there is one. Row 14: the broker has no
//! descriptor for a client, who waits too.
//!
//! `RLIMIT_NPROC` does not bind root: as root the test runs again as another user (getrlimit(2)).

use crate::approvals::ask;
use nix::unistd::{Uid, dup};
use postern_corridor::{CLIENT_UID, Processes, World, changing, eventually, request, write_request};
use postern_proto::root::v1 as root;
use postern_proto::v1::{Status, event::Kind};
use prost::Message;
use std::fs::{File, Permissions};
use std::io::Read;
use std::os::fd::IntoRawFd;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

/// Names the program of the corridor for the test that runs again.
const PROGRAM: &str = "POSTERN_CORRIDOR_PROGRAM";
/// A user of no account.
const NOBODY: u32 = 4_000_321;

/// Runs a test as a user whom `RLIMIT_NPROC` binds.
fn bound(test: &str, run: fn(&str)) {
    if let Ok(program) = std::env::var(PROGRAM) {
        return run(&program);
    }
    let program = env!("CARGO_BIN_EXE_corridor-program");
    if !Uid::effective().is_root() {
        return run(program);
    }
    // Below /run everything is protected.
    let home = tempfile::Builder::new().prefix("postern-").tempdir_in("/srv").unwrap();
    std::fs::set_permissions(home.path(), Permissions::from_mode(0o755)).unwrap();
    chown(home.path(), Some(NOBODY), Some(NOBODY)).unwrap();
    // The tree may be where that user cannot go: both programs are passed on as they are open here.
    let open = |path: &str| dup(File::open(path).unwrap()).unwrap().into_raw_fd();
    let (this, program) = (open("/proc/self/exe"), open(program));
    let status = Command::new(format!("/proc/self/fd/{this}"))
        .args(["--exact", test, "--nocapture"])
        .env(PROGRAM, format!("/proc/self/fd/{program}"))
        .env("HOME", home.path())
        .current_dir("/")
        .uid(NOBODY)
        .gid(NOBODY)
        .status();
    assert!(status.unwrap().success());
}

/// Whether a program may start threads: a limit of one of its user's is reached.
fn may_start_threads(processes: &Processes, name: &str, may: bool) {
    let pid = processes.pid(name);
    let limits = std::fs::read_to_string(format!("/proc/{pid}/limits")).unwrap();
    // Max processes SOFT HARD processes (proc(5)).
    let line = limits.lines().find(|line| line.starts_with("Max processes")).unwrap();
    let most = if may { line.split_whitespace().nth(3).unwrap() } else { "1" };
    let (pid, limit) = (pid.to_string(), format!("--nproc={most}:"));
    let status = Command::new("prlimit").args(["--pid", &pid, &limit]).status();
    assert!(status.unwrap().success());
}

/// The processor time that a process has used, in the kernel's ticks of 10 ms (`proc_pid_stat(5)`).
fn ticks(pid: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let after_name = stat.rsplit_once(')').unwrap().1;
    after_name.split_whitespace().skip(11).take(2).map(|ticks| ticks.parse::<u64>().unwrap()).sum()
}

/// Whether somebody waits in the backlog of this program's socket: nobody has the other end open, its inode is 0.
fn waits(processes: &Processes, name: &str) -> bool {
    let (socket, table) =
        (processes.world.text(&format!("{name}.sock")), std::fs::read_to_string("/proc/net/unix"));
    table.unwrap().lines().any(|line| {
        let words = line.split_whitespace().collect::<Vec<_>>();
        matches!(*words.as_slice(), [.., "0", path] if path == socket)
    })
}

fn events(processes: &Processes) -> Vec<&'static str> {
    let log = processes.log();
    let event = |line: &String| {
        ["begin", "end", "interrupted"]
            .into_iter()
            .find(|event| line.contains(&format!("\"event\":\"{event}\"")))
    };
    log.iter().filter_map(event).collect()
}

#[test]
fn an_approved_order_waits_for_a_thread_and_is_done_once() {
    bound("threads::an_approved_order_waits_for_a_thread_and_is_done_once", |program| {
        let world =
            World::new(|at| vec![root::Rule { decision: root::Decision::Ask.into(), ..changing(at) }]);
        let processes = Processes::new(program, world);
        let mut client = processes.connect(CLIENT_UID);
        let write = write_request(&processes.world.text("site/a"), b"x", "any");
        let (stream, waiting) = ask(&mut client, "Helper/FileWrite", &write);
        let mut operator = processes.operator();
        let (_, digest) = operator.show(&waiting.approval_id);
        may_start_threads(&processes, "files", false);
        let verdict = postern_proto::v1::Verdict::Approve;
        assert_eq!(operator.decide(&waiting.approval_id, &digest, verdict, ""), Ok(0));
        eventually("its order waits", || waits(&processes, "files"));
        assert_eq!(events(&processes), ["begin"]);
        may_start_threads(&processes, "files", true);
        assert_eq!(client.answer(stream).completed().status(), Status::Done);
        assert_eq!(events(&processes), ["begin", "end"]);
        assert!(processes.world.path("site/a").exists());
    });
}

#[test]
fn a_request_that_was_accepted_waits_for_a_thread_of_the_recorder_and_is_recorded() {
    let test = "threads::a_request_that_was_accepted_waits_for_a_thread_of_the_recorder_and_is_recorded";
    bound(test, |program| {
        let processes = Processes::new(program, World::new(|at| vec![changing(at)]));
        let write = |name: &str| write_request(&processes.world.text(&format!("site/{name}")), b"x", "any");
        let mut client = processes.connect(CLIENT_UID);
        assert_eq!(client.ask("Helper/FileWrite", &write("a")).completed().status(), Status::Done);
        may_start_threads(&processes, "recorder", false);
        // The one thread that it has in reserve serves the first.
        let streams =
            ["b", "c", "d"].map(|name| client.send("Helper/FileWrite", &write(name).encode_to_vec()));
        eventually("an order waits", || waits(&processes, "recorder"));
        may_start_threads(&processes, "recorder", true);
        let mut done = 0;
        for answer in client.answers(&streams) {
            assert_eq!(answer.completed().status(), Status::Done);
            done += 1;
        }
        assert_eq!(done, 3);
        eventually("all are recorded", || events(&processes).len() == 8);
    });
}

/// Only that these errors are waited for can be seen here: nothing makes accept(2) fail for one connection (`ECONNABORTED`) of
/// a Unix socket.
#[test]
fn a_client_waits_while_the_broker_has_no_descriptor_for_it_and_is_served_then() {
    let processes =
        Processes::new(env!("CARGO_BIN_EXE_corridor-program"), World::new(|at| vec![changing(at)]));
    processes.be_client();
    let helper = processes.world.path("helper.sock");
    let write =
        |name: &str| write_request(&processes.world.text(&format!("site/{name}")), name.as_bytes(), "any");
    let is_done = |answer| matches!(answer, Some(Kind::Completed(done)) if done.status() == Status::Done);
    assert!(is_done(request(&helper, "Helper/FileWrite", &write("before"))));
    let pid = processes.pid("broker");
    // Once the first client's thread and gateway have ended.
    let threads =
        || std::fs::read_dir(format!("/proc/{pid}/task")).unwrap().map(|thread| thread.unwrap().path());
    let is_client =
        |thread: PathBuf| std::fs::read_to_string(thread.join("comm")).is_ok_and(|name| name == "client\n");
    eventually("nobody is served", || !threads().any(is_client));
    let descriptors = || {
        let open = std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap();
        let mut open =
            open.filter_map(|fd| fd.ok()?.file_name().to_str()?.parse::<u32>().ok()).collect::<Vec<_>>();
        open.sort_unstable();
        open
    };
    // Also those of the gateway that has ended.
    eventually("no descriptor is closed any more", || {
        let before = descriptors();
        std::thread::sleep(Duration::from_millis(200));
        before == descriptors()
    });
    let open = descriptors();
    let first_free = (0..1 << 16).find(|fd| !open.contains(fd)).unwrap();
    let limit = |most: &str| {
        let status =
            Command::new("prlimit").args(["--pid", &pid.to_string(), &format!("--nofile={most}:")]).status();
        assert!(status.unwrap().success());
    };
    let limits = std::fs::read_to_string(format!("/proc/{pid}/limits")).unwrap();
    let soft = limits.lines().find(|line| line.starts_with("Max open files")).unwrap();
    let soft = soft.split_whitespace().nth(3).unwrap();
    limit(&first_free.to_string());
    // accept(2) has its descriptor before it waits: one more client is accepted, and no gateway can be had for it.
    let mut last = UnixStream::connect(&helper).unwrap();
    last.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    assert_eq!(last.read(&mut [0]).unwrap(), 0, "it is turned away");
    std::thread::scope(|scope| {
        let asked = scope.spawn(|| request(&helper, "Helper/FileWrite", &write("during")));
        eventually("the client waits", || waits(&processes, "helper"));
        let (used, started) = (ticks(pid), Instant::now());
        std::thread::sleep(Duration::from_secs(1));
        let (used, passed) = (ticks(pid) - used, started.elapsed().as_millis() / 10);
        assert!(u128::from(used) < passed / 5, "it tries again and again: {used} of {passed} ticks");
        assert!(waits(&processes, "helper") && !asked.is_finished(), "nobody is turned away");
        limit(soft);
        assert!(is_done(asked.join().unwrap()));
    });
    assert_eq!(processes.pid("broker"), pid, "it is the same process");
    assert_eq!(std::fs::read(processes.world.path("site/during")).unwrap(), b"during");
    assert_eq!(events(&processes), ["begin", "end", "begin", "end"]);
}

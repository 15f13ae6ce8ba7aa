//! `watch` tells what comes and goes, across restarts of the helper, until it is stopped.

use crate::approvals_support::{approval, expect, id, run};
use crate::support::{GOOD, Ran, TestHost, end, event, request};
use clap::Parser;
use nix::sys::signal::{Signal, raise};
use postern_admin::approvals::{self, Backoff, CommandResult, Screen};
use postern_admin::cli::{self, Cli};
use postern_admin::io::{Exit, Io};
use postern_admin::policy::apply::Format;
use postern_proto::v1::OperatorWatched;
use std::io::{self, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::thread;
use std::time::Duration;

const BACKOFF: Backoff = Backoff { first: Duration::from_millis(5), most: Duration::from_millis(20) };

fn watched(start: &str, ended: &str) -> Vec<u8> {
    event(&OperatorWatched { approval: Some(approval(&id(start))), ended: ended.to_owned() })
}

/// Keeps what is written, and stops the watcher once that holds `last` so many times.
struct Until {
    seen: Vec<u8>,
    last: (&'static str, usize),
    stopper: UnixStream,
}

impl Write for Until {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.seen.extend_from_slice(bytes);
        if String::from_utf8_lossy(&self.seen).matches(self.last.0).count() == self.last.1 {
            self.stopper.write_all(b"x")?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Watches until results or messages hold `last` so many times.
fn until(last: (&'static str, usize), watch: impl FnOnce(&UnixStream, &mut Io<'_>) -> CommandResult) -> Ran {
    let (stop, stopper) = UnixStream::pair().unwrap();
    let mut out = Until { seen: Vec::new(), last, stopper: stopper.try_clone().unwrap() };
    let mut err = Until { seen: Vec::new(), last, stopper };
    let exit = match watch(&stop, &mut Io { out: &mut out, err: &mut err, answers: None }) {
        Ok(exit) => exit,
        Err(stop) => panic!("{stop:?}"),
    };
    Ran { exit, out: String::from_utf8(out.seen).unwrap(), err: String::from_utf8(err.seen).unwrap() }
}

/// Each connection gets one of these.
fn watch(connections: Vec<Vec<Vec<u8>>>, last: (&'static str, usize), format: Format) -> Ran {
    let host = TestHost::new(GOOD);
    let listener = UnixListener::bind(&host.host.operator_socket).unwrap();
    let helper = thread::spawn(move || {
        let last = connections.len() - 1;
        for (number, frames) in connections.into_iter().enumerate() {
            let (mut stream, _) = listener.accept().unwrap();
            assert_eq!(request(&mut stream).unwrap().0, "Operator/Watch");
            stream.write_all(&frames.concat()).unwrap();
            if number == last {
                // Until the watcher leaves.
                assert_eq!(stream.read(&mut [0]).unwrap(), 0);
            }
        }
    });
    let ran = until(last, |stop, io| approvals::watch(&host.host, Screen::PIPE, format, BACKOFF, stop, io));
    helper.join().unwrap();
    ran
}

#[test]
fn prints_one_line_for_each_event_until_stopped() {
    let ran = watch(
        vec![vec![watched("aaaa", ""), watched("aaaa", "approval_expired")]],
        ("file.write", 2),
        Format::Text,
    );
    assert_eq!(ran.exit, Exit::Done);
    assert_eq!(
        ran.out,
        "2025-11-21 04:40:00 UTC  aaaa0000  waits until 2025-11-21 04:55:00 UTC, agreed 0/1  agent  file.write  /etc/nginx/conf.d/site.conf\n\
         2025-11-21 04:40:00 UTC  aaaa0000  approval_expired  agent  file.write  /etc/nginx/conf.d/site.conf\n"
    );
    assert!(ran.err.contains("postern-admin approve ID"), "{}", ran.err);
}

#[test]
fn connects_again_when_the_helper_restarts() {
    let cut = watched("aaaa", "");
    let connections = vec![
        vec![watched("aaaa", ""), cut[..20].to_vec()],
        vec![end(14, "stopping")],
        vec![],
        vec![end(0, "")],
        vec![watched("bbbb", "")],
    ];
    let ran = watch(connections, ("bbbb", 1), Format::Json);
    assert_eq!(ran.exit, Exit::Done);
    let ids: Vec<String> = ran
        .out
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
        .map(|event| event["approval"]["approval_id"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(ids, [id("aaaa"), id("bbbb")]);
    assert_eq!(ran.err.matches("connected again").count(), 4, "{}", ran.err);
}

#[test]
fn backs_off_while_the_recorder_does_not_listen() {
    let host = TestHost::new(GOOD);
    let listener = UnixListener::bind(&host.host.operator_socket).unwrap();
    let helper = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        request(&mut stream).unwrap();
    });
    let ran = until(("again in 20ms", 3), |stop, io| {
        approvals::watch(&host.host, Screen::PIPE, Format::Text, BACKOFF, stop, io)
    });
    helper.join().unwrap();
    assert_eq!(ran.exit, Exit::Done);
    for words in ["again in 5ms", "again in 10ms", "again in 20ms"] {
        assert!(ran.err.contains(words), "no {words} in {}", ran.err);
    }
    assert!(!ran.err.contains("again in 40ms"), "{}", ran.err);
}

#[test]
fn does_not_retry_after_a_refusal() {
    let ran = {
        let host = TestHost::new(GOOD);
        let helper = host.helper(vec![end(7, "denied: a client of the policy can be no operator")]);
        let (stop, _stopper) = UnixStream::pair().unwrap();
        let ran = run(|io| approvals::watch(&host.host, Screen::PIPE, Format::Text, BACKOFF, &stop, io));
        helper.join().unwrap();
        ran
    };
    expect(&ran, Exit::Refused, "can be no operator");
}

/// Ctrl-C comes when the first event is told.
#[derive(Default)]
struct Interrupting(Vec<u8>);

impl Write for Interrupting {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.is_empty() {
            // To this thread alone, as if it were the program's only one.
            raise(Signal::SIGINT)?;
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn an_interrupt_ends_the_command_after_a_complete_line() {
    let host = TestHost::new(GOOD);
    let listener = UnixListener::bind(&host.host.operator_socket).unwrap();
    let helper = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        request(&mut stream).unwrap();
        stream.write_all(&watched("aaaa", "")).unwrap();
        // Until the watcher leaves.
        assert_eq!(stream.read(&mut [0]).unwrap(), 0);
    });
    let (mut out, mut err) = (Interrupting::default(), Vec::new());
    let cli = Cli::parse_from(["postern-admin", "watch"]);
    let exit = cli::run(&cli, &host.host, &mut Io { out: &mut out, err: &mut err, answers: None }).unwrap();
    helper.join().unwrap();
    assert_eq!(exit, Exit::Done);
    let line = String::from_utf8(out.0).unwrap();
    assert!(line.contains("aaaa0000") && line.ends_with('\n'), "{line:?}");
}

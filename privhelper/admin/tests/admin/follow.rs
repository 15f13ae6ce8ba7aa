//! `audit show --follow` loses and repeats nothing, whatever is put away meanwhile.

use crate::log::{Log, lines, sample};
use crate::support::TestHost;
use clap::Parser;
use postern_admin::cli::{self, Cli};
use postern_admin::io::Io;
use serde_json::Value;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

/// Hands on every line, until nobody takes one.
struct Lines(Vec<u8>, Sender<String>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.extend_from_slice(bytes);
        while let Some(at) = self.0.iter().position(|byte| *byte == b'\n') {
            let line = String::from_utf8(self.0.drain(..=at).collect()).unwrap();
            self.1.send(line).map_err(|_| io::ErrorKind::BrokenPipe)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The numbers of the next so many records that are shown.
fn take(shown: &Receiver<String>, count: usize) -> Vec<u64> {
    let line = || shown.recv_timeout(Duration::from_secs(60)).expect("a record within a minute");
    (0..count).map(|_| serde_json::from_str::<Value>(&line()).unwrap()["seq"].as_u64().unwrap()).collect()
}

fn follow(host: &TestHost, options: &[&str], with: impl FnOnce(Receiver<String>)) {
    thread::scope(|scope| {
        let (send, receive) = channel();
        let words = [&["postern-admin", "audit", "show", "--json", "--follow"], options].concat();
        let cli = Cli::try_parse_from(words).unwrap();
        let follower = scope.spawn(move || {
            let (mut out, mut err) = (Lines(Vec::new(), send), Vec::new());
            let ended = cli::run(&cli, &host.host, &mut Io { out: &mut out, err: &mut err, answers: None });
            assert_eq!(ended.unwrap_err().kind(), io::ErrorKind::BrokenPipe);
        });
        with(receive);
        // Nobody reads any more: the next record ends it.
        append(host, b"{\"v\":1,\"seq\":99,\"event\":\"stop\",\"verb\":\"file.read\"}\n");
        follower.join().unwrap();
    });
}

fn append(host: &TestHost, bytes: &[u8]) {
    let path = host.host.log.join("audit.jsonl");
    OpenOptions::new().append(true).create(true).open(path).unwrap().write_all(bytes).unwrap();
}

#[test]
fn follow_shows_each_new_record_once_and_in_order_across_rotation() {
    let host = TestHost::new("");
    let mut log = sample();
    append(&host, &log.bytes);
    let mut add = |count: usize| {
        let from = log.bytes.len();
        for _ in 0..count {
            log.add("served", ",\"verb\":\"unit.status\"");
        }
        log.bytes[from..].to_vec()
    };
    follow(&host, &["--last", "2"], |shown| {
        assert_eq!(take(&shown, 2), [9, 10]);
        append(&host, &add(1));
        assert_eq!(take(&shown, 1), [11]);
        // Half a line is none yet.
        let line = add(1);
        append(&host, &line[..30]);
        append(&host, &line[30..]);
        assert_eq!(take(&shown, 1), [12]);
        // Put away, twice before anybody looks, with a record that was written just before.
        let at = |name: &str| host.host.log.join(name);
        append(&host, &add(1));
        fs::rename(at("audit.jsonl"), at("audit-000000000001.jsonl")).unwrap();
        append(&host, &add(2));
        fs::rename(at("audit.jsonl"), at("audit-000000000014.jsonl")).unwrap();
        append(&host, &add(2));
        assert_eq!(take(&shown, 5), [13, 14, 15, 16, 17]);
        append(&host, &add(1));
        assert_eq!(take(&shown, 1), [18]);
    });
}

#[test]
fn follow_continues_after_the_last_shown_record_when_the_log_is_truncated() {
    let host = TestHost::new("");
    let mut log = sample();
    append(&host, &log.bytes);
    follow(&host, &["--last", "1"], |shown| {
        assert_eq!(take(&shown, 1), [10]);
        let kept = lines(&log.bytes)[..3].concat();
        fs::write(host.host.log.join("audit.jsonl"), &kept).unwrap();
        let from = log.bytes.len();
        log.add("tampered", "");
        append(&host, &log.bytes[from..]);
        assert_eq!(take(&shown, 1), [11]);
    });
}

#[test]
fn follow_shows_only_records_that_match_the_filter() {
    let host = TestHost::new("");
    let mut log = Log::new();
    log.add("start", "");
    append(&host, &log.bytes);
    follow(&host, &["--verb", "file.read"], |shown| {
        let from = log.bytes.len();
        log.add("served", ",\"verb\":\"unit.status\"").add("served", ",\"verb\":\"file.read\"");
        append(&host, &log.bytes[from..]);
        assert_eq!(take(&shown, 1), [3]);
    });
}

//! Limits of child programs (time, output), and of concurrent apt simulations.

use crate::support::{World, transaction};
use postern_probe::ConcurrencyLimit;
use postern_probe::child::{Excess, run};
use postern_probe::concurrency::{RUNNING, WAITING};
use postern_proto::link::Kind;
use std::io;
use std::process::Command;
use std::time::{Duration, Instant};

const SHORT: Duration = Duration::from_millis(200);
const LONG: Duration = Duration::from_secs(30);

fn sh(script: &str, limit: Duration, most: usize, excess: Excess) -> io::Result<String> {
    let mut command = Command::new("/bin/sh");
    let output = run(command.args(["-c", script]), limit, most, excess)?;
    Ok(format!(
        "{} {}{}",
        output.status.code().unwrap_or(-1),
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    ))
}

#[test]
fn runs_a_program_to_its_end_with_both_outputs() {
    assert_eq!(sh("echo a; echo b >&2; exit 3", LONG, 100, Excess::Fail).unwrap(), "3 a\nb\n");
    let missing = run(&mut Command::new("/nonexistent"), LONG, 100, Excess::Fail).unwrap_err();
    assert_eq!(missing.kind(), io::ErrorKind::NotFound);
}

#[test]
fn stops_a_program_with_its_children_after_the_limit() {
    let directory = tempfile::tempdir().unwrap();
    let pid = directory.path().join("pid");
    for script in [
        format!("sleep 100 & echo $! > {}; wait", pid.display()),
        // Its outputs are closed.
        format!("exec >&- 2>&-; sleep 100 & echo $! > {}; wait", pid.display()),
    ] {
        let started = Instant::now();
        assert_eq!(sh(&script, SHORT, 100, Excess::Fail).unwrap_err().kind(), io::ErrorKind::TimedOut);
        assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
        let child = std::fs::read_to_string(&pid).unwrap();
        let stat = || std::fs::read_to_string(format!("/proc/{}/stat", child.trim())).unwrap_or_default();
        let is_gone = || stat().is_empty() || stat().contains(") Z ");
        let end = Instant::now() + Duration::from_secs(10);
        while !is_gone() && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(10));
        }
        assert!(is_gone(), "the child is still there: {}", stat());
    }
}

#[test]
fn output_beyond_the_limit_is_an_error_or_left_out() {
    let error = sh("yes | head -c 100000", LONG, 1000, Excess::Fail).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
    let text = sh("yes | head -c 100000; exit 0", LONG, 1000, Excess::Drop).unwrap();
    assert_eq!(text.len(), 1002);
}

#[test]
fn limits_running_and_queued_programs() {
    let limit = ConcurrencyLimit::default();
    let mut permits = (0..RUNNING).map(|_| limit.acquire(SHORT).unwrap()).collect::<Vec<_>>();
    assert!(limit.acquire(Duration::from_millis(10)).is_none(), "it does not wait for ever");
    let end = Instant::now() + LONG;
    let acquire = || {
        while limit.acquire(LONG).is_none() {
            assert!(Instant::now() < end, "a permit was released, and no waiting thread got it");
        }
    };
    std::thread::scope(|scope| {
        let waiting = (0..WAITING).map(|_| scope.spawn(acquire)).collect::<Vec<_>>();
        // With every place taken one more is refused at once; before that it waits a moment itself.
        loop {
            let asked = Instant::now();
            assert!(limit.acquire(SHORT).is_none());
            if asked.elapsed() < SHORT {
                break;
            }
            assert!(Instant::now() < end, "places to wait are not bounded");
        }
        permits.pop();
        // Each comes in as another leaves.
        for thread in waiting {
            thread.join().unwrap();
        }
    });
}

#[test]
fn units_are_answered_while_apt_is_slow() {
    let world = World::new(Vec::new());
    world.bus.unit("a.service", "active", &[]);
    let release = world.path("release");
    world.script("apt-get", &format!("while ! [ -e {} ]; do sleep 0.05; done", release.display()));
    let state = world.state();
    let mut frames = Vec::new();
    let question = transaction("package.install", &["hello"]);
    postern_proto::link::open(&mut frames, Kind::ProbePackages, &question).unwrap();
    let ask = || crate::support::exchange(&frames, |stream| state.serve_probe(stream));
    std::thread::scope(|scope| {
        let slow = (0..=RUNNING).map(|_| scope.spawn(ask)).collect::<Vec<_>>();
        let end = Instant::now() + LONG;
        while world.noted("apt-get", "argv").iter().filter(|word| *word == "-s").count() < RUNNING {
            assert!(Instant::now() < end, "apt is not asked");
            std::thread::sleep(Duration::from_millis(10));
        }
        assert_eq!(world.ask_unit("a.service", "stop").code(), "");
        assert_eq!(world.noted("apt-get", "argv").iter().filter(|word| *word == "-s").count(), RUNNING);
        std::fs::write(&release, "").unwrap();
        for thread in slow {
            assert_eq!(thread.join().unwrap().code(), "");
        }
    });
}

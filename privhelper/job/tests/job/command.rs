//! What a named command prints and how it ends, as events; and the outcome that root writes after it.

use crate::support::{Bed, ID, events, id, install};
use postern_job::{Ended, command, end};
use postern_proto::root::v1::{CommandJob, Job, JobEvent, JobKind, JobOutcome, Secret};
use postern_proto::v1::{Output, Stream};
use prost::Message;
use std::time::{Duration, Instant};

fn job(argv: &[&str]) -> Job {
    let argv = argv.iter().map(ToString::to_string).collect();
    let command = CommandJob {
        argv,
        env: vec!["SITE=a=b".to_owned()],
        output_bytes: 100_000,
        cwd: "/".to_owned(),
        secrets: Vec::new(),
    };
    Job { id: ID.to_owned(), kind: JobKind::Command.into(), command: Some(command), ..Job::default() }
}

fn script(text: &str) -> Job {
    job(&["/bin/sh", "-c", text])
}

/// All events but the last, and the outcome in it.
fn run(job: &Job) -> (Vec<JobEvent>, JobOutcome) {
    let mut output = Vec::new();
    command(job.encode_to_vec().as_slice(), &mut output).unwrap();
    let mut events = events(&output);
    let outcome = events.pop().unwrap().outcome.unwrap();
    (events, outcome)
}

fn printed(events: &[JobEvent], stream: Stream) -> Vec<u8> {
    let outputs = events.iter().filter_map(|event| event.output.as_ref());
    outputs.filter(|output| output.stream() == stream).flat_map(|output| output.data.clone()).collect()
}

#[test]
fn every_argument_is_one_argument_and_nothing_expands_it() {
    let mut argv = vec!["/bin/sh", "-c", "printf '<%s>' \"$@\"", "sh"];
    let hostile =
        ["a b", "$HOME", "${HOME}", "%i", "`id`", "$(id)", "; id", "*", "\\", "'", "\"", "key=a b", "\u{e9}"];
    argv.extend(hostile);
    let (events, outcome) = run(&job(&argv));
    let wanted = format!("<{}>", hostile.join("><"));
    assert_eq!(String::from_utf8(printed(&events, Stream::Stdout)).unwrap(), wanted);
    assert_eq!((outcome.code.as_str(), outcome.exit_code), ("", 0));
}

#[test]
fn a_command_finds_a_constant_environment_and_an_empty_standard_input() {
    let (events, _) = run(&script("env | sort; cat; readlink /proc/self/fd/0"));
    let text = String::from_utf8(printed(&events, Stream::Stdout)).unwrap();
    // PWD, SHLVL and _ are the shell's own.
    let own = ["PWD=", "SHLVL=", "_=", "OLDPWD="];
    let lines: Vec<&str> =
        text.lines().filter(|line| !own.iter().any(|name| line.starts_with(name))).collect();
    let path = "PATH=/usr/sbin:/usr/bin:/sbin:/bin";
    assert_eq!(lines, ["LC_ALL=C.UTF-8", "PAGER=cat", path, "SITE=a=b", "TERM=dumb", "/dev/null"]);
}

#[test]
fn both_outputs_are_kept_apart_with_every_byte_and_the_exit_code() {
    let (events, outcome) = run(&script("printf '\\377\\000out'; printf '\\376err' >&2; exit 7"));
    assert_eq!(printed(&events, Stream::Stdout), b"\xff\0out");
    assert_eq!(printed(&events, Stream::Stderr), b"\xfeerr");
    assert_eq!((outcome.code.as_str(), outcome.exit_code, outcome.signal), ("command_failed", 7, 0));
    assert_eq!((outcome.detail.as_str(), outcome.truncated), ("it ended with exit code 7", false));
    let (_, killed) = run(&script("kill -KILL $$"));
    assert_eq!((killed.code.as_str(), killed.exit_code, killed.signal), ("command_failed", 0, 9));
}

#[test]
fn what_is_beyond_the_limit_is_dropped_and_marked_and_does_not_stop_the_command() {
    let (events, outcome) = run(&script("head -c 1000000 /dev/zero; printf err >&2; exit 3"));
    assert_eq!(printed(&events, Stream::Stdout), vec![0; 100_000]);
    assert_eq!(printed(&events, Stream::Stderr), b"err", "each output has the whole limit");
    assert_eq!((outcome.exit_code, outcome.signal, outcome.truncated), (3, 0, true));
    let marked = events.iter().filter_map(|event| event.output.as_ref()).filter(|output| output.truncated);
    assert_eq!(marked.map(Output::stream).collect::<Vec<_>>(), [Stream::Stdout]);

    let (events, exact) = run(&script("head -c 100000 /dev/zero"));
    assert_eq!((printed(&events, Stream::Stdout).len(), exact.truncated), (100_000, false));
}

#[test]
fn a_child_that_holds_the_outputs_open_holds_nothing_up() {
    let began = Instant::now();
    let (events, outcome) = run(&script("sleep 20 & echo done"));
    assert_eq!((printed(&events, Stream::Stdout), outcome.code.as_str()), (b"done\n".to_vec(), ""));
    assert!(began.elapsed() < Duration::from_secs(10));
}

#[test]
fn what_cannot_be_started_is_an_outcome() {
    let (events, outcome) = run(&job(&["/nonexistent/program"]));
    assert_eq!((events.len(), outcome.code.as_str()), (0, "command_failed"));
    assert!(outcome.detail.starts_with("/nonexistent/program: No such file"), "{}", outcome.detail);
}

#[test]
fn a_record_that_does_not_hold_runs_nothing() {
    let bare = |argv: &[&str], env: &str| {
        let argv = argv.iter().map(ToString::to_string).collect();
        let command = CommandJob {
            argv,
            env: vec![env.to_owned()],
            output_bytes: 1,
            cwd: "/".to_owned(),
            secrets: Vec::new(),
        };
        Job { command: Some(command), ..job(&[]) }
    };
    let huge = CommandJob { output_bytes: u64::MAX, ..bare(&["/bin/true"], "A=b").command.unwrap() };
    for refused in [
        bare(&[], "A=b"),
        bare(&["true"], "A=b"),
        bare(&["/bin/echo", "a\0b"], "A=b"),
        bare(&["/bin/true"], "A"),
        bare(&["/bin/true"], "=b"),
        Job { command: Some(huge), ..job(&[]) },
        Job { command: None, ..job(&["/bin/true"]) },
        Job { kind: JobKind::Update.into(), ..job(&["/bin/true"]) },
        install(&["hello"]),
    ] {
        assert_eq!(run(&refused).1.code, "invalid_argument", "{refused:?}");
    }
    let bed = Bed::new();
    assert_eq!(bed.run(&job(&["/bin/true"])).code, "invalid_argument", "root runs no command itself");
    assert_eq!(bed.plan(&job(&["/bin/true"])).code, "invalid_argument");
}

fn ended(result: &str, code: &str, status: &str) -> Ended {
    Ended { result: result.to_owned(), code: code.to_owned(), status: status.to_owned() }
}

#[test]
fn the_outcome_is_the_last_event_or_what_pid_1_says() {
    let bed = Bed::new();
    bed.record(&script("printf out; exit 7"));
    let mut written = Vec::new();
    command(std::fs::read(bed.file("job.pb")).unwrap().as_slice(), &mut written).unwrap();
    std::fs::write(bed.file("events"), &written).unwrap();
    end(&bed.host, &id(), &ended("success", "exited", "0")).unwrap();
    assert_eq!((bed.outcome().code.as_str(), bed.outcome().exit_code), ("command_failed", 7));

    // Killed at its time limit: what it had printed stands there, and no outcome.
    written.truncate(written.len() - 3);
    std::fs::write(bed.file("events"), &written).unwrap();
    end(&bed.host, &id(), &ended("timeout", "killed", "TERM")).unwrap();
    assert_eq!(bed.outcome().code, "timeout");

    std::fs::remove_file(bed.file("events")).unwrap();
    end(&bed.host, &id(), &ended("exit-code", "exited", "217")).unwrap();
    let outcome = bed.outcome();
    assert_eq!(outcome.code, "command_failed");
    assert!(outcome.detail.ends_with("exit-code (exited 217)"), "{}", outcome.detail);
}

#[test]
fn no_other_jobs_outcome_is_written_after_a_unit() {
    let bed = Bed::new();
    bed.record(&install(&["hello"]));
    end(&bed.host, &id(), &ended("success", "exited", "0")).unwrap_err();
    assert!(!bed.file("outcome.pb").exists());
}

#[test]
fn a_command_that_printed_in_single_bytes_keeps_its_outcome() {
    let bed = Bed::new();
    let output = |data: &[u8]| postern_proto::v1::Output { data: data.to_vec(), ..Default::default() };
    let one = JobEvent { output: Some(output(b"x")), ..JobEvent::default() }.encode_to_vec();
    let last = JobEvent { outcome: Some(JobOutcome::default()), ..JobEvent::default() }.encode_to_vec();
    let framed = |event: &[u8]| [&u32::try_from(event.len()).unwrap().to_le_bytes()[..], event].concat();
    // 16 MiB may be printed, and a byte alone takes more than ten.
    let mut events = framed(&one).repeat(6 * 1024 * 1024);
    events.extend(framed(&last));
    bed.record(&script("exit 0"));
    std::fs::write(bed.file("events"), &events).unwrap();
    end(&bed.host, &id(), &ended("success", "exited", "0")).unwrap();
    assert_eq!(bed.outcome().code, "");
}

#[test]
fn a_secret_is_read_from_a_descriptor_and_stands_in_no_argument_or_variable() {
    let text = "cat \"$1\"; printf '|'; cat \"${2#key=}\" \"$1\"; printf '|%s|%s|' \"$1\" \"$2\"; \
                tr '\\0' '\\n' < /proc/self/cmdline; tr '\\0' '\\n' < /proc/$$/cmdline; env; \
                echo no > \"$1\" || printf sealed";
    let mut job = job(&["/bin/sh", "-c", text, "sh", "(secret)", "key=(secret)"]);
    let secret = |place, value: &[u8]| Secret { place, value: value.to_vec() };
    job.command.as_mut().unwrap().secrets = vec![secret(4, b"hunter2\n\xff"), secret(5, b"-other")];
    let (events, outcome) = run(&job);
    let out = String::from_utf8_lossy(&printed(&events, Stream::Stdout)).into_owned();
    assert_eq!(outcome.code, "", "{out}");
    let mut parts = out.splitn(5, '|');
    assert_eq!(parts.next(), Some("hunter2\n\u{fffd}"));
    assert_eq!(parts.next(), Some("-otherhunter2\n\u{fffd}"), "also twice, and by the program's children");
    let number = |part: Option<&str>, key: &str| part?.strip_prefix(key)?.parse::<u32>().ok();
    assert!(number(parts.next(), "/dev/fd/").is_some() && number(parts.next(), "key=/dev/fd/").is_some());
    let rest = parts.next().unwrap();
    assert!(rest.ends_with("sealed") && !rest.contains("hunter2") && !rest.contains("other"), "{rest}");
}

#[test]
fn a_secret_without_a_place_runs_nothing() {
    for (place, argument) in [(2, "(secret)"), (1, "(secret) "), (1, "x"), (u32::MAX, "(secret)")] {
        let mut job = job(&["/bin/echo", argument]);
        job.command.as_mut().unwrap().secrets = vec![Secret { place, value: b"hunter2".to_vec() }];
        let (events, outcome) = run(&job);
        assert_eq!((outcome.code.as_str(), events.len()), ("command_failed", 0), "{place} {argument:?}");
        assert!(!outcome.detail.contains("hunter2"));
    }
}

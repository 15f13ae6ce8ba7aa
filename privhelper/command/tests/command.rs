//! Events and outcome of a named command.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use postern_command::command;
use postern_proto::root::v1::{CommandJob, JobEvent, JobOutcome, Secret};
use postern_proto::v1::{Output, Stream};
use prost::Message;
use std::time::{Duration, Instant};

fn job(argv: &[&str]) -> CommandJob {
    let argv = argv.iter().map(ToString::to_string).collect();
    CommandJob {
        argv,
        env: vec!["SITE=a=b".to_owned()],
        output_bytes: 100_000,
        cwd: "/".to_owned(),
        secrets: Vec::new(),
    }
}

fn script(text: &str) -> CommandJob {
    job(&["/bin/sh", "-c", text])
}

fn events(mut bytes: &[u8]) -> Vec<JobEvent> {
    let mut events = Vec::new();
    while let Some((len, rest)) = bytes.split_first_chunk::<4>() {
        let (message, rest) = rest.split_at(u32::from_le_bytes(*len).try_into().unwrap());
        events.push(JobEvent::decode(message).unwrap());
        bytes = rest;
    }
    assert!(bytes.is_empty());
    events
}

/// All events but the last, and the outcome in it.
fn run(job: &CommandJob) -> (Vec<JobEvent>, JobOutcome) {
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
fn passes_each_argument_literally() {
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
fn gives_a_constant_environment_and_empty_stdin() {
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
fn keeps_stdout_stderr_and_exit_code_apart() {
    let (events, outcome) = run(&script("printf '\\377\\000out'; printf '\\376err' >&2; exit 7"));
    assert_eq!(printed(&events, Stream::Stdout), b"\xff\0out");
    assert_eq!(printed(&events, Stream::Stderr), b"\xfeerr");
    assert_eq!((outcome.code.as_str(), outcome.exit_code, outcome.signal), ("command_failed", 7, 0));
    assert_eq!((outcome.detail.as_str(), outcome.truncated), ("it ended with exit code 7", false));
    let (_, killed) = run(&script("kill -KILL $$"));
    assert_eq!((killed.code.as_str(), killed.exit_code, killed.signal), ("command_failed", 0, 9));
}

#[test]
fn drops_and_marks_output_beyond_the_limit() {
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
fn a_child_that_keeps_the_output_open_does_not_delay_the_end() {
    let began = Instant::now();
    let (events, outcome) = run(&script("sleep 20 & echo done"));
    assert_eq!((printed(&events, Stream::Stdout), outcome.code.as_str()), (b"done\n".to_vec(), ""));
    assert!(began.elapsed() < Duration::from_secs(10));
}

#[test]
fn reports_a_program_that_cannot_start() {
    let (events, outcome) = run(&job(&["/nonexistent/program"]));
    assert_eq!((events.len(), outcome.code.as_str()), (0, "command_failed"));
    assert!(outcome.detail.starts_with("/nonexistent/program: No such file"), "{}", outcome.detail);
}

#[test]
fn rejects_a_relative_program_and_a_damaged_record() {
    assert_eq!(run(&job(&["true"])).1.detail, "the record names no program");
    assert_eq!(run(&job(&[])).1.detail, "the record names no program");
    let mut output = Vec::new();
    command(&b"\x0a\xff"[..], &mut output).unwrap();
    assert_eq!(events(&output).pop().unwrap().outcome.unwrap().detail, "the record is damaged");
}

#[test]
fn passes_secrets_by_sealed_descriptor_only() {
    let text = "cat \"$1\"; printf '|'; cat \"${2#key=}\" \"$1\"; printf '|%s|%s|' \"$1\" \"$2\"; \
                tr '\\0' '\\n' < /proc/self/cmdline; tr '\\0' '\\n' < /proc/$$/cmdline; env; \
                echo no > \"$1\" || printf sealed";
    let mut job = job(&["/bin/sh", "-c", text, "sh", "(secret)", "key=(secret)"]);
    let secret = |place, value: &[u8]| Secret { place, value: value.to_vec() };
    job.secrets = vec![secret(4, b"hunter2\n\xff"), secret(5, b"-other")];
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
fn rejects_a_secret_without_its_argument() {
    for (place, argument) in [(2, "(secret)"), (1, "(secret) "), (1, "x"), (u32::MAX, "(secret)")] {
        let mut job = job(&["/bin/echo", argument]);
        job.secrets = vec![Secret { place, value: b"hunter2".to_vec() }];
        let (events, outcome) = run(&job);
        assert_eq!((outcome.code.as_str(), events.len()), ("command_failed", 0), "{place} {argument:?}");
        assert!(!outcome.detail.contains("hunter2"));
    }
}

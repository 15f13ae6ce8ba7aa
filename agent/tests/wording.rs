//! Messages about failures: the cause, once, in words that a person knows.

mod common;

use common::{Place, Play, completed, ended};
use postern_agent::Exit;
use postern_proto::v1::{self, Status};

/// A unit that did not start, as the helper tells of it.
fn failed(result: &str, exit_status: i32) -> Play {
    let unit = v1::UnitInfo {
        id: "nginx.service".into(),
        active: "failed".into(),
        sub: "failed".into(),
        result: result.into(),
        exit_status,
        ..v1::UnitInfo::default()
    };
    Play::Events(vec![completed(v1::Completed {
        status: Status::Failed.into(),
        code: "unit_failed".into(),
        message: format!("Job for nginx.service failed. (result {result}, exit status {exit_status})"),
        unit: Some(unit),
        ..v1::Completed::default()
    })])
}

#[tokio::test]
async fn unit_failure_is_told_in_words_and_never_as_exit_status_0() {
    for (result, status, words) in [
        (
            "exit-code",
            0,
            "a process beside the main one, such as that of ExecStartPre=, exited with an error",
        ),
        ("exit-code", 3, "its main process exited with status 3"),
        ("timeout", 0, "it did not start or stop in time"),
        ("oom-kill", 9, "the kernel killed it for want of memory"),
        ("success", 0, ""),
    ] {
        let place = Place::new();
        place.helper(vec![failed(result, status), failed(result, status)]);
        place.serve();
        let typed = place.run(&["service", "start", "nginx"]).await;
        let in_task = place.run(&["run", "start nginx"]).await;
        for ran in [typed, in_task] {
            assert_eq!(ran.exit, Exit::Failed, "{ran:?}");
            let why = if words.is_empty() { String::new() } else { format!(": {words}") };
            let line = format!("unit_failed: Job for nginx.service failed{why}");
            assert!(ran.err.lines().any(|said| said.ends_with(&line)), "{line}: {ran:?}");
            assert!(!ran.err.contains("exit status") && !ran.err.contains("exit-code"), "{ran:?}");
        }
    }
}

#[tokio::test]
async fn number_of_seconds_stands_once_in_a_refusal() {
    for (message, times) in
        [("too many requests of this user; ask again in 52 s", 1), ("the rule's rate is used up", 1)]
    {
        let place = Place::new();
        let refused = v1::Refused {
            code: "rate_limited".into(),
            message: message.into(),
            retry_after_s: 52,
            ..v1::Refused::default()
        };
        place.helper(vec![Play::Events(vec![v1::event::Kind::Refused(refused)])]);
        place.serve();
        let ran = place.run(&["service", "start", "nginx"]).await;
        assert_eq!(ran.err.matches("52").count(), times, "{ran:?}");
    }
}

#[tokio::test]
async fn steps_are_counted_out_of_a_total_only_where_it_is_known() {
    let place = Place::new();
    let done = || Play::Events(vec![ended(Status::Done, "")]);
    place.helper(vec![done(), done(), done(), done()]);
    place.serve();
    let ran = place.run(&["run", "start nginx, stop apache2"]).await;
    assert!(ran.err.contains("[2/2] stop apache2.service"), "{ran:?}");
    let plan = place.path("plan.json");
    let text = r#"{"plan_type": "command_plan", "goal": "nginx", "commands": [
        {"tool": "service", "args": {"action": "start", "name": "nginx"}, "purpose": "x"},
        {"tool": "service", "args": {"action": "stop", "name": "apache2"}, "purpose": "y"}]}"#;
    std::fs::write(&plan, text).unwrap();
    let ran = place.run(&["run", "--plan", plan.to_str().unwrap()]).await;
    assert!(ran.err.contains("[2] stop apache2") && !ran.err.contains("/2]"), "{ran:?}");
}

#[tokio::test]
async fn an_unknown_command_names_the_nearest_one_and_lists_all() {
    let place = Place::new();
    let ran = place.run(&["tsaks"]).await;
    assert_eq!(ran.exit, postern_agent::Exit::Usage, "{ran:?}");
    assert!(
        ran.err.contains("unknown command \"tsaks\": did you mean `tasks`? (permitted: run, plan, tasks, "),
        "{ran:?}"
    );
    assert!(!ran.err.contains("tell-operators"), "what is hidden is no command of a person's: {ran:?}");
}

/// Texts, codes and exit status are the same in every locale: scripts and logs rely on them.
#[test]
#[expect(clippy::disallowed_methods, reason = "tests start programs")]
fn texts_are_english_in_every_locale() {
    let ran = |locale: &str, args: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_postern"));
        command.args(args).env("LANG", locale).env("LC_ALL", locale).env("LANGUAGE", &locale[..2]);
        let output = command.output().expect("postern starts");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    for (args, words) in [
        (&["--help"][..], "Administers this host"),
        (&["service", "--help"], "Units of systemd"),
        (&["packag", "install", "x"], "unknown command"),
        (&["service", "start", "a b"], "postern: "),
    ] {
        let english = ran("en_US.UTF-8", args);
        assert!(format!("{}{}", english.1, english.2).contains(words), "{args:?}: {english:?}");
        assert_eq!(ran("de_DE.UTF-8", args), english, "{args:?}");
        assert_eq!(ran("ja_JP.UTF-8", args), english, "{args:?}");
    }
}

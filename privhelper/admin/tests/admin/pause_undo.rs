//! `pause`, `resume` and `undo`: what goes on is named, and nothing is undone that was not shown.

use crate::approvals_support::{Typist, expect, run};
use crate::support::{FakeHelper, GOOD, Ran, TestHost, end, event};
use clap::Parser;
use postern_admin::approvals::{self, UndoArgs};
use postern_admin::io::Exit;
use postern_proto::v1::{
    OperatorPauseRequest, OperatorPaused, OperatorResumed, OperatorUndoRequest, OperatorUndone, Running,
};
use prost::Message;

#[test]
fn pause_lists_the_requests_that_still_run() {
    let host = TestHost::new(GOOD);
    let running = Running {
        request_id: "019aa000-0000-7000-8000-000000000001".to_owned(),
        uid: 990,
        verb: "package.install".to_owned(),
        since_unix_s: 1_763_700_000,
    };
    let paused = OperatorPaused { running: vec![running] };
    let helper = host.answering(move |method, _| match method {
        "Operator/Pause" => vec![event(&paused), end(0, "")],
        _ => vec![event(&OperatorResumed {}), end(0, "")],
    });
    let ran = host.run(&["pause", "--reason", "an incident"]);
    expect(&ran, Exit::Done, "1 request begun before and still running:");
    expect(
        &ran,
        Exit::Done,
        "019aa000-0000-7000-8000-000000000001  package.install  uid 990  since 2025-11-21 04:40:00 UTC",
    );
    expect(&host.run(&["resume"]), Exit::Done, "resumed");
    expect(&host.run(&["pause", "--reason", "a\nb"]), Exit::Usage, "control characters");
    let calls = helper.finish();
    assert_eq!(OperatorPauseRequest::decode(calls[0].1.as_slice()).unwrap().reason, "an incident");
    assert_eq!(calls[1].0, "Operator/Resume");
    assert_eq!(calls.len(), 2);
}

fn undone(id: &str, code: &str) -> OperatorUndone {
    OperatorUndone {
        request_id: id.to_owned(),
        uid: 990,
        verb: "file.write".to_owned(),
        target: "/srv/x".to_owned(),
        code: code.to_owned(),
        message: if code.is_empty() { String::new() } else { "it was changed since".to_owned() },
        ..OperatorUndone::default()
    }
}

/// A helper that lists these for a dry run, and undoes those that are asked for, but for `stuck`.
fn undoing(host: &TestHost, listed: &[&str], stuck: &'static str) -> FakeHelper {
    let listed: Vec<String> = listed.iter().map(ToString::to_string).collect();
    host.answering(move |method, body| {
        assert_eq!(method, "Operator/Undo");
        let request = OperatorUndoRequest::decode(body).unwrap();
        let wanted = if request.request_id.is_empty() { listed.clone() } else { vec![request.request_id] };
        let mut frames = Vec::new();
        for id in wanted {
            let is_stuck = id == stuck && !request.dry_run;
            frames.push(event(&undone(&id, if is_stuck { "undo_conflict" } else { "" })));
            if is_stuck {
                break;
            }
        }
        frames.push(end(0, ""));
        frames
    })
}

fn requests(helper: FakeHelper) -> Vec<OperatorUndoRequest> {
    let calls = helper.finish();
    calls.iter().map(|(_, body)| OperatorUndoRequest::decode(body.as_slice()).unwrap()).collect()
}

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    undo: UndoArgs,
}

fn ask(host: &TestHost, args: &[&str], answer: &str) -> (Ran, String) {
    let line = Line::parse_from(std::iter::once("undo").chain(args.iter().copied()));
    let mut person = Typist::new(|_| answer.to_owned());
    let ran = run(|io| approvals::undo(&host.host, &line.undo, 1_763_703_600, Some(&mut person), io));
    (ran, person.seen)
}

#[test]
fn a_script_undoes_all_of_a_task_at_once() {
    let host = TestHost::new(GOOD);
    for (listed, stuck, exit, words) in [
        (&["c", "b", "a"][..], "", Exit::Done, "undone  a  uid 990  file.write  /srv/x\n"),
        (
            &["c", "b", "a"],
            "b",
            Exit::Partly,
            "not undone, nor anything older  b  uid 990  file.write  /srv/x: undo_conflict",
        ),
        (&["c", "b"], "c", Exit::Failed, "undo_conflict"),
        (&[], "", Exit::Done, "there is nothing to undo"),
    ] {
        let helper = undoing(&host, listed, stuck);
        let ran = host.run(&["undo", "--task", "t1", "--yes"]);
        expect(&ran, exit, words);
        let sent = requests(helper);
        assert_eq!(sent, [OperatorUndoRequest { task: "t1".to_owned(), ..OperatorUndoRequest::default() }]);
    }
}

#[test]
fn a_dry_run_of_undo_changes_nothing_and_does_not_prompt() {
    let host = TestHost::new(GOOD);
    let helper = undoing(&host, &["b", "a"], "");
    expect(&host.run(&["undo", "--task", "t1", "--dry-run"]), Exit::Done, "would be undone  b");
    expect(&host.run(&["undo", "--task", "t1", "--dry-run", "--yes"]), Exit::Done, "would be undone  a");
    assert!(requests(helper).iter().all(|request| request.dry_run));
}

#[test]
fn undo_runs_exactly_the_requests_that_were_listed() {
    let host = TestHost::new(GOOD);
    let helper = undoing(&host, &["c", "b", "a"], "b");
    let (ran, seen) = ask(&host, &["--since", "1h"], "y");
    expect(&ran, Exit::Partly, "undone  c");
    expect(&ran, Exit::Partly, "nor anything older  b");
    assert!(seen.contains("    undo | c  uid 990  file.write  /srv/x\n"), "{seen}");
    assert!(seen.ends_with("Undo 3 requests, newest first, as listed above? [y/N] "), "{seen}");
    let sent = requests(helper);
    assert_eq!((sent[0].dry_run, sent[0].since_unix_s), (true, 1_763_700_000));
    let then: Vec<_> =
        sent[1..].iter().map(|request| (request.request_id.as_str(), request.dry_run)).collect();
    assert_eq!(then, [("c", false), ("b", false)]);
}

#[test]
fn undo_without_confirmation_changes_nothing() {
    let host = TestHost::new(GOOD);
    for answer in ["", "n", "sure"] {
        let helper = undoing(&host, &["a"], "");
        expect(&ask(&host, &["a"], answer).0, Exit::NotApproved, "nothing was undone");
        assert!(requests(helper).iter().all(|request| request.dry_run), "{answer}");
    }
    let helper = undoing(&host, &["a"], "");
    expect(&host.run(&["undo", "a"]), Exit::Usage, "there is no terminal to ask on");
    expect(&host.run(&["undo", "--since", "soon", "--yes"]), Exit::Usage, "--since");
    assert_eq!(requests(helper), []);
}

#[test]
fn a_lost_connection_during_undo_is_a_failure() {
    let host = TestHost::new(GOOD);
    let helper = host.helper(vec![event(&undone("b", ""))]);
    let ran = host.run(&["undo", "--task", "t1", "--yes"]);
    helper.join().unwrap();
    expect(&ran, Exit::Failed, "ends too early");
    expect(&ran, Exit::Failed, "undone  b");
}

//! How a task ends: by what its calls came to, whatever the model says of them.

use crate::common::{Place, Play, Ran, completed, ended, refused, unit};
use crate::server::{self, Server};
use crate::tasks::{calls, configure};
use postern_agent::Exit;
use postern_proto::v1::{self, Status};
use serde_json::{Value, json};

fn finish(outcome: &str, summary: &str) -> server::Play {
    calls("finish", &json!({ "outcome": outcome, "summary": summary }))
}

fn install(name: &str) -> server::Play {
    calls("pkg_install", &json!({ "name": name }))
}

fn service(action: &str) -> server::Play {
    calls("service", &json!({ "action": action, "name": "nginx" }))
}

fn done() -> Play {
    Play::Events(vec![ended(Status::Done, "")])
}

fn no_grant() -> Play {
    Play::Events(vec![refused("no_grant")])
}

fn failed(code: &str) -> Play {
    Play::Events(vec![ended(Status::Failed, code)])
}

/// Runs a task whose model calls these; the helper answers the first request, for what is granted, by itself.
async fn run(words: &str, model: Vec<server::Play>, helper: Vec<Play>) -> Ran {
    let server = Server::start(model).await;
    let place = Place::new();
    configure(&place, &server);
    let _helper = place.helper([done()].into_iter().chain(helper).collect());
    place.serve();
    place.run(&["run", words, "--json"]).await
}

fn status(ran: &Ran) -> Value {
    ran.json()["status"].clone()
}

fn record(ran: &Ran) -> String {
    let summary = ran.json()["summary"].as_str().unwrap().to_owned();
    let (_, record) = summary.rsplit_once("\nPostern's record: ").expect(&summary);
    record.to_owned()
}

#[tokio::test]
async fn refused_change_before_successful_look_is_refused() {
    let model = vec![
        install("nginx"),
        service("status"),
        finish(
            "done",
            "I installed nginx and restarted it.\nPostern's record: changed: package.install nginx",
        ),
    ];
    let looked = Play::Events(vec![unit(Status::Done, "nginx.service", "active", "running")]);
    let ran = run("install nginx", model, vec![no_grant(), looked]).await;
    assert_eq!((ran.exit, status(&ran)), (Exit::Refused, json!("refused")), "{ran:?}");
    assert_eq!(record(&ran), "nothing was changed. NOT done: install nginx (refused: no_grant)");
    let summary = ran.json()["summary"].to_string();
    assert_eq!(
        summary.matches("Postern's record:").count(),
        1,
        "the model cannot write that line: {summary}"
    );
}

/// The policy says of the command that it changes nothing: one that runs is no change, one that fails is nothing undone.
#[tokio::test]
async fn a_command_without_effect_is_neither_a_change_nor_not_done() {
    let command = || calls("run_command", &json!({ "name": "queue", "params": {} }));
    let accepted = || {
        let decision = v1::Decision::Allow.into();
        v1::event::Kind::Accepted(v1::Accepted {
            decision,
            rule: "look".into(),
            attached: false,
            no_effect: true,
        })
    };
    for (end, is_ok) in [(ended(Status::Done, ""), true), (ended(Status::Failed, "command_failed"), false)] {
        let model = vec![command(), finish("answered", "the queue is empty")];
        let ran = run("what is in the queue?", model, vec![Play::Events(vec![accepted(), end])]).await;
        assert_eq!((ran.exit, status(&ran)), (Exit::Done, json!("completed")), "{is_ok} {ran:?}");
        assert_eq!(record(&ran), "nothing was changed", "{is_ok}");
        assert_eq!(ran.json()["changes"], json!([]));
    }
    let model = vec![command(), finish("answered", "it did not run")];
    let plain = run("what is in the queue?", model, vec![failed("command_failed")]).await;
    assert!(record(&plain).contains("NOT done"), "{plain:?}");
}

#[tokio::test]
async fn refused_change_beside_another_successful_one_is_partial() {
    let model = vec![install("nginx"), install("nginx-light"), finish("done", "nginx runs")];
    let ran = run("install a small nginx", model, vec![no_grant(), done()]).await;
    assert_eq!((ran.exit, status(&ran)), (Exit::Partly, json!("partial")), "{ran:?}");
    assert_eq!(
        record(&ran),
        "changed: package.install nginx-light. NOT done: install nginx (refused: no_grant)"
    );
}

#[tokio::test]
async fn denied_change_before_a_success_is_partial() {
    let model = vec![service("stop"), install("nginx-light"), finish("done", "both done")];
    let ran = run("stop nginx, install nginx-light", model, vec![failed("not_approved"), done()]).await;
    assert_eq!((ran.exit, status(&ran)), (Exit::Partly, json!("partial")), "{ran:?}");
    assert!(record(&ran).ends_with("NOT done: stop nginx (refused: not_approved)"), "{ran:?}");
}

#[tokio::test]
async fn change_that_succeeds_later_for_the_same_target_is_not_told_as_not_done() {
    let command =
        |parameters: Value| calls("run_command", &json!({ "name": "pg-hba-allow", "params": parameters }));
    let vectors: Vec<(Vec<server::Play>, Vec<Play>, &str)> = vec![
        (
            vec![install("nginx=1"), install("nginx")],
            vec![failed("not_found"), done()],
            "package.install nginx",
        ),
        (
            vec![service("reload"), service("restart")],
            vec![failed("unit_failed"), done()],
            "unit.restart nginx.service",
        ),
        (
            vec![command(json!({ "cidr": "ten" })), command(json!({ "cidr": "10.0.0.0/8" }))],
            vec![failed("invalid_argument"), done()],
            "command.run pg-hba-allow",
        ),
        (
            vec![command(json!({ "cidr": "10.0.0.0/8" })), command(json!({ "cidr": "10.0.0.0/8" }))],
            vec![failed("command_failed"), done()],
            "command.run pg-hba-allow",
        ),
    ];
    for (mut model, helper, changed) in vectors {
        model.push(finish("done", "done"));
        let ran = run("do it", model, helper).await;
        assert_eq!((ran.exit, status(&ran)), (Exit::Done, json!("completed")), "{changed}: {ran:?}");
        assert_eq!(record(&ran), format!("changed: {changed}"));
        assert!(!ran.json()["warnings"].to_string().contains("not done"), "{ran:?}");
    }
}

#[tokio::test]
async fn success_of_another_target_does_not_strike_a_failure_out() {
    let user = |name: &str| calls("run_command", &json!({ "name": "add-user", "params": { "name": name } }));
    let vectors: Vec<(Vec<server::Play>, &str)> = vec![
        (vec![user("alice"), user("bob")], "run add-user name=alice"),
        (vec![install("apache2"), install("nginx")], "install apache2"),
        (vec![service("restart"), service("reload")], "restart nginx"),
        (vec![service("stop"), service("disable")], "stop nginx"),
    ];
    for (mut model, open) in vectors {
        model.push(finish("done", "done"));
        let ran = run("do both", model, vec![failed("command_failed"), done()]).await;
        assert_eq!((ran.exit, status(&ran)), (Exit::Partly, json!("partial")), "{open}: {ran:?}");
        let end = format!("NOT done: {open} (command_failed)");
        assert!(record(&ran).ends_with(&end), "{open}: {}", record(&ran));
    }
}

#[tokio::test]
async fn failed_looks_are_never_told_as_not_done() {
    let read = calls("read_file", &json!({ "path": "/etc/shadow" }));
    let model = vec![read, service("restart"), finish("done", "restarted")];
    let ran = run("restart nginx", model, vec![no_grant(), done()]).await;
    assert_eq!((ran.exit, status(&ran)), (Exit::Done, json!("completed")), "{ran:?}");
    assert_eq!(record(&ran), "changed: unit.restart nginx.service");
    assert_eq!(ran.json()["warnings"], json!(["1 succeeded, 1 failed"]));
}

#[tokio::test]
async fn finish_without_any_call_fails_unless_it_answers_a_question() {
    for (words, outcome, exit) in [
        ("restart nginx", "done", Exit::Failed),
        ("restart nginx", "answered", Exit::Failed),
        ("what is a reverse proxy?", "done", Exit::Failed),
        ("what is a reverse proxy?", "answered", Exit::Done),
        ("explain what a reverse proxy is", "answered", Exit::Done),
    ] {
        let ran = run(words, vec![finish(outcome, "nginx was restarted")], Vec::new()).await;
        assert_eq!(ran.exit, exit, "{words} {outcome}: {ran:?}");
        assert_eq!(record(&ran), "nothing was changed");
    }
}

#[tokio::test]
async fn the_worse_of_the_model_s_outcome_and_the_record_counts() {
    for (outcome, helper, exit, expected) in [
        ("done", done(), Exit::Done, "completed"),
        ("answered", done(), Exit::Done, "completed"),
        ("partly", done(), Exit::Partly, "partial"),
        ("not_done", done(), Exit::Partly, "partial"),
        ("done", no_grant(), Exit::Refused, "refused"),
        ("partly", no_grant(), Exit::Refused, "refused"),
        ("done", failed("unit_failed"), Exit::Failed, "failed"),
        ("not_done", failed("unit_failed"), Exit::Failed, "failed"),
    ] {
        let ran =
            run("restart nginx", vec![service("restart"), finish(outcome, "so it is")], vec![helper]).await;
        assert_eq!((ran.exit, status(&ran)), (exit, json!(expected)), "{outcome}: {ran:?}");
    }
    let ran =
        run("is nginx up?", vec![service("status"), finish("not_done", "I cannot see it")], vec![done()])
            .await;
    assert_eq!((ran.exit, status(&ran)), (Exit::Failed, json!("failed")), "{ran:?}");
}

#[tokio::test]
async fn restart_that_failed_is_made_good_by_a_start_that_changed_something() {
    let was_down = |status| completed(v1::Completed { status, ..v1::Completed::default() });
    for (second, exit) in [(Status::Done, Exit::Done), (Status::Unchanged, Exit::Failed)] {
        let model = vec![service("restart"), service("start"), finish("done", "it runs")];
        let second = Play::Events(vec![was_down(second.into())]);
        let ran = run("restart nginx", model, vec![failed("unit_failed"), second]).await;
        assert_eq!(ran.exit, exit, "{ran:?}");
    }
}

#[tokio::test]
async fn finish_needs_an_outcome_and_is_told_which_there_are() {
    let server = Server::start(vec![
        calls("finish", &json!({ "summary": "done" })),
        calls("finish", &json!({ "outcome": "success", "summary": "done" })),
        finish("not_done", "nothing was to be done"),
    ])
    .await;
    let place = Place::new();
    configure(&place, &server);
    place.helper(vec![done()]);
    place.serve();
    assert_eq!(place.run(&["run", "restart nginx", "--json"]).await.exit, Exit::Failed);
    let told = |at: usize| server.seen()[at].body["messages"].to_string();
    assert!(told(1).contains("missing field `outcome`"), "{}", told(1));
    assert!(told(2).contains("`done`, `partly`, `not_done`, `answered`"), "{}", told(2));
}

#[tokio::test]
async fn task_that_needs_a_person_says_what_to_look_at_by_its_exit_code_its_record_and_on_the_terminal() {
    let look_at =
        json!(["/etc/fstab: two lines for /srv", "the journal of srv.mount, password=hunter2hunter2"]);
    let needs = json!({ "outcome": "needs_person", "summary": "the disk has two names", "look_at": look_at });
    for option in ["--json", "--dry-run"] {
        let without = json!({ "outcome": "needs_person", "summary": "the disk has two names" });
        let model = vec![service("status"), calls("finish", &without), calls("finish", &needs)];
        let server = Server::start(model).await;
        let place = Place::new();
        configure(&place, &server);
        let _helper = place
            .helper(vec![done(), Play::Events(vec![unit(Status::Done, "srv.mount", "failed", "failed")])]);
        place.serve();
        let ran = place.run(&["run", "mount /srv", option]).await;
        assert_eq!((ran.exit, ran.exit.number()), (Exit::NeedsPerson, 7), "{ran:?}");
        let told = server.seen()[2].body["messages"].to_string();
        assert!(told.contains("look_at is missing: say what the person is to look at"), "{told}");
        if option == "--json" {
            let task = ran.json();
            assert_eq!(task["status"], "needs_person", "{task}");
            let shown = ["/etc/fstab: two lines for /srv", "the journal of srv.mount, password=[REDACTED]"];
            assert_eq!(task["look_at"], json!(shown), "{task}");
            let shown = place.run(&["tasks", "show", task["id"].as_str().unwrap()]).await;
            assert!(shown.out.contains("look at: /etc/fstab: two lines for /srv\n"), "{shown:?}");
        } else {
            assert!(
                ran.err.contains("postern: needs a person: in a dry run: the disk has two names"),
                "{ran:?}"
            );
            assert!(ran.err.contains("\nlook at: /etc/fstab: two lines for /srv\n"), "{ran:?}");
        }
    }
}

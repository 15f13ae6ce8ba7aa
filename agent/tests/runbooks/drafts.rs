//! `postern runbook from-task`: a draft of what a task did, which is a runbook.

use crate::common::{HEADERS, Place, Play, Policy, ended, http, unit};
use crate::files::write;
use http_body_util::BodyExt as _;
use postern_agent::Exit;
use postern_proto::v1::{Mode, Status};
use serde_json::{Value, json};
use std::sync::Arc;

/// A helper that does what it is asked, but stops nothing.
fn helper(place: &Place) -> crate::common::FakeHelper {
    let policy: Policy = Arc::new(|seen| match (seen.rpc.as_str(), seen.meta().mode()) {
        (_, Mode::Check) => vec![ended(Status::Previewed, "")],
        ("UnitStatus", _) => vec![unit(Status::Done, "nginx.service", "active", "running")],
        ("UnitStop", _) => vec![ended(Status::Failed, "unit_failed")],
        _ => vec![ended(Status::Done, "")],
    });
    place.helper(vec![Play::Decide(policy)])
}

async fn execute(place: &Place, order: &Value) -> Value {
    let stream = tokio::net::UnixStream::connect(&place.host.agent_socket).await.unwrap();
    let response = http(stream, "POST", "/execute", &HEADERS, &order.to_string()).await;
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    serde_json::from_slice(&bytes).unwrap()
}

fn step(tool: &str, args: &Value) -> Value {
    json!({ "tool": tool, "args": args })
}

/// The draft of a task with these steps: its name and its text.
async fn drafted(place: &Place, words: &str, steps: &[Value]) -> (String, String) {
    let plan = json!({ "plan_type": "command_plan", "goal": words, "commands": steps });
    let task = execute(place, &json!({ "plan": plan })).await;
    let id = task["id"].as_str().unwrap_or_else(|| panic!("{task}"));
    let ran = place.run(&["runbook", "from-task", id]).await;
    assert_eq!(ran.exit, Exit::Done, "{ran:?} {task}");
    let name = ran.out.lines().find_map(|line| line.strip_prefix("name: ")).expect("a name").to_owned();
    (name, ran.out)
}

#[tokio::test]
async fn a_command_of_a_draft_may_end_again_as_it_did_in_the_task() {
    let place = Place::new();
    let _helper = helper(&place);
    place.serve();
    let steps = [step("service", &json!({ "action": "restart", "name": "nginx" }))];
    let plan = json!({ "plan_type": "command_plan", "goal": "nginx runs", "commands": steps });
    let mut task = execute(&place, &json!({ "plan": plan })).await;
    let look = json!({ "step": 2, "tool": "shell", "args": { "cmd": "test -e /etc/no-such-file" }, "status": "ok", "exit_code": 1 });
    task["results"].as_array_mut().expect("results").push(look);
    let task = serde_json::from_value(task).expect("a task");
    let text = postern_agent::runbooks::draft(&task).expect("a draft").text;
    assert!(text.contains("acceptable_exit_codes: [0, 1]"), "{text}");
}

#[tokio::test]
async fn a_draft_of_a_task_passes_the_check_and_does_the_same_again() {
    let place = Place::new();
    let helper = helper(&place);
    place.serve();
    let steps = [
        step("package", &json!({ "action": "install", "names": ["nginx-light"] })),
        step(
            "write_file",
            &json!({ "path": "/etc/nginx/conf.d/a.conf", "content": "server {\n\tlisten 80; # 'a' \"b\"\n}\n" }),
        ),
        step("service", &json!({ "action": "status", "name": "nginx" })),
        json!({ "command": "systemctl restart nginx.service", "purpose": "", "read_only": false }),
        step("service", &json!({ "action": "status", "name": "nginx" })),
    ];
    let words = "mend it: nginx's \"site\" # is [down] {x}\nname: evil";
    let (name, text) = drafted(&place, words, &steps).await;
    let file = place.path(&format!("{name}.yaml"));
    std::fs::write(&file, &text).unwrap();
    let ran = place.run(&["runbook", "check", file.to_str().unwrap()]).await;
    assert_eq!(ran.exit, Exit::Done, "{ran:?}\n{text}");
    for part in [
        "- {name: unit, kind: unit, about: A unit of the task, default: nginx}",
        "- {name: package, kind: package, about: A package of the task, default: nginx-light}",
        "- {name: path, kind: path, about: A path of the task, default: '/etc/nginx/conf.d/a.conf'}",
        "  - {tool: package, args: {action: install, names: ['${package}']}}",
        "  - 'systemctl restart ${unit}'",
        "verification:\n  - {tool: service, args: {action: status, name: '${unit}'}}",
        "Nobody has reviewed it.",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    write(&place.host.site_runbooks(), "other", "Other", "steps: ['true']\n");
    std::fs::rename(&file, place.host.site_runbooks().join(format!("{name}.yaml"))).unwrap();
    std::fs::set_permissions(
        place.host.site_runbooks().join(format!("{name}.yaml")),
        std::os::unix::fs::PermissionsExt::from_mode(0o644),
    )
    .unwrap();
    let requests = |from: usize| {
        let seen = helper.seen().into_iter().skip(from);
        let executed = seen.filter(|seen| seen.meta().mode() == Mode::Execute);
        executed.map(|seen| seen.rpc).collect::<Vec<_>>()
    };
    let first = requests(0);
    let before = helper.seen().len();
    let ran = place.run(&["runbook", "run", &name]).await;
    assert_eq!((ran.exit, requests(before)), (Exit::Done, first), "{ran:?}");
    // A draft of the draft's run is the same but for its names.
    let ran = place.run(&["runbook", "show", &name]).await;
    assert!(ran.out.contains("Draft: mend it"), "{ran:?}");
}

#[tokio::test]
async fn credentials_and_failures_are_left_out_and_named() {
    let place = Place::new();
    helper(&place);
    place.serve();
    let steps = [
        step("write_file", &json!({ "path": "/etc/app.conf", "content": "db_password = hunter2hunter2\n" })),
        step("run_command", &json!({ "name": "add-user", "params": { "token": "abcdefgh12345678" } })),
        step("write_file", &json!({ "path": "/etc/app.sh", "content": "echo ${HOME}\n" })),
        step("service", &json!({ "action": "reload", "name": "cron" })),
        step("service", &json!({ "action": "stop", "name": "locked" })),
    ];
    let (_, text) = drafted(&place, "set password=hunter2hunter2 for app", &steps).await;
    assert!(!text.contains("hunter2") && !text.contains("abcdefgh1234"), "{text}");
    assert!(text.contains("# Left out: step 1 (") && text.contains("): it holds a credential"), "{text}");
    assert!(
        text.contains("# Left out: step 2 (")
            && text.contains("# Left out: step 5 (stop locked): it did not succeed")
    );
    assert!(text.contains("${ would begin a placeholder"), "{text}");
    assert!(
        text.contains("steps:\n  - {tool: service, args: {action: reload, name: '${unit}'}}\nnotes:"),
        "{text}"
    );
}

#[tokio::test]
async fn a_task_that_did_nothing_has_no_draft() {
    let place = Place::new();
    helper(&place);
    place.serve();
    let plan = json!({ "plan_type": "command_plan", "goal": "g", "commands": ["systemctl stop locked"] });
    let task = execute(&place, &json!({ "plan": plan })).await;
    let ran = place.run(&["runbook", "from-task", task["id"].as_str().unwrap_or_default()]).await;
    assert_eq!(ran.exit, Exit::Usage, "{task} {ran:?}");
    let steps = [step("service", &json!({ "action": "stop", "name": "locked" }))];
    let plan = json!({ "plan_type": "command_plan", "goal": "g", "commands": steps });
    let task = execute(&place, &json!({ "plan": plan })).await;
    let ran = place.run(&["runbook", "from-task", task["id"].as_str().unwrap()]).await;
    assert!(ran.exit == Exit::Failed && ran.err.contains("did nothing that a runbook can have"), "{ran:?}");
    let ran = place.run(&["runbook", "from-task", "../x"]).await;
    assert_eq!(ran.exit, Exit::Usage, "{ran:?}");
    let ran = place.run(&["runbook", "from-task", "0000"]).await;
    assert!(ran.exit == Exit::Failed && ran.err.contains("no task"), "{ran:?}");
}

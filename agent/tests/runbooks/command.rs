//! `postern runbook`: decided under the policy, and carried out as a plan.

use crate::RESTART;
use crate::common::decides::decides;
use crate::common::{HEADERS, Place, Play, Policy, ended, http, refused, unit};
use crate::files::write;
use http_body_util::BodyExt as _;
use postern_agent::Exit;
use postern_proto::v1::{Decision, Mode, Status};
use std::sync::Arc;

fn place() -> Place {
    let place = Place::new();
    write(&place.host.site_runbooks(), "restart", "Restart a unit", RESTART);
    place
}

#[tokio::test]
async fn a_list_says_what_is_granted_and_what_lacks_and_changes_nothing() {
    let place = place();
    write(&place.host.runbooks, "broken", "A fault", "steps:\n  - 'a; b'\n");
    let rest = "steps: ['systemctl stop cron', 'systemctl start cron']\n";
    write(&place.host.runbooks, "stop", "Stop cron", rest);
    write(&place.host.runbooks, "look", "Look", "steps: [{tool: list_disks, args: {}}]\n");
    let helper = place.helper(vec![decides(|rpc| match rpc {
        "UnitStop" => Decision::Deny,
        "UnitStart" => Decision::Ask,
        _ => Decision::Allow,
    })]);
    let ran = place.run(&["--direct", "runbook", "list"]).await;
    let broken = place.host.runbooks.join("broken.yaml");
    let start = format!("{}:4: step 1: ", broken.display());
    let lines: Vec<&str> = ran.out.lines().collect();
    assert!(lines[0].starts_with("broken   invalid") && lines[0].contains(&start), "{ran:?}");
    assert_eq!(lines[1], "look     granted            Look");
    assert_eq!(lines[2], "restart  depends on values  Restart a unit (of this site)");
    assert_eq!(lines[3], "stop     not granted        Stop cron");
    assert_eq!(lines[4], "    lacks step 1 (`systemctl stop cron`): unit.stop cron.service: no_grant");
    assert!(helper.seen().iter().all(|seen| seen.meta().mode() == Mode::Check));
    let ran = place.run(&["--direct", "--json", "runbook"]).await.json();
    assert_eq!(
        (&ran[3]["state"], &ran[3]["decision"]["lacks"][0]["number"]),
        (&"not granted".into(), &1.into())
    );
    assert_eq!(ran[2]["parameters"][0]["kind"], "unit");
}

#[tokio::test]
async fn a_list_says_which_runbook_of_the_site_is_in_place_of_the_packages() {
    let place = place();
    write(&place.host.runbooks, "restart", "Of the package", RESTART);
    place.helper(vec![decides(|_| Decision::Allow)]);
    let ran = place.run(&["--direct", "runbook", "list"]).await;
    assert!(ran.out.contains("Restart a unit (of this site, in place of the package's)"), "{ran:?}");
    let ran = place.run(&["--direct", "--json", "runbook", "list"]).await.json();
    assert_eq!((&ran[0]["origin"], &ran[0]["replaces"]), (&"site".into(), &true.into()), "{ran}");
}

#[tokio::test]
async fn a_run_is_decided_first_and_then_carried_out_as_a_plan() {
    let place = place();
    let helper = place.helper(vec![decides(|_| Decision::Allow)]);
    let ran = place.run(&["--direct", "runbook", "run", "restart", "unit=app"]).await;
    assert_eq!(ran.exit, Exit::Done, "{ran:?}");
    let seen = helper.seen();
    let asked: Vec<_> = seen.iter().map(|seen| (seen.rpc.as_str(), seen.meta().mode())).collect();
    let checked = asked.iter().take_while(|(_, mode)| *mode == Mode::Check).count();
    assert_eq!(checked, 3, "{asked:?}");
    let expected =
        [("UnitStatus", Mode::Execute), ("UnitRestart", Mode::Execute), ("UnitStatus", Mode::Execute)];
    assert_eq!(asked[checked..], expected);
    assert_eq!(seen[checked + 1].meta().reason, "runbook restart: Restart a unit (unit=app)");
}

#[tokio::test]
async fn one_that_is_not_granted_is_not_offered_and_nothing_is_done() {
    let place = place();
    let helper = place
        .helper(vec![decides(|rpc| if rpc == "UnitRestart" { Decision::Deny } else { Decision::Allow })]);
    let ran = place.run(&["--direct", "runbook", "run", "restart", "unit=app"]).await;
    assert_eq!(ran.exit, Exit::Refused, "{ran:?}");
    assert!(ran.err.contains("unit.restart app.service: no_grant"), "{ran:?}");
    assert!(helper.seen().iter().all(|seen| seen.meta().mode() == Mode::Check));
    let ran = place.run(&["--direct", "runbook", "check", "restart", "unit=app"]).await;
    assert_eq!((ran.exit, ran.out.lines().last()), (Exit::Refused, Some("restart: not granted")));
}

#[tokio::test]
async fn a_grant_that_is_lost_after_the_check_stops_the_run() {
    let place = place();
    let policy: Policy = Arc::new(|seen| match (seen.rpc.as_str(), seen.meta().mode()) {
        ("UnitRestart", Mode::Execute) => vec![refused("no_grant")],
        ("UnitStatus", Mode::Execute) => vec![unit(Status::Done, "app.service", "active", "running")],
        _ => vec![ended(Status::Previewed, "")],
    });
    place.helper(vec![Play::Decide(policy)]);
    let ran = place.run(&["--direct", "runbook", "run", "restart", "unit=app"]).await;
    assert_eq!(ran.exit, Exit::Refused, "{ran:?}");
}

#[tokio::test]
async fn exit_codes_say_what_is_wrong() {
    let place = place();
    write(&place.host.site_runbooks(), "broken", "A fault", "steps:\n  - 'a; b'\n");
    let missing = place.path("no.yaml");
    for (args, exit) in [
        (&["check", "restart", "unit=app"][..], Exit::Unreachable),
        (&["run", "restart", "unit=app"], Exit::Unreachable),
        (&["show", "nothing"], Exit::Failed),
        (&["show", "broken"], Exit::Usage),
        (&["run", "broken"], Exit::Usage),
        (&["check", missing.to_str().unwrap()], Exit::Usage),
    ] {
        let ran = place.run(&[&["--direct", "runbook"], args].concat()).await;
        assert!(ran.exit == exit && !ran.err.is_empty(), "{args:?}: {ran:?}");
        let ran = place.run(&[&["--direct", "--json", "runbook"], args].concat()).await;
        assert!(ran.exit == exit && ran.json()["error"].is_object(), "{args:?}: {ran:?}");
    }
    place.helper(vec![decides(|_| Decision::Ask)]);
    let ran = place.run(&["--direct", "runbook", "check", "restart", "unit=app"]).await;
    assert_eq!(ran.exit, Exit::NotApproved, "{ran:?}");
}

#[tokio::test]
async fn values_that_are_none_are_refused_before_anything_is_asked() {
    let place = place();
    let helper = place.helper(vec![decides(|_| Decision::Allow)]);
    for value in ["unit=; rm -rf /", "unit=$(id)", "unit=-x", "unit=a b", "other=a", "unit", "unit="] {
        let ran = place.run(&["--direct", "runbook", "run", "restart", value]).await;
        assert_eq!(ran.exit, Exit::Usage, "{value}: {ran:?}");
    }
    let ran = place.run(&["--direct", "runbook", "run", "restart"]).await;
    assert!(ran.exit == Exit::Usage && ran.err.contains("restart needs unit=UNIT"), "{ran:?}");
    let ran = place.run(&["--direct", "runbook", "run", "nothing"]).await;
    assert!(ran.err.contains("unknown runbook \"nothing\" (permitted: "), "{ran:?}");
    assert!(helper.seen().is_empty());
}

#[tokio::test]
async fn a_draft_is_checked_by_its_path_and_a_run_needs_a_reviewed_one() {
    let place = place();
    place.helper(vec![decides(|_| Decision::Allow)]);
    let draft = place.path("draft.yaml");
    std::fs::write(&draft, "name: draft\ntitle: A draft\nsteps:\n  - 'a | b'\n").unwrap();
    let path = draft.to_str().unwrap();
    let ran = place.run(&["--direct", "runbook", "check", path]).await;
    assert!(ran.exit == Exit::Usage && ran.err.contains("draft.yaml:4: step 1: "), "{ran:?}");
    std::fs::write(&draft, "name: draft\ntitle: A draft\nsteps: ['systemctl start cron']\n").unwrap();
    let ran = place.run(&["--direct", "runbook", "check", path]).await;
    assert_eq!((ran.exit, ran.out.lines().last()), (Exit::Done, Some("draft: granted")), "{ran:?}");
    let ran = place.run(&["--direct", "runbook", "run", path]).await;
    assert_ne!(ran.exit, Exit::Done);
}

/// Posts to the agent; the status and the answer.
async fn post(place: &Place, path: &str, body: &serde_json::Value) -> (u16, serde_json::Value) {
    let stream = tokio::net::UnixStream::connect(&place.host.agent_socket).await.unwrap();
    let response = http(stream, "POST", path, &HEADERS, &body.to_string()).await;
    let status = response.status().as_u16();
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    (status, serde_json::from_slice(&bytes).unwrap())
}

#[tokio::test]
async fn the_agent_carries_it_out_and_its_record_names_it() {
    let place = place();
    place.helper(vec![decides(|_| Decision::Allow)]);
    place.serve();
    let ran = place.run(&["--json", "runbook", "run", "restart", "unit=app"]).await;
    assert_eq!(ran.exit, Exit::Done, "{ran:?}");
    assert_eq!((&ran.json()["runbook"], &ran.json()["status"]), (&"restart".into(), &"completed".into()));
    let ran = place.run(&["runbook", "show", "restart"]).await;
    assert!(
        ran.out.contains("systemctl restart ${unit}") && ran.out.contains("such as app.service"),
        "{ran:?}"
    );
}

#[tokio::test]
async fn a_plan_cannot_be_named_after_a_runbook() {
    let place = place();
    place.helper(vec![decides(|_| Decision::Allow)]);
    place.serve();
    let plan = serde_json::json!({ "plan_type": "command_plan", "goal": "g", "commands": ["true"] });
    for (body, status, code) in [
        (serde_json::json!({ "runbook": { "name": "restart" }, "plan": plan }), 400, "invalid_argument"),
        (serde_json::json!({ "runbook": "restart", "plan": plan }), 400, "invalid_argument"),
        (
            serde_json::json!({ "runbook": { "name": "restart", "values": { "unit": "-x" } } }),
            422,
            "invalid_argument",
        ),
        (serde_json::json!({ "runbook": { "name": "restart" } }), 422, "invalid_argument"),
        (serde_json::json!({ "runbook": { "name": "../restart" } }), 404, "not_found"),
    ] {
        let (answered, fault) = post(&place, "/execute", &body).await;
        assert_eq!((answered, &fault["error"]["code"]), (status, &code.into()), "{body}: {fault}");
    }
    let body = serde_json::json!({ "runbook": { "name": "restart", "values": { "unit": "app" } } });
    let (_, task) = post(&place, "/execute", &body).await;
    assert_eq!((&task["runbook"], &task["status"]), (&"restart".into(), &"completed".into()), "{task}");
}

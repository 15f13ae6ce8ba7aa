//! The tools that are listed, their schemas and hints.

use crate::client::named;
use crate::common::{Place, Play};
use crate::{client_of, described, grants};
use postern_agent::llm::tools;
use postern_agent::mcp::ROWS;
use postern_proto::v1;
use serde_json::{Value, json};
use std::collections::BTreeSet;

fn describing(grants: &v1::event::Kind) -> Vec<Play> {
    let grants = grants.clone();
    vec![Play::Decide(std::sync::Arc::new(move |_| vec![grants.clone()]))]
}

async fn listed(grants: &v1::event::Kind) -> Vec<Value> {
    let place = Place::new();
    let _helper = place.helper(describing(grants));
    client_of(&place).await.tools().await
}

fn names(tools: &[Value]) -> Vec<&str> {
    tools.iter().filter_map(|tool| tool["name"].as_str()).collect()
}

#[tokio::test]
async fn lists_only_tools_and_actions_that_a_rule_grants() {
    let tools = listed(&grants(&["package.install", "package.show", "unit.status"])).await;
    assert_eq!(names(&tools), ["package", "service", "request_result"]);
    let actions = &named(&tools, "package")["inputSchema"]["properties"]["action"]["enum"];
    assert_eq!(*actions, json!(["install", "show"]));
    let actions = &named(&tools, "service")["inputSchema"]["properties"]["action"]["enum"];
    assert_eq!(*actions, json!(["status"]));
}

#[tokio::test]
async fn lists_no_tool_for_a_verb_that_is_only_denied() {
    let deny = v1::Grant {
        verbs: vec!["file.write".into(), "unit.stop".into()],
        decision: v1::Decision::Deny.into(),
        ..v1::Grant::default()
    };
    assert_eq!(names(&listed(&described(vec![deny])).await), ["request_result"]);
}

#[tokio::test]
async fn lists_the_journal_only_where_a_rule_grants_lines_of_it() {
    let status = |limits: &[&str]| v1::Grant {
        verbs: vec!["unit.status".into()],
        decision: v1::Decision::Allow.into(),
        limits: limits.iter().map(|limit| (*limit).to_owned()).collect(),
        ..v1::Grant::default()
    };
    assert_eq!(names(&listed(&described(vec![status(&[])])).await), ["service", "request_result"]);
    let tools = listed(&described(vec![status(&["journal_lines = 100"])])).await;
    assert_eq!(names(&tools), ["service", "unit_journal", "request_result"]);
}

#[tokio::test]
async fn hints_are_true_of_the_granted_actions() {
    let hints = |tools: &[Value], name: &str| {
        let of = &named(tools, name)["annotations"];
        ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"].map(|hint| of[hint] == true)
    };
    let looking = listed(&grants(&["package.show", "unit.status", "file.read", "file.list"])).await;
    for name in ["package", "service", "file", "read_file", "request_result"] {
        let [read_only, destructive, idempotent, _] = hints(&looking, name);
        assert!(read_only && !destructive && idempotent, "{name}: {looking:?}");
    }
    let adding = listed(&grants(&["package.install", "unit.start"])).await;
    assert_eq!(hints(&adding, "package"), [false, false, true, true]);
    assert_eq!(hints(&adding, "service"), [false, false, true, false]);
    let all = listed(&grants(postern_agent::VERBS)).await;
    assert_eq!(hints(&all, "package"), [false, true, false, true]);
    assert_eq!(hints(&all, "service"), [false, true, false, false]);
    assert_eq!(hints(&all, "run_command"), [false, true, false, true], "a command may have the network");
    let repair = listed(&grants(&["package.repair"])).await;
    assert_eq!(hints(&repair, "package"), [false, true, true, true], "it may download");
}

#[tokio::test]
async fn an_installation_that_may_remove_other_packages_is_destructive() {
    let install = v1::Grant {
        verbs: vec!["package.install".into()],
        decision: v1::Decision::Allow.into(),
        limits: vec!["allow_removals = true".into()],
        ..v1::Grant::default()
    };
    let tools = listed(&described(vec![install])).await;
    assert_eq!(named(&tools, "package")["annotations"]["destructiveHint"], true);
}

#[tokio::test]
async fn every_tool_has_schemas_a_dry_run_and_the_words_of_its_grants() {
    let grant = v1::Grant {
        verbs: vec!["package.install".into(), "file.write".into()],
        decision: v1::Decision::Ask.into(),
        packages: vec!["nginx*".into()],
        ..v1::Grant::default()
    };
    let tools = listed(&described(vec![grant])).await;
    for tool in &tools {
        let schema = &tool["inputSchema"];
        assert_eq!(schema["type"], "object");
        assert_eq!(schema["additionalProperties"], false);
        assert_eq!(schema["properties"]["dry_run"]["type"], "boolean", "{tool}");
        assert_eq!(tool["outputSchema"]["type"], "object", "{tool}");
    }
    let about = named(&tools, "package")["description"].as_str().expect("words");
    assert!(
        about.contains("once an operator approves") && about.contains("package.install: nginx*"),
        "{about}"
    );
    assert!(!about.contains("file.write"), "another tool's verb: {about}");
}

#[test]
fn every_verb_and_every_action_has_a_tool() {
    // The command line alone keeps changes: a model could keep one that locks its person out.
    let own = ["policy.describe", "request.result", "request.keep"];
    let verbs: BTreeSet<&str> = ROWS.iter().map(|row| row.verb).chain(own).collect();
    let all: BTreeSet<&str> = postern_agent::VERBS.iter().copied().collect();
    assert_eq!(verbs, all);
    for tool in tools::ALL {
        let schema = tool.schema();
        let actions = schema["properties"]["action"]["enum"].as_array().cloned().unwrap_or_default();
        let rows: Vec<&str> = ROWS.iter().filter(|row| row.tool == tool.name).map(|row| row.action).collect();
        if !rows.is_empty() && !actions.is_empty() {
            let actions: BTreeSet<&str> = actions.iter().filter_map(Value::as_str).collect();
            assert_eq!(rows.into_iter().collect::<BTreeSet<_>>(), actions, "{}", tool.name);
        }
    }
}

#[tokio::test]
async fn tells_a_client_when_the_policy_was_replaced() {
    let place = Place::new();
    std::fs::create_dir(&place.host.accepted_policy).expect("a directory");
    let helper = place.helper(vec![
        Play::Events(vec![grants(&["unit.status"])]),
        Play::Events(vec![grants(&["unit.status"])]),
    ]);
    let mut client = client_of(&place).await;
    assert_eq!(names(&client.tools().await), ["service", "request_result"]);
    for _ in 0..2 {
        helper.add(Play::Events(vec![grants(&["unit.status", "package.install"])]));
    }
    // As `policy apply` does: a new file takes the place of the old one.
    std::fs::write(place.host.accepted_policy.join("accepted.pb"), "new").expect("a file");
    client.notification("notifications/tools/list_changed").await;
    assert_eq!(names(&client.tools().await), ["package", "service", "request_result"]);
}

#[tokio::test]
async fn does_not_ask_the_helper_again_as_long_as_the_policy_stays() {
    let place = Place::new();
    std::fs::create_dir(&place.host.accepted_policy).expect("a directory");
    let helper = place.helper(describing(&grants(&["unit.status"])));
    let _client = client_of(&place).await;
    let before = helper.seen().len();
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    assert_eq!(helper.seen().len(), before);
}

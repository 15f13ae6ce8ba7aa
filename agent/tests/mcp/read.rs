//! Resources and prompts.

use crate::client::Client;
use crate::common::{Place, accepted, completed, unit};
use crate::{client_of, granting_all};
use postern_proto::v1::{self, Status};
use serde_json::{Value, json};

async fn resource(client: &mut Client, uri: &str) -> Value {
    let answer = client.ask("resources/read", json!({ "uri": uri })).await;
    let text = answer["result"]["contents"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"));
    serde_json::from_str(text).expect("JSON")
}

#[tokio::test]
async fn resources_say_what_is_granted_and_what_was_done() {
    let place = Place::new();
    let _helper = place.helper(granting_all(|_| {
        let done = v1::Completed { status: Status::Done.into(), undoable: true, ..v1::Completed::default() };
        vec![accepted(), completed(done)]
    }));
    let mut client = client_of(&place).await;
    let listed = client.ask("resources/list", json!({})).await;
    let uris: Vec<_> =
        listed["result"]["resources"].as_array().expect("resources").iter().map(|r| &r["uri"]).collect();
    assert_eq!(uris, ["postern://policy", "postern://tasks"]);
    let listed = client.ask("resources/templates/list", json!({})).await;
    assert_eq!(listed["result"]["resourceTemplates"][0]["uriTemplate"], "postern://request/{request_id}");

    let policy = resource(&mut client, "postern://policy").await;
    assert_eq!((policy["client"].as_str(), policy["through"].as_str()), (Some("me"), Some("helper")));
    assert!(policy["words"].as_str().expect("words").contains("package.install"), "{policy}");

    let answer = client.call("file", json!({ "action": "remove", "path": "/etc/a" })).await;
    let id = answer["structuredContent"]["request_id"].as_str().expect("an id").to_owned();
    let tasks = resource(&mut client, "postern://tasks").await;
    let change = &tasks["changes"][0];
    assert_eq!(
        (change["request_id"].as_str(), change["target"].as_str()),
        (Some(id.as_str()), Some("/etc/a"))
    );
    assert!(tasks["no_tasks"].as_str().expect("a reason").contains("agent.sock"), "{tasks}");
    let request = resource(&mut client, &format!("postern://request/{id}")).await;
    assert_eq!((request["status"].as_str(), request["verb"].as_str()), (Some("done"), Some("file.remove")));
}

#[tokio::test]
async fn tasks_are_those_of_the_user_at_the_agent() {
    let place = Place::new();
    let _helper =
        place.helper(granting_all(|_| vec![unit(Status::Done, "nginx.service", "active", "running")]));
    place.serve();
    assert_eq!(place.run(&["run", "status of nginx"]).await.exit, postern_agent::Exit::Done);
    let mut client = client_of(&place).await;
    let tasks = resource(&mut client, "postern://tasks").await;
    assert_eq!(tasks["tasks"][0]["task"], "status of nginx", "{tasks}");
}

#[tokio::test]
async fn prompts_are_filled_in_and_need_their_arguments() {
    let place = Place::new();
    let _helper = place.helper(granting_all(|_| Vec::new()));
    let mut client = client_of(&place).await;
    let listed = client.ask("prompts/list", json!({})).await;
    let names: Vec<_> =
        listed["result"]["prompts"].as_array().expect("prompts").iter().map(|p| &p["name"]).collect();
    assert_eq!(names, ["diagnose_unit", "install_and_configure"]);
    let args = json!({ "name": "diagnose_unit", "arguments": { "unit": "nginx" } });
    let prompt = client.ask("prompts/get", args).await;
    assert!(
        prompt["result"]["messages"][0]["content"]["text"].as_str().expect("text").contains("unit nginx"),
        "{prompt}"
    );
    let prompt = client.ask("prompts/get", json!({ "name": "install_and_configure" })).await;
    assert_eq!(prompt["error"]["code"], -32602, "{prompt}");
}

//! Requests that take their time: progress, approval, waiting and its end.

use crate::client::{Client, TIMES, call};
use crate::common::{Place, Play, approval, ended, in_seconds, progress, refused, unit, until, waiting};
use crate::{asked, client_of, grants};
use postern_agent::mcp::Times;
use postern_proto::v1::{self, Status};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;

/// A helper that describes its policy, then lets one request wait until it is told how it ends.
fn held(end: Vec<v1::event::Kind>) -> (Vec<Play>, Arc<Notify>) {
    let go = Arc::new(Notify::new());
    let waits = waiting(&approval("7"), in_seconds(840));
    let script = vec![Play::Events(vec![grants(&["unit.stop"])]), Play::Hold(waits, Arc::clone(&go), end)];
    (script, go)
}

const STOP: (&str, &str) = ("service", r#"{ "action": "stop", "name": "nginx" }"#);

fn stop() -> Value {
    serde_json::from_str(STOP.1).expect("JSON")
}

#[tokio::test]
async fn a_call_waits_for_an_operator_and_says_so_until_it_is_approved() {
    let place = Place::new();
    let (script, go) =
        held(vec![progress("nginx.service", 40), unit(Status::Done, "nginx.service", "inactive", "dead")]);
    let _helper = place.helper(script);
    let mut client = client_of(&place).await;
    let id = client.send("tools/call", call(STOP.0, stop())).await;
    // More than once, so that a client knows that the server lives.
    let (mut told, mut last) = (0, 0.0);
    while told < 3 {
        let note = client.notification("notifications/progress").await;
        assert_eq!(note["params"]["progressToken"], "service");
        let count = note["params"]["progress"].as_f64().expect("a number");
        assert!(count > last, "progress increases: {note}");
        last = count;
        let words = note["params"]["message"].as_str().expect("words");
        told += usize::from(words.contains("waiting for an operator") && words.contains("approve 77777777"));
    }
    go.notify_one();
    let answer = client.next().await;
    assert_eq!(
        (&answer["id"], &answer["result"]["structuredContent"]["status"]),
        (&id.into(), &"done".into())
    );
    assert_eq!(answer["result"]["structuredContent"]["rule"], "web", "the outcome's rule: {answer}");
}

#[tokio::test]
async fn a_call_without_a_progress_token_hears_nothing_on_the_way() {
    let place = Place::new();
    let (script, go) = held(vec![ended(Status::Done, "")]);
    let helper = place.helper(script);
    let mut client = client_of(&place).await;
    client.send("tools/call", json!({ "name": STOP.0, "arguments": stop() })).await;
    until("it is asked", || asked(&helper).len() == 1).await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    go.notify_one();
    client.next().await;
    assert_eq!(client.told, Vec::<Value>::new());
}

#[tokio::test]
async fn a_call_that_waits_too_long_answers_waiting_and_its_outcome_is_asked_for_later() {
    let place = Place::new();
    let (script, go) = held(vec![unit(Status::Done, "nginx.service", "inactive", "dead")]);
    let helper = place.helper(script);
    let times = Times { wait: Duration::from_millis(300), ..TIMES };
    let mut client = Client::of(&place.host, times).await;
    let answer = client.call(STOP.0, stop()).await;
    let data = answer["structuredContent"].clone();
    assert_eq!((data["status"].as_str(), &answer["isError"]), (Some("waiting"), &false.into()), "{answer}");
    assert_eq!((data["decision"].as_str(), data["rule"].as_str()), (Some("ask"), Some("web-config")));
    assert_eq!(data["approval"]["command"], format!("postern-admin approve {}", approval("7")));
    let poll = json!({ "request_id": data["request_id"] });
    let again = client.call("request_result", poll.clone()).await;
    assert_eq!(again["structuredContent"]["status"], "waiting", "{again}");
    let read = json!({ "uri": format!("postern://request/{}", data["request_id"].as_str().expect("an id")) });
    let read = client.ask("resources/read", read).await;
    assert!(read["result"]["contents"][0]["text"].as_str().expect("text").contains("\"waiting\""), "{read}");
    go.notify_one();
    until("the outcome came", || helper.seen().len() >= 2).await;
    let done = client.call("request_result", poll).await;
    assert_eq!(done["structuredContent"]["status"], "done", "{done}");
    assert_eq!(done["structuredContent"]["request_id"], data["request_id"]);
    assert_eq!(asked(&helper).len(), 1, "the helper was asked once");
}

#[tokio::test]
async fn a_call_says_itself_how_long_it_waits() {
    let place = Place::new();
    let (script, _go) = held(Vec::new());
    let _helper = place.helper(script);
    let mut client = client_of(&place).await;
    let mut args = stop();
    args["wait_s"] = 0.into();
    let answer = client.call(STOP.0, args).await;
    assert_eq!(answer["structuredContent"]["status"], "waiting", "{answer}");
}

#[tokio::test]
async fn a_denial_is_an_error_with_its_own_status() {
    let place = Place::new();
    let (script, go) = held(vec![refused("not_approved")]);
    let _helper = place.helper(script);
    let mut client = client_of(&place).await;
    client.send("tools/call", call(STOP.0, stop())).await;
    client.notification("notifications/progress").await;
    go.notify_one();
    let answer = client.next().await["result"].clone();
    assert_eq!(
        (&answer["isError"], &answer["structuredContent"]["status"]),
        (&true.into(), &"not_approved".into())
    );
}

#[tokio::test]
async fn cancellation_ends_the_waiting_and_gets_no_answer() {
    let place = Place::new();
    let (script, _go) = held(Vec::new());
    let _helper = place.helper(script);
    let mut client = client_of(&place).await;
    let id = client.send("tools/call", call(STOP.0, stop())).await;
    client.notification("notifications/progress").await;
    client.tell("notifications/cancelled", &json!({ "requestId": id, "reason": "enough" })).await;
    let answer = client.ask("ping", json!({})).await;
    assert!(answer["result"].is_object(), "the next answer is that of the ping: {answer}");
    client.told.clear();
    tokio::time::sleep(Duration::from_millis(300)).await;
    client.ask("ping", json!({})).await;
    assert!(client.told.len() <= 1, "no more progress: {:?}", client.told);
}

#[tokio::test]
async fn an_outcome_of_another_session_is_asked_of_the_helper() {
    let place = Place::new();
    let of = "0190a1b2-0000-7000-8000-000000000000";
    let helper = place.helper(vec![
        Play::Events(vec![grants(&["unit.stop"])]),
        Play::Events(vec![unit(Status::Done, "nginx.service", "inactive", "dead")]),
        Play::Events(vec![refused("unknown_request")]),
    ]);
    let mut client = client_of(&place).await;
    let answer = client.call("request_result", json!({ "request_id": of })).await;
    assert_eq!(answer["structuredContent"]["request_id"], of, "{answer}");
    let asked_for: v1::RequestResultRequest = asked(&helper)[0].decode();
    assert_eq!(asked_for.of, of);
    let answer = client.call("request_result", json!({ "request_id": "unknown" })).await;
    assert_eq!(answer["structuredContent"]["code"], "unknown_request", "{answer}");
}

#[tokio::test]
async fn the_outcome_of_a_cancelled_call_is_asked_of_the_helper() {
    let place = Place::new();
    let (mut script, _go) = held(Vec::new());
    script.push(Play::Events(vec![refused("busy")]));
    script.push(Play::Events(vec![unit(Status::Done, "nginx.service", "inactive", "dead")]));
    let helper = place.helper(script);
    let mut client = client_of(&place).await;
    let id = client.send("tools/call", call(STOP.0, stop())).await;
    client.notification("notifications/progress").await;
    let request = asked(&helper)[0].meta().request_id;
    // Somebody else who waits for it loses nothing.
    let other = client
        .send("tools/call", json!({ "name": "request_result", "arguments": { "request_id": request } }))
        .await;
    client.tell("notifications/cancelled", &json!({ "requestId": id })).await;
    let answer = client.next().await;
    assert_eq!(
        (&answer["id"], &answer["result"]["structuredContent"]["status"]),
        (&other.into(), &"done".into())
    );
    assert_eq!(answer["result"]["structuredContent"]["request_id"], request, "{answer}");
    assert_eq!(asked(&helper).len(), 3, "busy is asked again");
}

#[tokio::test]
async fn an_outcome_that_there_is_not_yet_answers_waiting_and_is_asked_for_no_longer() {
    let place = Place::new();
    let helper = place.helper(crate::granting_all(|_| vec![refused("busy")]));
    let mut client = client_of(&place).await;
    let of = "0190a1b2-0000-7000-8000-000000000000";
    let answer = client.call("request_result", json!({ "request_id": of, "wait_s": 1 })).await;
    let data = &answer["structuredContent"];
    assert_eq!(
        (data["status"].as_str(), data["request_id"].as_str()),
        (Some("waiting"), Some(of)),
        "{answer}"
    );
    let read = client.ask("resources/read", json!({ "uri": format!("postern://request/{of}") })).await;
    assert!(read["result"]["contents"][0]["text"].as_str().expect("text").contains("\"waiting\""), "{read}");
    tokio::time::sleep(Duration::from_millis(100)).await;
    let before = asked(&helper).len();
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(asked(&helper).len(), before, "nobody waits for it any more");
}

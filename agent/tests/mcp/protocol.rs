//! Messages that are none, and what a client may do besides calling tools.

use crate::client::{Client, TIMES};
use crate::common::{Place, ended};
use crate::{client_of, granting_all};
use postern_proto::v1::Status;
use serde_json::json;

#[tokio::test]
async fn goes_on_after_lines_that_are_no_messages() {
    let place = Place::new();
    let _helper = place.helper(granting_all(|_| vec![ended(Status::Done, "")]));
    let mut client = client_of(&place).await;
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    for line in [
        "{",
        "nonsense",
        "",
        "[]",
        "null",
        "{}",
        "\u{0}\u{1b}[2J",
        r#"{"jsonrpc":"1.0","id":1,"method":"tools/list"}"#,
        r#"{"jsonrpc":"2.0","id":{"a":1},"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":1e400,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"package"}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"none"}}"#,
        &deep,
    ] {
        client.line(line).await;
    }
    client.line(r#"{"jsonrpc":"2.0","id":"the last","method":"ping"}"#).await;
    loop {
        let answer = client.next().await;
        if answer["id"] == "the last" {
            assert!(answer["result"].is_object(), "{answer}");
            break;
        }
        assert!(answer["error"].is_object(), "each is an error: {answer}");
    }
}

#[tokio::test]
async fn a_line_that_is_too_long_ends_neither_server_nor_session() {
    let place = Place::new();
    let _helper = place.helper(granting_all(|_| vec![ended(Status::Done, "")]));
    let mut client = client_of(&place).await;
    let long = "x".repeat(17 << 20);
    client.line(&long).await;
    let id = client.send("ping", json!({})).await;
    let mut answer = client.next().await;
    while answer["id"] != id {
        assert!(answer["error"].is_object(), "{answer}");
        answer = client.next().await;
    }
    assert!(answer["result"].is_object(), "{answer}");
}

#[tokio::test]
async fn unknown_methods_are_errors_of_the_protocol() {
    let place = Place::new();
    let _helper = place.helper(granting_all(|_| vec![ended(Status::Done, "")]));
    let mut client = client_of(&place).await;
    let answer = client.ask("sudo/run", json!({})).await;
    assert_eq!(answer["error"]["code"], -32601, "{answer}");
    let answer = client.ask("resources/read", json!({ "uri": "file:///etc/shadow" })).await;
    assert_eq!(answer["error"]["code"], -32002, "{answer}");
}

#[tokio::test]
async fn ends_when_the_client_closes_its_stream() {
    let place = Place::new();
    let _helper = place.helper(granting_all(|_| vec![ended(Status::Done, "")]));
    let client = client_of(&place).await;
    let Client { served, write, read, .. } = client;
    drop((write, read));
    let served = tokio::time::timeout(std::time::Duration::from_secs(10), served).await;
    assert_eq!(served.expect("it ends").expect("no panic"), Ok(()));

    let silent = Client::silent(&place.host, TIMES);
    let Client { served, write, read, .. } = silent;
    drop((write, read));
    let served = tokio::time::timeout(std::time::Duration::from_secs(10), served).await;
    assert_eq!(served.expect("it ends").expect("no panic"), Ok(()), "before a word was said");
}

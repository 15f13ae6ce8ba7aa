//! The webhook: its messages, how they are signed, kept and sent again, and that nothing waits for it.

mod common;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use common::{Place, Play, approval, ended, in_seconds, refused, until, waiting};
use hmac::{Hmac, KeyInit, Mac};
use postern_agent::Exit;
use postern_proto::v1::Status;
use rusqlite::Connection;
use serde_json::{Value, json};
use sha2::Sha256;
use std::os::unix::fs::PermissionsExt;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

const KEY: &[u8; 32] = b"0123456789abcdef0123456789abcdef";

/// A message as it came.
#[derive(Clone, Debug)]
struct Seen {
    head: String,
    body: String,
}

impl Seen {
    fn header(&self, name: &str) -> &str {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.filter(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value).next().unwrap()
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    /// As the specification of Standard Webhooks says.
    fn is_signed(&self) -> bool {
        let text =
            format!("{}.{}.{}", self.header("webhook-id"), self.header("webhook-timestamp"), self.body);
        let mut mac = Hmac::<Sha256>::new_from_slice(KEY).unwrap();
        mac.update(text.as_bytes());
        self.header("webhook-signature") == format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
    }
}

/// A receiver that answers with these statuses, the last one for ever; 0 is no answer.
async fn receiver(statuses: &'static [u16]) -> (String, Arc<Mutex<Vec<Seen>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/postern", listener.local_addr().unwrap());
    let seen: Arc<Mutex<Vec<Seen>>> = Arc::default();
    let log = Arc::clone(&seen);
    tokio::spawn(async move {
        for number in 0.. {
            let (mut stream, _) = listener.accept().await.unwrap();
            let (mut bytes, mut whole) = (Vec::new(), usize::MAX);
            while bytes.len() < whole && stream.read_buf(&mut bytes).await.unwrap() > 0 {
                let text = String::from_utf8_lossy(&bytes);
                let Some((head, _)) = text.split_once("\r\n\r\n") else { continue };
                let length = head.to_ascii_lowercase().split("content-length: ").nth(1).unwrap().to_owned();
                whole = head.len() + 4 + length.lines().next().unwrap().parse::<usize>().unwrap();
            }
            let text = String::from_utf8(bytes).unwrap();
            let (head, body) = text.split_once("\r\n\r\n").unwrap();
            log.lock().unwrap().push(Seen { head: head.to_owned(), body: body.to_owned() });
            let status = statuses[number.min(statuses.len() - 1)];
            if status == 0 {
                std::future::pending::<()>().await;
            }
            let answer = format!("HTTP/1.1 {status} X\r\nconnection: close\r\ncontent-length: 0\r\n\r\n");
            stream.write_all(answer.as_bytes()).await.unwrap();
        }
    });
    (url, seen)
}

fn configure(place: &Place, url: &str, more: &str) {
    let key = place.path("webhook.key");
    std::fs::write(&key, format!("whsec_{}\n", STANDARD.encode(KEY))).unwrap();
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
    let text = format!("[webhook]\nurl = \"{url}\"\nsecret = \"file:{}\"\n{more}", key.display());
    std::fs::write(&place.host.config, text).unwrap();
}

const QUICKLY: &str = "[retry]\nbackoff_base = \"5ms\"\n";

fn database(place: &Place) -> Connection {
    let database = Connection::open(place.host.state.join("postern.db")).unwrap();
    database.busy_timeout(Duration::from_secs(2)).unwrap();
    database
}

/// How many messages wait.
fn kept(place: &Place) -> u32 {
    database(place).query_row("SELECT count(*) FROM messages", (), |row| row.get(0)).unwrap()
}

/// A message of a database, due and expiring so many seconds from now.
fn insert(place: &Place, number: u32, event: &str, due: i64, expires: i64) {
    let now = i64::try_from(in_seconds(0)).unwrap();
    let add = "INSERT INTO messages (id, event, body, due, expires) VALUES (?, ?, '{}', ?, ?)";
    let (due, expires) = ((now + due) * 1000, (now + expires) * 1000);
    database(place).execute(add, (format!("msg_{number}"), event, due, expires)).unwrap();
}

fn waits(digit: &str, expires: u64) -> Play {
    Play::Events([waiting(&approval(digit), expires), vec![ended(Status::Done, "")]].concat())
}

#[tokio::test]
async fn the_end_of_a_schedules_run_is_told_with_its_schedule_however_it_ended() {
    let place = Place::new();
    let (url, seen) = receiver(&[200]).await;
    configure(&place, &url, "");
    place.helper(vec![
        Play::Events(vec![ended(Status::Done, "")]),
        Play::Events(vec![refused("no_grant")]),
        Play::Events(vec![ended(Status::Done, "")]),
    ]);
    place.serve();
    let schedule = place.run(&["run", "--every", "1h", "restart nginx", "--json"]).await.json();
    let id = schedule["schedule"]["id"].as_str().or(schedule["id"].as_str()).unwrap().to_owned();
    for (count, status, exit) in [(1, "completed", Exit::Done), (2, "refused", Exit::Refused)] {
        assert_eq!(place.run(&["schedule", "run-now", &id]).await.exit, exit);
        until("a message about the run came", || seen.lock().unwrap().len() == count).await;
        let message = seen.lock().unwrap()[count - 1].json();
        let data = &message["data"];
        assert_eq!((&message["type"], &data["schedule"]), (&json!("completed"), &json!(id)), "{message}");
        assert_eq!(data["status"], status, "{message}");
    }
    place.run(&["run", "restart nginx"]).await;
    until("a message about the person's own task came", || seen.lock().unwrap().len() == 3).await;
    assert_eq!(seen.lock().unwrap()[2].json()["data"]["schedule"], Value::Null);
}

#[tokio::test]
async fn tells_signed_what_waits_and_how_the_task_ended_without_content() {
    let place = Place::new();
    let (url, seen) = receiver(&[200]).await;
    configure(&place, &url, "");
    let expires = in_seconds(60);
    place.helper(vec![waits("a", expires)]);
    place.serve();
    let order = "write 'confidential' to /srv/app.conf";
    let task = place.run(&["run", order, "--json"]).await.json();
    until("both messages came", || seen.lock().unwrap().len() == 2).await;
    let mut seen = seen.lock().unwrap().clone();
    // Each event has a sender of its own.
    seen.sort_by_key(|message| std::cmp::Reverse(message.json()["type"].to_string()));
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap().trim().to_owned();
    let (waiting, completed) = (seen[0].json(), seen[1].json());
    assert_eq!((&waiting["type"], &completed["type"]), (&json!("waiting"), &json!("completed")));
    assert_eq!(
        waiting["data"],
        json!({
            "v": 1, "approval_id": approval("a"), "task": task["id"], "verb": "file.write", "target": "/srv/app.conf",
            "rule": "web-config", "expires_unix_s": expires, "host": host,
        })
    );
    assert_eq!(
        completed["data"],
        json!({
            "task": task["id"], "trace_id": task["trace_id"], "status": "completed", "changes": task["changes"],
            "host": host,
        })
    );
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    assert_eq!(completed["data"]["changes"][0]["verb"], "file.write");
    for message in &seen {
        assert!(message.is_signed(), "{message:?}");
        assert!(now.abs_diff(message.header("webhook-timestamp").parse().unwrap()) < 60, "{message:?}");
        assert!(message.head.starts_with("POST /postern HTTP/1.1"), "{message:?}");
        assert!(!message.body.contains("confidential"), "{message:?}");
    }
    assert_ne!(seen[0].header("webhook-id"), seen[1].header("webhook-id"));
}

#[tokio::test]
async fn run_of_a_schedule_is_told_with_its_schedule_whatever_came_of_it() {
    let place = Place::new();
    let (url, seen) = receiver(&[200]).await;
    configure(&place, &url, "events = [\"completed\"]\n");
    place.helper(vec![Play::Events(vec![ended(Status::Done, "")]), Play::Events(vec![refused("no_grant")])]);
    place.serve();
    let given = place.run(&["run", "--every", "1h", "restart nginx", "--json"]).await;
    assert_eq!(given.exit, Exit::Done, "{given:?}");
    let schedules = place.run(&["schedule", "list", "--json"]).await.json();
    let id = schedules[0]["id"].as_str().expect("a schedule").to_owned();
    for (count, status, exit) in [(1, "completed", Exit::Done), (2, "refused", Exit::Refused)] {
        let ran = place.run(&["schedule", "run-now", &id]).await;
        assert_eq!(ran.exit, exit, "{ran:?}");
        until("its message came", || seen.lock().unwrap().len() == count).await;
        let message = seen.lock().unwrap()[count - 1].clone();
        let told = message.json();
        assert!(message.is_signed(), "{message:?}");
        assert_eq!(
            (&told["data"]["schedule"], &told["data"]["status"]),
            (&json!(id), &json!(status)),
            "{told}"
        );
    }
    // A person's own task has none.
    let own = place.run(&["run", "is nginx running", "--json"]).await;
    until("its message came", || seen.lock().unwrap().len() == 3).await;
    let told = seen.lock().unwrap()[2].json();
    assert_eq!(told["data"]["task"], own.json()["id"], "{told}");
    assert!(told["data"].get("schedule").is_none(), "{told}");
}

#[tokio::test]
async fn sends_again_under_the_same_id_until_it_is_taken() {
    let place = Place::new();
    let (url, seen) = receiver(&[503, 429, 200]).await;
    configure(&place, &url, &format!("events = [\"completed\"]\n{QUICKLY}"));
    place.helper(vec![waits("a", in_seconds(60))]);
    place.serve();
    assert_eq!(place.run(&["run", "restart nginx"]).await.exit, Exit::Done);
    until("the third try came", || seen.lock().unwrap().len() == 3).await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    let seen = seen.lock().unwrap().clone();
    assert_eq!(seen.len(), 3, "{seen:?}");
    assert!(
        seen.iter().all(|message| message.is_signed() && message.json()["type"] == "completed"),
        "{seen:?}"
    );
    assert!(seen.iter().all(|message| message.header("webhook-id") == seen[0].header("webhook-id")));
}

#[tokio::test]
async fn gives_a_message_up_that_is_refused_and_keeps_one_that_may_be_accepted_later() {
    let place = Place::new();
    let (url, seen) = receiver(&[400, 500, 500, 500, 500, 500, 200]).await;
    configure(&place, &url, QUICKLY);
    place.helper(vec![Play::Events(vec![ended(Status::Done, "")]), Play::Events(vec![refused("no_grant")])]);
    place.serve();
    assert_eq!(place.run(&["run", "restart nginx"]).await.exit, Exit::Done);
    assert_eq!(place.run(&["run", "restart nginx"]).await.exit, Exit::Refused);
    until("the second message was accepted", || seen.lock().unwrap().len() == 7 && kept(&place) == 0).await;
    let ids: Vec<String> =
        seen.lock().unwrap().iter().map(|seen| seen.header("webhook-id").to_owned()).collect();
    assert!(ids[0] != ids[1] && ids[1..].iter().all(|id| *id == ids[1]), "{ids:?}");
    assert_eq!(seen.lock().unwrap()[6].json()["data"]["status"], "refused");
}

#[tokio::test]
async fn keeps_messages_over_a_restart_and_sends_them_under_the_same_id() {
    let place = Place::new();
    let (url, seen) = receiver(&[503, 200]).await;
    configure(&place, &url, "[retry]\nbackoff_base = \"1s\"\n");
    place.helper(vec![Play::Events(vec![ended(Status::Done, "")])]);
    let alive = place.serve_apart();
    assert_eq!(place.run(&["run", "restart nginx"]).await.exit, Exit::Done);
    until("the first try came", || seen.lock().unwrap().len() == 1).await;
    drop(alive);
    std::fs::remove_file(&place.host.agent_socket).unwrap();
    let _alive = place.serve_apart();
    until("the second try was accepted", || seen.lock().unwrap().len() == 2 && kept(&place) == 0).await;
    let seen = seen.lock().unwrap().clone();
    assert!(seen.iter().all(Seen::is_signed), "{seen:?}");
    assert_eq!((seen[0].header("webhook-id"), &seen[0].body), (seen[1].header("webhook-id"), &seen[1].body));
}

#[tokio::test]
async fn a_message_that_fails_holds_up_no_other() {
    let place = Place::new();
    let (url, seen) = receiver(&[503, 200]).await;
    configure(&place, &url, "[retry]\nbackoff_base = \"1h\"\n");
    place.helper((0..2).map(|_| Play::Events(vec![ended(Status::Done, "")])).collect());
    place.serve();
    assert_eq!(place.run(&["run", "restart nginx"]).await.exit, Exit::Done);
    until("the first message came", || seen.lock().unwrap().len() == 1).await;
    assert_eq!(place.run(&["run", "restart nginx"]).await.exit, Exit::Done);
    until("the second message came", || seen.lock().unwrap().len() == 2 && kept(&place) == 1).await;
    let seen = seen.lock().unwrap().clone();
    assert_ne!(seen[0].header("webhook-id"), seen[1].header("webhook-id"));
}

#[tokio::test]
async fn no_task_waits_for_a_receiver_that_never_answers() {
    let place = Place::new();
    let (url, _seen) = receiver(&[0]).await;
    configure(&place, &url, "");
    place.helper((0..3).map(|_| Play::Events(vec![ended(Status::Done, "")])).collect());
    place.serve();
    for _ in 0..3 {
        let ran = tokio::time::timeout(Duration::from_secs(8), place.run(&["run", "restart nginx"])).await;
        assert_eq!(ran.expect("the task ended").exit, Exit::Done);
    }
}

#[tokio::test]
async fn keeps_256_messages_of_each_event_and_drops_those_that_nobody_needs_any_longer() {
    let place = Place::new();
    let (url, seen) = receiver(&[503]).await;
    configure(&place, &url, "[retry]\nbackoff_base = \"1h\"\n");
    place.helper(vec![waits("a", in_seconds(60))]);
    // Makes the database.
    let alive = place.serve_apart();
    assert_eq!(place.run(&["tasks", "list"]).await.exit, Exit::Done);
    drop(alive);
    std::fs::remove_file(&place.host.agent_socket).unwrap();
    for number in 0..256 {
        insert(&place, number, "completed", 600, 3600);
    }
    insert(&place, 300, "waiting", -600, -1);
    insert(&place, 301, "of_another_configuration", -600, 3600);
    place.serve();
    assert_eq!(place.run(&["run", "restart nginx"]).await.exit, Exit::Done);
    until("the request that waits was told", || seen.lock().unwrap().len() == 1).await;
    let count = |event: &str| -> u32 {
        let count = "SELECT count(*) FROM messages WHERE event = ?";
        database(&place).query_row(count, [event], |row| row.get(0)).unwrap()
    };
    assert_eq!(seen.lock().unwrap()[0].json()["type"], "waiting", "many ended tasks do not displace it");
    until("the message of the expired request is gone", || count("waiting") == 1).await;
    assert_eq!((count("completed"), count("of_another_configuration")), (256, 0));
}

#[tokio::test]
async fn posts_to_the_url_as_it_is_written_and_follows_no_redirect() {
    let place = Place::new();
    let (url, seen) = receiver(&[301, 200]).await;
    configure(&place, &format!("{url}/?token=x"), QUICKLY);
    place.helper((0..2).map(|_| Play::Events(vec![ended(Status::Done, "")])).collect());
    place.serve();
    for _ in 0..2 {
        assert_eq!(place.run(&["run", "restart nginx"]).await.exit, Exit::Done);
    }
    until("both messages came", || seen.lock().unwrap().len() == 2).await;
    let seen = seen.lock().unwrap().clone();
    assert!(
        seen.iter().all(|message| message.head.starts_with("POST /postern/?token=x HTTP/1.1")),
        "{seen:?}"
    );
    assert_ne!(seen[0].header("webhook-id"), seen[1].header("webhook-id"), "301 is final");
}

#[tokio::test]
async fn refuses_a_webhook_that_nobody_could_trust() {
    let place = Place::new();
    let vectors = [
        ("url = \"http://192.0.2.1/x\"\nsecret = \"env:X\"\n", "must begin with https://"),
        ("url = \"https://example.org/x\"\n", "needs a secret"),
        ("secret = \"env:X\"\n", "without url"),
        ("url = \"https://example.org/x\"\nsecret = \"env:X\"\nevents = []\n", "events is empty"),
        ("url = \"https://example.org/x\"\nsecret = \"env:X\"\nevents = [\"all\"]\n", "unknown variant"),
    ];
    for (text, words) in vectors {
        std::fs::write(&place.host.config, format!("[webhook]\n{text}")).unwrap();
        let ran = place.run(&["config", "check"]).await;
        assert!(ran.exit == Exit::Failed && ran.err.contains(words), "{text}{ran:?}");
    }
    let short = place.path("short");
    std::fs::write(&short, "whsec_c2hvcnQ=\n").unwrap();
    std::fs::set_permissions(&short, std::fs::Permissions::from_mode(0o600)).unwrap();
    let text = format!("[webhook]\nurl = \"https://example.org/x\"\nsecret = \"file:{}\"\n", short.display());
    std::fs::write(&place.host.config, text).unwrap();
    place.helper(Vec::new());
    place.serve();
    let ran = place.run(&["health"]).await;
    assert!(ran.out.contains("is no key of a webhook"), "{ran:?}");
}

//! The HTTP service: over TCP with its token, its limits of time, its pages and events, and what it says of itself.

use crate::common::{Place, Play, ended, refused};
use crate::{schema, server};
use http_body_util::BodyExt;
use postern_agent::service::ROUTES;
use postern_proto::v1::Status;
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};
use tokio::sync::Notify;

const TOKEN: &str = "correct horse battery";

/// An address of this host that no other test of this run has, nor another run.
fn address() -> SocketAddr {
    static NEXT: AtomicU16 = AtomicU16::new(9000);
    let [_, _, high, low] = std::process::id().to_be_bytes();
    SocketAddr::from(([127, high, low, 77], NEXT.fetch_add(1, Ordering::Relaxed)))
}

/// The bearer of the token: another owner than the user at the socket.
pub struct Bearer(SocketAddr);

impl Bearer {
    /// Gives a task and waits for its end.
    pub async fn execute(&self, order: &str) -> Value {
        let (host, bearer) = (self.0.to_string(), format!("Bearer {TOKEN}"));
        let headers =
            [("host", host.as_str()), ("authorization", &bearer), ("content-type", "application/json")];
        let stream = TcpStream::connect(self.0).await.unwrap();
        json_of(&send(stream, "POST", "/execute", &headers, order).await.2)
    }
}

/// An agent that listens on TCP besides, with more configuration.
pub async fn over_tcp_with(place: &Place, more: &str) -> Bearer {
    std::fs::write(&place.host.config, more).unwrap();
    Bearer(over_tcp(place).await)
}

/// An agent that listens on TCP besides.
async fn over_tcp(place: &Place) -> SocketAddr {
    let (address, token) = (address(), place.path("token"));
    std::fs::write(&token, format!("{TOKEN}\n")).unwrap();
    std::fs::set_permissions(&token, std::fs::Permissions::from_mode(0o600)).unwrap();
    let text = format!("[http]\ntcp = \"{address}\"\ntoken = \"file:{}\"\n", token.display());
    let before = std::fs::read_to_string(&place.host.config).unwrap_or_default();
    std::fs::write(&place.host.config, before + &text).unwrap();
    place.serve();
    // The agent runs on this thread: it binds before the first answer over its socket.
    assert_eq!(ask(place, "GET", "/tasks", &[], "").await.0, 200);
    address
}

async fn send<S>(
    stream: S,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> (u16, http::HeaderMap, String)
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
{
    let response = crate::common::http(stream, method, path, headers, body).await;
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    (status, headers, String::from_utf8(bytes.to_vec()).unwrap())
}

/// One call over the Unix socket.
pub async fn ask(
    place: &Place,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> (u16, http::HeaderMap, String) {
    let stream = UnixStream::connect(&place.host.agent_socket).await.unwrap();
    let headers = [&crate::common::HEADERS, headers].concat();
    send(stream, method, path, &headers, body).await
}

fn json_of(text: &str) -> Value {
    serde_json::from_str(text).expect(text)
}

#[tokio::test]
async fn tcp_wants_the_token_and_this_host_s_name() {
    let place = Place::new();
    let address = over_tcp(&place).await;
    let (host, bearer) = (address.to_string(), format!("Bearer {TOKEN}"));
    let local = format!("localhost:{}", address.port());
    let vectors: &[(&[(&str, &str)], u16)] = &[
        (&[("host", &host), ("authorization", &bearer)], 200),
        (&[("host", &local), ("authorization", &format!("bearer   {TOKEN}"))], 200),
        (&[("host", &host)], 401),
        (&[("host", &host), ("authorization", TOKEN)], 401),
        (&[("host", &host), ("authorization", &format!("Basic {TOKEN}"))], 401),
        (&[("host", &host), ("authorization", "Bearer correct horse batterx")], 401),
        (&[("host", &host), ("authorization", "Bearer correct horse batter")], 401),
        (&[("host", &host), ("authorization", &format!("{bearer}y"))], 401),
        (&[("host", &host), ("authorization", "Bearer ")], 401),
        (&[("host", &host), ("authorization", &bearer), ("authorization", &bearer)], 401),
        (&[("host", "evil.example"), ("authorization", &bearer)], 421),
        (&[("host", &format!("evil.example:{}", address.port())), ("authorization", &bearer)], 421),
        (&[("host", "localhost"), ("authorization", &bearer)], 421),
        (&[("host", &host), ("host", &host), ("authorization", &bearer)], 421),
        (&[("authorization", &bearer)], 421),
    ];
    for (headers, expected) in vectors {
        let stream = TcpStream::connect(address).await.unwrap();
        let (status, got, text) = send(stream, "GET", "/tasks", headers, "").await;
        assert_eq!(status, *expected, "{headers:?}: {text}");
        assert_eq!(got.contains_key("www-authenticate"), status == 401, "{headers:?}");
        assert!(!got.keys().any(|name| name.as_str().starts_with("access-control")), "no CORS");
        assert_eq!(json_of(&text)["error"].is_object(), status != 200, "{text}");
        assert!(!text.contains("correct"), "{text}");
    }
}

#[tokio::test]
async fn a_task_over_tcp_is_the_token_s_and_nobody_is_claimed_for_it() {
    let place = Place::new();
    let helper = place.helper(vec![Play::Events(vec![ended(Status::Done, "")])]);
    let address = over_tcp(&place).await;
    let (host, bearer) = (address.to_string(), format!("Bearer {TOKEN}"));
    let headers =
        [("host", host.as_str()), ("authorization", bearer.as_str()), ("content-type", "application/json")];
    let over_tcp = async |method, path: &str, body| {
        send(TcpStream::connect(address).await.unwrap(), method, path, &headers, body).await
    };
    let (status, _, text) = over_tcp("POST", "/execute", r#"{"task":"restart nginx"}"#).await;
    let task = json_of(&text);
    assert_eq!((status, &task["status"]), (200, &json!("completed")), "{text}");
    assert_eq!(helper.seen()[0].meta().claimed_uid, 0);
    let path = format!("/tasks/{}", task["id"].as_str().unwrap());
    assert_eq!(json_of(&over_tcp("GET", "/tasks", "").await.2), json!([task]));
    // A person on the socket has no such task, but root sees all of them.
    let is_root = nix::unistd::getuid().is_root();
    let (seen, of_cancel) = (ask(&place, "GET", &path, &[], "").await.0, format!("{path}/cancel"));
    assert_eq!(seen, if is_root { 200 } else { 404 });
    assert_eq!(ask(&place, "POST", &of_cancel, &[], "").await.0, 404, "not even root ends it");
    // And a person's is not the token's.
    place.helper(vec![Play::Events(vec![ended(Status::Done, "")])]);
    let own = json_of(&ask(&place, "POST", "/execute", &[], r#"{"task":"restart nginx"}"#).await.2);
    let path = format!("/tasks/{}", own["id"].as_str().unwrap());
    assert_eq!(ask(&place, "GET", &path, &[], "").await.0, 200);
    for (method, end) in [("GET", ""), ("GET", "/events"), ("POST", "/cancel")] {
        assert_eq!(over_tcp(method, &format!("{path}{end}"), "").await.0, 404, "{method} {end}");
    }
    assert_eq!(json_of(&over_tcp("GET", "/tasks", "").await.2), json!([task]));
}

#[tokio::test]
async fn what_keeps_tcp_closed_is_told_and_locks_nobody_out() {
    let vectors = [
        ("short", 0o600, "fewer than 16 characters"),
        ("a token that others may read", 0o644, "make it 0600"),
        ("", 0o600, "it is empty"),
    ];
    for (token, mode, why) in vectors {
        let place = Place::new();
        place.helper(vec![Play::Events(vec![ended(Status::Done, "")])]);
        let path = place.path("token");
        std::fs::write(&path, token).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        let address = address();
        let text = format!("[http]\ntcp = \"{address}\"\ntoken = \"file:{}\"\n", path.display());
        std::fs::write(&place.host.config, text).unwrap();
        place.serve();
        let (status, _, text) = ask(&place, "GET", "/health", &[], "").await;
        assert_eq!(status, 503);
        assert!(json_of(&text)["agent"].as_str().unwrap().contains(why), "{text}");
        assert!(!token.is_empty() && !text.contains(token) || token.is_empty(), "{text}");
        assert!(TcpStream::connect(address).await.is_err());
        let ran = place.run(&["health"]).await;
        assert!(ran.out.contains(why), "{ran:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_takes_its_time_is_let_go() {
    let place = Place::new();
    place.serve();
    let whole = b"POST /plan HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 24\r\n\r\n{\"task\":\"restart nginx\"}";
    let vectors: [(usize, &str); 4] =
        [(0, ""), (30, ""), (whole.len() - 9, "HTTP/1.1 408"), (whole.len(), "HTTP/1.1 200")];
    for (sent, expected) in vectors {
        let mut stream = UnixStream::connect(&place.host.agent_socket).await.unwrap();
        stream.write_all(&whole[..sent]).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with(expected) && answer.is_empty() == expected.is_empty(), "{sent}: {answer}");
    }
}

#[tokio::test]
async fn every_error_is_json_with_a_code() {
    let place = Place::new();
    place.serve();
    let large = "x".repeat(13 << 20);
    let vectors: &[(&str, &str, &str, u16, &str)] = &[
        ("DELETE", "/tasks", "", 405, "unsupported"),
        ("GET", "/execute", "", 405, "unsupported"),
        ("GET", "/", "", 404, "not_found"),
        ("GET", "/tasks/0", "", 404, "not_found"),
        ("GET", "/tasks?limit=0", "", 400, "invalid_argument"),
        ("GET", "/tasks?limit=many", "", 400, "invalid_argument"),
        ("GET", "/tasks?offset=1", "", 400, "invalid_argument"),
        ("GET", "/tasks?before=0", "", 404, "not_found"),
        ("GET", "/tasks/%ff", "", 400, "invalid_argument"),
        ("POST", "/execute", "", 400, "invalid_argument"),
        ("POST", "/execute", r#"{"task":1}"#, 400, "invalid_argument"),
        ("POST", "/execute", r#"{"task":"frobnicate"}"#, 422, "invalid_argument"),
        ("POST", "/requests", &large, 413, "too_large"),
    ];
    for (method, path, body, status, code) in vectors {
        let (got, _, text) = ask(&place, method, path, &[], body).await;
        let body = json_of(&text);
        assert_eq!((got, body["error"]["code"].as_str()), (*status, Some(*code)), "{method} {path}: {text}");
        assert!(body["error"]["message"].as_str().is_some_and(|m| !m.is_empty()), "{text}");
    }
    let stream = UnixStream::connect(&place.host.agent_socket).await.unwrap();
    let headers = [("host", "localhost"), ("content-type", "text/plain")];
    let (status, _, text) = send(stream, "POST", "/execute", &headers, r#"{"task":"x"}"#).await;
    assert_eq!((status, json_of(&text)["error"]["code"].as_str()), (415, Some("invalid_argument")), "{text}");
}

#[tokio::test]
async fn tasks_come_in_pages_and_events_from_where_a_client_was_cut_off() {
    let place = Place::new();
    place.helper((0..3).map(|_| Play::Events(vec![ended(Status::Done, "")])).collect());
    place.serve();
    let mut ids = Vec::new();
    for _ in 0..3 {
        let (_, _, text) = ask(&place, "POST", "/execute", &[], r#"{"task":"restart nginx"}"#).await;
        ids.insert(0, json_of(&text)["id"].as_str().unwrap().to_owned());
    }
    let page = async |query: &str| -> Vec<String> {
        let (_, _, text) = ask(&place, "GET", &format!("/tasks{query}"), &[], "").await;
        json_of(&text).as_array().unwrap().iter().map(|t| t["id"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(page("").await, ids);
    assert_eq!(page("?limit=2").await, ids[..2]);
    assert_eq!(page(&format!("?limit=2&before={}", ids[1])).await, ids[2..]);
    assert!(page(&format!("?before={}", ids[2])).await.is_empty());
    let path = format!("/tasks/{}/events", ids[0]);
    let events = async |path: &str, headers: &[(&str, &str)]| -> Vec<String> {
        let (_, _, text) = ask(&place, "GET", path, headers, "").await;
        text.lines().filter_map(|line| line.strip_prefix("id: ")).map(str::to_owned).collect()
    };
    assert_eq!(events(&path, &[]).await, ["1", "2", "3"]);
    assert_eq!(events(&path, &[("last-event-id", "2")]).await, ["3"]);
    assert_eq!(events(&format!("{path}?after=1"), &[]).await, ["2", "3"]);
    assert_eq!(events(&format!("{path}?after=1"), &[("last-event-id", "2")]).await, ["3"]);
}

#[tokio::test]
async fn the_document_has_exactly_the_routes_and_answers_are_as_it_says() {
    let place = Place::new();
    place.helper(vec![
        Play::Events(vec![refused("no_grant")]),
        Play::Events(vec![ended(Status::Done, "")]),
        Play::Events(vec![ended(Status::Done, "")]),
    ]);
    place.serve();
    let (_, _, text) = ask(&place, "GET", "/openapi.json", &[], "").await;
    let document = json_of(&text);
    let mut described: Vec<(String, String)> = Vec::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        described.extend(methods.as_object().unwrap().keys().map(|method| (method.clone(), path.clone())));
    }
    let mut routes: Vec<(String, String)> =
        ROUTES.iter().map(|(method, path)| ((*method).to_owned(), (*path).to_owned())).collect();
    described.sort();
    routes.sort();
    assert_eq!(described, routes);
    for (method, path) in &routes {
        let (status, _, text) =
            ask(&place, &method.to_uppercase(), &path.replace("{id}", "0"), &[], "").await;
        assert!(status != 405 && !text.contains("no such route"), "{method} {path}: {text}");
    }
    let order = r#"{"task":"restart nginx"}"#;
    let (_, _, task) = ask(&place, "POST", "/execute", &[], order).await;
    let one = format!("/tasks/{}", json_of(&task)["id"].as_str().unwrap());
    let of_answer = format!("{one}/answer");
    let calls = [
        ("post", "/execute", "/execute", order),
        ("post", "/execute", "/execute", r#"{"task":"restart nginx","wait":false}"#),
        ("post", "/execute", "/execute", "{}"),
        ("get", "/tasks", "/tasks", ""),
        ("get", "/tasks/{id}", &one, ""),
        ("get", "/tasks/{id}", "/tasks/0", ""),
        ("post", "/tasks/{id}/answer", &of_answer, r#"{"question":1,"answer":"yes"}"#),
        ("post", "/plan", "/plan", order),
        ("get", "/requests/{id}", "/requests/0", ""),
        ("get", "/insights", "/insights", ""),
        ("get", "/health", "/health", ""),
    ];
    for (method, path, real, body) in calls {
        let (status, headers, text) = ask(&place, &method.to_uppercase(), real, &[], body).await;
        assert_eq!(headers["content-type"], "application/json");
        let responses = &document["paths"][path][method]["responses"];
        let own = &responses[status.to_string()];
        let response = if own.is_null() { &responses[format!("{}XX", status / 100)] } else { own };
        let wanted = &response["content"]["application/json"]["schema"];
        assert!(wanted.is_object(), "{method} {path} does not say that it answers {status}");
        let wrong = schema::violations(&document, wanted, &json_of(&text));
        assert!(wrong.is_empty(), "{method} {path}: {wrong:?} in {text}");
    }
    // The check itself can fail.
    let task_schema = json!({ "$ref": "#/components/schemas/Task" });
    let mut task = json_of(&task);
    assert!(schema::violations(&document, &task_schema, &task).is_empty());
    task["status"] = json!("sleeping");
    assert!(!schema::violations(&document, &task_schema, &task).is_empty());
}

#[tokio::test]
async fn health_does_not_wait_for_the_dead_and_is_remembered_for_a_moment() {
    let ok = || server::Play::Answer(200, &[], "{}".into());
    let server = server::Server::start(vec![server::Play::Hang, ok()]).await;
    let place = Place::new();
    crate::tasks::configure(&place, &server);
    let helper = place.helper(vec![
        Play::Hold(Vec::new(), Arc::new(Notify::new()), Vec::new()),
        Play::Events(vec![ended(Status::Done, "")]),
    ]);
    place.serve();
    let late = "no answer within 2 s";
    let dead = json!({ "agent": "ok", "llm": late, "rag": "ok", "helper": late });
    // Those who ask at once, and a moment later, are told the same: each part is asked once.
    let health = async || json_of(&ask(&place, "GET", "/health", &[], "").await.2);
    let (one, other) = tokio::join!(health(), health());
    assert_eq!((&one, &other, &health().await), (&dead, &dead, &dead));
    assert_eq!((server.seen().len(), helper.seen().len()), (1, 1));
}

#[tokio::test]
async fn a_client_with_the_token_makes_no_schedules_and_sees_none() {
    let place = Place::new();
    place.helper(Vec::new());
    let address = over_tcp(&place).await;
    let (host, bearer) = (address.to_string(), format!("Bearer {TOKEN}"));
    let headers = [("host", host.as_str()), ("authorization", &bearer), ("content-type", "application/json")];
    let body = json!({ "trigger": { "every_s": 900 }, "task": "restart nginx" }).to_string();
    let (status, _, own) = ask(&place, "POST", "/schedules", &[], &body).await;
    assert_eq!(status, 201, "{own}");
    let id = json_of(&own)["schedule"]["id"].as_str().unwrap().to_owned();
    for (method, path, expected) in [
        ("POST", "/schedules".to_owned(), 403),
        ("GET", format!("/schedules/{id}"), 404),
        ("DELETE", format!("/schedules/{id}"), 404),
        ("POST", format!("/schedules/{id}/run"), 404),
    ] {
        let stream = TcpStream::connect(address).await.unwrap();
        let (status, _, answer) = send(stream, method, &path, &headers, &body).await;
        assert_eq!(status, expected, "{method} {path}: {answer}");
    }
    let stream = TcpStream::connect(address).await.unwrap();
    assert_eq!(send(stream, "GET", "/schedules", &headers, "").await.2, "[]");
}

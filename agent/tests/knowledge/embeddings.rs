//! Re-ranking by embeddings: its order, what is sent, what is kept, and what comes of an endpoint that fails.

use super::{ALICE, BOB, add, common, packages_changed};
use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use common::Place;
use postern_agent::Exit;
use postern_agent::config::tables::{Knowledge, Model};
use postern_agent::config::values::{BaseUrl, Provider, SecretRef, Span, Value as _};
use postern_agent::config::{self, Config};
use postern_agent::knowledge::{Found, KnowledgeBase, Limits};
use postern_agent::redaction::Secrets;
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Behaviour of the endpoint.
#[derive(Clone)]
enum Play {
    /// A vector for each text: one direction for boats, another one for all else.
    Vectors,
    /// The same after a while.
    Slow(Duration),
    /// These vectors.
    These(Vec<Vec<f32>>),
    /// Status and body.
    Answer(u16, String),
}

#[derive(Clone)]
struct Endpoint {
    url: String,
    play: Arc<Mutex<Play>>,
    seen: Arc<Mutex<Vec<(HeaderMap, Value)>>>,
}

impl Endpoint {
    async fn start(play: Play) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let endpoint = Self { url, play: Arc::new(Mutex::new(play)), seen: Arc::default() };
        let routes = Router::new().route("/v1/embeddings", post(answer)).with_state(endpoint.clone());
        tokio::spawn(async move { axum::serve(listener, routes).await });
        endpoint
    }

    /// Texts of each request so far; forgets them.
    fn sent(&self) -> Vec<Vec<String>> {
        let seen = std::mem::take(&mut *self.seen.lock().unwrap());
        seen.iter().map(|(_, body)| serde_json::from_value(body["input"].clone()).unwrap()).collect()
    }

    fn play(&self, play: Play) {
        *self.play.lock().unwrap() = play;
    }

    fn config(&self) -> Knowledge {
        Knowledge {
            embedding_model: "a-model".to_owned(),
            embedding_url: Some(BaseUrl::from_text(&self.url).unwrap()),
            ..Knowledge::default()
        }
    }
}

fn vector(text: &str) -> Vec<f32> {
    let is_about_boats = ["ship", "ferry", "vessel"].iter().any(|word| text.contains(word));
    if is_about_boats { vec![2.0, 0.1] } else { vec![0.1, 2.0] }
}

async fn answer(State(endpoint): State<Endpoint>, headers: HeaderMap, body: String) -> Response<Body> {
    let body: Value = serde_json::from_str(&body).unwrap();
    endpoint.seen.lock().unwrap().push((headers, body.clone()));
    let texts: Vec<String> = serde_json::from_value(body["input"].clone()).unwrap();
    let play = endpoint.play.lock().unwrap().clone();
    let vectors = match play {
        Play::Vectors => texts.iter().map(|text| vector(text)).collect(),
        Play::Slow(time) => {
            tokio::time::sleep(time).await;
            texts.iter().map(|text| vector(text)).collect()
        }
        Play::These(vectors) => vectors,
        Play::Answer(status, body) => return (StatusCode::from_u16(status).unwrap(), body).into_response(),
    };
    let data = vectors.iter().enumerate().map(|(at, vector)| json!({ "index": at, "embedding": vector }));
    // The numbers count, not the order.
    let data: Vec<Value> = data.rev().collect();
    json!({ "object": "list", "data": data }).to_string().into_response()
}

fn base(place: &Place, knowledge: &Knowledge) -> KnowledgeBase {
    base_with(place, &Config { knowledge: knowledge.clone(), ..Config::default() })
}

fn base_with(place: &Place, config: &Config) -> KnowledgeBase {
    let (secrets, _) = Secrets::fetch(config).unwrap();
    KnowledgeBase::open(&place.host, &config.knowledge, &config.model, secrets, Limits::default())
}

const QUESTION: &str = "when does the ship leave";
const LEAVE: &str = "Leave requests. To leave early, ask for leave. Leave is paid.\n";
const FERRY: &str =
    "The ferry goes at nine. Passengers leave the quay by the north gate, which is the long way round.\n";

async fn fill(base: &KnowledgeBase) {
    add(base, ALICE, "leave.txt", LEAVE).await;
    add(base, ALICE, "ferry.txt", FERRY).await;
}

async fn search(base: &KnowledgeBase) -> (Vec<String>, Option<String>) {
    let Found { hits, not_reranked } = base.search(ALICE, QUESTION, None).await.unwrap();
    (hits.into_iter().map(|hit| hit.source).collect(), not_reranked)
}

#[tokio::test]
async fn results_are_ordered_by_meaning_where_a_model_of_embeddings_is_configured() {
    let place = Place::new();
    let off = base(&place, &Knowledge::default());
    fill(&off).await;
    assert_eq!(search(&off).await, (vec!["leave.txt".to_owned(), "ferry.txt".to_owned()], None));
    assert_eq!(off.status(ALICE).await.unwrap().reranking, "off");
    drop(off);
    let endpoint = Endpoint::start(Play::Vectors).await;
    let on = base(&place, &endpoint.config());
    assert_eq!(search(&on).await, (vec!["ferry.txt".to_owned(), "leave.txt".to_owned()], None));
    assert_eq!(on.status(ALICE).await.unwrap().reranking, "on");
    assert_eq!(endpoint.seen.lock().unwrap()[0].1["model"], "a-model");
    // As many as are asked for, of those that were re-ranked.
    let hits = on.search(ALICE, QUESTION, Some(1)).await.unwrap().hits;
    assert_eq!(hits.iter().map(|hit| hit.source.as_str()).collect::<Vec<_>>(), ["ferry.txt"]);
}

fn vectors_kept(place: &Place) -> i64 {
    let sql = rusqlite::Connection::open(place.host.state.join("knowledge.db")).unwrap();
    sql.query_row("SELECT count(*) FROM vectors", (), |row| row.get(0)).unwrap()
}

#[tokio::test]
async fn a_text_is_sent_once_and_its_vector_goes_with_its_document() {
    let place = Place::new();
    let endpoint = Endpoint::start(Play::Vectors).await;
    let first = base(&place, &endpoint.config());
    fill(&first).await;
    search(&first).await;
    let sent = endpoint.sent().concat();
    assert_eq!(sent.len(), 3, "{sent:?}");
    assert_eq!(sent[0], QUESTION);
    assert_eq!(vectors_kept(&place), 2);
    drop(first);
    // Also after a restart.
    let again = base(&place, &endpoint.config());
    search(&again).await;
    assert_eq!(endpoint.sent().concat(), [QUESTION]);
    // The same text is not sent again, another one is.
    add(&again, ALICE, "leave.txt", LEAVE).await;
    search(&again).await;
    assert_eq!(endpoint.sent().concat(), [QUESTION]);
    add(&again, ALICE, "leave.txt", "You leave by train.\n").await;
    search(&again).await;
    let sent = endpoint.sent().concat();
    assert_eq!(sent.len(), 2, "{sent:?}");
    assert!(sent[1].contains("by train"), "{sent:?}");
    assert_eq!(vectors_kept(&place), 2, "the old text's is gone");
    again.remove(ALICE, "leave.txt".to_owned()).await.unwrap();
    assert_eq!(vectors_kept(&place), 1);
    drop(again);
    // Vectors of another model are others.
    let other = Knowledge { embedding_model: "another".to_owned(), ..endpoint.config() };
    search(&base(&place, &other)).await;
    assert_eq!(endpoint.sent().concat().len(), 2);
}

#[tokio::test]
async fn at_most_thirty_parts_of_a_search_are_sent_in_small_requests_and_cut() {
    let place = Place::new();
    let endpoint = Endpoint::start(Play::Vectors).await;
    let base = base(&place, &endpoint.config());
    for number in 0..40 {
        let text = format!("When people leave, number {number}. {}\n", "And so on and on. ".repeat(100));
        add(&base, ALICE, &format!("{number}.txt"), &text).await;
    }
    search(&base).await;
    let sent = endpoint.sent();
    assert!(sent.iter().all(|texts| texts.len() <= 9), "{sent:?}");
    assert_eq!(sent.concat().len(), 31);
    assert!(sent.concat().iter().all(|text| text.len() <= 1500));
}

#[tokio::test]
async fn what_is_sent_has_no_credentials_and_nothing_of_other_people() {
    let place = Place::new();
    let endpoint = Endpoint::start(Play::Vectors).await;
    let key = place.path("key");
    std::fs::write(&key, "a-held-value-of-the-site\n").unwrap();
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
    let earlier = base(&place, &Knowledge::default());
    add(&earlier, ALICE, "notes.txt", "Leave it. password = hunter2hunter2, and a-held-value-of-the-site.\n")
        .await;
    add(&earlier, BOB, "wages.txt", "Leave the wages of the board.\n").await;
    drop(earlier);
    // A secret that was configured after the text was kept.
    let knowledge = Knowledge {
        embedding_key: Some(SecretRef::from_text(&format!("file:{}", key.display())).unwrap()),
        ..endpoint.config()
    };
    let base = base(&place, &knowledge);
    let asked = "when to leave? token=abcdefghijklmnop a-held-value-of-the-site";
    let found = base.search(ALICE, asked, None).await.unwrap();
    assert_eq!((found.hits.len(), found.not_reranked), (1, None));
    let headers = endpoint.seen.lock().unwrap()[0].0.clone();
    assert_eq!(headers["authorization"], "Bearer a-held-value-of-the-site");
    let sent = endpoint.sent().concat();
    assert_eq!(sent.len(), 2, "{sent:?}");
    for word in ["hunter2", "abcdefghijklmnop", "a-held-value", "wages"] {
        assert!(!sent.concat().contains(word), "{word}: {sent:?}");
    }
}

#[tokio::test]
async fn the_key_of_the_model_is_for_its_own_address_alone() {
    let place = Place::new();
    let endpoint = Endpoint::start(Play::Vectors).await;
    let key = place.path("key");
    std::fs::write(&key, "key-of-the-model\n").unwrap();
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
    let model = Model {
        provider: Provider::Openai,
        base_url: Some(BaseUrl::from_text(&endpoint.url).unwrap()),
        key: Some(SecretRef::from_text(&format!("file:{}", key.display())).unwrap()),
        ..Model::default()
    };
    let base = base_with(
        &place,
        &Config { knowledge: endpoint.config(), model: model.clone(), ..Config::default() },
    );
    fill(&base).await;
    search(&base).await;
    let headers = |endpoint: &Endpoint| endpoint.seen.lock().unwrap().pop().unwrap().0;
    assert!(!headers(&endpoint).contains_key("authorization"), "embedding_url has no key");
    drop(base);
    let knowledge = Knowledge { embedding_url: None, ..endpoint.config() };
    let base = base_with(&place, &Config { knowledge, model, ..Config::default() });
    search(&base).await;
    assert_eq!(headers(&endpoint)["authorization"], "Bearer key-of-the-model");
}

#[tokio::test]
async fn a_failing_endpoint_leaves_the_order_of_full_text_search_with_a_word_about_it() {
    let place = Place::new();
    let endpoint = Endpoint::start(Play::Vectors).await;
    let key = place.path("key");
    std::fs::write(&key, "key-of-embeddings\n").unwrap();
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
    let knowledge = Knowledge {
        embedding_key: Some(SecretRef::from_text(&format!("file:{}", key.display())).unwrap()),
        embedding_timeout: Span(Duration::from_millis(300)),
        ..endpoint.config()
    };
    let base = base(&place, &knowledge);
    fill(&base).await;
    let plays = [
        (Play::Slow(Duration::from_secs(60)), "longer than 300 ms"),
        (Play::Answer(401, "bad key key-of-embeddings".to_owned()), "embedding_key in [knowledge]"),
        (Play::Answer(404, String::new()), "embedding_url and embedding_model in [knowledge]"),
        (Play::Answer(500, "broken\u{1b}[2J".to_owned()), "500"),
        (Play::Answer(200, "<html>".to_owned()), "no embeddings"),
        (Play::Answer(200, "{\"data\":[]}".to_owned()), "0 in place of 3"),
        (Play::Answer(200, json!({ "data": [{ "index": 7, "embedding": [1.0] }, { "embedding": [1.0] }, { "embedding": [1.0] }] }).to_string()), "numbers"),
        (Play::Answer(200, json!({ "data": [{ "index": 0, "embedding": [1.0] }, { "index": 0, "embedding": [1.0] }, { "index": 1, "embedding": [1.0] }] }).to_string()), "numbers"),
        (Play::Answer(200, " ".repeat(9 << 20)), "too long"),
        (Play::These(vec![vec![1.0, 0.0], vec![1.0, 0.0], vec![1.0]]), "different lengths"),
        (Play::These(vec![vec![1.0, 0.0], vec![0.0, 0.0], vec![1.0, 0.0]]), "without length"),
        (Play::These(vec![vec![]; 3]), "empty"),
        (Play::These(vec![vec![f32::MAX; 2]; 3]), "without length"),
        (Play::These(vec![vec![1.0; 8193]; 3]), "longer than 8192"),
    ];
    for (play, expected) in plays {
        endpoint.play(play);
        let (sources, why) = search(&base).await;
        assert_eq!(sources, ["leave.txt", "ferry.txt"], "{expected}");
        let why = why.expect(expected);
        assert!(why.contains(expected), "{why} in place of {expected}");
        assert!(!why.contains("key-of-embeddings") && !why.contains('\u{1b}'), "{why}");
        assert_eq!(base.status(ALICE).await.unwrap().reranking, why);
        assert_eq!(base.probe().await, "ok", "the base itself answers");
    }
    endpoint.play(Play::Vectors);
    assert_eq!(search(&base).await, (vec!["ferry.txt".to_owned(), "leave.txt".to_owned()], None));
}

#[tokio::test]
async fn a_slow_endpoint_gets_further_with_each_search() {
    let place = Place::new();
    let endpoint = Endpoint::start(Play::Slow(Duration::from_millis(400))).await;
    let knowledge = Knowledge { embedding_timeout: Span(Duration::from_millis(700)), ..endpoint.config() };
    let base = base(&place, &knowledge);
    for number in 0..20 {
        add(&base, ALICE, &format!("{number}.txt"), &format!("When people leave, number {number}.\n")).await;
    }
    assert!(search(&base).await.1.is_some());
    let mut searches = 1;
    while let Some(why) = search(&base).await.1 {
        searches += 1;
        assert!(searches < 20, "{why}");
    }
    let texts = endpoint.sent().concat();
    let parts = texts.iter().filter(|text| *text != QUESTION).count();
    assert!(
        parts <= 20 + 8 * searches,
        "a part whose vector came is not sent again: {parts} of {searches} searches"
    );
}

#[tokio::test]
async fn an_endpoint_that_is_gone_and_a_key_that_is_not_there_are_told() {
    let place = Place::new();
    let closed = Knowledge {
        embedding_model: "a-model".to_owned(),
        embedding_url: Some(BaseUrl::from_text("http://127.0.0.1:1").unwrap()),
        ..Knowledge::default()
    };
    let gone = base(&place, &closed);
    fill(&gone).await;
    let (sources, why) = search(&gone).await;
    assert_eq!(sources, ["leave.txt", "ferry.txt"]);
    assert!(why.unwrap().contains("cannot talk to the endpoint"));
    drop(gone);
    let no_key = Knowledge { embedding_key: Some(SecretRef::File(place.path("no-such-key"))), ..closed };
    let (sources, why) = search(&base(&place, &no_key)).await;
    assert_eq!(sources, ["leave.txt", "ferry.txt"]);
    assert!(why.unwrap().contains("no-such-key"));
}

#[test]
fn a_configuration_that_says_half_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let read = |text: &str| {
        let path = directory.path().join("agent.toml");
        std::fs::write(&path, text).unwrap();
        config::read_under(Path::new(&path), [])
    };
    let refused = [
        ("embedding_url = \"http://localhost/v1\"", "give embedding_model"),
        ("embedding_key = \"env:KEY\"", "without embedding_url"),
        ("embedding_model = \"m\"\nembedding_key = \"env:KEY\"", "without embedding_url"),
        ("embedding_model = \"m\"", "give embedding_url"),
        ("embedding_model = \"m\"\nembedding_url = \"ftp://localhost\"", "http://"),
        ("embedding_timeout = \"0s\"", "above 0"),
    ];
    for (keys, expected) in refused {
        let why = read(&format!("[knowledge]\n{keys}\n")).unwrap_err();
        assert!(why.contains(expected), "{keys}: {why}");
    }
    read("[model]\nprovider = \"openai\"\n[knowledge]\nembedding_model = \"m\"\n")
        .expect("the model's address");
    let own = "[knowledge]\nembedding_model = \"m\"\nembedding_url = \"http://localhost/v1\"\nembedding_key = \"env:KEY\"\n";
    let config = read(own).expect("an address of its own");
    assert!(config.own_keys().any(|key| *key == SecretRef::Env("KEY".to_owned())), "no model may read it");
}

#[tokio::test]
async fn command_line_says_that_results_are_not_reranked() {
    let place = Place::new();
    packages_changed(&place, "one");
    let endpoint = Endpoint::start(Play::Vectors).await;
    let text = format!("[knowledge]\nembedding_model = \"m\"\nembedding_url = \"{}\"\n", endpoint.url);
    std::fs::write(&place.host.config, text).unwrap();
    place.serve();
    for (name, text) in [("leave.txt", LEAVE), ("ferry.txt", FERRY)] {
        let ran = place.run_with(&["kb", "add", "-", "--name", name], text.as_bytes()).await;
        assert_eq!(ran.exit, Exit::Done, "{}", ran.err);
    }
    let ran = place.run(&["kb", "search", QUESTION]).await;
    assert!(ran.out.starts_with("ferry.txt") && ran.err.is_empty(), "{} {}", ran.out, ran.err);
    assert!(place.run(&["kb", "status"]).await.out.contains("re-ranking on\n"));
    endpoint.play(Play::Answer(500, "broken".to_owned()));
    let ran = place.run(&["kb", "search", QUESTION]).await;
    assert!(ran.out.starts_with("leave.txt"), "{}", ran.out);
    assert!(ran.err.contains("not re-ranked: the endpoint answers 500: broken"), "{}", ran.err);
    let found = place.run(&["kb", "search", QUESTION, "--json"]).await.json();
    assert!(found["not_reranked"].as_str().unwrap().contains("500"), "{found}");
    assert!(place.run(&["kb", "status"]).await.out.contains("re-ranking the endpoint answers 500"));
}

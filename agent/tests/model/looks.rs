//! The agent's read-only tools: within their roots, through no symbolic link, bounded, and without secrets.

use crate::common::{Place, Play, completed, ended, output, refused, unit};
use crate::guarding::{OWN_KEYS, config_with_own_keys};
use crate::server::Server;
use crate::tasks::calls;
use postern_agent::Host;
use postern_agent::inspect::ReadTools;
use postern_agent::protocol::tool::Tool;
use postern_proto::v1::{self, Status};
use serde_json::{Value, json};
use std::fs;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Runs a task whose model makes these calls; what it is told of each.
pub async fn told(place: &Place, asked: &[(&str, Value)], helper: Vec<Play>) -> Vec<Value> {
    let finish = ("finish", json!({ "outcome": "done", "summary": "seen" }));
    let plays = asked.iter().chain([&finish]).map(|(tool, args)| calls(tool, args)).collect();
    let server = Server::start(plays).await;
    let roots = json!([place.path("root/srv"), place.path("root/var/log"), place.path("root/link")]);
    let text = format!(
        "[model]\nprovider = \"openai\"\nbase_url = \"http://{}/v1\"\n[tools]\nread_roots = {roots}\n",
        server.address
    );
    fs::write(&place.host.config, text).unwrap();
    let described = Play::Events(vec![ended(Status::Done, "")]);
    let helper = place.helper([described].into_iter().chain(helper).collect());
    place.serve();
    place.run(&["run", "look", "--json"]).await;
    assert!(helper.script.lock().unwrap().is_empty(), "the helper was not asked for all");
    let seen = server.seen();
    let messages = seen.last().unwrap().body["messages"].as_array().unwrap().clone();
    let results = messages.iter().filter(|message| message["role"] == "tool");
    let results: Vec<Value> =
        results.map(|result| serde_json::from_str(result["content"].as_str().unwrap()).unwrap()).collect();
    assert_eq!(results.len(), asked.len(), "{messages:?}");
    results
}

/// A file below the host's root, with the directories that it needs.
pub fn put(place: &Place, path: &str, content: impl AsRef<[u8]>) -> PathBuf {
    let path = place.host.root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, content).unwrap();
    path
}

async fn one(place: &Place, tool: &str, args: Value) -> Value {
    told(place, &[(tool, args)], Vec::new()).await.remove(0)
}

fn read(path: &Path) -> (&'static str, Value) {
    ("read_file", json!({ "path": path }))
}

#[tokio::test]
async fn a_file_below_a_root_is_read_without_the_helper() {
    let place = Place::new();
    let path = put(&place, "srv/a.txt", "one\ntwo\n");
    let part = ("read_file", json!({ "path": path, "offset": -4, "limit": 3 }));
    let results = told(&place, &[read(&path), part], Vec::new()).await;
    assert_eq!((&results[0]["status"], &results[0]["content"]), (&json!("ok"), &json!("one\ntwo\n")));
    assert_eq!(results[1]["content"], "two");
    assert_eq!((&results[1]["status"], &results[1]["next_offset"]), (&json!("truncated"), &json!(7)));
    assert_eq!(results[1]["unread"], "Do not infer facts from unread content");
}

#[tokio::test]
async fn a_file_outside_the_roots_is_the_helpers_to_refuse() {
    let place = Place::new();
    let path = put(&place, "etc/a.conf", "x");
    put(&place, "srv/b", "x");
    let plays = vec![Play::Events(vec![refused("no_grant")]), Play::Events(vec![refused("no_grant")])];
    // A root's name is not its beginning.
    let asked = [read(&path), ("file", json!({ "action": "list", "path": place.path("root/srvother") }))];
    let results = told(&place, &asked, plays).await;
    assert!(results.iter().all(|result| result["status"] == "refused"), "{results:?}");
}

#[tokio::test]
async fn no_way_leads_out_of_a_root() {
    let place = Place::new();
    let secret = put(&place, "etc/secret", "the secret");
    put(&place, "srv/inner/file", "x");
    let root = place.host.root.clone();
    symlink(&secret, root.join("srv/link")).unwrap();
    symlink(root.join("etc"), root.join("srv/directory")).unwrap();
    symlink(root.join("etc"), root.join("link")).unwrap();
    nix::unistd::mkfifo(&root.join("srv/fifo"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    let asked = [
        read(&root.join("srv/link")),
        read(&root.join("srv/directory/secret")),
        read(&root.join("link/secret")),
        ("read_file", json!({ "path": format!("{}/srv/../etc/secret", root.display()) })),
        read(&root.join("srv/fifo")),
        ("file", json!({ "action": "list", "path": root.join("srv/directory") })),
        ("search_files", json!({ "path": root.join("srv/directory"), "text": "secret" })),
        ("search_files", json!({ "path": root.join("etc"), "text": "secret" })),
        ("search_files", json!({ "path": root.join("srv"), "text": "secret" })),
    ];
    let results = told(&place, &asked, Vec::new()).await;
    for (result, (tool, args)) in results.iter().zip(&asked).take(8) {
        assert_eq!(result["status"], "denied", "{tool} {args}: {result}");
        assert!(!result.to_string().contains("the secret"), "{result}");
        assert_eq!(result["unread"], "Do not infer facts from unread content");
    }
    assert_eq!(results[8]["matches"], json!([]), "{}", results[8]);
    assert_eq!(results[8]["skipped"], json!({ "symlinks": 2, "unreadable": 1 }));
}

#[tokio::test]
async fn a_directory_that_becomes_a_link_in_the_middle_of_a_search_leads_nowhere() {
    let place = Place::new();
    put(&place, "etc/secret", "needle outside");
    put(&place, "srv/d/file", "needle inside");
    put(&place, "srv/a", "needle always");
    let root = place.host.root.clone();
    let (real, spare, etc) = (root.join("srv/d"), root.join("srv/spare"), root.join("etc"));
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = Arc::clone(&stop);
    let attack = std::thread::spawn(move || {
        while !stopped.load(Ordering::Relaxed) {
            fs::rename(&real, &spare).unwrap();
            symlink(&etc, &real).unwrap();
            fs::remove_file(&real).unwrap();
            fs::rename(&spare, &real).unwrap();
        }
    });
    let search = |path: &str, most: u32| {
        let args = json!({ "path": root.join(path), "text": "needle", "max_matches": most });
        ("search_files", args)
    };
    let asked: Vec<_> = (10..20).flat_map(|most| [search("srv", most), search("srv/d", most)]).collect();
    let results = told(&place, &asked, Vec::new()).await;
    stop.store(true, Ordering::Relaxed);
    attack.join().unwrap();
    assert!(!json!(results).to_string().contains("needle outside"), "{results:?}");
    assert!(
        results.iter().step_by(2).all(|found| found.to_string().contains("needle always")),
        "{results:?}"
    );
}

#[tokio::test]
async fn where_secrets_are_kept_no_root_reaches() {
    let place = Place::new();
    for hidden in [
        "srv/home/.ssh/config",
        "srv/home/.aws/credentials",
        "srv/home/.kube/config",
        "srv/home/.config/gcloud/key.json",
        "srv/etc/shadow",
        "srv/etc/gshadow-",
        "srv/tls/site.key",
        "srv/id_ed25519",
        "srv/.netrc",
    ] {
        put(&place, hidden, "needle");
    }
    put(&place, "srv/open", "needle");
    let root = place.host.root.clone();
    let mut asked = vec![("search_files", json!({ "path": root.join("srv"), "text": "needle" }))];
    for hidden in ["srv/home/.ssh", "srv/etc/shadow"] {
        asked.push(("search_files", json!({ "path": root.join(hidden), "text": "needle" })));
    }
    asked.push(read(&root.join("srv/etc/shadow")));
    let results = told(&place, &asked, vec![Play::Events(vec![refused("protected")])]).await;
    let matches = results[0]["matches"].as_array().unwrap();
    assert_eq!(matches.len(), 1, "{}", results[0]);
    assert_eq!(matches[0]["path"], json!(root.join("srv/open")));
    assert_eq!(results[0]["skipped"]["hidden"], 9, "{}", results[0]);
    assert!(results[1..3].iter().all(|result| result["status"] == "denied"), "{results:?}");
    // The policy alone decides about it.
    assert_eq!(results[3]["status"], "refused");
}

#[tokio::test]
async fn the_agents_own_keys_are_hidden_from_its_read_tools() {
    let directory = tempfile::tempdir().unwrap();
    let config = config_with_own_keys(directory.path());
    let path = |name: &str| directory.path().join(name).display().to_string();
    fs::write(path("other"), "other").unwrap();
    let tools = ReadTools::new(&config, &Host { root: directory.path().to_owned(), ..Host::default() });
    for name in OWN_KEYS {
        let tool = Tool::ReadFile { path: path(name), offset: None, limit: None };
        assert!(tools.run(&tool).await.is_none(), "{name} is the policy's to decide");
    }
    let tool = Tool::ReadFile { path: path("other"), offset: None, limit: None };
    assert_eq!(tools.run(&tool).await.unwrap().text.as_deref(), Some("other"));
}

#[tokio::test]
async fn long_and_binary_files_are_read_in_part_or_not() {
    let place = Place::new();
    // Long lines: a look ends after some seconds, also on a busy machine.
    let long = put(&place, "srv/long", format!("{:>199}\n", "line of a long file").repeat(50_000));
    let umlauts = put(&place, "srv/umlauts", "\u{fc}".repeat(20_000));
    let binary = put(&place, "srv/binary", b"\x7fELF\0\0needle");
    let root = place.host.root.join("srv");
    let asked = [
        read(&long),
        ("read_file", json!({ "path": long, "offset": 9_999_990, "limit": 4_000_000_000u32 })),
        ("read_file", json!({ "path": umlauts, "offset": 1 })),
        read(&binary),
        ("search_files", json!({ "path": root, "text": "needle" })),
        ("search_files", json!({ "path": root, "text": "long file", "max_matches": 3 })),
        ("search_files", json!({ "path": root, "text": "long file", "max_matches": 2_000 })),
    ];
    let results = told(&place, &asked, Vec::new()).await;
    assert_eq!((&results[0]["size"], &results[0]["next_offset"]), (&json!(10_000_000), &json!(12_000)));
    assert!(results[0]["content"].as_str().unwrap().len() <= 12_000);
    assert_eq!((&results[1]["content"], &results[1]["status"]), (&json!("long file\n"), &json!("ok")));
    assert!(!results[2]["content"].as_str().unwrap().contains('\u{fffd}'), "a character is cut in two");
    assert!(results[3]["error"].as_str().unwrap().contains("not_text"), "{}", results[3]);
    assert_eq!(results[4]["skipped"], json!({ "binary": 1, "long_files_in_part": 1 }));
    assert_eq!(results[5]["matches"].as_array().map_or(0, Vec::len), 3, "{}", results[5]);
    assert_eq!(
        (&results[5]["status"], &results[5]["ended_by"]),
        (&json!("truncated"), &json!("max_matches"))
    );
    assert!(results[6].to_string().chars().count() <= 20_000 && results[6]["status"] == "truncated");
}

#[tokio::test]
async fn a_key_is_no_part_of_what_is_read_wherever_the_part_begins() {
    let place = Place::new();
    let body = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj\n";
    let key =
        format!("before\n-----BEGIN PRIVATE KEY-----\n{}-----END PRIVATE KEY-----\nafter\n", body.repeat(20));
    let path = put(&place, "srv/config", format!("{key}password = hunter22222\n"));
    let at =
        |offset: i64, limit: u32| ("read_file", json!({ "path": path, "offset": offset, "limit": limit }));
    let asked = [
        read(&path),
        at(100, 40),
        at(20, 10),
        at(-12, 12),
        ("search_files", json!({ "path": path, "text": "MIIE" })),
        ("search_files", json!({ "path": path, "text": "after" })),
        ("search_files", json!({ "path": path, "text": "password = hunt" })),
    ];
    let results = told(&place, &asked, Vec::new()).await;
    assert_eq!(results[0]["content"], "before\n[REDACTED]\nafter\npassword = [REDACTED]\n");
    for result in &results {
        let text = result.to_string();
        assert!(!text.contains("AgEAAoIB") && !text.contains("ADANB") && !text.contains("er2222"), "{text}");
    }
    assert_eq!(results[4]["matches"], json!([]));
    assert_eq!(results[5]["matches"][0]["line"], 24);
    assert_eq!(results[6]["matches"], json!([]));
}

#[tokio::test]
async fn a_directory_is_listed_with_what_is_in_it() {
    let place = Place::new();
    put(&place, "srv/b.txt", "12345");
    put(&place, "srv/a/x", "");
    symlink("/etc/shadow", place.host.root.join("srv/c")).unwrap();
    for number in 0..400 {
        put(
            &place,
            &format!("srv/many/a rather long name of a file so that many of them fill a list {number:03}"),
            "",
        );
    }
    let root = place.host.root.join("srv");
    let asked = [
        ("file", json!({ "action": "list", "path": root })),
        ("file", json!({ "action": "list", "path": root.join("many") })),
    ];
    let results = told(&place, &asked, Vec::new()).await;
    let entries = results[0]["entries"].as_array().unwrap();
    let kinds: Vec<_> =
        entries.iter().map(|entry| (entry["name"].as_str().unwrap(), &entry["type"])).collect();
    assert_eq!(
        kinds,
        [
            ("a", &json!("directory")),
            ("b.txt", &json!("file")),
            ("c", &json!("symlink")),
            ("many", &json!("directory"))
        ]
    );
    assert_eq!(entries[1]["size"], 5);
    let many = &results[1];
    let shown = many["entries"].as_array().unwrap().len() as u64;
    assert_eq!(
        (many["status"].as_str(), shown + many["left_out"].as_u64().unwrap()),
        (Some("truncated"), 400)
    );
}

#[tokio::test]
async fn logs_are_searched_from_their_newest_line() {
    let place = Place::new();
    let old = put(&place, "var/log/app.log.1", "error one\nerror two\n");
    put(&place, "var/log/app.log", "error three\nfine\nerror four token=abcdefgh12345\n");
    let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(86_400);
    fs::File::options().write(true).open(old).unwrap().set_modified(long_ago).unwrap();
    put(&place, "srv/app.log", "error elsewhere");
    let found = one(&place, "search_logs", json!({ "text": "error" })).await;
    let texts: Vec<_> =
        found["matches"].as_array().unwrap().iter().map(|hit| hit["text"].as_str().unwrap()).collect();
    assert_eq!(texts, ["error four token=[REDACTED]", "error three", "error two", "error one"]);
    assert_eq!(found["redacted_count"], 1);
}

/// A file as gzip(1) makes it, `days` old.
fn put_packed(place: &Place, path: &str, content: &[u8], days: u64) {
    let mut packing = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packing.write_all(content).unwrap();
    let path = put(place, path, packing.finish().unwrap());
    let then = std::time::SystemTime::now() - std::time::Duration::from_secs(days * 86_400);
    fs::File::options().write(true).open(path).unwrap().set_modified(then).unwrap();
}

#[tokio::test]
async fn logs_are_searched_through_rotated_and_compressed_files() {
    let place = Place::new();
    put(&place, "var/log/app.log", "error now\n");
    put_packed(&place, "var/log/app.log.2.gz", b"error two days ago\nfine\n", 2);
    put_packed(&place, "var/log/app.log-20260101.gz", b"error dated password=hunter2hunter2\n", 30);
    put_packed(&place, "var/log/wtmp.3.gz", b"error\0binary", 3);
    put(&place, "var/log/damaged.gz", b"\x1f\x8b\x08 and no more of it: error");
    let secret = put(&place, "etc/secret.gz", "error outside");
    symlink(&secret, place.host.root.join("var/log/link.gz")).unwrap();
    let found = one(&place, "search_logs", json!({ "text": "error" })).await;
    let texts: Vec<_> =
        found["matches"].as_array().unwrap().iter().map(|hit| hit["text"].as_str().unwrap()).collect();
    assert_eq!(texts, ["error now", "error two days ago", "error dated password=[REDACTED]"]);
    assert_eq!(found["skipped"], json!({ "binary": 1, "symlinks": 1, "unreadable": 1 }), "{found}");
}

#[tokio::test]
async fn the_searched_end_of_a_long_log_begins_with_a_line() {
    let place = Place::new();
    // The end that is searched begins within the credential, whose rest has not its shape.
    let end = format!("hunter2hunter2 error\n{}", "fine\n".repeat((4 << 20) / 5)).into_bytes();
    let long = [b"password=".repeat(10).as_slice(), &end[..(4 << 20)]].concat();
    put(&place, "var/log/app.log", long);
    let asked = ["error", "fine"].map(|text| ("search_logs", json!({ "text": text })));
    let results = told(&place, &asked, Vec::new()).await;
    let [secret, plain] = results.as_slice() else { panic!("{results:?}") };
    assert_eq!((&secret["matches"], &secret["skipped"]["long_files_in_part"]), (&json!([]), &json!(1)));
    assert_eq!(plain["matches"][0]["text"], "fine", "{plain}");
}

#[tokio::test]
async fn a_compressed_log_that_unpacks_to_very_much_ends_the_search_by_its_limits() {
    let place = Place::new();
    let mut lines = [[b'x'; 1023].as_slice(), b"\n"].concat().repeat(80 << 10);
    lines.extend_from_slice(b"needle at the end\n");
    put_packed(&place, "var/log/large.gz", &lines, 1);
    let found = one(&place, "search_logs", json!({ "text": "needle" })).await;
    assert_eq!(found["skipped"]["long_files_in_part"], 1, "{found}");
    assert_eq!(found["matches"], json!([]), "80 MiB are more than is unpacked");
}

#[tokio::test]
async fn the_helper_answers_what_is_its_own() {
    let place = Place::new();
    put(&place, "srv/x", "");
    let show =
        v1::PackageInfo { name: "nginx-light".into(), state: "installed".into(), ..Default::default() };
    let show =
        completed(v1::Completed { status: Status::Done.into(), packages: vec![show], ..Default::default() });
    let done = || Play::Events(vec![ended(Status::Done, "")]);
    let lines = output(v1::Stream::Stdout, b"a line of the journal");
    let helper = vec![Play::Events(vec![show]), Play::Events(vec![lines, ended(Status::Done, "")]), done()];
    let asked = [
        ("package", json!({ "action": "show", "names": ["nginx-light"] })),
        ("unit_journal", json!({ "name": "nginx", "lines": 20 })),
        ("run_command", json!({ "name": "rotate", "params": { "b": "2", "a": "1" } })),
    ];
    let results = told(&place, &asked, helper).await;
    assert!(results[0]["stdout"].as_str().unwrap().contains("nginx-light"), "{results:?}");
    assert!(results[1]["stdout"].as_str().unwrap().contains("a line of the journal"), "{results:?}");
    assert_eq!(results[2]["status"], "ok");
}

#[tokio::test]
async fn a_change_is_told_with_the_id_that_takes_it_back() {
    let place = Place::new();
    let done = || Play::Events(vec![unit(Status::Done, "nginx.service", "active", "running")]);
    let stop = ("service", json!({ "action": "stop", "name": "nginx" }));
    let asked = [stop, ("undo", json!({ "request_id": "last" }))];
    let results = told(&place, &asked, vec![done(), done()]).await;
    let id = results[0]["undo"].as_str().unwrap();
    assert!(uuid_like(id), "{id}");
    assert_eq!(results[1]["status"], "ok", "{results:?}");
}

fn uuid_like(id: &str) -> bool {
    id.len() == 36 && id.split('-').count() == 5
}

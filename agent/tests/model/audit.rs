//! The agent's own audit log: its chain, and what becomes a record in it.

use crate::commands::{World, answered, call, ordered, settled};
use crate::common::{Place, Play, ended, until};
use crate::server::Server;
use crate::tasks::{calls, configure};
use postern_agent::audit::{AuditLog, EVENTS, Limits, Record};
use postern_proto::v1::Status;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// A word that no record may have, besides the text that a person was shown.
const CONTENT: &str = "tangerine";

fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

fn files(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).expect("the log's directory");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("a file").path()).collect();
    // The file that is written comes behind those with a number.
    files.sort_by_key(|path| (path.file_name().is_some_and(|name| name == "audit.jsonl"), path.clone()));
    files
}

/// The records of a log, or why it is no chain. As `privhelper/audit/AUDIT.md` has it, without the writer's code.
fn chain(directory: &Path) -> Result<Vec<Value>, String> {
    let (mut records, mut prev) = (Vec::<Value>::new(), "0".repeat(64));
    let mut torn: Option<Vec<u8>> = None;
    for path in files(directory) {
        let bytes = std::fs::read(&path).expect("a file");
        let mut last: &[u8] = b"";
        let mut lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
        if lines.pop().is_some_and(|rest| !rest.is_empty()) {
            return Err("the file ends inside a line".to_owned());
        }
        for line in lines {
            let Some((record, hashed)) = of_line(line) else {
                torn = Some(torn.map_or_else(|| line.to_vec(), |before| [&before[..], b"\n", line].concat()));
                continue;
            };
            // A whole line may have lacked its LF alone when the agent found it.
            if record["event"] == "torn" && record["sha256"] == sha256(last) {
                let before = records.pop().expect("the line that is named");
                before["prev"].as_str().expect("a hash").clone_into(&mut prev);
            }
            last = line;
            if let Some(torn) = torn.take() {
                let is_named = record["event"] == "torn"
                    && record["size"] == torn.len()
                    && record["sha256"] == sha256(&torn);
                if !is_named {
                    return Err(format!("bytes that no record names: {}", String::from_utf8_lossy(&torn)));
                }
            }
            let seq = records.len() + 1;
            if record["seq"] != seq || record["prev"] != prev || record["hash"] != sha256(&hashed) {
                return Err(format!("record {seq} is not the next: {record}"));
            }
            record["hash"].as_str().expect("a hash").clone_into(&mut prev);
            records.push(record);
        }
    }
    if torn.is_some() { Err("bytes at the end that no record names".to_owned()) } else { Ok(records) }
}

/// A line as a record, and the bytes that its hash is of.
fn of_line(line: &[u8]) -> Option<(Value, Vec<u8>)> {
    let text = std::str::from_utf8(line).ok()?;
    let (hashed, rest) = text.rsplit_once(",\"hash\":\"")?;
    let is_whole = rest.len() == 66 && rest.ends_with("\"}") && hashed.starts_with("{\"v\":1,\"seq\":");
    let record = serde_json::from_str(text).ok().filter(|_| is_whole)?;
    Some((record, hashed.as_bytes().to_vec()))
}

fn open(directory: &Path) -> AuditLog {
    AuditLog::open(directory, Limits::default())
}

/// A log with these many records, closed.
fn written(count: usize) -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().expect("a directory");
    let log = open(directory.path());
    (0..count).for_each(|_| log.append(&Record::start()));
    let path = directory.path().join("audit.jsonl");
    (directory, path)
}

fn events(records: &[Value]) -> Vec<&str> {
    records.iter().map(|record| record["event"].as_str().expect("an event")).collect()
}

#[test]
fn any_changed_byte_breaks_the_chain() {
    let (directory, path) = written(3);
    let whole = std::fs::read(&path).unwrap();
    assert_eq!(chain(directory.path()).map(|records| records.len()), Ok(3));
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    for at in 0..whole.len() {
        let mut changed = whole.clone();
        changed[at] ^= 1;
        std::fs::write(&path, &changed).unwrap();
        let why = chain(directory.path());
        assert!(why.is_err(), "byte {at} of {:?} may be changed", String::from_utf8_lossy(&whole));
    }
    let lines: Vec<&[u8]> = whole.split_inclusive(|byte| *byte == b'\n').collect();
    for other in [[lines[1], lines[0], lines[2]].concat(), [lines[0], lines[2]].concat(), whole.repeat(2)] {
        std::fs::write(&path, other).unwrap();
        assert!(chain(directory.path()).is_err());
    }
}

#[test]
fn a_line_that_a_crash_cut_short_is_named_by_the_next_record() {
    let (directory, path) = written(3);
    let whole = std::fs::read(&path).unwrap();
    let last = whole[..whole.len() - 1].iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
    // Also a line that lacks its LF alone.
    for end in [last + 1, last + 40, whole.len() - 2, whole.len() - 1] {
        std::fs::write(&path, &whole[..end]).unwrap();
        open(directory.path()).append(&Record::start());
        let records = chain(directory.path()).unwrap();
        assert_eq!(events(&records), ["start", "start", "torn", "start"], "cut at {end}");
        assert_eq!(records[2]["size"], end - last);
    }
}

#[test]
fn a_log_that_goes_on_after_a_start_is_one_chain() {
    let (directory, _) = written(2);
    open(directory.path()).append(&Record::stop());
    let records = chain(directory.path()).unwrap();
    assert_eq!(events(&records), ["start", "start", "stop"]);
    assert!(records.iter().all(|record| record["boot_id"] == records[0]["boot_id"]));
}

#[test]
fn changes_by_another_program_are_recorded() {
    type Change = fn(&Path);
    let cases: [(&str, Change); 4] = [
        ("was cut from", |path| {
            let whole = std::fs::read(path).unwrap();
            std::fs::write(path, &whole[..whole.len() / 2]).unwrap();
        }),
        ("bytes that the agent did not write", |path| {
            let whole = std::fs::read(path).unwrap();
            std::fs::write(path, [&whole[..], b"x\n"].concat()).unwrap();
        }),
        ("was removed", |path| std::fs::remove_file(path).unwrap()),
        ("was replaced", |path| {
            let other = path.with_file_name("other");
            std::fs::write(&other, std::fs::read(path).unwrap()).unwrap();
            std::fs::rename(other, path).unwrap();
        }),
    ];
    for (what, change) in cases {
        let directory = tempfile::tempdir().unwrap();
        let (log, path) = (open(directory.path()), directory.path().join("audit.jsonl"));
        log.append(&Record::start());
        log.append(&Record::start());
        change(&path);
        log.append(&Record::stop());
        let text = std::fs::read_to_string(&path).unwrap();
        let records: Vec<Value> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let [.., told, stop] = &records[..] else { panic!("{text}") };
        assert_eq!((&told["event"], &stop["event"]), (&json!("tampered"), &json!("stop")), "{text}");
        let detail = told["outcome"]["detail"].as_str().unwrap();
        assert!(detail.contains(what) && detail.ends_with("behind record 2"), "{detail}");
        // The numbers go on from what was written, so that a reader sees what is missing.
        assert_eq!((told["seq"].as_u64(), log.fault()), (Some(3), None));
    }
}

#[test]
fn files_are_put_away_and_go_on_as_one_chain() {
    let directory = tempfile::tempdir().unwrap();
    let small = Limits { file_bytes: 2000, ..Limits::default() };
    let log = AuditLog::open(directory.path(), small);
    (0..30).for_each(|_| log.append(&Record::start()));
    drop(log);
    let names = files(directory.path());
    assert!(names.len() > 3, "{names:?}");
    let records = chain(directory.path()).unwrap();
    let rotated: Vec<&Value> = records.iter().filter(|record| record["event"] == "rotated").collect();
    assert_eq!(rotated.len(), names.len() - 1);
    for (record, file) in rotated.iter().zip(&names) {
        assert_eq!(record["file"], file.file_name().unwrap().to_str().unwrap());
        // Nothing was old enough to be removed.
        assert_eq!(record["kept"], Value::Null);
    }
    // A new file that a crash left empty: the one before it has the end.
    std::fs::rename(directory.path().join("audit.jsonl"), directory.path().join("gone")).unwrap();
    std::fs::remove_file(directory.path().join("gone")).unwrap();
    let before = chain(directory.path()).unwrap().len();
    AuditLog::open(directory.path(), small).append(&Record::stop());
    let records = chain(directory.path()).unwrap();
    assert_eq!(events(&records)[before..], ["rotated", "stop"]);
}

#[test]
fn a_file_that_cannot_be_put_away_is_written_on_and_no_record_counts_as_lost() {
    for obstacle in ["audit-000000000001.jsonl", "audit.jsonl.next"] {
        let directory = tempfile::tempdir().unwrap();
        let log = AuditLog::open(directory.path(), Limits { file_bytes: 2000, ..Limits::default() });
        log.append(&Record::start());
        let obstacle = directory.path().join(obstacle);
        std::fs::create_dir(&obstacle).unwrap();
        (0..20).for_each(|_| log.append(&Record::start()));
        assert_eq!(log.fault(), None);
        log.tip().unwrap();
        std::fs::remove_dir(&obstacle).unwrap();
        assert_eq!(files(directory.path()).len(), 1);
        let records = chain(directory.path()).unwrap();
        assert!(events(&records).iter().all(|event| *event == "start"), "{records:?}");
        log.append(&Record::stop());
        let records = chain(directory.path()).unwrap();
        assert_eq!(events(&records)[20..], ["start", "stop", "rotated"]);
        assert_eq!(files(directory.path()).len(), 2);
    }
}

#[test]
fn old_files_are_removed_by_number_and_age_and_the_log_says_from_where_it_is_kept() {
    let directory = tempfile::tempdir().unwrap();
    let small = Limits { file_bytes: 500, ..Limits::default() };
    let log = AuditLog::open(directory.path(), small);
    while files(directory.path()).len() < 40 {
        log.append(&Record::start());
    }
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(31 * 24 * 60 * 60);
    for path in files(directory.path()).iter().take(5) {
        std::fs::File::options().append(true).open(path).unwrap().set_modified(old).unwrap();
    }
    let sixth = files(directory.path())[5].clone();
    let count = files(directory.path()).len();
    while files(directory.path()).len() >= count {
        log.append(&Record::start());
    }
    let left = files(directory.path());
    assert_eq!(left[0], sixth, "younger files stay, whatever their number");
    let text = std::fs::read_to_string(directory.path().join("audit.jsonl")).unwrap();
    let first: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    let number: u64 = sixth.to_str().unwrap().split("audit-").last().unwrap()[..12].parse().unwrap();
    assert_eq!((&first["event"], first["kept"].as_u64()), (&json!("rotated"), Some(number)), "{text}");
}

#[test]
fn records_over_a_days_bytes_are_counted() {
    let directory = tempfile::tempdir().unwrap();
    let log = AuditLog::open(directory.path(), Limits { day_bytes: 60, ..Limits::default() });
    (0..10).for_each(|_| log.append(&Record::start()));
    let tip = log.tip().unwrap().expect("a tip");
    let records = chain(directory.path()).unwrap();
    let (last, rest) = records.split_last().unwrap();
    assert!(rest.len() < 10 && rest.iter().all(|record| record["event"] == "start"));
    assert_eq!(
        (&last["event"], last["count"].as_u64()),
        (&json!("suppressed"), Some(10 - rest.len() as u64))
    );
    assert_eq!((last["seq"].as_u64(), last["hash"].as_str()), (Some(tip.seq), Some(&*hex(&tip.hash))));
    assert_eq!(log.tip().unwrap(), Some(tip), "nothing new");
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

#[tokio::test]
async fn health_says_that_nothing_is_recorded() {
    let place = Place::new();
    std::fs::create_dir_all(&place.host.state).unwrap();
    std::fs::write(place.host.state.join("audit"), "no directory").unwrap();
    place.helper(vec![Play::Events(vec![ended(Status::Done, "")])]);
    place.serve();
    let agent = place.run(&["health", "--json"]).await.json()["agent"].to_string();
    assert!(agent.contains("the agent's audit log cannot be written"), "{agent}");
}

/// The records of an agent's own log.
fn of(place: &Place) -> Vec<Value> {
    chain(&place.host.state.join("audit")).expect("a chain")
}

fn named<'r>(records: &'r [Value], event: &str) -> Vec<&'r Value> {
    records.iter().filter(|record| record["event"] == event).collect()
}

#[tokio::test]
async fn a_question_is_recorded_as_it_was_shown_and_a_command_by_its_digest() {
    let world = World::new("");
    world.helper(vec![]);
    let place = &world.place;
    let asks = settled(place, &ordered(place, "touch made").await).await;
    let shown = asks["question"].clone();
    let task = answered(place, &asks, json!({ "answer": "always" })).await;
    let again = settled(place, &ordered(place, "touch made").await).await;
    let asks = settled(place, &ordered(place, "touch --reference=password=hunter2hunter2").await).await;
    let no = answered(place, &asks, json!({ "answer": "text", "text": format!("echo {CONTENT}") })).await;
    assert_eq!(no["status"], "completed", "{no}");
    let records = of(place);
    let questions = named(&records, "question");
    let first = &questions[0];
    assert_eq!((&first["task"], &first["trace_id"]), (&task["id"], &task["trace_id"]));
    assert_eq!((&first["answer"], &first["number"]), (&json!("always"), &json!(1)));
    for member in ["kind", "what", "details", "choices"] {
        assert_eq!(first["shown"][member], shown[member], "{member}");
    }
    let text = questions[1].to_string();
    assert!(text.contains("password=[REDACTED]") && !text.contains("hunter2"), "{text}");
    let words = format!("echo {CONTENT}");
    assert_eq!(questions[1]["answer"], "text");
    assert_eq!(questions[1]["words"], json!({ "size": words.len(), "sha256": sha256(words.as_bytes()) }));
    let commands = named(&records, "command");
    let argv = sha256(b"touch\0made\0");
    assert_eq!(commands[0]["args"], json!({ "words": 2, "argv_sha256": argv }));
    assert_eq!(commands[0]["outcome"], json!({ "status": "ok", "exit": 0 }));
    assert_eq!(commands[0]["sandbox"]["profile"], "workspace_write");
    let consents: Vec<_> = commands.iter().map(|command| &command["consent"]).collect();
    assert_eq!(consents, ["yes", "always", "rule"]);
    assert_eq!(commands[1]["task"], again["id"]);
    assert!(commands.iter().all(|command| command["duration_us"].as_u64() > Some(0)));
    assert!(commands.iter().all(|command| !command.to_string().contains(CONTENT)), "{commands:?}");
}

#[tokio::test]
async fn what_the_sandbox_hid_is_recorded() {
    let world = World::new("");
    world.helper(vec![]);
    let asks = settled(&world.place, &ordered(&world.place, "cat /etc/postern/policy.toml").await).await;
    let task = if asks["question"].is_object() {
        answered(&world.place, &asks, json!({ "answer": "yes" })).await
    } else {
        asks
    };
    let records = of(&world.place);
    let hidden = &named(&records, "command")[0]["hidden"];
    assert_eq!(hidden, &task["results"][0]["hidden"], "{task}");
    assert!(hidden[0].as_str().unwrap().starts_with("/etc/postern/policy.toml: "), "{hidden}");
}

#[tokio::test]
async fn a_task_of_a_model_is_recorded_from_its_beginning_to_its_end_without_content() {
    let write = json!({ "path": "/etc/app.conf", "content": format!("flavour = {CONTENT}\n") });
    let server = Server::start(vec![
        calls("service", &json!({ "action": "restart", "name": "nginx" })),
        calls("write_file", &write),
        calls("finish", &json!({ "outcome": "done", "summary": format!("{CONTENT} is set") })),
    ])
    .await;
    let place = Place::new();
    let url = format!("http://{}/v1", server.address);
    let text = format!("[model]\nprovider = \"openai\"\nname = \"small\"\nbase_url = \"{url}\"\n");
    std::fs::write(&place.host.config, text).unwrap();
    let done = || Play::Events(vec![ended(Status::Done, "")]);
    place.helper(vec![
        done(),
        done(),
        Play::Events(vec![ended(Status::Failed, "not_found")]),
        done(),
        done(),
    ]);
    place.serve();
    let ran = place.run(&["run", &format!("set the flavour to {CONTENT}"), "--json"]).await;
    let task = ran.json();
    let records = of(&place);
    let mine: Vec<Value> = records.iter().filter(|record| record["task"] == task["id"]).cloned().collect();
    let order = ["task_begun", "model", "step", "model", "step", "model", "task_ended"];
    assert_eq!(events(&mine), order, "{mine:?}");
    let words = format!("set the flavour to {CONTENT}");
    let uid = nix::unistd::getuid().as_raw();
    assert_eq!(mine[0]["person"], json!({ "uid": uid }));
    assert_eq!(mine[0]["args"]["work"], "words");
    assert_eq!(mine[0]["args"]["order"], json!({ "size": words.len(), "sha256": sha256(words.as_bytes()) }));
    let tokens = json!({ "input": 100, "cached": 0, "output": 10 });
    assert_eq!(mine[1]["outcome"], json!({ "status": "ok", "tokens": tokens }));
    assert!(mine[1]["duration_us"].as_u64() > Some(0) && mine[1]["model"] == "small", "{}", mine[1]);
    assert_eq!((&mine[2]["tool"], &mine[2]["step"]), (&json!("service"), &json!(1)));
    assert_eq!(mine[2]["request_id"], task["results"][0]["request_id"]);
    let end = &mine[6]["outcome"];
    assert_eq!((&end["status"], &end["changes"]), (&task["status"], &json!(2)), "{end}");
    assert_eq!(end["requests"][0], task["changes"][0]["request_id"]);
    assert_eq!(end["tokens"], json!({ "input": 300, "cached": 0, "output": 30 }));
    let text = mine.iter().map(Value::to_string).collect::<String>();
    assert!(!text.contains(CONTENT) && !text.contains("app.conf"), "{text}");
}

#[tokio::test]
async fn a_model_that_cannot_be_asked_is_recorded_as_a_failure_without_its_words() {
    let refusal = crate::server::Play::Answer(401, &[], format!("no {CONTENT} here"));
    let server = Server::start(vec![refusal]).await;
    let place = Place::new();
    configure(&place, &server);
    place.helper(vec![Play::Events(vec![ended(Status::Done, "")])]);
    place.serve();
    place.run(&["run", "look around", "--json"]).await;
    let records = of(&place);
    assert_eq!(named(&records, "model")[0]["outcome"]["status"], "status");
    assert_eq!(named(&records, "task_ended")[0]["outcome"]["status"], "failed");
    assert!(!records.iter().any(|record| record.to_string().contains(CONTENT)));
}

#[tokio::test]
async fn a_plans_run_and_a_schedules_are_recorded() {
    let place = Place::new();
    place.helper(vec![Play::Decide(std::sync::Arc::new(|_| vec![ended(Status::Done, "")]))]);
    place.serve();
    let restart = json!({ "tool": "service", "args": { "action": "restart", "name": "nginx" } });
    let plan = json!({ "plan_type": "command_plan", "goal": "nginx restarts", "commands": [restart] });
    let task = call(&place, "POST", "/execute", &json!({ "plan": plan })).await;
    assert_eq!(task["status"], "completed", "{task}");
    let every = json!({ "trigger": { "every_s": 3600 }, "task": "restart nginx" });
    let schedule = call(&place, "POST", "/schedules", &every).await["schedule"].clone();
    let at = format!("/schedules/{}", schedule["id"].as_str().unwrap());
    for change in ["run", "pause", "resume"] {
        call(&place, "POST", &format!("{at}/{change}"), &json!({})).await;
    }
    call(&place, "DELETE", &at, &json!({})).await;
    until("the run's end", || named(&of(&place), "task_ended").len() == 2).await;
    let records = of(&place);
    let begun = named(&records, "task_begun");
    assert_eq!(
        (&begun[0]["args"]["work"], begun[0]["args"]["plan"]["sha256"].is_string()),
        (&json!("plan"), true)
    );
    assert_eq!(begun[1]["args"]["schedule"], schedule["id"]);
    let changes: Vec<_> = named(&records, "schedule").iter().map(|record| record["change"].clone()).collect();
    assert_eq!(changes, ["added", "run", "paused", "resumed", "removed"]);
    let added = named(&records, "schedule")[0];
    assert_eq!((&added["args"]["kind"], &added["args"]["schedule"]), (&json!("every"), &schedule["id"]));
    let known: BTreeSet<&str> = EVENTS.iter().copied().collect();
    let unknown: Vec<&str> = events(&records).into_iter().filter(|event| !known.contains(event)).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
}

#[tokio::test]
async fn the_end_of_the_log_is_anchored_at_each_interval_with_something_new_also_after_a_failure() {
    let interval = std::time::Duration::from_millis(300);
    let mut place = Place::new();
    assert_eq!(place.host.anchor_every, std::time::Duration::from_secs(60), "once a minute");
    place.host.anchor_every = interval;
    place.serve();
    until("the service listens", || place.host.agent_socket.exists()).await;
    // There is no helper yet: the first anchors fail.
    tokio::time::sleep(interval * 2).await;
    let helper = place.helper(Vec::new());
    until("an anchor once the helper is there", || helper.notes().len() == 1).await;
    tokio::time::sleep(interval * 4).await;
    assert_eq!(helper.notes().len(), 1, "nothing is new");
    // The record of a schedule, with which no task ends.
    call(&place, "POST", "/schedules", &json!({ "trigger": { "every_s": 3600 }, "task": "restart nginx" }))
        .await;
    until("an anchor of the schedule's record", || helper.notes().len() == 2).await;
    let record = &of(&place)[usize::try_from(helper.notes()[1].seq).unwrap() - 1];
    assert_eq!(record["event"], "schedule", "{record}");
}

#[tokio::test]
async fn the_end_of_the_log_is_anchored_at_the_start_at_a_tasks_end_and_at_the_stop() {
    let place = Place::new();
    let helper = place.helper(vec![Play::Decide(std::sync::Arc::new(|_| vec![ended(Status::Done, "")]))]);
    let listener = tokio::net::UnixListener::bind(&place.host.agent_socket).unwrap();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let host = place.host.clone();
    let stopping = async move { drop(stopped.await) };
    let served =
        tokio::spawn(async move { postern_agent::service::serve_on(listener, &host, stopping).await });
    until("an anchor of the start", || helper.notes().len() == 1).await;
    let (began, restart) = (std::time::Instant::now(), json!({ "task": "restart nginx" }));
    for _ in 0..2 {
        call(&place, "POST", "/execute", &restart).await;
    }
    until("an anchor of both ends", || helper.notes().len() == 2).await;
    assert!(began.elapsed() < std::time::Duration::from_secs(30), "long before the minute");
    drop(stop);
    served.await.unwrap().unwrap();
    let records = of(&place);
    let anchored: Vec<&Value> = helper
        .notes()
        .iter()
        .map(|note| {
            let record = &records[usize::try_from(note.seq).unwrap() - 1];
            assert_eq!(record["hash"], hex(&note.tip), "{record}");
            let meta = note.meta.as_ref().unwrap();
            assert_eq!((meta.task.as_str(), meta.reason.as_str(), meta.claimed_uid), ("", "", 0));
            &record["event"]
        })
        .collect();
    assert_eq!(anchored, ["start", "task_ended", "stop"]);
}

#[tokio::test]
async fn what_is_new_in_the_log_is_anchored_once_an_interval_and_again_after_a_helper_that_was_gone() {
    assert_eq!(postern_agent::Host::default().anchor_every, std::time::Duration::from_secs(60));
    let mut place = Place::new();
    place.host.anchor_every = std::time::Duration::from_millis(300);
    place.serve();
    // No helper listens yet; the anchor of the start fails, and is tried again without anything new.
    tokio::time::sleep(std::time::Duration::from_millis(700)).await;
    let helper = place.helper(vec![Play::Hold(Vec::new(), std::sync::Arc::default(), Vec::new())]);
    until("the start is anchored", || helper.notes().len() == 1).await;
    tokio::time::sleep(std::time::Duration::from_millis(1200)).await;
    assert_eq!(helper.notes().len(), 1, "nothing is new");
    // A task that does not end adds records.
    let running = json!({ "task": "restart nginx", "wait": false });
    call(&place, "POST", "/execute", &running).await;
    until("its beginning is anchored", || helper.notes().len() == 2).await;
    let note = helper.notes().remove(1);
    let records = of(&place);
    let record = &records[usize::try_from(note.seq).unwrap() - 1];
    assert_eq!((&record["event"], &record["hash"]), (&json!("task_begun"), &json!(hex(&note.tip))));
}

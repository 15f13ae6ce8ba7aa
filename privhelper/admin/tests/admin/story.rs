//! `audit show --task`: the whole story of a task from both logs, also as a page.

use crate::log::Log;
use crate::support::{Ran, TestHost};
use postern_admin::io::Exit;
use std::fs;

const TASK: &str = "0199a0b0-0000-7000-8000-000000000001";
const REQUEST: &str = "0199a0b0-0000-7000-8000-00000000000a";
/// Hostile words, as a model could have a person shown.
const HOSTILE: &str = "<script>alert(1)</script>\\u001b[2J\\u202e \\\"'&";

/// A record at this second; the log's own time is replaced.
fn at(log: &mut Log, second: u32, event: &str, members: &str) {
    let (line, _) = log.line(event, members);
    let old = line.split("\"time\":\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    let line = line.replace(&old, &format!("2026-11-21T04:13:{second:02}.000000Z"));
    let (signed, _) = line.rsplit_once(",\"hash\"").unwrap();
    let hash = crate::log::sha256(signed.as_bytes());
    log.bytes.extend_from_slice(format!("{signed},\"hash\":\"{hash}\"}}\n").as_bytes());
    (log.seq, log.prev) = (log.seq + 1, hash);
}

fn of_task(members: &str) -> String {
    format!(",\"task\":\"{TASK}\"{members}")
}

/// Both logs of a task that asked, changed a unit with an operator's approval, ran a command, and was undone.
fn host() -> TestHost {
    let (host, mut agent, mut recorder) = (TestHost::new(""), Log::new(), Log::new());
    at(&mut agent, 10, "start", ",\"version\":\"0.1.0\"");
    let words = ",\"args\":{\"work\":\"words\",\"mode\":\"execute\",\"order\":{\"size\":13,\"sha256\":\"abcdef0123456789aa\"},\"interactive\":true}";
    at(&mut agent, 11, "task_begun", &of_task(&format!(",\"person\":{{\"uid\":1000}}{words}")));
    let tokens = ",\"model\":\"small\",\"outcome\":{\"status\":\"ok\",\"tokens\":{\"input\":100,\"cached\":0,\"output\":10}},\"duration_us\":1500000";
    at(&mut agent, 12, "model", &of_task(tokens));
    let shown = format!(
        ",\"number\":1,\"shown\":{{\"kind\":\"command\",\"what\":\"run {HOSTILE}\",\"details\":\"argv: [1]\\u000aCONFIRM {HOSTILE}\",\"choices\":[\"yes\",\"no\"]}},\"answer\":\"yes\""
    );
    at(&mut agent, 13, "question", &of_task(&shown));
    let command = ",\"step\":1,\"args\":{\"words\":2,\"argv_sha256\":\"00ff00ff00ff00ff00ff\"},\"consent\":\"yes\",\"sandbox\":{\"profile\":\"read_only\",\"enforced\":true},\"hidden\":[\"/etc/postern: outside\"],\"outcome\":{\"status\":\"ok\",\"exit\":0},\"duration_us\":2000";
    at(&mut agent, 14, "command", &of_task(command));
    at(&mut agent, 16, "model", ",\"task\":\"another\",\"model\":\"small\",\"outcome\":{\"status\":\"ok\"}");
    at(
        &mut agent,
        19,
        "task_ended",
        &of_task(",\"outcome\":{\"status\":\"completed\",\"steps\":2,\"changes\":1},\"duration_us\":8000000"),
    );
    let client = ",\"client\":{\"name\":\"agent\",\"uid\":990,\"gid\":990,\"pid\":7}";
    let request = format!(",\"request_id\":\"{REQUEST}\"");
    let restart =
        ",\"verb\":\"unit.restart\",\"args\":{\"unit\":\"a.service\"},\"rule\":\"web\",\"decision\":\"ask\"";
    at(&mut recorder, 9, "start", "");
    at(&mut recorder, 15, "pending", &format!("{request},\"task\":\"{TASK}\"{client}{restart}"));
    let approval = format!(
        "{request},\"client\":{{\"uid\":1000,\"gid\":1000,\"pid\":9}},\"verb\":\"unit.restart\",\"approval\":{{\"id\":\"beef\",\"uids\":[1000]}},\"outcome\":{{\"status\":\"approved\"}}"
    );
    at(&mut recorder, 16, "approval", &approval);
    at(&mut recorder, 17, "begin", &format!("{request},\"task\":\"{TASK}\"{client}{restart}"));
    at(
        &mut recorder,
        18,
        "end",
        &format!("{request},\"task\":\"{TASK}\"{client}{restart},\"outcome\":{{\"status\":\"done\"}}"),
    );
    at(
        &mut recorder,
        20,
        "served",
        &format!(
            ",\"request_id\":\"0199a0b0-0000-7000-8000-00000000000b\",\"task\":\"another\"{client},\"verb\":\"unit.status\""
        ),
    );
    let note = format!(
        ",\"client\":{{\"name\":\"agent\",\"uid\":990,\"gid\":990,\"pid\":7}},\"verb\":\"agent.note\",\"args\":{{\"seq\":{},\"tip\":\"{}\"}}",
        agent.seq, agent.prev
    );
    at(&mut recorder, 21, "note", &note);
    at(
        &mut recorder,
        30,
        "end",
        &format!(
            ",\"request_id\":\"0199a0b0-0000-7000-8000-00000000000c\"{client},\"verb\":\"request.undo\",\"outcome\":{{\"status\":\"done\"}},\"undo\":{{\"of\":\"{REQUEST}\"}}"
        ),
    );
    fs::create_dir_all(&host.host.agent_log).unwrap();
    fs::write(host.host.agent_log.join("audit.jsonl"), agent.bytes).unwrap();
    fs::write(host.host.log.join("audit.jsonl"), recorder.bytes).unwrap();
    host
}

fn show(options: &[&str]) -> Ran {
    let ran = host().run(&[&["audit", "show", "--task", TASK], options].concat());
    assert_eq!(ran.exit, Exit::Done, "{}", ran.err);
    ran
}

#[test]
fn shows_a_task_from_both_logs_in_order_of_time() {
    let out = show(&[]).out;
    let rows: Vec<Vec<&str>> =
        out.lines().skip(1).map(|row| row.split_whitespace().take(4).collect()).collect();
    let order: Vec<(&str, &str)> = rows.iter().map(|row| (row[0], row[3])).collect();
    let expected = [
        ("a2", "task_begun"),
        ("a3", "model"),
        ("a4", "question"),
        ("a5", "command"),
        ("2", "pending"),
        ("3", "approval"),
        ("4", "begin"),
        ("5", "end"),
        ("a7", "task_ended"),
        ("8", "end"),
    ];
    assert_eq!(order, expected, "{out}");
    assert!(
        out.contains("words, words of 13 bytes, sha256 abcdef0123456789, by uid 1000, mode execute"),
        "{out}"
    );
    assert!(out.contains("100 tokens read, 10 written, in 1.500 s"), "{out}");
    assert!(out.contains("step 1, argv 00ff00ff00ff00ff, let run by yes, sandbox read_only, ok, exit 0, hidden: /etc/postern: outside"), "{out}");
    assert!(out.contains("completed, 2 steps, 1 change, in 8.000 s"), "{out}");
}

#[test]
fn hostile_words_of_the_agent_drive_no_terminal() {
    let ran = show(&[]);
    let json = show(&["--json"]).out;
    for text in [&ran.out, &json] {
        assert!(!text.contains('\u{1b}') && !text.contains('\u{202e}'), "{text}");
    }
    let first: serde_json::Value = serde_json::from_str(json.lines().next().unwrap()).unwrap();
    assert_eq!((&first["event"], &first["task"]), (&"task_begun".into(), &TASK.into()));
}

#[test]
fn a_filter_and_a_number_of_records_hold_for_both_logs() {
    assert_eq!(show(&["--last", "2"]).out.lines().count(), 3);
    let out = show(&["--since", "2026-11-21T04:13:18"]).out;
    assert_eq!(out.lines().count(), 4, "{out}");
    let files = host().host.log.join("audit.jsonl").display().to_string();
    let ran = host().run(&["audit", "show", "--task", TASK, &files]);
    assert!(!ran.out.contains("task_begun"), "a named file is shown alone: {}", ran.out);
}

#[test]
fn the_page_tells_the_story_and_how_far_it_is_proven() {
    let page = show(&["--html"]).out;
    let place = |what: &str| page.find(what).unwrap_or_else(|| panic!("no {what:?} in {page}"));
    let order =
        ["task_begun", "model", "question", "command", "pending", "approval", "begin", "task_ended", REQUEST];
    let places: Vec<usize> =
        order[..8].iter().map(|event| place(&format!("<strong>{event}</strong>"))).collect();
    assert!(places.is_sorted(), "{places:?}");
    assert!(
        page.contains("anchored in the recorder&#39;s log to its end")
            || page.contains("anchored in the recorder's log to its end"),
        "{page}"
    );
    assert!(page.contains("alice (uid 1000)") && page.contains(REQUEST), "{page}");
    // Each line of what the person saw is a line of the page.
    assert!(page.contains("<pre>argv: [1]\nCONFIRM &lt;script&gt;"), "{page}");
}

#[test]
fn the_page_has_no_script_and_no_reference_and_hides_nothing() {
    let page = show(&["--html"]).out;
    assert!(page.contains("default-src 'none'") || page.contains("default-src &#39;none&#39;"));
    for forbidden in
        ["<script", "javascript:", "http://", "https://", "src=", "<link", "<img", "@import", "url("]
    {
        assert!(!page.contains(forbidden), "{forbidden}");
    }
    assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;"), "{page}");
    assert!(!page.contains('\u{1b}') && !page.contains('\u{202e}'));
}

#[test]
fn a_changed_log_is_told_of_on_the_page() {
    let host = host();
    let path = host.host.agent_log.join("audit.jsonl");
    let text = fs::read_to_string(&path).unwrap().replace("\"exit\":0", "\"exit\":1");
    fs::write(path, text).unwrap();
    let page = host.run(&["audit", "show", "--task", TASK, "--html"]).out;
    assert!(page.contains("standing off") && page.contains("NOT VALID"), "{page}");
}

#[test]
fn without_the_agents_log_the_recorders_part_is_shown() {
    let host = host();
    fs::remove_dir_all(&host.host.agent_log).unwrap();
    let ran = host.run(&["audit", "show", "--task", TASK]);
    assert_eq!((ran.exit, ran.out.lines().count()), (Exit::Done, 6), "{}", ran.out);
}

#[test]
fn an_agents_log_that_cannot_be_read_keeps_nobody_from_the_recorders_records() {
    let whole = show(&[]).out;
    let rows = |out: &str, is_agents: bool| {
        out.lines().skip(1).filter(|row| row.starts_with('a') == is_agents).count()
    };
    let plays: [&dyn Fn(&std::path::Path); 3] = [
        &|log| nix::unistd::mkfifo(log, nix::sys::stat::Mode::S_IRWXU).unwrap(),
        &|log| fs::create_dir(log).unwrap(),
        &|log| std::os::unix::fs::symlink("/dev/zero", log).unwrap(),
    ];
    for play in plays {
        let host = host();
        let log = host.host.agent_log.join("audit.jsonl");
        fs::remove_file(&log).unwrap();
        play(&log);
        for format in [None, Some("--html")] {
            let ran = host.run(&[&["audit", "show", "--task", TASK][..], format.as_slice()].concat());
            assert_eq!(ran.exit, Exit::Done, "{}", ran.err);
            let note = "the agent's own records are not all here";
            assert!(format!("{}{}", ran.out, ran.err).contains(note), "{}{}", ran.out, ran.err);
            if format.is_none() {
                assert_eq!((rows(&ran.out, true), rows(&ran.out, false)), (0, rows(&whole, false)));
            } else {
                assert!(ran.out.contains("NOT VALID") && ran.out.contains("unit.restart"), "{}", ran.out);
            }
        }
    }
}

#[test]
fn an_agents_log_of_huge_records_is_shown_in_part() {
    let host = host();
    let mut log = Log::new();
    for second in 0..40 {
        at(&mut log, second, "model", &of_task(&format!(",\"model\":\"{}\"", "m".repeat(1 << 20))));
    }
    fs::write(host.host.agent_log.join("audit.jsonl"), &log.bytes).unwrap();
    let ran = host.run(&["audit", "show", "--task", TASK]);
    assert_eq!(ran.exit, Exit::Done, "{}", ran.err);
    assert!(ran.out.len() < 33 << 20, "{}", ran.out.len());
    assert!(ran.err.contains("more records of this task are left out"), "{}", ran.err);
    // The recorder's come first.
    assert!(ran.out.contains("unit.restart"));
}

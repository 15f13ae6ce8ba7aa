//! What a person is asked and shown at a terminal.

use serde_json::{Value, json};

use crate::host::{Host, call, finish, service};

const YES: &str = "t WORDS for something else: ";

fn write(path: &str, content: &str) -> Value {
    call("write_file", json!({ "path": path, "content": content }))
}

pub fn interrupted_task_is_resumed_at_the_prompt(host: &Host) {
    let held = json!({ "tool": "finish", "args": { "outcome": "done", "summary": "said to nobody" }, "hold": "/var/tmp/model/go" });
    host.model(
        &[service("restart", "app"), held, service("status", "app"), finish("app was restarted once")],
        "",
    );
    let given =
        host.visitor_posts("/execute", &json!({ "task": "restart app and look at it", "wait": false }));
    let _ = host.sh("timeout 60 sh -c 'until [ $(wc -l < /var/tmp/model/seen) -ge 2 ]; do sleep 0.1; done'");
    host.machine.kill("postern-agent.service", "SIGKILL");
    let _ = host.sh("touch /var/tmp/model/go");
    let answers = json!([
        ["postern> ", "/resume 0199"],
        ["no such task was interrupted", "/resume"],
        ["resumes: restart app and look at it", ""],
        ["app was restarted once", "/resume"],
        ["no such task was interrupted", "/quit"],
    ]);
    let ran = host.person(&answers, "postern");
    assert_eq!(ran.code, 0, "{ran}\n{}", host.journal());
    assert_eq!(host.begun(&given), ["unit.restart"], "{ran}");
    // Each call of the conversation that went on has its result.
    let seen = host.seen();
    let messages = seen.last().expect("a request")["messages"].as_array().expect("messages").clone();
    let count = |part: fn(&Value) -> usize| messages.iter().map(part).sum::<usize>();
    let calls = count(|one| one["tool_calls"].as_array().map_or(0, Vec::len));
    let results = count(|one| usize::from(one["role"] == "tool"));
    assert!(calls > 0 && calls == results, "{messages:?}");
}

pub fn long_diff_is_shown_by_the_pager_before_the_question(host: &Host) {
    let _ = host.sh(
        "printf '#!/bin/sh\\ncat > /var/tmp/paged\\nprintf PAGED\\nread key < /dev/tty\\n' > /usr/local/bin/pager-of-the-test
        chmod 0755 /usr/local/bin/pager-of-the-test; touch /var/tmp/paged; chmod 0666 /var/tmp/paged",
    );
    let lines = (0..60).map(|line| format!("line {line} \u{1b}[2J\n")).collect::<Vec<_>>().concat();
    host.model(&[write("/srv/app/long.txt", &lines), finish("it is written")], "");
    let answers = json!([["PAGED", "q"], [YES, "y"]]);
    let ran =
        host.person(&answers, "env PAGER=/usr/local/bin/pager-of-the-test postern run 'write the lines'");
    assert_eq!(ran.code, 0, "{ran}\n{}", host.journal());
    let paged = host.sh("cat /var/tmp/paged");
    assert!(paged.contains("+line 59 \\x1b[2J") && !paged.contains("\u{1b}[2J"), "{paged:?}");
    assert!(!ran.stdout.contains("line 40"), "it is shown once: {ran}");
    assert_eq!(host.sh("wc -l < /srv/app/long.txt").trim(), "60");
}

pub fn person_chooses_files_of_a_models_patch(host: &Host) {
    let _ = host.sh("for name in x y; do echo one > /srv/app/$name.conf; done");
    let hunk = |name: &str| {
        format!("--- a/srv/app/{name}.conf\n+++ b/srv/app/{name}.conf\n@@ -1 +1 @@\n-one\n+two\n")
    };
    let diff = format!("{}{}", hunk("x"), hunk("y"));
    let partly = call("finish", json!({ "outcome": "partly", "summary": "patched" }));
    host.model(&[call("apply_patch", json!({ "diff": diff })), partly], "");
    let answers = json!([
        ["[y]es, [f]iles one by one, ", "f"],
        ["/srv/app/x.conf +1 -1: change it? ", "n"],
        ["/srv/app/y.conf +1 -1: change it? ", "y"],
    ]);
    let ran = host.person(&answers, "postern run 'set both'");
    assert!(ran.stdout.contains("left out of a patch, as its person chose: /srv/app/x.conf"), "{ran}");
    assert_eq!(host.sh("cat /srv/app/x.conf /srv/app/y.conf"), "one\ntwo\n");
    let told = host.seen()[1]["messages"].to_string();
    assert!(
        told.contains("NOT changed, since the person left these files of the patch out: /srv/app/x.conf"),
        "{told}"
    );
    // The person's own patch is chosen from in the same way.
    let _ = host.sh(&format!("cat > /home/visitor/own.diff <<'END'\n{}END", diff.replace("two", "three")));
    let _ = host.sh("echo one > /srv/app/y.conf");
    let answers =
        json!([["/srv/app/x.conf +1 -1: send it? ", "y"], ["/srv/app/y.conf +1 -1: send it? ", "n"]]);
    let ran = host.person(&answers, "postern file patch --from /home/visitor/own.diff --interactive");
    assert_eq!(ran.code, 0, "{ran}");
    assert_eq!(host.sh("cat /srv/app/x.conf /srv/app/y.conf"), "three\none\n");
}

pub fn question_about_a_place_that_amounts_to_root_begins_with_a_warning(host: &Host) {
    let path = "/etc/profile.d/story-job";
    for (answer, code, left) in [("n", 4, "gone"), ("y", 0, "there")] {
        host.model(&[write(path, "true\n"), finish("said")], "");
        let ran = host.person(&json!([[YES, answer]]), "postern run 'run it at login'");
        assert_eq!(ran.code, code, "{ran}");
        let warning = format!("high risk: {path}: shells and programs of root read it");
        let (warned, asked) = (ran.stdout.find(&warning), ran.stdout.find(YES));
        assert!(warned.is_some() && warned < asked, "{ran}");
        assert_eq!(host.sh(&format!("test -e {path} && echo there || echo gone")).trim(), left);
    }
    // A file beside it has no such line.
    host.model(&[write("/srv/app/plain.txt", "plain\n"), finish("said")], "");
    let ran = host.person(&json!([[YES, "n"]]), "postern run 'write it'");
    assert!(!ran.stdout.contains("high risk"), "{ran}");
}

pub fn large_rewrite_is_asked_about_and_with_nobody_there_not_made(host: &Host) {
    let path = "/srv/app/rewrite.txt";
    let fill = || host.sh(&format!("seq 20 > {path}"));
    let _ = fill();
    let read = || call("read_file", json!({ "path": path }));
    let replies = || [read(), write(path, "1\n2\n"), finish("shortened")];
    let task = host.told(&replies(), "shorten it");
    assert_ne!(task["status"], "completed", "{task}");
    let told = host.results()[1].to_string();
    assert!(told.contains("would lose 18 of its 20 lines, and nobody is there"), "{told}");
    assert_eq!(host.sh(&format!("wc -l < {path}")).trim(), "20");
    host.model(&replies(), "");
    let ran = host.person(&json!([[YES, "y"]]), "postern run 'shorten it'");
    assert_eq!((ran.code, host.sh(&format!("cat {path}"))), (0, "1\n2\n".to_owned()), "{ran}");
    // An interrupt at the question is a no.
    let _ = fill();
    host.model(&replies(), "");
    let ran = host.person(&json!([[YES, "^C"]]), "postern run 'shorten it'");
    assert!(ran.code != 0, "{ran}");
    assert_eq!(host.sh(&format!("wc -l < {path}")).trim(), "20");
}

pub fn always_holds_for_exactly_these_words(host: &Host) {
    let _ = host.sh("rm -f /etc/postern/agent.toml; systemctl restart postern-agent");
    let ordered = |cmd: &str| {
        let steps = json!([{ "tool": "shell", "args": { "cmd": cmd } }]);
        let order = json!({ "task": "make a name", "steps": steps, "session": "story", "interactive": true, "wait": false });
        host.visitor_posts("/execute", &order)["id"].as_str().expect("an id").to_owned()
    };
    let settled = |id: &str| {
        let until = "for try in $(seq 100); do runuser -u visitor -- postern tasks show --json";
        let shown = host.sh(&format!("{until} {id} > /var/tmp/task; grep -Eq '\"status\":\"(waiting|completed|refused|failed)\"' /var/tmp/task && break; sleep 0.1; done; cat /var/tmp/task"));
        serde_json::from_str::<Value>(&shown).expect("JSON")
    };
    let made = "mktemp -u story.XXXXXX";
    let id = ordered(made);
    let asks = settled(&id);
    assert_eq!(asks["question"]["choices"], json!(["yes", "always", "no", "text"]), "{asks}");
    assert!(
        asks["question"]["details"]
            .as_str()
            .is_some_and(|text| text.starts_with("argv: [\"mktemp\",\"-u\",\"story.XXXXXX\"]\nCONFIRM ")),
        "{asks}"
    );
    let _ = host.postern(&["tasks", "answer", &id, "always"]).ok();
    let _ = host.sh("sleep 1");
    assert_eq!(settled(&id)["status"], "completed");
    assert_eq!(settled(&ordered(made))["status"], "completed", "it is not asked again");
    let other = ordered("mktemp -u other.XXXXXX");
    assert_eq!(settled(&other)["status"], "waiting", "other words are");
    let _ = host.postern(&["tasks", "answer", &other, "no"]).ok();
    let ran = host
        .person(&json!([["[a]lways for exactly this", "n"]]), "postern shell run 'mktemp -u story.XXXXXX'");
    assert_eq!(ran.code, 4, "another session: {ran}");
    // Nobody at a terminal is a no.
    let ran = host.postern(&["shell", "run", made]);
    assert_eq!(ran.code, 4, "{ran}");
}

pub fn waiting_request_outlives_the_terminal(host: &Host) {
    let _ = host
        .sh("rm -f /etc/postern/agent.toml; systemctl restart postern-agent; systemctl stop agree.service");
    let before = host.machine.property("asked.service", "MainPID");
    let ran = host.person(&json!([["waits for approval", "^C"]]), "postern service restart asked");
    assert!(ran.code != 0 && ran.stdout.contains("it still waits and is done if somebody approves"), "{ran}");
    assert_eq!(host.machine.property("asked.service", "MainPID"), before);
    let _ = host.sh("systemd-run --quiet --unit agree --uid oper /usr/local/bin/agree");
    let _ = host.sh(&format!(
        "for try in $(seq 100); do [ $(systemctl show --value -p MainPID asked.service) != {before} ] && exit 0; sleep 0.1; done; exit 1"
    ));
}

//! Plans, runbooks of a model, patches of plans, and how a task ends.

use serde_json::{Value, json};

use crate::host::{Host, call, finish, service};

const RESTART: &str = "\
name: restart
title: Restart a unit that is stuck
when:
  tasks: ['\\bstuck\\b']
parameters:
  - {name: unit, kind: unit, about: The stuck unit, example: app.service}
preflight:
  - {tool: service, args: {action: status, name: '${unit}'}}
steps:
  - {tool: unit_journal, args: {name: '${unit}', lines: 20}, purpose: why it is stuck}
  - systemctl restart ${unit}
verification:
  - {tool: service, args: {action: status, name: '${unit}'}}
notes: Look at its disk too.
";

/// A plan of commands.
fn commands(lines: &[&str]) -> Value {
    let command = |line: &&str| json!({ "command": line, "purpose": "to see", "read_only": false });
    let commands: Vec<Value> = lines.iter().map(command).collect();
    json!({ "plan_type": "command_plan", "goal": "app runs", "commands": commands })
}

fn patch(intent: &str, diff: &str) -> Value {
    json!({ "plan_type": "file_patch", "goal": "the port is 81", "request_intent": intent,
            "files_changed": ["/srv/app/plan.conf"], "unified_diff": diff })
}

impl Host {
    /// Puts a plan where the person reads it.
    fn put_plan(&self, plan: &Value) {
        let _ = self.sh(&format!(
            "cat > /home/visitor/plan.json <<'END'\n{plan}\nEND\nchmod 0644 /home/visitor/plan.json"
        ));
    }

    /// Carries a plan out with nobody at a terminal: the exit code and the record.
    #[track_caller]
    fn carry_out(&self, plan: &Value) -> (i32, Value) {
        self.put_plan(plan);
        let ran = self.postern(&["run", "--json", "--plan", "/home/visitor/plan.json"]);
        assert!(ran.stdout.starts_with('{'), "{ran}");
        (ran.code, ran.json())
    }

    fn pid(&self, unit: &str) -> String {
        self.machine.property(unit, "MainPID")
    }
}

pub fn what_is_no_plan_runs_nothing(host: &Host) {
    let before = host.pid("app.service");
    let restart = || commands(&["systemctl restart app"]);
    let mut hosts = restart();
    hosts["commands"][0]["target_hosts"] = json!(["db1"]);
    let mut unknown = restart();
    unknown["surprise"] = json!(true);
    for plan in [
        hosts,
        unknown,
        commands(&["systemctl restart app; reboot"]),
        commands(&["systemctl restart app && true"]),
        commands(&["X=1 systemctl restart app"]),
        commands(&["systemctl restart $(cat unit)"]),
        json!({ "plan_type": "wish", "goal": "app runs" }),
    ] {
        host.put_plan(&plan);
        let ran = host.postern(&["run", "--plan", "/home/visitor/plan.json"]);
        assert_eq!(ran.code, 2, "{plan}: {ran}");
    }
    assert_eq!(host.pid("app.service"), before);
    // Other kinds: an answer is said, and an exit code that the plan accepts is no failure.
    let (code, task) = host.carry_out(&json!({ "plan_type": "direct_answer", "answer": "port 80" }));
    assert!(code == 0 && task["summary"].to_string().contains("port 80"), "{task}");
    let mut look = commands(&["grep no-such-word /etc/debian_version"]);
    look["commands"][0]["read_only"] = json!(true);
    assert_eq!(host.carry_out(&look).0, 1);
    look["commands"][0]["acceptable_exit_codes"] = json!([0, 1]);
    assert_eq!(host.carry_out(&look).0, 0);
}

pub fn plan_is_repaired_without_repeating_what_succeeded(host: &Host) {
    let repaired = commands(&["systemctl stop other", "systemctl restart app"]);
    host.model(&[call("plan", json!({ "plan": repaired }))], "");
    let _ = host.sh("systemctl start other");
    let (code, task) = host.carry_out(&commands(&["systemctl stop other", "systemctl restart broken"]));
    let begun = host.begun(&task);
    let _ = host.sh("systemctl start other");
    assert!(code == 0 && task["status"] == "completed", "{task}\n{}", host.journal());
    assert_eq!(begun, ["unit.stop", "unit.restart", "unit.restart"], "{task}");
    let told = host.seen()[0]["messages"].to_string();
    assert!(told.contains("unit_failed") && told.contains("must not repeat what succeeded"), "{told}");
}

pub fn failed_plan_is_taken_back_when_its_person_says_yes(host: &Host) {
    let _ = host.sh("rm -f /etc/postern/agent.toml; systemctl restart postern-agent");
    let mut plan = commands(&["systemctl stop other", "systemctl restart broken"]);
    plan["rollback_commands"] = json!(["systemctl start other"]);
    // A check that fails lets nothing begin.
    let mut checked = commands(&["systemctl stop other"]);
    checked["preflight_checks"] =
        json!([{ "tool": "service", "args": { "action": "status", "name": "broken" }, "expect": "active" }]);
    let (code, task) = host.carry_out(&checked);
    assert!(code != 0 && host.begun(&task).is_empty(), "{task}");
    let mut verified = commands(&["systemctl restart app"]);
    verified["verification_commands"] = checked["preflight_checks"].clone();
    let (code, task) = host.carry_out(&verified);
    assert!(code != 0 && task["status"] != "completed", "{task}");
    for (answer, state) in [("n", "inactive"), ("y", "active")] {
        host.put_plan(&plan);
        let answers = json!([["[y]es, [n]o: ", answer]]);
        let ran = host.person(&answers, "postern run --plan /home/visitor/plan.json");
        assert_eq!(ran.code, 6, "{ran}");
        assert_eq!(host.machine.property("other.service", "ActiveState"), state, "{ran}");
        let _ = host.sh("systemctl start other");
    }
}

pub fn patches_of_a_plan_create_over_nothing_and_set_modes_and_are_repaired(host: &Host) {
    let _ = host.sh("printf 'port 80\\n' > /srv/app/plan.conf; chmod 0644 /srv/app/plan.conf");
    let path = "/srv/app/plan.conf";
    let create = patch("create", &format!("--- /dev/null\n+++ b{path}\n@@ -0,0 +1 @@\n+port 81\n"));
    let (code, task) = host.carry_out(&create);
    assert!(code != 0 && task.to_string().contains("already_exists"), "{task}");
    assert_eq!(host.sh(&format!("cat {path}")), "port 80\n");

    let update = |from: &str| {
        patch("update", &format!("--- a{path}\n+++ b{path}\n@@ -1 +1 @@\n-port {from}\n+port 81\n"))
    };
    let mut moded = update("80");
    moded["permission_changes"] = json!([{ "path": path, "mode": "0640", "reason": "it holds a key" }]);
    let (code, task) = host.carry_out(&moded);
    assert_eq!(code, 0, "{task}");
    assert_eq!(host.sh(&format!("cat {path}; stat -c %a {path}")), "port 81\n640\n");
    assert_eq!(host.begun(&task), ["file.patch", "file.set-mode"], "{task}");

    // The model repairs it from what the file holds now.
    let _ = host.sh(&format!("printf 'port 82\\n' > {path}"));
    host.model(&[call("plan", json!({ "plan": update("82") }))], "");
    let (code, task) = host.carry_out(&update("80"));
    assert_eq!((code, host.sh(&format!("cat {path}"))), (0, "port 81\n".to_owned()), "{task}");
    let told = host.seen()[0]["messages"].to_string();
    assert!(told.contains("files_now") && told.contains("port 82"), "{told}");
}

pub fn model_follows_a_runbook_and_differences_are_told(host: &Host) {
    let _ = host.sh(&format!(
        "install -D -m 0644 /dev/stdin /etc/postern/runbooks.d/restart.yaml <<'END'\n{RESTART}END"
    ));
    let follow = || call("runbook", json!({ "name": "restart", "follow": { "unit": "app.service" } }));
    let journal = || call("unit_journal", json!({ "name": "app", "lines": 50 }));
    let status = || service("status", "app");
    let before = host.pid("app.service");
    let whole = [
        call("runbook", json!({ "name": "restart" })),
        follow(),
        status(),
        journal(),
        service("restart", "app"),
        status(),
        finish("app runs"),
    ];
    let task = host.told(&whole, "app is stuck, please mend it");
    let expected = json!([{ "runbook": "restart", "values": { "unit": "app.service" }, "differences": [] }]);
    assert_eq!(
        (&task["status"], &task["follows"]),
        (&json!("completed"), &expected),
        "{task}\n{}",
        host.journal()
    );
    assert_ne!(host.pid("app.service"), before);
    assert!(
        task["summary"].as_str().is_some_and(|words| words.ends_with("as the runbook restart says")),
        "{task}"
    );
    let seen = host.seen();
    let words = seen[0]["messages"][0]["content"].as_str().expect("instructions");
    let offer = words.lines().find(|line| line.starts_with("Reviewed runbooks that fit")).expect(words);
    assert!(offer.contains("\"name\":\"restart\""), "{offer}");
    assert_eq!(host.results()[0]["notes"], "Look at its disk too.");

    let task = host.told(&[follow(), status(), service("stop", "other"), finish("done")], "app is stuck");
    let _ = host.sh("systemctl start other");
    let words =
        "NOT as the runbook restart says: left out step 1 (read 20 lines of the journal of app.service)";
    assert!(task["summary"].to_string().contains(words), "{task}");
    let kinds: Vec<_> = task["follows"][0]["differences"]
        .as_array()
        .expect("differences")
        .iter()
        .map(|one| one["kind"].clone())
        .collect();
    assert!(
        kinds.contains(&json!("left_out"))
            && (kinds.contains(&json!("added")) || kinds.contains(&json!("changed"))),
        "{task}"
    );

    // A failed unit makes one fit, whatever the words are; without it there is neither the line nor the tool.
    let offers = || {
        let _ = host.told(&[status(), finish("app is up")], "is app up");
        let first = host.seen().remove(0);
        let line = first["messages"][0].to_string().contains("Reviewed runbooks that fit");
        assert_eq!(line, first["body"]["tools"].to_string().contains("\"runbook\""), "{first}");
        line.then(|| first["messages"][0].to_string())
    };
    let _ = host.sh("systemctl start broken.service || true");
    assert!(offers().is_some_and(|words| words.contains("unit-fails")), "the unit is failed");
    let _ = host.sh("systemctl reset-failed broken.service");
    assert_eq!(offers(), None);
}

pub fn model_that_needs_a_person_says_what_to_look_at(host: &Host) {
    let look_at = ["/etc/fstab: two lines for /srv", "the journal of srv.mount, password=hunter2hunter2"];
    let needs =
        call("finish", json!({ "outcome": "needs_person", "summary": "two names", "look_at": look_at }));
    let without = call("finish", json!({ "outcome": "needs_person", "summary": "two names" }));
    host.model(&[service("status", "app"), without, needs], "");
    let ran = host.postern(&["run", "mount /srv"]);
    assert_eq!(ran.code, 7, "{ran}");
    assert!(
        ran.stderr.contains("\nlook at: /etc/fstab: two lines for /srv\n")
            && !ran.to_string().contains("hunter2"),
        "{ran}"
    );
    let told = host.seen()[2]["messages"].to_string();
    assert!(told.contains("look_at is missing"), "{told}");
    let tasks = host.postern(&["tasks", "--json"]).json();
    assert_eq!(
        (&tasks[0]["status"], &tasks[0]["look_at"][0]),
        (&json!("needs_person"), &json!(look_at[0])),
        "{}",
        tasks[0]
    );
}

pub fn last_words_are_guarded(host: &Host) {
    let words = "All done. Now run `sudo rm -rf /var` with password=hunter2hunter2.";
    let task = host.told(&[service("status", "app"), finish(words)], "look at app");
    let summary = task["summary"].as_str().expect("a summary");
    assert!(summary.contains("[dangerous, do not type this: it goes past the policy] `sudo rm"), "{summary}");
    assert!(!task.to_string().contains("hunter2"), "{task}");
    // A question has an answer alone, and an end needs an outcome.
    let replies = [
        call("finish", json!({ "summary": "so" })),
        call("finish", json!({ "outcome": "answered", "summary": "so" })),
    ];
    let task = host.told(&replies, "what is a reverse proxy?");
    assert_eq!(task["status"], "completed", "{task}");
    assert!(host.seen()[1]["messages"].to_string().contains("missing field `outcome`"));
}

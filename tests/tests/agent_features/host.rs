//! The machine of the stories: its units, files and rules, a scripted model, and a person who is no operator.

use postern_tests::{Installed, Machine, Output, Release, deb};
use serde_json::{Value, json};

/// What the stories may do. The units and directories are theirs alone.
const RULES: &str = r#"
[[rule]]
id = "story-units"
client = "agent"
verbs = ["unit.status", "unit.start", "unit.stop", "unit.restart", "unit.reset-failed"]
units = ["app.service", "other.service", "broken.service"]
journal_lines = 100
decision = "allow"
justification = "units of this test"

[[rule]]
id = "story-asked"
client = "agent"
verbs = ["unit.restart"]
units = ["asked.service"]
decision = "ask"
justification = "a person looks at each"

[[rule]]
id = "story-files"
client = "agent"
verbs = ["file.read", "file.write", "file.patch", "file.set-mode", "request.undo"]
directories = ["/srv/app"]
files = ["*.conf", "*.txt"]
modes = ["0644", "0640"]
decision = "allow"
justification = "files of this test"

[[rule]]
id = "story-profile"
client = "agent"
verbs = ["file.read", "file.write", "request.undo"]
directories = ["/etc/profile.d"]
files = ["story-*"]
decision = "allow"
justification = "a place that amounts to root"
accept_risk = { "*" = "a test" }
"#;

/// Units that run, one that cannot, an operator who agrees to each request that waits, and logs with rotation.
const SETUP: &str = r#"
for unit in app other asked; do
    printf '[Service]\nExecStart=/bin/sleep infinity\n' > "/etc/systemd/system/$unit.service"
done
printf '[Service]\nType=oneshot\nExecStart=/bin/false\n' > /etc/systemd/system/broken.service
systemctl daemon-reload
systemctl start app other asked
install -d /srv/app /var/log/story
printf 'now: needle of today password=hunter2hunter2\nnow: fine\n' > /var/log/story/app.log
printf 'yesterday: needle of before\n' > /var/log/story/app.log.1
printf 'long ago: needle of old\n' | gzip > /var/log/story/app.log.2.gz
touch -d '1 day ago' /var/log/story/app.log.1
touch -d '2 days ago' /var/log/story/app.log.2.gz
useradd --groups postern-operators oper
cat > /usr/local/bin/agree <<'AGREE'
#!/bin/sh
while sleep 0.2; do
    for id in $(postern-admin pending --json | grep -o '"approval_id":"[0-9a-f]*' | cut -d'"' -f4); do
        digest=$(postern-admin show "$id" --json | grep -o '"sha256":"[0-9a-f]*' | head -n 1 | cut -d'"' -f4)
        postern-admin approve "$id" --digest "$digest"
    done
done
AGREE
chmod 0755 /usr/local/bin/agree
systemd-run --quiet --unit agree --uid oper /usr/local/bin/agree
useradd --create-home --groups postern-users ann
"#;

pub struct Host {
    pub machine: Installed,
}

/// A call as the scripted model makes it.
#[expect(clippy::needless_pass_by_value, reason = "stories write the arguments in place")]
pub fn call(tool: &str, args: Value) -> Value {
    json!({ "tool": tool, "args": args })
}

pub fn service(action: &str, name: &str) -> Value {
    call("service", json!({ "action": action, "name": name }))
}

pub fn finish(summary: &str) -> Value {
    call("finish", json!({ "outcome": "done", "summary": summary }))
}

impl Host {
    pub fn boot() -> Self {
        let machine = Installed::in_machine(Machine::boot(Release::Trixie), &deb());
        machine.accept_demo();
        let _ = machine.shell(SETUP).ok();
        machine.grant(RULES);
        Self { machine }
    }

    /// Runs a script as root that must succeed; its output.
    #[track_caller]
    pub fn sh(&self, script: &str) -> String {
        self.machine.shell(script).ok()
    }

    /// A model that replies so, and the agent with more of its configuration.
    pub fn model(&self, replies: &[Value], more: &str) {
        self.machine.with_model(&json!(replies), more);
    }

    /// `postern` as the person.
    pub fn postern(&self, args: &[&str]) -> Output {
        self.machine.visitor(&[&["postern"], args].concat())
    }

    /// The record of a task of the person's, whatever came of it.
    #[track_caller]
    pub fn task(&self, words: &str) -> Value {
        let ran = self.postern(&["run", "--json", words]);
        assert!(ran.stdout.starts_with('{'), "{ran}\n{}", self.journal());
        ran.json()
    }

    /// A model's replies to one task: its record.
    #[track_caller]
    pub fn told(&self, replies: &[Value], words: &str) -> Value {
        self.model(replies, "");
        self.task(words)
    }

    /// What the person sees who gives the answers at a terminal, and how the command ends.
    pub fn person(&self, answers: &Value, command: &str) -> Output {
        let person =
            "setpriv --reuid visitor --regid visitor --init-groups env HOME=/home/visitor TERM=xterm";
        self.machine.at_a_terminal(answers, &format!("stty rows 24 cols 200; {person} {command}"))
    }

    /// What the agent's HTTP interface answers to the person.
    #[track_caller]
    pub fn visitor_posts(&self, path: &str, body: &Value) -> Value {
        let (body, url) = (body.to_string(), format!("http://localhost{path}"));
        let kind = "Content-Type: application/json";
        let socket = "/run/postern/agent.sock";
        self.machine.visitor(&["curl", "-sf", "--unix-socket", socket, "-H", kind, "-d", &body, &url]).json()
    }

    /// Requests to the model so far.
    #[track_caller]
    pub fn seen(&self) -> Vec<Value> {
        let text = self.sh("cat /var/tmp/model/seen");
        text.lines().map(|line| serde_json::from_str(line).expect(line)).collect()
    }

    /// Results of all calls, as the last request to the model has them.
    #[track_caller]
    pub fn results(&self) -> Vec<Value> {
        let seen = self.seen();
        let messages = seen.last().expect("a request")["messages"].as_array().expect("messages").clone();
        let results = messages.iter().filter(|one| one["role"] == "tool");
        results
            .map(|one| serde_json::from_str(one["content"].as_str().expect("text")).expect("JSON"))
            .collect()
    }

    /// The agent's lines since its last start.
    pub fn journal(&self) -> String {
        self.machine.shell("journalctl -q -o cat _SYSTEMD_INVOCATION_ID=$(systemctl show --value -p InvocationID postern-agent)").stdout
    }

    /// Records of the recorder for a task that have begun: `VERB TARGET`.
    #[track_caller]
    pub fn begun(&self, task: &Value) -> Vec<String> {
        let log = self.sh("cat /var/log/postern/audit.jsonl");
        let all = log.lines().map(|line| serde_json::from_str::<Value>(line).expect(line));
        let of_task = all.filter(|one| one["event"] == "begin" && one["task"] == task["id"]);
        of_task.map(|one| one["verb"].as_str().expect("a verb").to_owned()).collect()
    }
}

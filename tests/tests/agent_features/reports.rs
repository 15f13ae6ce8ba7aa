//! What the agent finds and reports: knowledge of the host, spans, metrics, insights.

use serde_json::{Value, json};

use crate::host::{Host, finish, service};

impl Host {
    /// Searches as the person until the answer has this text: the host's documents are indexed in the background.
    #[track_caller]
    fn searched(&self, question: &str, until: &str) -> Value {
        let script = format!(
            "for try in $(seq 240); do
                runuser -u visitor -- postern kb search --json '{question}' > /var/tmp/found
                grep -q '{until}' /var/tmp/found && break
                sleep 0.5
            done
            cat /var/tmp/found"
        );
        let found = self.sh(&script);
        assert!(found.contains(until), "{found}\n{}", self.sh("postern kb status"));
        serde_json::from_str(&found).expect("JSON")
    }
}

fn sources(found: &Value) -> Vec<&str> {
    found["results"].as_array().expect("results").iter().filter_map(|one| one["source"].as_str()).collect()
}

pub fn manual_pages_and_documentation_of_the_host_are_found(host: &Host) {
    let found = host.searched("static information about the file systems fstab", "man5/fstab.5");
    let sources = sources(&found);
    assert!(sources.iter().any(|source| source.contains("/man5/fstab.5")), "{found}");
    let found =
        host.searched("postern keep_within retention of the audit log documentation", "/usr/share/doc/");
    assert!(found.to_string().contains("\"doc\""), "{found}");
    let status = host.sh("for try in $(seq 120); do
            runuser -u visitor -- postern kb status --json > /var/tmp/status
            grep -q '\"running\":false' /var/tmp/status && break
            sleep 0.5
        done
        cat /var/tmp/status");
    let status: Value = serde_json::from_str(&status).expect("JSON");
    assert_eq!(status["indexing"]["running"], false, "{status}");
    assert!(status["host_documents"].as_u64().is_some_and(|count| count > 300), "{status}");
}

pub fn embeddings_order_what_full_text_search_found(host: &Host) {
    let _ = host.sh(
        "install -d /etc/postern/knowledge.d
        printf '# Repairs\\n\\nThe lodge repairs: who repairs the lodge asks the lodge keeper, who repairs lodges.\\n' > /etc/postern/knowledge.d/carpenter.md
        printf '# House\\n\\nA beaver is the one who repairs its own house at night.\\n' > /etc/postern/knowledge.d/animal.md",
    );
    let question = "who repairs the lodge?";
    host.model(&[], "[knowledge]\nhost_documents = false");
    let first = |found: &Value| sources(found).first().map(|source| (*source).to_owned()).unwrap_or_default();
    let plain = host.searched(question, "animal.md");
    assert!(first(&plain).contains("carpenter.md"), "{plain}");
    host.model(&[], "[knowledge]\nhost_documents = false\nembedding_model = \"a-model\"\nembedding_url = \"http://127.0.0.1:8080/v1\"");
    let ranked = host.postern(&["kb", "search", "--json", question]).json();
    assert!(first(&ranked).contains("animal.md"), "{ranked}");
    assert!(ranked["not_reranked"].is_null(), "{ranked}");
    let sent = host.sh("cat /var/tmp/model/seen.embeddings");
    assert!(sent.contains("beaver") && sent.contains(question), "{sent}");
    // An endpoint that is gone leaves the order of full-text search, and says why.
    let _ = host.sh("systemctl stop model.service");
    let gone = host.postern(&["kb", "search", "--json", &question.replace("lodge", "lodges")]).json();
    assert!(gone["not_reranked"].is_string() && first(&gone).contains("carpenter.md"), "{gone}");
}

pub fn spans_go_to_the_journal_and_to_a_collector(host: &Host) {
    let replies = [service("status", "app"), finish("app is up, tangerine")];
    let words = "is app up, tangerine?";
    host.model(&replies, "[telemetry]\nexporter = \"jsonl\"\nfile = \"/dev/stdout\"");
    let task = host.task(words);
    let trace = task["trace_id"].as_str().expect("a trace").to_owned();
    let _ = host.sh("systemctl stop postern-agent.service");
    let journal = host.sh("journalctl -q -o cat -u postern-agent.service");
    let spans: Vec<&str> =
        journal.lines().filter(|line| line.contains("resourceSpans") && line.contains(&trace)).collect();
    assert!(!spans.is_empty(), "{journal}");
    for name in ["task", "chat", "execute_tool", "step", "request"] {
        assert!(
            spans.iter().any(|line| line.contains(&format!("\"name\":\"{name}"))),
            "no span {name}: {spans:?}"
        );
    }
    assert!(spans.iter().all(|line| !line.contains("tangerine")), "{spans:?}");

    host.model(&replies, "[telemetry]\nexporter = \"otlp\"\nendpoint = \"http://127.0.0.1:8080\"");
    let task = host.task(words);
    let trace = task["trace_id"].as_str().expect("a trace").to_owned();
    let _ = host.sh("systemctl stop postern-agent.service");
    let found = host.sh(&format!(
        "python3 -c 'data = open(\"/var/tmp/model/seen.traces\", \"rb\").read()
print(bytes.fromhex(\"{trace}\") in data, b\"execute_tool\" in data, b\"gen_ai.usage.input_tokens\" in data, b\"tangerine\" in data)'"
    ));
    assert_eq!(found, "True True True False\n", "{}", host.journal());

    // A collector that is gone holds up neither a task nor the stop, and the journal says once that spans were dropped.
    host.model(&replies, "[telemetry]\nexporter = \"otlp\"\nendpoint = \"http://127.0.0.1:9\"");
    let task = host.task(words);
    assert_eq!(task["status"], "completed", "{task}");
    let _ = host.sh("timeout 15 systemctl stop postern-agent.service");
}

pub fn metrics_count_what_was_done(host: &Host) {
    let no_grant = crate::host::call("pkg_install", json!({ "name": "nginx-full" }));
    host.model(
        &[service("status", "app"), service("restart", "app"), no_grant, finish("restarted, tangerine")],
        "[model.price]\ninput = 3.0\noutput = 15",
    );
    let _ = host.task("restart app, tangerine");
    let metrics = host
        .sh("runuser -u visitor -- curl -sf --unix-socket /run/postern/agent.sock http://localhost/metrics");
    let value = |line: &str| {
        let found = metrics
            .lines()
            .find_map(|one| one.strip_prefix(line))
            .unwrap_or_else(|| panic!("no {line}: {metrics}"));
        found.trim().parse::<f64>().expect("a number")
    };
    assert!((value("postern_agent_tokens_total{kind=\"input\"}") - 400.0).abs() < 0.5, "{metrics}");
    assert!(
        (value("postern_agent_requests_total{verb=\"unit.restart\",decision=\"allow\"}") - 1.0).abs() < 0.5
    );
    assert!((value("postern_agent_refusals_total{code=\"no_grant\"}") - 1.0).abs() < 0.5);
    assert!(value("postern_agent_cost_total") > 0.0 && value("postern_agent_task_seconds_count") > 0.5);
    assert!(
        value("postern_agent_model_call_seconds_count") > 3.5
            && value("postern_agent_last_answer_timestamp_seconds") > 1e9
    );
    assert!(metrics.trim_end().ends_with("# EOF") && !metrics.contains("tangerine"), "{metrics}");
    // Of the helper's own numbers.
    let helper = host.sh("postern-admin metrics");
    assert!(
        helper.contains("postern_recorder_up 1") && helper.contains("postern_audit_writable 1"),
        "{helper}"
    );
}

pub fn insights_become_rules_of_exactly_what_was_asked(host: &Host) {
    let _ = host.sh("rm -f /etc/postern/agent.toml; systemctl restart postern-agent");
    let ann = |args: &[&str]| host.machine.run("ann", &[&["postern"], args].concat());
    for _ in 0..2 {
        let refused = ann(&["run", "restart cron"]);
        assert_eq!(refused.code, 3, "{refused}");
    }
    for _ in 0..3 {
        let _ = ann(&["run", "restart asked"]).ok();
    }
    let report = ann(&["insights", "--json"]).json();
    assert_eq!((&report["version"], &report["tasks"]), (&json!(1), &json!(5)), "{report}");
    let failing = &report["failing_tasks"][0];
    assert_eq!(
        (&failing["count"], &failing["cause"], &failing["step"]),
        (&json!(2), &json!("no_grant"), &json!("unit.restart"))
    );
    let missing = &report["missing_grants"][0];
    assert_eq!(
        (&missing["verb"], &missing["target"]),
        (&json!("unit.restart"), &json!("cron.service")),
        "{report}"
    );
    let approvals = &report["repeated_approvals"][0];
    assert_eq!(
        (&approvals["count"], &approvals["target"], &approvals["rule"]),
        (&json!(3), &json!("asked.service"), &json!("story-asked"))
    );
    assert_eq!(report["repeated_tasks"][0]["changes"], json!(["unit.restart asked.service"]), "{report}");
    assert_eq!(report["slow_steps"][0]["kind"], "unit.restart", "{report}");
    assert_eq!(ann(&["insights", "--json"]).json(), report, "the same record gives the same report");

    let _ = host.sh(&format!("cat > /var/tmp/insights.json <<'END'\n{report}\nEND"));
    let before = host.sh("postern-admin policy show 2>/dev/null || cat /etc/postern/policy.d/*");
    let suggested =
        host.machine.root(&["postern-admin", "policy", "suggest", "--from", "/var/tmp/insights.json"]);
    assert_eq!(suggested.code, 0, "{suggested}");
    assert!(
        suggested.stdout.contains("cron.service") && suggested.stdout.contains("unit.restart"),
        "{suggested}"
    );
    for wider in ["units = [\"*", "ssh.service", "unit.stop", "app.service"] {
        assert!(!suggested.stdout.contains(wider), "{wider}: {suggested}");
    }
    assert_eq!(
        host.sh("postern-admin policy show 2>/dev/null || cat /etc/postern/policy.d/*"),
        before,
        "nothing is installed"
    );
    assert_eq!(ann(&["run", "restart cron"]).code, 3);
}

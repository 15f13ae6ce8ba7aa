//! The model's endpoint: attempts, refusals, wire formats, usage, configuration.

use serde_json::{Value, json};

use crate::host::{Host, call, finish, service};

/// The second message of a task's first request, and the first: the instructions.
fn instructions(request: &Value) -> &str {
    request["messages"][0]["content"].as_str().expect("instructions")
}

pub fn overloaded_endpoint_is_asked_again_and_each_attempt_is_counted(host: &Host) {
    let overloaded =
        json!({ "status": 503, "error": "overloaded, key sk-abcdefghijklmnopqrstuvwx", "retry_after": 1 });
    let limited = json!({ "status": 429, "error": "too many", "retry_after": 0 });
    host.model(&[overloaded, limited, service("status", "app"), finish("app is up")], "");
    let ran = host.postern(&["run", "is app up?"]);
    assert_eq!((ran.code, host.seen().len()), (0, 4), "{ran}");
    for attempt in ["503", "429"].into_iter().zip(["; attempt 2/4 in 1.0 s", "; attempt 3/4 in "]) {
        let told = ran.stderr.lines().any(|line| line.contains(attempt.0) && line.contains(attempt.1));
        assert!(told, "{attempt:?}: {ran}");
    }
    assert!(!ran.stderr.contains("sk-abc"), "{ran}");
    assert!(host.journal().contains("event=model_retry"), "{}", host.journal());
}

pub fn refused_key_is_not_tried_again_and_is_never_shown(host: &Host) {
    let _ = host.sh("install -m 0600 -o postern /dev/stdin /etc/postern/model.key <<'END'\nsk-thisisthekeyofthetest00\nEND");
    let refused = json!({ "status": 401, "error": "Bearer sk-thisisthekeyofthetest00 is no key" });
    host.model(&[refused, finish("never asked")], "key = \"file:/etc/postern/model.key\"");
    let ran = host.postern(&["run", "is app up, please look"]);
    let seen = host.seen();
    assert_eq!((ran.code, seen.len()), (1, 1), "{ran}");
    assert_eq!(seen[0]["head"]["authorization"], "Bearer sk-thisisthekeyofthetest00");
    let shown = format!("{ran}{}", host.journal());
    assert!(shown.contains("401") && !shown.contains("thisisthekey"), "{shown}");
    // A key that others may read is not used.
    let _ = host.sh("chmod 0644 /etc/postern/model.key; systemctl restart postern-agent");
    let health = host.postern(&["health", "--json"]);
    assert!(health.stdout.contains("make it 0600"), "{health}");
    assert_ne!(host.postern(&["run", "is app up, please look"]).code, 0);
    assert_eq!(host.seen().len(), 1, "the model is not asked");
    let _ = host.sh("rm /etc/postern/model.key");
}

pub fn refusal_of_tools_and_of_a_form_is_remembered(host: &Host) {
    let status = r#"{"tool": "service", "args": {"action": "status", "name": "app"}}"#;
    let end = r#"{"tool": "finish", "args": {"outcome": "done", "summary": "app is up"}}"#;
    let replies = [
        json!({ "status": 500, "error": "tools param requires --jinja flag" }),
        json!({ "status": 400, "error": "response_format of type json_schema is not supported" }),
        json!({ "text": status }),
        json!({ "text": end }),
    ];
    let task = host.told(&replies, "is app up");
    assert_eq!(task["status"], "completed", "{task}\n{}", host.journal());
    let seen = host.seen();
    let has = |at: usize, part: &str| !seen[at]["body"][part].is_null();
    assert!(has(0, "tools") && (1..4).all(|at| !has(at, "tools")), "{seen:?}");
    assert_eq!(
        seen[1]["body"]["response_format"]["type"], "json_schema",
        "{}",
        seen[1]["body"]["response_format"]
    );
    for later in &seen[2..4] {
        assert_eq!(later["body"]["response_format"], json!({ "type": "json_object" }));
    }
    // Without tools the form is a part of the instructions.
    assert!(instructions(&seen[1]).contains("exactly one JSON object"), "{}", instructions(&seen[1]));
}

pub fn anthropics_messages_carry_out_a_task(host: &Host) {
    host.model(&[service("restart", "app"), finish("app was restarted")], "");
    let _ = host.sh(
        "sed -i 's/^provider = .*/provider = \"anthropic\"/; s#^base_url = .*#base_url = \"http://127.0.0.1:8080\"\\nname = \"a-model\"#' \
            /etc/postern/agent.toml
        systemctl restart postern-agent.service",
    );
    let task = host.task("restart app");
    assert_eq!(
        (&task["status"], host.begun(&task)),
        (&json!("completed"), vec!["unit.restart".to_owned()]),
        "{task}"
    );
    let seen = host.seen();
    assert_eq!((seen.len(), &seen[0]["path"]), (2, &json!("/v1/messages")));
    assert!(
        seen[0]["head"]["anthropic-version"].is_string() && seen[0]["body"]["system"].to_string().len() > 100
    );
    let result = seen[1]["messages"].to_string();
    assert!(result.contains("tool_result") && result.contains("\"tool_use_id\":\"c0\""), "{result}");
}

pub fn verbose_and_price_tell_what_a_task_used(host: &Host) {
    let price = "[model.price]\ninput = 3.0\noutput = 15\ncurrency = \"EUR\"";
    host.model(&[service("status", "app"), finish("app is up")], price);
    let ran = host.postern(&["run", "--verbose", "is app up"]);
    assert_eq!(ran.code, 0, "{ran}");
    let asks = ran.stderr.lines().filter(|line| line.starts_with("  asks the model: about ")).count();
    assert!(asks == 2 && ran.stderr.contains("so far tokens: 100 in, 10 out"), "{ran}");
    assert!(ran.stderr.lines().any(|line| line == "tokens: 200 in, 20 out, 0.0009 EUR"), "{ran}");
}

pub fn environment_and_key_file_and_site_prompt_count(host: &Host) {
    let _ = host.sh(
        "install -d /etc/postern/prompt.d /etc/systemd/system/postern-agent.service.d
        echo 'Ask the web team first.' > /etc/postern/prompt.d/10-who.md
        echo 'Anybody wrote this.' > /etc/postern/prompt.d/20-open.md; chmod 0666 /etc/postern/prompt.d/20-open.md
        printf '[Service]\\nEnvironment=POSTERN_LIMITS_MISFORMATS=2 POSTERN_LOG_FORMAT=json\\n' \
            > /etc/systemd/system/postern-agent.service.d/environment.conf
        systemctl daemon-reload",
    );
    let no = || json!({ "text": "no call" });
    host.model(&[no(), no(), finish("never asked")], "[limits]\nmisformats = 9");
    let task = host.task("is app up");
    let seen = host.seen();
    assert_eq!((&task["status"], seen.len()), (&json!("failed"), 2), "{task}");
    let journal = host.journal();
    let _ = host.sh(
        "rm -r /etc/postern/prompt.d /etc/systemd/system/postern-agent.service.d/environment.conf; systemctl daemon-reload",
    );
    let words = instructions(&seen[0]);
    assert!(words.contains("Ask the web team first.") && !words.contains("Anybody wrote"), "{words}");
    // The time, who asks, and what the policy grants.
    for part in ["Asked by: visitor, not there", "unit.restart: asked.service", "everything else is refused"]
    {
        assert!(words.contains(part), "{part}: {words}");
    }
    let lines: Vec<Value> = journal.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let is_of_task = |line: &&Value| line["trace_id"] == task["trace_id"] && line["event"] == "misformat";
    assert_eq!(lines.iter().filter(is_of_task).count(), 2, "{journal}");
    assert!(journal.contains("20-open.md is not in use"), "{journal}");
}

pub fn model_that_is_gone_is_told_and_health_answers(host: &Host) {
    host.model(&[call("finish", json!({}))], "[retry]\nmax_attempts = 0");
    let _ = host.sh("systemctl stop model.service");
    let health = host.machine.shell("timeout 10 runuser -u visitor -- postern health --json");
    let state = health.json();
    assert!(state["llm"] != "ok" && state["agent"] == "ok", "{health}");
    let ran = host.postern(&["run", "is app up, and why"]);
    assert!(ran.code != 0 && ran.stderr.to_lowercase().contains("refused"), "{ran}");
    // Typed orders need no model.
    let _ = host.postern(&["service", "status", "app"]).ok();
}

pub fn replies_of_a_file_stand_in_for_a_model(host: &Host) {
    let _ = host.sh(
        "cat > /etc/postern/replies.yaml <<'END'
replies:
  - text: let me look
    calls: [{tool: service, args: {action: restart, name: app}}]
  - calls: [{tool: finish, args: {outcome: done, summary: app was restarted}}]
END
        printf '[model]\\nprovider = \"scripted\"\\nscript = \"/etc/postern/replies.yaml\"\\n' > /etc/postern/agent.toml
        systemctl restart postern-agent.service",
    );
    let task = host.task("restart app please");
    assert_eq!(
        (&task["status"], host.begun(&task)),
        (&json!("completed"), vec!["unit.restart".to_owned()]),
        "{task}"
    );
    assert_eq!(host.postern(&["health", "--json"]).json()["llm"], "ok");
}

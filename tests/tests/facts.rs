//! The agent's read-only tools under its real unit, with systemd's own bus and the kernel's own files.

use postern_tests::{Installed, Release};
use serde_json::{Value, json};

/// Runs a task whose model makes these calls; their results.
fn results(host: &Installed, asked: &[(&str, Value)]) -> Vec<Value> {
    let finish = [("finish", json!({ "outcome": "done", "summary": "seen" }))];
    let calls = asked.iter().chain(&finish).map(|(tool, args)| json!({ "tool": tool, "args": args }));
    let replies: Vec<Value> = calls.collect();
    let roots = "[tools]\nread_roots = [\"/etc\", \"/usr/share/doc\", \"/var/log\"]";
    host.with_model(&json!(replies), roots);
    let done = host.visitor(&["postern", "run", "--json", "look around"]);
    assert_eq!(done.code, 0, "{done}\n{}", host.journal("postern-agent.service"));
    let results = done.json()["results"].as_array().expect("results").clone();
    assert_eq!(results.len(), asked.len(), "{results:?}");
    results
}

/// Parses a result's output.
fn found(result: &Value) -> Value {
    let text = result["stdout"].as_str().unwrap_or_else(|| panic!("{result}"));
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn named<'v>(list: &'v Value, name: &str) -> &'v Value {
    let all = list.as_array().expect("a list");
    all.iter().find(|one| one["name"] == name).unwrap_or_else(|| panic!("no {name} in {list}"))
}

#[test]
fn the_agent_sees_what_every_user_may_see_and_no_more() {
    let host = Installed::on(Release::Bookworm);
    let none = json!({});
    let asked = [
        ("get_system_info", none.clone()),
        ("list_units", json!({ "contains": "postern-" })),
        ("list_timers", none.clone()),
        ("list_processes", json!({ "contains": "postern-broker" })),
        ("get_network", none.clone()),
        ("list_disks", none),
        ("list_packages", json!({ "contains": "postern" })),
        ("read_file", json!({ "path": "/etc/debian_version" })),
        ("search_files", json!({ "path": "/etc", "text": "root:" })),
        ("read_file", json!({ "path": "/etc/postern/agent.toml" })),
        ("read_file", json!({ "path": "/etc/shadow" })),
        ("file", json!({ "action": "list", "path": "/etc/apt" })),
    ];
    let results = results(&host, &asked);
    let kernel = host.shell("uname -r").ok();
    assert_eq!(found(&results[0])["kernel"], kernel.trim());
    let agent = found(&results[1]);
    assert_eq!(named(&agent["units"], "postern-agent.service")["active"], "active", "{agent}");
    assert_eq!(named(&agent["units"], "postern-helper.socket")["enabled"], "enabled", "{agent}");
    let timers = found(&results[2]);
    let timer = named(&timers["timers"], "systemd-tmpfiles-clean.timer");
    assert_eq!(timer["starts"], "systemd-tmpfiles-clean.service");
    assert!(timer["next_unix_s"].as_u64().is_some_and(|time| time > 1_700_000_000), "{timers}");
    // Another user's process, which /proc does not show this unit.
    let processes = found(&results[3]);
    let helper = &processes["processes"][0];
    let pid = host.main_pid("postern-broker.service");
    assert_eq!(
        (helper["unit"].as_str(), helper["pid"].as_u64()),
        (Some("postern-broker.service"), pid.map(u64::from))
    );
    let listeners = found(&results[4])["listeners"].clone();
    assert!(listeners.as_array().is_some_and(|all| all.iter().any(|one| one["port"] == 8080)), "{listeners}");
    assert!(found(&results[5])["disks"][0]["size_bytes"].is_u64(), "{}", results[5]);
    assert_eq!(named(&found(&results[6])["packages"], "postern")["state"], "installed");
    assert_eq!(results[7]["stdout"], host.shell("cat /etc/debian_version").ok());
    let matches = found(&results[8])["matches"].to_string();
    assert!(matches.contains("/etc/passwd") && !matches.contains("shadow"), "{matches}");
    // Not below any root, whatever the roots are: the helper is asked, and it has no grant.
    assert_eq!((&results[9]["status"], &results[10]["status"]), (&json!("refused"), &json!("refused")));
    assert!(found(&results[11])["entries"].to_string().contains("sources.list"), "{}", results[11]);
}

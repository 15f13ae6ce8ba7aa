//! A script that knows only `sudo`, run for an agent under `NoNewPrivileges=yes`.

use postern_tests::{Installed, Release, on_each_release};
use serde_json::Value;

const RULES: &str = r#"
[[rule]]
id = "site-configuration"
client = "agent"
verbs = ["file.write"]
directories = ["/etc/nginx/conf.d"]
files = ["site.conf"]
max_bytes = 65536
modes = ["0644"]
decision = "allow"
justification = "where the site listens"
accept_risk = { "*" = "a test" }
"#;

/// As somebody wrote it for a host where sudo works.
const SCRIPT: &str = r#"set -e
sudo apt-get update -qq
sudo DEBIAN_FRONTEND=noninteractive apt-get install -y nginx-light
sudo systemctl stop nginx
echo 'server { listen 8081; root /var/www/html; }' | sudo tee /etc/nginx/conf.d/site.conf > /dev/null
sudo sh -c 'echo "from a redirect" > /var/www/html/index.html'
systemctl is-active --quiet nginx || sudo systemctl start nginx
echo "site is up"
"#;

on_each_release!(an_unmodified_script_with_sudo_works);

fn an_unmodified_script_with_sudo_works(release: Release) {
    let host = Installed::on(release);
    host.grant(RULES);
    let done = host.visitor(&["postern", "shell", "run", SCRIPT, "--json"]);
    let journal = || host.journal("postern-agent.service");
    assert_eq!(done.code, 0, "{done}\n{}", journal());
    let task = done.json();
    let results = task["results"].as_array().expect("results");
    let own = results.last().expect("the command's own result");
    let stdout = own["stdout"].as_str().unwrap_or_default();
    assert!(own["exit_code"] == 0 && stdout.ends_with("\nsite is up\n"), "{own}");
    // A script that reads apt-get's output finds what it looks for.
    assert!(stdout.contains(" newly installed, ") && stdout.contains("\nSetting up nginx-light ("), "{own}");
    assert_eq!(own["sandbox"]["enforced"], true, "{own}");
    let verbs: Vec<&Value> = results
        .iter()
        .filter(|result| result["origin"] == "shim")
        .map(|result| &result["args"]["verb"])
        .collect();
    let expected = [
        "package.update",
        "package.install",
        "unit.stop",
        "file.write",
        "file.write",
        "unit.status",
        "unit.start",
    ];
    assert_eq!(verbs, expected, "{task}");
    assert_eq!(host.shell("curl -sf http://localhost:8081/").ok(), "from a redirect\n");
    assert_eq!(host.shell("stat -c %U:%G /etc/nginx/conf.d/site.conf").ok(), "root:root\n");

    // The log names the task in every record, and the person behind it.
    let log = host.root(&["postern-admin", "audit", "show", "--verb", "unit.stop", "--json"]).ok();
    assert!(log.contains(task["id"].as_str().expect("an id")), "{log}");

    // Where the script ran, root is out of reach: real sudo fails there, although root allows it to the tools' user.
    let _ = host.shell("echo 'postern-tool ALL=(ALL) NOPASSWD: ALL' > /etc/sudoers.d/test").ok();
    let control = host.run("postern-tool", &["/usr/bin/sudo", "-n", "true"]);
    assert_eq!(control.code, 0, "without the sandbox it works: {control}");
    let refused = host.visitor(&["postern", "shell", "run", "/usr/bin/sudo -n true", "--json"]);
    let own = refused.json()["results"].as_array().and_then(|results| results.last().cloned());
    let own = own.expect("a result");
    assert_ne!(own["exit_code"], 0, "{own}");

    // A refusal has the exit status of systemctl.
    let refused =
        host.visitor(&["postern", "shell", "run", "sudo systemctl stop cron || echo code $?", "--json"]);
    let own = refused.json()["results"].as_array().and_then(|results| results.last().cloned());
    let own = own.expect("a result");
    assert_eq!(own["stdout"], "code 4\n", "{own}");
    assert!(own["stderr"].as_str().is_some_and(|told| told.contains("no_grant")), "{own}");
}

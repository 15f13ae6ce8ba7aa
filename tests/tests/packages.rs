//! Packages on the installed system, with a real apt and dpkg and repositories of the test's own.

use std::thread;
use std::time::Duration;

use postern_tests::{Installed, Output, Package, Release, Repository, on_each_release};
use serde_json::Value;

on_each_release!(does_to_packages_what_was_decided_and_says_what_became_of_it);

const RULES: &str = r#"
[[source]]
name = "local"
entries = ["/etc/apt/sources.list.d/local.sources"]
signed_by = ["/etc/apt/keyrings/local.asc"]

[[rule]]
id = "install"
client = "agent"
verbs = ["package.install", "request.undo"]
packages = ["pt-*"]
versions = ["*"]
sources = ["local"]
max_new_packages = 5
allow_upgrades = true
decision = "allow"
justification = "packages of the test"
accept_risk = { "*" = "a test" }

[[rule]]
id = "install-from-anywhere"
client = "agent"
verbs = ["package.install"]
packages = ["any-*"]
decision = "allow"
justification = "packages of the test"
accept_risk = { "*" = "a test" }

[[rule]]
id = "remove"
client = "agent"
verbs = ["package.remove", "package.purge", "request.undo"]
packages = ["pt-*", "linux-image-*", "bash"]
decision = "allow"
justification = "packages of the test"
accept_risk = { "*" = "a test" }

[[rule]]
id = "ask"
client = "agent"
verbs = ["package.remove"]
packages = ["pt-asked"]
decision = "ask"
justification = "packages of the test"
accept_risk = { "*" = "a test" }

[[rule]]
id = "upgrade"
client = "agent"
verbs = ["package.upgrade"]
packages = ["*"]
sources = ["local"]
decision = "allow"
justification = "packages of the test"
accept_risk = { "*" = "a test" }

[[rule]]
id = "hold"
client = "agent"
verbs = ["package.hold", "package.unhold", "request.undo"]
packages = ["pt-*"]
decision = "allow"
justification = "packages of the test"
accept_risk = { "*" = "a test" }

[[rule]]
id = "tidy"
client = "agent"
verbs = ["package.autoremove", "package.repair"]
decision = "allow"
justification = "packages of the test"
accept_risk = { "*" = "a test" }
"#;

fn packages(kernel: &str) -> Vec<Package> {
    let conffile = |version: &str| {
        Package::new("pt-conf", version).conffile("/etc/pt conf.conf", &format!("version {version}\n"))
    };
    let new = |name: &str| Package::new(name, "1");
    vec![
        conffile("1"),
        conffile("2"),
        new("pt-lib"),
        new("pt-app").field("Depends: pt-lib"),
        new("pt-undo-lib"),
        new("pt-undo").field("Depends: pt-undo-lib"),
        new("pt-undo-user").field("Depends: pt-undo-lib"),
        new("pt-fight").field("Conflicts: pt-app"),
        new("pt-bad").script("postinst", "echo the script says this; test -e /etc/pt-mended || exit 3"),
        new("pt-stuck").script("prerm", "echo it stays; exit 4"),
        new("pt-required").field("Priority: required"),
        new(&format!("linux-image-{kernel}")),
        new("pt-asked"),
        new("pt-needs-asked").field("Depends: pt-asked"),
        new("pt-twin"),
        new("pt-last"),
        new("pt-meta"),
        Package::new("pt-meta", "2").field("Depends: pt-fresh"),
        new("pt-fresh"),
        new("pt-hooked").conffile("/etc/pt-hooked.conf", "x\n"),
        new("pt-hooked-too").conffile("/etc/pt-hooked-too.conf", "x\n"),
    ]
}

fn does_to_packages_what_was_decided_and_says_what_became_of_it(release: Release) {
    let host = Installed::on(release);
    host.grant(RULES);
    let kernel = host.shell("uname -r").ok();
    host.publish_all(&packages(kernel.trim()));
    let _ = done(&host, &["update"]);
    changes_versions_and_keeps_what_a_person_has_configured(&host);
    removes_what_was_named_and_nothing_else(&host);
    takes_back_what_it_changed_and_nothing_that_is_needed_since(&host);
    what_the_host_needs_stays(&host, kernel.trim());
    what_changed_since_a_person_looked_is_not_removed(&host);
    what_waits_for_the_lock_says_who_has_it(&host);
    no_hook_restarts_or_runs_what_an_agent_prepared(&host);
    the_hooks_that_debian_has_wait_for_nobody_and_restart_nothing(&host);
    a_failing_script_is_told_and_mended_by_a_repair_alone(&host);
    versions_come_from_the_granted_entry_whatever_a_repository_calls_itself(&host);
    let _ = host.root(&["postern-admin", "audit", "verify"]).ok();
    assert_eq!(host.shell("systemctl --failed --plain --no-legend").ok(), "");
}

fn ask(host: &Installed, arguments: &[&str]) -> Output {
    host.visitor(&[&["postern", "package"], arguments, &["--json"]].concat())
}

#[track_caller]
fn ends(host: &Installed, arguments: &[&str], exit: i32, status: &str, code: &str) -> Value {
    let answer = ask(host, arguments);
    let json = answer.json();
    let said = (answer.code, json["status"].as_str().unwrap_or(""), json["code"].as_str().unwrap_or(""));
    assert_eq!(said, (exit, status, code), "{arguments:?}\n{}\n{answer}", host.journal("postern-*"));
    json
}

#[track_caller]
fn done(host: &Installed, arguments: &[&str]) -> Value {
    ends(host, arguments, 0, "done", "")
}

#[track_caller]
fn refused(host: &Installed, arguments: &[&str], code: &str, words: &str) {
    let exit = if ["not_found", "needs_repair"].contains(&code) { 1 } else { 3 };
    let json = ends(host, arguments, exit, "refused", code);
    let message = json["message"].as_str().unwrap_or("");
    assert!(message.contains(words), "{arguments:?}: {message}");
}

#[track_caller]
fn has(host: &Installed, package: &str, status: &str) {
    let query =
        format!("dpkg-query -W -f '${{Version}} ${{db:Status-Abbrev}}' {package} 2>/dev/null || true");
    assert_eq!(host.shell(&query).ok().trim(), status, "{package}");
}

fn steps(json: &Value) -> Vec<String> {
    let step = |step: &Value| {
        let text = |key: &str| step[key].as_str().unwrap_or("-").to_owned();
        format!("{} {} {} {}", text("action"), text("name"), text("old"), text("new"))
    };
    json["plan"]["packages"].as_array().map(|steps| steps.iter().map(step).collect()).unwrap_or_default()
}

fn changes_versions_and_keeps_what_a_person_has_configured(host: &Installed) {
    let installed = done(host, &["install", "pt-conf=1"]);
    assert_eq!(steps(&installed), ["install pt-conf - 1"]);
    let plan = &installed["plan"];
    let source =
        "/etc/apt/sources.list.d/local.sources:1 file:/var/lib/local-repo /etc/apt/keyrings/local.asc";
    assert_eq!(plan["packages"][0]["sources"], serde_json::json!([source]));
    let shown = host.visitor(&["postern", "package", "show", "pt-conf", "--json"]).json();
    assert_eq!(shown["result"]["packages"][0]["sources"], serde_json::json!([source]), "{shown}");
    assert!(plan["download_bytes"].as_u64().is_some_and(|bytes| bytes > 100), "{plan}");
    assert_eq!(plan["disk_bytes"], 8192);
    let _ = ends(host, &["install", "pt-conf=1"], 0, "unchanged", "");

    let _ = done(host, &["install", "pt-meta=1"]);
    let _ = done(host, &["hold", "pt-conf"]);
    assert_eq!(host.root(&["apt-mark", "showhold"]).ok(), "pt-conf\n");
    let _ = ends(host, &["hold", "pt-conf"], 0, "unchanged", "");
    let kept = ends(host, &["upgrade", "--all"], 0, "unchanged", "");
    assert_eq!(kept["plan"]["kept_back"], serde_json::json!(["pt-conf", "pt-meta"]));
    // The newer version has an uninstalled dependency, and the rule grants no new packages.
    refused(host, &["upgrade", "pt-meta"], "plan_refused", "`new_packages`");
    refused(host, &["upgrade", "pt-conf"], "plan_refused", "eld packages were changed");
    refused(host, &["remove", "pt-conf"], "plan_refused", "eld packages were changed");
    let _ = done(host, &["unhold", "pt-conf"]);
    let _ = ends(host, &["unhold", "pt-conf"], 0, "unchanged", "");
    assert_eq!(host.root(&["apt-mark", "showhold"]).ok(), "");
    let _ = ends(host, &["hold", "pt-absent"], 1, "failed", "not_found");

    let _ = host.shell("echo mine > '/etc/pt conf.conf'").ok();
    refused(host, &["install", "pt-conf=1.5"], "not_found", "was not found");
    let upgraded = done(host, &["upgrade", "--all"]);
    assert_eq!(steps(&upgraded), ["upgrade pt-conf 1 2"]);
    let info = &upgraded["result"]["packages"][0];
    assert_eq!((info["state"].as_str(), info["installed"].as_str()), (Some("installed"), Some("2")));
    assert_eq!(info["conffiles_kept"], serde_json::json!(["/etc/pt conf.conf"]));
    let both = host.shell("cat '/etc/pt conf.conf' '/etc/pt conf.conf.dpkg-dist'").ok();
    assert_eq!(both, "mine\nversion 2\n");
    refused(host, &["install", "pt-conf=1"], "plan_refused", "downgraded");
    refused(host, &["upgrade", "pt-absent"], "not_found", "pt-absent");
}

fn removes_what_was_named_and_nothing_else(host: &Installed) {
    assert_eq!(steps(&done(host, &["install", "pt-app"])), ["install pt-app - 1", "install pt-lib - 1"]);
    refused(host, &["remove", "pt-lib"], "plan_refused", "`allow_removals`");
    refused(host, &["install", "pt-fight"], "plan_refused", "");
    has(host, "pt-app", "1 ii");
    has(host, "pt-fight", "");
    let _ = ends(host, &["remove", "pt-app", "--dry-run"], 0, "previewed", "");
    has(host, "pt-app", "1 ii");
    assert_eq!(steps(&done(host, &["remove", "pt-app"])), ["remove pt-app 1 -"]);
    has(host, "pt-app", "");
    let _ = ends(host, &["remove", "pt-app"], 0, "unchanged", "");
    assert_eq!(steps(&done(host, &["autoremove"])), ["remove pt-lib 1 -"]);
    let _ = ends(host, &["autoremove"], 0, "unchanged", "");

    let _ = done(host, &["remove", "pt-conf"]);
    has(host, "pt-conf", "2 rc");
    let purged = done(host, &["purge", "pt-conf"]);
    assert_eq!(steps(&purged), ["purge pt-conf 2 -"]);
    assert_eq!(purged["result"]["packages"][0]["state"], "not-installed");
    assert_eq!(
        host.shell("ls /etc/pt* 2>&1 || true").ok().lines().filter(|l| l.contains(".conf")).count(),
        0
    );
    let _ = ends(host, &["purge", "pt-conf"], 0, "unchanged", "");

    let _ = done(host, &["install", "pt-stuck"]);
    let failed = ends(host, &["remove", "pt-stuck"], 1, "failed", "package_failed");
    assert!(failed["message"].as_str().is_some_and(|words| words.contains("pt-stuck: ")), "{failed}");
    assert_eq!(failed["result"]["packages"][0]["state"], "installed", "{failed}");
}

/// An undo is the inverse request: asked for by the client, or done by an operator.
fn takes_back_what_it_changed_and_nothing_that_is_needed_since(host: &Installed) {
    let undo = |id: &Value, exit: i32, code: &str| {
        let answer = host.visitor(&["postern", "undo", id.as_str().expect("an id"), "--json"]);
        let json = answer.json();
        assert_eq!((answer.code, json["code"].as_str().unwrap_or("")), (exit, code), "{answer}");
        json
    };
    let installed = done(host, &["install", "pt-undo"]);
    has(host, "pt-undo-lib", "1 ii");
    let undone = undo(&installed["request_id"], 0, "");
    assert_eq!(steps(&undone), ["remove pt-undo 1 -", "remove pt-undo-lib 1 -"]);
    has(host, "pt-undo", "");
    has(host, "pt-undo-lib", "");
    let _ = undo(&installed["request_id"], 1, "undo_gone");
    let again = undo(&undone["request_id"], 0, "");
    has(host, "pt-undo", "1 ii");

    // Another package now needs a dependency that it installed.
    let _ = done(host, &["install", "pt-undo-user"]);
    let _ = undo(&again["request_id"], 1, "undo_conflict");
    has(host, "pt-undo", "1 ii");
    has(host, "pt-undo-user", "1 ii");

    let removed = done(host, &["remove", "pt-undo-user"]);
    let _ = undo(&removed["request_id"], 0, "");
    has(host, "pt-undo-user", "1 ii");
    let held = done(host, &["hold", "pt-undo"]);
    assert_eq!(host.shell("apt-mark showhold").ok(), "pt-undo\n");
    let _ = undo(&held["request_id"], 0, "");
    assert_eq!(host.shell("apt-mark showhold").ok(), "");

    let removed = done(host, &["remove", "pt-undo-user"]);
    let id = removed["request_id"].as_str().expect("an id");
    let _ = host.root(&["postern-admin", "undo", id, "--yes"]).ok();
    has(host, "pt-undo-user", "1 ii");
}

fn what_the_host_needs_stays(host: &Installed, kernel: &str) {
    let _ = done(host, &["install", "pt-required"]);
    let image = format!("linux-image-{kernel}");
    let _ = host.root(&["apt-get", "-qy", "install", &image]).ok();
    refused(host, &["remove", "pt-required"], "protected", "essential or required");
    refused(host, &["purge", &image], "protected", "the kernel that runs");
    refused(host, &["remove", "bash"], "protected", "");
}

fn what_changed_since_a_person_looked_is_not_removed(host: &Installed) {
    let _ = done(host, &["install", "pt-asked"]);
    thread::scope(|scope| {
        let asked = scope.spawn(|| ask(host, &["remove", "pt-asked"]));
        let id = until(
            host,
            "postern-admin pending --json | grep -o '\"approval_id\":\"[0-9a-f]*' | cut -d'\"' -f4",
        );
        let _ = host.root(&["apt-get", "-qy", "install", "pt-needs-asked"]).ok();
        let digest = host.shell(&format!("postern-admin show {id} --json")).json();
        let digest = digest["sha256"].as_str().expect("a digest").to_owned();
        let approved = host.root(&["postern-admin", "approve", &id, "--digest", &digest]);
        assert_eq!(approved.code, 0, "{approved}");
        let answer = asked.join().expect("the person's command");
        let json = answer.json();
        assert_eq!(json["code"], "plan_changed", "{answer}");
        let words = "remove of pt-needs-asked (all, 1 to none) is not in the plan";
        assert_eq!(json["message"], words, "{answer}");
    });
    has(host, "pt-asked", "1 ii");
    has(host, "pt-needs-asked", "1 ii");
}

/// Runs a script until it prints something, and returns that.
#[track_caller]
fn until(host: &Installed, script: &str) -> String {
    for _ in 0..600 {
        let output = host.shell(&format!("{{ {script}; }} || true")).ok();
        if !output.trim().is_empty() {
            return output.trim().to_owned();
        }
        thread::sleep(Duration::from_millis(50));
    }
    panic!("nothing comes of {script}: {}", host.journal("postern-*"));
}

fn what_waits_for_the_lock_says_who_has_it(host: &Installed) {
    let holder = "import fcntl, time\nf = open('/var/lib/dpkg/lock-frontend', 'w')\nfcntl.lockf(f, fcntl.LOCK_EX)\nopen('/run/held', 'w')\ntime.sleep(600)";
    let _ = host.shell(&format!("systemd-run --quiet --unit=holder python3 -c \"{holder}\"")).ok();
    let _ = until(host, "ls /run/held 2>/dev/null");
    thread::scope(|scope| {
        let answer =
            scope.spawn(|| host.visitor(&["postern", "package", "install", "pt-last", "--json=lines"]));
        let _ = until(host, "grep -l '^locked:.*:python3' /var/lib/postern-root/jobs/*/status 2>/dev/null");
        host.kill("holder.service", "KILL");
        let answer = answer.join().expect("the person's command");
        assert_eq!(answer.code, 0, "{answer}");
        assert!(answer.stdout.contains("the lock is held by python3 (process "), "{answer}");
        for phase in ["waiting", "unpack", "configure"] {
            assert!(answer.stdout.contains(&format!("\"phase\":\"{phase}\"")), "{phase}: {answer}");
        }
    });
    let _ = host.shell("systemctl reset-failed holder.service || true").ok();
    has(host, "pt-last", "1 ii");
}

/// A stand-in for needrestart with the same hook: it starts the interpreter of each process with the process's own
/// search path, as those before 3.8 did, and restarts a service, unless it is told to be quiet.
const NEEDRESTART: &str = r#"
cat > /usr/libexec/apt-pinvoke <<'HOOK'
#!/bin/sh
[ -z "$NEEDRESTART_SUSPEND" ] || { echo quiet >> /run/needrestart; exit 0; }
for process in /proc/[0-9]*; do
    path=$(tr '\0' '\n' < $process/environ 2>/dev/null | sed -n 's/^PYTHONPATH=//p')
    [ -z "$path" ] || PYTHONPATH=$path python3 -c pass </dev/null
done
echo restarted >> /run/needrestart
HOOK
chmod 0755 /usr/libexec/apt-pinvoke
echo 'DPkg::Post-Invoke {"/usr/libexec/apt-pinvoke";};' > /etc/apt/apt.conf.d/99needrestart
install -d -o postern -m 0755 /tmp/payload
echo "import os; os.getuid() or open('/run/pwned', 'w')" > /tmp/payload/sitecustomize.py
systemd-run --quiet --unit=hostile --uid=postern --setenv=PYTHONPATH=/tmp/payload python3 -c 'import time; time.sleep(600)'
"#;

fn no_hook_restarts_or_runs_what_an_agent_prepared(host: &Installed) {
    let _ = host.shell(NEEDRESTART).ok();
    let _ = until(host, "grep -slz PYTHONPATH=/tmp/payload /proc/[0-9]*/environ");
    // The control: a person's own apt-get runs the payload as root.
    let _ = host.root(&["apt-get", "-qy", "install", "pt-lib"]).ok();
    let _ = host
        .shell("test -e /run/pwned; grep -qx restarted /run/needrestart; rm /run/pwned /run/needrestart")
        .ok();
    let _ = done(host, &["remove", "pt-lib"]);
    let _ = done(host, &["install", "pt-lib"]);
    assert_eq!(host.shell("cat /run/needrestart; ls /run/pwned 2>/dev/null || true").ok(), "quiet\nquiet\n");
    let _ = host.shell("rm /etc/apt/apt.conf.d/99needrestart; systemctl stop hostile.service").ok();
}

/// The real ones, each told to do its worst: to restart what it finds without asking, and to show changes and wait
/// for an answer. A service runs a program that was replaced since, which needrestart restarts.
const HOOKS: &str = r#"
export DEBIAN_FRONTEND=noninteractive
rm -f /run/needrestart
apt-get -qy install needrestart etckeeper apt-listchanges
echo "\$nrconf{restart} = 'a';" > /etc/needrestart/conf.d/all.conf
printf '[apt]\nfrontend=pager\npager=/bin/sh -c "sleep 6000"\nconfirm=true\nwhich=both\n' > /etc/apt/listchanges.conf
cp /bin/sleep /usr/local/bin/stale
printf '[Service]\nType=exec\nExecStart=/usr/local/bin/stale 6000\n' > /etc/systemd/system/stale.service
systemctl daemon-reload
"#;

/// Starts the service, and replaces its program.
const STALE: &str = "systemctl restart stale.service; cp /bin/sleep /usr/local/bin/stale.new; mv /usr/local/bin/stale.new /usr/local/bin/stale";

fn the_hooks_that_debian_has_wait_for_nobody_and_restart_nothing(host: &Installed) {
    let _ = host.shell(HOOKS).ok();
    let main_pid = || host.property("stale.service", "MainPID");
    let commits = || host.shell("git -C /etc rev-list --count HEAD").ok();
    // The control: a person's own apt-get has the service restarted.
    let _ = host.shell(STALE).ok();
    let before = main_pid();
    let _ = host
        .shell("DEBIAN_FRONTEND=noninteractive APT_LISTCHANGES_FRONTEND=none apt-get -qy install pt-hooked </dev/null")
        .ok();
    assert_ne!(main_pid(), before, "needrestart restarts nothing by itself");

    let _ = host.shell(STALE).ok();
    let (before, committed) = (main_pid(), commits());
    assert_eq!(steps(&done(host, &["install", "pt-hooked-too"])), ["install pt-hooked-too - 1"]);
    assert_eq!(main_pid(), before, "the service was restarted behind our back");
    assert_ne!(commits(), committed, "etckeeper has noted what came to /etc");
    assert_eq!(host.shell("git -C /etc status --porcelain").ok(), "");
    assert_eq!(steps(&done(host, &["remove", "pt-hooked-too"])), ["remove pt-hooked-too 1 -"]);
    assert_eq!(main_pid(), before);
    let _ = host
        .shell("systemctl stop stale.service; apt-get -qy purge --autoremove needrestart etckeeper apt-listchanges pt-hooked pt-hooked-too; rm -rf /etc/.git")
        .ok();
}

fn a_failing_script_is_told_and_mended_by_a_repair_alone(host: &Installed) {
    let failed = ends(host, &["install", "pt-bad"], 1, "failed", "package_failed");
    let message = failed["message"].as_str().unwrap_or("");
    assert!(message.starts_with("pt-bad: ") && message.contains("exit status 3"), "{failed}");
    assert!(message.ends_with("pt-bad is half-configured"), "{failed}");
    assert_eq!(failed["result"]["packages"][0]["state"], "half-configured", "{failed}");
    has(host, "pt-bad", "1 iF");
    for arguments in [&["install", "pt-app"] as &[&str], &["upgrade", "--all"], &["autoremove"]] {
        refused(host, arguments, "needs_repair", "pt-bad");
    }
    let still = ends(host, &["repair"], 1, "failed", "package_failed");
    assert!(
        still["message"].as_str().is_some_and(|words| words.contains("pt-bad is half-configured")),
        "{still}"
    );
    let _ = host.shell("touch /etc/pt-mended").ok();
    assert_eq!(steps(&done(host, &["repair"])), ["configure pt-bad 1 1"]);
    has(host, "pt-bad", "1 ii");
    let _ = ends(host, &["repair"], 0, "unchanged", "");

    let _ = host.shell("touch /var/lib/dpkg/updates/0001").ok();
    for arguments in [
        &["install", "pt-app"] as &[&str],
        &["remove", "pt-bad"],
        &["purge", "pt-bad"],
        &["upgrade", "--all"],
        &["autoremove"],
    ] {
        refused(host, arguments, "needs_repair", "dpkg was interrupted");
    }
    let _ = ends(host, &["hold", "pt-lib"], 1, "failed", "needs_repair");
    let _ = done(host, &["repair"]);
    assert_eq!(host.shell("ls /var/lib/dpkg/updates").ok(), "");
    let _ = done(host, &["remove", "pt-bad"]);
}

fn versions_come_from_the_granted_entry_whatever_a_repository_calls_itself(host: &Installed) {
    let new = |name: &str| Package::new(name, "1");
    let liar = Repository { name: "liar", label: "Local", option: "Trusted: yes" };
    host.offer(liar, &[new("pt-twin"), new("pt-liar"), Package::new("pt-conf", "9")]);
    let _ = done(host, &["update"]);
    let liar = "/etc/apt/sources.list.d/liar.sources:1 file:/srv/liar -";
    refused(host, &["install", "pt-liar"], "plan_refused", liar);
    refused(host, &["install", "pt-twin"], "plan_refused", liar);
    refused(host, &["install", "pt-conf"], "plan_refused", liar);
    let _ = done(host, &["install", "pt-conf=2"]);
    refused(host, &["upgrade", "--all"], "plan_refused", liar);
    refused(host, &["upgrade", "pt-conf"], "plan_refused", liar);

    let unsigned = Repository { name: "unsigned", label: "Local", option: "Enabled: yes" };
    host.offer(unsigned, &[new("any-unsigned")]);
    let failed = ends(host, &["update"], 1, "failed", "package_failed");
    assert!(failed["message"].as_str().is_some_and(|words| words.contains("not signed")), "{failed}");
    let insecure = "Acquire::AllowInsecureRepositories=true";
    let _ = host.root(&["apt-get", "-q", "-o", insecure, "update"]).ok();
    let refusal = ask(host, &["install", "any-unsigned"]);
    assert!(
        refusal.json()["message"].as_str().is_some_and(|words| words.contains("unauthenticated")),
        "{refusal}"
    );
    has(host, "any-unsigned", "");
    let _ =
        host.shell("rm /etc/apt/sources.list.d/unsigned.sources /etc/apt/sources.list.d/liar.sources").ok();
}

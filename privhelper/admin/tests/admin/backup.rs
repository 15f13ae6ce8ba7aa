//! A backup is restored whole or not at all, and tells whether the log is still what it was.

use crate::log::Log;
use crate::support::{GOOD, SITE, TestHost};
use postern_admin::io::Exit;
use postern_admin::policy::accepted;
use std::fs;
use std::os::unix::fs::PermissionsExt;

fn logged(host: &TestHost) -> Log {
    let mut log = Log::new();
    log.add("start", "").add("stop", "");
    fs::write(host.host.log.join("audit.jsonl"), &log.bytes).unwrap();
    log
}

fn digest(host: &TestHost) -> String {
    accepted::read(&host.host.accepted_dir()).unwrap().unwrap().digest.to_string()
}

/// A host whose policy has a drop-in, and its backup.
fn backed_up() -> (TestHost, Log, String) {
    let mut host = TestHost::new(GOOD);
    host.host.login_uid = || Some(1001);
    host.write("policy.d/site.toml", SITE);
    assert_eq!(host.run(&["policy", "apply", "--yes"]).exit, Exit::Done);
    assert_eq!(host.run(&["policy", "sign-off", "--yes"]).exit, Exit::Done);
    let log = logged(&host);
    let file = host.host.state.join("backup.json").display().to_string();
    let ran = host.run(&["backup", &file]);
    assert_eq!(ran.exit, Exit::Done, "{}", ran.err);
    assert!(ran.out.contains(&format!("tip: 2:{}", log.prev)), "{}", ran.out);
    (host, log, file)
}

#[test]
fn restores_files_sign_offs_and_the_accepted_policy() {
    let (host, mut log, file) = backed_up();
    let before = digest(&host);
    fs::remove_file(host.host.etc.join("policy.d/site.toml")).unwrap();
    host.write("policy.d/other.toml", SITE.replace("site", "other"));
    assert_eq!(host.run(&["policy", "apply", "--yes"]).exit, Exit::Done);
    fs::remove_file(host.host.own.join("sign-offs.json")).unwrap();
    assert_ne!(digest(&host), before);
    log.add("start", "");
    fs::write(host.host.log.join("audit.jsonl"), &log.bytes).unwrap();
    let ran = host.answer(&["restore", &file], "y\n");
    assert_eq!(ran.exit, Exit::Done, "{}", ran.err);
    assert!(ran.out.contains("the audit log is unchanged up to record 2"), "{}", ran.out);
    assert_eq!(digest(&host), before);
    assert_eq!(fs::read_to_string(host.host.etc.join("policy.d/site.toml")).unwrap(), SITE);
    assert!(!host.host.etc.join("policy.d/other.toml").exists());
    assert!(host.run(&["status"]).out.contains("sign-off     by bob"));
}

#[test]
fn leaves_everything_as_it_was_if_the_person_or_the_check_refuses() {
    let (host, _, file) = backed_up();
    host.write("policy.toml", GOOD.replace("*.service", "ssh.service"));
    assert_eq!(host.run(&["policy", "apply", "--yes"]).exit, Exit::Done);
    let (before, files) = (digest(&host), fs::read_to_string(host.host.etc.join("policy.toml")).unwrap());
    assert_eq!(host.answer(&["restore", &file], "n\n").exit, Exit::Failed);
    let text = fs::read_to_string(&file).unwrap();
    for (from, to) in [("\"v\": 2", "\"v\": 3"), ("policy.d/site.toml", "../site.toml")] {
        assert!(text.contains(from), "{from} in {text}");
        fs::write(&file, text.replace(from, to)).unwrap();
        assert_eq!(host.run(&["restore", &file, "--yes"]).exit, Exit::Failed, "{from}");
        assert_eq!(digest(&host), before);
    }
    fs::write(&file, text.replace("unit.status", "unit.stop")).unwrap();
    let ran = host.run(&["restore", &file, "--yes"]);
    assert_eq!(ran.exit, Exit::Failed);
    assert!(ran.err.contains("are not the policy that it names"), "{}", ran.err);
    assert_eq!(
        (digest(&host), fs::read_to_string(host.host.etc.join("policy.toml")).unwrap()),
        (before, files)
    );
}

#[test]
fn warns_that_the_log_was_cut_or_rewritten_since() {
    let (host, _, file) = backed_up();
    let mut other = Log::new();
    other.add("start", "");
    fs::write(host.host.log.join("audit.jsonl"), &other.bytes).unwrap();
    let ran = host.run(&["restore", &file, "--yes"]);
    assert!(ran.out.contains("WARNING: the audit log is not what the backup knows of it"), "{}", ran.out);
}

#[test]
fn a_backup_is_its_owners_alone_and_replaces_no_file() {
    let (host, log, file) = backed_up();
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(host.run(&["backup", &file]).exit, Exit::Failed);
    let broken = String::from_utf8(log.bytes).unwrap().replacen("start", "stars", 1);
    fs::write(host.host.log.join("audit.jsonl"), broken).unwrap();
    let other = format!("{file}.2");
    let ran = host.run(&["backup", &other]);
    assert!(ran.exit == Exit::Failed && ran.err.contains("the audit log is not valid"), "{}", ran.err);
    assert!(!std::path::Path::new(&other).exists());
}

/// Modification times of the policy's files.
fn written(host: &TestHost) -> Vec<std::time::SystemTime> {
    let names = ["policy.toml", "policy.d/site.toml"];
    let at = |name: &str| fs::metadata(host.host.etc.join(name)).unwrap().modified().unwrap();
    names.map(at).to_vec()
}

#[test]
fn writes_no_file_before_the_policy_is_checked_and_a_person_agrees() {
    let (host, _, file) = backed_up();
    host.write("policy.d/other.toml", SITE.replace("\"site\"", "\"other\""));
    assert_eq!(host.run(&["policy", "apply", "--yes"]).exit, Exit::Done);
    let before = written(&host);
    // Nobody agrees; then the backup is not the policy that it names.
    assert_eq!(host.answer(&["restore", &file], "n\n").exit, Exit::Failed);
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace("unit.status", "unit.stop")).unwrap();
    assert_eq!(host.run(&["restore", &file, "--yes"]).exit, Exit::Failed);
    assert_eq!(written(&host), before);
}

#[test]
fn restores_where_a_file_of_the_policy_is_missing_or_broken() {
    let (host, _, file) = backed_up();
    fs::remove_file(host.host.etc.join("policy.toml")).unwrap();
    host.write("policy.d/broken.toml", "this is no TOML");
    let ran = host.run(&["restore", &file, "--yes"]);
    assert_eq!(ran.exit, Exit::Done, "{}", ran.err);
    assert!(
        host.host.etc.join("policy.toml").exists() && !host.host.etc.join("policy.d/broken.toml").exists()
    );
}

#[test]
fn brings_back_each_name_that_a_policy_may_have() {
    let (host, _, file) = backed_up();
    let names = ["policy.d/a b.toml", "policy.d/web+x.toml", "policy.d/größe.toml"];
    for (number, name) in names.iter().enumerate() {
        host.write(name, SITE.replace("\"site\"", &format!("\"site-{number}\"")));
    }
    let other = format!("{file}.2");
    let ran = host.run(&["backup", &other]);
    assert!(
        ran.exit == Exit::Done && ran.out.contains("WARNING: the files differ"),
        "{} {}",
        ran.out,
        ran.err
    );
    for name in names {
        fs::remove_file(host.host.etc.join(name)).unwrap();
    }
    let ran = host.run(&["restore", &other, "--yes"]);
    assert_eq!(ran.exit, Exit::Done, "{}", ran.err);
    for name in names {
        assert!(host.host.etc.join(name).exists(), "{name}");
    }
}

#[test]
fn refuses_a_backup_that_could_not_be_restored() {
    use std::os::unix::ffi::OsStrExt;
    let (host, _, file) = backed_up();
    let name = std::ffi::OsStr::from_bytes(b"policy.d/\xff.toml");
    fs::copy(host.write("policy.d/site.toml", SITE), host.host.etc.join(name)).unwrap();
    fs::remove_file(host.host.etc.join("policy.d/site.toml")).unwrap();
    let other = format!("{file}.2");
    let ran = host.run(&["backup", &other]);
    assert!(ran.exit == Exit::Failed && ran.err.contains("cannot be restored"), "{}", ran.err);
    assert!(!std::path::Path::new(&other).exists());
}

#[test]
fn brings_back_the_agents_configuration_and_names_groups_and_pause() {
    let (mut host, _, file) = backed_up();
    let files = [
        ("agent.toml", "[model]\n"),
        ("shell-rules.yaml", "rules: []\n"),
        ("runbooks.d/site.yaml", "title: x\n"),
        ("prompt.d/site.md", "The site.\n"),
    ];
    for (name, text) in files {
        host.write(name, text);
    }
    host.write("runbooks.d/notes.txt", "no runbook");
    fs::write(host.host.state.join("paused"), "maintenance").unwrap();
    let other = format!("{file}.2");
    let ran = host.run(&["backup", &other]);
    assert!(
        ran.exit == Exit::Done && ran.out.contains("4 files of the agent's configuration"),
        "{}",
        ran.out
    );
    assert!(ran.out.contains("not in it: the agent's tasks, schedules"), "{}", ran.out);
    host.write("agent.toml", "# new\n");
    fs::remove_dir_all(host.host.etc.join("runbooks.d")).unwrap();
    // The policy is the accepted one: the question is about the configuration alone.
    assert_eq!(host.answer(&["restore", &other], "n\n").exit, Exit::Failed);
    assert_eq!(fs::read_to_string(host.host.etc.join("agent.toml")).unwrap(), "# new\n");
    host.host.accounts.group = |name| match name {
        "postern-users" => Some((900, vec![1001])),
        name => (crate::support::accounts().group)(name),
    };
    let ran = host.answer(&["restore", &other], "y\n");
    assert_eq!(ran.exit, Exit::Done, "{}", ran.err);
    for (name, text) in files {
        assert_eq!(fs::read_to_string(host.host.etc.join(name)).unwrap(), text, "{name}");
    }
    assert!(!host.host.etc.join("runbooks.d/notes.txt").exists());
    assert!(ran.out.contains("next: usermod --append --groups postern-users alice"), "{}", ran.out);
    assert!(ran.out.contains("the host was paused (maintenance)"), "{}", ran.out);
    let called = fs::read_to_string(host.host.etc.with_file_name("called")).unwrap();
    assert_eq!(called, "postern config check\nsystemctl restart postern-agent.service\n");
}

#[test]
fn puts_the_configuration_back_if_the_agent_refuses_it() {
    let (host, _, file) = backed_up();
    host.write("agent.toml", "[model]\n");
    let other = format!("{file}.2");
    assert_eq!(host.run(&["backup", &other]).exit, Exit::Done);
    host.write("agent.toml", "# new\n");
    fs::write(&host.host.programs.postern, "#!/bin/sh\necho no such key >&2\nexit 1\n").unwrap();
    let ran = host.run(&["restore", &other, "--yes"]);
    assert!(ran.exit == Exit::Partly && ran.err.contains("no such key"), "{}", ran.err);
    assert_eq!(fs::read_to_string(host.host.etc.join("agent.toml")).unwrap(), "# new\n");
    let text = fs::read_to_string(&other).unwrap();
    fs::write(&other, text.replace("\"agent.toml\"", "\"policy.toml.x\"")).unwrap();
    assert_eq!(host.run(&["restore", &other, "--yes"]).exit, Exit::Failed);
}

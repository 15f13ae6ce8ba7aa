//! `doctor` finds each part of a host that is not as it should be, and names the command that mends it.

use crate::log::Log;
use crate::support::{GOOD, SITE, TestHost, accounts, end, event};
use postern_admin::doctor::{LISTENERS, State, capabilities, powers};
use postern_admin::host::Accounts;
use postern_admin::io::Exit;
use postern_admin::lint::facts::{Facts, Group, Inode, User};
use postern_proto::v1::OperatorStatus;
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::Path;

const SOCKETS: [&str; 13] = [
    "agent",
    "helper",
    "operator",
    "person",
    "tool",
    "tool-ports",
    "internal/recorder",
    "internal/gateway",
    "internal/probe",
    "internal/files",
    "internal/units",
    "internal/asked",
    "internal/announce",
];
const SERVICES: [&str; 6] = ["audit", "broker", "agent", "probe", "files", "units"];

/// Every group of Postern's is this process's own, so that the files here have it; only alice is a member of any.
fn groups() -> Accounts {
    Accounts {
        group: |name| {
            let members = if name == "postern-users" { vec![1000] } else { Vec::new() };
            Some((nix::unistd::getegid().as_raw(), members))
        },
        ..accounts()
    }
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn program(path: &Path, output: &str) {
    write(path, &format!("#!/bin/sh\ncat <<'END'\n{output}\nEND\n"));
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Returns the output of `systemctl show` for units without a fault.
fn units() -> String {
    let sockets = SOCKETS.map(|path| {
        let name = path.trim_start_matches("internal/");
        format!("Id=postern-{name}.socket\nLoadState=loaded\nActiveState=active\nUnitFileState=enabled\n")
    });
    let services = SERVICES.map(|name| {
        let (active, enabled) = match name {
            "audit" | "broker" | "agent" => ("active", "enabled"),
            _ => ("inactive", "static"),
        };
        format!(
            "Id=postern-{name}.service\nLoadState=loaded\nActiveState={active}\nUnitFileState={enabled}\n"
        )
    });
    sockets.into_iter().chain(services).collect::<Vec<_>>().join("\n")
}

/// A session of alice's under sudo, as `/proc` has it.
fn session(root: &Path, groups: &str) {
    write(&root.join("proc/self/status"), "Uid:\t0\t0\t0\t0\nGid:\t0\nPPid:\t41\nGroups:\t0\n");
    write(&root.join("proc/41/status"), "Uid:\t0\t0\t0\t0\nGid:\t0\nPPid:\t40\nGroups:\t0\n");
    let text = format!("Uid:\t1000\t1000\t1000\t1000\nGid:\t1000\nPPid:\t1\nGroups:\t{groups}\n");
    write(&root.join("proc/40/status"), &text);
}

/// A host on which nothing is wrong, and the sockets that keep their files.
fn healthy() -> (TestHost, Vec<UnixListener>) {
    let mut host = TestHost::new(GOOD);
    host.run(&["policy", "apply", "--yes"]);
    host.host.accounts = groups();
    host.host.login_uid = || Some(1000);
    let root = host.host.root.clone();
    let bind = |name: &&str| {
        let path = root.join(format!("run/postern/{name}.sock"));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let listener = UnixListener::bind(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o660)).unwrap();
        listener
    };
    let listeners = SOCKETS.iter().map(bind).collect();
    program(&host.host.programs.systemctl, &units());
    program(&host.host.programs.timedatectl, "yes");
    session(&root, &format!("27 {}", nix::unistd::getegid()));
    write(
        &root.join("var/lib/dpkg/status"),
        "Package: dbus\nStatus: install ok installed\n\nPackage: old\nStatus: deinstall ok config-files\n",
    );
    write(&root.join("var/lib/dpkg/lock-frontend"), "");
    let mut log = Log::new();
    log.add("start", "").add("stop", "");
    fs::write(host.host.log.join("audit.jsonl"), &log.bytes).unwrap();
    (host, listeners)
}

/// The checks of a host whose recorder answers, and how the command ended.
fn doctor(host: &TestHost) -> (Exit, Vec<Value>) {
    let status = OperatorStatus { audit_seq: 2, ..OperatorStatus::default() };
    let _ = fs::remove_file(&host.host.operator_socket);
    let recorder = host.helper(vec![event(&status), end(0, "")]);
    let ran = host.run(&["doctor", "--json"]);
    recorder.join().unwrap();
    let result: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(result["ok"], ran.exit == Exit::Done, "{}", ran.out);
    (ran.exit, result["checks"].as_array().unwrap().clone())
}

/// The only wrong check.
fn wrong(host: &TestHost) -> (String, String, String) {
    let (exit, checks) = doctor(host);
    assert_eq!(exit, Exit::Failed);
    let wrong = checks.into_iter().filter(|check| check["state"] == "wrong").collect::<Vec<_>>();
    let [one] = wrong.as_slice() else { panic!("{wrong:#?}") };
    let text = |key: &str| one[key].as_str().unwrap().to_owned();
    (text("check"), text("detail"), text("mend"))
}

#[test]
fn finds_nothing_wrong_with_a_host_as_it_should_be() {
    let (host, _listeners) = healthy();
    let (exit, checks) = doctor(&host);
    let wrong = checks.iter().filter(|check| check["state"] == "wrong").collect::<Vec<_>>();
    assert!(exit == Exit::Done && wrong.is_empty(), "{wrong:#?}");
    for part in
        ["units", "sockets", "recorder", "groups", "policy", "log", "dpkg", "dpkg lock", "clock", "landlock"]
    {
        let check = checks.iter().find(|check| check["check"] == part).expect(part);
        assert_eq!(check["state"], "ok", "{check}");
    }
}

#[test]
fn names_a_command_for_each_unit_that_is_not_as_it_should_be() {
    let (host, _listeners) = healthy();
    for (from, to, mend) in [
        (
            "Id=postern-broker.service\nLoadState=loaded\nActiveState=active",
            "Id=postern-broker.service\nLoadState=loaded\nActiveState=failed",
            "journalctl -u postern-broker.service -n 20; systemctl restart postern-broker.service",
        ),
        (
            "Id=postern-agent.socket\nLoadState=loaded\nActiveState=active\nUnitFileState=enabled",
            "Id=postern-agent.socket\nLoadState=loaded\nActiveState=inactive\nUnitFileState=disabled",
            "systemctl enable --now postern-agent.socket",
        ),
        (
            "Id=postern-files.socket\nLoadState=loaded",
            "Id=postern-files.socket\nLoadState=masked",
            "systemctl unmask postern-files.socket && systemctl start postern-files.socket",
        ),
        (
            "Id=postern-files.service\nLoadState=loaded\nActiveState=inactive",
            "Id=postern-files.service\nLoadState=loaded\nActiveState=failed",
            "journalctl -u postern-files.service -n 20; systemctl restart postern-files.service",
        ),
    ] {
        assert!(units().contains(from), "{from}");
        program(&host.host.programs.systemctl, &units().replace(from, to));
        let (check, _, found) = wrong(&host);
        assert_eq!((check.as_str(), found.as_str()), ("units", mend));
    }
}

#[test]
fn finds_sockets_that_others_may_connect_to_or_that_are_missing() {
    let (host, _listeners) = healthy();
    let path = host.host.root.join("run/postern/operator.sock");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
    let (check, detail, mend) = wrong(&host);
    assert_eq!((check.as_str(), mend.as_str()), ("sockets", "systemctl restart postern-operator.socket"));
    assert!(detail.ends_with("has mode 0666, not 0660"), "{detail}");
    fs::remove_file(&path).unwrap();
    assert!(wrong(&host).1.ends_with("is missing"));
}

#[test]
fn finds_a_session_that_began_before_its_group_was_given() {
    let (host, _listeners) = healthy();
    session(&host.host.root, "27");
    let (check, detail, mend) = wrong(&host);
    assert_eq!(check, "groups");
    assert_eq!(detail, "alice is in postern-users and may give tasks, but this session began before that");
    assert_eq!(mend, "log in again, or for one command: sg postern-users -c COMMAND");
}

#[test]
fn finds_files_that_are_not_the_accepted_policy() {
    let (host, _listeners) = healthy();
    host.write("policy.toml", format!("{GOOD}{SITE}"));
    assert_eq!(wrong(&host).2, "postern-admin policy apply");
    host.write("policy.toml", "version = 2\n");
    assert_eq!(wrong(&host).2, "postern-admin policy check");
}

#[test]
fn finds_an_active_policy_that_nobody_signed_once_sign_offs_are_used() {
    let (mut host, _listeners) = healthy();
    host.host.login_uid = || Some(1001);
    session(&host.host.root, "27");
    assert_eq!(host.run(&["policy", "sign-off", "--yes"]).exit, Exit::Done);
    host.host.login_uid = || Some(1000);
    session(&host.host.root, &format!("27 {}", nix::unistd::getegid()));
    let (exit, _) = doctor(&host);
    assert_eq!(exit, Exit::Done);
    host.host.accounts = accounts();
    host.write("policy.toml", GOOD.replace("*.service", "ssh.service"));
    let applied = host.run(&["policy", "apply", "--yes"]);
    host.host.accounts = groups();
    assert_eq!(applied.exit, Exit::Done, "{}", applied.err);
    let (check, _, mend) = wrong(&host);
    assert_eq!(check, "sign-off");
    assert!(mend.ends_with("postern-admin policy sign-off"));
}

#[test]
fn finds_a_log_whose_chain_is_broken() {
    let (host, _listeners) = healthy();
    let path = host.host.log.join("audit.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replacen("\"start\"", "\"stray\"", 1)).unwrap();
    let (check, detail, mend) = wrong(&host);
    assert!(check == "log" && detail.starts_with("NOT VALID"), "{detail}");
    assert_eq!(mend, "postern-admin audit verify");
}

#[test]
fn finds_a_log_that_root_has_not_verified_for_a_month() {
    let (host, _listeners) = healthy();
    let month_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(31 * 24 * 3600);
    let key = fs::File::options().write(true).open(host.host.accepted_dir().join("validator.key")).unwrap();
    key.set_modified(month_ago).unwrap();
    assert_eq!(wrong(&host).1, "never by root");
    host.run(&["audit", "verify"]);
    assert_eq!(doctor(&host).0, Exit::Done);
}

#[test]
fn finds_packages_that_are_not_whole() {
    let (host, _listeners) = healthy();
    let root = &host.host.root;
    write(&root.join("var/lib/dpkg/status"), "Package: nginx\nStatus: install ok half-configured\n");
    let (check, detail, mend) = wrong(&host);
    assert_eq!((check.as_str(), detail.as_str()), ("dpkg", "not wholly installed: nginx"));
    assert_eq!(mend, "dpkg --configure -a && apt-get -f install");
    write(&root.join("var/lib/dpkg/updates/0001"), "");
    assert_eq!(wrong(&host).1, "it was interrupted");
}

#[test]
fn names_the_holder_of_dpkgs_lock() {
    let (host, _listeners) = healthy();
    let path = host.host.root.join("var/lib/dpkg/lock-frontend");
    let script = "import fcntl, sys\nfile = open(sys.argv[1], 'r+')\nfcntl.lockf(file, fcntl.LOCK_EX)\nprint(flush=True)\nsys.stdin.read()";
    let mut child = std::process::Command::new("python3")
        .args(["-c", script, path.to_str().unwrap()])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut [0]).unwrap();
    let (exit, checks) = doctor(&host);
    drop(child.stdin.take());
    let pid = child.id();
    child.wait().unwrap();
    assert_eq!(exit, Exit::Done, "a lock is no fault: somebody installs");
    let check = checks.iter().find(|check| check["check"] == "dpkg lock").unwrap();
    let detail = format!("held by a process (pid {pid}): package requests wait for it");
    assert_eq!(check["detail"], Value::String(detail));
}

#[test]
fn finds_needrestart_that_restarts_services_by_itself() {
    let (host, _listeners) = healthy();
    let root = &host.host.root;
    write(&root.join("usr/sbin/needrestart"), "");
    write(
        &root.join("etc/needrestart/needrestart.conf"),
        "#$nrconf{restart} = 'a';\n$nrconf{restart} = 'i';\n",
    );
    assert_eq!(doctor(&host).0, Exit::Done);
    write(&root.join("etc/needrestart/conf.d/all.conf"), "$nrconf{restart} = 'a';\n");
    assert_eq!(wrong(&host).0, "needrestart");
    write(&root.join("etc/needrestart/conf.d/postern.conf"), "$nrconf{restart} = 'l';\n");
    assert_eq!(doctor(&host).0, Exit::Done);
}

#[test]
fn finds_a_clock_that_nothing_keeps_and_a_restart_that_packages_ask_for() {
    let (host, _listeners) = healthy();
    program(&host.host.programs.timedatectl, "no");
    assert_eq!(wrong(&host).0, "clock");
    program(&host.host.programs.timedatectl, "yes");
    write(&host.host.root.join("run/reboot-required"), "");
    write(&host.host.root.join("run/reboot-required.pkgs"), "linux-image-amd64\nlinux-image-amd64\n");
    let (check, detail, _) = wrong(&host);
    assert_eq!((check.as_str(), detail.as_str()), ("reboot", "packages ask for one (by linux-image-amd64)"));
}

#[test]
fn answers_while_no_service_runs() {
    let (host, listeners) = healthy();
    drop(listeners);
    fs::remove_dir_all(host.host.root.join("run")).unwrap();
    fs::remove_file(&host.host.programs.systemctl).unwrap();
    let ran = host.run(&["doctor"]);
    assert_eq!(ran.exit, Exit::Failed);
    let lines = ran.out.lines().collect::<Vec<_>>();
    let at = lines.iter().position(|line| line.starts_with("recorder    wrong")).expect(&ran.out);
    assert_eq!(
        lines[at + 1].trim_start(),
        "-> systemctl restart postern-operator.socket postern-audit.service"
    );
    assert!(ran.out.contains("\nlog         ok     2 records, the chain holds"), "{}", ran.out);
}

fn agent(groups: &[(&str, u32)]) -> Facts {
    let groups = groups.iter().map(|(name, gid)| Group { name: (*name).to_owned(), gid: *gid }).collect();
    let user = User { client: "agent".to_owned(), name: "postern".to_owned(), uid: 990, groups };
    Facts { users: vec![user], sudoers: Some(Vec::new()), ..Facts::default() }
}

#[test]
fn finds_powers_of_the_agent_beside_the_policy() {
    let root = tempfile::tempdir().unwrap();
    let mends = |facts: &Facts| {
        let checks = powers::of(facts, root.path());
        let wrong = checks.into_iter().filter(|check| check.state == State::Wrong);
        wrong.map(|check| check.mend.unwrap()).collect::<Vec<_>>()
    };
    assert!(mends(&agent(&[("postern", 990)])).is_empty());
    let docker = agent(&[("postern", 990), ("docker", 120), ("postern-operators", 901)]);
    assert_eq!(
        mends(&docker),
        ["gpasswd --delete postern docker", "gpasswd --delete postern postern-operators"]
    );
    let mut sudo = agent(&[("web", 991)]);
    sudo.sudoers = Some(vec!["%web".to_owned()]);
    assert_eq!(mends(&sudo), ["visudo   # take the user or the group out"]);
    let mut socket = agent(&[]);
    let inode = |path: &str, kind: &str| Inode {
        path: path.to_owned(),
        kind: kind.to_owned(),
        uid: 0,
        gid: 0,
        mode: "0666".to_owned(),
    };
    socket.inodes = vec![inode("/run/docker.sock", "socket"), inode("/etc/postern/policy.toml", "file")];
    assert_eq!(mends(&socket).len(), 2);
    write(&root.path().join("etc/doas.conf"), "permit nopass :web as root\n");
    assert_eq!(mends(&agent(&[("web", 991)])), ["edit /etc/doas.conf"]);
    for (line, is_named) in [
        ("permit setenv { A=b -C } keepenv postern", true),
        ("permit bob as postern", false),
        ("permit nopass bob cmd postern", false),
        ("deny postern", false),
    ] {
        write(&root.path().join("etc/doas.conf"), line);
        assert_eq!(!mends(&agent(&[])).is_empty(), is_named, "{line}");
    }
}

#[test]
fn finds_rules_of_polkit_that_name_the_agent_or_its_group() {
    let found = |name: &str, text: &str| {
        let root = tempfile::tempdir().unwrap();
        write(&root.path().join(name), text);
        let wrong = powers::of(&agent(&[("web", 991)]), root.path()).into_iter();
        wrong
            .filter(|check| check.state == State::Wrong)
            .map(|check| (check.detail, check.mend.unwrap()))
            .collect::<Vec<_>>()
    };
    let yes = "  if (subject.user == \"postern\") { return polkit.Result.YES; }\n";
    for directory in ["etc", "run", "usr/share", "usr/local/share"] {
        let name = format!("{directory}/polkit-1/rules.d/50-site.rules");
        let line = yes.trim();
        assert_eq!(
            found(&name, yes),
            [(format!("postern is named in /{name}: {line}"), format!("edit /{name}"))]
        );
    }
    let rules = "etc/polkit-1/rules.d/50-site.rules";
    for (text, is_named) in [
        ("if (subject.isInGroup('web')) return 'yes';", true),
        ("polkit.addAdminRule(function() { return [`unix-group:web`]; });", true),
        ("polkit.addAdminRule(function() { return [\"unix-user:990\"]; });", true),
        ("polkit.addAdminRule(function() { return [\"unix-group:sudo\"]; });", false),
        ("if (subject.user == \"posternx\") return polkit.Result.YES;", false),
        ("if (subject.user == \"postern\") return polkit.Result.NO;", false),
        ("// if (subject.user == \"postern\") return polkit.Result.YES;", false),
        (
            "addRule(function(a, s) { if (s.user == 'bob') return polkit.Result.YES; }); // not for postern",
            false,
        ),
    ] {
        assert_eq!(!found(rules, text).is_empty(), is_named, "{text}");
    }
    let everybody =
        "polkit.addRule(function(action) {\n  if (action.id == 'org.x') return polkit.Result.YES;\n});\n";
    let checks = "polkit.addRule(function(action, who) {\n  if (who.user == 'bob') return polkit.Result.YES; // subject\n});\n";
    let line = "if (action.id == 'org.x') return polkit.Result.YES;";
    let why = format!("/{rules} permits every user, so postern too: {line}");
    // Beside another rule, which checks who asks, and by a function with the parameter.
    let unused = everybody.replace("(action)", "(action, subject)");
    for text in [everybody.to_owned(), format!("{checks}{everybody}"), format!("{everybody}{checks}"), unused]
    {
        assert_eq!(found(rules, &text), [(why.clone(), format!("edit /{rules}"))], "{text}");
    }
    for text in [everybody.replace("YES", "NO"), checks.to_owned(), format!("/* {everybody} */\n{checks}")] {
        assert!(found(rules, &text).is_empty(), "{text}");
    }
    assert!(found("etc/polkit-1/rules.d/README", yes).is_empty(), "polkit reads no other name");
    let pkla = "var/lib/polkit-1/localauthority/50-local.d/a.pkla";
    for (text, is_named) in [
        ("[a]\nIdentity=unix-user:bob;unix-user:postern\nAction=*\nResultAny=yes\n", true),
        ("[a]\nIdentity = unix-group:web\nResultActive = auth_self\n", true),
        ("[a]\nIdentity=unix-user:*\nResultAny=yes\n", true),
        ("[a]\nResultActive=yes\nIdentity=unix-user:post*\n", true),
        ("[a]\nIdentity=unix-group:w*;unix-user:bob\nResultAny=auth_self_keep\n[b]\n", true),
        ("[a]\nIdentity=unix-user:postern\nResultAny=auth_admin\nResultActive=no\n", false),
        ("[a]\nIdentity=unix-user:postern\n[b]\nResultAny=yes\n", false),
        ("[a]\nIdentity=unix-user:bob\nResultAny=yes\n", false),
    ] {
        assert_eq!(!found(pkla, text).is_empty(), is_named, "{text}");
    }
    // One file that cannot be read hides no other, and is told.
    let root = tempfile::tempdir().unwrap();
    let file = |name: &str| root.path().join("etc/polkit-1/rules.d").join(name);
    write(&file("10-latin.rules"), "x");
    fs::write(file("10-latin.rules"), [b"// f\xfcr\n", yes.as_bytes()].concat()).unwrap();
    std::os::unix::fs::symlink("nowhere", file("20-gone.rules")).unwrap();
    write(&file("30-long.rules"), &"/".repeat((1 << 20) + 1));
    write(&file("40-site.rules"), yes);
    let checks = powers::of(&agent(&[("web", 991)]), root.path());
    let of = |state: State| {
        checks.iter().filter(|check| check.state == state).map(|check| &check.detail).collect::<Vec<_>>()
    };
    let (wrong, unknown) = (of(State::Wrong), of(State::Unknown));
    assert!(wrong.len() == 2 && wrong[0].contains("10-latin") && wrong[1].contains("40-site"), "{wrong:?}");
    assert!(
        unknown.len() == 2 && unknown[0].contains("20-gone") && unknown[1].contains("longer than 1 MiB"),
        "{unknown:?}"
    );
}

#[test]
fn finds_programs_with_powers_that_the_agent_can_run() {
    let root = tempfile::tempdir().unwrap();
    let program = root.path().join("usr/bin/tool");
    write(&program, "");
    fs::set_permissions(root.path().join("usr/bin"), fs::Permissions::from_mode(0o755)).unwrap();
    let gid = nix::unistd::getegid().as_raw();
    let found = |mode: u32, groups: &[(&str, u32)]| {
        fs::set_permissions(&program, fs::Permissions::from_mode(mode)).unwrap();
        let checks = powers::of(&agent(groups), root.path()).into_iter();
        checks.filter(|check| check.state == State::Wrong).map(|check| check.detail).collect::<Vec<_>>()
    };
    let tools = [("tools", gid)];
    let as_owner = "/usr/bin/tool: postern can run it as its owner as a member of tools";
    assert_eq!(found(0o4750, &tools), [as_owner]);
    // Everybody's, nobody's, and a group's without the bit.
    for (mode, groups) in [(0o4755, &tools[..]), (0o4750, &[("web", 991)]), (0o4700, &tools), (0o750, &tools)]
    {
        assert!(found(mode, groups).is_empty(), "{mode:o} {groups:?}");
    }
    let names =
        |value: &[u8]| capabilities::capabilities(value).iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(names(&attribute(1 << 7 | 1 << 13, 1 << 7)), ["CAP_SETUID", "CAP_NET_RAW", "CAP_BPF"]);
    for (value, none) in [(attribute(0, 0), true), (Vec::new(), true), (vec![1, 0, 0, 2, 128], true)] {
        assert_eq!(names(&value).is_empty(), none, "{value:?}");
    }
}

/// The attribute of a file with capabilities: `CAP_SETUID` is the eighth bit, `CAP_NET_RAW` the fourteenth, `CAP_BPF` the eighth of the second
/// word.
fn attribute(low: u32, high: u32) -> Vec<u8> {
    let words = [0x0200_0001, low, 0, high, 0];
    words.iter().flat_map(|word: &u32| word.to_le_bytes()).collect()
}

mod as_root {
    use super::*;

    #[test]
    #[ignore = "needs root: it gives a file capabilities"]
    fn finds_programs_with_capabilities_that_the_agent_can_run() {
        let root = tempfile::tempdir().unwrap();
        let program = root.path().join("usr/bin/tool");
        write(&program, "");
        fs::set_permissions(root.path().join("usr/bin"), fs::Permissions::from_mode(0o755)).unwrap();
        // Of another owner than the agent, in its group.
        std::os::unix::fs::chown(&program, Some(0), Some(4242)).unwrap();
        let tools = [("tools", 4242)];
        let found = |mode: u32, groups: &[(&str, u32)]| {
            fs::set_permissions(&program, fs::Permissions::from_mode(mode)).unwrap();
            let checks = powers::of(&agent(groups), root.path())
                .into_iter()
                .filter(|check| check.state == State::Wrong);
            checks.map(|check| (check.detail, check.mend.unwrap())).collect::<Vec<_>>()
        };
        let set = |low: u32| {
            let flags = rustix::fs::XattrFlags::empty();
            rustix::fs::setxattr(&program, "security.capability", &attribute(low, 0), flags).unwrap();
        };
        let line = |what: &str, mend: &str| {
            (format!("/usr/bin/tool: postern can run it with {what}"), mend.to_owned())
        };
        let (for_all, for_group) =
            ("setcap -r /usr/bin/tool", "setcap -r /usr/bin/tool, or take postern out of its group");
        set(1 << 7);
        assert_eq!(found(0o755, &[]), [line("CAP_SETUID", for_all)]);
        assert_eq!(found(0o750, &[]), [], "it cannot run it");
        assert_eq!(found(0o750, &tools), [line("CAP_SETUID as a member of tools", for_group)]);
        // The capability of ping is everybody's; it is a power where only a group has it.
        set(1 << 13);
        assert_eq!(found(0o755, &tools), []);
        assert_eq!(found(0o750, &tools), [line("CAP_NET_RAW as a member of tools", for_group)]);
    }
}

#[test]
fn finds_setuid_programs_and_directories_of_programs_that_the_agent_can_write() {
    let root = tempfile::tempdir().unwrap();
    let program = root.path().join("usr/bin/mount");
    write(&program, "");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o4757)).unwrap();
    fs::set_permissions(root.path().join("usr/bin"), fs::Permissions::from_mode(0o755)).unwrap();
    let found = powers::of(&agent(&[]), root.path());
    let details = found.iter().map(|check| check.detail.as_str()).collect::<Vec<_>>();
    assert_eq!(details, ["postern can write /usr/bin/mount, which runs as its owner or group"]);
    assert_eq!(found[0].mend.as_deref(), Some("chown root: /usr/bin/mount && chmod go-w /usr/bin/mount"));
    fs::set_permissions(&program, fs::Permissions::from_mode(0o4755)).unwrap();
    fs::set_permissions(root.path().join("usr/bin"), fs::Permissions::from_mode(0o777)).unwrap();
    let found = powers::of(&agent(&[]), root.path());
    assert_eq!(found[0].detail, "postern can write /usr/bin, from which root runs programs");
}

#[test]
fn knows_every_socket_of_the_package_with_its_group() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/systemd");
    let mut installed = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "socket") {
            let text = fs::read_to_string(&path).unwrap();
            let value = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)).unwrap().to_owned();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            assert_eq!((value("SocketUser="), value("SocketMode=")), ("root".to_owned(), "0660".to_owned()));
            installed.push((name, value("ListenStream="), value("SocketGroup=")));
        }
    }
    let known = LISTENERS
        .map(|(unit, path, group)| (unit.to_owned(), format!("/run/postern/{path}"), group.to_owned()));
    let mut known = known.to_vec();
    known.sort();
    installed.sort();
    assert_eq!(known, installed);
}

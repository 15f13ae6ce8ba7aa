//! Parses the output of the host's programs: sudoers, systemctl, apt-config.

use super::{policy, units};
use crate::support::{GOOD, TestHost};
use postern_admin::io::Exit;
use postern_admin::lint::facts;
use postern_admin::lint::gather::{self, Probes, UnitScope};
use postern_proto::root::v1 as root;
use std::os::unix::net::UnixDatagram;
use std::path::Path;

/// Programs of this test's own, and a log that nobody reads.
fn fakes() -> Probes {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fakes");
    Probes {
        systemctl: directory.join("systemctl"),
        apt_config: directory.join("apt-config"),
        log: "/missing/log".into(),
    }
}

#[test]
fn reads_the_users_and_groups_of_sudoers() {
    let text = "# comment\nDefaults env_reset\nDefaults:eve !lecture\nUser_Alias OPS = dave, %ops\nCmnd_Alias X = /bin/x\n\
                root ALL=(ALL:ALL) ALL\n%sudo\tALL=(ALL:ALL) ALL\nalice, bob \\\n ALL = NOPASSWD: /bin/x\n#990 ALL=ALL\n\
                @includedir /etc/sudoers.d\n#includedir /etc/sudoers.d\n";
    assert_eq!(gather::subjects(text), ["#990", "%ops", "%sudo", "alice", "bob", "dave", "root"]);
}

/// As `systemctl show` of systemd 252 prints it.
const SHOWN: &str = "\
Triggers=\n\
ExecStartPreEx={ path=/usr/sbin/nginx ; argv[]=/usr/sbin/nginx -t -q -g daemon on; master_process on; ; flags= ; start_time=[n/a] ; stop_time=[n/a] ; pid=0 ; code=(null) ; status=0/0 }\n\
ExecStartEx={ path=/usr/sbin/nginx ; argv[]=/usr/sbin/nginx -c /srv/n.conf ; flags=privileged ignore-failure ; start_time=[n/a] ; stop_time=[n/a] ; pid=0 ; code=(null) ; status=0/0 }\n\
EnvironmentFiles=/etc/default/nginx (ignore_errors=yes)\n\
EnvironmentFiles=/srv/env (ignore_errors=no)\n\
LoadCredential=key:/srv/key\n\
User=www-data\n\
WorkingDirectory=/srv/www\n\
RootDirectory=\n\
Id=nginx.service\n\
Names=nginx.service web.service\n\
FragmentPath=/lib/systemd/system/nginx.service\n\
DropInPaths=/etc/systemd/system/nginx.service.d/a.conf /run/systemd/system/nginx.service.d/b.conf\n\
ActiveState=active\n\
UnitFileState=enabled\n\
\n\
Id=missing.service\n\
FragmentPath=\n\
\n\
Triggers=nginx.service\n\
Id=nginx.timer\n\
DynamicUser=yes\n\
User=\n\
FragmentPath=/lib/systemd/system/nginx.timer\n";

#[test]
fn reads_units_from_systemctl_show() {
    let units = gather::units(SHOWN);
    assert_eq!(units.len(), 2);
    let nginx = &units[0];
    assert_eq!(
        (nginx.id.as_str(), nginx.user.as_str(), nginx.enabled.as_str()),
        ("nginx.service", "www-data", "enabled")
    );
    assert_eq!(nginx.names, ["nginx.service", "web.service"]);
    assert_eq!(nginx.drop_ins.len(), 2);
    assert_eq!(nginx.environment_files, ["/etc/default/nginx", "/srv/env"]);
    assert_eq!(nginx.credentials, ["/srv/key"]);
    assert_eq!(nginx.working_directory, "/srv/www");
    let commands: Vec<_> = nginx.commands.iter().map(|c| (c.argv.as_str(), c.is_privileged)).collect();
    let check = "/usr/sbin/nginx -t -q -g daemon on; master_process on;";
    assert_eq!(commands, [(check, false), ("/usr/sbin/nginx -c /srv/n.conf", true)]);
    assert_eq!(units[1].triggers, ["nginx.service"]);
    assert_eq!(units[1].user, "(dynamic)");
}

#[test]
fn reads_the_hooks_of_apt_and_no_other_setting() {
    let text = "APT \"\";\nDPkg::Post-Invoke \"\";\nDPkg::Post-Invoke:: \"if [ -x /usr/bin/x ]; then /usr/bin/x; fi\";\n\
                DPkg::Pre-Install-Pkgs:: \"/usr/sbin/apt-listchanges --apt || test $? -lt 10\";\n\
                dpkg::pre-invoke:: \"mount -o remount,rw /usr\";\n\
                APT::Update::Post-Invoke-Success:: \"/bin/hook\";\nAPT::Periodic::Update-Package-Lists \"1\";\n\
                DPkg::Tools::Options::/usr/sbin/x::Version \"2\";\n";
    let hooks = gather::hooks(text);
    let shown: Vec<_> = hooks.iter().map(|hook| (hook.key.as_str(), hook.command.as_str())).collect();
    assert_eq!(
        shown,
        [
            ("DPkg::Post-Invoke", "if [ -x /usr/bin/x ]; then /usr/bin/x; fi"),
            ("DPkg::Pre-Install-Pkgs", "/usr/sbin/apt-listchanges --apt || test $? -lt 10"),
            ("DPkg::Pre-Invoke", "mount -o remount,rw /usr"),
            ("APT::Update::Post-Invoke-Success", "/bin/hook"),
        ]
    );
}

#[test]
fn reads_the_hooks_of_dpkg() {
    let hooks = gather::dpkg_hooks(
        "# post-invoke=/no\nno-debsig\nlog /var/log/dpkg.log\npost-invoke = \"/srv/a b\"\npre-invoke=/x\n",
    );
    let shown: Vec<_> = hooks.iter().map(|hook| (hook.key.as_str(), hook.command.as_str())).collect();
    assert_eq!(shown, [("dpkg post-invoke", "/srv/a b"), ("dpkg pre-invoke", "/x")]);
}

#[test]
fn reads_the_hosts_of_sources_without_their_passwords() {
    let text = "# deb http://commented.example/ x main\n\
                deb [signed-by=/usr/share/keyrings/a.gpg] https://user:secret@One.example/debian stable main\n\
                Types: deb\nURIs: http://two.example/debian file:/srv/repo\n";
    let hosts: Vec<_> = gather::package_hosts(text).into_iter().collect();
    assert_eq!(hosts, ["file", "one.example", "two.example"]);
}

#[test]
fn asks_systemd_for_every_unit_and_instance_with_a_constant_environment() {
    let facts = gather::live(&policy(Vec::new()), UnitScope::All, &fakes());
    // The fake shows what it finds in its environment as the user.
    let units: Vec<_> = facts.units.iter().map(|unit| (unit.id.as_str(), unit.user.as_str())).collect();
    assert_eq!(units, [("app.service", ""), ("job@any.service", "")]);
    assert_eq!(facts.hooks.len(), 1);
    // And what was gathered can be read where it is needed.
    let text = serde_json::to_string(&facts).unwrap();
    assert_eq!(facts::read(&text).unwrap(), facts);
}

#[test]
fn gathers_only_loaded_and_named_units_after_package_changes() {
    let rules =
        policy(vec![units("r", "unit.start", "other.service"), units("s", "unit.stop", "b*.service")]);
    let facts = gather::live(&rules, UnitScope::Loaded, &fakes());
    let units: Vec<_> = facts.units.iter().map(|unit| unit.id.as_str()).collect();
    assert_eq!(units, ["app.service", "other.service"]);
}

#[test]
fn gathers_programs_and_users_of_commands_that_this_host_does_not_have() {
    let mut rules = policy(Vec::new());
    let command = |program: &str, user: &str| root::Command {
        argv: vec![program.to_owned()],
        user: user.to_owned(),
        ..root::Command::default()
    };
    rules.commands = vec![
        command("/bin/sh", "root"),
        command("/missing/tool", "no-such-user"),
        command("/missing/tool", "no-such-user"),
        command("/bin/sh", ""),
    ];
    let facts = gather::live(&rules, UnitScope::Loaded, &fakes());
    assert_eq!(facts.missing, ["/missing/tool"]);
    assert_eq!(facts.unknown_users, ["no-such-user"]);
    // Facts of before are read too.
    let old = serde_json::to_string(&facts).unwrap().replace(",\"unknown_users\":[\"no-such-user\"]", "");
    assert!(!old.contains("unknown_users"), "{old}");
    assert!(facts::read(&old).unwrap().unknown_users.is_empty());
}

#[test]
fn gathers_facts_on_a_host_without_systemd_or_apt() {
    let probes =
        Probes { systemctl: "/bin/false".into(), apt_config: "/missing/apt-config".into(), ..fakes() };
    let facts = gather::live(&policy(Vec::new()), UnitScope::All, &probes);
    assert!(facts.units.is_empty() && facts.hooks.is_empty());
    for words in ["no units: /bin/false failed", "no hooks of apt: /missing/apt-config cannot be run"] {
        assert!(facts.notes.iter().any(|note| note.starts_with(words)), "{:?}", facts.notes);
    }
}

/// A host with one service of root's that runs what an agent may write.
fn composed() -> TestHost {
    let rules = [("app", "file.write", "directories = [\"/srv/app\"]\nfiles = [\"run\"]")]
        .map(|(id, verb, rest)| {
            format!("[[rule]]\nid = \"{id}\"\nclient = \"agent\"\nverbs = [\"{verb}\"]\n{rest}\ndecision = \"allow\"\njustification = \"x\"\n")
        });
    let mut host = TestHost::new(&format!("{GOOD}{}", rules.concat()));
    host.host.probes = Some(fakes());
    host
}

#[test]
fn the_installed_policy_is_checked_against_this_host_and_a_file_elsewhere_is_not() {
    let host = composed();
    let here = host.run(&["policy", "check"]);
    assert!(here.out.contains("warning[composition]") && here.out.contains("app.service"), "{}", here.out);
    let file = host.host.etc.join("policy.toml");
    let elsewhere = host.run(&["policy", "check", file.to_str().unwrap()]);
    assert!(!elsewhere.out.contains("composition"), "{}", elsewhere.out);
    // `apply` warns, and what the host has to say makes no law of its own.
    let applied = host.run(&["policy", "apply", "--yes"]);
    assert_eq!(applied.exit, Exit::Done);
    assert!(applied.err.contains("warning[composition]"), "{}", applied.err);
}

#[test]
fn check_reads_the_facts_that_policy_facts_prints() {
    let host = composed();
    let printed = host.run(&["policy", "facts"]);
    assert_eq!(printed.exit, Exit::Done, "{}", printed.err);
    let file = host.write("facts.json", &printed.out);
    let policy = host.host.etc.join("policy.toml");
    let args = ["policy", "check", policy.to_str().unwrap(), "--facts", file.to_str().unwrap()];
    let ran = host.run(&args);
    assert!(ran.out.contains("warning[composition]"), "{}", ran.out);
}

#[test]
fn checks_the_accepted_policy_after_package_changes_and_logs_to_the_journal() {
    let mut host = composed();
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("log");
    let socket = UnixDatagram::bind(&log).unwrap();
    socket.set_nonblocking(true).unwrap();
    host.host.probes = Some(Probes { log, ..fakes() });
    let mut line = [0; 4096];
    // Nothing is accepted yet.
    let after = ["policy", "check", "--after-packages"];
    assert_eq!(host.run(&after).exit, Exit::Done);
    assert!(socket.recv(&mut line).is_err());
    host.run(&["policy", "apply", "--yes"]);
    // The files may differ by now: the accepted policy counts.
    host.write("policy.toml", "version = ");
    let ran = host.run(&after);
    assert_eq!((ran.exit, ran.out.as_str()), (Exit::Done, ""));
    let length = socket.recv(&mut line).unwrap();
    let line = String::from_utf8(line[..length].to_vec()).unwrap();
    assert!(
        line.starts_with("<28>postern-admin: policy check after packages changed: [composition] "),
        "{line}"
    );
    assert!(line.contains("rule app"), "{line}");
    // Without a journal nothing is told: apt's output is for the agent to read.
    host.host.probes = Some(fakes());
    let ran = host.run(&after);
    assert_eq!((ran.out.as_str(), ran.err.as_str()), ("", ""));
}

#[test]
fn rejects_facts_of_another_version_and_malformed_facts() {
    assert!(facts::read("{").unwrap_err().contains("no facts"));
    let other = serde_json::to_string(&facts::Facts { version: 2, ..facts::Facts::default() }).unwrap();
    assert!(facts::read(&other).unwrap_err().contains("version 2"));
}

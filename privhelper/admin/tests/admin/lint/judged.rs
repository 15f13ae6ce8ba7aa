//! Findings are judged by `lines`, values and sandboxes, and rules that can never work are named apart from risks.

use super::{lint, policy, rule, writes};
use crate::support::{GOOD, TestHost};
use postern_admin::finding::{Class, Severity};
use postern_admin::lint::facts::{Facts, Inode};
use postern_proto::root::v1 as root;

fn has(found: &[postern_admin::lint::LintFinding], id: &str) -> bool {
    found.iter().any(|finding| finding.id == id)
}

/// A rule that writes these lines to a file.
fn lines(directory: &str, lines: &[&str]) -> root::Rules {
    let lines = lines.iter().map(ToString::to_string).collect();
    policy(vec![root::Rule { lines, ..writes("edit", directory, "agent") }])
}

#[test]
fn logrotate_lines_that_begin_no_script_are_no_finding_and_all_others_are() {
    for harmless in
        ["/var/log/app.log {", "  weekly", "rotate *", "}", "create 0640 root adm", "/srv/shop/a.log {"]
    {
        let found = lint(&lines("/etc/logrotate.d", &[harmless]), None);
        assert!(!has(&found, "logrotate"), "{harmless}: {found:?}");
    }
    for harm in [
        "postrotate",
        "/srv/shop/*.log {",
        "  postrotate",
        "*",
        "  *",
        "p*",
        "/*",
        "/etc/*.conf {",
        "include *",
        "/var/log/a /etc/shadow {",
        "/var/log/../x {",
        "compresscmd /x",
        "\"/etc/shadow\" {",
    ] {
        assert!(has(&lint(&lines("/etc/logrotate.d", &[harm]), None), "logrotate"), "{harm}");
    }
}

#[test]
fn nginx_lines_count_with_all_directives_that_a_star_lets_through() {
    for (line, is_finding) in [
        ("gzip on;", false),
        ("listen 8080;", false),
        ("server_name *;", true),
        ("access_log /var/log/x;", true),
        ("load_module x;", true),
        ("user root;", true),
    ] {
        let found = lint(&lines("/etc/nginx/conf.d", &[line]), None);
        assert_eq!(has(&found, "nginx-load-module"), is_finding, "{line}: {found:?}");
    }
}

#[test]
fn settings_of_an_unknown_file_are_no_finding_only_if_no_line_names_a_program_or_place() {
    for (line, is_finding) in [
        ("workers = *", false),
        ("# *", false),
        ("*", true),
        ("on_start_command = *", true),
        ("spool = /var/*", true),
        ("log_to = *", true),
        ("plugin = fast", true),
    ] {
        let found = lint(&lines("/etc/shop", &[line]), None);
        assert_eq!(has(&found, "write-outside-harmless"), is_finding, "{line}: {found:?}");
    }
    let mut removes = lines("/etc/shop", &["workers = *"]);
    removes.rules[0].verbs.push("file.remove".to_owned());
    assert!(has(&lint(&removes, None), "write-outside-harmless"), "lines do not bound removing");
}

/// A policy whose rule runs this command.
fn runs(command: root::Command) -> root::Rules {
    let granted = root::Rule { commands: vec![command.name.clone()], ..rule("run", "command.run") };
    root::Rules { commands: vec![command], ..policy(vec![granted]) }
}

fn command(argv: &[&str], sandbox: root::Sandbox) -> root::Command {
    let argv = argv.iter().map(ToString::to_string).collect();
    let mut command = root::Command {
        name: "tool".to_owned(),
        argv,
        user: "nobody".to_owned(),
        cwd: "/".to_owned(),
        ..root::Command::default()
    };
    command.set_sandbox(sandbox);
    command
}

#[test]
fn values_that_the_rule_lists_are_no_choice_of_the_client() {
    let mut parameter = root::Parameter { name: "unit".to_owned(), ..root::Parameter::default() };
    parameter.set_kind(root::ParameterKind::Unit);
    let tool = command(&["/usr/bin/systemctl", "kill", "{unit}"], root::Sandbox::Strict);
    let mut rules = runs(root::Command { parameters: vec![parameter], ..tool });
    assert!(has(&lint(&rules, None), "program-takes-names"));
    for (values, is_finding) in [(&["a.service", "b.service"][..], false), (&["a.service", "b*"], true)] {
        let patterns = values.iter().map(ToString::to_string).collect();
        rules.rules[0].parameters = vec![root::ParameterGrant { name: "unit".to_owned(), patterns }];
        assert_eq!(has(&lint(&rules, None), "program-takes-names"), is_finding, "{values:?}");
    }
}

#[test]
fn no_sandbox_ranks_above_a_capability_in_a_strict_one() {
    let class = |command: root::Command, id: &str| {
        let found = lint(&runs(command), None);
        found.into_iter().find(|finding| finding.id == id).and_then(|finding| finding.class)
    };
    let mut text = root::Parameter { name: "x".to_owned(), ..root::Parameter::default() };
    text.set_kind(root::ParameterKind::Text);
    let with = |sandbox| root::Command {
        parameters: vec![text.clone()],
        ..command(&["/usr/bin/tool", "{x}"], sandbox)
    };
    assert_eq!(class(with(root::Sandbox::None), "command-without-sandbox"), Some(Class::Code));
    let fixed = command(&["/usr/bin/tool"], root::Sandbox::None);
    assert_eq!(class(fixed, "command-without-sandbox"), Some(Class::Combined));
    let capable =
        |sandbox, name: &str| root::Command { capabilities: vec![name.to_owned()], ..with(sandbox) };
    let id = "command-capabilities";
    assert_eq!(class(capable(root::Sandbox::Strict, "CAP_DAC_OVERRIDE"), id), Some(Class::Combined));
    assert_eq!(class(capable(root::Sandbox::None, "CAP_DAC_OVERRIDE"), id), Some(Class::Code));
    assert_eq!(class(capable(root::Sandbox::Strict, "CAP_SYS_ADMIN"), id), Some(Class::Code));
}

#[test]
fn names_rules_that_can_never_work_on_this_host() {
    let inode = |path: &str, uid, mode: &str| Inode {
        path: path.to_owned(),
        kind: "directory".to_owned(),
        uid,
        gid: 0,
        mode: mode.to_owned(),
    };
    let never = |rules: &root::Rules, facts: &Facts| {
        let found = lint(rules, Some(facts));
        let found = found.into_iter().filter(|finding| finding.id == "never-works").collect::<Vec<_>>();
        assert!(found.iter().all(|finding| finding.class.is_none() && finding.severity == Severity::Warning));
        found.into_iter().map(|finding| finding.message).collect::<Vec<_>>()
    };
    let rules = policy(vec![writes("edit", "/srv/shop", "*.json")]);
    let facts = |inodes| Facts { inodes, ..Facts::default() };
    assert!(never(&rules, &facts(vec![inode("/srv", 0, "1777"), inode("/srv/shop", 0, "0755")])).is_empty());
    for wrong in
        [inode("/srv/shop", 1000, "0755"), inode("/srv/shop", 0, "0775"), inode("/srv", 1000, "0755")]
    {
        let found = never(&rules, &facts(vec![wrong.clone()]));
        assert!(
            found.len() == 1 && found[0].contains(&format!("{} belongs to uid", wrong.path)),
            "{found:?}"
        );
    }
    let tool = runs(command(&["/usr/bin/tool"], root::Sandbox::Strict));
    assert!(never(&tool, &Facts::default()).is_empty());
    let facts = Facts { missing: vec!["/usr/bin/tool".to_owned()], ..Facts::default() };
    assert_eq!(
        never(&tool, &facts),
        ["rule run can never work on this host: there is no /usr/bin/tool, which command tool runs"]
    );
    let facts = Facts { unknown_users: vec!["gone".to_owned()], ..Facts::default() };
    assert!(never(&tool, &facts).is_empty(), "another user");
    let as_gone =
        root::Command { user: "gone".to_owned(), ..command(&["/usr/bin/tool"], root::Sandbox::Strict) };
    assert_eq!(
        never(&runs(as_gone), &facts),
        [
            "rule run can never work on this host: command tool runs as user gone, which this host does not have"
        ]
    );
    let hidden = command(&["/home/alice/tool"], root::Sandbox::Strict);
    assert!(
        never(&runs(hidden), &Facts::default())[0]
            .contains("needs /home/alice/tool, which its sandbox hides")
    );
    assert!(never(&runs(command(&["/home/alice/tool"], root::Sandbox::None)), &Facts::default()).is_empty());
    // Paths in a home directory that the command is told to read or write.
    let strict = |argv: &[&str]| command(argv, root::Sandbox::Strict);
    for (argv, path) in [
        (&["/usr/bin/tool", "/root/.ssh"][..], Some("/root/.ssh")),
        (&["/usr/bin/tool", "--file=/home/app/x"], Some("/home/app/x")),
        (&["/usr/bin/tool", "/homely", "/tmp/x", "--exclude=/home/app", "home/app", "{x}"], None),
        (&["/usr/bin/tool", "--exclude", "/home/app"], None),
        (&["/usr/bin/find", "/srv", "-path", "/home/app", "-prune"], None),
        (&["/usr/bin/tool", "--exclude-from=/root/list"], Some("/root/list")),
        (&["/usr/bin/tool", "--exclude-from", "/root/list"], Some("/root/list")),
    ] {
        let found = never(&runs(strict(argv)), &Facts::default());
        let expected = path.map(|path| format!("needs {path}, which its sandbox hides"));
        assert_eq!(found.len(), usize::from(expected.is_some()), "{argv:?}: {found:?}");
        assert!(expected.is_none_or(|expected| found[0].contains(&expected)), "{argv:?}: {found:?}");
    }
    let home = vec!["/home/app/data".to_owned()];
    let written = root::Command { write: home.clone(), ..strict(&["/usr/bin/tool"]) };
    let mut parameter =
        root::Parameter { name: "x".to_owned(), directories: home, ..root::Parameter::default() };
    let taken = root::Command { parameters: vec![parameter.clone()], ..strict(&["/usr/bin/tool", "{x}"]) };
    for command in [written, taken.clone()] {
        assert!(
            never(&runs(command), &Facts::default())[0]
                .contains("needs /home/app/data, which its sandbox hides")
        );
    }
    // A path that is only passed on is none of the command's.
    parameter.unchecked = true;
    let passed = root::Command { parameters: vec![parameter], ..taken };
    assert!(never(&runs(passed), &Facts::default()).is_empty());
}

#[test]
fn names_what_known_programs_lack_in_a_sandbox() {
    let lacks = |command: root::Command| {
        let found = lint(&runs(command), None).into_iter().filter(|finding| finding.id == "never-works");
        found.map(|finding| finding.message).collect::<Vec<_>>()
    };
    let strict = |argv: &[&str]| command(argv, root::Sandbox::Strict);
    // mount(8) lists what is mounted where it gets no operand.
    for (argv, lists) in [
        (&["/usr/bin/mount"][..], true),
        (&["/usr/bin/mount", "-l"], true),
        (&["/usr/bin/mount", "/mnt"], false),
    ] {
        assert_eq!(lacks(strict(argv)).is_empty(), lists, "{argv:?}");
    }
    let sockets = |paths: &[&str], argv: &[&str]| {
        let sockets = paths.iter().map(ToString::to_string).collect();
        root::Command { sockets, ..strict(argv) }
    };
    for (argv, words, enough) in [
        (
            &["/usr/bin/systemctl", "kill", "a"][..],
            "/run/systemd/private or /run/dbus/system_bus_socket in `sockets`",
            &["/run/systemd/private"][..],
        ),
        (
            &["/usr/bin/timedatectl", "set-ntp", "true"],
            "/run/dbus/system_bus_socket in `sockets`",
            &["/var/run/dbus/system_bus_socket"],
        ),
        (
            &["/usr/bin/fail2ban-client", "status"],
            "/run/fail2ban/fail2ban.sock in `sockets`",
            &["/run/fail2ban/fail2ban.sock"],
        ),
        (
            &["/usr/bin/psql", "-c", "SELECT 1"],
            "/run/postgresql/ in `sockets`, or `network = true`",
            &["/run/postgresql/.s.PGSQL.5432"],
        ),
        (
            &["/usr/bin/mariadb-admin", "status"],
            "/run/mysqld/ in `sockets`, or `network = true`",
            &["/run/mysqld/mysqld.sock"],
        ),
    ] {
        let found = lacks(strict(argv));
        assert!(found.len() == 1 && found[0].contains(words), "{argv:?}: {found:?}");
        assert!(lacks(sockets(&["/run/other.sock"], argv)).len() == 1, "{argv:?}: another socket");
        assert!(lacks(sockets(enough, argv)).is_empty(), "{argv:?}");
        assert!(lacks(command(argv, root::Sandbox::None)).is_empty(), "{argv:?}: without a sandbox");
    }
    let nft = strict(&["/usr/sbin/nft", "list", "ruleset"]);
    assert!(lacks(nft.clone())[0].contains("CAP_NET_ADMIN in `capabilities`"));
    assert!(lacks(root::Command { capabilities: vec!["CAP_NET_ADMIN".to_owned()], ..nft }).is_empty());
    let redis = strict(&["/usr/bin/redis-cli", "-h", "127.0.0.1", "INFO"]);
    assert!(lacks(redis.clone())[0].contains("`network = true`"));
    assert!(lacks(root::Command { network: true, ..redis }).is_empty());
    let podman = root::Command { network: true, ..strict(&["/usr/bin/podman", "ps"]) };
    assert!(lacks(podman)[0].contains("`sandbox = \"none\"`, since it makes namespaces"));
    // Arguments that need nothing of the host, and other programs whose names begin alike.
    for argv in [
        &["/usr/bin/systemctl", "--version"][..],
        &["/usr/bin/fail2ban-client", "--test"],
        &["/usr/sbin/swapon", "--show"],
        &["/usr/bin/systemctl-x"],
        &["/usr/bin/tool", "systemctl"],
    ] {
        assert!(lacks(strict(argv)).is_empty(), "{argv:?}");
    }
}

#[test]
fn a_rule_that_never_works_is_said_also_without_facts() {
    let text = format!(
        "{GOOD}\n[[command]]\nname = \"tool\"\nargv = [\"/tmp/tool\"]\n\n[[rule]]\nid = \"run\"\nclient = \"agent\"\nverbs = [\"command.run\"]\ncommands = [\"tool\"]\ndecision = \"allow\"\njustification = \"x\"\n"
    );
    let ran = TestHost::new(&text).run(&["policy", "check"]);
    assert!(ran.out.contains("warning: rule run can never work on this host"), "{}", ran.out);
}

//! Two grants that together are root, on hosts that are made up.

use super::{lint, policy, rule, units, writes};
use postern_admin::finding::{Class, Severity};
use postern_admin::lint::LintFinding;
use postern_admin::lint::facts::{Command, Facts, Group, Hook, Inode, Link, Unit, User};
use postern_proto::root::v1 as root;

/// A unit of root's that runs one program.
fn unit(id: &str, argv: &str) -> Unit {
    let path = argv.split(' ').next().unwrap().to_owned();
    Unit {
        id: id.to_owned(),
        names: vec![id.to_owned()],
        fragment: format!("/usr/lib/systemd/system/{id}"),
        commands: vec![Command { path, argv: argv.to_owned(), is_privileged: false }],
        ..Unit::default()
    }
}

fn host(units: Vec<Unit>) -> Facts {
    Facts { version: 1, units, ..Facts::default() }
}

/// The findings of this id.
fn of<'a>(found: &'a [LintFinding], id: &str) -> Vec<&'a LintFinding> {
    found.iter().filter(|found| found.id == id).collect()
}

fn composed(rules: Vec<root::Rule>, facts: &Facts) -> Vec<LintFinding> {
    lint(&policy(rules), Some(facts)).into_iter().filter(|found| found.id == "composition").collect()
}

#[test]
fn a_grant_by_an_alias_alone_names_the_unit_that_it_needs() {
    let ssh = Unit {
        names: vec!["ssh.service".to_owned(), "sshd.service".to_owned()],
        ..unit("ssh.service", "/usr/sbin/sshd")
    };
    let facts = host(vec![ssh]);
    let found = |names: &[&str]| {
        let rules = names.iter().map(|name| units("ssh", "unit.reload", name)).collect();
        let found = lint(&policy(rules), Some(&facts));
        of(&found, "unit-alias").first().map(|found| found.message.clone())
    };
    let message = found(&["sshd.service"]).unwrap();
    assert!(
        message.contains("sshd.service is an alias of ssh.service")
            && message.contains("write \"ssh.service\"")
    );
    assert_eq!(found(&["ssh.service"]), None);
    assert_eq!(found(&["ssh*.service"]), None);
}

#[test]
fn a_composition_names_both_rules_with_file_and_line() {
    let rules =
        vec![writes("content", "/srv/app", "*.conf"), units("service", "unit.restart", "app.service")];
    let facts = host(vec![unit("app.service", "/usr/bin/app --config=/srv/app/app.conf")]);
    let found = composed(rules.clone(), &facts);
    let [one] = found.as_slice() else { panic!("{found:#?}") };
    assert_eq!((one.class, one.severity), (Some(Class::Code), Severity::Warning));
    assert_eq!(one.rules, [0, 1]);
    for words in
        ["agent becomes root", "rule content", "/srv/app", "app.service", "rule service (policy.toml:2)"]
    {
        assert!(one.message.contains(words), "no {words:?} in {}", one.message);
    }
    // By the text alone nothing of it is seen, nor on a host where the unit reads elsewhere.
    assert!(lint(&policy(rules.clone()), None).is_empty());
    let other = host(vec![unit("app.service", "/usr/bin/app --config=/srv/other/app.conf")]);
    assert!(composed(rules, &other).is_empty());
}

/// Makes a unit read something.
type Change = fn(&mut Unit);

#[test]
fn reports_a_grant_to_write_any_file_that_a_root_unit_reads() {
    let with = |change: Change| {
        let mut app = unit("app.service", "/usr/bin/app");
        change(&mut app);
        host(vec![app])
    };
    let cases: [(&str, &str, Change); 10] = [
        ("/srv/a", "app", |unit| unit.commands[0].path = "/srv/a/app".to_owned()),
        ("/srv/a", "run.py", |unit| unit.commands[0].argv = "/usr/bin/python3 /srv/a/run.py".to_owned()),
        ("/srv/a", "env", |unit| unit.environment_files = vec!["/srv/a/env".to_owned()]),
        ("/srv/a", "key", |unit| unit.credentials = vec!["/srv/a/key".to_owned()]),
        ("/srv/a", "x.py", |unit| unit.working_directory = "/srv/a".to_owned()),
        ("/srv/a", "x", |unit| unit.root_directory = "/srv/a".to_owned()),
        ("/srv/a", "app.service", |unit| unit.fragment = "/srv/a/app.service".to_owned()),
        ("/srv/a", "o.conf", |unit| unit.drop_ins = vec!["/srv/a/o.conf".to_owned()]),
        ("/etc/app", "app.toml", |_| {}),
        ("/srv/a", "hook", |unit| {
            "app".clone_into(&mut unit.user);
            let path = "/srv/a/hook".to_owned();
            unit.commands.push(Command { argv: path.clone(), path, is_privileged: true });
        }),
    ];
    for (directory, file, change) in cases {
        let rules = vec![writes("w", directory, file), units("u", "unit.start", "app.service")];
        assert_eq!(composed(rules, &with(change)).len(), 1, "{directory}/{file}");
        let rules = vec![writes("w", directory, "other"), units("u", "unit.start", "app.service")];
        let is_whole_directory = file == "x.py" || file == "x" || directory == "/etc/app";
        assert_eq!(composed(rules, &with(change)).is_empty(), !is_whole_directory, "{directory}/{file}");
    }
}

#[test]
fn does_not_report_units_that_run_as_another_user() {
    let mut app = unit("app.service", "/srv/a/app");
    "app".clone_into(&mut app.user);
    let rules = vec![writes("w", "/srv/a", "app"), units("u", "unit.start", "app.service")];
    assert!(composed(rules, &host(vec![app])).is_empty());
}

#[test]
fn reports_units_that_a_timer_or_the_boot_starts() {
    let rules = || vec![writes("w", "/srv/a", "app")];
    let app = unit("app.service", "/srv/a/app");
    assert!(composed(rules(), &host(vec![app.clone()])).is_empty());

    let mut timer = unit("app.timer", "/usr/bin/true");
    timer.triggers = vec!["app.service".to_owned()];
    assert!(composed(rules(), &host(vec![app.clone(), timer.clone()])).is_empty(), "a timer that is off");
    let mut on = timer.clone();
    "active".clone_into(&mut on.active);
    let found = composed(rules(), &host(vec![app.clone(), on]));
    assert!(found[0].message.contains("app.timer starts it"), "{}", found[0].message);
    // A rule that may start the timer makes the service run.
    let with_rule = [rules(), vec![units("u", "unit.start", "app.timer")]].concat();
    assert_eq!(composed(with_rule, &host(vec![app.clone(), timer]))[0].rules, [0, 1]);

    let mut enabled = app;
    "enabled".clone_into(&mut enabled.enabled);
    let found = composed(rules(), &host(vec![enabled.clone()]));
    assert!(found[0].message.contains("it starts at boot"), "{}", found[0].message);
    // A default configuration path of a service counts only together with a reload.
    let habit = || vec![writes("w", "/etc/app", "*")];
    assert!(composed(habit(), &host(vec![enabled.clone()])).is_empty());
    let with_reload = [habit(), vec![units("u", "unit.reload", "app.service")]].concat();
    assert_eq!(composed(with_reload, &host(vec![enabled])).len(), 1);
}

#[test]
fn matches_units_by_alias_pattern_and_instance() {
    let mut app = unit("app.service", "/srv/a/app");
    app.names.push("alias.service".to_owned());
    let template = unit("job@any.service", "/srv/a/app");
    let facts = host(vec![app, template]);
    for (granted, number) in [
        ("alias.service", 1),
        ("a*.service", 1),
        ("job@nightly.service", 1),
        ("job@*.service", 1),
        ("b.service", 0),
    ] {
        let rules = vec![writes("w", "/srv/a", "app"), units("u", "unit.restart", granted)];
        assert_eq!(composed(rules, &facts).len(), number, "{granted}");
    }
    // Looking starts nothing.
    let rules = vec![writes("w", "/srv/a", "app"), units("u", "unit.status", "app.service")];
    assert!(composed(rules, &facts).is_empty());
}

#[test]
fn a_deny_rule_is_no_part_of_a_composition() {
    let facts = host(vec![unit("app.service", "/srv/a/app")]);
    let mut rules = vec![writes("w", "/srv/a", "app"), units("u", "unit.start", "app.service")];
    rules[1].set_decision(root::Decision::Deny);
    assert!(composed(rules, &facts).is_empty());
}

#[test]
fn reports_a_grant_to_write_what_an_apt_hook_runs() {
    let hook = Hook {
        key: "DPkg::Post-Invoke".to_owned(),
        command: "test -x /srv/a/hook && /srv/a/hook".to_owned(),
    };
    let facts = Facts { hooks: vec![hook], ..host(Vec::new()) };
    let rules = vec![writes("w", "/srv/a", "hook"), rule("lists", "package.update")];
    let found = lint(&policy(rules), Some(&facts));
    let [one] = of(&found, "hook-composition")[..] else { panic!("{found:#?}") };
    assert_eq!(one.rules, [0, 1]);
    assert!(one.message.contains("package.update") && one.message.contains("rule lists"), "{}", one.message);
    // Without a verb that makes apt run there is nothing.
    let found = lint(&policy(vec![writes("w", "/srv/a", "hook")]), Some(&facts));
    assert!(of(&found, "hook-composition").is_empty());
}

#[test]
fn reports_a_symlink_from_a_dangerous_path_to_a_granted_directory() {
    let link = |path: &str, target: &str| Link { path: path.to_owned(), target: target.to_owned() };
    let check = |link: Link| {
        let facts = Facts { links: vec![link], ..host(Vec::new()) };
        let found = lint(&policy(vec![writes("w", "/srv/conf", "*")]), Some(&facts));
        of(&found, "linked-place").len()
    };
    assert_eq!(check(link("/etc/cron.d/backup", "/srv/conf/backup")), 1);
    assert_eq!(check(link("/etc/logrotate.d", "/srv/conf")), 1);
    assert_eq!(check(link("/etc/logrotate.d", "/srv/other")), 0);
    assert_eq!(check(link("/srv/shortcut", "/srv/conf")), 0);
}

#[test]
fn reports_parents_of_granted_directories_that_are_links_or_writable_by_others() {
    let inode = |path: &str, uid, mode: &str| Inode {
        path: path.to_owned(),
        kind: "directory".to_owned(),
        uid,
        gid: 0,
        mode: mode.to_owned(),
    };
    let check = |inodes: Vec<Inode>| {
        let facts = Facts { inodes, ..host(Vec::new()) };
        of(&lint(&policy(vec![writes("w", "/srv/app/conf", "*")]), Some(&facts)), "parent-writable").len()
    };
    assert_eq!(check(vec![inode("/", 0, "0755"), inode("/srv", 0, "0755"), inode("/srv/app", 0, "0755")]), 0);
    assert_eq!(check(vec![inode("/srv/app", 33, "0755")]), 1);
    assert_eq!(check(vec![inode("/srv", 0, "0775")]), 1);
    assert_eq!(check(vec![inode("/", 0, "1777")]), 1);
    assert_eq!(check(vec![inode("/srv/application", 33, "0777")]), 0);
    // A rule with `as` is for directories of its user; nobody but that user's group writes there.
    let check = |mode: &str| {
        let facts = Facts { inodes: vec![inode("/srv/app", 33, mode)], ..Facts::default() };
        let rule = root::Rule { as_user: "app".to_owned(), ..writes("w", "/srv/app/conf", "*") };
        of(&lint(&policy(vec![rule]), Some(&facts)), "parent-writable").len()
    };
    assert_eq!(["0755", "2770", "0777", "1777"].map(check), [0, 0, 1, 0]);
    let link = Link { path: "/srv/app".to_owned(), target: "/data/app".to_owned() };
    let facts = Facts { links: vec![link], ..host(Vec::new()) };
    let found = lint(&policy(vec![writes("w", "/srv/app/conf", "*")]), Some(&facts));
    assert_eq!(of(&found, "linked-directory").len(), 1);
}

/// The findings of a client whose user is in these groups, on such a host.
fn agent(groups: &[(&str, u32)], facts: Facts) -> Vec<&'static str> {
    let group = |(name, gid): &(&str, u32)| Group { name: (*name).to_owned(), gid: *gid };
    let user = User {
        client: "agent".to_owned(),
        name: "postern".to_owned(),
        uid: 990,
        groups: groups.iter().map(group).collect(),
    };
    let facts = Facts { users: vec![user], ..facts };
    lint(&policy(Vec::new()), Some(&facts)).iter().map(|found| found.id).collect()
}

#[test]
fn reports_a_client_user_in_a_powerful_group_or_sudoers() {
    let own = ("postern", 990);
    assert!(agent(&[own], host(Vec::new())).is_empty());
    for group in ["sudo", "docker", "disk", "adm", "lxd", "root", "shadow"] {
        assert_eq!(agent(&[own, (group, 5)], host(Vec::new())), ["agent-in-powerful-group"], "{group}");
    }
    for group in ["postern-operators", "postern-auditors"] {
        assert_eq!(agent(&[own, (group, 5)], host(Vec::new())), ["agent-in-operators"], "{group}");
    }
    for (who, number) in [("postern", 1), ("%web", 1), ("ALL", 1), ("#990", 1), ("%sudo", 0), ("alice", 0)] {
        let facts = Facts { sudoers: Some(vec![who.to_owned()]), ..host(Vec::new()) };
        assert_eq!(agent(&[own, ("web", 7)], facts).len(), number, "{who}");
    }
}

#[test]
fn reports_a_client_that_can_write_postern_files_or_reach_a_control_socket() {
    let with = |path: &str, kind: &str, uid, gid, mode: &str| {
        let (path, kind, mode) = (path.to_owned(), kind.to_owned(), mode.to_owned());
        let facts = Facts { inodes: vec![Inode { path, kind, uid, gid, mode }], ..host(Vec::new()) };
        agent(&[("postern", 990), ("web", 7)], facts)
    };
    let policy = "/etc/postern/policy.toml";
    assert!(with(policy, "file", 0, 0, "0640").is_empty());
    assert_eq!(with(policy, "file", 990, 0, "0440"), ["agent-can-write-postern"]);
    assert_eq!(with(policy, "file", 0, 7, "0660"), ["agent-can-write-postern"]);
    assert_eq!(with(policy, "file", 0, 0, "0666"), ["agent-can-write-postern"]);
    // A writer of the directory can replace the file.
    assert_eq!(with("/etc", "directory", 0, 7, "0775"), ["agent-can-write-postern"]);
    assert!(with("/srv", "directory", 990, 0, "0755").is_empty());
    assert_eq!(with("/run/docker.sock", "socket", 0, 7, "0660"), ["agent-reaches-control-socket"]);
    assert!(with("/run/docker.sock", "socket", 0, 8, "0660").is_empty());
    assert_eq!(with("/run/postern/operator.sock", "socket", 0, 7, "0660"), ["agent-in-operators"]);
}

//! `policy apply` generates units for PID 1: services of commands and validators, and the mounts of postern-files.

use crate::support::{GOOD, SITE, TestHost};
use postern_admin::enforce::{command, merged, units, validator};
use postern_admin::io::Exit;
use postern_policy::types::{Digest, TargetPath};
use postern_policy::{Command, Policy};
use postern_proto::root::v1 as root;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

const YES: &[&str] = &["policy", "apply", "--yes"];

/// A validator, a command, and a rule for each.
const COMMANDS: &str = r#"
[[command]]
name = "web-test"
argv = ["/usr/sbin/nginx", "-t"]
sandbox = "validator"

[[command]]
name = "show"
argv = ["/usr/bin/uptime"]

[[rule]]
id = "web"
client = "agent"
verbs = ["file.write"]
directories = ["/var/www/html", "/var/www/html/sub"]
files = ["*.html"]
validate = "web-test"
decision = "allow"
justification = "site content"

[[rule]]
id = "run"
client = "agent"
verbs = ["command.run"]
commands = ["show"]
decision = "allow"
justification = "looks only"
"#;

fn row(name: &str, sandbox: root::Sandbox) -> root::Command {
    root::Command {
        name: name.to_owned(),
        argv: ["/usr/sbin/nginx", "-t", "-g", "error_log \"/dev/null\"; # 100% $HOME\\"]
            .map(str::to_owned)
            .to_vec(),
        user: "nobody".to_owned(),
        sandbox: sandbox.into(),
        scratch: vec!["/var/log/nginx".to_owned(), "/var/lib/nginx".to_owned()],
        capabilities: vec!["CAP_CHOWN".to_owned(), "CAP_NET_BIND_SERVICE".to_owned()],
        cwd: "/etc/nginx".to_owned(),
        env: vec!["GREETING=100% \"you\" $HOME".to_owned()],
        timeout_s: 30,
        output_bytes: 65536,
        ..root::Command::default()
    }
}

/// Compares with the file, which a person has read.
fn golden(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/admin/units").join(name);
    let known = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(text, known, "{} differs", path.display());
}

#[test]
fn unit_of_a_sandboxed_command() {
    let wire = root::Command {
        network: true,
        write: vec!["/srv/data".to_owned()],
        ..row("backup", root::Sandbox::Strict)
    };
    golden("strict.service", &command(&Command::new(&wire).unwrap()).unwrap());
    // Without `network` and `write`, and as another user.
    let other = root::Command { user: "backup".to_owned(), network: false, write: Vec::new(), ..wire };
    let text = command(&Command::new(&other).unwrap()).unwrap();
    assert!(text.contains("\nUser=backup\n") && !text.contains("DynamicUser"), "{text}");
    assert!(
        text.contains("\nPrivateNetwork=yes\nIPAddressDeny=any\n") && !text.contains("ReadWritePaths"),
        "{text}"
    );
}

#[test]
fn a_command_with_sockets_sees_these_and_no_other_place_of_sockets() {
    let path = root::Parameter {
        name: "to".to_owned(),
        kind: root::ParameterKind::Path.into(),
        directories: ["/var/backups", "/srv/data", "/etc/x"].map(str::to_owned).to_vec(),
        files: vec!["*".to_owned()],
        ..root::Parameter::default()
    };
    let wire = root::Command {
        sockets: vec!["/run/fail2ban/fail2ban.sock".to_owned()],
        write: vec!["/srv/data".to_owned()],
        parameters: vec![path],
        ..row("ban", root::Sandbox::Strict)
    };
    let text = command(&Command::new(&wire).unwrap()).unwrap();
    for line in [
        "RestrictAddressFamilies=AF_UNIX",
        "TemporaryFileSystem=/run:ro,mode=0755",
        "TemporaryFileSystem=/var:ro,mode=0755",
        "BindReadOnlyPaths=/run/fail2ban/fail2ban.sock",
        "BindReadOnlyPaths=/run/fail2ban/fail2ban.sock:/var/run/fail2ban/fail2ban.sock",
        "TemporaryFileSystem=/run/systemd/system:ro,mode=0755",
        "BindReadOnlyPaths=-/var/backups",
        "BindPaths=/srv/data",
        "PrivateNetwork=yes",
    ] {
        assert!(text.lines().any(|known| known == line), "no {line} in\n{text}");
    }
    assert!(!text.contains("/etc/x") && !text.contains("BindReadOnlyPaths=-/srv/data"), "{text}");
    let plain = root::Command { sockets: Vec::new(), ..wire };
    let text = command(&Command::new(&plain).unwrap()).unwrap();
    assert!(!text.contains("AF_UNIX") && !text.contains("=/run:ro"), "{text}");
}

#[test]
fn a_command_with_sockets_may_write_a_whole_place_and_sees_no_directory_of_an_unchecked_path() {
    let path = root::Parameter {
        name: "to".to_owned(),
        kind: root::ParameterKind::Path.into(),
        directories: vec!["/var/unchecked".to_owned()],
        files: vec!["*".to_owned()],
        unchecked: true,
        ..root::Parameter::default()
    };
    let wire = root::Command {
        sockets: vec!["/run/x/x.sock".to_owned()],
        // As wide as the place that the sandbox hides.
        write: vec!["/srv".to_owned()],
        parameters: vec![path],
        ..row("put", root::Sandbox::Strict)
    };
    let text = command(&Command::new(&wire).unwrap()).unwrap();
    assert!(text.lines().any(|line| line == "BindPaths=/srv"), "{text}");
    assert!(!text.contains("/var/unchecked"), "{text}");
}

#[test]
fn unit_of_a_command_without_sandbox() {
    let wire =
        root::Command { user: "root".to_owned(), scratch: Vec::new(), ..row("repair", root::Sandbox::None) };
    golden("none.service", &command(&Command::new(&wire).unwrap()).unwrap());
}

#[test]
fn unit_of_a_validator_over_one_directory() {
    let row = Command::new(&row("nginx-test", root::Sandbox::Validator)).unwrap();
    golden("validator.service", &validator(&row, "/etc/nginx").unwrap());
    let copy =
        |live: &str| format!("/stage/%i/{}:{live}\n", &Digest::of(&[live.as_bytes()]).to_string()[..16]);
    assert!(validator(&row, "/var/www").unwrap().contains(&copy("/var/www")));
}

#[test]
fn rejects_text_that_systemd_would_read_as_something_else() {
    let unit = |change: &dyn Fn(&mut root::Command)| {
        let mut wire = row("odd", root::Sandbox::Strict);
        change(&mut wire);
        command(&Command::new(&wire).unwrap())
    };
    assert!(unit(&|_| ()).is_ok());
    assert!(unit(&|wire| wire.user = "nobody\nUser=root".to_owned()).is_err());
    assert!(unit(&|wire| wire.user = "%i".to_owned()).is_err());
    assert!(unit(&|wire| wire.scratch.push("/a:/b".to_owned())).is_err());
    assert!(unit(&|wire| wire.write.push("/a /b".to_owned())).is_err());
    assert!(unit(&|wire| wire.write.push("/%i".to_owned())).is_err());
    assert!(unit(&|wire| wire.capabilities.push("CAP_ALL".to_owned())).is_err());
    let test = Command::new(&row("test", root::Sandbox::Validator)).unwrap();
    assert!(validator(&test, "/etc/a:b").is_err());
    let mut wire = row("test", root::Sandbox::Validator);
    wire.argv.push("a\nb".to_owned());
    assert!(validator(&Command::new(&wire).unwrap(), "/etc/nginx").is_err());
}

#[test]
fn nested_granted_directories_become_one_mount() {
    let paths = ["/etc/nginx", "/etc/nginx/conf.d", "/etc/nginx-old", "/srv/a/b", "/srv/a/b/c/d"];
    let paths = paths.map(|path| TargetPath::new(path).unwrap());
    let all = paths.iter().collect::<BTreeSet<_>>();
    assert_eq!(
        merged(&all).iter().map(|path| path.as_str()).collect::<Vec<_>>(),
        ["/etc/nginx", "/etc/nginx-old", "/srv/a/b"]
    );
}

/// A host with a directory for each path below its root.
fn host(policy: &str, directories: &[&str]) -> TestHost {
    let host = TestHost::new(policy);
    for directory in directories {
        fs::create_dir_all(host.host.root.join(&directory[1..])).unwrap();
    }
    host
}

fn drop_in(host: &TestHost) -> String {
    fs::read_to_string(host.host.systemd_units.join("postern-files.service.d/50-policy.conf")).unwrap()
}

#[test]
fn mounts_are_the_directories_in_which_rules_change_files() {
    let read = SITE
        .replace("\"site\"", "\"read\"")
        .replace(", \"file.write\"", "")
        .replace("/var/www/html", "/srv/read");
    let denied = "\n[[rule]]\nid = \"no\"\nclient = \"agent\"\nverbs = [\"file.write\"]\ndirectories = [\"/srv/no\"]\nfiles = [\"*\"]\ndecision = \"deny\"\njustification = \"no\"\n";
    let host = host(&format!("{GOOD}{SITE}{read}{denied}"), &["/var/www/html"]);
    let ran = host.run(YES);
    assert_eq!(ran.exit, Exit::Done, "{}", ran.err);
    let lines =
        drop_in(&host).lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(lines, ["[Service]", "ReadWritePaths=\"-/var/www/html\""]);
    // Without such a rule there is none.
    host.write("policy.toml", GOOD);
    assert_eq!(host.run(YES).exit, Exit::Done);
    assert!(!drop_in(&host).contains("ReadWritePaths"));
}

/// A change of a directory, and the words of the warning.
type Case<'a> = (&'a dyn Fn(&Path), &'a str);

#[test]
fn a_granted_directory_below_a_symlink_or_writable_parent_stays_read_only() {
    let two =
        format!("{GOOD}{}", SITE.replace("[\"/var/www/html\"]", "[\"/srv/site\", \"/srv/not yet 100%\"]"));
    let make = |case: &dyn Fn(&Path)| {
        let host = host(&two, &["/srv"]);
        case(&host.host.root.join("srv/site"));
        let ran = host.run(YES);
        assert_eq!(ran.exit, Exit::Done, "{}", ran.err);
        // One that is missing is listed for the next start.
        assert!(drop_in(&host).contains("ReadWritePaths=\"-/srv/not yet 100%%\"\n"), "{}", drop_in(&host));
        (drop_in(&host).contains("/srv/site"), ran.err)
    };
    assert!(make(&|site| fs::create_dir(site).unwrap()).0);
    let cases: [Case<'_>; 3] = [
        (&|site| symlink("/etc", site).unwrap(), "srv/site is a symbolic link"),
        (&|site| fs::write(site, "").unwrap(), "srv/site is not a directory"),
        (
            &|site| {
                fs::create_dir(site).unwrap();
                fs::set_permissions(site, fs::Permissions::from_mode(0o775)).unwrap();
            },
            "others than root can change",
        ),
    ];
    for (case, why) in cases {
        let (is_mounted, err) = make(case);
        assert!(!is_mounted && err.contains(why), "{why}: {err}");
    }
}

fn names(host: &TestHost) -> Vec<String> {
    let units =
        host.units().into_iter().map(|(path, _)| path.file_name().unwrap().to_string_lossy().into_owned());
    units.filter(|name| name != "50-policy.conf").collect()
}

#[test]
fn writes_a_unit_for_each_command_and_each_validated_directory() {
    let host = host(&format!("{GOOD}{COMMANDS}"), &[]);
    let ran = host.run(YES);
    assert_eq!(ran.exit, Exit::Done, "{}", ran.err);
    let policy = Policy::load(&host.accepted().unwrap()).unwrap();
    let test = policy.command("web-test").unwrap();
    let mut expected = vec![
        policy.command("show").unwrap().unit(),
        test.validator_unit("/var/www/html"),
        test.validator_unit("/var/www/html/sub"),
    ];
    expected.sort();
    let expected = expected.into_iter().map(|unit| format!("{unit}@.service")).collect::<Vec<_>>();
    assert_eq!(names(&host), expected);
    assert_eq!(units(&policy).unwrap().into_keys().collect::<Vec<_>>(), expected);
    let mode = fs::metadata(host.host.systemd_units.join(&expected[0])).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o644);
}

#[test]
fn removes_units_of_the_previous_policy_at_the_apply_after_next() {
    let host = host(&format!("{GOOD}{COMMANDS}"), &[]);
    host.run(YES);
    let first = names(&host);
    let other = host.host.systemd_units.join("postern-command-mine-0123456789abcdef@.service");
    fs::write(&other, "[Service]\n").unwrap();
    host.write("policy.toml", format!("{GOOD}{}", COMMANDS.replace("uptime", "w")));
    host.run(YES);
    let second = names(&host);
    // The old command's unit, the new one's, two validators, and what somebody else wrote.
    assert_eq!(second.len(), 5, "{second:?}");
    assert!(first.iter().all(|name| second.contains(name)));
    host.run(YES);
    assert_eq!(names(&host).len(), 4);
    host.write("policy.toml", GOOD);
    host.run(YES);
    assert_eq!(names(&host).len(), 4);
    host.run(YES);
    assert_eq!(names(&host), ["postern-command-mine-0123456789abcdef@.service"]);
}

/// A systemctl that shows what `shown` says of each unit, and writes its arguments down.
fn systemctl(host: &mut TestHost, shown: &str) -> PathBuf {
    let (program, calls) = (host.host.state.join("systemctl"), host.host.etc.join("calls"));
    let units = host.host.systemd_units.display();
    let script = format!(
        "#!/bin/sh\necho \"$*\" >>{calls}\n[ \"$1\" = show ] || exit 0\nwhile [ \"$1\" != -- ]; do shift; done\nshift\n\
         for unit; do\ntemplate=$(echo \"$unit\" | sed 's/@0/@/')\n\
         dropin={units}/postern-files.service.d/50-policy.conf\nfragment={units}/$template\n{shown}\ndone\n",
        calls = calls.display()
    );
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    host.host.systemctl = Some(program);
    calls
}

const LOADED: &str = "printf 'Id=%s\\nLoadState=loaded\\nFragmentPath=%s\\nDropInPaths=/a %s\\nNeedDaemonReload=no\\n\\n' \"$unit\" \"$fragment\" \"$dropin\"";

#[test]
fn asks_systemd_for_every_unit_before_the_policy_is_accepted() {
    let mut host = host(&format!("{GOOD}{COMMANDS}"), &[]);
    let calls = systemctl(&mut host, LOADED);
    let ran = host.run(YES);
    assert_eq!(ran.exit, Exit::Done, "{}", ran.err);
    let calls = fs::read_to_string(calls).unwrap();
    let calls = calls.lines().collect::<Vec<_>>();
    assert_eq!((calls.len(), calls[0]), (2, "daemon-reload --no-ask-password"));
    assert!(calls[1].contains(" -- postern-files.service postern-command-show-"), "{calls:?}");
    assert_eq!(calls[1].matches("@0.service").count(), 3);
}

#[test]
fn a_unit_that_systemd_has_not_loaded_stops_the_apply() {
    let mut host = host(GOOD, &[]);
    host.run(YES);
    let before = (host.accepted(), host.units());
    host.write("policy.toml", format!("{GOOD}{COMMANDS}"));
    for (from, to) in [
        ("LoadState=loaded", "LoadState=bad-setting"),
        ("NeedDaemonReload=no", "NeedDaemonReload=yes"),
        ("FragmentPath=", "FragmentPath=/run"),
        ("DropInPaths=/a ", "DropInPaths=/b"),
    ] {
        systemctl(&mut host, &LOADED.replace(from, to));
        let ran = host.run(YES);
        assert_eq!(ran.exit, Exit::Failed, "{to}");
        assert!(ran.err.contains("not applied: systemd has not loaded "), "{}", ran.err);
        assert_eq!(host.accepted(), before.0);
        assert_eq!(drop_in(&host).as_bytes(), before.1[0].1, "{to}");
    }
    // Without systemd there is nobody to ask.
    fs::remove_dir(&host.host.systemd).unwrap();
    assert_eq!(host.run(YES).exit, Exit::Done);
}

#[test]
fn a_masked_unit_stops_the_apply() {
    let host = host(&format!("{GOOD}{COMMANDS}"), &[]);
    host.run(YES);
    let name = &names(&host)[0];
    let path = host.host.systemd_units.join(name);
    fs::remove_file(&path).unwrap();
    symlink("/dev/null", &path).unwrap();
    let ran = host.run(YES);
    assert_eq!(ran.exit, Exit::Failed);
    assert!(ran.err.contains("was not written by postern-admin"), "{}", ran.err);
}

#[test]
fn writes_the_units_of_the_accepted_policy_again() {
    let host = host(&format!("{GOOD}{COMMANDS}"), &[]);
    assert_eq!(host.run(&["policy", "apply", "--accepted"]).exit, Exit::Failed, "nothing is accepted yet");
    host.run(YES);
    let (units, accepted) = (host.units(), host.accepted());
    fs::remove_dir_all(&host.host.systemd_units).unwrap();
    fs::create_dir(&host.host.systemd_units).unwrap();
    // The files on disk are another policy, which stays so.
    host.write("policy.toml", GOOD);
    let ran = host.run(&["policy", "apply", "--accepted"]);
    assert_eq!(
        (ran.exit, ran.out.as_str()),
        (Exit::Done, "3 units of the accepted policy written\n"),
        "{}",
        ran.err
    );
    assert_eq!((host.units(), host.accepted()), (units, accepted));
}

#[test]
fn refuses_a_directory_of_units_that_others_may_change() {
    let host = host(GOOD, &[]);
    fs::set_permissions(&host.host.systemd_units, fs::Permissions::from_mode(0o777)).unwrap();
    assert_eq!(host.run(YES).exit, Exit::Failed);
    assert!(host.accepted().is_none());
}

/// A rule of files that belong to user `nobody`, which every host has.
const AS_USER: &str = r#"
[[rule]]
id = "conf"
client = "agent"
verbs = ["file.read", "file.write", "request.undo"]
directories = ["/srv/app", "/home/app/site"]
files = ["*.conf"]
as = "www-data"
decision = "allow"
justification = "the application's own directory"
"#;

/// `nobody` has no other name, `www-data` is an application's.
fn with_user(host: &mut TestHost) {
    let accounts = host.host.accounts;
    host.host.accounts = postern_admin::host::Accounts {
        user: |name| match name {
            "www-data" => Some(33),
            "postern" => Some(990),
            "sys" => Some(3),
            "wide" => Some(1001),
            _ => None,
        },
        ..accounts
    };
}

/// The units of rules with `as`.
fn as_units(host: &TestHost) -> Vec<String> {
    names(host).into_iter().filter(|name| name.starts_with("postern-as-")).collect()
}

fn wanted(host: &TestHost) -> Vec<String> {
    let links = fs::read_dir(host.host.systemd_units.join("postern-units.socket.wants"));
    let links = links.into_iter().flatten().map(|link| link.unwrap().path());
    let mut names = links
        .map(|link| {
            let target = fs::read_link(&link).unwrap();
            let name = link.file_name().unwrap().to_string_lossy().into_owned();
            assert_eq!(target, Path::new("..").join(&name));
            name
        })
        .collect::<Vec<_>>();
    names.sort();
    names
}

#[test]
fn sockets_of_rules_with_as_are_written_started_and_stopped_by_apply_and_by_nobody_else() {
    let mut host = host(&format!("{GOOD}{AS_USER}"), &["/srv/app"]);
    with_user(&mut host);
    let calls = systemctl(&mut host, LOADED);
    let ran = host.run(YES);
    assert_eq!(ran.exit, Exit::Done, "{}", ran.err);
    let policy = Policy::load(&host.accepted().unwrap()).unwrap();
    let rule = policy.rules().iter().find(|rule| rule.id == "conf").unwrap();
    let (app, home) = ("/srv/app", "/home/app/site");
    let [app, home] = [app, home].map(|path| rule.as_unit(&TargetPath::new(path).unwrap()));
    let files = units(&policy).unwrap();
    golden("as-user.socket", &files[&format!("{app}.socket")].replace(&app, "postern-as-NAME"));
    golden("as-user.service", &files[&format!("{app}@.service")]);
    let of_home = &files[&format!("{home}@.service")];
    assert!(of_home.contains("\nProtectHome=read-only\nReadWritePaths=-/home/app/site\n"), "{of_home}");
    // postern-files gets none of these directories.
    assert!(
        !drop_in(&host).contains("/srv/app") && !drop_in(&host).contains("/home/app"),
        "{}",
        drop_in(&host)
    );
    let mut sockets = vec![format!("{app}.socket"), format!("{home}.socket")];
    sockets.sort();
    assert_eq!(
        (wanted(&host), as_units(&host).len()),
        (sockets.clone(), 6),
        "two links, and two units for each"
    );
    let told = fs::read_to_string(&calls).unwrap();
    let start = format!("start --no-ask-password -- {}", sockets.join(" "));
    assert_eq!(told.lines().last(), Some(start.as_str()), "{told}");
    assert!(told.contains(&format!("{app}@0.service")) && !told.contains("stop "), "{told}");

    // The units of the policy before stay for its orders, until the next apply.
    host.write("policy.toml", GOOD);
    assert_eq!(host.run(YES).exit, Exit::Done);
    assert_eq!(as_units(&host).len(), 6);
    fs::remove_file(&calls).unwrap();
    assert_eq!(host.run(YES).exit, Exit::Done);
    assert!(as_units(&host).is_empty() && wanted(&host).is_empty(), "{:?}", as_units(&host));
    let told = fs::read_to_string(&calls).unwrap();
    let stop = format!("stop --no-ask-password -- {}", sockets.join(" "));
    let mut stopped = told.lines().next().unwrap().split(' ').collect::<Vec<_>>();
    stopped[3..].sort_unstable();
    assert_eq!(stopped.join(" "), stop, "{told}");
    assert!(!told.contains("start "), "{told}");
}

#[test]
fn a_user_of_more_than_an_applications_files_is_warned_of_by_check_and_refused_by_apply() {
    for (user, why) in [
        ("postern", "postern is a user of the system"),
        ("sys", "sys is a user of the system"),
        // By primary group alone, as this host has it.
        ("wide", "it is in group"),
    ] {
        let mut host = host(&format!("{GOOD}{}", AS_USER.replace("www-data", user)), &[]);
        with_user(&mut host);
        host.host.accounts.group = |name| (name == "docker").then(|| (991, Vec::new()));
        let checked = host.run(&["policy", "check"]);
        assert_eq!(checked.exit, Exit::Done, "{}", checked.out);
        assert!(checked.out.contains(why), "{user}: {}", checked.out);
        let applied = host.run(YES);
        assert_eq!(applied.exit, Exit::Failed, "{user}");
        assert!(
            applied.err.contains(why) && applied.err.contains("is refused on this host"),
            "{}",
            applied.err
        );
        assert!(host.accepted().is_none() && as_units(&host).is_empty());
    }
    // One that is not there is warned of, as the packs of applications that are not installed yet.
    let mut host = host(&format!("{GOOD}{}", AS_USER.replace("www-data", "gone")), &[]);
    with_user(&mut host);
    let applied = host.run(YES);
    assert_eq!(applied.exit, Exit::Done, "{}", applied.err);
    assert!(applied.err.contains("there is no user \"gone\" on this host (`as`)"), "{}", applied.err);
}

#[test]
fn limits_that_a_process_of_a_user_cannot_keep_are_refused_with_as() {
    let (check, verbs) = (["policy", "check"], "\"file.read\", \"file.write\", \"request.undo\"");
    for (from, to, why) in [
        (verbs, "\"file.patch\"", "only file.read and file.write are done as a user, not file.patch"),
        (verbs, "\"file.remove\"", "only file.read and file.write are done as a user, not file.remove"),
        (verbs, "\"file.list\"", "file.list"),
        ("as =", "modes = [\"0644\"]\nas =", "`modes` cannot be kept with `as`"),
        ("as =", "owners = [\"root\"]\nas =", "`owners` cannot be kept with `as`"),
        ("as =", "validate = \"t\"\nas =", "`validate` cannot be kept with `as`"),
        ("as =", "keep_within = \"60s\"\nas =", "`keep_within` cannot be kept with `as`"),
        ("as =", "allow_create = true\nas =", "with `as` only existing files are changed"),
        ("as =", "max_bytes = 1048577\nas =", "1 MiB at most"),
        ("\"allow\"", "\"deny\"", "as"),
        ("\"www-data\"", "\"a b\"", "a b"),
    ] {
        assert!(AS_USER.contains(from), "{from}");
        let mut host = host(&format!("{GOOD}{}", AS_USER.replace(from, to)), &[]);
        with_user(&mut host);
        let ran = host.run(&check);
        assert_eq!(ran.exit, Exit::Failed, "{to}: {}", ran.out);
        assert!(ran.out.contains(why), "{to}: {}", ran.out);
    }
}

//! Units and packages against a fake systemctl: what root would start, and what it makes of the answers.

use crate::common::{CLIENT_UID, World, meta, new_id, rule, strings};
use postern_proto::root::v1 as root;
use postern_proto::v1::{self as wire, Mode, Status};
use prost::Message;
use std::path::Path;

const UNIT: &[&str] =
    &["unit.status", "unit.start", "unit.stop", "unit.restart", "unit.reload", "unit.enable", "unit.disable"];

fn rules(_: &Path) -> Vec<root::Rule> {
    let packages = rule("packages", &["package.install", "package.show"]);
    vec![
        root::Rule { units: strings(&["nginx.service", "worker@*.service"]), ..rule("units", UNIT) },
        root::Rule { packages: strings(&["nginx-light", "g++", "hello*"]), max_new_packages: 2, ..packages },
        rule("update", &["package.update"]),
    ]
}

fn shown(id: &str, extra: &str) -> String {
    format!(
        "Id={id}\nNames={id}\nLoadState=loaded\nActiveState=active\nSubState=running\nUnitFileState=enabled\nResult=success\nMainPID=42\nStateChangeTimestamp=@1700000000\nMemoryCurrent=[not set]\nExecMainStatus=0\n{extra}\n"
    )
}

/// A systemctl that shows these blocks.
fn shows(text: &str) -> String {
    format!("case $1 in cat) echo '[Install]';; show) cat <<'SHOWN'\n{text}SHOWN\n;; esac")
}

fn status(unit: &str) -> wire::UnitStatusRequest {
    wire::UnitStatusRequest {
        meta: meta(Mode::Execute),
        unit: unit.to_owned(),
        journal_lines: 0,
        since_unix_s: 0,
    }
}

fn start(unit: &str) -> wire::UnitStartRequest {
    wire::UnitStartRequest { meta: meta(Mode::Execute), unit: unit.to_owned() }
}

#[test]
fn status_is_typed() {
    let world = World::new(rules);
    world.systemctl(&shows(&shown("nginx.service", "")));
    let answer = world.connect(CLIENT_UID).ask("Helper/UnitStatus", &status("nginx.service"));
    let unit = answer.completed().unit.clone().unwrap();
    assert_eq!((unit.active.as_str(), unit.main_pid, unit.memory_bytes), ("active", 42, 0));
    assert_eq!(unit.since_unix_us, 1_700_000_000_000_000);
    assert_eq!((world.count("served"), world.count("begin")), (1, 0));
}

#[test]
fn systemctl_gets_names_after_dashes_and_a_constant_environment() {
    let world = World::new(rules);
    world.systemctl(&shows(&shown("nginx.service", "")));
    let answer = world.connect(CLIENT_UID).ask("Helper/UnitStart", &start("nginx.service"));
    assert_eq!(answer.completed().status(), Status::Unchanged);
    let calls = world.calls();
    let change = calls.iter().find(|call| call[0] == "start").unwrap();
    assert_eq!(change[..4], strings(&["start", "--no-pager", "--no-ask-password", "--"]));
    assert_eq!(change[4], "nginx.service");
    let environment = &change[6..];
    let mut names: Vec<&str> =
        environment.iter().filter_map(|line| line.split_once('=')).map(|(name, _)| name).collect();
    names.sort_unstable();
    // PWD, SHLVL and _ are the shell's own.
    names.retain(|name| !["PWD", "SHLVL", "_", "OLDPWD"].contains(name));
    assert_eq!(
        names,
        ["LC_ALL", "PAGER", "PATH", "SYSTEMCTL_SKIP_SYSV", "SYSTEMD_PAGER", "SYSTEMD_PAGERSECURE", "TERM"]
    );
    assert_eq!(environment.last().unwrap(), "CWD /");
    for call in &calls {
        let dashes = call.iter().position(|arg| arg == "--").unwrap();
        assert_eq!(call[dashes + 1], "nginx.service");
    }
}

#[test]
fn names_that_systemctl_would_mangle_are_refused_before_it_is_asked() {
    let world = World::new(rules);
    world.systemctl("exit 0");
    let mut channel = world.connect(CLIENT_UID);
    for unit in [
        "nginx",
        "",
        "*.service",
        "nginx.service ",
        "../x.service",
        "/etc/x.service",
        "worker@../../x.service",
        "a/b.service",
        "--force",
        "-x.service",
        "1234",
        "worker@.service",
        "@.service",
        ".service",
        "nginx.service\n",
        "a@b@c.service",
        "n?inx.service",
        "nginx.servic\u{e9}",
    ] {
        for answer in
            [channel.ask("Helper/UnitStatus", &status(unit)), channel.ask("Helper/UnitStart", &start(unit))]
        {
            assert_eq!(answer.refused().code, "invalid_argument", "{unit:?}");
        }
    }
    for unit in ["sshd.service", "worker.service", "worker@a@b.service"] {
        let answer = channel.ask("Helper/UnitStart", &start(unit));
        assert!(["no_grant", "invalid_argument"].contains(&answer.refused().code.as_str()), "{unit}");
    }
    assert!(world.calls().is_empty());
}

#[test]
fn a_unit_must_be_granted_under_every_name() {
    let world = World::new(rules);
    world.systemctl(&shows(&shown("nginx.service", "").replace("Names=", "Names=ssh.service ")));
    let mut channel = world.connect(CLIENT_UID);
    assert_eq!(channel.ask("Helper/UnitStart", &start("nginx.service")).refused().code, "no_grant");
    world.systemctl(&shows(&shown("debug-shell.service", "")));
    assert_eq!(channel.ask("Helper/UnitStatus", &status("nginx.service")).refused().code, "no_grant");
    assert_eq!(world.count("begin"), 0);
    assert!(world.calls().iter().all(|call| call[0] == "show"));
}

#[test]
fn what_would_be_dragged_along_is_refused() {
    let world = World::new(rules);
    let text = shown("nginx.service", "RequiredBy=other.service");
    let other = shown("other.service", "");
    world.systemctl(&format!(
        "case \"$*\" in *other*) cat <<'SHOWN'\n{other}SHOWN\n;; *) cat <<'SHOWN'\n{text}SHOWN\n;; esac"
    ));
    let stop = wire::UnitStopRequest { meta: meta(Mode::Execute), unit: "nginx.service".to_owned() };
    let answer = world.connect(CLIENT_UID).ask("Helper/UnitStop", &stop);
    assert_eq!(answer.refused().code, "would_cascade");
    assert!(answer.refused().message.contains("other.service"));
    assert_eq!(world.count("begin"), 0);
}

#[test]
fn postern_and_pid_1_are_protected_whatever_a_rule_says() {
    let world = World::new(|_| vec![root::Rule { units: strings(&["*"]), ..rule("all", UNIT) }]);
    world.systemctl("exit 0");
    let mut channel = world.connect(CLIENT_UID);
    for unit in [
        "postern-helper.service",
        "postern-agent.service",
        "systemd-journald.service",
        "dbus.service",
        "init.scope",
    ] {
        assert_eq!(channel.ask("Helper/UnitStart", &start(unit)).refused().code, "protected", "{unit}");
    }
    assert!(world.calls().is_empty());
}

#[test]
fn our_own_services_are_restarted_by_nobody_who_waits_where_a_rule_names_them() {
    let world = World::new(|_| {
        let own = root::Rule {
            units: strings(&["postern-*.service"]),
            verbs: strings(&["unit.restart", "unit.stop"]),
            ..rule("own", UNIT)
        };
        vec![own]
    });
    let text = shown("postern-helper.service", "");
    world.systemctl(&format!("case $1 in show) cat <<'SHOWN'\n{text}SHOWN\n;; esac"));
    let mut channel = world.connect(CLIENT_UID);
    let restart = |unit: &str| wire::UnitRestartRequest { meta: meta(Mode::Execute), unit: unit.to_owned() };
    assert_eq!(
        channel.ask("Helper/UnitRestart", &restart("postern-helper.service")).completed().status(),
        Status::Done
    );
    let call = world.calls().into_iter().find(|call| call[0] == "restart").unwrap();
    assert!(call.contains(&"--no-block".to_owned()), "{call:?}");
    for unit in ["postern-gateway.socket", "postern-gateway@1.service", "postern-operator.service"] {
        assert_eq!(channel.ask("Helper/UnitRestart", &restart(unit)).refused().code, "protected", "{unit}");
    }
    let stop = wire::UnitStopRequest { meta: meta(Mode::Execute), unit: "postern-helper.service".to_owned() };
    assert_eq!(channel.ask("Helper/UnitStop", &stop).refused().code, "protected");
}

#[test]
fn a_failed_unit_is_told_with_its_result() {
    let world = World::new(rules);
    let text = shown("nginx.service", "").replace("Result=success", "Result=start-limit-hit");
    world.systemctl(&format!("case $1 in show) cat <<'SHOWN'\n{text}SHOWN\n;; *) echo 'Job for nginx.service failed.' >&2; exit 1;; esac"));
    let answer = world.connect(CLIENT_UID).ask("Helper/UnitStart", &start("nginx.service"));
    assert_eq!(
        (answer.completed().status(), answer.completed().code.as_str()),
        (Status::Failed, "start_limit")
    );
    assert_eq!((world.count("begin"), world.count("end")), (1, 1));
}

#[test]
fn with_now_the_start_must_be_granted_too() {
    let world = World::new(|_| {
        vec![root::Rule { units: strings(&["nginx.service"]), ..rule("units", &["unit.enable"]) }]
    });
    world.systemctl(&shows(&shown("nginx.service", "")));
    let enable =
        |now| wire::UnitEnableRequest { meta: meta(Mode::Execute), unit: "nginx.service".to_owned(), now };
    let mut channel = world.connect(CLIENT_UID);
    assert_eq!(channel.ask("Helper/UnitEnable", &enable(true)).refused().missing, "unit.start nginx.service");
    assert_eq!(channel.ask("Helper/UnitEnable", &enable(false)).completed().status(), Status::Unchanged);
}

fn install(names: &[&str]) -> wire::PackageInstallRequest {
    let package = |name: &&str| wire::Package { name: (*name).to_owned(), version: String::new() };
    wire::PackageInstallRequest { meta: meta(Mode::Execute), packages: names.iter().map(package).collect() }
}

fn step(action: wire::Action, name: &str) -> wire::PackageStep {
    wire::PackageStep {
        action: action.into(),
        name: name.to_owned(),
        arch: "amd64".to_owned(),
        new: "1".to_owned(),
        ..Default::default()
    }
}

fn info(name: &str) -> wire::PackageInfo {
    wire::PackageInfo { name: name.to_owned(), state: "installed".to_owned(), ..Default::default() }
}

/// A systemctl under which plans find `steps`, and runs end with `outcome`. The messages are made beforehand.
fn apt(world: &World, steps: Vec<wire::PackageStep>, outcome: &root::JobOutcome) {
    let planned = root::JobOutcome { steps, ..root::JobOutcome::default() };
    let event = root::JobEvent { outcome: Some(planned), ..root::JobEvent::default() }.encode_to_vec();
    let framed = [u32::try_from(event.len()).unwrap().to_le_bytes().as_slice(), &event].concat();
    std::fs::write(world.path("planned"), framed).unwrap();
    std::fs::write(world.path("outcome"), outcome.encode_to_vec()).unwrap();
    let progress = wire::Progress {
        phase: wire::Phase::Unpack.into(),
        item: "nginx-light".to_owned(),
        percent: 50,
        detail: String::new(),
    };
    let event = root::JobEvent { progress: Some(progress), ..root::JobEvent::default() }.encode_to_vec();
    std::fs::write(
        world.path("progress"),
        [u32::try_from(event.len()).unwrap().to_le_bytes().as_slice(), &event].concat(),
    )
    .unwrap();
    let at = world.text("");
    world.systemctl(&format!(
        "for unit in \"$@\"; do :; done\nid=${{unit#*@}}; id=${{id%.service}}; jobs={at}/state/jobs/$id\n\
         case \"$unit\" in postern-plan@*) cp {at}/planned $jobs/events;;\n\
         postern-job@*) cp $jobs/job.pb {at}/job.pb; cp {at}/progress $jobs/events; sleep 0.2; cp {at}/outcome $jobs/o; mv $jobs/o $jobs/outcome.pb;; esac"
    ));
}

#[test]
fn an_install_is_planned_then_run_as_planned() {
    let world = World::new(rules);
    let steps = vec![step(wire::Action::Install, "nginx-light"), step(wire::Action::Install, "nginx-common")];
    let packages = steps.iter().map(|step| info(&step.name)).collect();
    apt(&world, steps.clone(), &root::JobOutcome { steps, packages, ..root::JobOutcome::default() });
    let answer = world.connect(CLIENT_UID).ask("Helper/PackageInstall", &install(&["nginx-light"]));
    let completed = answer.completed();
    assert_eq!((completed.status(), completed.packages.len()), (Status::Done, 2));
    let plan = completed.plan.as_ref().unwrap();
    let asked: Vec<_> =
        plan.packages.iter().filter(|step| step.asked).map(|step| step.name.as_str()).collect();
    assert_eq!(asked, ["nginx-light"]);
    let job = root::Job::decode(std::fs::read(world.path("job.pb")).unwrap().as_slice()).unwrap();
    assert_eq!((job.kind(), job.expected.len(), job.allow_removals), (root::JobKind::Run, 2, false));
    assert!(
        answer
            .events
            .iter()
            .any(|event| matches!(&event.kind, Some(wire::event::Kind::Progress(p)) if p.percent == 50))
    );
    assert_eq!(std::fs::read_dir(world.path("state/jobs")).unwrap().count(), 0, "a job's directory is left");
    let units: Vec<_> =
        world.calls().iter().map(|call| (call[0].clone(), call.contains(&"--no-block".to_owned()))).collect();
    assert_eq!(units, [("start".to_owned(), false), ("start".to_owned(), true)]);
}

#[test]
fn a_plan_beyond_the_rule_is_refused_and_nothing_runs() {
    let world = World::new(rules);
    let cases = [
        (
            vec![
                step(wire::Action::Install, "a1"),
                step(wire::Action::Install, "b1"),
                step(wire::Action::Install, "c1"),
            ],
            "plan_refused",
        ),
        (vec![step(wire::Action::Remove, "curl")], "plan_refused"),
        (vec![step(wire::Action::Purge, "curl")], "plan_refused"),
        (vec![step(wire::Action::Downgrade, "nginx-light")], "plan_refused"),
        (vec![step(wire::Action::Upgrade, "libx")], "plan_refused"),
        (vec![step(wire::Action::Remove, "systemd")], "protected"),
        (vec![step(wire::Action::Upgrade, "postern")], "protected"),
    ];
    let mut channel = world.connect(CLIENT_UID);
    for (steps, code) in cases {
        apt(&world, steps.clone(), &root::JobOutcome::default());
        assert_eq!(
            channel.ask("Helper/PackageInstall", &install(&["nginx-light"])).refused().code,
            code,
            "{steps:?}"
        );
    }
    assert_eq!(world.count("begin"), 0);
}

#[test]
fn hostile_package_names_never_reach_a_program() {
    let world = World::new(|_| {
        vec![root::Rule { packages: strings(&["*"]), ..rule("all", &["package.install", "package.show"]) }]
    });
    world.systemctl("exit 0");
    let mut channel = world.connect(CLIENT_UID);
    for name in [
        "curl-",
        "a b",
        "--option",
        "-o",
        "",
        "x",
        "./x.deb",
        "/x.deb",
        "hello=1",
        "hello/stable",
        "hello:amd64",
        "hel*",
        "^hello$",
        "~nhello",
        "?name(x)",
        "name^",
        "Hello",
        "h\u{e9}llo",
        "hello\n",
        "hello\0",
        "+x",
        ".x",
        "apt_x",
    ] {
        assert_eq!(
            channel.ask("Helper/PackageInstall", &install(&[name])).refused().code,
            "invalid_argument",
            "{name:?}"
        );
    }
    for names in [vec![], vec!["hello", "hello"], vec!["hello"; 65]] {
        assert_eq!(channel.ask("Helper/PackageInstall", &install(&names)).refused().code, "invalid_argument");
    }
    for name in ["g++", "x.deb", "libstdc++6", "0ad", "hello+"] {
        assert!(postern_policy::types::PackageName::new(name).is_ok(), "{name}");
    }
    assert!(world.calls().is_empty());
}

#[test]
fn a_version_needs_a_rule_that_names_it() {
    let world = World::new(rules);
    apt(&world, Vec::new(), &root::JobOutcome::default());
    let mut request = install(&["nginx-light"]);
    let mut channel = world.connect(CLIENT_UID);
    for (version, code) in
        [("1.22.1-9", "limit_exceeded"), ("1.*", "invalid_argument"), ("-1", "invalid_argument")]
    {
        request.packages[0].version = version.to_owned();
        assert_eq!(channel.ask("Helper/PackageInstall", &request).refused().code, code, "{version}");
    }
    assert!(world.calls().is_empty());
}

#[test]
fn what_is_installed_already_is_unchanged() {
    let world = World::new(rules);
    apt(&world, Vec::new(), &root::JobOutcome::default());
    let answer = world.connect(CLIENT_UID).ask("Helper/PackageInstall", &install(&["hello"]));
    assert_eq!(answer.completed().status(), Status::Unchanged);
}

#[test]
fn a_failed_job_is_told_with_its_output_and_its_code() {
    let world = World::new(rules);
    let outcome = root::JobOutcome {
        code: "plan_changed".to_owned(),
        detail: "curl would be removed".to_owned(),
        output: b"what apt said".to_vec(),
        ..root::JobOutcome::default()
    };
    apt(&world, vec![step(wire::Action::Install, "hello")], &outcome);
    let answer = world.connect(CLIENT_UID).ask("Helper/PackageInstall", &install(&["hello"]));
    assert_eq!(
        (answer.completed().status(), answer.completed().code.as_str()),
        (Status::Failed, "plan_changed")
    );
    assert_eq!(answer.content(), b"what apt said");
}

#[test]
fn a_restarted_helper_picks_up_the_outcome_of_a_running_job() {
    let mut world = World::new(rules);
    apt(&world, vec![step(wire::Action::Install, "hello")], &root::JobOutcome::default());
    let id = new_id();
    let request = root::RequestRecord {
        uid: CLIENT_UID,
        request_id: id.clone(),
        digest: vec![0; 32],
        verb: "package.install".to_owned(),
        begun_unix_us: u64::try_from(world.host.unix().as_micros()).unwrap(),
        ..root::RequestRecord::default()
    };
    let job = world.path("state/jobs").join(postern_helper::job::id_of(CLIENT_UID, &id));
    std::fs::create_dir(&job).unwrap();
    std::fs::write(job.join("job.pb"), root::Job::default().encode_to_vec()).unwrap();
    let log = world.path("state/requests/log");
    std::fs::write(&log, request.encode_length_delimited_to_vec()).unwrap();
    world.restart();
    let outcome = root::JobOutcome { packages: vec![info("hello")], ..root::JobOutcome::default() };
    std::fs::write(job.join("o"), outcome.encode_to_vec()).unwrap();
    std::fs::rename(job.join("o"), job.join("outcome.pb")).unwrap();
    let mut channel = world.connect(CLIENT_UID);
    let completed = loop {
        let asked = wire::RequestResultRequest { meta: meta(Mode::Execute), of: id.clone() };
        match &channel.ask("Helper/RequestResult", &asked).events.last().unwrap().kind {
            Some(wire::event::Kind::Completed(completed)) => break completed.clone(),
            _ => std::thread::sleep(std::time::Duration::from_millis(10)),
        }
    };
    assert_eq!((completed.status(), completed.packages.len()), (Status::Done, 1));
    assert_eq!((world.count("end"), world.count("interrupted")), (1, 0));
}

#[test]
fn without_systemd_units_and_packages_are_unsupported() {
    let world = World::new(rules);
    std::fs::remove_dir(world.path("systemd")).unwrap();
    let mut channel = world.connect(CLIENT_UID);
    assert_eq!(channel.ask("Helper/UnitStatus", &status("nginx.service")).refused().code, "unsupported");
    assert_eq!(channel.ask("Helper/PackageInstall", &install(&["hello"])).refused().code, "unsupported");
}

#[test]
fn each_verb_of_packages_is_its_own_transaction_with_its_own_record() {
    let verbs =
        ["package.remove", "package.purge", "package.autoremove", "package.upgrade", "package.repair"];
    let marks = ["package.hold", "package.unhold"];
    let world = World::new(|_| {
        let named = rule("named", &[verbs[0], verbs[1], verbs[3], marks[0], marks[1]]);
        vec![root::Rule { packages: strings(&["hello", "*"]), ..named }, rule("rest", &[verbs[2], verbs[4]])]
    });
    let mut channel = world.connect(CLIENT_UID);
    let names = || strings(&["hello"]);
    let mut ask = |method: &str, message: &[u8], action| {
        let steps = vec![wire::PackageStep { old: "1".to_owned(), ..step(action, "hello") }];
        let packages = vec![info("hello")];
        apt(&world, steps.clone(), &root::JobOutcome { steps, packages, ..root::JobOutcome::default() });
        let stream = channel.send(&format!("Helper/{method}"), message);
        let answer = channel.answer(stream);
        assert_eq!(answer.completed().status(), Status::Done, "{method}: {answer:?}");
        let job = root::Job::decode(std::fs::read(world.path("job.pb")).unwrap().as_slice()).unwrap();
        let end = world.log().into_iter().rfind(|line| line.contains("\"event\":\"end\"")).unwrap();
        let undo = end.split("\"undo\":").nth(1).map(|rest| rest.split("]}").next().unwrap().to_owned());
        (job, undo.unwrap_or_default())
    };
    let remove = wire::PackageRemoveRequest { meta: meta(Mode::Execute), names: names() }.encode_to_vec();
    let (job, undo) = ask("PackageRemove", &remove, wire::Action::Remove);
    assert_eq!(
        (job.kind(), job.transaction(), job.packages.len()),
        (root::JobKind::Run, root::Transaction::Remove, 1)
    );
    assert_eq!(undo, r#"{"kind":"package.install","of":{"packages":["hello""#);
    let purge = wire::PackagePurgeRequest { meta: meta(Mode::Execute), names: names() }.encode_to_vec();
    assert_eq!(ask("PackagePurge", &purge, wire::Action::Purge).0.transaction(), root::Transaction::Purge);
    let upgrade = |names: Vec<String>, all| {
        wire::PackageUpgradeRequest { meta: meta(Mode::Execute), names, all }.encode_to_vec()
    };
    let (job, _) = ask("PackageUpgrade", &upgrade(names(), false), wire::Action::Upgrade);
    assert_eq!((job.transaction(), job.packages.len()), (root::Transaction::Upgrade, 1));
    let (job, _) = ask("PackageUpgrade", &upgrade(Vec::new(), true), wire::Action::Upgrade);
    assert_eq!((job.transaction(), job.packages.len()), (root::Transaction::Upgrade, 0));
    let autoremove = wire::PackageAutoremoveRequest { meta: meta(Mode::Execute) }.encode_to_vec();
    let (job, _) = ask("PackageAutoremove", &autoremove, wire::Action::Remove);
    assert_eq!((job.transaction(), job.packages.len()), (root::Transaction::Autoremove, 0));
    let repair = wire::PackageRepairRequest { meta: meta(Mode::Execute) }.encode_to_vec();
    assert_eq!(
        ask("PackageRepair", &repair, wire::Action::Configure).0.transaction(),
        root::Transaction::Repair
    );
    let hold = wire::PackageHoldRequest { meta: meta(Mode::Execute), names: names() }.encode_to_vec();
    let (job, undo) = ask("PackageHold", &hold, wire::Action::Configure);
    assert_eq!((job.kind(), job.expected.len()), (root::JobKind::Hold, 0));
    assert_eq!(undo, r#"{"kind":"package.unhold","of":{"packages":["hello""#);
    let unhold = wire::PackageUnholdRequest { meta: meta(Mode::Execute), names: names() }.encode_to_vec();
    assert_eq!(ask("PackageUnhold", &unhold, wire::Action::Configure).0.kind(), root::JobKind::Unhold);
}

#[test]
fn an_upgrade_names_packages_or_all_and_not_both_or_neither() {
    let world = World::new(rules);
    world.systemctl("exit 0");
    let mut channel = world.connect(CLIENT_UID);
    for (names, all) in [(strings(&["hello"]), true), (Vec::new(), false)] {
        let upgrade = wire::PackageUpgradeRequest { meta: meta(Mode::Execute), names, all };
        assert_eq!(channel.ask("Helper/PackageUpgrade", &upgrade).refused().code, "invalid_argument");
    }
}

#[test]
fn a_job_that_had_nothing_to_do_is_told_as_unchanged() {
    let world = World::new(|_| vec![rule("repair", &["package.repair"])]);
    let outcome = root::JobOutcome { detail: "nothing is left half done".to_owned(), ..Default::default() };
    apt(&world, Vec::new(), &outcome);
    let repair = wire::PackageRepairRequest { meta: meta(Mode::Execute) };
    let answer = world.connect(CLIENT_UID).ask("Helper/PackageRepair", &repair);
    assert_eq!(
        (answer.completed().status(), answer.completed().message.as_str()),
        (Status::Unchanged, "nothing is left half done")
    );
}

#[test]
fn what_is_kept_back_is_told_with_the_plan_and_where_nothing_else_is_to_be_done() {
    let world =
        World::new(|_| vec![root::Rule { packages: strings(&["*"]), ..rule("all", &["package.upgrade"]) }]);
    apt(&world, Vec::new(), &root::JobOutcome::default());
    let planned = root::JobOutcome { kept_back: strings(&["held-1"]), ..root::JobOutcome::default() };
    let event = root::JobEvent { outcome: Some(planned), ..root::JobEvent::default() }.encode_to_vec();
    let framed = [u32::try_from(event.len()).unwrap().to_le_bytes().as_slice(), &event].concat();
    std::fs::write(world.path("planned"), framed).unwrap();
    let upgrade = wire::PackageUpgradeRequest { meta: meta(Mode::Execute), names: Vec::new(), all: true };
    let answer = world.connect(CLIENT_UID).ask("Helper/PackageUpgrade", &upgrade);
    let completed = answer.completed();
    assert_eq!(
        (completed.status(), completed.message.as_str()),
        (Status::Unchanged, "nothing to do; kept back: held-1")
    );
    assert_eq!(completed.plan.as_ref().unwrap().kept_back, ["held-1"]);
}

#[test]
fn a_failed_transaction_tells_what_dpkg_has_now() {
    let world = World::new(rules);
    let steps = vec![step(wire::Action::Install, "nginx-light")];
    let half = wire::PackageInfo { state: "half-configured".to_owned(), ..info("nginx-light") };
    let outcome = root::JobOutcome {
        code: "package_failed".to_owned(),
        detail: "nginx-light: its script failed".to_owned(),
        packages: vec![half],
        output: b"the tail".to_vec(),
        steps: steps.clone(),
        ..root::JobOutcome::default()
    };
    apt(&world, steps, &outcome);
    let answer = world.connect(CLIENT_UID).ask("Helper/PackageInstall", &install(&["nginx-light"]));
    let completed = answer.completed();
    assert_eq!((completed.status(), completed.code.as_str()), (Status::Failed, "package_failed"));
    assert_eq!(completed.packages[0].state, "half-configured");
    assert_eq!(answer.content(), b"the tail");
}

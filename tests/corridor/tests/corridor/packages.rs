//! Package transactions against fakes of apt and dpkg, from the plan to the record of what dpkg has.

use postern_corridor::{CLIENT_UID, World, eventually, meta, rule, strings};
use postern_proto::root::v1 as root;
use postern_proto::v1::{self as wire, Action, Mode, Status, event::Kind};
use prost::Message;
use std::fs;
use std::path::Path;

fn rules(_: &Path) -> Vec<root::Rule> {
    let packages = rule("packages", &["package.install", "package.show"]);
    vec![
        root::Rule { packages: strings(&["nginx-light", "g++", "hello*"]), max_new_packages: 2, ..packages },
        rule("update", &["package.update"]),
    ]
}

pub fn install(names: &[&str]) -> wire::PackageInstallRequest {
    let package = |name: &&str| wire::Package { name: (*name).to_owned(), version: String::new() };
    wire::PackageInstallRequest { meta: meta(Mode::Execute), packages: names.iter().map(package).collect() }
}

pub fn step(action: Action, name: &str) -> wire::PackageStep {
    let (old, new) = match action {
        Action::Install => ("", "1"),
        Action::Remove | Action::Purge => ("1", ""),
        Action::Downgrade => ("2", "1"),
        _ => ("1", "2"),
    };
    wire::PackageStep {
        action: action.into(),
        name: name.to_owned(),
        arch: "amd64".to_owned(),
        old: old.to_owned(),
        new: new.to_owned(),
        ..Default::default()
    }
}

/// The line of a simulation for a step.
fn simulated(step: &wire::PackageStep) -> String {
    let wire::PackageStep { name, old, new, .. } = step;
    match step.action() {
        Action::Install => format!("Inst {name} ({new} Debian:12 [amd64])\n"),
        Action::Remove => format!("Remv {name} [{old}]\n"),
        Action::Purge => format!("Purg {name} [{old}]\n"),
        Action::Configure => format!("Conf {name} ({new} Debian:12 [amd64])\n"),
        _ => format!("Inst {name} [{old}] ({new} Debian:12 [amd64])\n"),
    }
}

/// The line of a transaction for a step, as apt-get tells its hooks.
fn hooked(step: &wire::PackageStep) -> String {
    let line = |version: &str| if version.is_empty() { "- -".to_owned() } else { format!("{version} amd64") };
    let (file, way) = match step.action() {
        Action::Remove | Action::Purge => ("**REMOVE**".to_owned(), ">"),
        Action::Configure => ("**CONFIGURE**".to_owned(), "="),
        Action::Downgrade => (format!("/var/cache/apt/archives/{}.deb", step.name), ">"),
        _ => (format!("/var/cache/apt/archives/{}.deb", step.name), "<"),
    };
    format!("{} {} none {way} {} none {file}\n", step.name, line(&step.old), line(&step.new))
}

/// An apt-get that simulates `planned` and then does `done`, ending so, and a dpkg that has these packages in this state
/// afterwards.
pub fn apt(world: &World, planned: &[wire::PackageStep], done: &[wire::PackageStep], state: &str, end: &str) {
    fs::write(world.path("plan"), planned.iter().map(simulated).collect::<String>()).unwrap();
    let lines = done.iter().map(hooked).collect::<String>();
    fs::write(world.path("transaction"), format!("VERSION 3\nAPT::Architecture=amd64\n\n{lines}")).unwrap();
    let here = world.text("");
    let first = done.first().map_or("x", |step| step.name.as_str());
    world.program(
        "apt-get",
        &format!(
            "for word; do
                case $word in -s) cat {here}/plan; exit ;; DPkg::Pre-Install-Pkgs::=*) hook=${{word#*=}} ;; esac
             done
             [ -n \"$hook\" ] || exit 0
             say 'pmstatus:{first}:50:Unpacking'
             $hook <{here}/transaction || exit 100
             touch {here}/acted; {end}"
        ),
    );
    let row = |name: &str, state: &str, version: &str| {
        format!("printf '{name}\\tamd64\\tinstall\\t{state}\\t{version}\\tno\\t\\toptional\\t100\\tx\\n'\n")
    };
    let before = planned.iter().filter(|step| !step.old.is_empty());
    let before = before.map(|step| row(&step.name, "installed", &step.old)).collect::<String>();
    let after = done.iter().map(|step| {
        let version = if step.new.is_empty() { &step.old } else { &step.new };
        row(&step.name, state, version)
    });
    let after = after.collect::<String>();
    drop(fs::remove_file(world.path("acted")));
    world.program("dpkg-query", &format!("if [ -e {here}/acted ]; then :\n{after}\nelse :\n{before}\nfi"));
    world.program(
        "dpkg",
        "case $1 in --print-architecture) echo amd64 ;; --compare-versions) test $2 -$3 $4 ;; esac",
    );
}

fn ask(world: &World, names: &[&str]) -> postern_corridor::Answer {
    world.ask("Helper/PackageInstall", &install(names))
}

#[test]
fn an_install_is_planned_decided_under_the_lock_and_recorded() {
    let world = World::new(rules);
    let steps = vec![step(Action::Install, "nginx-common"), step(Action::Install, "nginx-light")];
    apt(&world, &steps, &steps, "installed", "");
    let answer = ask(&world, &["nginx-light"]);
    let completed = answer.completed();
    assert_eq!((completed.status(), completed.packages.len()), (Status::Done, 2), "{completed:?}");
    let plan = completed.plan.as_ref().unwrap();
    let asked: Vec<_> =
        plan.packages.iter().filter(|step| step.asked).map(|step| step.name.as_str()).collect();
    assert_eq!(asked, ["nginx-light"]);
    let half = |event: &wire::Event| matches!(&event.kind, Some(Kind::Progress(p)) if p.percent == 50);
    assert!(answer.events.iter().any(half), "{:?}", answer.events);
    eventually("a job's directory is left", || fs::read_dir(world.path("root/jobs")).unwrap().count() == 0);
    let end = &world.records("end")[0];
    assert_eq!(end["outcome"]["packages"].as_array().map(Vec::len), Some(2), "{end}");
    assert!(completed.undoable);
}

#[test]
fn stops_apt_where_the_transaction_is_not_the_planned_one() {
    let world = World::new(rules);
    let planned = vec![step(Action::Install, "nginx-light")];
    let done = [planned.clone(), vec![step(Action::Remove, "curl")]].concat();
    apt(&world, &planned, &done, "installed", "");
    let answer = ask(&world, &["nginx-light"]);
    let completed = answer.completed();
    assert_eq!((completed.status(), completed.code.as_str()), (Status::Failed, "plan_changed"));
    assert!(completed.message.contains("curl"), "{}", completed.message);
    assert!(!world.path("acted").exists());
    assert_eq!((world.count("begin"), world.count("end")), (1, 1));
}

#[test]
fn refuses_a_plan_beyond_the_rule_and_runs_nothing() {
    let world = World::new(rules);
    let three = ["a1", "b1", "c1"].map(|name| step(Action::Install, name)).to_vec();
    let cases = [
        (three, "plan_refused"),
        (vec![step(Action::Remove, "curl")], "plan_refused"),
        (vec![step(Action::Purge, "curl")], "plan_refused"),
        (vec![step(Action::Downgrade, "nginx-light")], "plan_refused"),
        (vec![step(Action::Upgrade, "libx")], "plan_refused"),
        (vec![step(Action::Remove, "systemd")], "protected"),
        (vec![step(Action::Upgrade, "postern")], "protected"),
    ];
    for (steps, code) in cases {
        apt(&world, &steps, &steps, "installed", "");
        assert_eq!(ask(&world, &["nginx-light"]).refused().code, code, "{steps:?}");
    }
    assert_eq!(world.count("begin"), 0);
}

#[test]
fn hostile_package_names_never_reach_a_program() {
    let world = World::new(|_| {
        vec![root::Rule { packages: strings(&["*"]), ..rule("all", &["package.install", "package.show"]) }]
    });
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
fn a_package_that_is_installed_already_is_unchanged() {
    let world = World::new(rules);
    apt(&world, &[], &[], "installed", "");
    assert_eq!(ask(&world, &["hello"]).completed().status(), Status::Unchanged);
}

#[test]
fn a_failed_transaction_is_answered_with_its_output_and_what_dpkg_has() {
    let world = World::new(rules);
    let steps = vec![step(Action::Install, "hello")];
    let end = "say 'pmerror:hello:50:installed hello package post-installation script subprocess returned error exit status 3'; echo what apt said; exit 100";
    apt(&world, &steps, &steps, "half-configured", end);
    let answer = ask(&world, &["hello"]);
    let completed = answer.completed();
    assert_eq!((completed.status(), completed.code.as_str()), (Status::Failed, "package_failed"));
    assert_eq!(completed.packages[0].state, "half-configured");
    assert!(String::from_utf8_lossy(&answer.content()).contains("what apt said"), "{answer:?}");
}

#[test]
fn a_restarted_recorder_learns_the_outcome_of_a_running_transaction() {
    let mut world = World::new(rules);
    let steps = vec![step(Action::Install, "hello")];
    let wait = format!("while [ ! -e {} ]; do sleep 0.01; done", world.text("go"));
    apt(&world, &steps, &steps, "installed", &wait);
    let request = install(&["hello"]);
    let mut client = world.connect(CLIENT_UID);
    let stream = client.send("Helper/PackageInstall", &request.encode_to_vec());
    eventually("apt-get runs", || world.path("acted").exists());
    world.cut_recorder();
    fs::write(world.path("go"), "").unwrap();
    let completed = client.answer(stream).completed().clone();
    assert_eq!((completed.status(), completed.packages.len()), (Status::Done, 1));
    assert_eq!((world.count("begin"), world.count("end"), world.count("interrupted")), (1, 1, 0));
}

#[test]
fn each_verb_of_packages_is_its_own_transaction_with_its_own_undo() {
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
        drop(fs::remove_file(world.path("apt-get.argv")));
        let steps = vec![step(action, "hello")];
        let state =
            if matches!(action, Action::Remove | Action::Purge) { "config-files" } else { "installed" };
        apt(&world, &steps, &steps, state, "");
        let stream = channel.send(&format!("Helper/{method}"), message);
        let answer = channel.answer(stream);
        assert_eq!(answer.completed().status(), Status::Done, "{method}: {answer:?}");
        let end = world.records("end").pop().unwrap();
        (world.noted("apt-get", "argv"), end["undo"]["kind"].as_str().unwrap_or_default().to_owned())
    };
    let has = |argv: &[String], word: &str| argv.iter().any(|known| known == word);
    let remove = wire::PackageRemoveRequest { meta: meta(Mode::Execute), names: names() }.encode_to_vec();
    let (argv, undo) = ask("PackageRemove", &remove, Action::Remove);
    assert!(has(&argv, "remove") && undo == "package.install", "{argv:?} {undo}");
    let purge = wire::PackagePurgeRequest { meta: meta(Mode::Execute), names: names() }.encode_to_vec();
    assert!(has(&ask("PackagePurge", &purge, Action::Purge).0, "purge"));
    let upgrade = |names: Vec<String>, all| {
        wire::PackageUpgradeRequest { meta: meta(Mode::Execute), names, all }.encode_to_vec()
    };
    assert!(has(&ask("PackageUpgrade", &upgrade(names(), false), Action::Upgrade).0, "--only-upgrade"));
    assert!(has(&ask("PackageUpgrade", &upgrade(Vec::new(), true), Action::Upgrade).0, "upgrade"));
    let autoremove = wire::PackageAutoremoveRequest { meta: meta(Mode::Execute) }.encode_to_vec();
    assert!(has(&ask("PackageAutoremove", &autoremove, Action::Remove).0, "autoremove"));
}

#[test]
fn an_upgrade_names_packages_or_all_and_not_both_or_neither() {
    let world = World::new(rules);
    let mut channel = world.connect(CLIENT_UID);
    for (names, all) in [(strings(&["hello"]), true), (Vec::new(), false)] {
        let upgrade = wire::PackageUpgradeRequest { meta: meta(Mode::Execute), names, all };
        assert_eq!(channel.ask("Helper/PackageUpgrade", &upgrade).refused().code, "invalid_argument");
    }
}

#[test]
fn kept_back_packages_are_in_the_plan_and_in_the_answer_where_nothing_else_is_to_do() {
    let world =
        World::new(|_| vec![root::Rule { packages: strings(&["*"]), ..rule("all", &["package.upgrade"]) }]);
    apt(&world, &[], &[], "installed", "");
    fs::write(world.path("plan"), "The following packages have been kept back:\n  held-1\n").unwrap();
    let upgrade = wire::PackageUpgradeRequest { meta: meta(Mode::Execute), names: Vec::new(), all: true };
    let answer = world.ask("Helper/PackageUpgrade", &upgrade);
    let completed = answer.completed();
    assert_eq!(
        (completed.status(), completed.message.as_str()),
        (Status::Unchanged, "nothing to do; kept back: held-1")
    );
    assert_eq!(completed.plan.as_ref().unwrap().kept_back, ["held-1"]);
}

/// Rules that let packages be changed in every way, and undone.
pub fn all_ways(_: &Path) -> Vec<root::Rule> {
    let verbs = ["package.install", "package.remove", "package.purge", "package.upgrade", "request.undo"];
    vec![root::Rule {
        packages: strings(&["*"]),
        versions: strings(&["*"]),
        allow_upgrades: true,
        allow_removals: true,
        allow_downgrades: true,
        ..rule("all", &verbs)
    }]
}

fn back(id: &str) -> wire::RequestUndoRequest {
    wire::RequestUndoRequest { meta: meta(Mode::Execute), of: id.to_owned() }
}

#[test]
fn an_install_is_undone_by_exactly_the_recorded_steps() {
    let world = World::new(all_ways);
    let names = ["nginx-common", "nginx-light"];
    let steps = names.map(|name| step(Action::Install, name));
    apt(&world, &steps, &steps, "installed", "");
    let request = install(&["nginx-light"]);
    assert!(world.ask("Helper/PackageInstall", &request).completed().undoable);
    let id = request.meta.unwrap().request_id;
    let gone = names.map(|name| step(Action::Remove, name));
    // apt would remove one more: nothing is removed.
    let more = [gone.to_vec(), vec![step(Action::Remove, "curl")]].concat();
    apt(&world, &gone, &more, "config-files", "");
    let answer = world.ask("Helper/RequestUndo", &back(&id));
    assert_eq!(
        (answer.completed().status(), answer.completed().code.as_str()),
        (Status::Failed, "undo_conflict")
    );
    assert!(!world.path("acted").exists());
    drop(fs::remove_file(world.path("apt-get.argv")));
    apt(&world, &gone, &gone, "config-files", "");
    let answer = world.ask("Helper/RequestUndo", &back(&id));
    assert_eq!(answer.completed().status(), Status::Done, "{:?}", answer.completed());
    let plan = answer.completed().plan.clone().unwrap();
    assert_eq!(plan.packages.iter().map(|step| step.name.as_str()).collect::<Vec<_>>(), names);
    let argv = world.noted("apt-get", "argv");
    assert!(argv.iter().any(|word| word == "remove") && !argv.iter().any(|word| word == "-s"), "{argv:?}");
    assert_eq!(world.ask("Helper/RequestUndo", &back(&id)).refused().code, "undo_gone");
}

#[test]
fn an_upgrade_is_undone_only_if_a_person_agrees() {
    let world = World::new(all_ways);
    let up = [step(Action::Upgrade, "hello")];
    apt(&world, &up, &up, "installed", "");
    let request =
        wire::PackageUpgradeRequest { meta: meta(Mode::Execute), names: strings(&["hello"]), all: false };
    assert!(world.ask("Helper/PackageUpgrade", &request).completed().undoable);
    let id = request.meta.unwrap().request_id;
    let down = [step(Action::Downgrade, "hello")];
    apt(&world, &down, &down, "installed", "");
    let mut client = world.connect(CLIENT_UID);
    let (stream, waiting) = crate::approvals::ask(&mut client, "Helper/RequestUndo", &back(&id));
    assert!(!world.path("acted").exists());
    world.operator(postern_corridor::OPERATOR).approve(&waiting.approval_id).unwrap();
    let answer = client.answer(stream);
    assert_eq!(answer.completed().status(), Status::Done, "{:?}", answer.completed());
    assert_eq!(answer.completed().plan.as_ref().unwrap().packages[0].action(), Action::Downgrade);
}

/// Installs a package, and has apt remove it from now on. Returns the id of the request that can be undone.
pub fn installed(world: &World) -> String {
    let steps = [step(Action::Install, "hello")];
    apt(world, &steps, &steps, "installed", "");
    let request = install(&["hello"]);
    assert!(world.ask("Helper/PackageInstall", &request).completed().undoable);
    let gone = [step(Action::Remove, "hello")];
    apt(world, &gone, &gone, "config-files", "");
    request.meta.unwrap().request_id
}

#[test]
fn an_operator_undoes_an_installation() {
    let world = World::new(rules);
    let id = installed(&world);
    let undone =
        crate::undo::undo(&mut world.operator(postern_corridor::OPERATOR), &crate::undo::of(&id)).unwrap();
    assert_eq!(undone[0].code, "", "{undone:?}");
    assert!(world.path("acted").exists());
}

#[test]
fn shows_what_dpkg_and_apt_know_of_a_package() {
    let world = World::new(rules);
    world.program("dpkg", "case $1 in --print-architecture) echo amd64 ;; esac");
    world.program(
        "dpkg-query",
        "printf 'hello\tamd64\tinstall\tinstalled\t1\tno\t\toptional\t100\ta greeting\n'",
    );
    let show =
        wire::PackageShowRequest { meta: meta(Mode::Execute), names: strings(&["hello", "hello-none"]) };
    let answer = world.ask("Helper/PackageShow", &show);
    let packages = &answer.completed().packages;
    assert_eq!((packages[0].state.as_str(), packages[0].installed.as_str()), ("installed", "1"));
    assert_eq!(packages[1].state, "not-found");
    let denied = wire::PackageShowRequest { meta: meta(Mode::Execute), names: strings(&["sudo"]) };
    assert_eq!(world.ask("Helper/PackageShow", &denied).refused().code, "no_grant");
    assert_eq!((world.count("served"), world.count("refused"), world.count("begin")), (1, 1, 0));
}

/// Row 11: as many packages as one request names can be taken back, and the plan says before it happens what cannot be.
#[test]
fn of_64_packages_the_plan_says_that_they_can_be_taken_back_and_of_65_that_they_cannot() {
    for count in [64, 65] {
        let world = World::new(|at| {
            all_ways(at).into_iter().map(|rule| root::Rule { max_new_packages: 100, ..rule }).collect()
        });
        let names = (0..count).map(|number| format!("p{number:02}")).collect::<Vec<_>>();
        let steps = |action| names.iter().map(|name| step(action, name)).collect::<Vec<_>>();
        apt(&world, &steps(Action::Install), &steps(Action::Install), "installed", "");
        let request = install(&["p00"]);
        let look = wire::PackageInstallRequest { meta: meta(Mode::Preview), ..request.clone() };
        let planned = world.ask("Helper/PackageInstall", &look).completed().plan.clone().unwrap();
        assert_eq!((planned.packages.len(), planned.not_undoable), (count, count > 64));
        let answer = world.ask("Helper/PackageInstall", &request);
        let completed = answer.completed();
        assert_eq!((completed.status(), completed.undoable), (Status::Done, count <= 64), "{count}");
        apt(&world, &steps(Action::Remove), &steps(Action::Remove), "config-files", "");
        let undone = world.ask("Helper/RequestUndo", &back(&request.meta.unwrap().request_id));
        if count > 64 {
            assert_eq!(undone.refused().code, "undo_gone");
        } else {
            assert_eq!(undone.completed().status(), Status::Done, "{:?}", undone.completed());
        }
    }
}

/// The plan knows what postern-packages does: an upgrade that also installs is undone but for what it installed.
#[test]
fn the_plan_promises_an_undo_exactly_where_one_is_issued() {
    let both = |name: &str| {
        let arm = wire::PackageStep { arch: "arm64".to_owned(), ..step(Action::Install, name) };
        vec![step(Action::Install, name), arm]
    };
    for (steps, is_undoable) in [
        (vec![step(Action::Install, "a1"), step(Action::Upgrade, "b1")], true),
        (vec![step(Action::Upgrade, "b1")], false),
        (both("a1"), false),
    ] {
        let world = World::new(all_ways);
        apt(&world, &steps, &steps, "installed", "");
        let request = install(&["a1"]);
        let look = wire::PackageInstallRequest { meta: meta(Mode::Preview), ..request.clone() };
        let look = world.ask("Helper/PackageInstall", &look);
        let plan = look.completed().plan.as_ref().unwrap();
        let answer = world.ask("Helper/PackageInstall", &request);
        let told = (!plan.not_undoable, answer.completed().undoable);
        assert_eq!(told, (is_undoable, is_undoable), "{steps:?}: {:?}", answer.completed());
    }
}

//! Orders of a captured broker for units, packages and commands.

use super::{approved, claim, execute, is_recorded, order};
use crate::commands::{command, program};
use postern_corridor::{OPERATOR, World, meta_with, new_id, rule, strings};
use postern_proto::root::v1 as root;
use postern_proto::v1::{self as wire, Mode};
use prost::Message;
use std::fs;

/// An apt-get that installs the one package that it is asked for, and appends its name to `ran`.
pub fn installs(world: &World) {
    let here = world.text("");
    world.program(
        "apt-get",
        &format!(
            "for word; do
                case $word in DPkg::Pre-Install-Pkgs::=*) hook=${{word#*=}} ;; *:native) name=${{word%:native}} ;; esac
             done
             [ -n \"$hook\" ] || exit 0
             printf 'VERSION 3\\nAPT::Architecture=amd64\\n\\n%s - - none < 1 amd64 none /%s.deb\\n' $name $name |
                $hook || exit 100
             echo $name >>{here}/ran; echo $name >>{here}/installed"
        ),
    );
    fs::write(world.path("installed"), "").unwrap();
    world.program(
        "dpkg-query",
        &format!(
            "for name in $(cat {here}/installed); do
                printf \"$name\\tamd64\\tinstall\\tinstalled\\t1\\tno\\t\\toptional\\t100\\tx\\n\"; done"
        ),
    );
}

/// Units, packages and commands: one of each is granted, one is asked for, one has no rule.
fn others() -> World {
    let world = World::with(|at| {
        let append =
            |name: &str| command(name, &[&program(at, name, &format!("echo {name} >>{}/ran", at.display()))]);
        let granted = root::Rule {
            units: strings(&["granted.service"]),
            packages: strings(&["granted"]),
            commands: strings(&["granted"]),
            ..rule("granted", &[])
        };
        let of = |id: &str, verb: &str| root::Rule {
            id: id.to_owned(),
            verbs: strings(&[verb]),
            ..granted.clone()
        };
        let mut rules = Vec::new();
        for (family, verb) in
            [("unit", "unit.restart"), ("package", "package.install"), ("command", "command.run")]
        {
            let mut one = of(family, verb);
            one.units.retain(|_| family == "unit");
            one.packages.retain(|_| family == "package");
            one.commands.retain(|_| family == "command");
            let mut asked = root::Rule {
                id: format!("{family}-asked"),
                decision: root::Decision::Ask.into(),
                ..one.clone()
            };
            asked.units.iter_mut().for_each(|name| "asked.service".clone_into(name));
            asked.packages.iter_mut().chain(&mut asked.commands).for_each(|name| "asked".clone_into(name));
            rules.extend([one, asked]);
        }
        let commands = ["granted", "asked", "other"].map(append).into();
        root::Rules { rules, commands, ..root::Rules::default() }
    });
    world.systemctl(&format!(
        "for unit; do :; done
         case $1 in show) printf 'Id=%s\nNames=%s\nLoadState=loaded\nActiveState=active\n' $unit $unit;;
         restart) echo $unit >>{}/ran;; esac",
        world.text("")
    ));
    installs(&world);
    world
}

/// An order for what is not a file, with facts that are true.
pub fn other_order(world: &World, id: &str, family: &str, name: &str) -> (root::Claim, root::Order) {
    let meta = meta_with(id, Mode::Execute);
    let (verb, target, body, facts) = match family {
        "units" => {
            let unit = format!("{name}.service");
            let state = root::UnitState {
                id: unit.clone(),
                names: vec![unit.clone()],
                load: "loaded".to_owned(),
                active: "active".to_owned(),
                ..root::UnitState::default()
            };
            let facts = root::UnitFacts { unit: Some(state), affected: Vec::new() };
            let facts = root::Facts { unit: Some(facts), ..root::Facts::default() };
            let body = wire::UnitRestartRequest { meta, unit: unit.clone() }.encode_to_vec();
            ("unit.restart", unit, body, Some(facts))
        }
        "packages" => {
            let step = wire::PackageStep {
                action: wire::Action::Install.into(),
                name: name.to_owned(),
                arch: "amd64".to_owned(),
                new: "1".to_owned(),
                ..wire::PackageStep::default()
            };
            let packages = root::PackageFacts { steps: vec![step], ..root::PackageFacts::default() };
            let facts = root::Facts { packages: Some(packages), ..root::Facts::default() };
            let packages = vec![wire::Package { name: name.to_owned(), version: String::new() }];
            let body = wire::PackageInstallRequest { meta, packages }.encode_to_vec();
            ("package.install", name.to_owned(), body, Some(facts))
        }
        _ => {
            let name = name.to_owned();
            let body = wire::CommandRunRequest { meta, name: name.clone(), parameters: Vec::new() };
            ("command.run", name, body.encode_to_vec(), None)
        }
    };
    let order =
        root::Order { verb: verb.to_owned(), body, contents: Vec::new(), facts, ..order(world, id, "", b"") };
    (root::Claim { family: family.to_owned(), ..claim(world, id, verb, &target) }, order)
}

#[test]
fn gets_no_unit_package_or_command_that_no_rule_grants_or_that_a_rule_marks_ask() {
    let world = others();
    let families = ["units", "packages", "commands"];
    for family in families {
        for (name, code) in [("other", "no_grant"), ("asked", "not_approved")] {
            // Claimed as allowed, so that nobody is asked, and with another family's name as with its own.
            for claimed in families {
                let id = new_id();
                let (claim, order) = other_order(&world, &id, family, name);
                let claim = root::Claim { family: claimed.to_owned(), ..claim };
                assert_eq!(execute(&world, claim, &order, b"").code(), code, "{family} {name} to {claimed}");
            }
        }
    }
    let acts =
        world.calls().into_iter().filter(|call| !["show", "cat", "is-enabled"].contains(&call[0].as_str()));
    assert_eq!(acts.collect::<Vec<_>>(), Vec::<Vec<String>>::new());
    assert!(!world.path("ran").exists());
    is_recorded(&world, 18);
    // The control: what is granted is done, and what is asked for once a person agrees.
    for family in families {
        let id = new_id();
        let (claim, order) = other_order(&world, &id, family, "granted");
        let reply = execute(&world, claim, &order, b"");
        assert!(reply.is_done(), "{family}: {reply:?}");
        let id = new_id();
        let (claim, order) = other_order(&world, &id, family, "asked");
        let asked = root::Claim { decision: "ask".to_owned(), ..claim };
        let reply = approved(&world, asked, &order, b"", &[OPERATOR]);
        assert!(reply.is_done(), "{family}: {reply:?}");
    }
    let ran = fs::read_to_string(world.path("ran")).unwrap();
    assert_eq!(
        ran.lines().collect::<Vec<_>>(),
        ["granted.service", "asked.service", "granted", "asked", "granted", "asked"]
    );
}

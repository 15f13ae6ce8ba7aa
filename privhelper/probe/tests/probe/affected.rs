//! Units that change along, from properties on the bus. The rule itself is tested with the policy library.

use crate::support::{Reply, World};
use postern_proto::link::Kind;
use postern_proto::root::v1::ProbeUnit;
use std::fs;

/// Name, active state and more properties of a unit.
type Unit<'a> = (&'a str, &'a str, &'a [(&'a str, &'a str)]);

fn world(units: &[Unit<'_>]) -> World {
    let world = World::new(Vec::new());
    for (name, active, more) in units {
        world.bus.unit(name, active, more);
    }
    world
}

fn ask_now(world: &World, unit: &str, action: &str) -> Reply {
    world.probe(Kind::ProbeUnit, &ProbeUnit { unit: unit.to_owned(), action: action.to_owned(), now: true })
}

#[test]
fn follows_every_dependency_through_units_that_change() {
    let world = world(&[
        (
            "app.service",
            "inactive",
            &[
                ("Requires", "-.slice db.service"),
                ("Wants", "mid.target up.service"),
                ("Conflicts", "foe.service"),
                ("OnFailure", "mail@app.service"),
            ],
        ),
        ("db.service", "inactive", &[]),
        ("mid.target", "inactive", &[("Wants", "deep.service")]),
        ("up.service", "active", &[("Wants", "never.service")]),
        ("deep.service", "failed", &[]),
        ("foe.service", "active", &[("RequiredBy", "friend.service")]),
        ("friend.service", "active", &[]),
        ("mail@app.service", "inactive", &[]),
    ]);
    let reply = world.ask_unit("app.service", "start");
    let wanted = [
        "start db.service",
        "start deep.service",
        "start mail@app.service",
        "start mid.target",
        "stop foe.service",
        "stop friend.service",
    ];
    assert_eq!(reply.affected(), wanted);
    let causes = reply.unit().affected.iter().map(|other| other.cause.as_str()).collect::<Vec<_>>();
    assert!(causes.contains(&"Wants= of mid.target"), "{causes:?}");
    // Each unit is asked for once, and none that no job reaches.
    let mut calls = world.bus.calls();
    calls.sort();
    let asked = calls.len();
    calls.dedup();
    assert_eq!((asked, calls.contains(&"GetAll never.service".to_owned())), (8, false), "{calls:?}");
}

#[test]
fn each_action_has_its_own_effects() {
    let world = world(&[
        ("app.service", "active", &[("RequiredBy", "web.service"), ("PropagatesReloadTo", "log.service")]),
        ("web.service", "active", &[]),
        ("log.service", "active", &[]),
    ]);
    for (action, wanted) in [
        ("start", ""),
        ("stop", "stop web.service"),
        ("restart", "restart web.service"),
        ("try-restart", "restart web.service"),
        ("reload", "reload log.service"),
        ("reset-failed", ""),
        ("mask", ""),
        ("unmask", ""),
    ] {
        assert_eq!(world.ask_unit("app.service", action).affected().join(" "), wanted, "{action}");
    }
    assert_eq!(ask_now(&world, "app.service", "mask").affected(), ["stop web.service"]);
}

#[test]
fn enabling_reads_the_files_of_the_unit_and_of_those_enabled_along() {
    let world = World::new(Vec::new());
    let [own, drop_in, also] = ["app.service", "10.conf", "also.service"].map(|name| world.path(name));
    fs::write(
        &own,
        "[Install]\nAlias=web.service\nWantedBy=multi-user.target\nAlso=also.service gone.service\n",
    )
    .unwrap();
    fs::write(&drop_in, "[Install]\nRequiredBy=db.service\n").unwrap();
    fs::write(&also, "[Install]\nAlias=other.service\n").unwrap();
    let [own, drop_in, also] = [own, drop_in, also].map(|path| path.display().to_string());
    world.bus.unit("app.service", "inactive", &[("FragmentPath", &own), ("DropInPaths", &drop_in)]);
    world.bus.unit("also.service", "inactive", &[("FragmentPath", &also)]);
    for name in ["web.service", "db.service", "other.service"] {
        world.bus.unit(name, "active", &[]);
    }
    let reply = world.ask_unit("app.service", "enable");
    let wanted = [
        "enable also.service",
        "enable db.service",
        "enable gone.service",
        "enable other.service",
        "enable web.service",
    ];
    assert_eq!(reply.affected(), wanted);
    fs::remove_file(&drop_in).unwrap();
    let reply = world.ask_unit("app.service", "enable");
    assert_eq!(reply.code(), "unsupported", "a file that cannot be read may say anything");
    assert!(reply.message().contains(&drop_in), "{reply:?}");
    world.bus.unit("app.service", "inactive", &[]);
    assert_eq!(world.ask_unit("app.service", "enable").code(), "unsupported", "a unit without a file");
}

#[test]
fn disabling_takes_the_links_that_systemd_lists() {
    let world = world(&[
        ("app.service", "active", &[]),
        ("db.service", "active", &[]),
        ("web.service", "active", &[]),
    ]);
    let links = ["/etc/systemd/system/web.service", "/etc/systemd/system/db.service.requires/app.service"];
    world.bus.links("app.service", &links);
    assert_eq!(
        world.ask_unit("app.service", "disable").affected(),
        ["disable db.service", "disable web.service"]
    );
    assert!(world.bus.calls().contains(&"GetUnitFileLinks app.service".to_owned()));
}

#[test]
fn refuses_to_act_at_once_on_files_that_changed_since_systemd_read_them() {
    let world = world(&[("app.service", "active", &[("NeedDaemonReload", "yes")])]);
    world.bus.links("app.service", &[]);
    assert_eq!(ask_now(&world, "app.service", "disable").code(), "precondition_failed");
    assert_eq!(world.ask_unit("app.service", "disable").code(), "");
}

#[test]
fn a_stop_affects_units_that_are_no_longer_needed() {
    let world = world(&[
        ("app.service", "active", &[("Wants", "helper.service db.service")]),
        ("helper.service", "active", &[("StopWhenUnneeded", "yes")]),
        ("db.service", "active", &[]),
    ]);
    assert_eq!(world.ask_unit("app.service", "stop").affected(), ["stop helper.service"]);
}

#[test]
fn refuses_too_large_closures() {
    let names = (0..80).map(|number| format!("u{number}.service")).collect::<Vec<_>>();
    let world = World::new(Vec::new());
    world.bus.unit("app.service", "inactive", &[("Wants", &names.join(" "))]);
    assert_eq!(world.ask_unit("app.service", "start").code(), "plan_too_large");
    assert_eq!(world.bus.calls().len(), 1, "none of them is loaded");
}

#[test]
fn names_with_every_character_reach_the_unit_that_is_meant() {
    for name in ["a-b_c.d:e@f\\x2dg.service", "0digit.service", "UPPER9.timer", "_.socket"] {
        let world = world(&[(name, "active", &[])]);
        assert_eq!(world.ask_unit(name, "").unit().unit.clone().unwrap().id, name);
    }
}

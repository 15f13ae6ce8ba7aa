//! Units that change along with the one of a request, against a fake systemctl that knows several.

use crate::approvals::ask;
use crate::undo::{of as undo_of, undo};
use postern_corridor::{Answer, CLIENT_UID, OPERATOR, World, meta, rule, strings};
use postern_proto::root::v1 as root;
use postern_proto::v1::{self as wire, Mode, Status};
use prost::Message;
use std::fs;

const CHANGE: &[&str] =
    &["unit.start", "unit.stop", "unit.restart", "unit.reload", "unit.enable", "unit.disable"];

fn granted(cascade: bool) -> root::Rule {
    root::Rule { units: strings(&["app.service"]), allow_cascade: cascade, ..rule("app", CHANGE) }
}

fn denied(units: &[&str]) -> root::Rule {
    let never = root::Rule { units: strings(units), ..rule("never", CHANGE) };
    root::Rule { decision: root::Decision::Deny.into(), ..never }
}

fn asked(rule: root::Rule) -> root::Rule {
    root::Rule { decision: root::Decision::Ask.into(), approval_ttl_s: 900, approvers: 1, ..rule }
}

/// A systemctl that knows these units, each as `NAME ACTIVE PROPERTY=VALUE;…`, and changes none.
fn systemctl(world: &World, units: &[&str]) {
    let directory = world.path("units");
    drop(fs::remove_dir_all(&directory));
    fs::create_dir_all(&directory).unwrap();
    for unit in units {
        let mut words = unit.splitn(3, ' ');
        let (id, active) = (words.next().unwrap(), words.next().unwrap());
        let more = words.next().unwrap_or_default().replace(';', "\n");
        let text = format!(
            "Id={id}\nNames={id}\nLoadState=loaded\nActiveState={active}\nUnitFileState=enabled\n{more}\n"
        );
        fs::write(directory.join(id), text).unwrap();
    }
    let at = directory.display();
    world.systemctl(&format!(
        "verb=$1; for last; do :; done
        while [ \"$1\" != -- ]; do shift; done; shift
        case $verb in
        cat) cat {at}.$last.install || echo '[Install]';;
        is-enabled) cat {at}.$last.links;;
        show) for unit; do cat {at}/$unit || printf 'Id=%s\\nNames=%s\\nLoadState=not-found\\nActiveState=inactive\\n' $unit $unit; echo; done;;
        esac 2>/dev/null"
    ));
}

/// Sets the text of a unit's files, or the links to it.
fn file(world: &World, unit: &str, kind: &str, text: &str) {
    fs::write(world.path(&format!("units.{unit}.{kind}")), text).unwrap();
}

fn start(mode: Mode) -> wire::UnitStartRequest {
    wire::UnitStartRequest { meta: meta(mode), unit: "app.service".to_owned() }
}

fn restart(mode: Mode) -> wire::UnitRestartRequest {
    wire::UnitRestartRequest { meta: meta(mode), unit: "app.service".to_owned() }
}

fn enable() -> wire::UnitEnableRequest {
    wire::UnitEnableRequest { meta: meta(Mode::Execute), unit: "app.service".to_owned(), now: false }
}

fn send(world: &World, method: &str, message: &impl Message) -> Answer {
    world.connect(CLIENT_UID).ask(method, message)
}

/// The code of a refusal before which nothing was changed.
#[track_caller]
fn refused(world: &World, method: &str, message: &impl Message) -> String {
    let answer = send(world, method, message);
    let changes = |call: &Vec<String>| !["show", "cat", "is-enabled"].contains(&call[0].as_str());
    assert!(!world.calls().iter().any(changes), "{:?}", world.calls());
    assert_eq!(world.count("begin"), 0);
    answer.refused().code.clone()
}

fn steps(plan: Option<&wire::Plan>) -> Vec<String> {
    let step = |step: &wire::UnitStep| format!("{} {} {} {}", step.verb, step.id, step.active, step.enabled);
    plan.unwrap().units.iter().map(step).collect()
}

#[test]
fn refuses_a_start_that_would_start_a_denied_unit() {
    let world = World::new(|_| vec![granted(true), denied(&["db.service"])]);
    for property in ["Requires", "Wants", "BindsTo", "Upholds", "OnFailure"] {
        systemctl(&world, &[&format!("app.service inactive {property}=db.service"), "db.service inactive"]);
        assert_eq!(refused(&world, "Helper/UnitStart", &start(Mode::Execute)), "denied", "{property}");
    }
    // Through a unit that starts along.
    let units = [
        "app.service inactive Wants=mid.target",
        "mid.target inactive Wants=db.service",
        "db.service inactive",
    ];
    systemctl(&world, &units);
    assert_eq!(refused(&world, "Helper/UnitStart", &start(Mode::Execute)), "denied");
    systemctl(&world, &["app.service inactive Requires=db.service", "db.service active"]);
    assert_eq!(send(&world, "Helper/UnitStart", &start(Mode::Execute)).completed().status(), Status::Done);
}

#[test]
fn refuses_what_would_stop_a_denied_unit_by_any_of_its_names() {
    let world = World::new(|_| vec![granted(true), denied(&["sshd.service"])]);
    let ssh = "ssh.service active Names=ssh.service sshd.service";
    for property in ["RequiredBy", "BoundBy", "ConsistsOf", "Conflicts", "ConflictedBy", "PropagatesStopTo"] {
        systemctl(&world, &[&format!("app.service active {property}=ssh.service"), ssh]);
        assert_eq!(refused(&world, "Helper/UnitRestart", &restart(Mode::Execute)), "denied", "{property}");
    }
    systemctl(&world, &["app.service active PropagatesReloadTo=ssh.service", ssh]);
    let reload = wire::UnitReloadRequest { meta: meta(Mode::Execute), unit: "app.service".to_owned() };
    assert_eq!(refused(&world, "Helper/UnitReload", &reload), "denied");
}

#[test]
fn refuses_what_would_change_a_protected_unit_by_any_of_its_names() {
    let protect = Some(root::Protect { units: strings(&["vault.service"]), ..root::Protect::default() });
    let world =
        World::with(|_| root::Rules { rules: vec![granted(true)], protect, ..root::Rules::default() });
    let secret = "secret.service active Names=secret.service vault.service";
    systemctl(&world, &["app.service inactive Conflicts=secret.service", secret]);
    assert_eq!(refused(&world, "Helper/UnitStart", &start(Mode::Execute)), "protected");
    systemctl(
        &world,
        &["app.service inactive Wants=systemd-networkd.service", "systemd-networkd.service inactive"],
    );
    assert_eq!(refused(&world, "Helper/UnitStart", &start(Mode::Execute)), "protected");
}

#[test]
fn refuses_to_enable_what_takes_a_protected_name_or_changes_a_protected_unit() {
    let world = World::new(|_| vec![granted(true), denied(&["db.service", "t@.service"])]);
    let also = "also.service inactive";
    systemctl(&world, &["app.service inactive", "dbus.service active", "db.service active", also]);
    for (line, code) in [
        ("Alias=dbus.service", "protected"),
        ("Alias=dbus-broker.service", "protected"),
        ("RequiredBy=dbus.service", "protected"),
        ("UpheldBy=dbus.service", "protected"),
        ("WantedBy=multi-user.target dbus.service", "protected"),
        ("Also=systemd-networkd.service", "protected"),
        ("Alias=db.service", "denied"),
        ("RequiredBy=db.service", "denied"),
        ("WantedBy=t@.service", "denied"),
        ("Also=also.service", "protected"),
        ("Alias=\"x.service\"", "unsupported"),
    ] {
        file(&world, "app.service", "install", &format!("[Install]\n{line}\n"));
        file(&world, "also.service", "install", "[Install]\nAlias=dbus.service\n");
        assert_eq!(refused(&world, "Helper/UnitEnable", &enable()), code, "{line}");
    }
    file(&world, "app.service", "install", "[Install]\nWantedBy=multi-user.target\nAlias=new.service\n");
    assert_eq!(send(&world, "Helper/UnitEnable", &enable()).completed().status(), Status::Unchanged);
}

#[test]
fn refuses_to_disable_what_takes_a_dependency_from_a_protected_unit() {
    let world = World::new(|_| vec![granted(true)]);
    systemctl(&world, &["app.service active", "dbus.service active"]);
    let disable =
        |now| wire::UnitDisableRequest { meta: meta(Mode::Execute), unit: "app.service".to_owned(), now };
    let links = "enabled\n  /etc/systemd/system/multi-user.target.wants/app.service\n";
    file(
        &world,
        "app.service",
        "links",
        &format!("{links}  /etc/systemd/system/dbus.service.wants/app.service\n"),
    );
    assert_eq!(refused(&world, "Helper/UnitDisable", &disable(false)), "protected");
    file(&world, "app.service", "links", links);
    assert_eq!(send(&world, "Helper/UnitDisable", &disable(false)).completed().status(), Status::Unchanged);
    // Nothing on its output is no answer.
    file(&world, "app.service", "links", "");
    assert_eq!(send(&world, "Helper/UnitDisable", &disable(false)).refused().code, "interrupted");
}

#[test]
fn units_that_start_along_need_no_grant_and_are_in_plan_and_log() {
    let world = World::new(|_| vec![granted(false)]);
    systemctl(&world, &["app.service inactive Wants=db.service", "db.service inactive"]);
    let answer = send(&world, "Helper/UnitStart", &start(Mode::Execute));
    let completed = answer.completed();
    assert_eq!(completed.status(), Status::Done);
    assert_eq!(steps(completed.plan.as_ref()), ["start app.service inactive enabled", "start db.service  "]);
    let begin = world.log().into_iter().find(|line| line.contains("\"begin\"")).unwrap();
    assert!(
        begin.contains(
            r#"{"id":"db.service","verb":"start","active":"inactive","enabled":"enabled","cascade":true}"#
        ),
        "{begin}"
    );
    systemctl(&world, &["app.service active RequiredBy=web.service", "web.service active"]);
    let refused = send(&world, "Helper/UnitRestart", &restart(Mode::Execute));
    assert_eq!(refused.refused().code, "would_cascade");
    assert!(refused.refused().message.starts_with("web.service would be changed too"));
}

#[test]
fn before_approval_a_client_sees_no_state_that_a_rule_marks_ask() {
    let look = |decision: root::Decision| {
        let rule =
            root::Rule { units: strings(&["app.service", "web.service"]), ..rule("look", &["unit.status"]) };
        root::Rule { decision: decision.into(), approval_ttl_s: 900, approvers: 1, ..rule }
    };
    let units = ["app.service active RequiredBy=web.service", "web.service active"];
    let plans = |rules: Vec<root::Rule>| {
        let world = World::new(move |_| rules);
        systemctl(&world, &units);
        let preview = send(&world, "Helper/UnitRestart", &restart(Mode::Preview));
        let mut client = world.connect(CLIENT_UID);
        let (_, waiting) = ask(&mut client, "Helper/UnitRestart", &restart(Mode::Execute));
        // People see it: it is in the order that they approve.
        let (shown, _) = world.operator(OPERATOR).show(&waiting.approval_id);
        let order = root::Order::decode(shown.order.as_slice()).unwrap();
        let facts = order.facts.unwrap().unit.unwrap();
        assert_eq!(facts.unit.unwrap().active, "active");
        let other = &facts.affected[0];
        assert_eq!(other.unit.as_ref().unwrap().active, "active");
        assert_eq!((other.effect.as_str(), other.cause.as_str()), ("restart", "RequiredBy= of app.service"));
        let told = [steps(preview.completed().plan.as_ref()), steps(waiting.plan.as_ref())];
        assert_eq!(told[0], told[1]);
        told[0].clone()
    };
    let hidden = ["restart app.service  "];
    assert_eq!(plans(vec![asked(granted(true))]), hidden);
    assert_eq!(plans(vec![asked(granted(true)), look(root::Decision::Ask)]), hidden);
    let shown = ["restart app.service active enabled", "restart web.service active enabled"];
    assert_eq!(plans(vec![asked(granted(true)), look(root::Decision::Allow)]), shown);
    // The state that is asked for itself.
    let world = World::new(move |_| vec![look(root::Decision::Ask)]);
    systemctl(&world, &units);
    let status = wire::UnitStatusRequest {
        meta: meta(Mode::Preview),
        unit: "app.service".to_owned(),
        ..Default::default()
    };
    let preview = send(&world, "Helper/UnitStatus", &status);
    assert_eq!(steps(preview.completed().plan.as_ref()), ["status app.service  "]);
}

#[test]
fn refuses_to_act_where_another_unit_would_start_by_now() {
    let world = World::new(|_| vec![asked(granted(true))]);
    systemctl(&world, &["app.service inactive Wants=db.service", "db.service active"]);
    let mut client = world.connect(CLIENT_UID);
    let (stream, waiting) = ask(&mut client, "Helper/UnitStart", &start(Mode::Execute));
    systemctl(&world, &["app.service inactive Wants=db.service", "db.service inactive"]);
    world.operator(OPERATOR).approve(&waiting.approval_id).unwrap();
    assert_eq!(client.answer(stream).completed().code, "plan_changed");
}

#[test]
fn units_with_a_backslash_in_their_name_are_read() {
    let world = World::new(|_| vec![granted(true)]);
    let units = [r#"app.service inactive Wants="run-a\\x2db.mount""#, r"run-a\x2db.mount inactive"];
    systemctl(&world, &units);
    let preview = send(&world, "Helper/UnitStart", &start(Mode::Preview));
    let expected = ["start app.service inactive enabled", r"start run-a\x2db.mount  "];
    assert_eq!(steps(preview.completed().plan.as_ref()), expected);
}

#[test]
fn a_change_that_reaches_too_many_units_is_refused() {
    let world = World::new(|_| vec![granted(true)]);
    let others = (0..70).map(|number| format!("u{number}.service")).collect::<Vec<_>>().join(" ");
    systemctl(&world, &[&format!("app.service active RequiredBy={others}")]);
    assert_eq!(refused(&world, "Helper/UnitRestart", &restart(Mode::Execute)), "plan_too_large");
}

/// An inverse is one request about one unit: where other units would change with it, root refuses it to everybody.
#[test]
fn an_undo_that_would_affect_other_units_is_refused() {
    let granted = root::Rule {
        verbs: [CHANGE, &["request.undo"]].concat().iter().map(ToString::to_string).collect(),
        ..granted(true)
    };
    let world = World::new(|_| vec![granted]);
    let here = world.text("");
    let rival = |line: &str| {
        world.systemctl(&format!(
            "for unit; do :; done
             state=active; [ ! -e {here}/stopped ] || [ $unit != app.service ] || state=inactive
             case $1 in
             cat) echo '[Install]' ;;
             show) printf 'Id=%s\\nNames=%s\\nLoadState=loaded\\nActiveState=%s\\n' $unit $unit $state
                [ $unit != app.service ] || echo '{line}' ;;
             stop) touch {here}/stopped ;;
             start) rm {here}/stopped ;;
             esac"
        ));
    };
    rival("");
    let stop = wire::UnitStopRequest { meta: meta(Mode::Execute), unit: "app.service".to_owned() };
    assert!(world.ask("Helper/UnitStop", &stop).completed().undoable);
    let of = stop.meta.unwrap().request_id;
    let back = || wire::RequestUndoRequest { meta: meta(Mode::Execute), of: of.clone() };
    // A start would stop another unit now, which the rule permits.
    rival("Conflicts=rival.service");
    let answer = world.ask("Helper/RequestUndo", &back());
    assert_eq!(answer.completed().code, "would_cascade", "{:?}", answer.completed());
    let undone = undo(&mut world.operator(OPERATOR), &undo_of(&of)).unwrap();
    assert_eq!(undone[0].code, "would_cascade", "{undone:?}");
    assert!(world.path("stopped").exists());
    rival("");
    assert_eq!(world.ask("Helper/RequestUndo", &back()).completed().status(), Status::Done);
    assert!(!world.path("stopped").exists());
}

//! `postern doctor` on hosts in all sorts of states.

use crate::common::{Place, Play, completed, ended, refused};
use postern_agent::Exit;
use postern_agent::inspect::doctor::groups::{Membership, verdict};
use postern_agent::inspect::doctor::{State, host};
use postern_proto::v1::{self, Status};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// A host on which nothing is wrong.
fn sound(place: &Place) {
    let root = &place.host.system;
    for directory in ["var/log/postern", "var/lib/dpkg/updates", "run/systemd/timesync"] {
        fs::create_dir_all(root.join(directory)).unwrap();
    }
    fs::set_permissions(root.join("var/log/postern"), fs::Permissions::from_mode(0o750)).unwrap();
    fs::write(root.join("run/systemd/timesync/synchronized"), "").unwrap();
    status(root, "install ok installed");
}

fn status(root: &Path, of_second: &str) {
    let text = format!(
        "Package: a\nStatus: install ok installed\n\nPackage: b\nStatus: {of_second}\nVersion: 1\n\n"
    );
    fs::write(root.join("var/lib/dpkg/status"), text).unwrap();
}

fn described(grants: usize) -> v1::event::Kind {
    let grants = (0..grants).map(|_| v1::Grant::default()).collect();
    let description = Some(v1::Description { client: "agent".into(), grants });
    completed(v1::Completed { status: Status::Done.into(), description, ..v1::Completed::default() })
}

/// The doctor's JSON, by check.
fn states(text: &Value) -> Vec<(String, String)> {
    let of = |check: &Value| {
        (check["check"].as_str().unwrap().to_owned(), check["state"].as_str().unwrap().to_owned())
    };
    text["checks"].as_array().unwrap().iter().map(of).collect()
}

#[tokio::test]
async fn a_sound_host_is_ok_line_by_line() {
    let place = Place::new();
    sound(&place);
    place.helper(vec![Play::Events(vec![ended(Status::Done, "")]), Play::Events(vec![described(3)])]);
    place.serve();
    let ran = place.run(&["doctor", "--json"]).await;
    let states = states(&ran.json());
    let names: Vec<&str> = states.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        names,
        ["groups", "agent", "helper", "policy", "model", "rules", "audit", "dpkg", "landlock", "clock"]
    );
    // This test's user, and its kernel, are what they are.
    for (name, state) in &states {
        assert!(state == "ok" || matches!(name.as_str(), "groups" | "landlock"), "{name}: {}", ran.out);
    }
    let is_ok = states.iter().all(|(_, state)| state == "ok");
    assert_eq!(ran.exit, if is_ok { Exit::Done } else { Exit::Failed });
}

#[tokio::test]
async fn without_an_agent_it_says_what_starts_one_and_looks_at_the_rest() {
    let place = Place::new();
    sound(&place);
    let ran = place.run(&["doctor"]).await;
    assert_eq!(ran.exit, Exit::Unreachable);
    assert!(ran.out.contains("-> systemctl enable --now postern-agent.socket"), "{}", ran.out);
    assert!(ran.out.contains("policy    ?"), "{}", ran.out);
    assert!(ran.out.contains("dpkg      ok"), "{}", ran.out);
}

#[tokio::test]
async fn a_helper_that_is_away_and_a_policy_that_grants_nothing_are_wrong() {
    let place = Place::new();
    sound(&place);
    place.serve();
    let ran = place.run(&["doctor"]).await;
    assert_eq!(ran.exit, Exit::Unreachable);
    assert!(ran.out.contains("-> systemctl restart postern-helper.socket"), "{}", ran.out);
    let vectors = [
        (described(0), "grants nothing to agent"),
        (refused("unknown_client"), "unknown_client: "),
        (ended(Status::Done, ""), "does not describe"),
    ];
    for (answer, words) in vectors {
        let place = Place::new();
        sound(&place);
        place.helper(vec![Play::Events(vec![ended(Status::Done, "")]), Play::Events(vec![answer])]);
        let ran = place.run(&["doctor", "--direct"]).await;
        assert!(ran.out.contains(words), "{words}: {}", ran.out);
    }
}

#[test]
fn dpkg_that_was_interrupted_and_packages_that_are_not_whole_are_found() {
    let vectors = [
        ("install ok installed", State::Ok),
        ("deinstall ok config-files", State::Ok),
        ("hold ok installed", State::Ok),
        ("install ok half-configured", State::Wrong),
        ("install ok unpacked", State::Wrong),
        ("install ok triggers-pending", State::Wrong),
        ("install reinstreq half-installed", State::Wrong),
        ("install reinstreq installed", State::Wrong),
        ("", State::Wrong),
    ];
    let place = Place::new();
    sound(&place);
    let dpkg = || {
        host::checks(&place.host.system).into_iter().find(|check| check.check == "dpkg").expect("the check")
    };
    for (words, state) in vectors {
        status(&place.host.system, words);
        let check = dpkg();
        assert_eq!(check.state, state, "{words:?}: {check:?}");
        assert_eq!(check.detail.contains("installed: b"), state == State::Wrong, "{check:?}");
        assert_eq!(check.mend.as_deref(), (state == State::Wrong).then_some("postern package repair"));
    }
    status(&place.host.system, "install ok installed");
    fs::write(place.host.system.join("var/lib/dpkg/updates/0001"), "").unwrap();
    assert_eq!(dpkg().detail, "dpkg was interrupted");
    fs::remove_file(place.host.system.join("var/lib/dpkg/status")).unwrap();
    fs::remove_file(place.host.system.join("var/lib/dpkg/updates/0001")).unwrap();
    assert_eq!(dpkg().state, State::Unknown);
}

#[test]
fn a_clock_that_is_behind_and_a_log_that_others_may_write_are_found() {
    let place = Place::new();
    sound(&place);
    let root = &place.host.system;
    let state_of = |name: &str| host::checks(root).into_iter().find(|c| c.check == name).unwrap().state;
    assert_eq!((state_of("clock"), state_of("audit")), (State::Ok, State::Ok));
    let file = fs::File::options().append(true).open(root.join("var/lib/dpkg/status")).unwrap();
    file.set_modified(SystemTime::now() + Duration::from_secs(7200)).unwrap();
    fs::set_permissions(root.join("var/log/postern"), fs::Permissions::from_mode(0o777)).unwrap();
    assert_eq!((state_of("clock"), state_of("audit")), (State::Wrong, State::Wrong));
    fs::remove_dir(root.join("var/log/postern")).unwrap();
    assert_eq!(state_of("audit"), State::Wrong);
}

#[test]
fn a_session_that_began_before_its_groups_is_told_to_log_in_again() {
    let is = |exists, in_session, in_database| Membership { exists, in_session, in_database };
    let none = is(true, false, false);
    let vectors = [
        (is(true, true, true), none, State::Ok, ""),
        (is(true, true, false), none, State::Ok, ""),
        (is(true, false, true), none, State::Wrong, "log in again"),
        (is(true, true, true), is(true, false, true), State::Wrong, "log in again"),
        (none, none, State::Wrong, "adduser anna postern-users"),
        (is(false, false, false), none, State::Wrong, "install"),
    ];
    for (users, operators, state, mend) in vectors {
        let check = verdict("anna", users, [("postern-operators", operators)]);
        assert_eq!(check.state, state, "{check:?}");
        assert!(check.mend.unwrap_or_default().contains(mend), "{users:?}");
    }
    assert_eq!(json!(State::Ok), "ok");
}

#[tokio::test]
async fn wrong_shell_rules_are_told_by_config_check_doctor_and_health_before_a_command_fails() {
    let place = Place::new();
    sound(&place);
    fs::write(place.path("shell-rules.yaml"), "version: 1\nrule: []\n").unwrap();
    let ran = place.run(&["config", "check"]).await;
    assert_eq!(ran.exit, Exit::Failed, "{ran:?}");
    assert!(ran.err.contains("shell-rules.yaml") && ran.err.contains("rule"), "{ran:?}");
    place.helper(vec![Play::Events(vec![ended(Status::Done, "")]), Play::Events(vec![described(3)])]);
    place.serve();
    let health = place.run(&["health", "--json"]).await.json();
    let why = health["agent"].as_str().unwrap();
    assert!(why.starts_with("no command is run: ") && why.contains("shell-rules.yaml"), "{health}");
    let ran = place.run(&["doctor", "--json"]).await;
    let states = states(&ran.json());
    for check in ["agent", "rules"] {
        assert!(states.contains(&(check.to_owned(), "wrong".to_owned())), "{check}: {states:?}");
    }
    fs::write(place.path("shell-rules.yaml"), "version: 1\n").unwrap();
    assert_eq!(place.run(&["config", "check"]).await.exit, Exit::Done);
    let ran = place.run(&["shell", "rules"]).await;
    assert_eq!(ran.exit, Exit::Done);
    assert!(ran.out.starts_with("version: 1\ninclude_builtin: false\nrules:\n  - {\"id\":"), "{}", ran.out);
    assert!(ran.out.contains("\n  - {\"id\":\"shell.fork-bomb\",\"level\":\"block\""), "{}", ran.out);
    let listed = place.run(&["shell", "rules", "--json"]).await.json();
    assert!(listed["rules"].as_array().unwrap().len() > 100);
}

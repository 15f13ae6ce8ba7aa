//! `unit.status` and `package.show` for the recorder: decided here for the uid of the order.

use crate::support::{AGENT, OPERATOR, OTHER, World, rule};
use postern_proto::link::{self, Kind};
use postern_proto::root::v1::{
    Acknowledge, Decision, Envelope, Hello, Inverse, Order, Outcomes, RootExecute, Rule, Step,
};
use postern_proto::v1::{self as wire, PackageInfo, Status};
use prost::Message;

fn status_rule(id: &str, decision: Decision, units: &[&str], journal_lines: u32) -> Rule {
    let units = units.iter().map(ToString::to_string).collect();
    Rule { units, journal_lines, ..rule(id, decision, &["unit.status"]) }
}

/// A client that may see three lines of the journal of `a.service`, which runs.
fn world() -> World {
    let world = World::new(vec![
        status_rule("look", Decision::Allow, &["a.service", "a.slice"], 3),
        Rule { packages: vec!["*".to_owned()], ..rule("show", Decision::Allow, &["package.show"]) },
    ]);
    world.bus.unit("a.service", "active", &[("MainPID", "7")]);
    world
}

fn journal(world: &World, text: &str) {
    world.script("journalctl", &format!("cat <<'END'\n{text}END\n"));
}

fn show(names: &[&str]) -> wire::PackageShowRequest {
    wire::PackageShowRequest { meta: None, names: names.iter().map(ToString::to_string).collect() }
}

fn approved(order: &Order, approvers: &[u32]) -> Envelope {
    let approved = link::approval_digest("this boot", &order.policy_digest, &order.encode_to_vec());
    Envelope { approvers: approvers.to_vec(), approved: approved.to_vec(), ..Envelope::default() }
}

#[test]
fn status_tells_the_state_and_states_what_was_read() {
    let world = world();
    let reply = world.inspect(&world.status(AGENT, "a.service", 0, 0));
    let outcome = reply.outcome();
    assert_eq!((outcome.verb.as_str(), outcome.uid, outcome.rule.as_str()), ("unit.status", AGENT, "look"));
    assert_eq!(
        (outcome.objects.join(" ").as_str(), outcome.decision()),
        ("a.service", wire::Decision::Allow)
    );
    let completed = outcome.completed.clone().unwrap();
    assert_eq!((completed.status(), completed.rule.as_str()), (Status::Done, "look"));
    let unit = completed.unit.unwrap();
    assert_eq!((unit.id.as_str(), unit.active.as_str(), unit.main_pid), ("a.service", "active", 7));
    assert!(reply.events.is_empty() && outcome.inverse.is_none());
    assert!(world.noted("journalctl", "argv").is_empty());
}

#[test]
fn reads_are_decided_for_the_uid_of_the_order() {
    let world = world();
    for (uid, unit, lines, code) in [
        (OTHER, "a.service", 0, "unknown_client"),
        (0, "a.service", 0, "unknown_client"),
        (AGENT, "b.service", 0, "no_grant"),
        (AGENT, "a.service", 4, "limit_exceeded"),
        (AGENT, "a.slice", 1, "invalid_argument"),
        (AGENT, "nothing", 0, "invalid_argument"),
    ] {
        let reply = world.inspect(&world.status(uid, unit, lines, 0));
        assert_eq!(reply.code(), code, "{uid} {unit} {lines}");
    }
    let since = world.inspect(&world.status(AGENT, "a.service", 0, 5));
    assert_eq!(since.code(), "invalid_argument");
    assert!(
        world.bus.calls().is_empty() && world.noted("journalctl", "argv").is_empty(),
        "nothing was asked"
    );
    assert_eq!(world.inspect(&world.order(OTHER, "package.show", &show(&["bash"]))).code(), "unknown_client");
    assert!(world.noted("dpkg-query", "argv").is_empty());
}

#[test]
fn an_order_of_another_policy_is_refused() {
    let world = world();
    let order = Order { policy_digest: vec![1; 32], ..world.status(AGENT, "a.service", 0, 0) };
    assert_eq!(world.inspect(&order).code(), "plan_changed");
}

#[test]
fn a_read_under_ask_needs_consent() {
    let mut world = world();
    world.accept(vec![status_rule("look", Decision::Ask, &["a.service"], 3)]);
    let order = world.status(AGENT, "a.service", 0, 0);
    assert_eq!(world.inspect(&order).code(), "not_approved");
    for approvers in [&[][..], &[AGENT]] {
        assert_eq!(world.inspect_as(Some(approved(&order, approvers)), &order).code(), "not_approved");
    }
    let other = approved(&world.status(AGENT, "a.service", 3, 0), &[OPERATOR]);
    assert_eq!(world.inspect_as(Some(other), &order).code(), "not_approved", "an approval of another order");
    let reply = world.inspect_as(Some(approved(&order, &[OPERATOR])), &order);
    assert_eq!(reply.outcome().decision(), wire::Decision::Ask);
}

#[test]
fn journal_lines_come_oldest_first_as_many_as_were_asked_for() {
    let world = world();
    journal(
        &world,
        "2026-01-01T00:00:02+0000 a[1]: third\n                              and more\n2026-01-01T00:00:01+0000 a[1]: second\n2026-01-01T00:00:00+0000 a[1]: first\n",
    );
    let reply = world.inspect(&world.status(AGENT, "a.service", 3, 1_700_000_000));
    assert_eq!(reply.outcome().completed.clone().unwrap().status(), Status::Done);
    // Three lines, not three entries.
    assert_eq!(
        reply.content(),
        "2026-01-01T00:00:01+0000 a[1]: second\n2026-01-01T00:00:02+0000 a[1]: third\n                              and more\n"
    );
    let argv = world.noted("journalctl", "argv").join(" ");
    assert!(argv.ends_with("--reverse --lines=3 --since=@1700000000.000000 --unit=a.service"), "{argv}");
    let environment = world.noted("journalctl", "env");
    assert!(environment.contains(&"SYSTEMD_PAGERSECURE=1".to_owned()), "{environment:?}");
    assert!(!environment.iter().any(|line| line.starts_with("HOME=") || line.starts_with("USER=")));
}

#[test]
fn control_characters_in_journal_lines_are_replaced() {
    let world = world();
    world.script("journalctl", "printf 'a\\033[31m\\tb\\rc\\177\\302\\233d\\377e\\n'");
    let reply = world.inspect(&world.status(AGENT, "a.service", 1, 0));
    let r = char::REPLACEMENT_CHARACTER;
    assert_eq!(reply.content(), format!("a{r}[31m\tb{r}c{r}{r}d{r}e\n"));
}

#[test]
fn long_journals_come_in_parts_and_a_cut_line_is_left_out() {
    let mut world = world();
    world.accept(vec![status_rule("look", Decision::Allow, &["a.service"], 1_000_000)]);
    world.script("journalctl", "yes 'a line of the journal' | head -n 200000");
    let reply = world.inspect(&world.status(AGENT, "a.service", 1_000_000, 0));
    let content = reply.content();
    assert!((1_000_000..=1024 * 1024).contains(&content.len()), "{}", content.len());
    assert!(content.ends_with("journal\n") && reply.events.len() == 16, "{}", reply.events.len());
}

#[test]
fn refuses_status_if_the_journal_cannot_be_read() {
    let world = world();
    world.script("journalctl", "echo 'No journal files were found.' >&2; exit 1");
    let reply = world.inspect(&world.status(AGENT, "a.service", 1, 0));
    assert_eq!((reply.code(), reply.events.len()), ("interrupted", 0));
    assert!(reply.close.unwrap().detail.contains("No journal files"));
}

#[test]
fn the_rule_of_an_alias_does_not_widen_that_of_the_unit() {
    let world = World::new(vec![
        status_rule("alias", Decision::Allow, &["a.service"], 50),
        status_rule("real", Decision::Allow, &["real.service"], 2),
        status_rule("other", Decision::Allow, &["b.service"], 9),
    ]);
    let alias = [("Id", "real.service"), ("Names", "real.service a.service")];
    world.bus.unit("a.service", "active", &alias);
    assert_eq!(world.inspect(&world.status(AGENT, "a.service", 5, 0)).code(), "limit_exceeded");
    journal(&world, "a line\n");
    let reply = world.inspect(&world.status(AGENT, "a.service", 2, 0));
    assert_eq!(
        (reply.content().as_str(), reply.outcome().objects.join(" ").as_str()),
        ("a line\n", "real.service")
    );
    // The journal knows no aliases.
    assert!(world.noted("journalctl", "argv").contains(&"--unit=real.service".to_owned()));
    world.bus.unit("b.service", "active", &[("Id", "secret.service"), ("Names", "secret.service b.service")]);
    assert_eq!(world.inspect(&world.status(AGENT, "b.service", 0, 0)).code(), "no_grant");
}

#[test]
fn a_missing_unit_is_not_found_and_a_failed_one_without_a_file_is_told() {
    let world = world();
    let gone = [("LoadState", "not-found"), ("UnitFileState", "")];
    world.bus.unit("a.service", "inactive", &gone);
    let reply = world.inspect(&world.status(AGENT, "a.service", 0, 0));
    assert_eq!((reply.code(), reply.message()), ("not_found", "a.service does not exist on this host"));
    world.bus.unit("a.service", "failed", &gone);
    let reply = world.inspect(&world.status(AGENT, "a.service", 0, 0));
    assert_eq!(reply.outcome().completed.clone().unwrap().unit.unwrap().active, "failed");
}

#[test]
fn shows_what_dpkg_and_apt_know_of_exactly_these_names() {
    let world = world();
    world.script(
        "dpkg-query",
        "printf 'bash\\ti386\\tinstall\\tinstalled\\t4\\tno\\tno\\toptional\\t1\\tforeign\\n'
         printf 'bash\\tamd64\\thold\\tinstalled\\t5.2\\tyes\\tno\\trequired\\t1\\tGNU shell\\n'
         printf 'old\\tall\\tdeinstall\\tconfig-files\\t0.9\\tno\\tno\\toptional\\t1\\tremoved\\n'
         printf 'virtual\\t\\tunknown\\tnot-installed\\t\\t\\t\\t\\t\\t\\n'
         exit 1",
    );
    world.script(
        "apt-cache",
        "case $1 in show) cat <<'END'
Package: bash
Essential: yes
Version: 5.3
Architecture: amd64
Description: GNU Bourne Again SHell
 long

Package: libcurl3-gnutls
Version: 7
Architecture: amd64
Description: matched only

Package: hello
Version: 2.10-3
Architecture: amd64
Description-en: example
END
;; esac",
    );
    let names = ["bash", "hello", "old", "virtual", "c.rl"];
    let reply = world.inspect(&world.order(AGENT, "package.show", &show(&names)));
    let info = |name: &str, arch: &str, state: &str, installed: &str, candidate: &str, summary: &str| {
        let [name, arch, state, installed, candidate, summary] =
            [name, arch, state, installed, candidate, summary].map(str::to_owned);
        PackageInfo { name, arch, state, installed, candidate, summary, ..PackageInfo::default() }
    };
    assert_eq!(
        reply.outcome().completed.clone().unwrap().packages,
        [
            PackageInfo {
                held: true,
                essential: true,
                ..info("bash", "amd64", "installed", "5.2", "5.3", "GNU Bourne Again SHell")
            },
            info("hello", "amd64", "not-installed", "", "2.10-3", "example"),
            info("old", "all", "config-files", "", "", "removed"),
            info("virtual", "", "not-found", "", "", ""),
            info("c.rl", "", "not-found", "", "", ""),
        ]
    );
    assert_eq!(reply.outcome().objects, names);
    let argv = world.noted("apt-cache", "argv");
    assert_eq!(
        argv[..6],
        ["show", "-o", "APT::Cmd::Pattern-Only=true", "--no-all-versions", "--", "bash:native"]
    );
    let argv = world.noted("dpkg-query", "argv");
    assert_eq!(argv[2..4], ["--", "bash"]);
}

#[test]
fn text_of_packages_holds_no_control_characters() {
    let world = world();
    world.script(
        "apt-cache",
        "case $1 in show) printf 'Package: hello\\nVersion: 1\\033[2J\\nArchitecture: amd64\\nDescription: a\\tb\\007\\n' ;; esac",
    );
    let reply = world.inspect(&world.order(AGENT, "package.show", &show(&["hello"])));
    let package = reply.outcome().completed.clone().unwrap().packages.remove(0);
    assert_eq!((package.candidate.as_str(), package.summary.as_str()), ("1 [2J", "a b"));
}

#[test]
fn serves_no_other_verb_and_no_effect() {
    let mut world = world();
    world.accept(vec![
        Rule { units: vec!["a.service".to_owned()], ..rule("start", Decision::Allow, &["unit.start"]) },
        Rule { packages: vec!["*".to_owned()], ..rule("hold", Decision::Allow, &["package.hold"]) },
    ]);
    let unit = "a.service".to_owned();
    let start = world.order(AGENT, "unit.start", &wire::UnitStartRequest { meta: None, unit });
    assert_eq!(world.inspect(&start).code(), "unsupported");
    assert_eq!(world.inspect(&world.order(AGENT, "package.hold", &show(&["bash"]))).code(), "unsupported");
    let undo = wire::RequestUndoRequest { meta: None, of: "01890a5d-ac96-774b-bcce-b302099a8057".to_owned() };
    let inverse = Inverse { family: "probe".to_owned(), uid: AGENT, mac: vec![0; 32], ..Inverse::default() };
    let undo = Order { inverse: Some(inverse), ..world.order(AGENT, "request.undo", &undo) };
    assert_eq!(world.inspect(&undo).code(), "undo_gone", "no inverse is of the probe's");
    let state = world.state();
    let asked = |kind: Kind, message: Vec<u8>| {
        let mut frames = Vec::new();
        let hello = Hello { build: link::build().to_vec() };
        link::send(&mut frames, Kind::Hello, &hello).unwrap();
        link::write(&mut frames, kind, &message).unwrap();
        crate::support::exchange(&frames, |stream| state.serve_asked(stream)).code().to_owned()
    };
    let envelope = Some(Envelope { step: Step::Whole.into(), ..Envelope::default() });
    let status = world.status(AGENT, "a.service", 0, 0).encode_to_vec();
    let execute = RootExecute { envelope, order: status, ..RootExecute::default() };
    assert_eq!(asked(Kind::RootExecute, execute.encode_to_vec()), "unsupported");
    assert_eq!(asked(Kind::Outcomes, Outcomes { order_id: vec![1; 32] }.encode_to_vec()), "unsupported");
    assert_eq!(
        asked(Kind::Acknowledge, Acknowledge { order_id: vec![1; 32] }.encode_to_vec()),
        "unsupported"
    );
    assert!(world.bus.calls().is_empty());
}

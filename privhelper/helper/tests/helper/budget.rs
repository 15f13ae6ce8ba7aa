//! How many records a client may cause, and what is said of the rest.

use crate::common::{CLIENT_UID, World, accept_whole, meta, site_rules, write_request};
use postern_helper::audit::{Budget, Due, Limits};
use postern_proto::root::v1 as root;
use postern_proto::v1::{self as wire, Mode};
use std::time::Duration;

const LIMITS: fn() -> Limits = Limits::default;

fn at(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// Asks and records at this second, if it is let through.
fn ask(budget: &mut Budget, uid: u32, second: u64) -> Result<(), u32> {
    budget.admit(uid, LIMITS(), at(second), at(1_000_000 + second))?;
    budget.charge(uid, 500, at(second));
    Ok(())
}

#[test]
fn a_client_gets_60_records_within_any_minute() {
    let mut budget = Budget::default();
    for second in 0..60 {
        assert_eq!(ask(&mut budget, 1, 100 + second / 2), Ok(()), "{second}");
    }
    assert_eq!(ask(&mut budget, 1, 130), Err(30));
    assert_eq!(ask(&mut budget, 1, 159), Err(1));
    assert_eq!(ask(&mut budget, 2, 159), Ok(()), "another user has a budget of its own");
    // Two were in each second: as many come back with each second that leaves the window.
    assert_eq!((ask(&mut budget, 1, 160), ask(&mut budget, 1, 160)), (Ok(()), Ok(())));
    assert_eq!(ask(&mut budget, 1, 160), Err(1));
}

#[test]
fn a_client_gets_2000_records_within_any_hour() {
    let mut budget = Budget::default();
    let admitted = |budget: &mut Budget, from: u64, to: u64| {
        (from..to).filter(|second| ask(budget, 1, *second).is_ok()).count()
    };
    assert_eq!(admitted(&mut budget, 0, 3600), 2000);
    assert_eq!(ask(&mut budget, 1, 3599), Err(1));
    assert_eq!(
        admitted(&mut budget, 3600, 7200),
        2000,
        "a second comes back for each that leaves the window"
    );
}

#[test]
fn a_long_record_counts_as_several() {
    let mut budget = Budget::default();
    for _ in 0..4 {
        assert_eq!(budget.admit(1, LIMITS(), at(5), at(5)), Ok(()));
        budget.charge(1, 60 * 1024, at(5));
    }
    assert_eq!(budget.admit(1, LIMITS(), at(5), at(5)), Err(60));
}

#[test]
fn what_is_over_is_told_once_a_minute_with_its_number_and_times() {
    let mut budget = Budget::default();
    for _ in 0..60 {
        ask(&mut budget, 1, 10).unwrap();
    }
    for second in 10..60 {
        ask(&mut budget, 1, second).unwrap_err();
    }
    let told = budget.over(Due::Minutely, at(60));
    assert_eq!((told[0].0, told[0].1.count), (1, 50));
    assert_eq!(budget.over(Due::Minutely, at(60)), told, "it stays until the log has it");
    ask(&mut budget, 1, 60).unwrap_err();
    budget.told(1, told[0].1, at(60));
    assert_eq!((told[0].1.first, told[0].1.last), (at(1_000_010), at(1_000_059)));
    ask(&mut budget, 1, 61).unwrap_err();
    assert_eq!(budget.over(Due::Minutely, at(119)), Vec::new());
    let rest = budget.over(Due::All, at(119));
    assert_eq!((rest.len(), rest[0].1.count), (1, 2), "at the end all is told");
    budget.told(1, rest[0].1, at(119));
    assert_eq!(budget.over(Due::All, at(119)), Vec::new());
}

#[test]
fn a_client_that_floods_is_refused_before_it_is_decoded_and_stops_nobody_else() {
    let world = World::new(site_rules);
    let limits = root::AuditLimits { records_per_minute: 10, ..root::AuditLimits::default() };
    let rules = root::Rules {
        rules: site_rules(world.path("").as_path()),
        audit: Some(limits),
        ..root::Rules::default()
    };
    std::fs::write(world.path("state/policy/accepted.pb"), accept_whole(rules)).unwrap();
    let mut world = world;
    world.restart();
    let mut channel = world.connect(CLIENT_UID);
    let request = wire::FileWriteRequest {
        meta: meta(Mode::Check),
        ..write_request(&world.text("site/a.html"), b"x", "any")
    };
    for _ in 0..10 {
        assert!(channel.ask("Helper/FileWrite", &request).events.len() < 3);
    }
    let before = world.log().len();
    let refused = channel.ask("Helper/FileWrite", &request);
    assert_eq!((refused.refused().code.as_str(), refused.code), ("rate_limited", 0));
    assert!((1..=60).contains(&refused.refused().retry_after_s));
    // Not even decoded: what is malformed ends no connection and gets no record.
    for _ in 0..100 {
        let stream = channel.send("Helper/FileWrite", &[0xff; 40]);
        assert_eq!(channel.answer(stream).refused().code, "rate_limited");
        let stream = channel.send("Helper/Unheard", b"");
        assert_eq!(channel.answer(stream).refused().code, "rate_limited");
    }
    assert_eq!(world.log().len(), before);
    // Operators are not counted with clients.
    let mut operator = world.operator(0);
    let paused: wire::OperatorPaused =
        crate::common::call(&mut operator, "Operator/Pause", &wire::OperatorPauseRequest::default()).unwrap();
    assert!(paused.running.is_empty());
    world.helper.audit.tick();
    let log = world.log();
    let told = log.iter().find(|line| line.contains("\"event\":\"suppressed\"")).unwrap();
    assert!(told.contains(&format!("\"uid\":{CLIENT_UID},\"count\":201,\"first\":\"20")), "{told}");
}

//! How many records a uid may cause, and how many bytes all of them, and what is recorded of the rest.

use crate::common::{CLIENT, MEMBER, OPERATOR, Root, World, accept, new_id, plenty};
use postern_audit::log::{Budget, Limits, Payer};
use postern_peers::Class;
use postern_proto::link::{self, Kind};
use postern_proto::root::v1 as root;
use postern_proto::v1 as wire;
use std::time::Duration;

fn at(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn ask(budget: &mut Budget, uid: u32, class: Class, second: u64) -> Result<(), u32> {
    budget.admit(uid, class, (at(second), at(1_000_000 + second)))
}

#[test]
fn permits_60_effects_and_600_reads_within_any_minute() {
    let mut budget = Budget::default();
    for second in 0..60 {
        assert_eq!(ask(&mut budget, 1, Class::Effect, 100 + second / 2), Ok(()), "{second}");
    }
    assert_eq!(ask(&mut budget, 1, Class::Effect, 130), Err(30));
    assert_eq!(ask(&mut budget, 1, Class::Effect, 159), Err(1));
    assert_eq!(ask(&mut budget, 2, Class::Effect, 159), Ok(()), "another user has a budget of its own");
    for _ in 0..600 {
        assert_eq!(ask(&mut budget, 1, Class::Read, 159), Ok(()), "reads have a budget of their own");
    }
    assert_eq!(ask(&mut budget, 1, Class::Read, 159), Err(60));
    // Two were in each second: as many come back with each second that leaves the window.
    let mut effect = || ask(&mut budget, 1, Class::Effect, 160);
    assert_eq!((effect(), effect(), effect()), (Ok(()), Ok(()), Err(1)));
}

#[test]
fn permits_2000_effects_within_any_hour() {
    let mut budget = Budget::default();
    let mut admitted = |from: u64, to: u64| {
        (from..to).filter(|second| ask(&mut budget, 1, Class::Effect, *second).is_ok()).count()
    };
    assert_eq!(admitted(0, 3600), 2000);
    assert_eq!(admitted(3600, 7200), 2000, "one comes back with each second that leaves the window");
}

#[test]
fn limits_recorded_bytes_in_total_and_to_half_for_one_uid() {
    let limits = Limits { day_bytes: 800, ..Limits::default() };
    let ask = |budget: &mut Budget, uid: u32, class: Class, second: u64| {
        budget.admit(uid, class, (at(second), at(second)))
    };
    let mut budget = Budget::default();
    budget.limits = limits;
    // An eighth within an hour for one uid.
    budget.charge(1, Payer::Client, 100, at(5));
    assert_eq!(ask(&mut budget, 1, Class::Read, 6), Err(60));
    assert_eq!(ask(&mut budget, 2, Class::Read, 6), Ok(()));
    assert_eq!(ask(&mut budget, 1, Class::Operator, 6), Ok(()), "operators have bytes of their own");
    // A quarter within an hour for all.
    budget.charge(2, Payer::Client, 100, at(7));
    assert_eq!(ask(&mut budget, 3, Class::Effect, 8), Err(60));
    // Half of the day for one uid, all of it for all.
    for hour in 1..4 {
        budget.charge(1, Payer::Client, 100, at(hour * 3700));
    }
    assert_eq!(ask(&mut budget, 1, Class::Read, 5 * 3700), Err(60));
    assert_eq!(ask(&mut budget, 2, Class::Read, 5 * 3700), Ok(()));
    for hour in 6..9 {
        budget.charge(2, Payer::Client, 100, at(hour * 3700));
    }
    assert_eq!(ask(&mut budget, 3, Class::Read, 10 * 3700), Err(60));
    assert_eq!(ask(&mut budget, 3, Class::Read, 25 * 3600 + 3700), Ok(()));
    budget.charge(9, Payer::Recorder, 800, at(100_000));
    assert_eq!(ask(&mut budget, 8, Class::Operator, 100_000), Err(60), "and so have operators");
}

#[test]
fn records_suppressed_requests_once_a_minute_with_count_and_times() {
    let mut budget = Budget::default();
    for _ in 0..60 {
        ask(&mut budget, 1, Class::Effect, 70).unwrap();
    }
    for second in 70..120 {
        ask(&mut budget, 1, Class::Effect, second).unwrap_err();
    }
    let told = budget.rates.take_over(false, at(120));
    assert_eq!((told.len(), told[&1].count), (1, 50));
    assert_eq!((told[&1].first, told[&1].last), (at(1_000_070), at(1_000_119)));
    ask(&mut budget, 1, Class::Effect, 120).unwrap_err();
    assert!(budget.rates.take_over(false, at(121)).is_empty(), "not twice within a minute");
    // Suppressed refusals that could not be recorded are counted in the next summary.
    budget.rates.put_back(1, told[&1]);
    let rest = budget.rates.take_over(true, at(122));
    assert_eq!((rest[&1].count, rest[&1].first, rest[&1].last), (51, at(1_000_070), at(1_000_120)));
    assert!(budget.rates.take_over(true, at(123)).is_empty());
}

#[test]
fn a_flood_of_requests_is_counted_but_not_recorded_and_affects_no_other_client() {
    let world = World::new();
    let files = Root::willing(&world.host.files);
    let limits = root::AuditLimits { records_per_minute: 5, records_per_hour: 1000, ..plenty() };
    accept(&world.path(""), 2, limits);
    for _ in 0..5 {
        world.run(world.claim(&new_id())).completed();
    }
    let before = world.log().len();
    for _ in 0..20 {
        assert_eq!(world.run(world.claim(&new_id())).refused(), "rate_limited");
    }
    assert_eq!((world.log().len(), files.executed().len()), (before, 5));
    let member = root::Claim { uid: MEMBER, client: "people".to_owned(), ..world.claim(&new_id()) };
    world.run(member).completed();
    let reason = String::new();
    world
        .operator(OPERATOR)
        .call::<wire::OperatorPaused>("Pause", &wire::OperatorPauseRequest { reason })
        .unwrap();
    world.state.log.tick();
    let suppressed = &world.records("suppressed")[0];
    assert_eq!((&suppressed["uid"], &suppressed["count"]), (&CLIENT.into(), &20.into()));
}

#[test]
fn uids_that_are_no_clients_share_one_budget() {
    let world = World::new();
    accept(&world.path(""), 2, root::AuditLimits { records_per_minute: 1, ..plenty() });
    let mut noted = 0;
    for uid in 0..40 {
        let claim = root::Claim { uid, event: "refused".to_owned(), ..world.claim(&new_id()) };
        let mut stream = world.broker();
        link::send(&mut stream, Kind::Note, &root::Note { claim: Some(claim) }).unwrap();
        noted += usize::from(link::read(&mut stream).unwrap().unwrap().0 == Kind::Recorded);
    }
    assert_eq!((noted, world.count("refused")), (10, 10));
}

#[test]
fn operators_have_a_budget_too() {
    let world = World::new();
    accept(&world.path(""), 2, root::AuditLimits { records_per_minute: 1, ..plenty() });
    let mut operator = world.operator(OPERATOR);
    let mut status = || operator.call::<wire::OperatorStatus>("Status", &wire::OperatorStatusRequest {});
    assert_eq!((0..15).filter(|_| status().is_ok()).count(), 10);
    assert!(status().unwrap_err().1.starts_with("rate_limited: "));
}

#[test]
fn the_bytes_of_the_records_themselves_are_charged() {
    let world = World::new();
    let files = Root::willing(&world.host.files);
    let mut before = 0;
    for number in 0..1000 {
        // A policy that is loaded anew brings its own limits, so they are set before each order.
        world.state.log.limit(Limits { day_bytes: 64 * 1024, per_minute: 5000, ..Limits::default() });
        let answer = world.run(world.claim(&new_id()));
        if files.executed().len() == before {
            assert_eq!(answer.refused(), "rate_limited");
            assert!(number > 2, "after {number} orders");
            break;
        }
        before = files.executed().len();
    }
    assert!(before < 999, "bytes are not charged");
    assert!(world.log().iter().map(String::len).sum::<usize>() < 64 * 1024);
    let mut operator = world.operator(OPERATOR);
    operator.call::<wire::OperatorStatus>("Status", &wire::OperatorStatusRequest {}).unwrap();
}

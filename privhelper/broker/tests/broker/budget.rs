//! Budgets of requests per uid.

use postern_broker::budget::{Budget, Class, Limits};
use postern_proto::root::v1::AuditLimits;
use std::time::Duration;

fn at(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn ask(budget: &mut Budget, uid: u32, class: Class, second: u64) -> Result<(), (u32, String)> {
    let limits = Limits::new(&AuditLimits::default(), class);
    let times = (at(second), at(1_000_000 + second));
    budget.admit(uid, class, limits, times).map_err(|denied| (denied.retry_after_s, denied.message))
}

#[test]
fn lets_60_effects_and_600_reads_through_within_any_minute() {
    let mut budget = Budget::default();
    for second in 0..60 {
        assert_eq!(ask(&mut budget, 993, Class::Effect, 100 + second / 2), Ok(()), "{second}");
    }
    let message = "rate limit reached (60 requests a minute for uid 993)".to_owned();
    assert_eq!(ask(&mut budget, 993, Class::Effect, 130), Err((30, message.clone())));
    assert_eq!(ask(&mut budget, 993, Class::Effect, 159), Err((1, message)));
    for _ in 0..600 {
        assert_eq!(ask(&mut budget, 993, Class::Read, 159), Ok(()), "reads have a budget of their own");
    }
    let message = "rate limit reached (600 reads and checks a minute for uid 993)".to_owned();
    assert_eq!(ask(&mut budget, 993, Class::Read, 159), Err((60, message)));
    assert_eq!(ask(&mut budget, 2, Class::Effect, 159), Ok(()), "another user has a budget of its own");
    // Two came in each second: as many come back with each second that leaves the window.
    assert_eq!(ask(&mut budget, 993, Class::Effect, 160), Ok(()));
    assert_eq!(ask(&mut budget, 993, Class::Effect, 160), Ok(()));
    assert!(ask(&mut budget, 993, Class::Effect, 160).is_err());
}

#[test]
fn lets_2000_effects_through_within_any_hour() {
    let mut budget = Budget::default();
    let mut admitted = |from: u64, to: u64| {
        (from..to).filter(|second| ask(&mut budget, 1, Class::Effect, *second).is_ok()).count()
    };
    assert_eq!((admitted(0, 3600), admitted(3600, 7200)), (2000, 2000));
}

#[test]
fn takes_its_limits_from_the_policy() {
    let audit = AuditLimits { records_per_minute: 2, ..AuditLimits::default() };
    let mut budget = Budget::default();
    for (class, most) in [(Class::Effect, 2), (Class::Read, 20)] {
        let mut admitted = 0;
        while budget.admit(1, class, Limits::new(&audit, class), (at(5), at(5))).is_ok() {
            admitted += 1;
        }
        assert_eq!(admitted, most);
    }
}

#[test]
fn reports_refused_requests_once_a_minute_with_their_number_and_times() {
    let mut budget = Budget::default();
    for _ in 0..60 {
        ask(&mut budget, 1, Class::Effect, 10).unwrap();
    }
    for second in 10..60 {
        ask(&mut budget, 1, Class::Effect, second).unwrap_err();
    }
    let reported = budget.report(at(60));
    assert_eq!((reported.len(), reported[0].0, reported[0].1.count), (1, 1, 50));
    assert_eq!((reported[0].1.first, reported[0].1.last), (at(1_000_010), at(1_000_059)));
    ask(&mut budget, 1, Class::Effect, 61).unwrap_err();
    assert_eq!(budget.report(at(119)), []);
    assert_eq!(budget.report(at(120))[0].1.count, 1);
    assert_eq!(budget.report(at(240)), []);
}

//! Requests of each uid within a minute and within an hour.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "a test stops at the first surprise"
)]

use postern_peers::{Class, Rates};
use std::time::Duration;

fn at(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn ask(rates: &mut Rates, uid: u32, class: Class, second: u64) -> Result<(), (u32, String)> {
    let times = (at(second), at(1_000_000 + second));
    rates.admit(uid, class, [60, 2000], times).map_err(|denied| (denied.retry_after_s, denied.message))
}

#[test]
fn lets_60_effects_and_600_reads_through_within_any_minute() {
    let mut rates = Rates::default();
    for second in 0..60 {
        assert_eq!(ask(&mut rates, 993, Class::Effect, 100 + second / 2), Ok(()), "{second}");
    }
    let message = "rate limit reached (60 requests a minute for uid 993)".to_owned();
    assert_eq!(ask(&mut rates, 993, Class::Effect, 130), Err((30, message.clone())));
    assert_eq!(ask(&mut rates, 993, Class::Effect, 159), Err((1, message)));
    for _ in 0..600 {
        assert_eq!(ask(&mut rates, 993, Class::Read, 159), Ok(()), "reads have a budget of their own");
    }
    let message = "rate limit reached (600 reads and checks a minute for uid 993)".to_owned();
    assert_eq!(ask(&mut rates, 993, Class::Read, 159), Err((60, message)));
    assert_eq!(ask(&mut rates, 2, Class::Effect, 159), Ok(()), "another user has a budget of its own");
    // Two came in each second: as many come back with each second that leaves the window.
    assert_eq!(ask(&mut rates, 993, Class::Effect, 160), Ok(()));
    assert_eq!(ask(&mut rates, 993, Class::Effect, 160), Ok(()));
    assert!(ask(&mut rates, 993, Class::Effect, 160).is_err());
}

#[test]
fn lets_2000_effects_through_within_any_hour() {
    let mut rates = Rates::default();
    let mut admitted = |from: u64, to: u64| {
        (from..to).filter(|second| ask(&mut rates, 1, Class::Effect, *second).is_ok()).count()
    };
    assert_eq!((admitted(0, 3600), admitted(3600, 7200)), (2000, 2000));
}

#[test]
fn permits_ten_times_as_many_reads_as_effects() {
    let mut rates = Rates::default();
    for (class, most) in [(Class::Effect, 2), (Class::Read, 20), (Class::Operator, 20)] {
        let mut admitted = 0;
        while rates.admit(1, class, [2, 2000], (at(5), at(5))).is_ok() {
            admitted += 1;
        }
        assert_eq!(admitted, most);
    }
}

#[test]
fn reports_refused_requests_once_a_minute_with_their_number_and_times() {
    let mut rates = Rates::default();
    for _ in 0..60 {
        ask(&mut rates, 1, Class::Effect, 10).unwrap();
    }
    for second in 10..60 {
        ask(&mut rates, 1, Class::Effect, second).unwrap_err();
    }
    let reported = rates.take_over(false, at(60));
    assert_eq!((reported.len(), reported[&1].count), (1, 50));
    assert_eq!((reported[&1].first, reported[&1].last), (at(1_000_010), at(1_000_059)));
    ask(&mut rates, 1, Class::Effect, 61).unwrap_err();
    assert!(rates.take_over(false, at(119)).is_empty());
    let reported = rates.take_over(false, at(120));
    assert_eq!(reported[&1].count, 1);
    // Refusals that could not be recorded are added to later ones.
    ask(&mut rates, 1, Class::Effect, 64).unwrap_err();
    rates.put_back(1, reported[&1]);
    let reported = rates.take_over(false, at(240));
    assert_eq!((reported[&1].count, reported[&1].first), (2, at(1_000_061)));
    assert!(rates.take_over(true, at(241)).is_empty());
}

//! The helper takes so many requests of the agent in a minute: each person has a share of them.

use postern_agent::client::rates::{Kind, Rates};
use std::time::Duration;

/// How many requests a person sends before one has to wait.
fn sent(rates: &Rates, uid: u32, kind: Kind) -> usize {
    std::iter::repeat_with(|| rates.take(uid, kind)).take(1000).take_while(Result::is_ok).count()
}

#[tokio::test(start_paused = true)]
async fn one_person_s_loop_leaves_requests_to_those_who_come_later() {
    for (kind, helpers) in [(Kind::Effect, 60), (Kind::Read, 600)] {
        let rates = Rates::default();
        let first = sent(&rates, 1000, kind);
        let second = sent(&rates, 1001, kind);
        assert!(first > 0 && second > 0, "{kind:?}: {first}, {second}");
        // More would be refused by the helper, and be everybody's refusal.
        assert!(first + second <= helpers, "{kind:?}: {first}, {second}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_share_is_free_again_when_its_minute_is_over() {
    let rates = Rates::default();
    let share = sent(&rates, 1000, Kind::Effect);
    let wait = rates.take(1000, Kind::Effect).expect_err("it is used up");
    assert_eq!(wait, Duration::from_secs(60));
    tokio::time::advance(Duration::from_secs(59)).await;
    assert!(rates.take(1000, Kind::Effect).is_err());
    tokio::time::advance(Duration::from_secs(1)).await;
    assert_eq!(sent(&rates, 1000, Kind::Effect), share);
}

#[tokio::test(start_paused = true)]
async fn reads_take_nothing_of_the_share_of_changes() {
    let rates = Rates::default();
    sent(&rates, 1000, Kind::Read);
    assert!(rates.take(1000, Kind::Effect).is_ok());
}

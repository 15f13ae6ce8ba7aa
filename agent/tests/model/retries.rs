//! When a failed call is tried again: a clock that is told, no server.

use postern_agent::config::tables::Retry;
use postern_agent::config::values::Span;
use postern_agent::llm::endpoints::failure::{Failure, Kind, retry_after};
use postern_agent::llm::endpoints::retry::{Schedule, persist};
use std::cell::Cell;
use std::time::{Duration, SystemTime};
use tokio::time::Instant;

fn retry() -> Retry {
    Retry { max_attempts: 6, backoff_base: Span::seconds(1), backoff_max: Span::seconds(30) }
}

fn fails(kind: Kind) -> Failure {
    Failure::new(kind, "x")
}

fn asks(wait: Duration) -> Failure {
    Failure { retry_after: Some(wait), ..fails(Kind::Status(429)) }
}

#[test]
fn waits_double_up_to_the_longest_and_jitter_is_full() {
    let waits = |jitter: f64| {
        let mut schedule = Schedule::new(&retry());
        std::iter::from_fn(|| schedule.wait(&fails(Kind::Status(500)), jitter)).collect::<Vec<_>>()
    };
    let seconds: Vec<f64> = waits(1.0).iter().map(Duration::as_secs_f64).collect();
    assert_eq!(seconds, [1.0, 2.0, 4.0, 8.0, 16.0, 30.0]);
    assert_eq!(waits(0.5)[2], Duration::from_secs(2));
    assert_eq!(waits(0.0), [Duration::ZERO; 6]);
    let many = Retry { max_attempts: u32::MAX, ..retry() };
    let mut schedule = Schedule::new(&many);
    let waits: Vec<_> = (0..100).filter_map(|_| schedule.wait(&fails(Kind::Timeout), 1.0)).collect();
    assert_eq!((waits.len(), waits[99]), (100, Duration::from_secs(30)), "no overflow however often");
}

#[test]
fn only_what_can_pass_is_tried_again() {
    for (kind, is_tried) in [
        (Kind::Connection, true),
        (Kind::Timeout, true),
        (Kind::Loading, true),
        (Kind::Status(408), true),
        (Kind::Status(429), true),
        (Kind::Status(500), true),
        (Kind::Status(529), true),
        (Kind::Status(400), false),
        (Kind::Status(401), false),
        (Kind::Status(403), false),
        (Kind::Status(404), false),
        (Kind::Status(302), false),
        (Kind::Form, false),
    ] {
        assert_eq!(Schedule::new(&retry()).wait(&fails(kind), 1.0).is_some(), is_tried, "{kind:?}");
    }
}

#[test]
fn what_the_endpoint_asks_for_stands_up_to_the_longest_wait() {
    let mut schedule = Schedule::new(&retry());
    assert_eq!(schedule.wait(&asks(Duration::from_secs(7)), 0.1), Some(Duration::from_secs(7)));
    assert_eq!(schedule.wait(&asks(Duration::from_secs(7000)), 0.1), Some(Duration::from_secs(30)));
    assert_eq!(schedule.wait(&asks(Duration::ZERO), 0.1), Some(Duration::ZERO));
}

#[test]
fn retry_after_is_seconds_a_date_or_milliseconds_and_nonsense_is_none() {
    let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    let read = |headers: &[(&str, &'static str)]| {
        retry_after(|name| headers.iter().find(|(key, _)| *key == name).map(|(_, value)| *value), now)
    };
    let seconds = Duration::from_secs;
    assert_eq!(read(&[("retry-after", "12")]), Some(seconds(12)));
    assert_eq!(read(&[("retry-after", " 1.5 ")]), Some(Duration::from_millis(1500)));
    assert_eq!(read(&[("retry-after", "Sun, 09 Sep 2001 01:47:10 GMT")]), Some(seconds(30)));
    assert_eq!(read(&[("retry-after", "Sun, 09 Sep 2001 01:46:00 GMT")]), Some(Duration::ZERO));
    assert_eq!(read(&[("retry-after", "12"), ("retry-after-ms", "250")]), Some(Duration::from_millis(250)));
    for nonsense in ["soon", "-5", "NaN", "inf", "1e400", ""] {
        assert_eq!(read(&[("retry-after", nonsense)]), None, "{nonsense}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_waits_between_its_tries_and_ends_with_the_last_failure() {
    let tries = Cell::new(0);
    let begun = Instant::now();
    let attempt = || {
        tries.set(tries.get() + 1);
        async { Err::<(), _>(asks(Duration::from_secs(10))) }
    };
    let failure = persist(&retry(), begun + Duration::from_secs(3600), &|_| {}, attempt).await.unwrap_err();
    assert_eq!((failure.kind, tries.get()), (Kind::Status(429), 7));
    assert_eq!(begun.elapsed(), Duration::from_secs(60));
}

#[tokio::test(start_paused = true)]
async fn a_failure_that_passes_costs_its_wait_and_no_more() {
    let tries = Cell::new(0);
    let begun = Instant::now();
    let attempt = || {
        tries.set(tries.get() + 1);
        let failed = tries.get() < 3;
        async move { if failed { Err(asks(Duration::from_secs(5))) } else { Ok("done") } }
    };
    assert_eq!(persist(&retry(), begun + Duration::from_secs(60), &|_| {}, attempt).await, Ok("done"));
    assert_eq!((tries.get(), begun.elapsed()), (3, Duration::from_secs(10)));
}

#[tokio::test(start_paused = true)]
async fn no_try_begins_after_the_deadline_and_none_goes_on_past_it() {
    let begun = Instant::now();
    let attempt = || async { Err::<(), _>(asks(Duration::from_secs(20))) };
    let failure = persist(&retry(), begun + Duration::from_secs(50), &|_| {}, attempt).await.unwrap_err();
    assert!(failure.message.ends_with("; there is no time for another try"), "{failure}");
    assert_eq!(begun.elapsed(), Duration::from_secs(40));
    let begun = Instant::now();
    let hangs = || std::future::pending::<Result<(), Failure>>();
    let failure = persist(&retry(), begun + Duration::from_secs(50), &|_| {}, hangs).await.unwrap_err();
    assert_eq!((failure.kind, begun.elapsed()), (Kind::Timeout, Duration::from_secs(50)));
}

#[tokio::test(start_paused = true)]
async fn a_model_that_loads_for_ever_ends_by_the_deadline() {
    let begun = Instant::now();
    let attempt = || async { Err::<(), _>(fails(Kind::Loading)) };
    assert!(persist(&retry(), begun + Duration::from_secs(300), &|_| {}, attempt).await.is_err());
    assert_eq!(begun.elapsed(), Duration::from_secs(299));
}

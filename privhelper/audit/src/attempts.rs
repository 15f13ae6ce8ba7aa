//! Take-backs under way, and those that are tried again. Times are since boot.

use postern_peers::locked;
use postern_proto::root::v1::RequestState;
use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

/// First and longest pause before another try.
const PAUSES: [Duration; 2] = [Duration::from_secs(2), Duration::from_secs(5 * 60)];
/// How long it is tried again after the first try.
const PATIENCE: Duration = Duration::from_secs(60 * 60);
/// Most take-backs at once.
const AT_ONCE: usize = 8;

/// The take-backs that have been tried, by uid and id of the change.
#[derive(Default)]
pub struct Attempts(Mutex<HashMap<(u32, String), Attempt>>);

struct Attempt {
    is_running: bool,
    next: Duration,
    last: Duration,
    pause: Duration,
    /// Why the last try failed.
    why: String,
}

fn key(change: &RequestState) -> (u32, String) {
    (change.uid, change.request_id.clone())
}

impl Attempts {
    /// Forgets all but those of these changes.
    pub fn retain(&self, changes: &[RequestState]) {
        locked(&self.0).retain(|tried, _| changes.iter().any(|one| key(one) == *tried));
    }

    /// Returns why the last try failed; none if none has.
    pub fn why(&self, change: &RequestState) -> Option<String> {
        locked(&self.0).get(&key(change)).map(|attempt| attempt.why.clone())
    }

    /// Begins a try. False: one is under way, it is too early for the next, or too many are under way.
    pub fn begin(&self, change: &RequestState, now: Duration) -> bool {
        let mut attempts = locked(&self.0);
        let running = attempts.values().filter(|attempt| attempt.is_running).count();
        let (last, why) = (now.saturating_add(PATIENCE), String::new());
        let first = Attempt { is_running: false, next: now, last, pause: PAUSES[0], why };
        let attempt = attempts.entry(key(change)).or_insert(first);
        let begins = !attempt.is_running && attempt.next <= now && running < AT_ONCE;
        attempt.is_running |= begins;
        begins
    }

    /// Ends a try that failed, and plans the next. False: it was tried long enough.
    pub fn again(&self, change: &RequestState, now: Duration, why: &str) -> bool {
        let mut attempts = locked(&self.0);
        let Some(attempt) = attempts.get_mut(&key(change)) else { return false };
        attempt.is_running = false;
        attempt.next = now.saturating_add(attempt.pause);
        attempt.pause = attempt.pause.saturating_mul(2).min(PAUSES[1]);
        why.clone_into(&mut attempt.why);
        attempt.next <= attempt.last
    }
}

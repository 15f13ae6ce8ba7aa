//! How many requests each uid may make within a minute and within an hour. Those beyond are counted, and recorded
//! together.

use crate::window::Window;
use postern_policy::{Code, Denied};
use std::collections::HashMap;
use std::time::Duration;

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;

/// The budget that a request counts against.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Class {
    /// An effect of a client, or bytes that were not decoded.
    Effect,
    /// A client's read, preview or check.
    Read,
    /// A call of an operator.
    Operator,
}

/// Requests of one user that got no record of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Suppressed {
    /// How many.
    pub count: u64,
    /// When the first came, since 1970.
    pub first: Duration,
    /// When the last came.
    pub last: Duration,
}

/// The requests of each uid within the last hour.
#[derive(Debug, Default)]
pub struct Rates {
    /// Requests in each second that had any.
    seconds: HashMap<(u32, Class), Window>,
    /// Requests beyond a budget, and when they were last recorded, since boot.
    over: HashMap<u32, Suppressed>,
    told: u64,
}

impl Rates {
    /// Counts a request. `most`: effects within a minute and within an hour; of the other classes ten times as many. Times
    /// since boot and since 1970.
    ///
    /// # Errors
    /// `rate_limited`: the uid has used its budget up.
    pub fn admit(
        &mut self,
        uid: u32,
        class: Class,
        most: [u32; 2],
        (boot, unix): (Duration, Duration),
    ) -> Result<(), Denied> {
        let now = boot.as_secs();
        self.seconds.retain(|_, seconds| seconds.keep(HOUR, now));
        let seconds = self.seconds.entry((uid, class)).or_default();
        let (times, what) = match class {
            Class::Effect => (1, "requests"),
            Class::Read => (10, "reads and checks"),
            Class::Operator => (10, "calls"),
        };
        let [minute, hour] = most.map(|most| most.saturating_mul(times));
        let limits = [(MINUTE, minute, "minute"), (HOUR, hour, "hour")];
        let waits = limits.map(|(length, most, name)| (seconds.wait(length, most.into(), now), most, name));
        let Some((Some(wait), most, name)) = waits.into_iter().max_by_key(|(wait, ..)| *wait) else {
            seconds.add(now, 1);
            return Ok(());
        };
        self.suppress(uid, unix);
        // The waiting time is a field of its own, which the client adds to the message.
        let message = format!("rate limit reached ({most} {what} a {name} for uid {uid})");
        let retry_after_s = u32::try_from(wait).unwrap_or(u32::MAX);
        Err(Denied { retry_after_s, ..Denied::new(Code::RateLimited, message) })
    }

    /// Counts a request that gets no record of its own.
    pub fn suppress(&mut self, uid: u32, unix: Duration) {
        self.put_back(uid, Suppressed { count: 1, first: unix, last: unix });
    }

    /// Takes out the requests beyond a budget: once a minute, and when the program ends.
    pub fn take_over(&mut self, is_end: bool, boot: Duration) -> HashMap<u32, Suppressed> {
        if !is_end && self.told.saturating_add(MINUTE) > boot.as_secs() {
            return HashMap::new();
        }
        self.told = boot.as_secs();
        std::mem::take(&mut self.over)
    }

    /// Adds requests that could not be recorded to those that came since.
    pub fn put_back(&mut self, uid: u32, over: Suppressed) {
        let own = self.over.entry(uid).or_insert(Suppressed { count: 0, ..over });
        own.count = own.count.saturating_add(over.count);
        (own.first, own.last) = (own.first.min(over.first), own.last.max(over.last));
    }
}

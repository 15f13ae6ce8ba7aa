//! Budgets of records per uid and of bytes in all. Requests over a budget are counted, not recorded.

use super::limits::Limits;
use super::record::Payer;
use postern_peers::{Suppressed, Window};
use std::collections::HashMap;
use std::time::Duration;

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
/// Bytes are counted in slots of ten minutes: six to an hour, 144 to a day.
const SLOT: u64 = 10 * MINUTE;

/// The cause of a record: each has a budget of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Class {
    /// A client's effect.
    Effect,
    /// A client's read, preview or check, and refused or malformed requests.
    Read,
    /// A call of an operator.
    Operator,
}

/// The records of each uid.
#[derive(Default)]
pub struct Budget {
    /// Requests in each second that had any.
    seconds: HashMap<(u32, Class), Window>,
    /// Bytes within each slot, of clients and of operators.
    bytes: HashMap<(u32, Payer), Window>,
    /// Requests that got no record, and when that was last recorded.
    over: HashMap<u32, Suppressed>,
    told: u64,
}

impl Budget {
    /// Counts a request that is about to be recorded. Times since boot and since 1970.
    ///
    /// # Errors
    /// It is over the budget; after how many seconds another try makes sense.
    pub fn admit(
        &mut self,
        uid: u32,
        class: Class,
        limits: Limits,
        boot: Duration,
        unix: Duration,
    ) -> Result<(), u32> {
        let now = boot.as_secs();
        let full = self.is_full(uid, class, limits, now).then_some(MINUTE);
        self.seconds.retain(|_, seconds| seconds.keep(HOUR, now));
        let seconds = self.seconds.entry((uid, class)).or_default();
        let times = if class == Class::Effect { 1 } else { 10 };
        let windows = [(MINUTE, limits.per_minute), (HOUR, limits.per_hour)];
        let waits =
            windows.map(|(window, most)| seconds.wait(window, most.saturating_mul(times).into(), now));
        let Some(wait) = waits.into_iter().flatten().chain(full).max() else {
            seconds.add(now, 1);
            return Ok(());
        };
        let over = self.over.entry(uid).or_insert(Suppressed { count: 0, first: unix, last: unix });
        (over.count, over.last) = (over.count.saturating_add(1), unix);
        Err(u32::try_from(wait).unwrap_or(u32::MAX))
    }

    /// Counts the bytes of a record.
    pub fn charge(&mut self, uid: u32, origin: Payer, bytes: usize, boot: Duration) {
        let (slot, bytes) = (boot.as_secs().div_euclid(SLOT), u64::try_from(bytes).unwrap_or(u64::MAX));
        self.bytes.entry((uid, origin)).or_default().add(slot, bytes);
    }

    /// Whether the day's bytes are used up, or a quarter of them within an hour; for one uid half of either.
    fn is_full(&mut self, uid: u32, class: Class, limits: Limits, now: u64) -> bool {
        let origin = if class == Class::Operator { Payer::Recorder } else { Payer::Client };
        let (now, day) = (now.div_euclid(SLOT), limits.day_bytes);
        self.bytes.retain(|_, slots| slots.keep(144, now));
        let used = |own: bool, length: u64| {
            let accounts = self.bytes.iter().filter(|((of, by), _)| *by == origin && (!own || *of == uid));
            accounts.fold(0_u64, |sum, (_, slots)| sum.saturating_add(slots.within(length, now)))
        };
        let all = used(false, 144) >= day || used(false, 6) >= day >> 2;
        all || used(true, 144) >= day >> 1 || used(true, 6) >= day >> 3
    }

    /// Takes out what was over the budget: once a minute, and when the recorder ends.
    pub fn take_over(&mut self, is_end: bool, boot: Duration) -> HashMap<u32, Suppressed> {
        if !is_end && self.told.saturating_add(MINUTE) > boot.as_secs() {
            return HashMap::new();
        }
        self.told = boot.as_secs();
        std::mem::take(&mut self.over)
    }

    /// Puts back suppressed requests that could not be recorded.
    pub fn put_back(&mut self, uid: u32, over: Suppressed) {
        let own = self.over.entry(uid).or_insert(Suppressed { count: 0, ..over });
        (own.count, own.first) = (own.count.saturating_add(over.count), over.first);
    }
}

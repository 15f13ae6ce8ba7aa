//! Budgets of records per uid and of bytes in all. Requests over a budget are counted, not recorded.

use super::limits::Limits;
use super::record::Payer;
use postern_peers::{Class, Rates, Window};
use std::collections::HashMap;
use std::time::Duration;

/// Bytes are counted in slots of ten minutes: six to an hour, 144 to a day.
const SLOT: u64 = 10 * 60;
/// After how many seconds another try makes sense if the bytes are used up.
const FULL_WAIT: u32 = 60;

/// The records of each uid.
#[derive(Default)]
pub struct Budget {
    /// Those of the accepted policy.
    pub limits: Limits,
    /// Requests, and those that got no record.
    pub rates: Rates,
    /// Bytes within each slot, of clients and of operators.
    bytes: HashMap<(u32, Payer), Window>,
}

impl Budget {
    /// Counts a request that is about to be recorded. Times since boot and since 1970.
    ///
    /// # Errors
    /// It is over the budget; after how many seconds another try makes sense.
    pub fn admit(&mut self, uid: u32, class: Class, times: (Duration, Duration)) -> Result<(), u32> {
        if self.is_full(uid, class, times.0.as_secs()) {
            self.rates.suppress(uid, times.1);
            return Err(FULL_WAIT);
        }
        let most = [self.limits.per_minute, self.limits.per_hour];
        self.rates.admit(uid, class, most, times).map_err(|denied| denied.retry_after_s)
    }

    /// Counts the bytes of a record.
    pub fn charge(&mut self, uid: u32, origin: Payer, bytes: usize, boot: Duration) {
        let (slot, bytes) = (boot.as_secs().div_euclid(SLOT), u64::try_from(bytes).unwrap_or(u64::MAX));
        self.bytes.entry((uid, origin)).or_default().add(slot, bytes);
    }

    /// Whether the day's bytes are used up, or a quarter of them within an hour; for one uid half of either.
    fn is_full(&mut self, uid: u32, class: Class, now: u64) -> bool {
        let origin = if class == Class::Operator { Payer::Recorder } else { Payer::Client };
        let (now, day) = (now.div_euclid(SLOT), self.limits.day_bytes);
        self.bytes.retain(|_, slots| slots.keep(144, now));
        let used = |own: bool, length: u64| {
            let accounts = self.bytes.iter().filter(|((of, by), _)| *by == origin && (!own || *of == uid));
            accounts.fold(0_u64, |sum, (_, slots)| sum.saturating_add(slots.within(length, now)))
        };
        let all = used(false, 144) >= day || used(false, 6) >= day >> 2;
        all || used(true, 144) >= day >> 1 || used(true, 6) >= day >> 3
    }
}

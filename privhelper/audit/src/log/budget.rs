//! How many records one uid, and how many bytes all of them, may cause. Requests beyond that are counted, not recorded.

use super::limits::Limits;
use super::record::Payer;
use std::collections::{HashMap, VecDeque};
use std::time::Duration;

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
/// Bytes are counted in slots of ten minutes: six to an hour, 144 to a day.
const SLOT: u64 = 10 * MINUTE;

/// What a record is caused by: each has a budget of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Class {
    /// A client's effect.
    Effect,
    /// A client's read, preview or check, and what was refused or malformed.
    Read,
    /// A call of an operator.
    Operator,
}

/// The records of each uid.
#[derive(Default)]
pub struct Budget {
    /// Requests in each second that had any, oldest first.
    seconds: HashMap<(u32, Class), VecDeque<(u64, u32)>>,
    /// Bytes within each slot, oldest first, of clients and of operators.
    bytes: HashMap<(u32, Payer), VecDeque<(u64, u64)>>,
    /// Requests that got no record, and when that was last recorded.
    over: HashMap<u32, Suppressed>,
    told: u64,
}

/// Requests that got no record of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Suppressed {
    /// How many.
    pub count: u64,
    /// When the first came, since 1970.
    pub first: Duration,
    /// When the last came.
    pub last: Duration,
}

/// When requests that got no record are recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Due {
    /// Once a minute.
    Minutely,
    /// Now: the recorder ends.
    Now,
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
        self.seconds.retain(|_, seconds| {
            seconds.retain(|(second, _)| second.saturating_add(HOUR) > now);
            !seconds.is_empty()
        });
        let seconds = self.seconds.entry((uid, class)).or_default();
        let times = if class == Class::Effect { 1 } else { 10 };
        let windows = [(MINUTE, limits.per_minute), (HOUR, limits.per_hour)];
        let waits = windows.map(|(window, most)| wait(seconds, window, most.saturating_mul(times), now));
        let Some(wait) = waits.into_iter().flatten().chain(full).max() else {
            match seconds.back_mut().filter(|(second, _)| *second == now) {
                Some((_, count)) => *count = count.saturating_add(1),
                None => seconds.push_back((now, 1)),
            }
            return Ok(());
        };
        let over = self.over.entry(uid).or_insert(Suppressed { count: 0, first: unix, last: unix });
        (over.count, over.last) = (over.count.saturating_add(1), unix);
        Err(u32::try_from(wait).unwrap_or(u32::MAX))
    }

    /// Counts the bytes of a record.
    pub fn charge(&mut self, uid: u32, origin: Payer, bytes: usize, boot: Duration) {
        let (slot, bytes) = (boot.as_secs().div_euclid(SLOT), u64::try_from(bytes).unwrap_or(u64::MAX));
        let slots = self.bytes.entry((uid, origin)).or_default();
        match slots.back_mut().filter(|(last, _)| *last == slot) {
            Some((_, count)) => *count = count.saturating_add(bytes),
            None => slots.push_back((slot, bytes)),
        }
    }

    /// Whether the day's bytes are used up, or a quarter of them within an hour; for one uid half of either.
    fn is_full(&mut self, uid: u32, class: Class, limits: Limits, now: u64) -> bool {
        let origin = if class == Class::Operator { Payer::Recorder } else { Payer::Client };
        let (now, day) = (now.div_euclid(SLOT), limits.day_bytes);
        self.bytes.retain(|_, slots| {
            slots.retain(|(slot, _)| slot.saturating_add(144) > now);
            !slots.is_empty()
        });
        let used = |own: bool, slots_back: u64| {
            let accounts = self.bytes.iter().filter(|((of, by), _)| *by == origin && (!own || *of == uid));
            let recent = accounts.flat_map(|(_, slots)| slots);
            let recent = recent.filter(|(slot, _)| slot.saturating_add(slots_back) > now);
            recent.fold(0_u64, |sum, (_, bytes)| sum.saturating_add(*bytes))
        };
        let all = used(false, 144) >= day || used(false, 6) >= day >> 2;
        all || used(true, 144) >= day >> 1 || used(true, 6) >= day >> 3
    }

    /// Takes out what was over the budget, if that is due.
    pub fn take_over(&mut self, due: Due, boot: Duration) -> HashMap<u32, Suppressed> {
        if due == Due::Minutely && self.told.saturating_add(MINUTE) > boot.as_secs() {
            return HashMap::new();
        }
        self.told = boot.as_secs();
        std::mem::take(&mut self.over)
    }

    /// Puts back what could not be recorded.
    pub fn put_back(&mut self, uid: u32, over: Suppressed) {
        let own = self.over.entry(uid).or_insert(Suppressed { count: 0, ..over });
        (own.count, own.first) = (own.count.saturating_add(over.count), over.first);
    }
}

/// In how many seconds another request fits into this window; none if one does now.
fn wait(seconds: &VecDeque<(u64, u32)>, window: u64, most: u32, now: u64) -> Option<u64> {
    let mut left = most;
    for (second, count) in seconds.iter().rev() {
        if second.saturating_add(window) <= now {
            return None;
        }
        left = left.saturating_sub(*count);
        if left == 0 {
            return Some(second.saturating_add(window).saturating_sub(now).max(1));
        }
    }
    None
}

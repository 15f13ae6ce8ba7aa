//! Sliding windows: how much of a budget was used of late.

use std::collections::VecDeque;

/// Amounts by their time, oldest first: requests by the second, bytes by slots of ten minutes.
#[derive(Debug, Default)]
pub struct Window(VecDeque<(u64, u64)>);

impl Window {
    /// Adds an amount now.
    pub fn add(&mut self, now: u64, amount: u64) {
        match self.0.back_mut().filter(|(at, _)| *at == now) {
            Some((_, of_now)) => *of_now = of_now.saturating_add(amount),
            None => self.0.push_back((now, amount)),
        }
    }

    /// Drops what is older than `length`; false if nothing is left.
    pub fn keep(&mut self, length: u64, now: u64) -> bool {
        self.0.retain(|(at, _)| at.saturating_add(length) > now);
        !self.0.is_empty()
    }

    /// Returns the sum of the last `length`.
    pub fn within(&self, length: u64, now: u64) -> u64 {
        let recent = self.0.iter().filter(|(at, _)| at.saturating_add(length) > now);
        recent.fold(0, |sum, (_, amount)| sum.saturating_add(*amount))
    }

    /// Returns after what time the last `length` holds less than `most`; none if it does now.
    pub fn wait(&self, length: u64, most: u64, now: u64) -> Option<u64> {
        let mut left = most;
        let full = self.0.iter().rev().find(|(_, amount)| {
            left = left.saturating_sub(*amount);
            left == 0
        });
        full?.0.saturating_add(length).checked_sub(now).filter(|wait| *wait > 0)
    }
}

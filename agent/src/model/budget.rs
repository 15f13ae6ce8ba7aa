//! What a task may cost.

use super::conversation::Usage;
use crate::config::tables::Limits;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::time::Instant;

/// What a task has cost so far, and how much it may. A clone counts on the same account: what a command's programs
/// ask for is on the task's.
#[derive(Clone, Debug)]
pub struct Budget {
    limits: Arc<Limits>,
    begun: Instant,
    spent: Arc<Mutex<Spent>>,
}

#[derive(Debug, Default)]
struct Spent {
    steps: u32,
    tokens: u64,
    changes: u32,
}

impl Budget {
    /// Of a task that begins now.
    #[must_use]
    pub fn new(limits: &Limits) -> Self {
        Self { limits: Arc::new(limits.clone()), begun: Instant::now(), spent: Arc::default() }
    }

    fn account(&self) -> MutexGuard<'_, Spent> {
        self.spent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// When the task's time is over.
    #[must_use]
    pub fn deadline(&self) -> Instant {
        self.begun + self.limits.time.0
    }

    /// Tokens so far, in and out.
    #[must_use]
    pub fn tokens(&self) -> u64 {
        self.account().tokens
    }

    /// Begins a step.
    ///
    /// # Errors
    /// What is used up.
    pub fn step(&mut self) -> Result<(), String> {
        let Limits { steps, tokens, time, .. } = &*self.limits;
        if Instant::now() >= self.deadline() {
            return Err(format!("the time of {time} that a task may take is over"));
        }
        let mut spent = self.account();
        if spent.tokens >= *tokens {
            return Err(format!("the {tokens} tokens that a task may take are used up"));
        }
        if spent.steps >= steps.get() {
            return Err(format!("the {steps} steps that a task may take are used up"));
        }
        spent.steps += 1;
        Ok(())
    }

    /// Begins a change.
    ///
    /// # Errors
    /// What is used up.
    pub fn change(&mut self) -> Result<(), String> {
        let mut spent = self.account();
        if spent.changes >= self.limits.changes {
            return Err(format!("the {} changes that a task may make are used up", self.limits.changes));
        }
        spent.changes += 1;
        Ok(())
    }

    /// Counts the tokens of an answer.
    pub fn spent(&mut self, usage: Usage) {
        let mut spent = self.account();
        spent.tokens = spent.tokens.saturating_add(usage.input).saturating_add(usage.output);
    }
}

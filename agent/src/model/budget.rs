//! What a task may cost.

use super::conversation::Usage;
use crate::config::tables::Limits;
use tokio::time::Instant;

/// What a task has cost so far, and how much it may.
#[derive(Clone, Debug)]
pub struct Budget {
    limits: Limits,
    begun: Instant,
    steps: u32,
    tokens: u64,
    changes: u32,
}

impl Budget {
    /// Of a task that begins now.
    #[must_use]
    pub fn new(limits: &Limits) -> Self {
        Self { limits: limits.clone(), begun: Instant::now(), steps: 0, tokens: 0, changes: 0 }
    }

    /// When the task's time is over.
    #[must_use]
    pub fn deadline(&self) -> Instant {
        self.begun + self.limits.time.0
    }

    /// Tokens so far, in and out.
    #[must_use]
    pub fn tokens(&self) -> u64 {
        self.tokens
    }

    /// Begins a step.
    ///
    /// # Errors
    /// What is used up.
    pub fn step(&mut self) -> Result<(), String> {
        let Limits { steps, tokens, time, .. } = &self.limits;
        if Instant::now() >= self.deadline() {
            return Err(format!("the time of {time} that a task may take is over"));
        }
        if self.tokens >= *tokens {
            return Err(format!("the {tokens} tokens that a task may take are used up"));
        }
        if self.steps >= steps.get() {
            return Err(format!("the {steps} steps that a task may take are used up"));
        }
        self.steps += 1;
        Ok(())
    }

    /// Begins a change.
    ///
    /// # Errors
    /// What is used up.
    pub fn change(&mut self) -> Result<(), String> {
        if self.changes >= self.limits.changes {
            return Err(format!("the {} changes that a task may make are used up", self.limits.changes));
        }
        self.changes += 1;
        Ok(())
    }

    /// Counts the tokens of an answer.
    pub fn spent(&mut self, usage: Usage) {
        self.tokens = self.tokens.saturating_add(usage.input).saturating_add(usage.output);
    }
}

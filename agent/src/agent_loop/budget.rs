//! The budget of a task: runs, steps, tokens, time and changes.

use crate::config::tables::Limits;
use crate::llm::conversation::Usage;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::time::Instant;

/// Limits of a task and its usage so far. Clones share one account: requests of a command's programs count for the
/// task.
#[derive(Clone, Debug)]
pub struct Budget {
    limits: Arc<Limits>,
    begun: Instant,
    spent: Arc<Mutex<Spent>>,
}

#[derive(Debug)]
struct Spent {
    runs: u32,
    steps: u32,
    tokens: u64,
    changes: u32,
}

impl Budget {
    /// Of a task that begins now.
    #[must_use]
    pub fn new(limits: &Limits) -> Self {
        let spent = Spent { runs: 1, steps: 0, tokens: 0, changes: 0 };
        Self { limits: Arc::new(limits.clone()), begun: Instant::now(), spent: Arc::new(Mutex::new(spent)) }
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

    /// The run that goes on, and how many there may be.
    #[must_use]
    pub fn run(&self) -> (u32, u32) {
        (self.account().runs, self.limits.runs.get())
    }

    /// Whether the steps of this run are used up.
    ///
    /// # Errors
    /// They are.
    pub fn run_goes_on(&self) -> Result<(), String> {
        let steps = self.limits.steps;
        if self.account().steps >= steps.get() {
            return Err(format!("the {steps} steps that a run may take are used up"));
        }
        Ok(())
    }

    /// Begins the next run.
    ///
    /// # Errors
    /// It was the last one.
    pub fn next_run(&mut self) -> Result<(), String> {
        let Limits { runs, steps, .. } = &*self.limits;
        let mut spent = self.account();
        if spent.runs >= runs.get() {
            return Err(match runs.get() {
                1 => format!("the {steps} steps that a task may take are used up"),
                _ => format!("the {runs} runs of {steps} steps that a task may take are used up"),
            });
        }
        (spent.runs, spent.steps) = (spent.runs + 1, 0);
        Ok(())
    }

    /// Begins a step.
    ///
    /// # Errors
    /// The limit that is used up.
    pub fn step(&mut self) -> Result<(), String> {
        self.cost()?;
        self.run_goes_on()?;
        self.account().steps += 1;
        Ok(())
    }

    /// Whether the model may be asked once more.
    ///
    /// # Errors
    /// The limit that is used up: time or tokens.
    pub fn cost(&self) -> Result<(), String> {
        let Limits { tokens, time, .. } = &*self.limits;
        if Instant::now() >= self.deadline() {
            return Err(format!("the time of {time} that a task may take is over"));
        }
        if self.account().tokens >= *tokens {
            return Err(format!("the {tokens} tokens that a task may take are used up"));
        }
        Ok(())
    }

    /// Begins a change.
    ///
    /// # Errors
    /// The limit of changes is used up.
    pub fn change(&mut self) -> Result<(), String> {
        let mut spent = self.account();
        if spent.changes >= self.limits.changes {
            return Err(format!("the {} changes that a task may make are used up", self.limits.changes));
        }
        spent.changes += 1;
        Ok(())
    }

    /// Whether so many changes are left.
    #[must_use]
    pub fn has_changes(&self, count: usize) -> bool {
        let left = self.limits.changes.saturating_sub(self.account().changes);
        count <= usize::try_from(left).unwrap_or(usize::MAX)
    }

    /// Counts the tokens of an answer.
    pub fn spent(&mut self, usage: Usage) {
        let mut spent = self.account();
        spent.tokens = spent.tokens.saturating_add(usage.input).saturating_add(usage.output);
    }
}

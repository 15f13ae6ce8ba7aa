//! Whose turn it is: one task acts at a time, and one that waits for a person lets the others go on.

use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// A task's place among those of its service.
pub struct Turn {
    shared: Arc<Semaphore>,
    held: Option<OwnedSemaphorePermit>,
}

impl Turn {
    /// Of a task that is alone in its process.
    #[must_use]
    pub fn alone() -> Self {
        Self::of(&Arc::new(Semaphore::new(1)))
    }

    /// Of a task beside those that share the same permit.
    #[must_use]
    pub fn of(shared: &Arc<Semaphore>) -> Self {
        Self { shared: Arc::clone(shared), held: None }
    }

    /// Waits until no other task acts.
    pub async fn take(&mut self) {
        if self.held.is_none() {
            // Nothing closes the semaphore.
            self.held = Arc::clone(&self.shared).acquire_owned().await.ok();
        }
    }

    /// Lets the others go on.
    pub fn give(&mut self) {
        self.held = None;
    }
}

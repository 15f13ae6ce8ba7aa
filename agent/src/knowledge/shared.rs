//! State that the threads of the knowledge base share: its writer, its files and its limits.

use super::database::{failed, open_to_read};
use super::document::{Fault, Indexing, Limits};
use super::files::Places;
use crate::redaction::Secrets;
use rusqlite::Connection;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::Semaphore;

/// Said of a base that is off.
const OFF: &str = "the knowledge base is off: enabled in [knowledge] of agent.toml";
/// Longest time that one waits for others.
pub const TIME: Duration = Duration::from_secs(3);
/// Free space that is left on the file system, in bytes.
const FREE: u64 = 256 << 20;

/// State that its threads share.
pub struct Inner {
    pub(super) path: PathBuf,
    /// The one connection that writes.
    pub(super) writer: Mutex<Option<Connection>>,
    /// `off`, or why there is none.
    pub(super) fault: Option<String>,
    pub(super) places: Places,
    pub(super) reading: Arc<Semaphore>,
    pub(super) writing: Arc<Semaphore>,
    pub(super) limits: Limits,
    pub(super) secrets: Arc<Secrets>,
    pub(super) indexing: Mutex<Indexing>,
    /// State of the host's files that the index was made of.
    pub(super) seen: Mutex<String>,
}

impl Inner {
    /// Runs work on a thread that may block. Those who wait are served in their order.
    async fn run<T: Send + 'static>(
        self: &Arc<Self>,
        slots: &Arc<Semaphore>,
        work: impl FnOnce(&Self) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, Fault> {
        let slot = tokio::time::timeout(TIME, Arc::clone(slots).acquire_owned()).await;
        let Ok(Ok(slot)) = slot else {
            return Err(Fault::Failed("the knowledge base is busy; try again later".to_owned()));
        };
        let inner = Arc::clone(self);
        let working = tokio::task::spawn_blocking(move || {
            let done = work(&inner);
            drop(slot);
            done
        });
        working
            .await
            .unwrap_or_else(|error| Err(Fault::Failed(format!("the knowledge base broke off: {error}"))))
    }

    /// Runs work that reads, beside others that do.
    pub(super) async fn read<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Self) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, Fault> {
        self.run(&self.reading, work).await
    }

    /// Runs work that writes, after others that do.
    pub(super) async fn change<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Self) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, Fault> {
        self.run(&self.writing, work).await
    }

    /// Writes in one transaction.
    pub(super) fn write<T>(&self, change: impl FnOnce(&Connection) -> Result<T, Fault>) -> Result<T, Fault> {
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let connection = writer.as_mut().ok_or_else(|| self.unused())?;
        let transaction = connection.transaction().map_err(|error| failed(&error))?;
        let value = change(&transaction)?;
        transaction.commit().map_err(|error| failed(&error))?;
        Ok(value)
    }

    pub(super) fn unused(&self) -> Fault {
        let why = self.fault.as_deref().unwrap_or("off");
        Fault::Off(if why == "off" { OFF.to_owned() } else { why.to_owned() })
    }

    pub(super) fn reader(&self) -> Result<Connection, Fault> {
        if self.fault.is_some() { Err(self.unused()) } else { open_to_read(&self.path) }
    }

    pub(super) fn has_space(&self) -> Result<(), Fault> {
        let directory = self.path.parent().unwrap_or(Path::new("/"));
        let Ok(facts) = nix::sys::statvfs::statvfs(directory) else { return Ok(()) };
        let free = facts.blocks_available().saturating_mul(facts.fragment_size());
        if free < FREE {
            let least = FREE >> 20;
            return Err(Fault::Full(format!(
                "less than {least} MiB are free for the knowledge base; free some space"
            )));
        }
        Ok(())
    }
}

//! State of one client's session: the transport to the helper, the requests under way, and the changes that were
//! made.

use super::connection::Connection;
use super::settings::{Settings, Times};
use crate::client::pending_request::new_id;
use crate::config::host::Host;
use crate::protocol::event::{AgentError, Description};
use crate::protocol::mode::Mode;
use serde::Serialize;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::AbortHandle;

/// The way to the helper and what the policy grants there.
pub struct Shared {
    /// Where requests go.
    pub connection: Connection,
    /// How answers are timed.
    pub times: Times,
    /// How far calls go.
    pub mode: Mode,
    /// The agent's socket, for its tasks.
    pub agent_socket: PathBuf,
    description: watch::Sender<Arc<Description>>,
    watching: Mutex<Option<AbortHandle>>,
    directory: PathBuf,
}

/// One client's requests.
pub struct Session {
    /// State shared with other sessions of the same process.
    pub shared: Arc<Shared>,
    /// The name under which the helper records the session's requests together.
    pub id: String,
    changes: Mutex<Vec<Change>>,
}

/// A change that this session made.
#[derive(Clone, Debug, Serialize)]
pub struct Change {
    /// Its request.
    pub request_id: String,
    /// The verb.
    pub verb: &'static str,
    /// Its target.
    pub target: String,
    /// The helper can take it back.
    pub undoable: bool,
    /// It was taken back.
    pub undone: bool,
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    /// Opens the way.
    ///
    /// # Errors
    /// Neither the helper nor the agent takes requests of this uid.
    pub async fn open(host: &Host, settings: Settings) -> Result<Self, AgentError> {
        let (connection, description) = Connection::open(host, settings.ways).await?;
        Ok(Self {
            connection,
            times: settings.times,
            mode: settings.mode,
            agent_socket: host.agent_socket.clone(),
            description: watch::channel(Arc::new(description)).0,
            watching: Mutex::default(),
            directory: host.accepted_policy.clone(),
        })
    }

    /// Fetches the current grants from the helper.
    ///
    /// # Errors
    /// The helper does not answer.
    pub async fn described(&self) -> Result<Arc<Description>, AgentError> {
        let now = Arc::new(self.connection.describe().await?);
        self.description.send_if_modified(|known| {
            let is_other = **known != *now;
            known.clone_from(&now);
            is_other
        });
        Ok(now)
    }

    /// Tells of every change of what is granted, from now on.
    pub fn changes(self: &Arc<Self>) -> watch::Receiver<Arc<Description>> {
        let mut watching = lock(&self.watching);
        if watching.is_none() {
            *watching = Some(tokio::spawn(watch_policy(Arc::downgrade(self))).abort_handle());
        }
        self.description.subscribe()
    }
}

/// Asks anew whenever the directory of the accepted policy changed: a policy is replaced by rename, and what may look at
/// the directory's time may not read it. The helper is asked no more often than that, since it records each question.
async fn watch_policy(shared: std::sync::Weak<Shared>) {
    let mut known = None;
    loop {
        let Some(shared) = shared.upgrade() else { return };
        let now = changed_at(&shared.directory);
        if known != Some(now) {
            // Without an answer it is tried again.
            let is_first = known.is_none();
            known = (is_first || shared.described().await.is_ok()).then_some(now).or(known);
        }
        let pause: Duration = shared.times.policy;
        drop(shared);
        tokio::time::sleep(pause).await;
    }
}

/// When a directory last changed; 0 where there is none.
fn changed_at(directory: &Path) -> (i64, i64) {
    std::fs::metadata(directory).map_or((0, 0), |is| (is.mtime(), is.mtime_nsec()))
}

impl Session {
    /// One without requests.
    pub fn new(shared: Arc<Shared>) -> Self {
        Self { shared, id: new_id(), changes: Mutex::default() }
    }

    /// Remembers a change.
    pub fn changed(&self, change: Change) {
        lock(&self.changes).push(change);
    }

    /// Remembers that a change was taken back.
    pub fn undone(&self, id: &str) {
        for change in lock(&self.changes).iter_mut().filter(|change| change.request_id == id) {
            change.undone = true;
        }
    }

    /// The changes, the oldest first.
    pub fn made(&self) -> Vec<Change> {
        lock(&self.changes).clone()
    }

    /// The newest change that can be taken back.
    pub fn last(&self) -> Option<String> {
        let changes = lock(&self.changes);
        let is_left = |change: &&Change| change.undoable && !change.undone;
        changes.iter().rfind(is_left).map(|change| change.request_id.clone())
    }
}

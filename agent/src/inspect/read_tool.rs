//! Runs the read-only tools on this host, bounded in time and number.

use super::read_error::ReadError;
use super::read_result::{HostPaths, ReadResult};
use super::roots::Roots;
use super::{disks, files, network, packages, search, system, units};
use crate::config::Config;
use crate::config::host::Host;
use crate::config::values::SecretRef;
use crate::protocol::step::StepStatus;
use crate::protocol::tool::{FileTool, Tool};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;

/// The longest that a read-only tool takes.
pub const READ_TIME: Duration = Duration::from_secs(5);
/// Most read-only tools that run at a time. One that hangs, perhaps on a dead file server, keeps its slot.
const CONCURRENT_READS: usize = 8;

/// The read-only tools that run without the helper.
#[derive(Clone, Debug)]
pub struct ReadTools {
    places: Arc<HostPaths>,
    slots: Arc<Semaphore>,
}

impl ReadTools {
    /// Returns the tools with the directories that the configuration allows.
    #[must_use]
    pub fn new(config: &Config, host: &Host) -> Self {
        let rows = config.secrets.values().map(|row| &row.source);
        let keys = config.own_keys().chain(rows).filter_map(|key| match key {
            SecretRef::File(path) => Some(path.clone()),
            SecretRef::Credential(_) | SecretRef::Env(_) => None,
        });
        // By its own name and, where a link leads to it, by the other.
        let keys = keys.flat_map(|path| [path.canonicalize().unwrap_or_else(|_| path.clone()), path]);
        let hidden = keys.chain([host.state.clone(), host.config.clone()]).collect();
        let roots = config.tools.read_roots.iter().map(|root| root.path().to_owned()).collect();
        let places = HostPaths { roots: Roots::new(roots, hidden), base: host.root.clone() };
        Self { places: Arc::new(places), slots: Arc::new(Semaphore::new(CONCURRENT_READS)) }
    }

    /// Returns tools that read nothing: everything is the helper's to answer.
    #[must_use]
    pub fn blind() -> Self {
        Self::new(&Config::default(), &Host::default())
    }

    /// Carries out a step that is the agent's own; `None` where it is the helper's.
    pub async fn run(&self, tool: &Tool) -> Option<ReadResult> {
        let operation = operation(tool)?;
        let Ok(slot) = Arc::clone(&self.slots).try_acquire_owned() else {
            return Some(ReadResult::failed(
                StepStatus::Error,
                "busy",
                "too many looks hang; try again later",
            ));
        };
        let places = Arc::clone(&self.places);
        // It ends itself a little earlier, with what it has.
        let until = Instant::now() + READ_TIME.mul_f32(0.9);
        let looking = tokio::task::spawn_blocking(move || {
            let found = operation(&places, until);
            drop(slot);
            found
        });
        let found = match tokio::time::timeout(READ_TIME, looking).await {
            Ok(Ok(found)) => found,
            Ok(Err(_)) => Err(ReadError::Failed("reading broke off".to_owned())),
            Err(_) => {
                let why = format!("nothing was found within {} s", READ_TIME.as_secs());
                return Some(ReadResult::failed(StepStatus::Timeout, "timeout", &why));
            }
        };
        match found {
            Ok(found) => Some(found),
            Err(ReadError::Elsewhere) => None,
            Err(ReadError::Denied(why)) => Some(ReadResult::failed(StepStatus::Denied, "denied", &why)),
            Err(ReadError::Failed(why)) => Some(ReadResult::failed(StepStatus::Error, "failed", &why)),
        }
    }
}

type Operation = Box<dyn FnOnce(&HostPaths, Instant) -> Result<ReadResult, ReadError> + Send>;

/// Returns how a step is read here; `None` where it is the helper's alone.
fn operation(tool: &Tool) -> Option<Operation> {
    Some(match tool.clone() {
        Tool::ReadFile { path, offset, limit } => {
            Box::new(move |places, _| files::read(places, &path, offset.unwrap_or_default(), limit))
        }
        Tool::File(FileTool::List { path }) => Box::new(move |places, _| files::list(places, &path)),
        Tool::SearchFiles { path, text, max_matches } => {
            Box::new(move |places, until| search::files(places, &path, &text, max_matches, until))
        }
        Tool::SearchLogs { text, max_matches } => {
            Box::new(move |places, until| search::logs(places, &text, max_matches, until))
        }
        Tool::GetSystemInfo {} => Box::new(|places, _| Ok(system::info(places))),
        Tool::ListUnits { contains, state } => {
            Box::new(move |places, _| units::units(places, contains.as_deref(), state.as_deref()))
        }
        Tool::ListTimers {} => Box::new(|places, _| units::timers(places)),
        Tool::ListProcesses { contains } => {
            Box::new(move |places, _| units::processes(places, contains.as_deref()))
        }
        Tool::GetNetwork {} => Box::new(|places, _| Ok(network::facts(places))),
        Tool::ListDisks {} => Box::new(|places, _| disks::disks(places)),
        Tool::ListPackages { contains } => {
            Box::new(move |places, _| packages::list(places, contains.as_deref()))
        }
        Tool::Shell { .. }
        | Tool::SearchKnowledge { .. }
        | Tool::Runbook { .. }
        | Tool::Request(_)
        | Tool::PkgInstall { .. }
        | Tool::Package(_)
        | Tool::EnsureInstalled { .. }
        | Tool::Service { .. }
        | Tool::UnitJournal { .. }
        | Tool::UnitsReload {}
        | Tool::Reboot { .. }
        | Tool::EnsureRunning { .. }
        | Tool::WriteFile { .. }
        | Tool::ApplyPatch { .. }
        | Tool::File(_)
        | Tool::RunCommand { .. }
        | Tool::Undo { .. } => return None,
    })
}

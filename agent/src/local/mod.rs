//! What the agent finds out by itself, as its own uid: no helper, no program, nothing is changed.
//!
//! Files are read below the configured read roots only and never where secrets are kept; facts come from
//! /proc, dpkg's status file, `statvfs` and the system bus. Every look is bounded in time and size, and what
//! it did not see it says.

mod bus;
mod disks;
mod files;
mod list;
mod network;
mod packages;
mod roots;
mod search;
mod system;
mod units;

use crate::Host;
use crate::config::Config;
use crate::config::values::SecretRef;
use crate::model::results::UNREAD;
use crate::model::tools::LOOK_TIME;
use crate::task::{StepResult, StepStatus};
use crate::tool::{FileTool, Tool};
use roots::Roots;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::Semaphore;

/// Looks at a time. One that hangs, on a dead file server perhaps, keeps its place.
const LOOKS: usize = 8;

/// What a look may go by.
#[derive(Debug)]
struct Places {
    roots: Roots,
    /// Where /proc, /sys, /etc, /run and /var are.
    base: PathBuf,
}

/// The agent's own eyes.
#[derive(Clone, Debug)]
pub struct Local {
    places: Arc<Places>,
    slots: Arc<Semaphore>,
}

/// What a look found.
#[derive(Debug)]
pub struct Found {
    /// How it ended.
    pub status: StepStatus,
    /// What a model is told, as an object.
    pub told: Value,
    /// What a person is shown, if not that.
    pub text: Option<String>,
    /// `CODE: message`.
    pub error: Option<String>,
}

/// Why nothing was found.
#[derive(Debug)]
enum Blind {
    /// It is the helper's to answer.
    Elsewhere,
    /// It may not be looked at.
    Denied(String),
    /// It cannot be looked at.
    Failed(String),
}

impl Local {
    /// Looks as the configuration allows.
    #[must_use]
    pub fn new(config: &Config, host: &Host) -> Self {
        let keys = [&config.model.key, &config.http.token];
        let rows = config.secrets.values().map(|row| &row.source);
        let keys = keys.into_iter().flatten().chain(rows).filter_map(|key| match key {
            SecretRef::File(path) => Some(path.clone()),
            SecretRef::Credential(_) | SecretRef::Env(_) => None,
        });
        // By its own name and, where a link leads to it, by the other.
        let keys = keys.flat_map(|path| [path.canonicalize().unwrap_or_else(|_| path.clone()), path]);
        let hidden = keys.chain([host.state.clone(), host.config.clone()]).collect();
        let roots = config.tools.read_roots.iter().map(|root| root.path().to_owned()).collect();
        let places = Places { roots: Roots::new(roots, hidden), base: host.root.clone() };
        Self { places: Arc::new(places), slots: Arc::new(Semaphore::new(LOOKS)) }
    }

    /// Sees nothing: everything is the helper's to answer.
    #[must_use]
    pub fn blind() -> Self {
        Self::new(&Config::default(), &Host::default())
    }

    /// Carries out a step that is the agent's own; `None` where it is the helper's.
    pub async fn look(&self, tool: &Tool) -> Option<Found> {
        let look = look(tool)?;
        let Ok(slot) = Arc::clone(&self.slots).try_acquire_owned() else {
            return Some(Found::failed(StepStatus::Error, "busy", "too many looks hang; try again later"));
        };
        let places = Arc::clone(&self.places);
        // It ends itself a little earlier, with what it has.
        let until = Instant::now() + LOOK_TIME.mul_f32(0.9);
        let looking = tokio::task::spawn_blocking(move || {
            let found = look(&places, until);
            drop(slot);
            found
        });
        let found = match tokio::time::timeout(LOOK_TIME, looking).await {
            Ok(Ok(found)) => found,
            Ok(Err(_)) => Err(Blind::Failed("the look broke off".to_owned())),
            Err(_) => {
                let why = format!("nothing was found within {} s", LOOK_TIME.as_secs());
                return Some(Found::failed(StepStatus::Timeout, "timeout", &why));
            }
        };
        match found {
            Ok(found) => Some(found),
            Err(Blind::Elsewhere) => None,
            Err(Blind::Denied(why)) => Some(Found::failed(StepStatus::Denied, "denied", &why)),
            Err(Blind::Failed(why)) => Some(Found::failed(StepStatus::Error, "failed", &why)),
        }
    }
}

type Look = Box<dyn FnOnce(&Places, Instant) -> Result<Found, Blind> + Send>;

/// What a step looks at; `None` where it is the helper's alone.
fn look(tool: &Tool) -> Option<Look> {
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
        | Tool::Request(_)
        | Tool::PkgInstall { .. }
        | Tool::Package(_)
        | Tool::EnsureInstalled { .. }
        | Tool::Service { .. }
        | Tool::UnitJournal { .. }
        | Tool::UnitsReload {}
        | Tool::EnsureRunning { .. }
        | Tool::WriteFile { .. }
        | Tool::ApplyPatch { .. }
        | Tool::File(_)
        | Tool::RunCommand { .. }
        | Tool::Undo { .. } => return None,
    })
}

/// Whether there is something that was not read: what is missing, or failed, holds nothing to guess at.
pub(crate) fn is_unread(status: StepStatus) -> bool {
    matches!(status, StepStatus::Truncated | StepStatus::Timeout | StepStatus::Denied)
}

impl Found {
    /// Nothing was found; the code and why.
    #[must_use]
    pub fn failed(status: StepStatus, code: &str, why: &str) -> Self {
        Self { status, told: json!({}), text: None, error: Some(format!("{code}: {why}")) }
    }

    /// What a model is told: what was found, and not to make up the rest.
    #[must_use]
    pub fn shown(&self) -> Value {
        let mut told = self.told.clone();
        told["status"] = json!(self.status);
        if let Some(error) = &self.error {
            told["error"] = json!(error);
        }
        if is_unread(self.status) {
            told["unread"] = json!(UNREAD);
        }
        told
    }

    /// The result of the step that it is.
    #[must_use]
    pub fn result(&self, number: usize, tool: &Tool) -> StepResult {
        let is_found = matches!(self.status, StepStatus::Ok | StepStatus::Truncated);
        let text = || self.text.clone().unwrap_or_else(|| self.told.to_string());
        StepResult {
            stdout: is_found.then(text),
            error: self.error.clone(),
            ..StepResult::new(number, tool.clone(), self.status)
        }
    }
}

//! One approved package transaction or named command, in a systemd unit of its own.
//!
//! * [`run`]: root, in `postern-job@ID.service`. Runs apt-get, apt-mark or dpkg as the
//!   record `jobs/<id>/job.pb` says, follows it, and writes `outcome.pb` last.
//! * [`check`]: run by apt-get itself under its lock, before dpkg changes
//!   anything. Stops it unless dpkg is about to do what was decided.
//! * [`plan`]: unprivileged, in `postern-plan@ID.service`. Simulates or looks up.
//! * [`command`]: in the sandbox of the command's row, in a unit that the helper has PID 1 make. Runs the
//!   command and writes what it prints, within its limit, as events.
//! * [`end`]: root, when everything of that unit is dead (`ExecStopPost=`). Writes `outcome.pb`.
//!
//! Everything this program does comes from the record and from constants here:
//! it takes no path from the command line, and of the environment only what PID 1 says of how a unit ended.

mod apt;
mod check;
mod command;
mod dpkg;
mod end;
mod follow;
mod hold;
mod meaning;
mod plan;
mod record;
mod run;
mod show;
mod simulation;
mod sources;
mod states;
mod status;
mod sys;

use std::fmt;
use std::path::{Path, PathBuf};

pub use check::check;
pub use command::command;
pub use end::{Ended, end};
pub use plan::plan;
pub use record::JobId;
pub use run::run;

/// The programs and directories of a machine. `main` builds the real one.
#[derive(Debug, Clone)]
pub struct Host {
    /// apt-get(8).
    pub apt_get: PathBuf,
    /// apt-cache(8).
    pub apt_cache: PathBuf,
    /// apt-mark(8).
    pub apt_mark: PathBuf,
    /// dpkg(1).
    pub dpkg: PathBuf,
    /// dpkg-query(1).
    pub dpkg_query: PathBuf,
    /// This program, as apt-get starts it for the check: no blanks in it.
    pub job: PathBuf,
    /// The jobs' directories, one for each id.
    pub jobs: PathBuf,
    /// dpkg's lock that a front end takes.
    pub dpkg_lock: PathBuf,
    /// The lock of the package lists.
    pub lists_lock: PathBuf,
    /// Where an interrupted dpkg leaves updates of its records.
    pub dpkg_updates: PathBuf,
}

impl Host {
    /// A Debian machine.
    #[must_use]
    pub fn debian() -> Self {
        Self {
            apt_get: "/usr/bin/apt-get".into(),
            apt_cache: "/usr/bin/apt-cache".into(),
            apt_mark: "/usr/bin/apt-mark".into(),
            dpkg: "/usr/bin/dpkg".into(),
            dpkg_query: "/usr/bin/dpkg-query".into(),
            job: "/usr/libexec/postern/postern-job".into(),
            jobs: "/var/lib/postern-helper/jobs".into(),
            dpkg_lock: "/var/lib/dpkg/lock-frontend".into(),
            lists_lock: "/var/lib/apt/lists/lock".into(),
            dpkg_updates: "/var/lib/dpkg/updates".into(),
        }
    }

    fn directory(&self, id: &JobId) -> PathBuf {
        self.jobs.join(id.as_str())
    }
}

/// Why this program could not do its part, in one line for the journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault(String);

impl Fault {
    fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    fn at(path: &Path, error: &dyn fmt::Display) -> Self {
        Self(format!("{}: {error}", path.display()))
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Fault {}

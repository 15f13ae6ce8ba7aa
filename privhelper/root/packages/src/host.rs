//! Programs and directories of the host, as values that tests replace.

use postern_root::Fault;
use std::path::PathBuf;

/// The programs and directories of a machine; `main` builds the real one.
#[derive(Debug, Clone)]
pub struct Host {
    /// The accepted policy, accounts and keys. Its `state` holds `jobs`.
    pub root: postern_root::Host,
    /// apt and dpkg.
    pub apt: postern_apt::Host,
    /// This program, as apt-get starts it for the check: no blanks in it.
    pub program: PathBuf,
}

impl Host {
    /// The installed host. The state is that of postern-units, which starts this program.
    ///
    /// # Errors
    /// As [`postern_root::Host::real`].
    pub fn real() -> Result<Self, Fault> {
        Ok(Self {
            root: postern_root::Host::real("units", "/var/lib/postern-root")?,
            apt: postern_apt::Host::debian(),
            program: "/usr/libexec/postern/postern-packages".into(),
        })
    }
}

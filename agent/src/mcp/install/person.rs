//! The person whose configuration it is.

use std::path::PathBuf;

/// The directories of the person who installs.
#[derive(Clone, Debug)]
pub struct Person {
    /// Home.
    pub home: PathBuf,
    /// The working directory, which a project's scope is about.
    pub project: PathBuf,
    /// `XDG_CONFIG_HOME`, where it is set.
    pub config: Option<PathBuf>,
    /// `CODEX_HOME`, likewise.
    pub codex: Option<PathBuf>,
}

impl Person {
    /// Of this process.
    ///
    /// # Errors
    /// `HOME` or the working directory is not known.
    pub fn of_this_process() -> Result<Self, String> {
        let named = |name| std::env::var_os(name).filter(|path| !path.is_empty()).map(PathBuf::from);
        Ok(Self {
            home: named("HOME").ok_or("HOME is not set")?,
            project: std::env::current_dir().map_err(|e| format!("no working directory: {e}"))?,
            config: named("XDG_CONFIG_HOME"),
            codex: named("CODEX_HOME"),
        })
    }
}

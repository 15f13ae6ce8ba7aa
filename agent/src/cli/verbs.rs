//! The grammar of the typed commands.

use clap::{Args, Subcommand};
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, Args)]
pub struct Names {
    /// Package names
    #[arg(required = true, value_name = "NAME")]
    pub names: Vec<String>,
}

#[derive(Debug, Subcommand)]
pub enum Package {
    /// Install packages
    Install {
        /// Package names, each perhaps with a version
        #[arg(required = true, value_name = "NAME[=VERSION]")]
        names: Vec<String>,
    },
    /// Remove packages, keep their configuration
    Remove(Names),
    /// Remove packages and their configuration
    Purge(Names),
    /// Remove packages that nothing needs any more
    Autoremove,
    /// Refresh the package lists
    Update,
    /// Bring packages to their newest version
    Upgrade {
        /// Package names
        #[arg(value_name = "NAME", required_unless_present = "all", conflicts_with = "all")]
        names: Vec<String>,
        /// All packages
        #[arg(long)]
        all: bool,
    },
    /// Keep packages at their version
    Hold(Names),
    /// Let packages change again
    Unhold(Names),
    /// Finish what an interrupted transaction left behind
    Repair,
    /// Look at packages
    Show(Names),
}

#[derive(Debug, Args)]
pub struct Unit {
    /// The unit
    pub unit: String,
}

#[derive(Debug, Args)]
pub struct UnitNow {
    /// The unit
    pub unit: String,
    /// At once as well, not only at boot
    #[arg(long)]
    pub now: bool,
}

#[derive(Debug, Subcommand)]
pub enum Service {
    /// Look at a unit
    Status {
        /// The unit
        unit: String,
        /// The last lines of its journal, if the policy grants them
        #[arg(long, value_name = "N", default_value_t = 0)]
        lines: u32,
    },
    /// Start a unit
    Start(Unit),
    /// Stop a unit
    Stop(Unit),
    /// Stop and start a unit
    Restart(Unit),
    /// Let a unit read its configuration again
    Reload(Unit),
    /// Restart a unit if it runs
    TryRestart(Unit),
    /// Forget that a unit failed
    ResetFailed(Unit),
    /// Start a unit at boot
    Enable(UnitNow),
    /// Do not start a unit at boot
    Disable(UnitNow),
    /// Let nothing start a unit
    Mask(UnitNow),
    /// Let a masked unit be started again
    Unmask(Unit),
    /// Let systemd read its units again
    DaemonReload,
}

#[derive(Debug, Subcommand)]
pub enum Host {
    /// Reboot it after a delay, with a warning to people who are logged in
    Reboot {
        /// How long from now, in whole minutes, such as 5m
        #[arg(long, value_name = "DUR", default_value = "1m", value_parser = humantime::parse_duration)]
        delay: Duration,
        /// Cancel the reboot that this client has scheduled
        #[arg(long, conflicts_with = "delay")]
        cancel: bool,
    },
}

#[derive(Debug, Args)]
pub struct Ownership {
    /// Octal, such as 0644
    #[arg(long, value_name = "M", default_value = "", hide_default_value = true)]
    pub mode: String,
    /// A user's name
    #[arg(long, value_name = "U", default_value = "", hide_default_value = true)]
    pub owner: String,
    /// A group's name
    #[arg(long, value_name = "G", default_value = "", hide_default_value = true)]
    pub group: String,
}

#[derive(Debug, Subcommand)]
pub enum File {
    /// Print a file
    Read {
        /// An absolute path
        path: String,
        /// From this byte on; negative counts from the end
        #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true)]
        offset: i64,
        /// At most so many bytes; 0 = what the rule grants
        #[arg(long, value_name = "N", default_value_t = 0)]
        limit: u32,
    },
    /// List a directory
    List {
        /// An absolute path
        path: String,
    },
    /// Make a file hold what stdin, --from or --content says
    Write {
        /// An absolute path
        path: String,
        /// Take the content from this file
        #[arg(long, value_name = "FILE", conflicts_with = "content")]
        from: Option<PathBuf>,
        /// The content
        #[arg(long, value_name = "TEXT")]
        content: Option<String>,
        #[command(flatten)]
        ownership: Ownership,
        /// Expected current content: a SHA-256, "absent" or "any"
        #[arg(long, value_name = "H", default_value = "any")]
        expect: String,
    },
    /// Apply a unified diff from stdin or --from, to all its files or to none
    ///
    /// The path in a header is absolute, less a leading a/ or b/; /dev/null creates or removes a file. A hunk goes where
    /// the diff says, or to the one other place where its lines stand. Needs to be granted file.read too.
    Patch(Patch),
    /// Change a file in your editor ($VISUAL, $EDITOR): on a private copy, written back if nobody else wrote meanwhile
    Edit {
        /// An absolute path
        path: String,
    },
    /// Remove a file
    Remove {
        /// An absolute path
        path: String,
        /// Expected current content: a SHA-256 or "any"
        #[arg(long, value_name = "H", default_value = "any")]
        expect: String,
    },
    /// Make a directory
    Mkdir {
        /// An absolute path; its parent exists
        path: String,
        #[command(flatten)]
        ownership: Ownership,
    },
    /// Set a file's mode
    SetMode {
        /// An absolute path
        path: String,
        /// Octal, such as 0644
        mode: String,
    },
    /// Set a file's owner
    SetOwner {
        /// An absolute path
        path: String,
        /// USER, USER:GROUP or :GROUP
        owner: String,
    },
}

#[derive(Debug, Args)]
pub struct Patch {
    /// Take the diff from this file
    #[arg(long, value_name = "FILE")]
    pub from: Option<PathBuf>,
    /// Leave this file out; may be given several times
    #[arg(long, value_name = "PATH")]
    pub exclude: Vec<String>,
    /// Show each file's part and ask on the terminal whether it is sent
    #[arg(long, short)]
    pub interactive: bool,
}

//! The command line's grammar.

use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;
use std::time::Duration;

/// Administers this host without sudo: tasks in plain words, or typed commands. What needs root is
/// asked of a helper that does only what the policy in /etc/postern grants.
#[derive(Debug, Parser)]
#[command(name = "postern", version, arg_required_else_help = true, after_help = AFTER)]
pub struct Cli {
    #[command(flatten)]
    pub global: Global,
    #[command(subcommand)]
    pub command: Command,
}

const AFTER: &str = "\
Examples:
  postern run \"install nginx-light, write 'hello' to /var/www/html/index.html and make sure nginx is running\"
  postern service restart nginx --dry-run
  postern can

Exit codes: 0 done, 1 failed, 2 usage, 3 refused, 4 not approved, 5 helper unreachable, 6 partly done";

#[derive(Args, Clone, Debug, Default)]
pub struct Global {
    /// Show what would be done, change nothing
    #[arg(long, global = true, alias = "preview")]
    pub dry_run: bool,
    /// Print one JSON object at the end; with =lines one for every event
    #[arg(long, global = true, value_name = "object|lines", num_args = 0..=1, require_equals = true,
          default_missing_value = "object", hide_possible_values = true)]
    pub json: Option<Json>,
    /// No progress and no hints
    #[arg(long, short, global = true)]
    pub quiet: bool,
    /// Wait at most so long for locks, jobs and approval, such as 90s or 5m
    #[arg(long, global = true, value_name = "DUR", value_parser = humantime::parse_duration)]
    pub timeout: Option<Duration>,
    /// Why, for the audit log
    #[arg(long, global = true, value_name = "TEXT")]
    pub reason: Option<String>,
    /// The request's own id (UUIDv7): asked again under it, the helper acts once
    #[arg(long, global = true, value_name = "UUID", value_parser = request_id)]
    pub request_id: Option<String>,
    /// Ask the helper itself, as this user, not through the agent
    #[arg(long, global = true)]
    pub direct: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Json {
    Object,
    Lines,
}

fn request_id(text: &str) -> Result<String, String> {
    let id = uuid::Uuid::try_parse(text).map_err(|e| e.to_string())?;
    if id.get_version_num() != 7 {
        return Err("not a UUIDv7, whose time tells how old a request is".to_owned());
    }
    Ok(id.hyphenated().to_string())
}

#[derive(Debug, Subcommand)]
#[expect(clippy::enum_variant_names, reason = "one of the commands is called command")]
pub enum Command {
    /// Run a task in plain words
    Run {
        /// Such as "install nginx-light and make sure nginx is running"
        #[arg(required = true)]
        task: Vec<String>,
    },
    /// Show the steps that a task would come to, ask nobody
    Plan {
        /// The task
        #[arg(required = true)]
        task: Vec<String>,
    },
    /// Tasks of yours that the agent knows
    Tasks {
        #[command(subcommand)]
        command: Option<Tasks>,
    },
    /// Packages
    #[command(visible_alias = "pkg", subcommand)]
    Package(Package),
    /// Units of systemd; a name without suffix is a service
    #[command(visible_alias = "unit", subcommand)]
    Service(Service),
    /// Files
    #[command(subcommand)]
    File(File),
    /// Run a command that the policy names
    Command {
        /// Its name in the policy
        name: String,
        /// Its parameters
        #[arg(value_name = "KEY=VALUE")]
        parameters: Vec<String>,
    },
    /// What may be asked; with a command, whether that is granted
    Can {
        /// Such as: package install nginx-light
        #[arg(value_name = "VERB ARGS", trailing_var_arg = true, allow_hyphen_values = true)]
        command: Vec<String>,
    },
    /// Undo one of your requests
    Undo {
        /// Its request id
        id: String,
    },
    /// The recorded outcome of one of your requests
    Result {
        /// Its request id
        id: String,
    },
    /// Whether agent and helper work
    Health,
    /// The service behind agent.sock
    Serve,
    /// A task without `run` in front: one argument of several words
    #[command(external_subcommand)]
    Words(Vec<String>),
}

#[derive(Debug, Subcommand)]
pub enum Tasks {
    /// All of them, the newest first
    List,
    /// One task with its results
    Show {
        /// Its id or the beginning of it
        id: String,
    },
    /// End a task; what has begun is not undone
    Cancel {
        /// Its id or the beginning of it
        id: String,
    },
}

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
        /// What must be there now: a SHA-256, "absent" or "any"
        #[arg(long, value_name = "H", default_value = "any")]
        expect: String,
    },
    /// Remove a file
    Remove {
        /// An absolute path
        path: String,
        /// What must be there now: a SHA-256 or "any"
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

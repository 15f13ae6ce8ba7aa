//! The command line's grammar.

use super::since::since;
use super::subcommands::{Knowledge, Mcp, Model, Runbooks, Schedules, Shell, When};
use super::verbs::{File, Host, Package, Service};
use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// Administers this host without sudo: tasks in plain words, or typed commands. A helper does what needs root,
/// as far as the policy in /etc/postern grants it. Without a command: a prompt.
#[derive(Debug, Parser)]
#[command(name = "postern", version, after_help = AFTER)]
pub struct Cli {
    #[command(flatten)]
    pub global: Global,
    #[command(subcommand)]
    pub command: Option<Command>,
}

const AFTER: &str = "\
Examples:
  postern run \"install nginx-light, write 'hello' to /var/www/html/index.html and make sure nginx is running\"
  postern service restart nginx --dry-run
  postern file patch --interactive --from my.diff
  postern undo last
  postern can

Exit codes: 0 done, 1 failed, 2 usage, 3 refused, 4 not approved, 5 helper unreachable, 6 partly done,
7 needs a person.
An interrupt ends the waiting with 1; what has begun goes on: see `postern result ID`.";

#[derive(Args, Clone, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
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
    /// Say what each request to a model holds and what was used so far, in tokens
    #[arg(long, short, global = true, conflicts_with = "quiet")]
    pub verbose: bool,
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
        /// Go on with what your last task left: what it did, what failed, what remained
        #[arg(long = "continue", conflicts_with_all = ["at", "every", "on_failed"])]
        go_on: bool,
        /// Such as "install nginx-light and make sure nginx is running"
        #[arg(required_unless_present = "plan")]
        task: Vec<String>,
        /// Carry out this plan: a file as `postern plan --json` prints it; - reads standard input
        #[arg(long, value_name = "FILE", conflicts_with = "task")]
        plan: Option<PathBuf>,
        #[command(flatten)]
        when: When,
    },
    /// Show the plan that a task would come to, do nothing: the model's, or without one the offline planner's
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
    /// Tasks of yours that begin by themselves: see `postern run --at`
    Schedule {
        #[command(subcommand)]
        command: Option<Schedules>,
    },
    /// Runbooks: reviewed procedures that run as plans, without a model
    Runbook {
        #[command(subcommand)]
        command: Option<Runbooks>,
    },
    /// The knowledge base: documents that you and your tasks can search
    #[command(subcommand)]
    Kb(Knowledge),
    /// Report on your tasks: why they failed, which grants were missing, which steps were slow, what was approved again and again
    ///
    /// It only reads. Nothing is applied by itself: an operator decides, with `postern-admin policy suggest`.
    Insights {
        /// Only what began since then: 90s, 10m, 1h or 7d ago, or a time in UTC such as 2026-11-21
        #[arg(long, value_name = "TIME", value_parser = since)]
        since: Option<u64>,
    },
    /// Packages
    #[command(visible_alias = "pkg", subcommand)]
    Package(Package),
    /// Units of systemd; a name without suffix is a service
    #[command(visible_alias = "unit", subcommand)]
    Service(Service),
    /// The host as a whole
    #[command(subcommand)]
    Host(Host),
    /// Files
    #[command(subcommand)]
    File(File),
    /// Run a command that the policy names
    Command {
        /// Its name in the policy
        name: String,
        /// Its parameters; `KEY=-` takes the value from stdin, `KEY=@PATH` from a file, without the line feed at its
        /// end: so a secret stands in no list of processes
        #[arg(value_name = "KEY=VALUE")]
        parameters: Vec<String>,
    },
    /// List your grants; with a command, say whether it is granted
    Can {
        /// Such as: package install nginx-light
        #[arg(value_name = "VERB ARGS", trailing_var_arg = true, allow_hyphen_values = true)]
        command: Vec<String>,
    },
    /// Undo one of your requests
    Undo {
        /// Its request id, the beginning of it, or "last" for the newest change of your last task; it is shown first, and
        /// at a terminal you are asked
        #[arg(required_unless_present = "task")]
        id: Option<String>,
        /// All changes of this task, the newest first; units that took them up are reloaded
        #[arg(long, value_name = "ID", conflicts_with = "id")]
        task: Option<String>,
    },
    /// Keep a change that would be taken back. Run it in a new login: Postern checks only that this user's processes can still
    /// connect to it
    Keep {
        /// Its request id, or the beginning of it
        id: String,
    },
    /// The recorded outcome of one of your requests
    Result {
        /// Its request id, or the beginning of it
        id: String,
    },
    /// Whether agent and helper work
    Health,
    /// Check agent and helper on this host, and name the command that mends each fault
    Doctor,
    /// The agent's configuration, /etc/postern/agent.toml
    #[command(subcommand)]
    Config(Config),
    /// Models: what they answer with
    #[command(subcommand)]
    Model(Model),
    /// The agent's own commands
    Shell(Shell),
    /// The MCP server: offers what the policy grants this user as tools to any agent
    Mcp(Mcp),
    /// Run a program whose `sudo`, `apt-get`, `systemctl` and so on become requests of this user's: puts
    /// /usr/lib/postern/shims first in PATH and sets `NoNewPrivileges`. It is no sandbox
    Exec {
        /// The program and its arguments
        #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true,
              value_hint = ValueHint::CommandWithArguments)]
        command: Vec<OsString>,
    },
    /// The service behind agent.sock
    Serve,
    /// Write on operators' terminals that a request waits: what postern-announce@.service does
    #[command(hide = true)]
    TellOperators {
        /// The approval's id; - reads it from stdin
        id: String,
    },
    /// A task without `run` in front: one argument of several words
    #[command(external_subcommand)]
    Words(Vec<String>),
}

#[derive(Clone, Copy, Debug, Subcommand)]
pub enum Config {
    /// Look for errors
    Check,
    /// Print what is in use as JSON
    Show,
}

#[derive(Debug, Subcommand)]
pub enum Tasks {
    /// All of them, the newest first
    List,
    /// One task with its results
    Show {
        /// Its id or the beginning of it
        id: String,
        /// The model's replies as they came, with known secrets taken out; those of the host's newest eight tasks are kept
        #[arg(long)]
        replies: bool,
    },
    /// Answer what a task asks
    Answer {
        /// Its id or the beginning of it
        id: String,
        /// yes, always, no, `files 1 3` for some files of a patch, `t WORDS` for something else, or the words that it wants
        #[arg(required = true, value_name = "TEXT")]
        words: Vec<String>,
    },
    /// Go on with a task that the end of the agent interrupted
    Resume {
        /// Its id or the beginning of it
        id: String,
    },
    /// End a task; what has begun is not undone
    Cancel {
        /// Its id or the beginning of it
        id: String,
    },
}

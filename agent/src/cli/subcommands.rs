//! The grammar of `postern model`, `postern shell` and `postern mcp`.

use crate::config::values::{BaseUrl, Provider, SecretRef, Value as _};
use crate::mcp::install::{Client, Scope};
use clap::{Args, Subcommand};
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, Subcommand)]
pub enum Model {
    /// Parse a model's reply from stdin, and print its call or the error's code
    Read {
        /// Read a JSON Lines file of rows {id, text, expect, multiple} instead and count the rows that hold
        #[arg(long, value_name = "FILE")]
        corpus: Option<PathBuf>,
    },
    /// Try the endpoint of [model] in agent.toml and say what it can do
    Test(Endpoint),
}

/// Over agent.toml and the environment.
#[derive(Args, Debug)]
pub struct Endpoint {
    /// The kind of endpoint
    #[arg(long)]
    pub provider: Option<Provider>,
    /// Where it answers
    #[arg(long, value_name = "URL", value_parser = BaseUrl::from_text)]
    pub base_url: Option<BaseUrl>,
    /// The model's name there
    #[arg(long)]
    pub name: Option<String>,
    /// Where its key is kept, as in agent.toml
    #[arg(long, value_name = "WHERE", value_parser = SecretRef::from_text)]
    pub key: Option<SecretRef>,
}

/// The grammar of `postern shell`.
#[derive(Debug, Args)]
pub struct Shell {
    #[command(subcommand)]
    pub command: ShellCommand,
}

#[derive(Debug, Subcommand)]
pub enum ShellCommand {
    /// Say what would be done with a command, run nothing: exit 0 SAFE, 4 CONFIRM, 3 BLOCK
    Check {
        /// The command as `sh -c` would get it
        #[arg(allow_hyphen_values = true)]
        cmd: String,
        /// Rules in place of /etc/postern/shell-rules.yaml
        #[arg(long, value_name = "FILE")]
        rules: Option<PathBuf>,
    },
    /// Print the rules that commands are judged by, the built-in ones and those of the file, as a file of rules
    Rules {
        /// Rules in place of /etc/postern/shell-rules.yaml
        #[arg(long, value_name = "FILE")]
        rules: Option<PathBuf>,
    },
    /// Run a command in the agent's sandbox; `sudo` and its like in it become requests
    Run {
        /// The command as `sh -c` would get it; - reads it from stdin
        #[arg(allow_hyphen_values = true)]
        cmd: String,
    },
}

#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Mcp {
    #[command(subcommand)]
    pub command: Option<McpCommand>,
    /// A call without an outcome after this time answers "waiting", with an id to ask again
    #[arg(long, value_name = "DUR", default_value = "45s", value_parser = humantime::parse_duration)]
    pub wait: Duration,
    /// Listen on a Unix socket, by streamable HTTP, for this user alone
    #[arg(long, value_name = "PATH")]
    pub listen: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub enum McpCommand {
    /// Add the server to an agent's own configuration; the old file is kept
    Install {
        /// The agent
        client: Client,
        /// For this user, or for everybody who works in the current directory
        #[arg(long, value_enum, default_value_t)]
        scope: Scope,
        /// Remove the server from there
        #[arg(long)]
        uninstall: bool,
    },
}

/// When a task runs by itself.
#[derive(Args, Debug, Default)]
#[group(multiple = false)]
pub struct When {
    /// Not now, but at these times: a calendar event of systemd.time(7), such as "daily 02:00" or "Mon 06:30 Europe/Berlin"
    #[arg(long, value_name = "EVENT")]
    pub at: Option<String>,
    /// Not now, but each time that this long has passed, such as 15m or 1d; at least one minute
    #[arg(long, value_name = "DUR", value_parser = humantime::parse_duration)]
    pub every: Option<Duration>,
    /// Not now, but each time that this unit enters the state "failed"
    #[arg(long, value_name = "UNIT")]
    pub on_failed: Option<String>,
}

#[derive(Debug, Subcommand)]
pub enum Knowledge {
    /// Add documents: Markdown, text, logs, manual pages, also gzipped; of a directory all that are below it
    Add {
        /// Files, directories or file:// URLs, read as this user; - reads standard input
        #[arg(required = true, value_name = "PATH")]
        paths: Vec<PathBuf>,
        /// The name to keep one document under, such as the URL that it comes from
        #[arg(long, value_name = "NAME")]
        name: Option<String>,
    },
    /// Your documents, the logs of your tasks and the site's notes
    List,
    /// Remove a document of yours
    Remove {
        /// Its name or number, as `postern kb list` shows it
        document: String,
    },
    /// Find parts of documents: yours, the site's, and the documentation of this host
    Search {
        /// Words to look for
        #[arg(required = true)]
        question: Vec<String>,
        /// Most results, 20 or fewer
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=20))]
        limit: Option<u8>,
    },
    /// Number and size of the documents that you can find
    Status,
}

#[derive(Debug, Subcommand)]
pub enum Runbooks {
    /// All of them, and whether the policy grants their steps to you
    List,
    /// One runbook: its parameters, steps and notes
    Show {
        /// Its name
        name: String,
    },
    /// Check a runbook's text, and whether the policy grants each step: exit 0 granted, 4 with approval, 3 not granted
    Check {
        /// Its name, or the path of a file that is to become one
        runbook: String,
        /// Values of its parameters
        #[arg(value_name = "KEY=VALUE")]
        values: Vec<String>,
    },
    /// Draft a runbook from what a task did; it is printed, for a person to review
    FromTask {
        /// The task's id or the beginning of it
        id: String,
    },
    /// Carry out a runbook as a plan, without a model
    Run {
        /// Its name
        name: String,
        /// Values of its parameters
        #[arg(value_name = "KEY=VALUE")]
        values: Vec<String>,
        #[command(flatten)]
        when: When,
    },
}

#[derive(Debug, Subcommand)]
pub enum Schedules {
    /// All of them, the oldest first
    List,
    /// One schedule with the tasks of its runs
    Show {
        /// Its id or the beginning of it
        id: String,
    },
    /// Begin no more runs; one that is at work goes on
    Pause {
        /// Its id or the beginning of it
        id: String,
    },
    /// Begin runs again
    Resume {
        /// Its id or the beginning of it
        id: String,
    },
    /// Remove it; the tasks of its runs are kept
    Remove {
        /// Its id or the beginning of it
        id: String,
    },
    /// Begin a run now and follow it to its end
    RunNow {
        /// Its id or the beginning of it
        id: String,
    },
}

impl Schedules {
    /// Returns the id of the schedule that it names.
    pub fn id(&self) -> Option<&str> {
        match self {
            Self::List => None,
            Self::Show { id }
            | Self::Pause { id }
            | Self::Resume { id }
            | Self::Remove { id }
            | Self::RunNow { id } => Some(id),
        }
    }
}

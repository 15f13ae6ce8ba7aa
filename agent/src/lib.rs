//! The unprivileged agent of Postern and its command line.
//!
//! Nothing in here has power: what needs root goes to the helper as a typed request. `postern serve` is
//! the helper's client and takes tasks and requests from people; the other commands are its clients, or
//! with `--direct` the helper's.

mod agent_client;
mod args;
mod ask;
pub mod cli;
pub mod config;
pub mod doctor;
mod event;
mod exit;
mod helper;
#[expect(clippy::disallowed_methods, reason = "the program is root's, from its configuration")]
mod hook;
mod local;
pub mod log;
pub mod model;
mod operators;
mod patching;
pub mod plan;
pub mod planner;
pub mod rates;
mod report;
mod request;
pub mod sandbox;
pub mod secrets;
pub mod serve;
pub mod shell;
#[expect(clippy::disallowed_methods, reason = "it runs inside the sandbox, and so does what it starts")]
pub mod shim;
mod show;
mod site_prompt;
mod sse;
mod task;
pub mod tool;
pub mod trace;
mod undo;
mod words;

pub use exit::Exit;

use std::path::PathBuf;

/// The verbs that can be asked for, in the order of the service.
pub const VERBS: &[&str] = request::Request::VERBS;

/// Where this program finds the others. A value, so that tests have a world of their own.
#[derive(Clone, Debug)]
pub struct Host {
    /// The socket of `postern serve`.
    pub agent_socket: PathBuf,
    /// The helper's socket for its clients.
    pub helper_socket: PathBuf,
    /// The sandbox's socket.
    pub tool_socket: PathBuf,
    /// Where /proc, /run and so on are.
    pub root: PathBuf,
    /// What the agent keeps: its database and the workspaces of tasks.
    pub state: PathBuf,
    /// The helper's socket for operators: who may open it may approve.
    pub operator_socket: PathBuf,
    /// `postern-admin`, which shows an operator what waits and asks.
    pub admin: PathBuf,
    /// The root directory of what `postern doctor` looks at.
    pub system: PathBuf,
    /// The agent's configuration.
    pub config: PathBuf,
    /// The group whose members may approve.
    pub operators: String,
    /// Where terminals stand.
    pub terminals: Vec<PathBuf>,
    /// The person's editor and its arguments.
    pub editor: Vec<String>,
}

impl Host {
    /// The site's rules for commands of the agent's own.
    #[must_use]
    pub fn shell_rules(&self) -> PathBuf {
        self.config.with_file_name("shell-rules.yaml")
    }
}

impl Default for Host {
    fn default() -> Self {
        Self {
            agent_socket: "/run/postern/agent.sock".into(),
            helper_socket: "/run/postern/helper.sock".into(),
            tool_socket: "/run/postern/tool.sock".into(),
            root: "/".into(),
            state: "/var/lib/postern".into(),
            operator_socket: "/run/postern/operator.sock".into(),
            admin: "/usr/bin/postern-admin".into(),
            system: "/".into(),
            config: "/etc/postern/agent.toml".into(),
            operators: "postern-operators".to_owned(),
            terminals: vec!["/dev/pts".into(), "/dev".into()],
            editor: editor(),
        }
    }
}

/// `$VISUAL`, `$EDITOR` or Debian's choice, parted at blanks: no shell reads it.
fn editor() -> Vec<String> {
    let named = ["VISUAL", "EDITOR"].iter().find_map(|name| {
        let words: Vec<String> = std::env::var(name).ok()?.split_whitespace().map(str::to_owned).collect();
        (!words.is_empty()).then_some(words)
    });
    named.unwrap_or_else(|| vec!["editor".to_owned()])
}

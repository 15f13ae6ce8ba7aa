//! Paths and names on a host: sockets, configuration, state.

use super::clock::Clock;
use std::path::PathBuf;
use std::time::Duration;

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
    /// The state of the agent: its database and the workspaces of tasks.
    pub state: PathBuf,
    /// The helper's socket for operators: who may open it may approve.
    pub operator_socket: PathBuf,
    /// The helper's socket for people: a connection there is a session.
    pub person_socket: PathBuf,
    /// The user of `postern serve`.
    pub agent_user: String,
    /// `postern-admin`, which shows an operator what waits and asks.
    pub admin: PathBuf,
    /// The root directory of what `postern doctor` looks at.
    pub system: PathBuf,
    /// The directory of the accepted policy: its time tells when the policy was replaced.
    pub accepted_policy: PathBuf,
    /// The agent's configuration.
    pub config: PathBuf,
    /// The group whose members may approve.
    pub operators: String,
    /// The group whose members may give tasks.
    pub users: String,
    /// The program that says when a calendar event comes next: `systemd-analyze`.
    pub calendar: PathBuf,
    /// The clock that schedules go by.
    pub clock: Clock,
    /// The time between two anchors of the agent's audit log in the helper's.
    pub anchor_interval: Duration,
    /// The package's runbooks.
    pub runbooks: PathBuf,
    /// The uid that runbooks belong to: root's.
    pub runbook_owner: u32,
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

    /// The site's runbooks.
    #[must_use]
    pub fn site_runbooks(&self) -> PathBuf {
        self.config.with_file_name("runbooks.d")
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
            person_socket: "/run/postern/person.sock".into(),
            agent_user: "postern".to_owned(),
            admin: "/usr/bin/postern-admin".into(),
            system: "/".into(),
            accepted_policy: "/var/lib/postern-policy".into(),
            config: "/etc/postern/agent.toml".into(),
            operators: "postern-operators".to_owned(),
            users: "postern-users".to_owned(),
            calendar: "/usr/bin/systemd-analyze".into(),
            clock: Clock::default(),
            anchor_interval: Duration::from_secs(60),
            runbooks: "/usr/share/postern/runbooks".into(),
            runbook_owner: 0,
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

/// This host's name, if the kernel tells it.
pub fn host_name() -> Option<String> {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").ok()?;
    Some(name.trim().to_owned())
}

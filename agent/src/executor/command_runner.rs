//! Runs the agent's own commands: the judge, the sandbox, and what people allowed for a session.

use crate::config::host::Host;
use crate::config::tables::Tools;
use crate::config::{Config, values};
use crate::protocol::confinement::Profile;
use crate::protocol::event::AgentError;
use crate::sandbox::{Sandbox, Unenforced};
use crate::shell_policy::{self, Decision, Rules};
use crate::store::Allowed;
use std::sync::Arc;

/// One of these for all tasks.
pub struct Commands {
    /// Where they run.
    pub sandbox: Sandbox,
    /// `[tools]`.
    pub tools: Tools,
    rules: Arc<Result<Rules, String>>,
    /// The commands that people let run always.
    pub allowed: Allowed,
}

impl Commands {
    /// With the sandbox and the rules of this host. Wrong rules let nothing run, and say so.
    #[must_use]
    pub fn new(host: &Host, config: &Config, allowed: Allowed) -> Self {
        Self {
            sandbox: Sandbox {
                read_roots: config.tools.read_roots.iter().map(|root| root.path().to_owned()).collect(),
                unenforced: match config.tools.unenforced {
                    values::Unenforced::Refuse => Unenforced::Refuse,
                    values::Unenforced::Report => Unenforced::Report,
                },
                ..Sandbox::at(&host.tool_socket)
            },
            tools: config.tools.clone(),
            rules: Arc::new(Rules::load(&host.shell_rules())),
            allowed,
        }
    }

    /// Why no command is run at all, if the rules cannot be read.
    #[must_use]
    pub fn fault(&self) -> Option<&str> {
        self.rules.as_ref().as_ref().err().map(String::as_str)
    }

    /// The rules, or why they cannot be read.
    #[must_use]
    pub fn rules(&self) -> Arc<Result<Rules, String>> {
        Arc::clone(&self.rules)
    }

    /// Judges a command's text, on a thread that may block.
    ///
    /// # Errors
    /// The rules cannot be read.
    pub async fn judge(&self, text: &str) -> Result<Decision, AgentError> {
        let (rules, text) = (Arc::clone(&self.rules), text.to_owned());
        let judged = move || rules.as_ref().as_ref().map(|rules| rules.judge(&text)).map_err(Clone::clone);
        match tokio::task::spawn_blocking(judged).await {
            Ok(judged) => judged.map_err(|why| AgentError::new("failed", why)),
            Err(error) => {
                Err(AgentError::new("internal", format!("the command could not be judged: {error}")))
            }
        }
    }

    /// The words of a text that needs no shell.
    pub async fn words(&self, text: &str) -> Option<Vec<String>> {
        let text = text.to_owned();
        tokio::task::spawn_blocking(move || shell_policy::words(&text)).await.ok().flatten()
    }

    /// Whether any command is run.
    #[must_use]
    pub fn may_run(&self) -> bool {
        self.tools.profile != values::Profile::None
    }

    /// The sandbox for what a decision asks for: never more than the configuration says.
    #[must_use]
    pub fn profile(&self, decision: &Decision) -> Profile {
        let most = match self.tools.profile {
            values::Profile::None => Profile::None,
            values::Profile::ReadOnly => Profile::ReadOnly,
            values::Profile::SystemInspect => Profile::SystemInspect,
            values::Profile::WorkspaceWrite => Profile::WorkspaceWrite,
        };
        decision.profile.min(most)
    }
}

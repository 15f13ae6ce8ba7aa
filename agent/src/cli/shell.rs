//! `postern shell`: what would be said of a command before it runs, and running it as the agent does.

use super::session::Session;
use super::subcommands::{Shell, ShellCommand};
use super::tasks::{Going, RunRequest};
use super::typed::limited;
use crate::protocol::event::AgentError;
use crate::protocol::exit::Exit;
use crate::protocol::task::Work;
use crate::protocol::tool::Tool;
use crate::shell_policy::{Level, Rules};
use serde_json::json;
use std::path::PathBuf;

impl Session<'_> {
    pub(super) async fn shell(&mut self, shell: Shell) -> Exit {
        match shell.command {
            ShellCommand::Check { cmd, rules } => self.check(&cmd, rules),
            ShellCommand::Rules { rules } => self.rules(rules),
            ShellCommand::Run { cmd } => self.run_command(cmd).await,
        }
    }

    /// A task of one step.
    async fn run_command(&mut self, cmd: String) -> Exit {
        if self.global.direct {
            let why = "the sandbox is the agent's: leave --direct out";
            return self.fail(&AgentError::new("invalid_argument", why));
        }
        let cmd = if cmd == "-" {
            match limited(&mut self.console.input).map(String::from_utf8) {
                Ok(Ok(text)) => {
                    self.asks_on_terminal();
                    text
                }
                Ok(Err(_)) => return self.fail(&AgentError::new("invalid_argument", "stdin is not UTF-8")),
                Err(e) => return self.fail(&AgentError::new("failed", format!("cannot read stdin: {e}"))),
            }
        } else {
            cmd
        };
        let tool = Tool::Shell { cmd };
        let wish = RunRequest {
            task: tool.describe(),
            steps: vec![tool],
            work: Work::Task,
            going: Going::Anew,
            runbook: None,
        };
        let task = match self.run_there(&wish).await {
            Ok(task) => task,
            Err(fault) => return self.fail(&fault),
        };
        if self.global.json.is_none()
            && let Some(result) = task.results.iter().rfind(|result| result.is_own())
        {
            self.console.content(result.stdout.as_deref().unwrap_or_default().as_bytes());
            if let Some(text) = &result.stderr {
                self.console.say_lines(text);
            }
            if result.error.is_none() {
                return Exit::of_task(&task);
            }
        }
        self.end(&task)
    }

    fn load(&self, rules: Option<PathBuf>) -> Result<Rules, String> {
        Rules::load(&rules.unwrap_or_else(|| self.host.shell_rules()))
    }

    fn rules(&mut self, rules: Option<PathBuf>) -> Exit {
        let rules = match self.load(rules) {
            Ok(rules) => rules,
            Err(why) => return self.fail(&AgentError::new("failed", why)),
        };
        if self.global.json.is_some() {
            self.console.json(&json!({ "v": 1, "rules": rules.texts().collect::<Vec<_>>() }));
        } else {
            self.console.result(&rules.to_yaml());
        }
        Exit::Done
    }

    fn check(&mut self, cmd: &str, rules: Option<PathBuf>) -> Exit {
        let rules = match self.load(rules) {
            Ok(rules) => rules,
            Err(why) => return self.fail(&AgentError::new("failed", why)),
        };
        let decision = rules.judge(cmd);
        if self.global.json.is_some() {
            self.console.json(&json!({ "v": 1, "command": cmd, "decision": decision }));
        } else {
            self.console.result(&decision.describe());
        }
        match decision.level {
            Level::Safe => Exit::Done,
            Level::Confirm => Exit::NotApproved,
            Level::Block => Exit::Refused,
        }
    }
}

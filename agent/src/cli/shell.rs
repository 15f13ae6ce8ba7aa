//! `postern shell`: what would be said of a command before it runs, and running it as the agent does.

use super::Session;
use super::tasks::{Going, Wish};
use super::typed::limited;
use crate::event::Fault;
use crate::exit::Exit;
use crate::shell::{Level, Rules};
use crate::task::Work;
use crate::tool::Tool;
use clap::{Args, Subcommand};
use serde_json::json;
use std::path::PathBuf;

/// The grammar of `postern shell`.
#[derive(Debug, Args)]
pub struct Shell {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
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

impl Session<'_> {
    pub(super) async fn shell(&mut self, shell: Shell) -> Exit {
        match shell.command {
            Command::Check { cmd, rules } => self.check(&cmd, rules),
            Command::Rules { rules } => self.rules(rules),
            Command::Run { cmd } => self.run_command(cmd).await,
        }
    }

    /// A task of one step.
    async fn run_command(&mut self, cmd: String) -> Exit {
        if self.global.direct {
            let why = "the sandbox is the agent's: leave --direct out";
            return self.fail(&Fault::new("invalid_argument", why));
        }
        let cmd = if cmd == "-" {
            match limited(&mut self.console.input).map(String::from_utf8) {
                Ok(Ok(text)) => {
                    self.asks_on_terminal();
                    text
                }
                Ok(Err(_)) => return self.fail(&Fault::new("invalid_argument", "stdin is not UTF-8")),
                Err(e) => return self.fail(&Fault::new("failed", format!("cannot read stdin: {e}"))),
            }
        } else {
            cmd
        };
        let tool = Tool::Shell { cmd };
        let wish = Wish { task: tool.describe(), steps: vec![tool], work: Work::Task, going: Going::Anew };
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
            Err(why) => return self.fail(&Fault::new("failed", why)),
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
            Err(why) => return self.fail(&Fault::new("failed", why)),
        };
        let decision = rules.judge(cmd);
        if self.global.json.is_some() {
            self.console.json(&json!({ "v": 1, "command": cmd, "decision": decision }));
        } else {
            self.console.result(&decision.told());
        }
        match decision.level {
            Level::Safe => Exit::Done,
            Level::Confirm => Exit::NotApproved,
            Level::Block => Exit::Refused,
        }
    }
}

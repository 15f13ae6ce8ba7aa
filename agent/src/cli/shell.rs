//! `postern shell check`: what would be said of a command before it runs.

use super::Session;
use crate::event::Fault;
use crate::exit::Exit;
use crate::shell::{Level, Rules};
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
}

impl Session<'_> {
    pub(super) fn shell(&mut self, shell: Shell) -> Exit {
        let Command::Check { cmd, rules } = shell.command;
        let path = rules.unwrap_or_else(|| self.host.config.with_file_name("shell-rules.yaml"));
        let rules = match Rules::load(&path) {
            Ok(rules) => rules,
            Err(why) => return self.fail(&Fault::new("failed", why)),
        };
        let decision = rules.judge(&cmd);
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

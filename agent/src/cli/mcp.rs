//! `mcp`: the MCP server on standard input and output, and its entry in a client's configuration.

use super::session::Session;
use super::subcommands::{Mcp, McpCommand};
use super::view::Signals;
use crate::mcp::install::{self, Change, Client, Person, Scope};
use crate::mcp::{self, Settings, Times, Ways};
use crate::protocol::event::AgentError;
use crate::protocol::exit::Exit;

impl Session<'_> {
    pub(super) async fn mcp(&mut self, command: Mcp) -> Exit {
        let global = &self.global;
        let is_direct = global.direct && command.command.is_some();
        if global.reason.is_some() || global.timeout.is_some() || global.request_id.is_some() || is_direct {
            let message =
                "`mcp` takes none of --reason, --timeout and --request-id, and `mcp install` no --direct";
            return self.fail(&AgentError::new("invalid_argument", message));
        }
        if let Some(McpCommand::Install { client, scope, uninstall }) = command.command {
            let change = if uninstall { Change::Remove } else { Change::Add };
            return match self.install(client, scope, change) {
                Ok(()) => Exit::Done,
                Err(why) => self.fail(&AgentError::new("failed", why)),
            };
        }
        let settings = Settings {
            times: Times { wait: command.wait, ..Times::default() },
            mode: self.mode(),
            ways: if self.global.direct { Ways::Helper } else { Ways::Any },
        };
        let served = if let Some(path) = &command.listen {
            let mut signals = Signals::new();
            mcp::listen(self.host, settings, path, signals.any()).await
        } else {
            let (read, write) = rmcp::transport::io::stdio_pipes();
            mcp::serve(self.host, settings, read, write).await
        };
        match served {
            Ok(()) => Exit::Done,
            Err(fault) => self.fail(&fault),
        }
    }

    /// Shows what changes in the client's file, and changes it.
    fn install(&mut self, client: Client, scope: Scope, change: Change) -> Result<(), String> {
        let planned = install::plan(client, scope, change, &Person::of_this_process()?)?;
        let path = planned.path.display().to_string();
        if !planned.is_changed() {
            let is =
                if change == Change::Add { "has the entry already" } else { "has no entry of Postern's" };
            self.console.say(&format!("{path} {is}"));
            return Ok(());
        }
        self.console.diff(&planned.difference());
        if self.global.dry_run {
            return Ok(());
        }
        if let Some(copy) = planned.write()? {
            self.console.say(&format!("the old file is {}", copy.display()));
        }
        self.console.say(&format!("{path} is written: start the agent again"));
        Ok(())
    }
}

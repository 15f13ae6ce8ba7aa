//! `mcp`: the MCP server on standard input and output.

use super::session::Session;
use crate::exit::Exit;
use crate::mcp::{self, Times};
use clap::Args;
use std::time::Duration;

#[derive(Args, Debug)]
pub struct Mcp {
    /// A call without an outcome after this time answers "waiting", with an id to ask again
    #[arg(long, value_name = "DUR", default_value = "45s", value_parser = humantime::parse_duration)]
    wait: Duration,
}

impl Session<'_> {
    pub(super) async fn mcp(&mut self, command: Mcp) -> Exit {
        let times = Times { wait: command.wait, ..Times::default() };
        let (read, write) = rmcp::transport::io::stdio_pipes();
        match mcp::serve(self.host, times, read, write).await {
            Ok(()) => Exit::Done,
            Err(fault) => self.fail(&fault),
        }
    }
}

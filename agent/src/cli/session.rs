//! One run of the command line.

use super::console::Console;
use super::options::Global;
use crate::client::agent::AgentClient;
use crate::client::helper::Helper;
use crate::client::person::PersonSession;
use crate::client::transport::Transport;
use crate::config::host::Host;
use crate::protocol::event::AgentError;
use crate::protocol::exit::Exit;
use serde_json::json;

/// One run of the command line.
pub struct Session<'a> {
    pub host: &'a Host,
    pub console: &'a mut Console,
    pub global: Global,
    /// Shows the helper that its person is here.
    pub person: PersonSession,
    /// The session that the lines of a prompt are.
    pub conversation: Option<String>,
}

/// Help that was asked for is a result; what is wrong is a message.
pub fn usage(error: &clap::Error, console: &mut Console) -> Exit {
    let text = error.render().to_string();
    if error.use_stderr() {
        console.say_lines(&text);
        return Exit::Usage;
    }
    console.raw(text.as_bytes());
    Exit::Done
}

impl Session<'_> {
    pub fn transport(&self) -> Transport {
        if self.global.direct {
            Transport::Helper(Helper::new(&self.host.helper_socket).with_root(&self.host.system))
        } else {
            Transport::Agent(self.agent())
        }
    }

    /// The agent, which quotes this person's session.
    pub fn agent(&self) -> AgentClient {
        AgentClient::new(&self.host.agent_socket).quoting(&self.person)
    }

    /// Says once why the person has no session. Root has none ever.
    pub async fn tell_session(&mut self) {
        let is_root = nix::unistd::getuid().is_root();
        if let Some(why) = self.person.failure().await.filter(|_| !self.global.quiet && !is_root) {
            self.console.say(&why);
        }
    }

    pub fn wait_ms(&self) -> u32 {
        self.global.timeout.map_or(0, |limit| u32::try_from(limit.as_millis()).unwrap_or(u32::MAX))
    }

    /// Nothing is shown on the way.
    pub fn is_silent(&self) -> bool {
        self.global.quiet || self.global.json.is_some()
    }

    /// Reports what went wrong before there was an outcome.
    pub fn fail(&mut self, fault: &AgentError) -> Exit {
        if self.global.json.is_some() {
            self.console.json(&json!({ "error": fault }));
        } else {
            self.complain(&fault.code, &fault.message);
        }
        Exit::of_code(&fault.code)
    }
}

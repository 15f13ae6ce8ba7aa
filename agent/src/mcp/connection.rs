//! The way to the helper: as this process's own uid, or through the agent where the helper does not know the uid.

use super::settings::Ways;
use crate::client::agent::AgentClient;
use crate::client::helper::Helper;
use crate::client::pending_request::{PendingRequest, new_id};
use crate::client::person::PersonSession;
use crate::client::transport::Transport;
use crate::config::host::Host;
use crate::protocol::args::Nothing;
use crate::protocol::event::{AgentError, Description, Event};
use crate::protocol::mode::Mode;
use crate::protocol::request::Request;

/// The reason in the audit log.
const REASON: &str = "which tools an MCP client is offered";

/// An open way.
pub struct Connection {
    /// Where requests go.
    pub transport: Transport,
    /// Why the helper itself did not take them, where they go through the agent.
    not_direct: Option<String>,
}

impl Connection {
    /// Opens the helper's socket, and asks what this client may do; through the agent only where the helper has said that
    /// it does not take requests of this uid, since the agent's grants are others.
    ///
    /// # Errors
    /// The helper cannot be reached, or neither takes requests of this uid: why not.
    pub async fn open(host: &Host, ways: Ways) -> Result<(Self, Description), AgentError> {
        let direct = Self {
            transport: Transport::Helper(Helper::new(&host.helper_socket).with_root(&host.system)),
            not_direct: None,
        };
        let refused = match direct.describe().await {
            Ok(description) => return Ok((direct, description)),
            Err(fault) => fault,
        };
        let is_kept_out = || {
            std::os::unix::net::UnixStream::connect(&host.helper_socket)
                .is_err_and(|error| error.kind() == std::io::ErrorKind::PermissionDenied)
        };
        let is_stranger = match refused.code.as_str() {
            "unknown_client" => true,
            "unreachable" => is_kept_out(),
            _ => false,
        };
        if ways == Ways::Helper || !is_stranger {
            return Err(refused);
        }
        let person = PersonSession::new(&host.person_socket, &host.agent_user);
        let agent = Self {
            transport: Transport::Agent(AgentClient::new(&host.agent_socket).quoting(&person)),
            not_direct: Some(refused.message.clone()),
        };
        match agent.describe().await {
            Ok(description) => {
                if let Some(why) = person.failure().await {
                    tracing::warn!("{why}");
                }
                Ok((agent, description))
            }
            Err(fault) => {
                Err(AgentError::new(&fault.code, format!("{}; {}", refused.message, fault.message)))
            }
        }
    }

    /// The client's grants as the accepted policy has them now.
    pub async fn describe(&self) -> Result<Description, AgentError> {
        let ask = PendingRequest {
            request: Request::PolicyDescribe(Nothing {}),
            id: new_id(),
            mode: Mode::Execute,
            reason: REASON.to_owned(),
            task: String::new(),
            claimed_uid: nix::unistd::getuid().as_raw(),
            session: String::new(),
            wait_ms: 0,
        };
        match self.transport.ask(&ask, &mut |_| {}).await.end {
            Event::Completed(done) => done
                .description
                .ok_or_else(|| AgentError::new("unsupported", "this helper does not describe its policy")),
            Event::Refused(refused) => Err(AgentError::new(&refused.code, refused.message)),
            Event::Error(fault) => Err(fault),
            Event::Accepted(_) | Event::Waiting(_) | Event::Progress(_) | Event::Output(_) => {
                Err(AgentError::new("internal", "the answer has no end"))
            }
        }
    }

    /// One word for the way.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self.transport {
            Transport::Helper(_) => "helper",
            Transport::Agent(_) => "agent",
        }
    }

    /// The sentence for the person, if the way is not the direct one.
    #[must_use]
    pub fn notice(&self) -> Option<String> {
        self.not_direct.as_ref().map(|why| {
            format!(
                "requests go through postern's agent and under its grants, because this user is no client of the \
                 helper ({why}); to make it one: a [[client]] of the policy, and the group postern-clients"
            )
        })
    }
}

//! Ids of requests as people give them: whole, by their beginning, or `last`.

use super::session::Session;
use crate::client::agent::AgentClient;
use crate::protocol::event::AgentError;
use hyper::Method;

/// Whether a text can be an id or the beginning of one.
pub fn is_part(id: &str) -> bool {
    !id.is_empty() && id.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-')
}

impl Session<'_> {
    /// The whole id. Only the agent remembers who asked for what, so that it alone can find the others.
    pub(super) async fn whole_id(&mut self, id: &str) -> Result<String, AgentError> {
        if self.global.direct || !(is_part(id) || id == "last") || uuid::Uuid::try_parse(id).is_ok() {
            return only_whole(id);
        }
        let agent = AgentClient::new(&self.host.agent_socket);
        let path = format!("/requests/{}", id.to_ascii_lowercase());
        let answer = self.call(&agent, Method::GET, &path, None).await?;
        Ok(answer.body["request_id"].as_str().unwrap_or_default().to_owned())
    }
}

/// An id as it is, where nobody remembers which there are.
pub fn only_whole(id: &str) -> Result<String, AgentError> {
    let why = || {
        let why =
            "is no request's whole id; its beginning and \"last\" are known to the agent, not with --direct";
        AgentError::new("invalid_argument", format!("{id:?} {why}"))
    };
    uuid::Uuid::try_parse(id).map(|id| id.hyphenated().to_string()).map_err(|_| why())
}

//! Ids of requests as people give them: whole, by their beginning, or `last`.

use super::Session;
use crate::agent_client::AgentClient;
use crate::event::Fault;
use hyper::Method;

impl Session<'_> {
    /// The whole id. Only the agent remembers who asked for what, so that it alone can find the others.
    pub(super) async fn whole_id(&mut self, id: &str) -> Result<String, Fault> {
        let bad = |why: &str| Fault::new("invalid_argument", format!("{id:?} {why}"));
        if let Ok(id) = uuid::Uuid::try_parse(id) {
            return Ok(id.hyphenated().to_string());
        }
        let is_part = !id.is_empty() && id.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-');
        if id != "last" && !is_part {
            return Err(bad("is no request's id: it is hex digits and dashes, or \"last\""));
        }
        if self.global.direct {
            return Err(bad("is not a whole id: with --direct nobody remembers yours"));
        }
        let agent = AgentClient::new(&self.host.agent_socket);
        let path = format!("/requests/{}", id.to_ascii_lowercase());
        let answer = self.call(&agent, Method::GET, &path, None).await?;
        Ok(answer.body["request_id"].as_str().unwrap_or_default().to_owned())
    }
}

//! MCP resources: the client's grants, the outcome of a request, and tasks.

use super::order::Order;
use super::session::Session;
use super::work::Works;
use crate::client::agent::AgentClient;
use crate::protocol::event::AgentError;
use crate::render;
use hyper::Method;
use rmcp::model::{ReadResourceResult, Resource, ResourceContents, ResourceTemplate};
use serde_json::{Value, json};

const POLICY: &str = "postern://policy";
const TASKS: &str = "postern://tasks";
const REQUEST: &str = "postern://request/";

/// Those with a fixed address.
pub fn list() -> Vec<Resource> {
    vec![
        Resource::new(POLICY, "policy")
            .with_description("What this client may do on this host, as the accepted policy says.")
            .with_mime_type("application/json"),
        Resource::new(TASKS, "tasks")
            .with_description("The changes of this session, and this user's tasks at postern's agent.")
            .with_mime_type("application/json"),
    ]
}

/// Those of one request each.
pub fn templates() -> Vec<ResourceTemplate> {
    vec![
        ResourceTemplate::new(format!("{REQUEST}{{request_id}}"), "request")
            .with_description("The outcome of an earlier request, or what it waits for.")
            .with_mime_type("application/json"),
    ]
}

/// Reads one.
///
/// # Errors
/// There is none of that address, or the helper does not answer.
pub async fn read(works: &Works, uri: &str) -> Result<ReadResourceResult, AgentError> {
    let value = match uri {
        POLICY => policy(&works.session).await?,
        TASKS => tasks(&works.session).await,
        uri => match uri.strip_prefix(REQUEST) {
            Some(id) if uuid::Uuid::try_parse(id).is_ok() => request(works, id).await?,
            Some(id) => {
                let why = format!("{REQUEST} is followed by a request's id, which {id:?} is not");
                return Err(AgentError::new("not_found", why));
            }
            None => {
                let template = format!("{REQUEST}{{request_id}}");
                let why = postern_text::unknown("resource", uri, [POLICY, TASKS, template.as_str()]);
                return Err(AgentError::new("not_found", why));
            }
        },
    };
    let text = ResourceContents::text(value.to_string(), uri).with_mime_type("application/json");
    Ok(ReadResourceResult::new(vec![text]))
}

async fn policy(session: &Session) -> Result<Value, AgentError> {
    let description = session.shared.described().await?;
    Ok(json!({
        "through": session.shared.connection.name(),
        "words": render::grants(&description, render::Reader::Model),
        "client": description.client,
        "grants": description.grants,
    }))
}

async fn request(works: &Works, id: &str) -> Result<Value, AgentError> {
    if let Some(work) = works.find(id) {
        let ended = work.state.borrow().answer.clone();
        return Ok(ended.map_or_else(|| work.so_far().json(), |answer| answer.json()));
    }
    let work = works.start(Order::outcome_of(id), "an MCP client")?;
    let mut state = work.state.clone();
    // Reading does not wait: what has not ended is told as it is.
    let known = state.wait_for(|state| state.answer.is_some() || !state.progress.is_empty()).await;
    let ended = known.map_err(|_| AgentError::new("internal", "the request was not asked"))?.answer.clone();
    let value = ended.map_or_else(|| work.so_far().json(), |answer| answer.json());
    works.leave(&work);
    Ok(value)
}

/// Lists tasks; a user who may not open the agent's socket has none.
async fn tasks(session: &Session) -> Value {
    let agent = AgentClient::new(&session.shared.agent_socket);
    let tasks = match agent.call(Method::GET, "/tasks", None).await {
        Ok(answer) => answer.error().map_or(Ok(answer.body), |fault| Err(fault.message)),
        Err(lost) => Err(lost.explain("agent", agent.path(), "postern-users")),
    };
    let changes = session.made();
    match tasks {
        Ok(tasks) => json!({ "session": session.id, "changes": changes, "tasks": tasks }),
        Err(why) => json!({ "session": session.id, "changes": changes, "no_tasks": why }),
    }
}

//! The MCP server against a helper that is told what to answer.

#[path = "../common/mod.rs"]
mod common;
#[path = "../model/schema.rs"]
mod schema;

mod calls;
mod client;
mod listening;
mod offered;
mod protocol;
mod read;
mod waiting;

use common::{Place, Play, Seen, completed};
use postern_proto::v1;
use std::sync::Arc;

/// Describes a policy that grants these verbs without asking.
pub(crate) fn grants(verbs: &[&str]) -> v1::event::Kind {
    let grant = v1::Grant {
        verbs: verbs.iter().map(|verb| (*verb).to_owned()).collect(),
        decision: v1::Decision::Allow.into(),
        ..v1::Grant::default()
    };
    described(vec![grant])
}

pub(crate) fn described(grants: Vec<v1::Grant>) -> v1::event::Kind {
    let description = Some(v1::Description { client: "me".into(), grants });
    completed(v1::Completed { status: v1::Status::Done.into(), description, ..v1::Completed::default() })
}

/// A helper that grants everything and answers each request so.
pub(crate) fn granting_all(
    answer: impl Fn(&Seen) -> Vec<v1::event::Kind> + Send + Sync + 'static,
) -> Vec<Play> {
    let policy = move |seen: &Seen| match seen.rpc.as_str() {
        "PolicyDescribe" => vec![grants(postern_agent::VERBS)],
        _ => answer(seen),
    };
    vec![Play::Decide(Arc::new(policy))]
}

/// The requests that a helper got, without the questions for the policy.
pub(crate) fn asked(helper: &common::FakeHelper) -> Vec<Seen> {
    helper.seen().into_iter().filter(|seen| seen.rpc != "PolicyDescribe").collect()
}

pub(crate) async fn client_of(place: &Place) -> client::Client {
    client::Client::of(&place.host, client::TIMES).await
}

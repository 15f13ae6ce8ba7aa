//! Starts a package transaction in a unit of its own, which decides the order once more under apt's lock.

use crate::job;
use crate::state::Work;
use postern_policy::request::Request;
use postern_proto::root::v1::{Envelope, Outcome, RootExecute};
use postern_proto::v1::Completed;
use postern_root::Error;
use postern_root::store::{self, Durability};
use prost::Message;

/// Decides the request, puts the order into the job's directory, and follows the unit.
pub fn start(work: &mut Work<'_>, envelope: &Envelope, request: &Request) -> Result<Outcome, Error> {
    let ordered = work.authority.ordered;
    let grant = work.authority.decide(&request.required_grants())?;
    let host = &work.state.host;
    let unit = format!("postern-packages@{}.service", ordered.id);
    let statement = work.authority.outcome(&grant, Vec::new(), Completed::default());
    let path = job::begin(host, ordered.id, &unit, &statement)?;
    let order =
        RootExecute { envelope: Some(envelope.clone()), order: ordered.bytes.clone(), secrets: false };
    store::replace(&path.join("order.pb"), &[&order.encode_to_vec()], Durability::Synced)?;
    job::run(work, &unit, &path)?;
    Ok(job::outcome(host, ordered.id)?)
}

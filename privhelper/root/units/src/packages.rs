//! Starts a package transaction in a unit of its own, which decides the order once more under apt's lock.

use crate::job;
use crate::state::Work;
use postern_policy::Grant;
use postern_policy::types::UnitName;
use postern_proto::root::v1::{Outcome, RootExecute};
use postern_proto::v1::event::Kind;
use postern_proto::v1::{Completed, Output, Status, Stream};
use postern_root::Error;
use postern_root::store::{self, Durability};
use prost::Message;

/// Puts the order into the job's directory, and follows the unit.
pub fn start(work: &mut Work<'_>, grant: &Grant) -> Result<Outcome, Error> {
    let ordered = work.authority.ordered;
    let host = &work.state.host;
    let unit = UnitName::new(&format!("postern-packages@{}.service", ordered.id))?;
    let statement = work.authority.outcome(grant, Vec::new(), Completed::default());
    let path = job::begin(host, ordered.id, &unit, &statement)?;
    let boot_id = host.root.boot_id.clone();
    let order = RootExecute {
        envelope: ordered.envelope.clone(),
        order: ordered.bytes.clone(),
        boot_id,
        ..RootExecute::default()
    };
    store::replace(&path.join("order.pb"), &[&order.encode_to_vec()], Durability::Synced)?;
    let mut outcome = job::run(work, &unit, &path)?;
    // apt's last output explains a failure to the client; the log has the message.
    let data = std::mem::take(&mut outcome.detail).into_bytes();
    let has_failed = outcome.completed.as_ref().is_some_and(|done| done.status() == Status::Failed);
    if has_failed && !data.is_empty() {
        let output = Output { stream: Stream::Stdout.into(), data, truncated: false };
        drop(work.connection.event(Kind::Output(output)));
    }
    Ok(outcome)
}

//! The table of verbs: one row each, and nothing else is reachable.

use crate::audit::Ticket;
use crate::change;
use crate::dispatch::{Received, Refuse, run};
use crate::helper::Helper;
use crate::job;
use crate::leave::{Done, Leave};
use crate::reply::Watchers;
use crate::verb::Verb;
use crate::verb_id::VerbId;
use crate::verbs;
use postern_proto::root::v1::RequestRecord;

/// One row of the table.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// Which verb.
    pub id: VerbId,
    /// Whether it has an effect.
    pub is_effect: bool,
    /// Runs a request of it.
    pub run: fn(Received) -> Result<(), Refuse>,
    /// Takes up a request of it that an earlier helper began; the outcome if there is one.
    pub recover: Recover,
    /// Whether that may take long: then others begin meanwhile.
    pub is_job: bool,
}

/// Takes up a request that an earlier helper began.
pub type Recover = fn(&Helper, &Ticket, &RequestRecord, &Watchers) -> Option<Done>;

const fn row<V: Verb>() -> Row {
    Row {
        id: V::ID,
        is_effect: V::Leave::IS_EFFECT,
        run: run::<V>,
        recover: |_, _, _, _| None,
        is_job: false,
    }
}

const fn job_row<V: Verb>() -> Row {
    Row { recover: job::recover, is_job: true, ..row::<V>() }
}

const fn change_row<V: Verb>() -> Row {
    Row { recover: |helper, ticket, request, _| change::recover(helper, ticket, request), ..row::<V>() }
}

/// Every verb that this helper can do.
pub const TABLE: &[Row] = &[
    job_row::<verbs::package_install::Install>(),
    job_row::<verbs::package_update::Update>(),
    row::<verbs::package_show::Show>(),
    row::<verbs::unit_status::Status>(),
    row::<verbs::unit_change::Start>(),
    row::<verbs::unit_change::Stop>(),
    row::<verbs::unit_change::Restart>(),
    row::<verbs::unit_change::Reload>(),
    row::<verbs::unit_change::TryRestart>(),
    row::<verbs::unit_change::ResetFailed>(),
    row::<verbs::unit_change::Enable>(),
    row::<verbs::unit_change::Disable>(),
    row::<verbs::unit_change::Mask>(),
    row::<verbs::unit_change::Unmask>(),
    row::<verbs::unit_daemon_reload::DaemonReload>(),
    row::<verbs::file_read::Read>(),
    row::<verbs::file_list::List>(),
    change_row::<verbs::file_change::Write>(),
    change_row::<verbs::file_change::Patch>(),
    change_row::<verbs::file_change::Remove>(),
    change_row::<verbs::file_change::Mkdir>(),
    change_row::<verbs::file_change::SetMode>(),
    change_row::<verbs::file_change::SetOwner>(),
    job_row::<verbs::command_run::Run>(),
    row::<verbs::policy_describe::Describe>(),
    row::<verbs::request_result::RequestResult>(),
    change_row::<verbs::request_undo::Undo>(),
];

/// The row of a method such as `Helper/FileWrite`.
#[must_use]
pub fn find(method: &str) -> Option<&'static Row> {
    let rpc = method.strip_prefix("Helper/")?;
    TABLE.iter().find(|row| row.id.rpc() == rpc)
}

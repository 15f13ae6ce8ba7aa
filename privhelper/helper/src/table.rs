//! The table of verbs: one row each, and nothing else is reachable.

use crate::dispatch::{Received, Refuse, run};
use crate::leave::Leave;
use crate::verb::Verb;
use crate::verbs;
use postern_policy::VerbId;

/// One row of the table.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// Which verb.
    pub id: VerbId,
    /// Whether it has an effect.
    pub is_effect: bool,
    /// Runs a request of it.
    pub run: fn(Received) -> Result<(), Refuse>,
}

const fn row<V: Verb>() -> Row {
    Row { id: V::ID, is_effect: V::Leave::IS_EFFECT, run: run::<V> }
}

/// Every verb that this helper can do.
pub const TABLE: &[Row] = &[
    row::<verbs::package_change::Install>(),
    row::<verbs::package_change::Remove>(),
    row::<verbs::package_change::Purge>(),
    row::<verbs::package_change::Autoremove>(),
    row::<verbs::package_update::Update>(),
    row::<verbs::package_change::Upgrade>(),
    row::<verbs::package_hold::Hold>(),
    row::<verbs::package_hold::Unhold>(),
    row::<verbs::package_change::Repair>(),
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
    row::<verbs::file_change::Write>(),
    row::<verbs::file_change::Patch>(),
    row::<verbs::file_change::Remove>(),
    row::<verbs::file_change::Mkdir>(),
    row::<verbs::file_change::SetMode>(),
    row::<verbs::file_change::SetOwner>(),
    row::<verbs::command_run::Run>(),
    row::<verbs::policy_describe::Describe>(),
    row::<verbs::request_result::RequestResult>(),
    row::<verbs::request_undo::Undo>(),
];

/// The row of a method such as `Helper/FileWrite`.
#[must_use]
pub fn find(method: &str) -> Option<&'static Row> {
    let rpc = method.strip_prefix("Helper/")?;
    TABLE.iter().find(|row| row.id.rpc() == rpc)
}

//! One file a verb, the same five parts in the same order.

pub mod file_read;
pub mod file_write;
pub mod package_install;
pub mod package_show;
pub mod package_update;
pub mod policy_describe;
pub mod request_result;
pub mod unit_change;
pub mod unit_status;

use crate::dispatch::Context;
use crate::policy::Authorized;
use std::time::Duration;

/// How long this request may wait: the rule's limit, or less if the client says so.
pub(crate) fn limit<V>(cx: &Context<'_>, by: &Authorized<V>) -> Duration {
    cx.meta.wait.map_or(by.timeout(), |wait| wait.min(by.timeout()))
}

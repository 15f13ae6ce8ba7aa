//! `host.reboot`: systemd-logind(8) schedules it and warns people on their terminals. The message for them names client and
//! order, by which a scheduled reboot is known as that client's.
//!
//! Locks of packages count when it is scheduled. A transaction of Postern's that begins later delays the shutdown, up to
//! the `TimeoutStopSec=` of its unit; one of others does not.

use crate::state::{Host, Work};
use crate::systemctl;
use postern_policy::{Grant, VerbId};
use postern_proto::root::v1::Outcome;
use postern_proto::v1::{Completed, HostRebootRequest, Status};
use postern_root::host::lock_holder;
use postern_root::{Code, Denied, Error, Fault, OrderId, failed, store};
use prost::Message;
use std::sync::PoisonError;

/// Schedules a reboot, or cancels the one that this client has scheduled.
///
/// # Errors
/// `busy`: something is scheduled already, or packages change; `not_found` or `undo_gone`: nothing to cancel.
pub fn reboot(work: &Work<'_>, minutes: Option<u32>, grant: &Grant) -> Result<Outcome, Error> {
    let (authority, host) = (work.authority, &work.state.host);
    let _one_at_a_time = work.state.reboot.lock().unwrap_or_else(PoisonError::into_inner);
    let before = Scheduled::read(host)?;
    let own = message(authority.ordered.order.uid, &authority.ordered.id.to_string());
    let in_minutes = minutes.map(|minutes| format!("+{minutes}"));
    let arguments = if let Some(time) = &in_minutes {
        if before.is_some() {
            return Err(Denied::new(Code::Busy, "a shutdown is scheduled already").into());
        }
        if lock_holder(&host.dpkg_lock)?.is_some() {
            let why = "packages are changing; ask again when that has ended";
            return Err(Denied::new(Code::Busy, why).into());
        }
        vec!["-r", time.as_str(), own.as_str()]
    } else {
        // An undo cancels the reboot of its own order alone.
        let undone =
            authority.inverse.and_then(|of| Some((of.uid, OrderId::from_bytes(&of.order_id)?.to_string())));
        let (uid, id) = undone.unwrap_or((authority.ordered.order.uid, String::new()));
        // Of any order, if it is no undo.
        let whose = message(uid, &id);
        if !before.is_some_and(|it| it.message.starts_with(&whose)) {
            let code = if id.is_empty() { Code::NotFound } else { Code::UndoGone };
            return Err(Denied::new(code, "no such reboot of this client's is scheduled").into());
        }
        vec!["-c"]
    };
    authority.witness(grant)?;
    let finished = systemctl::shutdown(host, &arguments).map_err(Error::Begun)?;
    let after = Scheduled::read(host).map_err(Error::Begun)?;
    let is_done = after.as_ref().map(|after| after.message.as_str()) == minutes.map(|_| own.as_str());
    let completed = if is_done && finished.status.success() {
        let reboot_unix_s = after.map_or(0, |after| after.unix_s);
        Completed { status: Status::Done.into(), reboot_unix_s, ..Completed::default() }
    } else {
        let why =
            "systemd-logind refused, or scheduled something else; see its journal and `shutdown --show`";
        failed(Code::UnitFailed, why)
    };
    let cancel = HostRebootRequest { cancel: true, ..HostRebootRequest::default() }.encode_to_vec();
    let inverse = authority.inverse_of(grant, VerbId::HostReboot, cancel);
    let inverse = inverse.filter(|_| completed.reboot_unix_s > 0);
    let outcome = authority.outcome(grant, Vec::new(), completed, inverse);
    Ok(Outcome { detail: systemctl::text(&finished.stderr), ..outcome })
}

/// The message of a reboot. Without blanks: systemd 257 escapes them.
fn message(uid: u32, order_id: &str) -> String {
    format!("Postern:host.reboot:{uid}:{order_id}")
}

/// The shutdown that systemd-logind has scheduled.
struct Scheduled {
    unix_s: u64,
    message: String,
}

impl Scheduled {
    /// Reads the file of systemd-logind: `NAME=value` a line.
    fn read(host: &Host) -> Result<Option<Self>, Fault> {
        let Some(text) = store::read(&host.scheduled, 4096)? else { return Ok(None) };
        let text = String::from_utf8_lossy(&text).into_owned();
        let value = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
        let unix_us = value("USEC=").parse::<u64>().unwrap_or(0);
        Ok(Some(Self { unix_s: unix_us / 1_000_000, message: value("WALL_MESSAGE=").to_owned() }))
    }
}

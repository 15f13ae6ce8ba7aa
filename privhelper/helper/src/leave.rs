//! Leave to act, and the record of how it went.
//!
//! A [`Ticket`] for effects: the intent is on disk before, the outcome after.
//! [`Looked`] for what only reads: one record.

use crate::audit::{Event, Json, Ticket};
use crate::context::{Context, micros};
use crate::error::Stop;
use crate::helper::Helper;
use crate::job;
use crate::sys::locked;
use postern_policy::{Code, Denied, Grant, VerbId};
use postern_proto::root::v1::RequestRecord;
use postern_proto::v1 as wire;
use std::time::Duration;

/// The outcome of a verb.
#[derive(Debug, Default)]
pub struct Done {
    /// What the client is told.
    pub completed: wire::Completed,
    /// How it could be undone, for the audit.
    pub undo: Json,
}

/// Leave to act: a [`Ticket`] for effects, [`Looked`] for what only reads.
pub trait Leave: Sized + Send + 'static {
    /// Whether the request takes its id.
    const IS_EFFECT: bool;
    /// Takes it: for effects the intent goes to disk.
    ///
    /// # Errors
    /// The audit can't take the record, the rate is used up, or the id is taken.
    fn take(cx: &mut Context, verb: VerbId, by: &Grant) -> Result<Self, Stop>;
    /// Records how it went.
    ///
    /// # Errors
    /// The audit can't take the record, or what was only read went wrong.
    fn end(self, cx: &mut Context, result: Result<Done, Stop>) -> Result<wire::Completed, Stop>;
}

/// Leave to look: no record goes before it.
#[derive(Debug)]
pub struct Looked;

impl Leave for Looked {
    const IS_EFFECT: bool = false;

    fn take(_: &mut Context, _: VerbId, _: &Grant) -> Result<Self, Stop> {
        Ok(Self)
    }

    fn end(self, cx: &mut Context, result: Result<Done, Stop>) -> Result<wire::Completed, Stop> {
        let done = result?;
        if cx.has_id {
            cx.helper.requests.finish(cx.peer.uid, cx.meta.request_id.as_str(), &done.completed)?;
        }
        cx.record.duration_us = Some(done.completed.duration_us);
        cx.record.outcome = outcome(&done.completed, "");
        cx.helper.audit.note(Event::Served, &cx.record)?;
        Ok(done.completed)
    }
}

impl Leave for Ticket {
    const IS_EFFECT: bool = true;

    fn take(cx: &mut Context, verb: VerbId, by: &Grant) -> Result<Self, Stop> {
        // Between the count and the entry nobody else may begin, and nobody after a pause.
        let _one_at_a_time = locked(&cx.helper.begins);
        cx.helper.check_paused()?;
        check_rates(&cx.helper, by, cx.helper.host.unix())?;
        let rules = by.rules().map(|rule| rule.id.clone()).collect();
        let entry = RequestRecord { decision: by.decision().wire().into(), ..cx.entry(verb, rules) };
        cx.helper.requests.take(entry, &cx.watchers)?;
        let id = cx.meta.request_id.as_str();
        cx.helper.audit.begin(&cx.record).map_err(|fault| {
            let released = cx.helper.requests.release(cx.peer.uid, id);
            Stop::from(released.err().unwrap_or(fault))
        })
    }

    fn end(self, cx: &mut Context, result: Result<Done, Stop>) -> Result<wire::Completed, Stop> {
        let (done, detail) = match result {
            Ok(done) => {
                let detail = done.completed.message.clone();
                (done, detail)
            }
            Err(stop) => failed(stop),
        };
        let mut completed = done.completed;
        completed.duration_us = micros(cx.started);
        completed.undoable = completed.status() == wire::Status::Done && done.undo != Json::new();
        cx.record.plan = Json::new();
        cx.record.args = Json::new();
        let leaves_nothing = done.undo.members().is_empty();
        cx.record.undo = done.undo;
        cx.record.duration_us = Some(completed.duration_us);
        cx.record.outcome = outcome(&completed, &detail);
        let recorded = cx.helper.audit.end(self, Event::End, &cx.record);
        let kept = cx.helper.requests.finish(cx.peer.uid, cx.meta.request_id.as_str(), &completed);
        if recorded.and(kept).is_err() {
            completed.status = wire::Status::Failed.into();
            Code::AuditUnavailable.as_str().clone_into(&mut completed.code);
            "it was tried, but the outcome could not be recorded".clone_into(&mut completed.message);
        }
        forget(&cx.helper, (cx.peer.uid, cx.meta.request_id.as_str()), &completed, leaves_nothing);
        Ok(completed)
    }
}

/// Removes what a request needs no longer once its outcome is recorded: what its job left, and what was only kept to
/// know after a crash how far it came.
pub fn forget(
    helper: &Helper,
    (uid, request_id): (u32, &str),
    completed: &wire::Completed,
    leaves_nothing: bool,
) {
    job::forget(helper, uid, request_id);
    if leaves_nothing && completed.status() == wire::Status::Done {
        // What stays has no content of any file.
        drop(helper.copies.forget(uid, request_id));
    }
}

/// A failure after the begin record: the client is told a code, the audit the reason.
#[must_use]
pub fn failed(stop: Stop) -> (Done, String) {
    let completed = stop.told();
    (Done { completed, undo: Json::new() }, stop.tell().1)
}

fn check_rates(helper: &Helper, by: &Grant, unix: Duration) -> Result<(), Denied> {
    for rule in by.rules() {
        if let Some(rate) = rule.rate {
            let since = unix.saturating_sub(rate.window).as_secs();
            let begun = helper.requests.begun_since(&rule.id, since);
            if u32::try_from(begun).unwrap_or(u32::MAX) >= rate.count {
                let why =
                    format!("rule {} grants {} in {} s (`rate`)", rule.id, rate.count, rate.window.as_secs());
                let retry_after_s = u32::try_from(rate.window.as_secs()).unwrap_or(u32::MAX);
                return Err(Denied { retry_after_s, ..Denied::new(Code::RateLimited, why) });
            }
        }
    }
    Ok(())
}

/// The outcome as the audit keeps it.
pub fn outcome(completed: &wire::Completed, detail: &str) -> Json {
    let status = completed.status().as_str_name().trim_start_matches("STATUS_").to_ascii_lowercase();
    let json = Json::new().text("status", &status).text("code", &completed.code).text("detail", detail);
    let packages = completed.packages.iter().map(|package| format!("{} {}", package.name, package.installed));
    let packages = packages.collect::<Vec<_>>();
    let files = completed.files.iter().map(|file| {
        Json::new()
            .text("path", &file.path)
            .number("size", file.size)
            .text("sha256", &file.sha256)
            .text("mode", &file.mode)
    });
    let json = json.objects("files", files).texts("packages", packages.iter().map(String::as_str));
    let unit = completed.unit.as_ref().map_or_else(Json::new, |unit| {
        Json::new().text("id", &unit.id).text("active", &unit.active).text("enabled", &unit.enabled)
    });
    let exit = completed.exit.as_ref().map_or_else(Json::new, |exit| {
        Json::new().number("code", exit.code).number("signal", exit.signal).flag("truncated", exit.truncated)
    });
    json.object("unit", &unit).object("exit", &exit)
}

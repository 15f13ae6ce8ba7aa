//! How a request is answered that comes to nothing, or to what is known already: one record, then the answer.

use crate::audit::{Event, Json, Record};
use crate::context::{Context, micros};
use crate::error::Stop;
use crate::helper::Helper;
use crate::reply::{Grpc, Sink, Watchers};
use postern_policy::Code;
use postern_proto::v1 as wire;
use std::time::Instant;
use wire::event::Kind;

/// Nothing is done. If the request has taken its id, that is its outcome for whoever asks again.
pub fn end(cx: Context, stop: Stop) {
    // Two calls planned the same request at once; the other took the id and answers both.
    if matches!(stop, Stop::Attached) {
        return;
    }
    if cx.has_id {
        let (told, id) = (stop.told(), cx.meta.request_id.as_str());
        // Without a log the request counts as interrupted after a restart; it was not begun either way.
        drop(cx.helper.requests.finish(cx.peer.uid, id, &told));
    }
    refuse(&cx.helper, &cx.watchers, cx.record, cx.started, stop);
}

/// Nothing is done: one record, then the answer. If the log can't take the record, that is the answer.
pub fn refuse(helper: &Helper, watchers: &Watchers, mut record: Record, started: Instant, stop: Stop) {
    let (mut refusal, detail) = stop.tell();
    if refusal.code == Code::Denied {
        record.decision = "deny";
    }
    let outcome = Json::new().text("status", "refused").text("code", refusal.code.as_str());
    record.outcome = outcome.text("detail", &detail).text("missing", &refusal.missing);
    record.duration_us = Some(micros(started));
    if let Err(fault) = helper.audit.note(Event::Refused, &record) {
        refusal = fault.into();
    }
    watchers.finish(&Kind::Refused(wire::Refused {
        code: refusal.code.as_str().to_owned(),
        message: refusal.message,
        missing: refusal.missing,
        retry_after_s: refusal.retry_after_s,
        plan: None,
        granted_nearby: refusal.granted_nearby,
    }));
}

/// Over the client's budget of records: refused before it is decoded, and counted instead of recorded.
pub fn rate_limited(sink: &Sink, retry_after_s: u32) {
    sink.event(Kind::Refused(wire::Refused {
        code: Code::RateLimited.as_str().to_owned(),
        message: format!("too many requests of this user; ask again in {retry_after_s} s"),
        retry_after_s,
        ..wire::Refused::default()
    }));
    sink.end(Grpc::Ok, "");
}

/// One record, then the answer.
pub fn note(
    helper: &Helper,
    watchers: &Watchers,
    mut record: Record,
    started: Instant,
    event: Event,
    mut completed: wire::Completed,
) {
    record.duration_us = Some(micros(started));
    if !completed.replayed {
        completed.duration_us = micros(started);
    }
    match helper.audit.note(event, &record) {
        Ok(_) => watchers.finish(&Kind::Completed(completed)),
        Err(fault) => refuse(helper, watchers, record, started, fault.into()),
    }
}

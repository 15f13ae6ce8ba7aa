//! The fields that every request has.

use crate::text::{Reason, TraceId, Word};
use postern_policy::Invalid;
use postern_policy::types::RequestId;
use postern_proto::v1 as wire;
use prost::{Message, decode_length_delimiter};
use std::time::Duration;

/// The last step of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// All the way.
    Execute,
    /// Up to the plan.
    Preview,
    /// Up to the decision.
    Check,
}

/// `Meta`, validated.
#[derive(Debug, Clone)]
pub struct Meta {
    /// The key of idempotency, with the client's uid.
    pub request_id: RequestId,
    /// How far.
    pub mode: Mode,
    /// The client's words.
    pub reason: Reason,
    /// W3C trace id.
    pub trace_id: TraceId,
    /// The client's own task id.
    pub task: Word,
    /// Longest wait that the client asks for.
    pub wait: Option<Duration>,
    /// A claim.
    pub claimed_uid: u32,
    /// Of an open session of that person, as the client says.
    pub session: Word,
}

impl Meta {
    /// Checks every field.
    ///
    /// # Errors
    /// The field that is not what it must be; `meta` itself must be there.
    pub fn new(meta: Option<wire::Meta>) -> Result<Self, Invalid> {
        let meta = meta.ok_or(Invalid::new("meta", "must be there"))?;
        let mode = match meta.mode() {
            wire::Mode::Execute => Mode::Execute,
            wire::Mode::Preview => Mode::Preview,
            wire::Mode::Check => Mode::Check,
            wire::Mode::Unspecified => return Err(Invalid::new("mode", "must be EXECUTE, PREVIEW or CHECK")),
        };
        Ok(Self {
            request_id: RequestId::new(&meta.request_id)?,
            mode,
            reason: Reason::new(&meta.reason)?,
            trace_id: TraceId::of_traceparent(&meta.traceparent)?,
            task: Word::new("task", &meta.task)?,
            wait: (meta.wait_ms > 0).then(|| Duration::from_millis(meta.wait_ms.into())),
            claimed_uid: meta.claimed_uid,
            session: Word::new("session", &meta.session)?,
        })
    }
}

/// Returns the mode that a message claims, before it is decoded: it decides nothing but a budget and a thread.
#[must_use]
pub fn peek(body: &[u8]) -> Option<wire::Mode> {
    let (meta, _) = split(body);
    let mut meta = meta.get(1..)?;
    decode_length_delimiter(&mut meta).ok()?;
    wire::Meta::decode(meta).ok().map(|meta| meta.mode())
}

/// Returns the meta of a canonical message without the session's token: operators read the order, and the same request in
/// another session is the same.
#[must_use]
pub fn without_session(meta: wire::Meta) -> Vec<u8> {
    let meta = wire::Meta { session: String::new(), ..meta };
    [&[0x0a], meta.encode_length_delimited_to_vec().as_slice()].concat()
}

/// Splits a canonical message into its meta, which is field 1 and so comes first, and the rest.
#[must_use]
pub fn split(body: &[u8]) -> (&[u8], &[u8]) {
    let mut rest = body.strip_prefix(&[0x0a]).unwrap_or_default();
    let len = decode_length_delimiter(&mut rest).unwrap_or(0);
    let head = body.len().saturating_sub(rest.len()).saturating_add(len);
    body.split_at_checked(head).filter(|_| body.starts_with(&[0x0a])).unwrap_or((&[], body))
}

//! Trace context: a W3C trace id, from the command line to the model's endpoint, the helper's
//! record and every line of the log. It goes along with the future that works on the order, so that no function
//! on the way has to pass it on.

use std::fmt;

/// A trace id: 32 hex digits, not all of them 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trace(u128);

tokio::task_local! {
    static CURRENT: Trace;
}

impl Trace {
    /// A new one. Half of it is random, which is as much as the recommendation asks for.
    #[must_use]
    pub fn new() -> Self {
        Self(uuid::Uuid::now_v7().as_u128())
    }

    /// That of a request whose id its sender chose: asked again under it, whoever asks, it has the same trace.
    #[must_use]
    pub fn of_request(id: &str) -> Option<Self> {
        uuid::Uuid::parse_str(id).ok().map(|id| Self(id.as_u128())).filter(|trace| trace.0 != 0)
    }

    /// Reads `traceparent` (W3C Trace Context, version 00); `None` if it is none. Lower case only, as the
    /// recommendation says.
    #[must_use]
    pub fn of_traceparent(text: &str) -> Option<Self> {
        let [version, id, parent, flags] = text.split('-').collect::<Vec<_>>().try_into().ok()?;
        let is_hex = |part: &str, length| {
            part.len() == length && part.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
        };
        let is_whole = version == "00" && is_hex(parent, 16) && is_hex(flags, 2);
        let has_parent = parent.bytes().any(|b| b != b'0');
        (is_whole && has_parent).then(|| Self::of_id(id)).flatten()
    }

    /// Reads a trace id.
    #[must_use]
    pub fn of_id(id: &str) -> Option<Self> {
        let is_plain = id.len() == 32 && id.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        let id = is_plain.then(|| u128::from_str_radix(id, 16).ok()).flatten()?;
        (id != 0).then_some(Self(id))
    }

    /// Returns the id as a number.
    #[must_use]
    pub fn as_u128(self) -> u128 {
        self.0
    }
}

impl Default for Trace {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

/// Works on something that belongs to this trace.
pub async fn within<T>(trace: Trace, work: impl Future<Output = T>) -> T {
    CURRENT.scope(trace, work).await
}

/// The trace of what is being done now.
#[must_use]
pub fn current() -> Option<Trace> {
    CURRENT.try_with(|trace| *trace).ok()
}

/// The header for a call to somebody else, each call with a span id of its own; empty where nothing is traced.
#[must_use]
pub fn traceparent() -> String {
    current().map_or_else(String::new, |trace| format!("00-{trace}-{:016x}-01", fastrand::u64(1..)))
}

/// The same for a request to the helper: asked again under the same id it must be the same to the byte, so that
/// its span is the random half of that id.
#[must_use]
pub fn traceparent_of(request_id: &str) -> String {
    let span = uuid::Uuid::parse_str(request_id).map_or(1, |id| id.as_u64_pair().1.max(1));
    current().map_or_else(String::new, |trace| format!("00-{trace}-{span:016x}-01"))
}

//! The client's words, which are recorded and never used to decide.

use postern_policy::Invalid;

/// Why, in the client's words: at most 500 bytes, no control characters.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reason(String);

impl Reason {
    /// Checks length and characters.
    ///
    /// # Errors
    /// Too long, or a control character.
    pub fn new(text: &str) -> Result<Self, Invalid> {
        if text.len() <= 500 && !text.chars().any(char::is_control) {
            Ok(Self(text.to_owned()))
        } else {
            Err(Invalid::new("reason", "must be at most 500 bytes without control characters"))
        }
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The client's own task id, or the token of a person's session: at most 64 of `[A-Za-z0-9_-]`, or empty.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Word(String);

impl Word {
    /// Checks length and characters.
    ///
    /// # Errors
    /// Too long, or another character.
    pub fn new(field: &'static str, text: &str) -> Result<Self, Invalid> {
        if text.len() <= 64 && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-')) {
            Ok(Self(text.to_owned()))
        } else {
            Err(Invalid::new(field, "must be at most 64 letters, digits, '_' and '-'"))
        }
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The trace id of a W3C `traceparent`, or none.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TraceId(String);

impl TraceId {
    /// Takes the trace id out of `00-<32 hex>-<16 hex>-<2 hex>`; empty text is no trace.
    ///
    /// # Errors
    /// Text of another form (W3C Trace Context, level 1).
    pub fn of_traceparent(text: &str) -> Result<Self, Invalid> {
        if text.is_empty() {
            return Ok(Self::default());
        }
        let hex = |part: &str, len: usize| {
            part.len() == len
                && part.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
                && part.bytes().any(|b| b != b'0')
        };
        let mut parts = text.split('-');
        match (parts.next(), parts.next(), parts.next(), parts.next(), parts.next()) {
            (Some("00"), Some(trace), Some(span), Some(flags), None)
                if hex(trace, 32)
                    && hex(span, 16)
                    && flags.len() == 2
                    && flags.bytes().all(|b| b.is_ascii_hexdigit()) =>
            {
                Ok(Self(trace.to_owned()))
            }
            _ => Err(Invalid::new("traceparent", "must be a W3C traceparent or empty")),
        }
    }

    /// 32 hex digits, or empty.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

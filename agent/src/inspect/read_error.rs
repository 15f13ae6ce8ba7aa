//! Why a look found nothing.

/// Why nothing was found.
#[derive(Debug)]
pub enum ReadError {
    /// It is the helper's to answer.
    Elsewhere,
    /// It may not be looked at.
    Denied(String),
    /// It cannot be looked at.
    Failed(String),
}

//! JSON, times, risks and lines of audit records, for the recorder that writes them, the broker whose claims they contain, and
//! the agent, whose own record has the same form.

pub mod chain;
pub mod json;
mod risk;
mod time;

pub use json::Json;
pub use postern_policy::types::Digest;
pub use risk::Risk;
pub use time::rfc3339;

//! JSON and times of audit records, for the recorder that writes them and the broker whose claims they contain.

pub mod json;
mod time;

pub use json::Json;
pub use time::rfc3339;

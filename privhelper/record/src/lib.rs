//! JSON, times and risks of audit records, for the recorder that writes them and the broker whose claims they contain.

pub mod json;
mod risk;
mod time;

pub use json::Json;
pub use risk::Risk;
pub use time::rfc3339;

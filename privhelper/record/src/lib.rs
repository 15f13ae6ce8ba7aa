//! What records of the audit log are made of, for the recorder that writes them and the broker whose claims they hold.

pub mod json;
mod time;

pub use json::Json;
pub use time::rfc3339;

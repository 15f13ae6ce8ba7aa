//! The secrets that the agent holds: they leave in the calls that their rows name, and nowhere else.
//!
//! A model, the people and the records see `{{secret:NAME}}`. The value is put in its place on the way to
//! the helper, after everything was checked and shown; what comes back loses it again, in every form that it
//! is likely to have, before the shapes of credentials are looked for and before anything is shortened.

mod clean_log;
pub mod excerpt;
mod held;
pub mod log;
pub mod redact;
mod values;

pub use clean_log::CleanLog;
pub use held::Secrets;

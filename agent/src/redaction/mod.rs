//! Keeps credentials out of what is shown, kept, logged or given to a model.
//!
//! Anybody's are found by their shapes. The secrets that the agent holds are found by their values; they leave in the
//! calls that their rows name, and nowhere else.
//!
//! A model, the people and the records see `{{secret:NAME}}`. The value is put in its place on the way to
//! the helper, after everything was checked and shown; what comes back loses it again, in every form that it
//! is likely to have, before the shapes of credentials are looked for and before anything is shortened.

mod clean_log;
pub mod excerpt;
pub mod log;
pub mod redact;
mod secrets;
mod values;

pub use clean_log::CleanLog;
pub use secrets::Secrets;

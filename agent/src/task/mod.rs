//! A task: an order of a person, its steps, and what came of them.

mod allowed;
mod commands;
mod confirmation;
mod database;
mod entry;
mod live;
mod queue;
mod requests;
mod run;
mod slots;
mod store;
mod task_events;

pub use allowed::Allowed;
pub use commands::Commands;
pub use confirmation::{Author, Confirmation, Consents};
pub use entry::Entry;
pub use live::Live;
pub use queue::{Queue, QueueSlot};
pub use requests::{Group, NotOne, Part, RecordedChange, State};
pub use run::{ApprovedReads, Runner};
pub use slots::{Load, Slot};
pub use store::{Find, Store};
pub use task_events::ResumeState;

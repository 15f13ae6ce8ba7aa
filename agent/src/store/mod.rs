//! The store of tasks: orders in their queue, records, requests that were sent, and what people allowed, over a restart.

mod allowed;
mod confirmation;
mod database;
mod entry;
mod live;
mod queue;
mod requests;
mod slots;
mod task_events;
mod tasks;

pub use allowed::Allowed;
pub use confirmation::{Author, Confirmation, Consents};
pub use entry::Entry;
pub use live::Live;
pub use queue::{Queue, QueueSlot};
pub use requests::{Group, NotOne, Part, RecordedChange, SentStep, State};
pub use slots::{Load, Slot};
pub use task_events::ResumeState;
pub use tasks::{Find, Store};

//! A task: an order of a person, its steps, and what came of them.

mod allowed;
mod commands;
mod confirmation;
mod database;
mod entry;
mod live;
mod not_done;
mod owner;
pub mod question;
mod queue;
mod record;
mod requests;
pub mod results;
mod run;
mod slots;
mod step;
mod store;
mod task_events;

pub use allowed::Allowed;
pub use commands::Commands;
pub use confirmation::{Author, Confirmation, Consents};
pub use entry::Entry;
pub use live::Live;
pub use owner::{Owner, Right};
pub use queue::{Queue, QueueSlot};
pub use record::{Change, Task, TaskOrder, TaskStatus, Waits, Work};
pub use requests::{Group, NotOne, Part, RecordedChange, State};
pub(crate) use run::request;
pub use run::{ApprovedReads, Runner};
pub use slots::{Load, Slot};
pub use step::{Origin, Refusal, StepResult, StepStatus};
pub use store::{Find, Store};
pub use task_events::ResumeState;

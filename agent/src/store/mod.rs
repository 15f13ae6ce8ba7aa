//! The store of tasks: orders in their queue, records, requests that were sent, what people allowed and messages that wait, over a
//! restart.

mod allowed;
mod confirmation;
mod database;
mod entry;
mod idempotency;
mod live;
mod messages;
mod queue;
mod record;
mod requests;
mod schedules;
mod slots;
mod task_events;
mod tasks;

pub use allowed::Allowed;
pub use confirmation::{Author, Confirmation, Consents};
pub use entry::{Entry, word};
pub use idempotency::{IdempotencyKey, KnownOrder};
pub use live::Live;
pub use messages::{Messages, WaitingMessage};
pub use queue::{Queue, QueueSlot};
pub use record::{RequestRow, TaskRow};
pub use requests::{Group, NotOne, Part, RecordedChange, SentStep, State};
pub use schedules::{AddedSchedule, StoredSchedule};
pub use slots::{Load, Slot};
pub use task_events::ResumeState;
pub use tasks::{Added, Find, Store};

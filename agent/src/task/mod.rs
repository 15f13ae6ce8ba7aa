//! A task: an order of a person, its steps, and what came of them.

mod allowed;
mod care;
mod commands;
mod database;
mod entry;
mod keeping;
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

pub use allowed::Allowed;
pub use care::{Author, Care, Consents};
pub use commands::Commands;
pub use entry::Entry;
pub use keeping::Left;
pub use live::Live;
pub use owner::{Owner, Right};
pub use queue::{Place, Queue};
pub use record::{Change, Order, Task, TaskStatus, Waits, Work};
pub use requests::{Asked, Group, NotOne, Part, State};
pub(crate) use run::request;
pub use run::{ApprovedReads, Runner};
pub use slots::{Crowd, Slot};
pub use step::{Origin, Refusal, StepResult, StepStatus};
pub use store::{Find, Store};

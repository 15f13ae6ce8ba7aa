//! Library of root's programs and the probe: receives an order, decides it again, and stores its outcome.
//!
//! Nothing here changes the host beyond the program's own state directory.

pub mod authority;
pub mod error;
pub mod host;
pub mod mac;
pub mod outcomes;
pub mod receive;
pub mod server;
pub mod store;
pub mod undo_store;

pub use authority::Authority;
pub use error::{Code, Denied, Error, Fault};
pub use host::{Accounts, ActivePolicy, Host, Identity};
pub use mac::Key;
pub use outcomes::{Outcomes, failed, one_line, unchanged};
pub use receive::{Answer, Connection, OrderId, Ordered, Received};
pub use undo_store::UndoStore;

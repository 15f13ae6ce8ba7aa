//! Facts about units and packages for the broker, and reads of them for the recorder, gathered without privilege.
//!
//! * `probe.sock` ([`facts`]): the broker asks for the state of the objects of a request. The answer is a claim: root
//!   gathers the same facts again before it acts.
//! * `asked.sock` ([`reads`]): the recorder passes on `unit.status` and `package.show`. They are decided here, for the
//!   uid of the order and under the accepted policy.
//!
//! Units are read over the system bus, journal lines by journalctl(1), packages by the programs of apt and dpkg.

mod apt;
mod bus;
pub mod child;
pub mod concurrency;
pub mod facts;
mod host;
mod journal;
mod properties;
pub mod reads;
pub mod server;
mod show;
mod simulate;
mod simulation;
pub mod startup;
mod state;
mod units;

pub use concurrency::ConcurrencyLimit;
pub use host::Host;
pub use state::State;

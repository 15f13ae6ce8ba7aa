//! One transaction of packages, as root in a unit of its own: `postern-packages@ORDER.service`.
//!
//! * [`run`]: runs apt-get, apt-mark or dpkg as the order in `jobs/<order id>/order.pb` says, and writes `outcome.pb` last.
//! * [`check`]: started by apt-get itself under its lock, before dpkg changes anything. Decides what dpkg is about to
//!   do, and stops apt-get unless it is exactly what was decided before.
//!
//! Both decide the order again under the accepted policy. The recorder's envelope carries people's consent.

mod check;
mod job;
mod run;
mod runner;

pub use check::check;
pub use job::Host;
pub use run::run;

//! What a request would touch: plain data that callers gather and the policy decides.

pub mod affected;
mod files;
mod packages;
mod units;

pub use affected::AffectedUnit;
pub use files::{FileFacts, OldFile};
pub use packages::{Action, Origin, PackageStep, PackageTransaction};
pub use units::{UnitFacts, UnitState};

/// The facts of one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Facts {
    /// Nothing beyond the request.
    None,
    /// What exists at each path of the request.
    Files(Vec<FileFacts>),
    /// A unit with the units that its job affects.
    Unit(Box<UnitFacts>),
    /// A transaction of apt.
    Packages(PackageTransaction),
}

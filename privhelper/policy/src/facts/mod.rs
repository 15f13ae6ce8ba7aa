//! Facts: the state of the objects of a request, as plain data that callers gather and the policy decides.

mod files;
mod packages;
mod text;
mod units;

pub use files::{FileFacts, OldFile};
pub use packages::{Action, Origin, PackageStep, PackageTransaction};
pub use text::word;
pub use units::{AffectedUnit, UnitFacts, UnitState, all_names, is_missing, unit_info};

use crate::error::Invalid;
use postern_proto::root::v1 as root;

/// The facts of one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Facts {
    /// Nothing beyond the request.
    None,
    /// The file or directory at each path of the request.
    Files(Vec<FileFacts>),
    /// A unit with the units that its job affects.
    Unit(Box<UnitFacts>),
    /// A transaction of apt.
    Packages(PackageTransaction),
}

impl Facts {
    /// The facts as orders hold them.
    pub fn to_wire(&self) -> root::Facts {
        let mut wire = root::Facts::default();
        match self {
            Self::None => {}
            Self::Files(files) => wire.files = files.iter().map(FileFacts::to_wire).collect(),
            Self::Unit(unit) => wire.unit = Some(unit.to_wire()),
            Self::Packages(packages) => wire.packages = Some(packages.to_wire()),
        }
        wire
    }

    /// Reads facts that another program wrote.
    ///
    /// # Errors
    /// The field that is not what it must be; facts of more than one kind; more than 64 files.
    pub fn from_wire(wire: &root::Facts) -> Result<Self, Invalid> {
        let root::Facts { files, unit, packages } = wire;
        match (files.len(), unit, packages) {
            (0, None, None) => Ok(Self::None),
            (1..=64, None, None) => {
                files.iter().map(FileFacts::from_wire).collect::<Result<_, _>>().map(Self::Files)
            }
            (0, Some(unit), None) => UnitFacts::from_wire(unit).map(Box::new).map(Self::Unit),
            (0, None, Some(packages)) => PackageTransaction::from_wire(packages).map(Self::Packages),
            _ => Err(Invalid::new("facts", "must be of one kind")),
        }
    }
}

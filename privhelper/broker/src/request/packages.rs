//! `package.*`.

use super::{Parsed, Request};
use postern_policy::types::{PackageName, PackageVersion};
use postern_policy::{Invalid, Object, RequiredGrant, VerbId};
use postern_proto::v1 as wire;

/// Packages, all different.
#[derive(Debug)]
pub struct PackagesRequest {
    /// Empty: the verb takes none, or means all.
    pub packages: Vec<Package>,
}

/// A package.
#[derive(Debug)]
pub struct Package {
    /// Its name.
    pub name: PackageName,
    /// The version that is asked for; none = the candidate.
    pub version: Option<PackageVersion>,
}

fn named(meta: Option<wire::Meta>, packages: Vec<wire::Package>) -> Parsed {
    (meta, distinct(packages).map(|packages| Request::Packages(PackagesRequest { packages })))
}

fn by_name(meta: Option<wire::Meta>, names: Vec<String>) -> Parsed {
    let package = |name| wire::Package { name, version: String::new() };
    named(meta, names.into_iter().map(package).collect())
}

fn unnamed(meta: Option<wire::Meta>) -> Parsed {
    (meta, Ok(Request::Packages(PackagesRequest { packages: Vec::new() })))
}

/// 1 to 64, all different.
fn distinct(packages: Vec<wire::Package>) -> Result<Vec<Package>, Invalid> {
    let package = |package: wire::Package| {
        let has_version = !package.version.is_empty();
        let version = has_version.then(|| PackageVersion::new(&package.version)).transpose()?;
        Ok(Package { name: PackageName::new(&package.name)?, version })
    };
    let packages = packages.into_iter().map(package).collect::<Result<Vec<_>, Invalid>>()?;
    let mut names: Vec<&PackageName> = packages.iter().map(|package| &package.name).collect();
    names.sort();
    names.dedup();
    if names.len() == packages.len() && (1..=64).contains(&packages.len()) {
        Ok(packages)
    } else {
        Err(Invalid::new("packages", "must be 1 to 64 names, all different"))
    }
}

pub(super) fn install(wire: wire::PackageInstallRequest) -> Parsed {
    named(wire.meta, wire.packages)
}

pub(super) fn remove(wire: wire::PackageRemoveRequest) -> Parsed {
    by_name(wire.meta, wire.names)
}

pub(super) fn purge(wire: wire::PackagePurgeRequest) -> Parsed {
    by_name(wire.meta, wire.names)
}

pub(super) fn hold(wire: wire::PackageHoldRequest) -> Parsed {
    by_name(wire.meta, wire.names)
}

pub(super) fn unhold(wire: wire::PackageUnholdRequest) -> Parsed {
    by_name(wire.meta, wire.names)
}

pub(super) fn show(wire: wire::PackageShowRequest) -> Parsed {
    by_name(wire.meta, wire.names)
}

pub(super) fn upgrade(wire: wire::PackageUpgradeRequest) -> Parsed {
    match (wire.all, wire.names.is_empty()) {
        (true, true) => unnamed(wire.meta),
        (false, _) => by_name(wire.meta, wire.names),
        (true, false) => (wire.meta, Err(Invalid::new("all", "names packages too; say which, or all"))),
    }
}

pub(super) fn autoremove(wire: wire::PackageAutoremoveRequest) -> Parsed {
    unnamed(wire.meta)
}

pub(super) fn update(wire: wire::PackageUpdateRequest) -> Parsed {
    unnamed(wire.meta)
}

pub(super) fn repair(wire: wire::PackageRepairRequest) -> Parsed {
    unnamed(wire.meta)
}

impl PackagesRequest {
    pub(super) fn required_grants(&self, verb: VerbId) -> Vec<RequiredGrant> {
        if self.packages.is_empty() {
            let is_upgrade = verb == VerbId::PackageUpgrade;
            return vec![(verb, if is_upgrade { Object::AllPackages } else { Object::Nothing })];
        }
        let object = |package: &Package| Object::Package {
            name: package.name.clone(),
            version: package.version.clone(),
        };
        self.packages.iter().map(|package| (verb, object(package))).collect()
    }
}

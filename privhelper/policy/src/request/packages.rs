//! Requests about packages.

use crate::error::Invalid;
use crate::rules::{Object, RequiredGrant};
use crate::types::{PackageName, PackageVersion};
use crate::verb_id::VerbId;
use postern_proto::v1 as wire;

/// A package that a request names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedPackage {
    /// Its name.
    pub name: PackageName,
    /// The version asked for; none = the candidate.
    pub version: Option<PackageVersion>,
}

/// A verb on 1 to 64 packages, all different; on none for verbs without names and for an upgrade of all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackagesRequest {
    /// Any `package.*`.
    pub verb: VerbId,
    /// In the order of the request.
    pub packages: Vec<NamedPackage>,
}

impl PackagesRequest {
    pub(super) const fn unnamed(verb: VerbId) -> Self {
        Self { verb, packages: Vec::new() }
    }

    pub(super) fn install(wire: &wire::PackageInstallRequest) -> Result<Self, Invalid> {
        Self::versioned(VerbId::PackageInstall, &wire.packages)
    }

    fn versioned(verb: VerbId, packages: &[wire::Package]) -> Result<Self, Invalid> {
        let package = |package: &wire::Package| {
            let version = Some(&package.version).filter(|version| !version.is_empty());
            let version = version.map(|version| PackageVersion::new(version)).transpose()?;
            Ok(NamedPackage { name: PackageName::new(&package.name)?, version })
        };
        let packages = packages.iter().map(package).collect::<Result<Vec<_>, _>>()?;
        let mut names = packages.iter().map(|package| &package.name).collect::<Vec<_>>();
        names.sort();
        names.dedup();
        if names.len() != packages.len() || !(1..=64).contains(&names.len()) {
            return Err(Invalid::new("packages", "must be 1 to 64 names, all different"));
        }
        Ok(Self { verb, packages })
    }

    pub(super) fn named(verb: VerbId, names: &[String]) -> Result<Self, Invalid> {
        let package = |name: &String| wire::Package { name: name.clone(), version: String::new() };
        Self::versioned(verb, &names.iter().map(package).collect::<Vec<_>>())
    }

    pub(super) fn upgrade(wire: &wire::PackageUpgradeRequest) -> Result<Self, Invalid> {
        match (wire.all, wire.names.is_empty()) {
            (true, true) => Ok(Self::unnamed(VerbId::PackageUpgrade)),
            (false, _) => Self::named(VerbId::PackageUpgrade, &wire.names),
            (true, false) => Err(Invalid::new("all", "names packages too; say which, or all")),
        }
    }

    pub(super) fn required_grants(&self) -> Vec<RequiredGrant> {
        if self.packages.is_empty() {
            let is_all = self.verb == VerbId::PackageUpgrade;
            return vec![(self.verb, if is_all { Object::AllPackages } else { Object::Nothing })];
        }
        let object = |package: &NamedPackage| {
            let (name, version) = (package.name.clone(), package.version.clone());
            (self.verb, Object::Package { name, version })
        };
        self.packages.iter().map(object).collect()
    }
}

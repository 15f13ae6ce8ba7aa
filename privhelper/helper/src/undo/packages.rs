//! Packages as they were before a request changed them.

use crate::audit::Ticket;
use crate::context::Context;
use crate::error::Stop;
use crate::leave::Done;
use crate::plan::inverse;
use crate::verbs::package_change::Change;
use crate::verbs::package_hold;
use postern_policy::facts::PackageTransaction;
use postern_policy::types::{PackageName, PackageVersion};
use postern_policy::{Code, Denied, Grant, Object, RequiredGrant, VerbId};
use postern_proto::root::v1::{Job, JobKind, Transaction};
use postern_proto::v1 as wire;

/// The request of another verb that takes it back.
#[derive(Debug)]
pub struct Packages {
    inverse: inverse::Inverse,
    names: Vec<PackageName>,
}

impl Packages {
    /// None: the request changed no packages.
    pub(super) fn of(verb: VerbId, done: &wire::Completed) -> Result<Option<Self>, Stop> {
        let Some(verb) = changed_by(verb, done) else {
            return Ok(None);
        };
        let inverse = inverse::of(verb, done)?;
        let names =
            inverse.packages.iter().map(|package| PackageName::new(&package.name)).collect::<Result<_, _>>();
        Ok(Some(Self { inverse, names: names? }))
    }

    /// The candidates are asked for, and must be the recorded versions; only earlier ones than those that are
    /// installed are asked for by version.
    fn version(&self, name: &PackageName) -> Result<Option<PackageVersion>, Stop> {
        let mut recorded = self.inverse.packages.iter().filter(|package| package.name == name.as_str());
        let version = recorded.next().filter(|_| self.inverse.downgrades);
        Ok(version.map(|package| PackageVersion::new(&package.version)).transpose()?)
    }

    pub(super) fn required_grants(&self) -> Result<Vec<RequiredGrant>, Stop> {
        let required_grant = |name: &PackageName| {
            Ok((self.inverse.verb, Object::Package { name: name.clone(), version: self.version(name)? }))
        };
        self.names.iter().map(required_grant).collect()
    }

    /// Whether a person must agree, whatever the rules say.
    pub(super) const fn needs_a_person(&self) -> bool {
        self.inverse.downgrades
    }

    /// None: packages are marked only.
    fn transaction(&self) -> Option<Transaction> {
        let known =
            [(VerbId::PackageInstall, Transaction::Install), (VerbId::PackageRemove, Transaction::Remove)];
        known.into_iter().find(|(verb, _)| *verb == self.inverse.verb).map(|(_, transaction)| transaction)
    }

    fn change(&self) -> Result<Change, Stop> {
        let package = |name: &PackageName| Ok((name.clone(), self.version(name)?));
        Ok(Change::new(self.names.iter().map(package).collect::<Result<_, Stop>>()?))
    }

    fn limits(&self) -> Job {
        Job { allow_downgrades: self.inverse.downgrades, ..Job::default() }
    }

    pub(super) fn plan(&self, cx: &Context, by: &Grant) -> Result<PackageTransaction, Stop> {
        let Some(transaction) = self.transaction() else {
            return Ok(PackageTransaction::default());
        };
        let plan = self.change()?.plan(cx, by, transaction, &self.limits()).map_err(|stop| match stop {
            // No source offers it any more.
            Stop::Refused(refusal) if refusal.code == Code::NotFound => {
                Denied { code: Code::UndoGone, ..refusal }.into()
            }
            Stop::Refused(_) | Stop::Fault(_) | Stop::Attached => stop,
        })?;
        self.inverse.conflict(&plan)?;
        Ok(plan)
    }

    pub(super) fn act(
        &self,
        cx: &Context,
        by: &Grant,
        plan: &PackageTransaction,
        ticket: &Ticket,
    ) -> Result<Done, Stop> {
        if let Some(transaction) = self.transaction() {
            return self.change()?.act(cx, by, transaction, &self.limits(), plan, ticket);
        }
        let kind = if self.inverse.verb == VerbId::PackageHold { JobKind::Hold } else { JobKind::Unhold };
        package_hold::mark(cx, by, kind, &self.names, ticket)
    }
}

/// The verb that changed packages. An undo is what its steps show it to have been.
fn changed_by(verb: VerbId, done: &wire::Completed) -> Option<VerbId> {
    if verb != VerbId::RequestUndo {
        return verb.name().starts_with("package.").then_some(verb);
    }
    let info = done.packages.first()?;
    let step = done.plan.iter().flat_map(|plan| &plan.packages).next();
    Some(match step.map(wire::PackageStep::action) {
        Some(wire::Action::Install) => VerbId::PackageInstall,
        Some(wire::Action::Remove) => VerbId::PackageRemove,
        // Earlier versions were brought back: an upgrade is the request for that, and not an undo.
        Some(_) => return None,
        None if info.held => VerbId::PackageHold,
        None => VerbId::PackageUnhold,
    })
}

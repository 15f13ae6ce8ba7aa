//! `package.install` and all else that is one transaction of apt: simulated, decided, run, compared under apt's lock.

use crate::audit::{Json, Ticket};
use crate::context::Context;
use crate::error::{Fault, Stop};
use crate::helper::{Helper, wait_for};
use crate::job;
use crate::leave::Done;
use crate::verb::Verb;
use postern_policy::facts::{Action, PackageStep, PackageTransaction};
use postern_policy::types::{PackageName, PackageVersion};
use postern_policy::{Denied, Grant, Invalid, Object, RequiredGrant, VerbId};
use postern_proto::root::v1::{Job, JobKind, Transaction};
use postern_proto::v1 as wire;

type Package = (PackageName, Option<PackageVersion>);

/// Packages that are named, all different. None: what there is to do is found out with the plan.
#[derive(Debug)]
pub struct Change {
    packages: Vec<Package>,
}

/// What apt may do besides.
fn limits(by: &Grant) -> Job {
    let flags = by.package_flags();
    Job {
        recommends: flags.recommends,
        allow_downgrades: flags.allow_downgrades,
        allow_removals: flags.allow_removals,
        new_packages: flags.new_packages,
        ..Job::default()
    }
}

/// The names of a list: 1 to 64, all different.
pub(super) fn distinct<T>(items: Vec<T>, name: impl Fn(&T) -> &PackageName) -> Result<Vec<T>, Invalid> {
    let mut names: Vec<&PackageName> = items.iter().map(name).collect();
    names.sort();
    names.dedup();
    if names.len() == items.len() && (1..=64).contains(&items.len()) {
        Ok(items)
    } else {
        Err(Invalid::new("packages", "must be 1 to 64 names, all different"))
    }
}

impl Change {
    /// Of packages that are all different.
    pub(crate) const fn new(packages: Vec<Package>) -> Self {
        Self { packages }
    }

    fn of_packages(packages: Vec<wire::Package>) -> Result<Self, Invalid> {
        let package = |package: wire::Package| {
            let version =
                (!package.version.is_empty()).then(|| PackageVersion::new(&package.version)).transpose()?;
            Ok((PackageName::new(&package.name)?, version))
        };
        let packages = packages.into_iter().map(package).collect::<Result<Vec<_>, Invalid>>()?;
        Ok(Self { packages: distinct(packages, |(name, _)| name)? })
    }

    fn of_names(names: Vec<String>) -> Result<Self, Invalid> {
        let package = |name| wire::Package { name, version: String::new() };
        Self::of_packages(names.into_iter().map(package).collect())
    }

    fn of_upgrade(wire: wire::PackageUpgradeRequest) -> Result<Self, Invalid> {
        match (wire.all, wire.names.is_empty()) {
            (true, true) => Ok(Self { packages: Vec::new() }),
            (false, _) => Self::of_names(wire.names),
            (true, false) => Err(Invalid::new("all", "names packages too; say which, or all")),
        }
    }

    fn required_grants(&self, id: VerbId) -> Vec<RequiredGrant> {
        if self.packages.is_empty() {
            let object = if id == VerbId::PackageUpgrade { Object::AllPackages } else { Object::Nothing };
            return vec![(id, object)];
        }
        let of = |(name, version): &Package| {
            (id, Object::Package { name: name.clone(), version: version.clone() })
        };
        self.packages.iter().map(of).collect()
    }

    fn args(&self, id: VerbId) -> Json {
        let names = self.packages.iter().map(|(name, _)| name.as_str());
        if id == VerbId::PackageInstall {
            let packages = self.packages.iter().map(|(name, version)| {
                let version = version.as_ref().map(PackageVersion::as_str).unwrap_or_default();
                Json::new().text("name", name.as_str()).text("version", version)
            });
            return Json::new().objects("packages", packages);
        }
        let all = id == VerbId::PackageUpgrade && self.packages.is_empty();
        Json::new().texts("names", names).flag("all", all)
    }

    fn job(&self, kind: JobKind, transaction: Transaction, limits: &Job) -> Job {
        let packages = self.packages.iter().map(|(name, version)| wire::Package {
            name: name.to_string(),
            version: version.as_ref().map(|version| version.as_str().to_owned()).unwrap_or_default(),
        });
        Job {
            kind: kind.into(),
            transaction: transaction.into(),
            packages: packages.collect(),
            ..limits.clone()
        }
    }

    /// The transaction, simulated.
    ///
    /// # Errors
    /// What the simulation found.
    pub(crate) fn plan(
        &self,
        cx: &Context,
        by: &Grant,
        transaction: Transaction,
        limits: &Job,
    ) -> Result<PackageTransaction, Stop> {
        let outcome = job::plan(cx, by, self.job(JobKind::Plan, transaction, limits))?;
        let steps = outcome.steps.iter().map(PackageStep::from_wire).collect::<Result<Vec<_>, _>>();
        let corrupt = |_| Fault::Corrupt { what: "a plan of packages" };
        let mut steps = steps.map_err(corrupt)?;
        // Which packages were named is known here, whatever the simulation says. An upgrade of all names each.
        let all = transaction == Transaction::Upgrade && self.packages.is_empty();
        for step in &mut steps {
            step.asked = self.packages.iter().any(|(name, _)| *name == step.name)
                || (all && step.action == Action::Upgrade);
        }
        steps.sort_by(|a, b| (&a.name, &a.arch).cmp(&(&b.name, &b.arch)));
        let kept_back = outcome.kept_back.iter().map(|name| PackageName::new(name)).collect::<Result<_, _>>();
        let kept_back = kept_back.map_err(|_| Fault::Corrupt { what: "a plan of packages" })?;
        let (download_bytes, disk_bytes) = (outcome.download_bytes, outcome.disk_bytes);
        Ok(PackageTransaction { steps, download_bytes, disk_bytes, kept_back })
    }

    /// The transaction, as it was planned.
    ///
    /// # Errors
    /// It could not be run; that apt failed is an outcome.
    pub(crate) fn act(
        &self,
        cx: &Context,
        by: &Grant,
        transaction: Transaction,
        limits: &Job,
        plan: &PackageTransaction,
        ticket: &Ticket,
    ) -> Result<Done, Stop> {
        // What dpkg was interrupted in has no steps to show: whether there is something to repair, the job finds out.
        if plan.steps.is_empty() && transaction != Transaction::Repair {
            let status = wire::Status::Unchanged.into();
            let message = if plan.kept_back.is_empty() {
                nothing(transaction).to_owned()
            } else {
                let names = plan.kept_back.iter().map(PackageName::as_str).collect::<Vec<_>>();
                format!("nothing to do; kept back: {}", names.join(", "))
            };
            let completed = wire::Completed { status, message, ..wire::Completed::default() };
            return Ok(Done { completed, undo: Json::new() });
        }
        let wait = cx.limit(by);
        let _one_at_a_time = wait_for(&cx.helper.packages, wait)?;
        let expected = plan.steps.iter().map(PackageStep::wire).collect();
        let lock_timeout_s = u32::try_from(wait.as_secs()).unwrap_or(u32::MAX);
        let job = Job { expected, lock_timeout_s, ..self.job(JobKind::Run, transaction, limits) };
        job::execute(cx, ticket, &job, wait)
    }
}

/// What is told where a plan is empty.
const fn nothing(transaction: Transaction) -> &'static str {
    match transaction {
        Transaction::Install => "installed already",
        Transaction::Remove => "not installed",
        Transaction::Purge => "nothing of it is left",
        Transaction::Upgrade => "nothing newer is offered",
        Transaction::Autoremove | Transaction::Repair | Transaction::Unspecified => "nothing to do",
    }
}

/// One verb of the kind: its name, message, and how the message names packages.
macro_rules! change {
    ($doc:literal, $verb:ident, $wire:ident, $id:ident, $packages:expr) => {
        #[doc = $doc]
        #[derive(Debug)]
        pub struct $verb(Change);

        impl Verb for $verb {
            type Wire = wire::$wire;
            type Plan = PackageTransaction;
            type Leave = Ticket;
            const ID: VerbId = VerbId::$id;

            fn parse(mut wire: Self::Wire) -> (Option<wire::Meta>, Result<Self, Invalid>) {
                (wire.meta.take(), ($packages)(wire).map(Self))
            }

            fn required_grants(&self, _: &Helper, _: u32) -> Result<Vec<RequiredGrant>, Denied> {
                Ok(self.0.required_grants(Self::ID))
            }

            fn args(&self) -> Json {
                self.0.args(Self::ID)
            }

            fn plan(&self, cx: &Context, by: &Grant) -> Result<PackageTransaction, Stop> {
                self.0.plan(cx, by, Transaction::$verb, &limits(by))
            }

            fn act(
                &self,
                cx: &Context,
                by: &Grant,
                plan: &PackageTransaction,
                leave: &Ticket,
            ) -> Result<Done, Stop> {
                self.0.act(cx, by, Transaction::$verb, &limits(by), plan, leave)
            }
        }
    };
}

type Parsed = Result<Change, Invalid>;

/// The message names nothing.
const UNNAMED: Parsed = Ok(Change { packages: Vec::new() });

change!("`package.install`", Install, PackageInstallRequest, PackageInstall, |wire: Self::Wire| -> Parsed {
    Change::of_packages(wire.packages)
});
change!("`package.remove`", Remove, PackageRemoveRequest, PackageRemove, |wire: Self::Wire| -> Parsed {
    Change::of_names(wire.names)
});
change!("`package.purge`", Purge, PackagePurgeRequest, PackagePurge, |wire: Self::Wire| -> Parsed {
    Change::of_names(wire.names)
});
change!("`package.upgrade`", Upgrade, PackageUpgradeRequest, PackageUpgrade, Change::of_upgrade);
change!("`package.autoremove`", Autoremove, PackageAutoremoveRequest, PackageAutoremove, |_| UNNAMED);
change!("`package.repair`", Repair, PackageRepairRequest, PackageRepair, |_| UNNAMED);

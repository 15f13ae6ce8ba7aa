//! `package.install`: packages by name, each with a version if asked for.

use crate::audit::{Json, Ticket};
use crate::context::Context;
use crate::error::{Invalid, Refusal, Stop};
use crate::helper::{Helper, wait_for};
use crate::job;
use crate::leave::Done;
use crate::plan::{PackagePlan, PackageStep};
use crate::policy::{Authorized, Object};
use crate::types::{PackageName, PackageVersion};
use crate::verb::{Verb, Wish};
use crate::verb_id::VerbId;
use postern_proto::root::v1::{Job, JobKind};
use postern_proto::v1 as wire;

/// 1 to 64 packages, all different.
#[derive(Debug)]
pub struct Install {
    packages: Vec<(PackageName, Option<PackageVersion>)>,
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

impl Install {
    fn job<V>(&self, kind: JobKind, by: &Authorized<V>) -> Job {
        let every = |is: fn(&crate::policy::Rule) -> bool| by.rules().all(|rule| is(rule));
        let packages = self.packages.iter().map(|(name, version)| wire::Package {
            name: name.to_string(),
            version: version.as_ref().map(|version| version.as_str().to_owned()).unwrap_or_default(),
        });
        Job {
            kind: kind.into(),
            packages: packages.collect(),
            recommends: every(|rule| rule.recommends),
            allow_downgrades: every(|rule| rule.allow_downgrades),
            allow_removals: every(|rule| rule.allow_removals),
            ..Job::default()
        }
    }
}

impl Verb for Install {
    type Wire = wire::PackageInstallRequest;
    type Plan = PackagePlan;
    type Leave = Ticket;
    const ID: VerbId = VerbId::PackageInstall;

    fn parse(wire: Self::Wire) -> (Option<wire::Meta>, Result<Self, Invalid>) {
        let package = |package: wire::Package| {
            let version =
                (!package.version.is_empty()).then(|| PackageVersion::new(&package.version)).transpose()?;
            Ok((PackageName::new(&package.name)?, version))
        };
        let packages = wire.packages.into_iter().map(package).collect::<Result<Vec<_>, Invalid>>();
        let packages = packages.and_then(|packages| distinct(packages, |(name, _)| name));
        (wire.meta, packages.map(|packages| Self { packages }))
    }

    fn wishes(&self, _: &Helper, _: u32) -> Result<Vec<Wish>, Refusal> {
        let of = |(name, version): &(PackageName, Option<PackageVersion>)| {
            (Self::ID, Object::Package { name: name.clone(), version: version.clone() })
        };
        Ok(self.packages.iter().map(of).collect())
    }

    fn args(&self) -> Json {
        let packages = self.packages.iter().map(|(name, version)| {
            let version = version.as_ref().map(PackageVersion::as_str).unwrap_or_default();
            Json::new().text("name", name.as_str()).text("version", version)
        });
        Json::new().objects("packages", packages)
    }

    fn plan(&self, cx: &Context, by: &Authorized<Self>) -> Result<Self::Plan, Stop> {
        let outcome = job::plan(cx, by, self.job(JobKind::PlanInstall, by))?;
        let mut steps = outcome.steps.iter().map(PackageStep::of_wire).collect::<Result<Vec<_>, _>>()?;
        // Which packages were named is known here, whatever the simulation says.
        for step in &mut steps {
            step.asked = self.packages.iter().any(|(name, _)| *name == step.name);
        }
        steps.sort_by(|a, b| (&a.name, &a.arch).cmp(&(&b.name, &b.arch)));
        Ok(PackagePlan { steps, download_bytes: outcome.download_bytes, disk_bytes: outcome.disk_bytes })
    }

    fn act(
        &self,
        cx: &Context,
        by: &Authorized<Self>,
        plan: &Self::Plan,
        leave: &Ticket,
    ) -> Result<Done, Stop> {
        if plan.steps.is_empty() {
            let message = "installed already".to_owned();
            let status = wire::Status::Unchanged.into();
            return Ok(Done {
                completed: wire::Completed { status, message, ..Default::default() },
                undo: Json::new(),
            });
        }
        let wait = cx.limit(by);
        let _one_at_a_time = wait_for(&cx.helper.packages, wait)?;
        let expected = plan.steps.iter().map(PackageStep::wire).collect();
        let lock_timeout_s = u32::try_from(wait.as_secs()).unwrap_or(u32::MAX);
        job::execute(cx, leave, Job { expected, lock_timeout_s, ..self.job(JobKind::Install, by) }, wait)
    }
}

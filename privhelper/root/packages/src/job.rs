//! The order of a job, decided again, and its inverse: an ordinary request of another verb, and exactly the steps that it may
//! take; and the programs and directories of the host, as values that tests replace.

use postern_apt::Transaction;
use postern_policy::request::{PackagesRequest, Request};
use postern_policy::{Grant, VerbId};
use postern_proto::root::v1::{Inverse, PackageFacts, PackageFlags, RootExecute};
use postern_proto::v1::{
    Action, Completed, Package, PackageInstallRequest, PackageRemoveRequest, PackageStep, Status,
};
use postern_root::{Accounts, ActivePolicy, Authority, Code, Denied, Fault, Key, OrderId, Ordered, store};
use prost::Message;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// Largest order, in bytes.
const ORDER_MAX: u64 = 4 * 1024 * 1024;

/// Most packages that one request names.
const NAMES_MAX: usize = 64;

/// The programs and directories of a machine; `main` builds the real one.
#[derive(Debug, Clone)]
pub struct Host {
    /// The accepted policy, accounts and keys. Its `state` holds `jobs`.
    pub root: postern_root::Host,
    /// apt and dpkg.
    pub apt: postern_apt::Host,
    /// This program, as apt-get starts it for the check: no blanks in it.
    pub program: PathBuf,
}

impl Host {
    /// The installed host. The state is that of postern-units, which starts this program.
    ///
    /// # Errors
    /// As [`postern_root::Host::real`].
    pub fn real() -> Result<Self, Fault> {
        Ok(Self {
            root: postern_root::Host::real("units", "/var/lib/postern-root")?,
            apt: postern_apt::Host::debian(),
            program: "/usr/libexec/postern/postern-packages".into(),
        })
    }
}

/// The work of a job.
#[derive(Debug)]
pub struct Work {
    /// The request that takes effect.
    pub request: PackagesRequest,
    /// Of a transaction: further changes that apt may make.
    pub flags: PackageFlags,
    /// Of a transaction: the steps that were decided.
    pub expected: Vec<PackageStep>,
}

impl Work {
    /// The transaction of apt.
    ///
    /// # Errors
    /// It is none.
    pub fn transaction(&self) -> Result<Transaction, Fault> {
        let transaction = Transaction::new(self.request.clone(), self.flags);
        transaction.ok_or_else(|| Fault::new("this order is no transaction"))
    }
}

/// One job, with the input of its decision.
#[derive(Debug)]
pub struct Job {
    /// Its directory.
    pub directory: PathBuf,
    root: postern_root::Host,
    ordered: Ordered,
    policy: ActivePolicy,
    accounts: Accounts,
    key: Key,
}

impl Job {
    /// Reads the order that postern-units has put into the job's directory.
    ///
    /// # Errors
    /// It is missing, damaged, or another job's.
    pub fn load(host: &Host, id: OrderId) -> Result<Self, Fault> {
        let directory = host.root.state.join("jobs").join(id.to_string());
        let corrupt = || Fault::corrupt("the order of this job");
        let bytes = store::read(&directory.join("order.pb"), ORDER_MAX)?.ok_or_else(corrupt)?;
        let RootExecute { envelope, order, boot_id, .. } =
            RootExecute::decode(bytes.as_slice()).map_err(|_| corrupt())?;
        let ordered = Ordered::new(order, envelope, true).ok().filter(|ordered| ordered.id == id);
        Ok(Self {
            root: postern_root::Host { boot_id, ..host.root.clone() },
            directory,
            ordered: ordered.ok_or_else(corrupt)?,
            policy: ActivePolicy::load(&host.root)?,
            accounts: host.root.accounts()?,
            key: Key::open(&host.root.state.join("key"))?,
        })
    }

    /// The authority under which it is decided.
    ///
    /// # Errors
    /// As [`Authority::new`].
    pub fn authority(&self) -> Result<Authority<'_>, Denied> {
        Authority::new(&self.root, &self.policy, &self.accounts, &self.key, &self.ordered)
    }
}

/// Decides the order and returns its work.
///
/// # Errors
/// It is not granted, or no order about packages.
pub fn decide(authority: &Authority<'_>) -> Result<(Grant, Work), Denied> {
    let (request, grant) = authority.decide_request(None)?;
    let Request::Packages(request) = request else {
        return Err(Denied::new(Code::Unsupported, "this program only changes packages"));
    };
    // An undo makes exactly the recorded steps; downgrades are permitted only for them.
    let recorded = authority.inverse.and_then(|inverse| inverse.steps.as_ref());
    let undo = |steps| PackageFlags { allow_downgrades: downgrades(steps), ..PackageFlags::default() };
    let flags = recorded.map_or_else(|| grant.package_flags(), undo);
    let order = &authority.ordered.order;
    let decided = order.facts.as_ref().and_then(|facts| facts.packages.as_ref());
    let expected = recorded.or(decided).map(|facts| facts.steps.clone()).unwrap_or_default();
    Ok((grant, Work { request, flags, expected }))
}

/// Whether packages are held (true) or unheld; none for every other verb.
#[must_use]
pub fn marks(verb: VerbId) -> Option<bool> {
    [VerbId::PackageHold, VerbId::PackageUnhold].contains(&verb).then_some(verb == VerbId::PackageHold)
}

/// Whether these steps go back to earlier versions.
fn downgrades(steps: &PackageFacts) -> bool {
    steps.steps.iter().any(|step| step.action() == Action::Downgrade)
}

/// Returns the inverse; none if the work has none, or no request can express it.
pub fn inverse(authority: &Authority<'_>, grant: &Grant, work: &Work, done: &Completed) -> Option<Inverse> {
    if done.status() != Status::Done {
        return None;
    }
    let asked = work.request.verb;
    let steps = inverse_steps(asked, &work.expected);
    let names = match marks(asked) {
        Some(_) => done.packages.iter().map(|package| package.name.clone()).collect::<Vec<_>>(),
        None => steps.iter().map(|step| step.name.clone()).collect(),
    };
    let removes = steps.iter().all(|step| step.action() == Action::Remove);
    let verb = match marks(asked) {
        Some(true) => VerbId::PackageUnhold,
        Some(false) => VerbId::PackageHold,
        None if removes => VerbId::PackageRemove,
        None => VerbId::PackageInstall,
    };
    // A package on two architectures cannot be named alone.
    let distinct = names.iter().collect::<BTreeSet<_>>().len();
    if distinct != names.len() || !(1..=NAMES_MAX).contains(&distinct) {
        return None;
    }
    let body = if verb == VerbId::PackageInstall {
        // The candidate is asked for and must be the recorded version; only an earlier one is asked for by version.
        let package = |step: &PackageStep| Package {
            name: step.name.clone(),
            version: if step.action() == Action::Downgrade { step.new.clone() } else { String::new() },
        };
        let packages = steps.iter().map(package).collect();
        PackageInstallRequest { meta: None, packages }.encode_to_vec()
    } else {
        // The messages of the other verbs have the same fields.
        PackageRemoveRequest { meta: None, names }.encode_to_vec()
    };
    let steps = PackageFacts { steps, ..PackageFacts::default() };
    let inverse = authority.inverse_of(grant, verb, body)?;
    let needs_person = downgrades(&steps) || inverse.needs_person;
    let steps = (!steps.steps.is_empty()).then_some(steps);
    Some(Inverse { needs_person, steps, ..inverse })
}

/// Returns the steps of the inverse. Packages that an installation upgraded besides keep their new version.
fn inverse_steps(asked: VerbId, steps: &[PackageStep]) -> Vec<PackageStep> {
    let of = |step: &PackageStep| {
        let (inverse, old, new) = match (asked, step.action()) {
            (VerbId::PackageInstall, Action::Install) => (Action::Remove, &step.new, ""),
            (VerbId::PackageRemove | VerbId::PackageAutoremove, Action::Remove)
            | (VerbId::PackagePurge, Action::Purge) => (Action::Install, &step.new, step.old.as_str()),
            (VerbId::PackageUpgrade, Action::Upgrade) => (Action::Downgrade, &step.new, step.old.as_str()),
            _ => return None,
        };
        let (action, old, new) = (inverse.into(), old.clone(), new.to_owned());
        Some(PackageStep { action, old, new, asked: true, sources: Vec::new(), ..step.clone() })
    };
    steps.iter().filter_map(of).collect()
}

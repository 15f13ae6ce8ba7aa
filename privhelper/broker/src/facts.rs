//! Facts: the state of the objects of a request on this host, from the probe or, for files, from postern-files by way of
//! the recorder. They are validated here; the policy decides them, and root decides again on its own facts.

use crate::call::Call;
use crate::client::Client;
use crate::error::{Error, Fault};
use crate::order::Order;
use crate::probe;
use crate::recorder::{closed, decode};
use crate::send::send_inspect;
use postern_policy::facts::{
    Action, FileFacts, OldFile, PackageStep, PackageTransaction, UnitFacts, is_missing,
};
use postern_policy::request::{FileChange, NewState};
use postern_policy::types::{Expect, PackageName};
use postern_policy::{Code, Denied, Facts, Grant, Request, VerbId};
use postern_proto::link::{self, Kind};
use postern_proto::root::v1::{self as root, ProbePackages, ProbeUnit, Recorded};
use postern_proto::v1 as wire;
use std::io;

/// Facts as they were received, for the order, and as types that the policy decides.
pub type Gathered = (root::Facts, Facts);

/// Gathers the facts of one verb.
pub type Gather = fn(&mut Call, &Client, &Order, &Grant) -> Result<Gathered, Error>;

/// Gathers nothing: the arguments of the verb are enough to decide it.
///
/// # Errors
/// None.
pub fn none(_: &mut Call, _: &Client, _: &Order, _: &Grant) -> Result<Gathered, Error> {
    Ok((root::Facts::default(), Facts::None))
}

/// Gathers the facts of an order as its verb does. Those of an undo are facts about its inverse.
///
/// # Errors
/// `undo_conflict`, and the errors of the verb's own facts.
pub fn gather(
    call: &mut Call,
    client: &Client,
    order: &Order,
    grant: &Grant,
    of_verb: Gather,
) -> Result<Gathered, Error> {
    let Some(inverse) = &order.wire.inverse else { return of_verb(call, client, order, grant) };
    let gathered = match &inverse.steps {
        // Exactly the recorded steps are undone; the simulation only gives the current sources of their versions.
        Some(steps) => packages_from_wire(order, with_sources(call, inverse, steps.clone())?)?,
        None => of_verb(call, client, order, grant)?,
    };
    let is_as_left = inverse.left.as_ref().is_none_or(|left| is_as_left(&gathered.0, left));
    let why = "what the request changed has been changed again since; nothing is undone";
    if is_as_left { Ok(gathered) } else { Err(Denied::new(Code::UndoConflict, why).into()) }
}

/// Whether objects are as an effect left them. Content that was not recorded is not compared.
fn is_as_left(now: &root::Facts, left: &root::Facts) -> bool {
    let file = |now: &root::FileFacts, left: &root::FileFacts| {
        let of = |file: &root::FileFacts| (file.exists, file.directory, file.mode, file.uid, file.gid);
        now.path == left.path && of(now) == of(left) && (left.sha256.is_empty() || now.sha256 == left.sha256)
    };
    let unit = |facts: &root::Facts| {
        let unit = facts.unit.as_ref().and_then(|unit| unit.unit.as_ref());
        unit.map(|unit| (unit.id.clone(), unit.active.clone(), unit.enabled.clone()))
    };
    now.files.len() == left.files.len()
        && now.files.iter().zip(&left.files).all(|(now, left)| file(now, left))
        && unit(now) == unit(left)
}

/// Asks root for the files of a change. Root decides the change as for its effect, and sends no content.
///
/// # Errors
/// Root refuses, or the files are not in the state that the change expects.
pub fn files(call: &mut Call, client: &Client, order: &Order, grant: &Grant) -> Result<Gathered, Error> {
    let is_validator = |name: &str| {
        client.policy.command(name).is_some_and(|row| row.wire.sandbox() == root::Sandbox::Validator)
    };
    let mut judged = grant.rules().filter(|rule| !rule.validate.is_empty());
    if let Some(rule) = judged.find(|rule| !is_validator(&rule.validate)) {
        let why = format!("rule {} names a validator that the policy has not", rule.id);
        return Err(Denied::new(Code::Unsupported, why).into());
    }
    let mut stream = send_inspect(call, order, "")?;
    let frame = link::read(&mut stream).map_err(Fault::recorder)?;
    let (kind, payload) = frame.ok_or_else(|| Fault::recorder(io::ErrorKind::UnexpectedEof.into()))?;
    if kind != Kind::Recorded {
        // The recorder writes no record of an Inspect of facts: the broker records the refusal.
        return Err(closed(kind, &payload).unrecorded());
    }
    let wire = decode::<Recorded>(&payload)?.facts.ok_or_else(|| invalid("no facts of files"))?;
    let changes = order.changes().map(|(change, _)| change).collect::<Vec<_>>();
    if wire.files.len() != changes.len() {
        return Err(invalid("facts of other files"));
    }
    let files = wire.files.iter().zip(&changes).map(|(file, change)| file_from_wire(file, change));
    let files = files.collect::<Result<Vec<_>, Error>>()?;
    // An undo expects the files as the request left them.
    for (change, file) in changes.into_iter().zip(&files).filter(|_| order.wire.inverse.is_none()) {
        check_expected(change, file.old.as_ref(), client.may_read(&change.path))?;
    }
    Ok((wire, Facts::Files(files)))
}

fn file_from_wire(file: &root::FileFacts, change: &FileChange) -> Result<FileFacts, Error> {
    if file.path != change.path.as_str() {
        return Err(invalid("facts of another file"));
    }
    FileFacts::from_wire(file).map_err(|_| invalid("facts of a file that are malformed"))
}

/// Checks that the file is in the state that the change and its writer expect. A client that may not read the file gets
/// no digest of it.
fn check_expected(change: &FileChange, old: Option<&OldFile>, may_read: bool) -> Result<(), Denied> {
    let path = &change.path;
    let exists = || Err(Denied::new(Code::AlreadyExists, format!("{path} exists")));
    match (&change.to, old) {
        (NewState::Removed | NewState::Attributes, None) => {
            return Err(Denied::new(Code::NotFound, format!("{path} does not exist")));
        }
        (NewState::Directory, Some(_)) => return exists(),
        (NewState::Content(_) | NewState::Directory, None)
        | (NewState::Content(_) | NewState::Removed | NewState::Attributes, Some(_)) => {}
    }
    match (change.expect, old) {
        (Expect::Any, _) | (Expect::Absent, None) => return Ok(()),
        (Expect::Content(want), Some(old)) if want == old.sha256 => return Ok(()),
        (Expect::Absent, Some(_)) => return exists(),
        (Expect::Content(_), _) => {}
    }
    let now = old.filter(|_| may_read).map(|old| format!("; its content has SHA-256 {} now", old.sha256));
    let why = format!("{path} is not what was expected{}", now.unwrap_or_default());
    Err(Denied::new(Code::PreconditionFailed, why))
}

/// The unit of a change or of `unit.status`, and the units that the change would affect.
///
/// # Errors
/// It does not exist, or the probe cannot tell.
pub fn unit(call: &mut Call, _: &Client, order: &Order, _: &Grant) -> Result<Gathered, Error> {
    let (unit, action, now) = match &order.request {
        Request::Unit(change) => (&change.unit, order.verb.name().trim_start_matches("unit."), change.now),
        Request::UnitStatus(status) => (&status.unit, "", false),
        Request::Files(_)
        | Request::FileRead(_)
        | Request::FileList(_)
        | Request::DaemonReload
        | Request::Reboot(_)
        | Request::Packages(_)
        | Request::Command(_)
        | Request::Describe
        | Request::Result(_)
        | Request::Undo(_)
        | Request::Own(_) => return Err(invalid("facts of a unit for another verb")),
    };
    let question = ProbeUnit { unit: unit.to_string(), action: action.to_owned(), now };
    let wire = probe::ask(&call.state.host.probe_socket, Kind::ProbeUnit, &question)?;
    let facts = wire.unit.as_ref().ok_or_else(|| invalid("no facts of a unit"))?;
    let facts = UnitFacts::from_wire(facts).map_err(|_| invalid("facts of a unit that are malformed"))?;
    if is_missing(&facts.state) {
        return Err(Denied::new(Code::NotFound, format!("{unit} does not exist on this host")).into());
    }
    Ok((wire, Facts::Unit(Box::new(facts))))
}

/// The transaction that apt simulates, with the flags that the run will have.
///
/// # Errors
/// apt refuses the transaction, or the probe does not answer.
pub fn packages(call: &mut Call, _: &Client, order: &Order, grant: &Grant) -> Result<Gathered, Error> {
    let body = order.wire.body.clone();
    packages_from_wire(order, simulate(call, order.verb.name(), body, grant.package_flags())?)
}

fn simulate(
    call: &Call,
    verb: &str,
    body: Vec<u8>,
    flags: root::PackageFlags,
) -> Result<root::PackageFacts, Error> {
    let question = ProbePackages { verb: verb.to_owned(), body, flags: Some(flags) };
    let wire = probe::ask(&call.state.host.probe_socket, Kind::ProbePackages, &question)?;
    wire.packages.ok_or_else(|| invalid("no facts of packages"))
}

/// Adds the current sources of the versions that would be fetched: recorded steps have none.
fn with_sources(
    call: &Call,
    inverse: &root::Inverse,
    mut recorded: root::PackageFacts,
) -> Result<root::PackageFacts, Error> {
    if recorded.steps.iter().all(|step| step.new.is_empty()) {
        return Ok(recorded);
    }
    let allow_downgrades = recorded.steps.iter().any(|step| step.action() == wire::Action::Downgrade);
    let flags = root::PackageFlags { allow_downgrades, ..root::PackageFlags::default() };
    let now = simulate(call, &inverse.verb, inverse.body.clone(), flags)?;
    for step in &mut recorded.steps {
        let is_it = |other: &&wire::PackageStep| {
            (&other.name, &other.arch, &other.new) == (&step.name, &step.arch, &step.new)
        };
        let found = now.steps.iter().find(is_it).map(|other| other.sources.clone());
        step.sources = found.unwrap_or_default();
    }
    Ok(recorded)
}

/// Reads a transaction. The packages that the request names are marked here, not by the simulation.
fn packages_from_wire(order: &Order, mut wire: root::PackageFacts) -> Result<Gathered, Error> {
    let Request::Packages(named) = &order.request else { return Err(invalid("facts of packages")) };
    let all = order.verb == VerbId::PackageUpgrade && named.packages.is_empty();
    let mut steps = wire.steps.iter().map(PackageStep::from_wire).collect::<Result<Vec<_>, _>>()?;
    for step in &mut steps {
        step.asked = named.packages.iter().any(|package| package.name == step.name)
            || (all && step.action == Action::Upgrade);
    }
    steps.sort_by(|a, b| (&a.name, &a.arch).cmp(&(&b.name, &b.arch)));
    wire.steps = steps.iter().map(PackageStep::wire).collect();
    let kept_back = wire.kept_back.iter().map(|name| PackageName::new(name)).collect::<Result<_, _>>()?;
    let (download_bytes, disk_bytes) = (wire.download_bytes, wire.disk_bytes);
    let facts = PackageTransaction { steps, download_bytes, disk_bytes, kept_back };
    Ok((root::Facts { packages: Some(wire), ..Default::default() }, Facts::Packages(facts)))
}

fn invalid(what: &str) -> Error {
    Fault::new(Code::Interrupted, format!("facts: {what}")).into()
}

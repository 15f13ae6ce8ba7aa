//! Facts: what a request would meet on this host, asked of the probe or, for files, of the root helper by way of the
//! recorder. All of it is validated here; the policy then decides it, and root decides it again on facts of its own.

use crate::call::Call;
use crate::client::Client;
use crate::error::{Error, Fault};
use crate::order::Order;
use crate::perform::send_inspect;
use crate::probe;
use crate::recorder::{closed, decode};
use postern_policy::facts::{
    Action, AffectedUnit, FileFacts, OldFile, PackageStep, PackageTransaction, UnitFacts, UnitState,
};
use postern_policy::request::{FileChange, NewState};
use postern_policy::types::{Attributes, Digest, Expect, FileKind, FileMode, PackageName};
use postern_policy::{Code, Denied, Facts, Grant, Request, VerbId};
use postern_proto::link::{self, Kind};
use postern_proto::root::v1::{self as root, ProbePackages, ProbeUnit, Recorded};
use std::io;

/// Facts as they came, for the order, and as the policy decides them.
pub type Gathered = (root::Facts, Facts);

/// Gathers the facts of one verb.
pub type Gather = fn(&mut Call, &Client, &Order, &Grant) -> Result<Gathered, Error>;

/// The verb needs none: it does what its arguments say.
///
/// # Errors
/// None.
pub fn none(_: &mut Call, _: &Client, _: &Order, _: &Grant) -> Result<Gathered, Error> {
    Ok((root::Facts::default(), Facts::None))
}

/// Gathers the facts of an order as its verb does. Those of an undo are facts about its inverse.
///
/// # Errors
/// `undo_conflict`, and what the verb's own facts are refused for.
pub fn gather(
    call: &mut Call,
    client: &Client,
    order: &Order,
    grant: &Grant,
    of_verb: Gather,
) -> Result<Gathered, Error> {
    let Some(inverse) = &order.wire.inverse else { return of_verb(call, client, order, grant) };
    let gathered = match &inverse.steps {
        // Exactly the recorded steps are taken back: no simulation could say more.
        Some(steps) => packages_from_wire(order, steps.clone())?,
        None => of_verb(call, client, order, grant)?,
    };
    let is_as_left = inverse.left.as_ref().is_none_or(|left| is_as_left(&gathered.0, left));
    let why = "what the request changed has been changed again since; nothing is undone";
    if is_as_left { Ok(gathered) } else { Err(Denied::new(Code::UndoConflict, why).into()) }
}

/// Whether objects are as an effect left them. A content that was not recorded may be any.
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

/// The files of a change, as root finds them: it decides the change as the act and tells no content.
///
/// # Errors
/// What root refuses for, and what the change expects to be there and is not.
pub fn files(call: &mut Call, client: &Client, order: &Order, _: &Grant) -> Result<Gathered, Error> {
    let mut stream = send_inspect(call, order, "")?;
    let frame = link::read(&mut stream).map_err(Fault::recorder)?;
    let (kind, payload) = frame.ok_or_else(|| Fault::recorder(io::ErrorKind::UnexpectedEof.into()))?;
    if kind != Kind::Recorded {
        // No record is made of it: the broker makes that of the refusal.
        return Err(closed(kind, &payload).unrecorded());
    }
    let wire = decode::<Recorded>(&payload)?.facts.ok_or_else(|| invalid("no facts of files"))?;
    let changes = order.changes().map(|(change, _)| change).collect::<Vec<_>>();
    if wire.files.len() != changes.len() {
        return Err(invalid("facts of other files"));
    }
    let files = wire.files.iter().zip(&changes).map(|(file, change)| file_from_wire(file, change));
    let files = files.collect::<Result<Vec<_>, Error>>()?;
    for (change, file) in changes.into_iter().zip(&files) {
        check_expected(change, file.old.as_ref(), client.may_read(&change.path))?;
    }
    Ok((wire, Facts::Files(files)))
}

fn file_from_wire(file: &root::FileFacts, change: &FileChange) -> Result<FileFacts, Error> {
    if file.path != change.path.as_str() {
        return Err(invalid("facts of another file"));
    }
    let path = change.path.clone();
    if !file.exists {
        return Ok(FileFacts { path, old: None, xattrs: Vec::new() });
    }
    let mode = FileMode::of_stat(file.mode).ok_or_else(|| invalid("a mode with special bits"))?;
    let (kind, sha256) = match (file.directory, Digest::from_bytes(&file.sha256)) {
        (true, _) => (FileKind::Directory, Digest::of(&[])),
        // A change of attributes needs no digest.
        (false, sha256) => (FileKind::File, sha256.unwrap_or(Digest::of(&[]))),
    };
    let attributes = Attributes { mode, uid: file.uid, gid: file.gid };
    let old = Some(OldFile { kind, sha256, size: file.size, attributes });
    Ok(FileFacts { path, old, xattrs: file.attributes.clone() })
}

/// Checks that what is there is what the change needs and its writer expects. A client that may not read the file gets
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
    let (unit, action, now, journal_lines) = match &order.request {
        Request::Unit(change) => (&change.unit, action(order.verb), change.now, 0),
        Request::UnitStatus(status) => (&status.unit, "status", false, status.journal_lines),
        Request::Files(_)
        | Request::FileRead(_)
        | Request::FileList(_)
        | Request::DaemonReload
        | Request::Packages(_)
        | Request::Command(_)
        | Request::Describe
        | Request::Result(_)
        | Request::Undo(_) => return Err(invalid("facts of a unit for another verb")),
    };
    let asked = if action == "status" { "" } else { action };
    let question = ProbeUnit { unit: unit.to_string(), action: asked.to_owned(), now };
    let wire = probe::ask(&call.state.host.probe_socket, Kind::ProbeUnit, &question)?;
    let facts = wire.unit.as_ref().ok_or_else(|| invalid("no facts of a unit"))?;
    let state = unit_from_wire(facts.unit.as_ref())?;
    if state.is_missing() {
        return Err(Denied::new(Code::NotFound, format!("{unit} does not exist on this host")).into());
    }
    let affected = facts.affected.iter().map(|other| {
        let verb = effect(&other.effect).ok_or_else(|| invalid("an unknown effect on a unit"))?;
        let (cause, state) = (other.cause.clone(), unit_from_wire(other.unit.as_ref())?);
        if cause.len() > 512 || !cause.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
            return Err(invalid("text in the cause of an effect"));
        }
        Ok(AffectedUnit { verb, cause, state })
    });
    let affected = affected.collect::<Result<Vec<_>, Error>>()?;
    let now = now.then_some(if order.verb == VerbId::UnitEnable { "start" } else { "stop" });
    let unit = UnitFacts { state, action, now, affected, journal_lines };
    Ok((wire, Facts::Unit(Box::new(unit))))
}

/// `start` of `unit.start`.
fn action(verb: VerbId) -> &'static str {
    verb.name().split_once('.').map_or("", |(_, action)| action)
}

fn effect(word: &str) -> Option<VerbId> {
    let known = ["start", "stop", "restart", "reload", "enable", "disable"].contains(&word);
    known.then(|| VerbId::from_name(&format!("unit.{word}"))).flatten()
}

fn unit_from_wire(unit: Option<&root::UnitState>) -> Result<UnitState, Error> {
    let unit = unit.ok_or_else(|| invalid("no state of a unit"))?;
    let words =
        [&unit.load, &unit.active, &unit.sub, &unit.enabled, &unit.result, &unit.invocation, &unit.id];
    let is_word = |text: &&String| text.len() <= 255 && text.bytes().all(|b| b.is_ascii_graphic());
    if !words.iter().all(is_word) || !unit.names.iter().all(|name| is_word(&name)) {
        return Err(invalid("text in the state of a unit"));
    }
    let root::UnitState { id, names, load, active, sub, enabled, result, .. } = unit.clone();
    Ok(UnitState {
        id,
        names,
        load,
        active,
        sub,
        enabled,
        result,
        main_pid: unit.main_pid,
        since_unix_us: unit.since_unix_us,
        memory_bytes: unit.memory_bytes,
        exit_status: unit.exit_status,
        invocation: unit.invocation.clone(),
    })
}

/// The transaction that apt simulates, with the flags that the run will have.
///
/// # Errors
/// What apt refuses for, or the probe cannot tell.
pub fn packages(call: &mut Call, _: &Client, order: &Order, grant: &Grant) -> Result<Gathered, Error> {
    let question = ProbePackages {
        verb: order.verb.name().to_owned(),
        body: order.wire.body.clone(),
        flags: Some(grant.package_flags().to_wire()),
    };
    let wire = probe::ask(&call.state.host.probe_socket, Kind::ProbePackages, &question)?;
    packages_from_wire(order, wire.packages.ok_or_else(|| invalid("no facts of packages"))?)
}

/// Reads a transaction. Which packages the request named is known here, whatever the simulation says.
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

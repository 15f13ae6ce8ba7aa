//! What an operator takes back: newest first, and nothing that has changed since.
//!
//! An undo is an effect like any other: its intent is on disk before, its outcome after.

use crate::audit::{Event, Json, Payer, Record, Ticket};
use crate::error::{Code, Fault, Refusal, Stop};
use crate::helper::{Helper, wait_for};
use crate::leave::outcome;
use crate::operator;
use crate::plan::UnitState;
use crate::plan::units::{PROPERTIES, parse};
use crate::policy::Peer;
use crate::reply::{Grpc, Sink};
use crate::sys::files::{self, NewFile, Standing};
use crate::sys::process::{UnitAction, change_unit, show_changed};
use crate::sys::{confined, store};
use crate::types::{FileMode, TargetPath, UnitName};
use crate::verb_id::VerbId;
use postern_proto::root::v1::{FileUndo, RequestRecord};
use postern_proto::v1 as wire;
use prost::Message;
use std::path::PathBuf;
use std::time::Duration;

/// How long another change of the same kind is waited for, and a unit.
const PATIENCE: Duration = Duration::from_secs(120);

/// Takes back what the request names, and tells of each; the first that fails is the last.
pub fn run(helper: &Helper, peer: Peer, request: &wire::OperatorUndoRequest, sink: &Sink) {
    let records = match select(helper, request) {
        Ok(records) => records,
        Err(refusal) => return operator::refuse(sink, &refusal),
    };
    for record in records {
        let result =
            if request.dry_run { look(helper, &record).map(drop) } else { take_back(helper, peer, &record) };
        let (code, message) = match result {
            Ok(()) => (String::new(), String::new()),
            Err(stop) => {
                let (refusal, detail) = stop.tell();
                (refusal.code.as_str().to_owned(), detail)
            }
        };
        let is_done = code.is_empty();
        let (request_id, uid, verb) = (record.request_id.clone(), record.uid, record.verb.clone());
        sink.message_in_time(&wire::OperatorUndone {
            request_id,
            uid,
            verb,
            target: target(&record),
            code,
            message,
        });
        if !is_done || !sink.is_open() {
            break;
        }
    }
    sink.end(Grpc::Ok, "");
}

/// The requests that are meant, newest first. Those that changed nothing are left out, unless one is named.
fn select(helper: &Helper, request: &wire::OperatorUndoRequest) -> Result<Vec<RequestRecord>, Refusal> {
    let (id, task, since) = (&request.request_id, &request.task, request.since_unix_s);
    let since_us = Duration::from_secs(since).as_micros();
    let changed = |record: &RequestRecord| {
        let is_done = record.completed.as_ref().is_some_and(|done| done.status() == wire::Status::Done);
        is_done && !record.undone && VerbId::from_name(&record.verb).is_some_and(is_undoable)
    };
    let records = match (id.is_empty(), task.is_empty(), since) {
        (false, true, 0) => helper.requests.ended(|record| record.request_id.starts_with(id.as_str())),
        (true, false, 0) => helper.requests.ended(|record| record.task == *task && changed(record)),
        (true, true, 1..) => {
            helper.requests.ended(|record| u128::from(record.begun_unix_us) >= since_us && changed(record))
        }
        _ => {
            return Err(Refusal::new(
                Code::InvalidArgument,
                "name a request, a task or a time, and one only",
            ));
        }
    };
    if !id.is_empty() && records.len() > 1 {
        return Err(Refusal::new(
            Code::InvalidArgument,
            "more than one request's id begins so; give more of it",
        ));
    }
    if records.is_empty() {
        return Err(Refusal::new(
            Code::UnknownRequest,
            "there is nothing to undo of this in the last 24 hours",
        ));
    }
    Ok(records)
}

/// What leaves something to take back. The state before a restart or reload is the state after it.
const fn is_undoable(verb: VerbId) -> bool {
    matches!(
        verb,
        VerbId::FileWrite
            | VerbId::PackageInstall
            | VerbId::UnitStart
            | VerbId::UnitStop
            | VerbId::UnitEnable
            | VerbId::UnitDisable
            | VerbId::UnitMask
            | VerbId::UnitUnmask
    )
}

fn target(record: &RequestRecord) -> String {
    let Some(done) = &record.completed else {
        return String::new();
    };
    let files = done.files.iter().map(|file| file.path.clone());
    let units = done.unit.iter().map(|unit| unit.id.clone());
    files
        .chain(units)
        .chain(done.packages.iter().map(|package| package.name.clone()))
        .collect::<Vec<_>>()
        .join(" ")
}

/// How one request is taken back.
enum Inverse {
    /// The file's former state.
    File(TargetPath, Box<FileUndo>),
    /// The unit, what it was, and what the request made of it.
    Unit(UnitName, Box<wire::UnitInfo>),
}

/// Whether and how it can be taken back. Whether it has changed since is looked at when it is.
fn look(helper: &Helper, record: &RequestRecord) -> Result<Inverse, Stop> {
    let done = record.completed.as_ref().filter(|done| done.status() == wire::Status::Done);
    let done = done.ok_or_else(|| Refusal::new(Code::UndoGone, "it changed nothing, or not all of it"))?;
    if record.undone {
        return Err(Refusal::new(Code::UndoGone, "it was undone already").into());
    }
    match (VerbId::from_name(&record.verb), &done.unit) {
        (Some(VerbId::FileWrite), _) => {
            let bytes = store::read(&copy(helper, record), u64::MAX)?;
            let bytes = bytes.ok_or_else(|| Refusal::new(Code::UndoGone, "what it was is kept no longer"))?;
            let undo =
                FileUndo::decode(bytes.as_slice()).map_err(|_| Fault::Corrupt { what: "a copy for undo" })?;
            Ok(Inverse::File(TargetPath::new(&undo.path)?, Box::new(undo)))
        }
        (
            Some(
                VerbId::UnitStart
                | VerbId::UnitStop
                | VerbId::UnitEnable
                | VerbId::UnitDisable
                | VerbId::UnitMask
                | VerbId::UnitUnmask,
            ),
            Some(unit),
        ) => Ok(Inverse::Unit(UnitName::new(&unit.id)?, Box::new(unit.clone()))),
        (_, _) => {
            let why = format!("{} can't be undone by this helper", record.verb);
            Err(Refusal::new(Code::Unsupported, why).into())
        }
    }
}

fn copy(helper: &Helper, record: &RequestRecord) -> PathBuf {
    helper.host.paths.state.join("undo").join(format!("{}-{}", record.uid, record.request_id))
}

fn take_back(helper: &Helper, peer: Peer, record: &RequestRecord) -> Result<(), Stop> {
    let inverse = look(helper, record)?;
    let mut entry = Record {
        request_id: store::random_id()?,
        task: record.task.clone(),
        client: Some(peer),
        verb: VerbId::RequestUndo.name().to_owned(),
        args: Json::new().text("of", &record.request_id).number("uid", record.uid).text("verb", &record.verb),
        origin: Payer::Helper,
        ..Record::default()
    };
    let _one_at_a_time = match &inverse {
        Inverse::File(..) => wait_for(&helper.files, PATIENCE)?,
        Inverse::Unit(..) => wait_for(&helper.units, PATIENCE)?,
    };
    let ticket = helper.audit.begin(&entry)?;
    let result = match &inverse {
        Inverse::File(path, undo) => restore(helper, &ticket, record, path, undo),
        Inverse::Unit(unit, info) => put_back(helper, &ticket, unit, info),
    };
    let (completed, detail) = match &result {
        Ok(()) => {
            (wire::Completed { status: wire::Status::Done.into(), ..Default::default() }, String::new())
        }
        Err(stop) => (stop.told(), stop.detail()),
    };
    entry.outcome = outcome(&completed, &detail);
    helper.audit.end(ticket, Event::End, &entry)?;
    result?;
    helper.requests.undone(record.uid, &record.request_id)?;
    if matches!(inverse, Inverse::File(..)) {
        store::remove_file(&copy(helper, record))?;
    }
    Ok(())
}

fn conflict(what: &str) -> Stop {
    Refusal::new(Code::UndoConflict, format!("{what} has changed since; nothing is undone")).into()
}

/// Writes the old content, mode and owner again, or removes what was new.
fn restore(
    helper: &Helper,
    ticket: &Ticket,
    record: &RequestRecord,
    path: &TargetPath,
    undo: &FileUndo,
) -> Result<(), Stop> {
    let left = record.completed.as_ref().and_then(|done| done.files.first());
    let left = left.ok_or_else(|| conflict(path.as_str()))?;
    // Names become numbers here: a confined thread can't read the host's accounts.
    let accounts = helper.host.accounts;
    let uid = left.owner.parse().ok().or_else(|| (accounts.user)(&left.owner));
    let gid = left.group.parse().ok().or_else(|| (accounts.group)(&left.group).map(|(gid, _)| gid));
    let (directory, name) = path.split();
    let directory = files::open_directory(&TargetPath::new(directory)?, helper.host.owner_uid)?;
    let temporary = format!(".postern-{}", store::random_id()?);
    confined::run(helper.host.landlock, &[&directory], || {
        let parent = files::open_parent(&directory, name, helper.host.owner_uid)?;
        let mut now = files::look(&parent, name)?;
        let is_ours = |now: &mut Standing| now.sha256().map(|sha256| sha256.as_bytes() == undo.written);
        let Some(now) = now.as_mut() else {
            return Err(conflict(path.as_str()));
        };
        let kept = (now.mode.to_string(), Some(now.uid), Some(now.gid));
        if !is_ours(now)? || kept != (left.mode.clone(), uid, gid) {
            return Err(conflict(path.as_str()));
        }
        if !undo.existed {
            return files::remove(ticket, &parent, name, &temporary, now);
        }
        let mode = FileMode::of_stat(undo.mode).ok_or(Fault::Corrupt { what: "a copy for undo" })?;
        let new = NewFile { content: &undo.content, mode, uid: undo.uid, gid: undo.gid };
        files::write(ticket, &parent, name, &temporary, new, Some(now))
    })
}

/// Brings a unit back to what it was, if it still is what the request made of it.
fn put_back(helper: &Helper, ticket: &Ticket, unit: &UnitName, info: &wire::UnitInfo) -> Result<(), Stop> {
    let now = || -> Result<UnitState, Stop> {
        let shown = show_changed(&helper.host, ticket, PROPERTIES, unit)?;
        let state = parse(&shown.stdout).into_iter().next().map(|shown| shown.state);
        Ok(state.ok_or(Fault::Program { what: "systemctl shows no unit".to_owned() })?)
    };
    let before = now()?;
    if (&before.active, &before.enabled) != (&info.active, &info.enabled) {
        return Err(conflict(unit.as_str()));
    }
    let mut actions = Vec::new();
    if info.was_enabled != info.enabled {
        actions.push(match (info.was_enabled.as_str(), info.enabled.as_str()) {
            ("masked", _) => UnitAction::Mask,
            (_, "masked") => UnitAction::Unmask,
            ("enabled", _) => UnitAction::Enable,
            (_, _) => UnitAction::Disable,
        });
    }
    // As `is_up`: what was on its way up or reloading was not down, so that nothing is stopped for it.
    let up = |active: &str| matches!(active, "active" | "activating" | "reloading" | "refreshing");
    if up(&info.was_active) != up(&info.active) {
        actions.push(if up(&info.was_active) { UnitAction::Start } else { UnitAction::Stop });
    }
    for action in actions {
        let finished = change_unit(&helper.host, ticket, action, false, unit, PATIENCE, &|| ())?;
        if !finished.status.success() {
            let said = finished.stderr.lines().next().unwrap_or("systemctl failed").to_owned();
            return Err(Refusal::new(Code::UnitFailed, said).into());
        }
    }
    Ok(())
}

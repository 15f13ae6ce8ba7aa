//! Files of a rule with `as`: a process of the rule's user reads and changes them, in a unit that `policy apply` wrote.
//!
//! That user can have any process of theirs speak in its place. So what comes from it is bounded in size and time, is parsed
//! strictly, and is believed about files of that user alone. Facts, outcome and inverse are made here.

use crate::state::Work;
use postern_policy::request::{FileChange, FileReadRequest, FilesRequest, NewState};
use postern_policy::types::{Digest, Expect, TargetPath, hex};
use postern_policy::{AS_USER_MAX, Facts, Grant, VerbId};
use postern_proto::link::{self, Kind};
use postern_proto::root::v1::{self as root, AsUser, Content, FileFacts, Inverse, Journal, JournalEntry};
use postern_proto::v1::{self as wire, event::Kind::Output};
use postern_root::{Answer, Code, Denied, Error, Fault, receive};
use prost::Message;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, mpsc};
use std::time::Duration;

/// The time for the file, and again for the new content. PID 1 kills the process 20 s after its start (`RuntimeMaxSec=` of its
/// unit), which precedes the file that it sends: this long after it was given the new content it does not run.
const PATIENCE: Duration = Duration::from_secs(25);
/// Codes that the process may report for a file that it cannot read; its own words are not passed on.
const REPORTS: [Code; 4] = [Code::DirectoryMissing, Code::UnsafePath, Code::SpecialFile, Code::NotFound];

/// One file, as a process of its user found it, and the connection to that process.
struct Peer {
    stream: UnixStream,
    user: String,
    file: FileFacts,
    content: Arc<[u8]>,
    /// A message begins the time anew. When it is dropped, the connection is shut down.
    alive: mpsc::Sender<()>,
}

/// Starts a process of the rule's user, and gets the file; its content only up to 1 MiB. The process first removes the temporary
/// file that another of the same order left, if that has a name.
fn start_peer(work: &Work<'_>, grant: &Grant, path: &TargetPath, left: &str) -> Result<Peer, Error> {
    let (authority, host) = (work.authority, &work.state.host);
    let undone = authority.inverse.map(|inverse| inverse.as_user.as_str());
    let none = || Denied::new(Code::NoGrant, "no rule reaches this file as its user (`as`)");
    let (rule, directory) = authority.policy.as_user(grant, undone, path).ok_or_else(none)?;
    let user = rule.as_user.clone();
    let uid = authority.accounts.user(&user);
    let who = uid.map(|uid| authority.accounts.identity(uid)).unwrap_or_default();
    if let Some(why) = authority.policy.too_strong(&who) {
        return Err(Denied::new(Code::Unsupported, format!("nothing is done as {user}: {why}")).into());
    }
    let unit = rule.as_unit(directory);
    let stream = UnixStream::connect(host.commands.join(format!("{unit}.sock")));
    let stream = stream.map_err(Fault::io(format!("connect to {unit}.socket")))?;
    let watched = stream.try_clone().map_err(Fault::io("watch a connection"))?;
    let (alive, ended) = mpsc::channel();
    let watch = move || {
        while ended.recv_timeout(PATIENCE).is_ok() {}
        drop(watched.shutdown(Shutdown::Both));
    };
    std::thread::Builder::new().spawn(watch).map_err(Fault::io("start a thread"))?;
    let (directory, path, temporary) = (directory.to_string(), path.to_string(), left.to_owned());
    let asked = AsUser { directory, path, temporary, ..AsUser::default() };
    let (file, content) = (FileFacts::default(), Arc::default());
    let mut peer = Peer { stream, user, file, content, alive };
    let reply = peer.ask(&asked, &[]).unwrap_or_default();
    let code = Code::from_name(&reply.code).filter(|code| REPORTS.contains(code));
    let why = format!("a process of {} cannot read {}; nothing was changed", peer.user, asked.path);
    let refused = Denied::new(code.unwrap_or(Code::Interrupted), why);
    // The process does not choose path and owner.
    let FileFacts { size, sha256, mode, gid, .. } = reply.file.ok_or_else(|| refused.clone())?;
    let announced = Content { size, sha256: sha256.clone() };
    peer.file =
        FileFacts { path: asked.path, exists: true, size, sha256, mode, uid: who.uid, gid, ..peer.file };
    if size <= AS_USER_MAX {
        peer.content = receive::content(&mut peer.stream, &announced).map_err(|_| refused)?;
    }
    Ok(peer)
}

impl Peer {
    /// Sends one message and content; returns the answer, if it is one, also where sending failed.
    fn ask(&mut self, asked: &AsUser, content: &[u8]) -> Option<AsUser> {
        let sent = link::send(&mut self.stream, Kind::RootInspect, asked);
        drop(sent.and_then(|()| link::send_content(&mut self.stream, content)));
        receive::message(&mut self.stream, Kind::RootInspect).ok()
    }
}

fn facts(file: &FileFacts) -> root::Facts {
    root::Facts { files: vec![file.clone()], ..root::Facts::default() }
}

/// `file.read`: the content is sent as events.
pub fn read(work: &mut Work<'_>, request: &FileReadRequest, grant: Grant) -> Result<Answer, Error> {
    let grant = work.authority.decide_facts(grant, &Facts::None)?;
    let max = grant.rules().map(|rule| rule.max_bytes).min().unwrap_or(0);
    let peer = start_peer(work, &grant, &request.path, "")?;
    if peer.file.size > max {
        return Err(Denied::new(Code::TooLarge, format!("the file has more than {max} bytes")).into());
    }
    let size = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let from_end = |_| peer.content.len().saturating_sub(size(request.offset.unsigned_abs()));
    let start = u64::try_from(request.offset).map_or_else(from_end, size);
    let rest = peer.content.get(start..).unwrap_or_default();
    let most = if request.limit == 0 { max } else { request.limit.into() };
    let data = rest.get(..size(most)).unwrap_or(rest);
    let (stream, truncated) = (wire::Stream::Content.into(), data.len() < rest.len());
    for part in data.chunks(64 * 1024) {
        let output = Output(wire::Output { stream, data: part.to_vec(), truncated });
        work.connection.event(output).map_err(Fault::io("send content to the recorder"))?;
    }
    Ok(outcome(work, &grant, &peer.file, None, wire::Status::Done))
}

/// Returns the facts of a change that is only looked at; or gives the file its new content. Once the process has that, only
/// its answer tells what was done.
pub fn change(work: &Work<'_>, request: &FilesRequest, grant: Grant) -> Result<Answer, Error> {
    let authority = work.authority;
    let [FileChange { path, to: NewState::Content(new), expect, .. }] = request.changes.as_slice() else {
        return Err(Denied::new(Code::Unsupported, "this is no new content of one file").into());
    };
    let mut peer = start_peer(work, &grant, path, "")?;
    let before = facts(&peer.file);
    let grant = authority.decide_facts(grant, &Facts::from_wire(&before)?)?;
    if authority.inverse.is_some_and(|inverse| inverse.left.as_ref() != Some(&before)) {
        return Err(Denied::new(Code::UndoConflict, "the file has changed since; nothing is undone").into());
    }
    if !authority.ordered.is_execute {
        return Ok(Answer::Facts(before));
    }
    let is_decided = authority.by_operator || authority.ordered.order.facts.as_ref() == Some(&before);
    let is_expected = Digest::from_bytes(&peer.file.sha256).map(Expect::Content) == Some(*expect);
    if !(is_decided && (is_expected || *expect == Expect::Any)) {
        let why = "the file is not the expected one, or changed after this was decided; send it again";
        return Err(Denied::new(Code::PreconditionFailed, why).into());
    }
    let sha256 = Digest::of(&[new]).as_bytes().to_vec();
    let after = FileFacts { size: u64::try_from(new.len()).unwrap_or(u64::MAX), sha256, ..peer.file.clone() };
    if after == peer.file {
        return Ok(outcome(work, &grant, &after, None, wire::Status::Unchanged));
    }
    // Preview and approval have said so before: more is not kept.
    let is_kept = grant.keeps_for_undo() && peer.file.size <= AS_USER_MAX;
    let inverse = if is_kept { keep(work, &grant, &peer, &after)? } else { None };
    authority.witness(&grant)?;
    let content = Some(Content { size: after.size, sha256: after.sha256.clone() });
    let temporary = format!(".postern-{}", authority.ordered.id);
    // A process that PID 1 started late must not act after its time is up, when another has looked what it did.
    peer.alive.send(()).ok();
    let reply = peer.ask(&AsUser { content, temporary: temporary.clone(), ..AsUser::default() }, new);
    if !reply.is_some_and(|reply| reply.code.is_empty()) {
        let why = format!("a process of {} ended without having done it", peer.user);
        // Another process looks what it did, and removes its temporary file. If neither old nor new content is there, nobody knows.
        let found = start_peer(work, &grant, path, &temporary).map(|found| found.file).unwrap_or_default();
        if found == peer.file {
            drop(work.state.undo.forget(authority.ordered.id.as_bytes()));
            return Err(Denied::new(Code::Interrupted, why + "; the file is as it was, send it again").into());
        } else if found != after {
            return Err(Error::Begun(Fault::new(why)));
        }
    }
    drop(authority.inverse.map(|undone| work.state.undo.forget(&undone.content_id)));
    Ok(outcome(work, &grant, &after, inverse, wire::Status::Done))
}

/// Stores the old content, and returns the inverse: that content again, as the same user.
fn keep(work: &Work<'_>, grant: &Grant, peer: &Peer, after: &FileFacts) -> Result<Option<Inverse>, Error> {
    let (authority, FileFacts { path, size, sha256, .. }) = (work.authority, peer.file.clone());
    let (kind, expect) = (wire::ChangeKind::Write.into(), "any".to_owned());
    let change = Some(wire::FileChange { path, kind, expect, ..wire::FileChange::default() });
    let body = wire::FileWriteRequest { meta: None, change }.encode_to_vec();
    let entry = JournalEntry { content: peer.content.to_vec(), ..JournalEntry::default() };
    let journal = Journal { entries: vec![entry], outcome: None };
    let (key, now) = ((authority.ordered.order.uid, authority.ordered.id), authority.host.unix());
    work.state.undo.keep(key, &journal, authority.undo_limits(), now)?;
    Ok(authority.inverse_of(grant, VerbId::FileWrite, body).map(|inverse| Inverse {
        contents: vec![Content { size, sha256 }],
        left: Some(facts(after)),
        content_id: key.1.as_bytes().to_vec(),
        as_user: peer.user.clone(),
        ..inverse
    }))
}

/// The new content of an order: that of an undo is kept here.
pub fn contents(work: &Work<'_>) -> Result<Vec<Arc<[u8]>>, Error> {
    let authority = work.authority;
    if authority.inverse.is_none() {
        return Ok(authority.ordered.contents.clone());
    }
    let kept = work.state.undo.read_for(authority.inverse)?;
    let announced = authority.contents().iter().map(|content| content.sha256.as_slice());
    let digests = kept.iter().map(|entry| Digest::of(&[&entry.content])).collect::<Vec<_>>();
    if !digests.iter().map(Digest::as_bytes).eq(announced) {
        return Err(Fault::corrupt("an undo copy").into());
    }
    Ok(kept.into_iter().map(|entry| entry.content.into()).collect())
}

/// The outcome on a file as it is now. An undo does not name its content.
fn outcome(
    work: &Work<'_>,
    grant: &Grant,
    file: &FileFacts,
    inverse: Option<Inverse>,
    status: wire::Status,
) -> Answer {
    let (path, mode) = (file.path.clone(), format!("{:04o}", file.mode));
    let objects = vec![path.clone()];
    let mut info = work.authority.accounts.file_info(path, wire::FileType::File, mode, (file.uid, file.gid));
    if work.authority.inverse.is_none() {
        (info.size, info.sha256) = (file.size, hex(&file.sha256));
    }
    let completed =
        wire::Completed { status: status.into(), files: vec![info], ..wire::Completed::default() };
    Answer::Outcome(work.authority.outcome(grant, objects, completed, inverse))
}

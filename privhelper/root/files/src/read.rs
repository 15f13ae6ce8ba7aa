//! `file.read` and `file.list`: sends a file in parts as events, and the names in a directory. No file is in memory as a whole.

use crate::change;
use crate::confine;
use crate::path::{self, Directory, open_granted};
use crate::state::State;
use crate::target::{OpenTarget, PART, hash, open_target};
use nix::errno::Errno;
use nix::sys::stat::SFlag;
use postern_policy::request::FileReadRequest;
use postern_policy::types::{FileKind, TargetPath};
use postern_policy::{Code, Denied, Facts, Request};
use postern_proto::root::v1::{Envelope, Outcome};
use postern_proto::v1 as wire;
use postern_root::authority::Purpose;
use postern_root::{Accounts, Connection, Error, Fault, Ordered};
use prost::Message;
use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::os::unix::fs::FileExt;

/// Most names that are listed, and most bytes of the answer: it is one message.
const NAMES_MAX: usize = 1000;
const BYTES_MAX: usize = 128 * 1024;

/// Carries out an `Inspect` of a read: sends events with content, then returns the outcome.
///
/// # Errors
/// The read is refused, or failed.
pub fn read<S: Read + Write>(
    state: &State,
    envelope: Option<&Envelope>,
    ordered: &Ordered,
    connection: &mut Connection<S>,
) -> Result<Outcome, Error> {
    let accounts = state.host.accounts()?;
    let authority = state.authority(&accounts, ordered, Purpose::Act(envelope))?;
    let (request, grant) = authority.decide_request(Vec::new())?;
    let (path, range) = if let Request::FileRead(FileReadRequest { path, offset, limit }) = request {
        (path, Some((offset, limit)))
    } else if let Request::FileList(path) = request {
        (path, None)
    } else {
        return Err(Denied::new(Code::Unsupported, "this is no read of files").into());
    };
    let grant = authority.decide_facts(grant, &Facts::None)?;
    let directory = change::directory(&grant, &path)?;
    // A listed directory may be the rule's own.
    let below = path.below(&directory).unwrap_or_default();
    let root_uid = state.host.root_uid;
    let directory = open_granted(&directory, root_uid)?;
    confine::give_up_writing(std::slice::from_ref(&directory))?;
    let completed = match range {
        None => list(&accounts, &path, &directory.open_below(below, root_uid)?)?,
        Some((offset, limit)) => {
            let parent = directory.open_parent(below, root_uid)?;
            let missing = || Denied::new(Code::NotFound, format!("{path} does not exist"));
            let file = open_target(&parent, path.split().1, &[FileKind::File])?.ok_or_else(missing)?;
            let max = grant.rules().map(|rule| rule.max_bytes).min().unwrap_or(0);
            send(state, &accounts, &path, &file, (offset, limit), max, connection)?
        }
    };
    Ok(authority.outcome(&grant, vec![path.to_string()], completed))
}

/// Sends a part of the file as events. The outcome has the digest if the whole file may be read: a later write may expect it.
fn send<S: Read + Write>(
    state: &State,
    accounts: &Accounts,
    path: &TargetPath,
    file: &OpenTarget,
    (offset, limit): (i64, u32),
    max: u64,
    connection: &mut Connection<S>,
) -> Result<wire::Completed, Error> {
    let sha256 = if file.facts.size <= max { hash(&file.file)?.to_string() } else { String::new() };
    let mut rest = if limit == 0 { max } else { max.min(limit.into()) };
    let mut offset =
        u64::try_from(offset).unwrap_or_else(|_| file.facts.size.saturating_sub(offset.unsigned_abs()));
    let (mut part, mut next) = (vec![0; PART], vec![0; PART]);
    let read = |part: &mut [u8], offset| file.file.read_at(part, offset).map_err(Fault::io("read a file"));
    let mut now = read(&mut part, offset)?;
    while now > 0 && rest > 0 {
        // The process ends once all orders have ended, and the next policy waits for that: no slow reader holds it up.
        if !state.is_current() {
            return Err(Denied::new(Code::PlanChanged, "the policy was replaced; read the file again").into());
        }
        // One part more is read before the last is sent, so that the last says whether there is more.
        let count = u64::try_from(now).unwrap_or(u64::MAX).min(rest);
        offset = offset.saturating_add(count);
        rest = rest.saturating_sub(count);
        let later = read(&mut next, offset)?;
        let data = part.get(..usize::try_from(count).unwrap_or(0)).unwrap_or_default().to_vec();
        let truncated = rest == 0 && later > 0;
        let output = wire::Output { stream: wire::Stream::Content.into(), data, truncated };
        let sent = connection.event(wire::event::Kind::Output(output));
        sent.map_err(Fault::io("send content to the recorder"))?;
        std::mem::swap(&mut part, &mut next);
        now = later;
    }
    let facts = path::facts(&file.file)?;
    let info = wire::FileInfo { sha256, ..info(accounts, path.to_string(), &facts) };
    Ok(wire::Completed { status: wire::Status::Done.into(), files: vec![info], ..Default::default() })
}

/// Lists the first names of a directory, in the order of their bytes. Names are opened with `O_PATH` only.
fn list(accounts: &Accounts, path: &TargetPath, directory: &Directory) -> Result<wire::Completed, Error> {
    let failed = "read a directory";
    let mut names = BTreeSet::new();
    let mut count = 0_usize;
    for name in path::names(directory).map_err(Fault::io(failed))? {
        count = count.saturating_add(1);
        names.insert(name.map_err(Fault::io(failed))?);
        if names.len() > NAMES_MAX {
            names.pop_last();
        }
    }
    let mut completed = wire::Completed { status: wire::Status::Done.into(), ..Default::default() };
    let mut bytes = 0_usize;
    for name in names {
        let facts = match path::open(directory, name.as_c_str(), path::LOOK) {
            Ok(fd) => path::facts(fd)?,
            Err(Errno::ENOENT) => continue,
            Err(errno) => return Err(Fault::io("open a file")(errno).into()),
        };
        let info = info(accounts, format!("{path}/{}", name.to_string_lossy()), &facts);
        bytes = bytes.saturating_add(info.encoded_len());
        if bytes > BYTES_MAX {
            break;
        }
        completed.files.push(info);
    }
    let listed = completed.files.len();
    if listed < count {
        completed.status = wire::Status::Partly.into();
        Code::TooLarge.as_str().clone_into(&mut completed.code);
        completed.message = format!("these are the first {listed} of {count} names");
    }
    Ok(completed)
}

fn info(accounts: &Accounts, path: String, facts: &path::Facts) -> wire::FileInfo {
    let r#type = match SFlag::from_bits_truncate(facts.mode) & SFlag::S_IFMT {
        SFlag::S_IFREG => wire::FileType::File,
        SFlag::S_IFDIR => wire::FileType::Directory,
        SFlag::S_IFLNK => wire::FileType::Symlink,
        _ => wire::FileType::Other,
    };
    let (uid, gid) = facts.owner;
    wire::FileInfo {
        path,
        r#type: r#type.into(),
        size: if r#type == wire::FileType::File { facts.size } else { 0 },
        mode: format!("{:04o}", facts.mode & 0o7777),
        owner: accounts.user_name(uid).map_or_else(|| uid.to_string(), str::to_owned),
        group: accounts.group_name(gid).map_or_else(|| gid.to_string(), str::to_owned),
        sha256: String::new(),
        mtime_unix_s: u64::try_from(facts.mtime.0).unwrap_or(0),
    }
}

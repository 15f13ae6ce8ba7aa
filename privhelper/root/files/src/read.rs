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
use postern_policy::{Facts, Request};
use postern_proto::root::v1::Outcome;
use postern_proto::v1 as wire;
use postern_root::{Accounts, Code, Connection, Denied, Error, Fault, Ordered};
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
    ordered: &Ordered,
    connection: &mut Connection<S>,
) -> Result<Outcome, Error> {
    let accounts = state.host.accounts()?;
    let authority = state.authority(&accounts, ordered)?;
    let (request, grant) = authority.decide_request(None)?;
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
            // Only of a file that may be read as a whole: a later write may expect it.
            let is_whole = file.facts.size <= max;
            let sha256 = if is_whole { hash(&file.file)?.to_string() } else { String::new() };
            let most = if limit == 0 { max } else { max.min(limit.into()) };
            send(state, &file, offset, most, connection)?;
            let info = entry(&accounts, path.to_string(), &path::facts(&file.file)?);
            let files = vec![wire::FileInfo { sha256, ..info }];
            wire::Completed { status: wire::Status::Done.into(), files, ..Default::default() }
        }
    };
    Ok(authority.outcome(&grant, vec![path.to_string()], completed, None))
}

/// Sends at most `rest` bytes of the file as events.
fn send<S: Read + Write>(
    state: &State,
    target: &OpenTarget,
    offset: i64,
    mut rest: u64,
    connection: &mut Connection<S>,
) -> Result<(), Error> {
    let from_end = |_| target.facts.size.saturating_sub(offset.unsigned_abs());
    let mut offset = u64::try_from(offset).unwrap_or_else(from_end);
    let mut part = vec![0; PART];
    while rest > 0 {
        // The process ends once all orders have ended, and the next policy waits for that: no slow reader holds it up.
        if !state.is_current() {
            return Err(Denied::new(Code::PlanChanged, "the policy was replaced; read the file again").into());
        }
        part.truncate(usize::try_from(rest).unwrap_or(PART));
        let count = target.file.read_at(&mut part, offset).map_err(Fault::io("read a file"))?;
        if count == 0 {
            break;
        }
        let sent = u64::try_from(count).unwrap_or(rest);
        (offset, rest) = (offset.saturating_add(sent), rest.saturating_sub(sent));
        let data = part.get(..count).unwrap_or_default().to_vec();
        let truncated = rest == 0 && path::facts(&target.file)?.size > offset;
        let output = wire::Output { stream: wire::Stream::Content.into(), data, truncated };
        let sent = connection.event(wire::event::Kind::Output(output));
        sent.map_err(Fault::io("send content to the recorder"))?;
    }
    Ok(())
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
        let info = entry(accounts, format!("{path}/{}", name.to_string_lossy()), &facts);
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

fn entry(accounts: &Accounts, path: String, facts: &path::Facts) -> wire::FileInfo {
    let r#type = match SFlag::from_bits_truncate(facts.mode) & SFlag::S_IFMT {
        SFlag::S_IFREG => wire::FileType::File,
        SFlag::S_IFDIR => wire::FileType::Directory,
        SFlag::S_IFLNK => wire::FileType::Symlink,
        _ => wire::FileType::Other,
    };
    wire::FileInfo {
        size: if r#type == wire::FileType::File { facts.size } else { 0 },
        mtime_unix_s: u64::try_from(facts.mtime.0).unwrap_or(0),
        ..accounts.file_info(path, r#type, format!("{:04o}", facts.mode & 0o7777), facts.owner)
    }
}

//! One file, read or changed as the user to whom its directory belongs (`as` of a rule): for postern-units, in a unit of that
//! user's. Without capability, key, policy or state: what this process says is only believed about this user's files.

use crate::path::{Directory, open_granted};
use crate::swap::{self, Step};
use crate::target::open_target;
use crate::xattr::ExtendedAttributes;
use nix::unistd::geteuid;
use postern_policy::request::NewState;
use postern_policy::types::{FileKind, TargetPath};
use postern_policy::{AS_USER_MAX, Invalid};
use postern_proto::link::{self, Kind};
use postern_proto::root::v1::{AsUser, FileFacts};
use postern_root::{Code, Denied, Error, Fault, receive};
use std::os::unix::net::UnixStream;

/// Serves one connection, confined to the rule's directory.
///
/// # Errors
/// The process cannot be confined; or what became of the change is not known.
pub fn serve(mut stream: UnixStream, confine: fn(&Directory) -> Result<(), Fault>) -> Result<(), Fault> {
    let Ok(asked) = receive::message(&mut stream, Kind::RootInspect) else { return Ok(()) };
    let code = match act(&mut stream, &asked, confine) {
        Ok(()) => String::new(),
        Err(error) => error.close().ok_or_else(|| Fault::new(error.detail()))?.code,
    };
    // Without postern-units nobody reads it.
    drop(link::send(&mut stream, Kind::RootInspect, &AsUser { code, ..AsUser::default() }));
    Ok(())
}

/// Sends the file, then waits for its new content. The closing of the connection ends it: nobody wants a change.
fn act(
    stream: &mut UnixStream,
    asked: &AsUser,
    confine: fn(&Directory) -> Result<(), Fault>,
) -> Result<(), Error> {
    let uid = geteuid().as_raw();
    let (directory, path) = (TargetPath::new(&asked.directory)?, TargetPath::new(&asked.path)?);
    let below = path.below(&directory).ok_or(Invalid::new("path", "must be below the directory"))?;
    let granted = open_granted(&directory, uid)?;
    confine(&granted)?;
    let parent = granted.open_parent(below, uid)?;
    // Left by a process of the same order that was killed; usually it has no name.
    swap::remove(&parent, &asked.temporary)?;
    let name = path.split().1;
    let missing = || Denied::new(Code::NotFound, "it does not exist");
    let target = open_target(&parent, name, &[FileKind::File])?.ok_or_else(missing)?;
    if target.attributes.uid != uid {
        return Err(Denied::new(Code::SpecialFile, "the file is not the user's own").into());
    }
    let file = FileFacts { attributes: Vec::new(), ..target.to_wire(&asked.path, true)? };
    let content = if file.size <= AS_USER_MAX { target.content()? } else { Vec::new() };
    let sent = link::send(stream, Kind::RootInspect, &AsUser { file: Some(file), ..AsUser::default() });
    sent.and_then(|()| link::send_content(stream, &content)).map_err(Fault::io("send a file"))?;
    let cut = |_| Fault::new("no new content");
    let AsUser { content, temporary, .. } = receive::message(stream, Kind::RootInspect).map_err(cut)?;
    let (announced, temporary) = (content.unwrap_or_default(), temporary.as_str());
    let content = receive::content(stream, &announced).map_err(cut)?;
    let to = NewState::Content(content);
    let (attributes, kept) = (target.attributes, ExtendedAttributes::of(&target.file, name)?);
    let (old, extended) = (Some(&target), Some(&kept));
    let step = Step { parent: &parent, name, temporary, old, to: &to, attributes, extended };
    swap::stage(&[step]).inspect_err(|_| drop(swap::remove(&parent, temporary)))?;
    // Denied: not exchanged, or exchanged back. After another error the old file may have the temporary name.
    let swapped = step.swap();
    if matches!(swapped, Err(Error::Denied(_))) {
        swap::remove(&parent, temporary)?;
    }
    swapped?;
    swap::clear(&[step]).map_err(Error::begun)
}

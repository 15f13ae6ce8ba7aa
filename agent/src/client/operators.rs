//! The operators who may approve, and how to reach them: members of the group, and who may open operator.sock.
//!
//! Nothing is decided here. The helper alone lets somebody approve, by what the kernel says of their socket.

use crate::config::host::Host;
use nix::fcntl::OFlag;
use nix::unistd::{AccessFlags, Gid, Group, Uid, User, access};
use std::fs::{Metadata, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Whether the person at this terminal may ask the helper to approve something.
#[must_use]
pub fn may_approve(host: &Host) -> bool {
    access(&host.operator_socket, AccessFlags::W_OK).is_ok()
}

/// An approval's id, 32 lower-case hex digits; `None` for anything else, since it becomes an argument.
#[must_use]
pub fn approval_id(text: &str) -> Option<&str> {
    let is_digit = |b: u8| matches!(b, b'0'..=b'9' | b'a'..=b'f');
    (text.len() == 32 && text.bytes().all(is_digit)).then_some(text)
}

/// Names the members of the operators' group, for messages.
#[must_use]
pub fn who(group: &str) -> String {
    match Group::from_name(group).ok().flatten() {
        Some(found) if !found.mem.is_empty() => format!("{} (group {group})", found.mem.join(", ")),
        Some(_) | None => format!("nobody yet: add people to the group {group}"),
    }
}

/// Writes one fixed line with an approval's id on each terminal of an operator that accepts messages. The owner is
/// read from the terminal itself: logins over ssh have none in Debian 13's list of sessions, and the `wall -g` of
/// Debian 12 also reaches others.
///
/// Returns how many terminals took it.
///
/// # Errors
/// There is no such group.
pub fn tell(host: &Host, approval_id: &str) -> Result<usize, String> {
    let name = &host.operators;
    let group = Group::from_name(name).map_err(|e| format!("cannot look up the group {name}: {e}"))?;
    let group = group.ok_or_else(|| format!("there is no group {name}"))?;
    let line =
        format!("\r\npostern: a request waits for your approval: postern-admin show {approval_id}\x07\r\n");
    let reached = terminals(&host.terminals).filter(|path| write_line(path, &group, &line));
    Ok(reached.count())
}

/// Whether somebody is at a terminal who may approve.
#[must_use]
pub fn is_here(host: &Host) -> bool {
    let Ok(Some(group)) = Group::from_name(&host.operators) else { return false };
    terminals(&host.terminals).any(|path| {
        path.metadata()
            .is_ok_and(|found| found.file_type().is_char_device() && is_member(found.uid(), &group))
    })
}

fn terminals(directories: &[PathBuf]) -> impl Iterator<Item = PathBuf> {
    let entries = directories.iter().flat_map(std::fs::read_dir).flatten().flatten();
    entries.filter(|entry| is_terminal_name(&entry.file_name().to_string_lossy())).map(|entry| entry.path())
}

/// `3` in /dev/pts; `tty1` and `ttyS0` in /dev, not `tty`, which is everybody's own.
fn is_terminal_name(name: &str) -> bool {
    let number = name.strip_prefix("ttyS").or_else(|| name.strip_prefix("tty")).unwrap_or(name);
    !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit())
}

fn write_line(path: &Path, group: &Group, line: &str) -> bool {
    let takes = |found: &Metadata| {
        // The second: `mesg n`.
        found.file_type().is_char_device() && found.mode() & 0o020 != 0 && is_member(found.uid(), group)
    };
    if !path.metadata().is_ok_and(|found| takes(&found)) {
        return false;
    }
    // A terminal that was stopped must not hold this up, nor become this process's own.
    let flags = (OFlag::O_NONBLOCK | OFlag::O_NOCTTY).bits();
    let Ok(mut terminal) = OpenOptions::new().write(true).custom_flags(flags).open(path) else {
        return false;
    };
    // Asked again of what was opened: its number may have gone to somebody else.
    terminal.metadata().is_ok_and(|found| takes(&found)) && terminal.write_all(line.as_bytes()).is_ok()
}

fn is_member(uid: u32, group: &Group) -> bool {
    let user = User::from_uid(Uid::from_raw(uid)).ok().flatten();
    user.is_some_and(|user| Gid::eq(&user.gid, &group.gid) || group.mem.contains(&user.name))
}

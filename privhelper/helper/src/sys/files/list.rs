//! What is in a directory: names and facts, nothing followed, nothing opened.

use crate::error::{Fault, Stop};
use nix::dir::Dir;
use nix::errno::Errno;
use nix::fcntl::AtFlags;
use nix::sys::stat::{FileStat, fstatat};
use std::collections::BTreeSet;
use std::ffi::CString;
use std::os::fd::OwnedFd;

/// The first names of a directory, in the order of their bytes, each with its facts, and how many there are in all.
/// What goes away meanwhile is left out.
///
/// # Errors
/// It can't be read.
pub fn list(directory: OwnedFd, most: usize) -> Result<(Vec<(CString, FileStat)>, u64), Stop> {
    let failed = "read a directory";
    let at = directory.try_clone().map_err(Fault::io(failed))?;
    let mut names = BTreeSet::new();
    let mut count = 0_u64;
    for entry in Dir::from_fd(directory).map_err(Fault::io(failed))?.iter() {
        let name = entry.map_err(Fault::io(failed))?.file_name().to_owned();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        count = count.saturating_add(1);
        names.insert(name);
        if names.len() > most {
            names.pop_last();
        }
    }
    let mut entries = Vec::with_capacity(names.len());
    for name in names {
        match fstatat(&at, name.as_c_str(), AtFlags::AT_SYMLINK_NOFOLLOW) {
            Ok(stat) => entries.push((name, stat)),
            Err(Errno::ENOENT) => {}
            Err(errno) => return Err(Fault::io("stat a file")(errno).into()),
        }
    }
    Ok((entries, count))
}

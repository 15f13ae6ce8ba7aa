//! File systems and the space on them.
//!
//! mountinfo is read here and not by the crate procfs, which leaves the kernel's octal escapes in mount points.

use super::list::List;
use super::read_error::ReadError;
use super::read_result::{HostPaths, ReadResult};
use super::system::text;
use nix::sys::statvfs::statvfs;
use serde_json::json;
use std::collections::BTreeSet;

/// Kinds of file systems with data on them that are this host's own: one that is another's may hang.
const OWN: &[&str] = &[
    "bcachefs", "btrfs", "erofs", "exfat", "ext2", "ext3", "ext4", "f2fs", "iso9660", "ntfs3", "overlay",
    "squashfs", "tmpfs", "vfat", "xfs", "zfs",
];

/// One entry a file system, where it is seen first. Those of other hosts are named only.
pub fn disks(places: &HostPaths) -> Result<ReadResult, ReadError> {
    let mounts = text(places, "proc/self/mountinfo");
    let (mut seen, mut list) = (BTreeSet::new(), List::default());
    for mount in mounts.lines() {
        let Some((device, at, kind, source)) = parts(mount) else { continue };
        let is_remote = ["nfs", "nfs4", "cifs", "9p", "ceph"].contains(&kind) || kind.starts_with("fuse.");
        if !OWN.contains(&kind) && !is_remote || !seen.insert(device) {
            continue;
        }
        let mut entry = json!({ "path": at, "type": kind, "source": source });
        if !is_remote && let Ok(facts) = statvfs(at.as_str()) {
            let size = facts.fragment_size();
            if facts.blocks() == 0 {
                continue;
            }
            entry["size_bytes"] = json!(facts.blocks() * size);
            entry["available_bytes"] = json!(facts.blocks_available() * size);
            let used = facts.blocks() - facts.blocks_free();
            let shared = used + facts.blocks_available();
            entry["used_percent"] = json!((used * 100).checked_div(shared).unwrap_or_default());
            if facts.files() > 0 {
                entry["inodes_available"] = json!(facts.files_available());
            }
        }
        list.push(entry);
    }
    if list.len() == 0 {
        return Err(ReadError::Failed("the kernel names no file systems here".to_owned()));
    }
    Ok(list.found("disks"))
}

/// Device, mount point, kind and source of a line of mountinfo.
fn parts(line: &str) -> Option<(&str, String, &str, &str)> {
    let (ours, theirs) = line.split_once(" - ")?;
    let mut ours = ours.split(' ').skip(2);
    let (device, at) = (ours.next()?, ours.nth(1)?);
    let mut theirs = theirs.split(' ');
    Some((device, unescaped(at), theirs.next()?, theirs.next()?))
}

/// The kernel writes blanks, tabs, line breaks and backslashes as octal numbers.
fn unescaped(text: &str) -> String {
    [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")]
        .iter()
        .fold(text.to_owned(), |text, (code, plain)| text.replace(code, plain))
}

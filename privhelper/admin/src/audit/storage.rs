//! Whether overwriting a file in place erases what it held.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// File systems that write a changed block elsewhere (statfs(2)).
const COPYING: [(i64, &str); 5] = [
    (0x9123_683e, "btrfs"),
    (0x2fc1_2fc1, "zfs"),
    (0xf2f5_2010, "f2fs"),
    (0xca45_1a4e, "bcachefs"),
    (0x794c_7630, "overlayfs"),
];

/// Why overwriting a file on this path's file system does not erase it on the disk, if that is known (statfs(2), proc(5)).
#[must_use]
pub fn keeps_old(path: &Path) -> Option<String> {
    let kind = nix::sys::statfs::statfs(path).ok()?.filesystem_type().0;
    if let Some((_, name)) = COPYING.iter().find(|(magic, _)| *magic == kind) {
        return Some(format!("{name} writes elsewhere and keeps the old"));
    }
    let device = fs::metadata(path).ok()?.dev();
    let (major, minor) = (nix::sys::stat::major(device), nix::sys::stat::minor(device));
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let device = format!(" {major}:{minor} ");
    let is_journaled = |line: &str| line.contains(&device) && line.contains("data=journal");
    let journaled = mounts.lines().any(is_journaled);
    journaled.then(|| "ext4 with data=journal keeps copies in its journal".to_owned())
}

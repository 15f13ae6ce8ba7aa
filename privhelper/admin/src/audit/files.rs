//! Which files are the log, in which order.

use crate::host::Host;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

/// More bytes are not read of another user's log, which may have holes: the agent writes 16 MiB a day and keeps them for 30 days.
pub const FOREIGN_MAX: u64 = 4 << 30;
/// The file that is written.
pub const CURRENT: &str = "audit.jsonl";

/// The log's files in order: those that were rotated away, then the one that is written. While a rotated file is being
/// compressed both forms exist: the uncompressed one counts.
///
/// # Errors
/// The directory cannot be read.
pub fn files(log: &Path) -> io::Result<Vec<PathBuf>> {
    let mut rotated = BTreeMap::new();
    for entry in std::fs::read_dir(log)? {
        let path = entry?.path();
        let Some(seq) = first_seq(&path) else { continue };
        let is_packed = |path: &Path| path.extension().is_some_and(|extension| extension != "jsonl");
        let known = rotated.entry(seq).or_insert_with(|| path.clone());
        if is_packed(known) && !is_packed(&path) {
            *known = path;
        }
    }
    let mut files = rotated.into_values().collect::<Vec<_>>();
    let current = log.join(CURRENT);
    if current.exists() {
        files.push(current);
    }
    Ok(files)
}

/// The same of a directory that another user may replace: it is one, and not a symbolic link to one.
///
/// # Errors
/// It cannot be read, or is something else.
pub fn files_of_another_user(log: &Path) -> io::Result<Vec<PathBuf>> {
    if !log.symlink_metadata()?.is_dir() {
        return Err(io::Error::other("it is no directory"));
    }
    let mut files = files(log)?;
    let current = log.join(CURRENT);
    // A link that leads nowhere is one all the same.
    if files.last() != Some(&current) && current.symlink_metadata().is_ok() {
        files.push(current);
    }
    let sizes = files.iter().filter_map(|file| file.symlink_metadata().ok()).map(|facts| facts.len());
    let bytes = sizes.fold(0, u64::saturating_add);
    if bytes > FOREIGN_MAX {
        return Err(io::Error::other(format!("its files have {bytes} bytes, more than the agent keeps")));
    }
    Ok(files)
}

/// The number of the first record that a rotated file's name says: `audit-000000000042.jsonl`, compressed or not.
pub fn first_seq(path: &Path) -> Option<u64> {
    let name = path.file_name()?.to_str()?;
    let (digits, packed) = name.strip_prefix("audit-")?.split_once(".jsonl")?;
    let is_number = digits.len() == 12 && digits.bytes().all(|b| b.is_ascii_digit());
    if is_number && matches!(packed, "" | ".gz" | ".zst" | ".xz") { digits.parse().ok() } else { None }
}

/// The files that a command is about, or what to tell if there are none.
pub fn chosen(host: &Host, named: &[PathBuf]) -> Result<Vec<PathBuf>, String> {
    if !named.is_empty() {
        return Ok(named.to_vec());
    }
    match files(&host.log) {
        Ok(files) if files.is_empty() => Err(format!("there is no audit log in {}", host.log.display())),
        Ok(files) => Ok(files),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(format!("there is no audit log in {}", host.log.display()))
        }
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            Err("the audit log is for root and members of postern-auditors".to_owned())
        }
        Err(error) => Err(format!("{}: {error}", host.log.display())),
    }
}

//! The accepted form on disk: `accepted.pb`, with a copy of its TOML files beside it.
//!
//! The copy is in `files-<first 16 hex digits of SHA-256 of accepted.pb>`, so
//! that the rename of `accepted.pb` alone decides which of the two is active.

use super::Compiled;
use super::source::Source;
use crate::file::{self, Access};
use nix::fcntl::{Flock, FlockArg, OFlag};
use postern_policy::types::Digest;
use postern_proto::root::v1 as root;
use prost::Message;
use std::fs::{self, DirBuilder, File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// The name of the accepted form.
pub const FILE: &str = "accepted.pb";
/// The name of the key that stages and validators' agreements are authenticated with.
const KEY: &str = "validator.key";

/// The accepted policy.
#[derive(Debug, Clone, PartialEq)]
pub struct Accepted {
    /// Clients and rules.
    pub rules: root::Rules,
    /// Where each rule stood.
    pub positions: Vec<root::Position>,
    /// SHA-256 of the encoded rules.
    pub digest: Digest,
    /// When, in seconds since 1970.
    pub applied_unix_s: u64,
    /// The real uid that accepted it.
    pub applied_by: u32,
}

/// Reads the accepted policy in `directory`; none if none was ever accepted.
///
/// # Errors
/// It cannot be read (by this user), or is not what `apply` wrote.
pub fn read(directory: &Path) -> io::Result<Option<Accepted>> {
    read_file(&directory.join(FILE))
}

/// Reads the accepted form in this file; none if there is no such file.
///
/// # Errors
/// As [`read`].
pub fn read_file(path: &Path) -> io::Result<Option<Accepted>> {
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let damaged = || io::Error::new(io::ErrorKind::InvalidData, "the accepted policy is damaged");
    let wire = root::AcceptedPolicy::decode(bytes.as_slice()).map_err(|_| damaged())?;
    let rules = root::Rules::decode(wire.rules.as_slice()).map_err(|_| damaged())?;
    let digest = Digest::from_bytes(&wire.digest).filter(|digest| *digest == Digest::of(&[&wire.rules]));
    let digest = digest.ok_or_else(damaged)?;
    let (applied_unix_s, applied_by) = (wire.applied_unix_s, wire.applied_by);
    Ok(Some(Accepted { rules, positions: wire.positions, digest, applied_unix_s, applied_by }))
}

/// The TOML files that the accepted policy came from; none if none was ever accepted.
///
/// # Errors
/// The accepted form cannot be read (by this user).
pub fn files(directory: &Path) -> io::Result<Option<PathBuf>> {
    match fs::read(directory.join(FILE)) {
        Ok(bytes) => Ok(Some(directory.join(copy_name(&bytes)))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The name of the directory with the files of this accepted form.
fn copy_name(accepted: &[u8]) -> String {
    format!("files-{}", &Digest::of(&[accepted]).to_string()[..16])
}

/// The directory of the accepted policy, held by one `apply` at a time.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    directory: File,
    /// Held until the end.
    _lock: Flock<File>,
    /// The group of the programs that may read it.
    group: u32,
}

/// A policy that has just been accepted, and can still be taken back.
#[derive(Debug)]
pub struct Replaced {
    /// The previous `accepted.pb`, if there was one.
    before: Option<Vec<u8>>,
    /// The new copy of the TOML files.
    copy: String,
}

impl Store {
    /// Opens the directory, and makes it if it is missing; `group` may read it.
    ///
    /// # Errors
    /// It is not `owner`'s alone, or another `apply` holds it.
    pub fn open(path: &Path, owner: u32, group: u32) -> io::Result<Self> {
        let made = match DirBuilder::new().mode(0o700).create(path) {
            Ok(()) => true,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => false,
            Err(error) => return Err(error),
        };
        let directory = File::open(path)?;
        if made {
            share(&directory, group, 0o750)?;
            path.parent().map_or(Ok(()), |parent| File::open(parent)?.sync_all())?;
        }
        let facts = directory.metadata()?;
        if facts.uid() != owner || facts.mode() & 0o022 != 0 {
            let why = format!("{} is not owned by uid {owner} or is writable by others", path.display());
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
        }
        // Not the directory itself: whoever may read that could hold its lock.
        let mut lock = File::options();
        lock.write(true).create(true).truncate(false).mode(0o600).custom_flags(OFlag::O_NOFOLLOW.bits());
        #[expect(clippy::disallowed_methods, reason = "a lock has no content that could be torn")]
        let lock = lock.open(path.join("apply.lock"))?;
        let lock = Flock::lock(lock, FlockArg::LockExclusiveNonblock).map_err(|(_, _)| {
            io::Error::new(io::ErrorKind::WouldBlock, "another `policy apply` is under way")
        })?;
        Ok(Self { path: path.to_owned(), directory, _lock: lock, group })
    }

    /// Accepts a policy: all or nothing, also at a power loss. The previous policy can be restored.
    ///
    /// # Errors
    /// Something could not be written; the previous policy is untouched.
    pub fn write(
        &self,
        policy: &Compiled,
        sources: &[Source],
        unix_s: u64,
        uid: u32,
    ) -> io::Result<Replaced> {
        let wire = root::AcceptedPolicy {
            rules: policy.rules.encode_to_vec(),
            digest: policy.digest.as_bytes().to_vec(),
            positions: policy.positions.clone(),
            applied_unix_s: unix_s,
            applied_by: uid,
        };
        let bytes = wire.encode_to_vec();
        let name = copy_name(&bytes);
        let before = match fs::read(self.path.join(FILE)) {
            // The very same, accepted twice within a second.
            Ok(there) if there == bytes => return Ok(Replaced { before: Some(there), copy: name }),
            Ok(there) => Some(there),
            Err(_) => None,
        };
        let copy = self.copy(&name, sources)?;
        self.replace(FILE, &bytes, self.group)?;
        // Accepted from here on, so the copy stays.
        let _ = copy.keep();
        Ok(Replaced { before, copy: name })
    }

    /// Lets a policy stay accepted: older copies are of no use. One that cannot be removed is no error.
    pub fn keep(&self, replaced: &Replaced) {
        let _ = self.sweep(&replaced.copy);
    }

    /// Restores the previous accepted policy.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn restore(&self, replaced: &Replaced) -> io::Result<()> {
        match &replaced.before {
            Some(bytes) => {
                self.replace(FILE, bytes, self.group)?;
                let _ = self.sweep(&copy_name(bytes));
                Ok(())
            }
            None => fs::remove_file(self.path.join(FILE)).and_then(|()| self.directory.sync_all()),
        }
    }

    /// Makes the key of validators if there is none, and lets the programs' group read what is accepted: a package of
    /// before may have left it to root alone.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn share(&self, files_group: u32) -> io::Result<()> {
        let key = self.path.join(KEY);
        if !key.exists() {
            let mut random = [0; 32];
            io::Read::read_exact(&mut File::open("/dev/urandom")?, &mut random)?;
            self.replace(KEY, &random, files_group)?;
        }
        share(&File::open(key)?, files_group, 0o640)?;
        match File::open(self.path.join(FILE)) {
            Ok(file) => share(&file, self.group, 0o640)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        share(&self.directory, self.group, 0o750)
    }

    /// Writes the TOML files to a directory of their own, which goes again if it is not kept.
    fn copy(&self, name: &str, sources: &[Source]) -> io::Result<TempDir> {
        let target = self.path.join(name);
        if target.exists() {
            // Left by an `apply` that was killed; no accepted policy names it.
            fs::remove_dir_all(target)?;
        }
        let directory = tempfile::Builder::new()
            .prefix(name)
            .rand_bytes(0)
            .permissions(Permissions::from_mode(0o700))
            .tempdir_in(&self.path)?;
        for source in sources {
            let path = directory.path().join(&source.relative);
            if let Some(parent) = path.parent().filter(|parent| !parent.exists()) {
                DirBuilder::new().mode(0o700).create(parent)?;
            }
            let mut file = File::create_new(&path)?;
            file.set_permissions(Permissions::from_mode(0o600))?;
            file.write_all(source.text.as_bytes())?;
            file.sync_all()?;
        }
        for path in [directory.path().join("policy.d"), directory.path().to_owned()] {
            if path.exists() {
                File::open(path)?.sync_all()?;
            }
        }
        Ok(directory)
    }

    fn replace(&self, name: &str, bytes: &[u8], group: u32) -> io::Result<()> {
        file::replace(&self.path.join(name), bytes, Access::group(group))
    }

    fn sweep(&self, keep: &str) -> io::Result<()> {
        for entry in fs::read_dir(&self.path)? {
            let name = entry?.file_name();
            let is_ours = name.to_str().is_some_and(|name| name.starts_with("files-") && name != keep);
            if is_ours {
                fs::remove_dir_all(self.path.join(name))?;
            }
        }
        Ok(())
    }
}

/// Lets a group read it.
fn share(file: &File, group: u32, mode: u32) -> io::Result<()> {
    fchown(file, None, Some(group))?;
    file.set_permissions(Permissions::from_mode(mode))
}

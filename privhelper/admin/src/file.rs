//! Files that are replaced whole.

use std::fs::{File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{PermissionsExt, fchown};
use std::path::Path;

/// The owner, group and mode of a written file. Without an owner or group the file has this process's.
#[derive(Debug, Clone, Copy)]
pub struct Access {
    /// The owner.
    pub uid: Option<u32>,
    /// The group.
    pub gid: Option<u32>,
    /// The mode.
    pub mode: u32,
}

impl Access {
    /// This process's own file, with this mode.
    #[must_use]
    pub const fn own(mode: u32) -> Self {
        Self { uid: None, gid: None, mode }
    }

    /// A file that this group may read, of mode 0640.
    #[must_use]
    pub const fn group(gid: u32) -> Self {
        Self { uid: None, gid: Some(gid), mode: 0o640 }
    }
}

/// Writes a file whole or not at all, also when the power goes. Its directory exists.
///
/// # Errors
/// It cannot be written; what was there stays.
pub fn replace(path: &Path, bytes: &[u8], access: Access) -> io::Result<()> {
    let directory = path.parent().unwrap_or(Path::new("/"));
    // tempfile makes it with mode 0600 under a name that nobody has; with its leading dot it is no part of a policy.
    let mut file = tempfile::NamedTempFile::new_in(directory)?;
    file.write_all(bytes)?;
    // A unit without privileges may not even ask for the owner that the file has.
    if access.uid.is_some() || access.gid.is_some() {
        fchown(file.as_file(), access.uid, access.gid)?;
    }
    file.as_file().set_permissions(Permissions::from_mode(access.mode))?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    File::open(directory)?.sync_all()
}

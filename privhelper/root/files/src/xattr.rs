//! Extended attributes that a new file gets from the file it replaces: ACL, `SELinux` label, `user.*`.

use crate::path::special;
use postern_policy::types::FileMode;
use postern_proto::root::v1::ExtendedAttribute;
use postern_root::{Error, Fault};
use rustix::fs::{XattrFlags, fgetxattr, flistxattr, fremovexattr, fsetxattr};
use rustix::io::Errno;
use std::os::fd::AsFd;

/// Most bytes of names, and of names and values together.
const MAX: usize = 64 * 1024;
const ACL: &[u8] = b"system.posix_acl_access";
const DEFAULT_ACL: &[u8] = b"system.posix_acl_default";
const LABEL: &[u8] = b"security.selinux";

/// The attributes of a file, sorted by name, as a journal holds them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ExtendedAttributes(pub Vec<ExtendedAttribute>);

/// The names of a file's extended attributes.
///
/// # Errors
/// They cannot be listed.
pub fn names(file: impl AsFd) -> Result<Vec<Vec<u8>>, Error> {
    let mut list = vec![0; MAX];
    let length = match flistxattr(file, list.as_mut_slice()) {
        Ok(length) => length,
        Err(Errno::OPNOTSUPP) => 0,
        Err(errno) => return Err(Fault::io("list extended attributes")(errno).into()),
    };
    list.truncate(length);
    Ok(list.split(|byte| *byte == 0).filter(|name| !name.is_empty()).map(<[u8]>::to_vec).collect())
}

impl ExtendedAttributes {
    /// Reads those of an open file, `of` that name.
    ///
    /// # Errors
    /// `special_file` for one that cannot be kept, and for more than 64 KiB.
    pub fn of(file: impl AsFd, of: &str) -> Result<Self, Error> {
        let file = file.as_fd();
        let (mut all, mut room) = (Vec::new(), MAX);
        for name in names(file)? {
            if !(name == ACL || name == DEFAULT_ACL || name == LABEL || name.starts_with(b"user.")) {
                let name = String::from_utf8_lossy(&name);
                return Err(special(format!("{of:?} has {name:?}, which cannot be given to a new file")));
            }
            let mut value = vec![0; MAX];
            let length = fgetxattr(file, &name, value.as_mut_slice())
                .map_err(Fault::io("read an extended attribute"))?;
            value.truncate(length);
            room = room
                .checked_sub(name.len().saturating_add(length))
                .ok_or_else(|| special(format!("{of:?} has more than 64 KiB of extended attributes")))?;
            all.push(ExtendedAttribute { name, value });
        }
        all.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        Ok(Self(all))
    }

    /// Gives a new file these attributes and no others, not even an inherited ACL. The ACL already has the mode in it, so that
    /// it never permits more than ACL and mode together.
    ///
    /// # Errors
    /// `special_file` if the file system or the kernel refuses one.
    pub fn set(&self, file: impl AsFd, of: &str, mode: FileMode) -> Result<(), Error> {
        let file = file.as_fd();
        let mut wanted = self.clone();
        for acl in wanted.0.iter_mut().filter(|attribute| attribute.name == ACL) {
            put_mode(&mut acl.value, mode);
        }
        let not_taken = |name: &[u8]| {
            let name = String::from_utf8_lossy(name).into_owned();
            move |errno: Errno| special(format!("{name:?} of {of:?} cannot be kept: {errno}"))
        };
        let has = Self::of(file, of)?;
        for ExtendedAttribute { name, .. } in &has.0 {
            if !wanted.0.iter().any(|wanted| wanted.name == *name) {
                fremovexattr(file, name).map_err(not_taken(name))?;
            }
        }
        for ExtendedAttribute { name, value } in wanted.0.iter().filter(|wanted| !has.0.contains(wanted)) {
            fsetxattr(file, name, value, XattrFlags::empty()).map_err(not_taken(name))?;
        }
        if Self::of(file, of)? == wanted {
            return Ok(());
        }
        Err(special(format!("the extended attributes of {of:?} cannot be kept as they are")))
    }
}

/// Puts mode bits into an ACL, as chmod(2) does: a version of four bytes, then entries of tag, permissions and id (<`linux/posix_acl_xattr.h`>).
/// The kernel refuses anything that is no ACL.
fn put_mode(acl: &mut [u8], mode: FileMode) {
    const OWNER: u8 = 0x01;
    const MASK: u8 = 0x10;
    const OTHER: u8 = 0x20;
    let bits = |shift: u32| u8::try_from((mode.bits() >> shift) & 7).unwrap_or(0);
    for entry in acl.get_mut(4..).unwrap_or_default().chunks_exact_mut(8) {
        if let [tag, _, permissions, ..] = entry {
            *permissions = match *tag {
                OWNER => bits(6),
                MASK => bits(3),
                OTHER => bits(0),
                _ => continue,
            };
        }
    }
}

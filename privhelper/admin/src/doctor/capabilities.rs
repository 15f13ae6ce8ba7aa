//! Programs with powers of their own that a user can run: file capabilities (capabilities(7)), and setuid for one group alone.

use crate::lint::facts::User;
use caps::Capability;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The extended attribute, and its longest form.
const ATTRIBUTE: &str = "security.capability";
const ATTRIBUTE_MAX: usize = 24;
/// Capabilities that programs of Debian give everybody: an address for ping, a low port, a priority, locked memory.
const COMMON: [Capability; 5] = [
    Capability::CAP_NET_RAW,
    Capability::CAP_NET_BIND_SERVICE,
    Capability::CAP_NET_BROADCAST,
    Capability::CAP_SYS_NICE,
    Capability::CAP_IPC_LOCK,
];
const SETUID: u32 = 0o4000;

/// A power that a user has by running a program, and that others lack or nobody should have.
#[derive(Debug)]
pub struct Power {
    /// For a person: the end of a sentence about the user.
    pub words: String,
    /// By capabilities of the file, not by setuid.
    pub is_by_capability: bool,
    /// As a member of a group, not as anybody.
    pub is_by_group: bool,
}

/// The power of a user by this program, if there is one.
#[must_use]
pub fn power(user: &User, path: &Path, facts: &Metadata) -> Option<Power> {
    let (is_owner, group) = (facts.uid() == user.uid, user.groups.iter().find(|own| own.gid == facts.gid()));
    let mode = facts.mode();
    let (runs, by_group) = match (is_owner, group) {
        (true, _) => (mode & 0o100 != 0, None),
        (false, Some(group)) => (mode & 0o010 != 0, Some(group)),
        (false, None) => (mode & 0o001 != 0, None),
    };
    if !runs {
        return None;
    }
    let is_for_all = mode & 0o001 != 0;
    let by = by_group.filter(|_| !is_for_all).map(|group| format!(" as a member of {}", group.name));
    let mut found = capabilities(&attribute(path).unwrap_or_default());
    // A capability that anybody can use counts where programs of the distribution do not have it.
    found.retain(|capability| by.is_some() || !COMMON.contains(capability));
    let (is_by_group, by) = (by.is_some(), by.unwrap_or_default());
    if !found.is_empty() {
        let names = found.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        return Some(Power {
            words: format!("can run it with {names}{by}"),
            is_by_capability: true,
            is_by_group,
        });
    }
    let is_for_the_group = mode & SETUID != 0 && !is_for_all && facts.uid() != user.uid;
    let words = || format!("can run it as its owner{by}");
    is_for_the_group.then(|| Power { words: words(), is_by_capability: false, is_by_group })
}

/// The attribute of a file; none if it has none.
fn attribute(path: &Path) -> Option<Vec<u8>> {
    let mut value = vec![0; ATTRIBUTE_MAX];
    let length = rustix::fs::lgetxattr(path, ATTRIBUTE, value.as_mut_slice()).ok()?;
    value.truncate(length);
    Some(value)
}

/// The permitted capabilities in the value of the attribute: `struct vfs_cap_data` of linux/capability.h, in revisions 2 and 3.
#[must_use]
pub fn capabilities(value: &[u8]) -> Vec<Capability> {
    let word = |at: usize| {
        let bytes = value.get(at..at + 4).and_then(|bytes| <[u8; 4]>::try_from(bytes).ok());
        u64::from(bytes.map_or(0, u32::from_le_bytes))
    };
    // Permitted and inheritable bits alternate: the upper half is the third pair's first.
    let permitted = word(4) | (word(12) << 32);
    let mut found = caps::all().into_iter().filter(|one| permitted & one.bitmask() != 0).collect::<Vec<_>>();
    found.sort_by_key(Capability::index);
    found
}

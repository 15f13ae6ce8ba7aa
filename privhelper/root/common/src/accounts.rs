//! Local accounts: names and numbers from passwd(5) and group(5). No NSS, read anew for each order.

use crate::error::Fault;
use crate::store;
use postern_policy::Identity;
use postern_proto::v1::{FileInfo, FileType};
use std::path::Path;

/// Largest account file, in bytes.
const MAX: u64 = 16 * 1024 * 1024;

/// The text of the two files.
#[derive(Debug)]
pub struct Accounts {
    passwd: String,
    group: String,
}

impl Accounts {
    /// Reads both files.
    ///
    /// # Errors
    /// One is missing or cannot be read.
    pub fn read(passwd: &Path, group: &Path) -> Result<Self, Fault> {
        let text = |path| {
            let bytes = store::read(path, MAX)?.ok_or_else(|| Fault::corrupt("passwd or group"))?;
            Ok(String::from_utf8_lossy(&bytes).into_owned())
        };
        Ok(Self { passwd: text(passwd)?, group: text(group)? })
    }

    /// Returns the names of this uid.
    #[must_use]
    pub fn identity(&self, uid: u32) -> Identity {
        Identity::parse(uid, &self.passwd, &self.group)
    }

    /// The uid of this user.
    #[must_use]
    pub fn user(&self, name: &str) -> Option<u32> {
        entries(&self.passwd).find(|entry| entry.0 == name).map(|entry| entry.1)
    }

    /// The gid of this group.
    #[must_use]
    pub fn group(&self, name: &str) -> Option<u32> {
        entries(&self.group).find(|entry| entry.0 == name).map(|entry| entry.1)
    }

    /// The name of this uid.
    #[must_use]
    pub fn user_name(&self, uid: u32) -> Option<&str> {
        entries(&self.passwd).find(|entry| entry.1 == uid).map(|entry| entry.0)
    }

    /// The name of this gid.
    #[must_use]
    pub fn group_name(&self, gid: u32) -> Option<&str> {
        entries(&self.group).find(|entry| entry.1 == gid).map(|entry| entry.0)
    }

    /// A file as a client gets it, without its size and content.
    #[must_use]
    pub fn file_info(&self, path: String, r#type: FileType, mode: String, owner: (u32, u32)) -> FileInfo {
        let (uid, gid) = owner;
        let owner = self.user_name(uid).map_or_else(|| uid.to_string(), str::to_owned);
        let group = self.group_name(gid).map_or_else(|| gid.to_string(), str::to_owned);
        FileInfo { path, r#type: r#type.into(), mode, owner, group, ..FileInfo::default() }
    }
}

/// Name and number of each line: the first and the third field of both files.
fn entries(text: &str) -> impl Iterator<Item = (&str, u32)> {
    text.lines().filter_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next().filter(|name| !name.is_empty() && !name.starts_with(['+', '-', '#']))?;
        Some((name, fields.nth(1)?.parse().ok()?))
    })
}

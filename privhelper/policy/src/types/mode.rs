//! Permission bits of a file.

use crate::error::Invalid;
use std::fmt;

/// Permission bits without setuid, setgid and sticky; shown as four octal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileMode(u32);

impl FileMode {
    /// The default of a new file.
    pub const DEFAULT: Self = Self(0o644);

    /// The default of a new directory.
    pub const DIRECTORY: Self = Self(0o755);

    /// Four octal digits of which the first is 0.
    ///
    /// # Errors
    /// Anything else, such as `"4755"` or `"644"`.
    pub fn new(text: &str) -> Result<Self, Invalid> {
        let why = "must be four octal digits such as \"0644\", without setuid, setgid or sticky";
        let bad = Invalid::new("mode", why);
        if text.len() != 4 || !text.starts_with('0') || !text.bytes().all(|b| matches!(b, b'0'..=b'7')) {
            return Err(bad);
        }
        u32::from_str_radix(text, 8).map(Self).map_err(|_| bad)
    }

    /// The permission bits of a file as the kernel reports them, or `None` if it has setuid, setgid or sticky.
    pub fn of_stat(st_mode: u32) -> Option<Self> {
        (st_mode & 0o7000 == 0).then_some(Self(st_mode & 0o777))
    }

    /// The bits.
    pub fn bits(self) -> u32 {
        self.0
    }
}

/// File or directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// A plain file.
    File,
    /// A directory.
    Directory,
}

/// Permission bits, owner and group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attributes {
    /// Permission bits.
    pub mode: FileMode,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
}

impl fmt::Display for FileMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04o}", self.0)
    }
}

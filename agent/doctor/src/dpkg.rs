//! The state of dpkg, as its files have it.

use std::ffi::OsString;
use std::io;
use std::path::Path;

/// Packages that are named.
const NAMED: usize = 5;

/// The state of dpkg.
#[derive(Debug)]
pub enum Dpkg {
    /// A transaction was broken off.
    Interrupted,
    /// Its status cannot be read.
    Unreadable(io::Error),
    /// Packages are not whole: the names of the first, and how many more.
    Broken(String),
    /// No transaction is open, and every package is whole.
    Whole,
}

/// Reads the state of dpkg below this root directory.
#[must_use]
pub fn dpkg(root: &Path) -> Dpkg {
    // dpkg(1) numbers the changes that it has not merged yet.
    let is_number = |name: OsString| name.as_encoded_bytes().iter().all(u8::is_ascii_digit);
    let updates = std::fs::read_dir(root.join("var/lib/dpkg/updates"));
    if updates.into_iter().flatten().flatten().any(|entry| is_number(entry.file_name())) {
        return Dpkg::Interrupted;
    }
    let status = match std::fs::read(root.join("var/lib/dpkg/status")) {
        Ok(status) => String::from_utf8_lossy(&status).into_owned(),
        Err(error) => return Dpkg::Unreadable(error),
    };
    let broken = broken(&status);
    if broken.is_empty() {
        return Dpkg::Whole;
    }
    let more = broken.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let names = broken.into_iter().take(NAMED).collect::<Vec<_>>().join(", ");
    Dpkg::Broken(format!("{names}{more}"))
}

/// Packages in a state that dpkg passes through, or marked to be installed again (dpkg(1), package states).
fn broken(status: &str) -> Vec<&str> {
    let mut broken = Vec::new();
    for paragraph in status.split("\n\n") {
        let field = |name: &str| paragraph.lines().find_map(|line| line.strip_prefix(name));
        let (Some(package), Some(status)) = (field("Package: "), field("Status: ")) else { continue };
        let words: Vec<&str> = status.split_whitespace().collect();
        if !matches!(words.as_slice(), [_, "ok", "installed" | "config-files" | "not-installed"]) {
            broken.push(package);
        }
    }
    broken
}

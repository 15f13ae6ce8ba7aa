//! Names and versions of Debian packages.

use crate::error::Invalid;

/// A package name: 2 to 128 of `[a-z0-9+.-]`, the first `[a-z0-9]` (Debian policy 5.6.7).
///
/// `curl-` and `hello+` are such names and also what apt-get reads as "remove" and
/// "install"; every use of a name is pinned by `:native`, which apt reads as a name alone.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PackageName(String);

impl PackageName {
    /// Checks the name.
    ///
    /// # Errors
    /// Another character, length or first character; a last `-`, which no package has.
    pub fn new(text: &str) -> Result<Self, Invalid> {
        let bad = Invalid::new(
            "packages",
            "a package name is 2 to 128 of a-z, 0-9, '+', '-', '.', begins with a letter or digit and ends in no '-'",
        );
        let first = text.bytes().next().is_some_and(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9'));
        let rest = text.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'+' | b'.' | b'-'));
        let is_name = first && rest && (2..=128).contains(&text.len()) && !text.ends_with('-');
        is_name.then(|| Self(text.to_owned())).ok_or(bad)
    }
}

readers!(PackageName, 0);

/// A version: 1 to 256 of `[A-Za-z0-9.+:~-]`, the first a digit (deb-version(7)).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackageVersion(String);

impl PackageVersion {
    /// Checks the version.
    ///
    /// # Errors
    /// Another character, such as the `*` of a version glob, length or first character.
    pub fn new(text: &str) -> Result<Self, Invalid> {
        let first = text.bytes().next().is_some_and(|b| b.is_ascii_digit());
        let rest =
            text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'+' | b':' | b'~' | b'-'));
        let bad = Invalid::new(
            "version",
            "a version is 1 to 256 of letters, digits, '.', '+', ':', '~', '-' and begins with a digit",
        );
        (first && rest && text.len() <= 256).then(|| Self(text.to_owned())).ok_or(bad)
    }
}

readers!(PackageVersion, 0);

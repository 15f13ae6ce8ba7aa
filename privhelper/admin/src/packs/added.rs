//! Files that `pack add` wrote to `policy.d`: a head of comments says of which pack they are, with which values, and
//! what was written, so that an edit is seen.

use super::fill::{Values, fill};
use super::pack::{Pack, is_name};
use super::variable::split;
use crate::host::Host;
use postern_policy::types::Digest;
use std::fmt::Write;
use std::fs;
use std::io;

/// First words of the first line.
const MARK: &str = "# Pack ";
/// Ends the head.
const END: &str = "#\n";

/// A pack's file in `policy.d`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Added {
    /// The pack's name.
    pub name: String,
    /// The pack's version when it was added.
    pub version: u32,
    /// SHA-256 of the pack's file then.
    pub digest: String,
    /// The values of its variables.
    pub values: Values,
    /// The whole text.
    pub text: String,
    /// Whether somebody changed it since.
    pub is_edited: bool,
}

/// The name of the file in `policy.d` of a pack.
#[must_use]
pub fn file_name(pack: &str) -> String {
    format!("pack-{pack}.toml")
}

/// The text of a pack's file with these values.
///
/// # Errors
/// As [`fill`].
pub fn text(pack: &Pack, values: &Values) -> Result<String, String> {
    let (about, body) = (&pack.about, fill(pack, values)?);
    let mut text = format!("{MARK}{} version {} sha256 {}\n", about.name, about.version, pack.digest);
    for (name, values) in values {
        // A String takes everything.
        let _ = writeln!(text, "# set {name} = {}", values.join(", "));
    }
    let _ = writeln!(
        text,
        "# written {}\n\
         # To change a value: postern-admin pack add {} --set NAME=VALUE. An edit of this file stays: `pack update` asks\n\
         # before it writes over one.",
        Digest::of(&[body.as_bytes()]),
        about.name
    );
    for hazard in &about.hazards {
        let _ = writeln!(text, "# Hazard: {hazard}");
    }
    for left_out in &about.left_out {
        let _ = writeln!(text, "# Left out: {left_out}");
    }
    text.push_str(END);
    text.push_str(&body);
    Ok(text)
}

/// The pack's file, if it was added.
///
/// # Errors
/// It cannot be read, or its head is not one that `pack add` wrote.
pub fn read(host: &Host, name: &str) -> io::Result<Option<Added>> {
    let path = host.etc.join("policy.d").join(file_name(name));
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(io::Error::new(error.kind(), format!("{}: {error}", path.display()))),
    };
    let why = || {
        let why = format!(
            "{}: the comments at its begin are not those of `pack add`: restore or remove them",
            path.display()
        );
        io::Error::new(io::ErrorKind::InvalidData, why)
    };
    parse(&text).filter(|added| added.name == name).map(Some).ok_or_else(why)
}

/// Every pack that was added, by name. Files that are no pack's are left out.
///
/// # Errors
/// The directory cannot be read.
pub fn all(host: &Host) -> io::Result<Vec<Added>> {
    let listing = match fs::read_dir(host.etc.join("policy.d")) {
        Ok(listing) => listing,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut added = Vec::new();
    for entry in listing {
        let name = entry?.file_name();
        let name = name.to_str().and_then(|name| name.strip_prefix("pack-")?.strip_suffix(".toml"));
        if let Some(name) = name.filter(|name| is_name(name)) {
            added.extend(read(host, name)?);
        }
    }
    added.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(added)
}

fn parse(text: &str) -> Option<Added> {
    let (head, body) = text.split_once(&format!("\n{END}"))?;
    let mut lines = head.lines();
    let words = lines.next()?.strip_prefix(MARK)?.split(' ').collect::<Vec<_>>();
    let [name, "version", version, "sha256", digest] = words[..] else {
        return None;
    };
    let (mut values, mut written) = (Values::new(), None);
    for line in lines {
        if let Some((name, given)) = line.strip_prefix("# set ").and_then(|set| set.split_once(" = ")) {
            values.insert(name.to_owned(), split(given));
        } else if let Some(digest) = line.strip_prefix("# written ") {
            written = Some(digest.to_owned());
        }
    }
    let is_edited = written? != Digest::of(&[body.as_bytes()]).to_string();
    let (name, digest, text) = (name.to_owned(), digest.to_owned(), text.to_owned());
    Some(Added { name, version: version.parse().ok()?, digest, values, text, is_edited })
}

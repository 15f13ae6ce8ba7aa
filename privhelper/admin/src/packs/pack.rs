//! Packs as they are installed: a head that says what the pack is and asks, and a body of sources, commands and rules.

use super::variable::Variable;
use crate::host::Host;
use postern_policy::types::Digest;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fs;
use std::io;

/// Most bytes of a pack.
const BYTES_MAX: usize = 256 * 1024;

/// The `[pack]` table of a pack's file.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct About {
    /// Its name; the file's name without `.toml`.
    pub name: String,
    /// Counts up with each change of what it grants.
    pub version: u32,
    /// Purpose, one line.
    pub summary: String,
    /// Releases of Debian on which every command of it was run; empty is untested.
    #[serde(default)]
    pub tested: Vec<String>,
    /// When it is offered.
    #[serde(default)]
    pub offers: Offers,
    /// Warnings for the operator before it is added.
    #[serde(default)]
    pub hazards: Vec<String>,
    /// Tasks that stay with the operator, because the policy language cannot bound them.
    #[serde(default)]
    pub left_out: Vec<String>,
}

/// Condition for a pack to be offered: one of these is on the host. All empty: every host.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Offers {
    /// An installed package.
    #[serde(default)]
    pub packages: Vec<String>,
    /// A unit file.
    #[serde(default)]
    pub units: Vec<String>,
}

/// One pack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pack {
    /// The `[pack]` table.
    pub about: About,
    /// Variables, in the order of the questions.
    pub variables: Vec<Variable>,
    /// Sources, commands and rules, with `${NAME}` for variables.
    pub body: String,
    /// SHA-256 of the whole file.
    pub digest: Digest,
}

/// The head of a pack's file.
#[derive(Deserialize)]
struct Head {
    pack: About,
    #[serde(default)]
    variable: Vec<Variable>,
}

impl Pack {
    /// Reads a pack's text.
    ///
    /// # Errors
    /// It is no pack, in words.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.len() > BYTES_MAX {
            return Err(format!("is larger than {BYTES_MAX} bytes"));
        }
        let (head, body) = text.split_at(body_at(text));
        let Head { pack: about, variable: mut variables } =
            toml::from_str(head).map_err(|error| refusal(head, &error))?;
        if !is_name(&about.name) {
            return Err(format!("{:?} is no pack's name: write 1 to 40 of a-z, 0-9 and '-'", about.name));
        }
        variables.push(Variable::client());
        let names = variables.iter().map(|variable| variable.name.as_str()).collect::<BTreeSet<_>>();
        if names.len() != variables.len() {
            return Err("two variables have one name".to_owned());
        }
        for variable in &variables {
            variable.check_itself().map_err(|why| format!("variable {}: {why}", variable.name))?;
        }
        Ok(Self { about, variables, body: body.to_owned(), digest: Digest::of(&[text.as_bytes()]) })
    }

    /// The variable of this name.
    #[must_use]
    pub fn variable(&self, name: &str) -> Option<&Variable> {
        self.variables.iter().find(|variable| variable.name == name)
    }

    /// Whether something on this host is what the pack is for.
    #[must_use]
    pub fn is_offered(&self, host: &Host) -> bool {
        let Offers { packages, units } = &self.about.offers;
        let is_everywhere = packages.is_empty() && units.is_empty();
        is_everywhere
            || packages.iter().any(|name| is_installed(host, name))
            || units.iter().any(|unit| has_unit(host, unit))
    }

    /// `Debian 12 and 13`, or `untested`.
    #[must_use]
    pub fn tested(&self) -> String {
        match self.about.tested.as_slice() {
            [] => "untested".to_owned(),
            releases => releases.join(", "),
        }
    }
}

/// The error in a pack's head, with its line.
fn refusal(head: &str, error: &toml::de::Error) -> String {
    let before = error.span().and_then(|span| head.get(..span.start)).unwrap_or_default();
    format!("line {}: {}", before.matches('\n').count() + 1, crate::text::with_nearest(error.message()))
}

/// Whether this may name a pack.
#[must_use]
pub fn is_name(text: &str) -> bool {
    (1..=40).contains(&text.len()) && text.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'-'))
}

/// Reads every installed pack, by name; files that are no pack are left out, each with an error text.
///
/// # Errors
/// The directory cannot be read.
pub fn all(host: &Host) -> io::Result<(Vec<Pack>, Vec<String>)> {
    let (mut packs, mut wrong) = (Vec::new(), Vec::new());
    let listing = match fs::read_dir(&host.packs) {
        Ok(listing) => listing,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((packs, wrong)),
        Err(error) => return Err(error),
    };
    for entry in listing {
        let path = entry?.path();
        let name = path.file_stem().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
        if path.extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        let read = fs::read_to_string(&path).map_err(|error| error.to_string());
        match read.and_then(|text| Pack::parse(&text)) {
            Ok(pack) if pack.about.name == name => packs.push(pack),
            Ok(pack) => {
                wrong.push(format!("{}: the pack in it is named {:?}", path.display(), pack.about.name));
            }
            Err(why) => wrong.push(format!("{}: {why}", path.display())),
        }
    }
    packs.sort_by(|a, b| a.about.name.cmp(&b.about.name));
    Ok((packs, wrong))
}

/// Where the body begins: at the first source, command or rule, with the comments right above it.
fn body_at(text: &str) -> usize {
    const TABLES: [&str; 3] = ["[[source]]", "[[command]]", "[[rule]]"];
    let (mut at, mut comments) = (0, None);
    for line in text.split_inclusive('\n') {
        if TABLES.iter().any(|table| line.trim_end() == *table) {
            return comments.unwrap_or(at);
        }
        match (line.starts_with('#'), comments) {
            (true, None) => comments = Some(at),
            (true, Some(_)) => {}
            (false, _) => comments = None,
        }
        at += line.len();
    }
    text.len()
}

/// Whether dpkg has it installed, by its own database.
fn is_installed(host: &Host, name: &str) -> bool {
    let status = fs::read_to_string(host.root.join("var/lib/dpkg/status")).unwrap_or_default();
    let wanted = format!("Package: {name}");
    status.split("\n\n").any(|entry| {
        let mut lines = entry.lines();
        lines.any(|line| line == wanted) && entry.lines().any(is_installed_now)
    })
}

/// Whether a `Status:` line is of an installed package. Its first word is what is wanted of it: `hold` of a held one.
fn is_installed_now(line: &str) -> bool {
    line.starts_with("Status: ") && line.ends_with(" ok installed")
}

fn has_unit(host: &Host, unit: &str) -> bool {
    const PLACES: [&str; 3] = ["etc/systemd/system", "usr/lib/systemd/system", "lib/systemd/system"];
    PLACES.iter().any(|place| host.root.join(place).join(unit).is_file())
}

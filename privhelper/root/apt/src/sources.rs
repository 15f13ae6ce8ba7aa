//! Sources of versions: apt's configured entries, never a repository's own label.
//!
//! A repository chooses its label and origin. A source is the entry in apt's files that names the repository; apt knows
//! the entries of every version.

use std::collections::BTreeSet;
use std::path::Path;

use postern_proto::v1::{Action, PackageStep};
use postern_root::{Fault, store};

use crate::host::Host;
use crate::programs::{self, ask};

/// Fields of a configured index; none contains a tab.
const FORMAT: &str = "$(SOURCESENTRY)\t$(SITE)\t$(DESCRIPTION)";
/// Longest file of sources that is read.
const FILE_MAX: u64 = 1024 * 1024;

/// Options of an entry under which a signature is not asked for, whatever `Signed-By` says (sources.list(5)).
const UNCHECKED: [&str; 4] = ["trusted", "allow-insecure", "allow-weak", "allow-downgrade-to-insecure"];

/// A configured index of packages.
struct Index {
    description: String,
    /// As [`PackageStep::sources`] has it; none where it can't be written so.
    source: Option<String>,
}

/// Whether a step fetches something.
#[must_use]
pub fn fetches(step: &PackageStep) -> bool {
    matches!(step.action(), Action::Install | Action::Upgrade | Action::Downgrade | Action::Reinstall)
}

/// Returns the operand that apt reads as the package of a step, and nothing else.
#[must_use]
pub fn exact(step: &PackageStep, native: &str) -> String {
    let arch = if step.arch == "all" || step.arch == native { "native" } else { &step.arch };
    format!("{}:{arch}", step.name)
}

/// Adds to each step every source that offers its new version. The list stays empty if one of them cannot be named: apt
/// may take the bytes from any of them, so all must be decided.
///
/// # Errors
/// The program cannot be started, or does not answer as expected.
pub fn tie(host: &Host, steps: &mut [PackageStep], native: &str) -> Result<(), Fault> {
    let operands: Vec<String> =
        steps.iter().filter(|step| fetches(step)).map(|step| exact(step, native)).collect();
    if operands.is_empty() {
        return Ok(());
    }
    let mut argv = vec!["policy", "-o", "APT::Cmd::Pattern-Only=true", "--"];
    argv.extend(operands.iter().map(String::as_str));
    let (indexes, answer) = programs::both(|| indexes(host), || ask(host, &host.apt_cache, &argv))?;
    let text = String::from_utf8_lossy(&answer.stdout);
    let offers = offers(&text)?;
    for step in steps.iter_mut().filter(|step| fetches(step)) {
        let is_foreign = step.arch != "all" && step.arch != native;
        let header = if is_foreign { format!("{}:{}", step.name, step.arch) } else { step.name.clone() };
        let of_step = offers.iter().filter(|offer| offer.package == header && offer.version == step.new);
        let sources: Option<Vec<_>> = of_step.map(|offer| source(&indexes, offer.description)).collect();
        let sources: BTreeSet<String> = sources.into_iter().flatten().flatten().collect();
        step.sources = sources.into_iter().collect();
    }
    Ok(())
}

/// The sources that have this description; none if one of them can't be named.
fn source(indexes: &[Index], description: &str) -> Option<Vec<String>> {
    let found: Option<Vec<String>> = indexes
        .iter()
        .filter(|index| index.description == description)
        .map(|index| index.source.clone())
        .collect();
    found.filter(|found| !found.is_empty())
}

fn indexes(host: &Host) -> Result<Vec<Index>, Fault> {
    let answer = ask(host, &host.apt_get, &["indextargets", "--format", FORMAT, "Created-By: Packages"])?;
    if !answer.status.success() {
        return Err(Fault::new("apt-get does not say what its sources are"));
    }
    let text = String::from_utf8_lossy(&answer.stdout);
    // Sources of a description that no line has cannot be named, and what cannot be named is refused.
    Ok(text.lines().filter_map(index).collect())
}

fn index(line: &str) -> Option<Index> {
    let fields: Vec<&str> = line.splitn(3, '\t').collect();
    let [entry, site, description] = *fields.as_slice() else { return None };
    let file = entry.rsplit_once(':').map_or(entry, |(file, _)| file);
    let keys = read(Path::new(file)).map_or_else(|| "-".to_owned(), |text| keys(file, &text));
    let is_word = |word: &str| !word.is_empty() && !word.contains(char::is_whitespace);
    let source =
        [entry, site, &keys].iter().all(|word| is_word(word)).then(|| format!("{entry} {site} {keys}"));
    Some(Index { description: description.to_owned(), source })
}

fn read(path: &Path) -> Option<String> {
    String::from_utf8(store::read(path, FILE_MAX).ok()??).ok()
}

/// Returns the keys in `Signed-By` of all entries of a file, or `-` if one entry has none. Per file, since apt numbers
/// entries differently between formats, and Debian 12 does not print the keys of an entry.
#[must_use]
pub fn keys(file: &str, text: &str) -> String {
    let entries: Vec<Option<String>> = if Path::new(file).extension().is_some_and(|form| form == "sources") {
        stanzas(text)
    } else {
        lines(text)
    };
    let all: Option<Vec<String>> = entries.into_iter().collect();
    let all = all.unwrap_or_default();
    let names: BTreeSet<&str> = all
        .iter()
        .flat_map(|keys| keys.split(|c: char| c == ',' || c.is_whitespace()))
        .filter(|key| !key.is_empty())
        .collect();
    // An inline key has no name that a policy could grant.
    let has_name =
        |key: &&str| key.starts_with('/') || key.bytes().all(|b| b.is_ascii_hexdigit() || b == b'!');
    if names.is_empty() || !names.iter().all(has_name) {
        return "-".to_owned();
    }
    names.into_iter().collect::<Vec<_>>().join(",")
}

/// `Signed-By` of each stanza of a deb822 file that is not switched off.
fn stanzas(text: &str) -> Vec<Option<String>> {
    let mut all = Vec::new();
    let mut fields: Vec<(String, String)> = Vec::new();
    for line in text.lines().chain([""]) {
        if line.trim().is_empty() {
            let field =
                |name: &str| fields.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone());
            let is_on = |name: &str| {
                fields.iter().any(|(key, value)| key == name && !value.eq_ignore_ascii_case("no"))
            };
            if !fields.is_empty() && (field("enabled").is_none() || is_on("enabled")) {
                let keys = field("signed-by").filter(|value| !value.is_empty());
                all.push(keys.filter(|_| !UNCHECKED.iter().any(|name| is_on(name))));
            }
            fields.clear();
        } else if line.starts_with([' ', '\t']) {
            if let Some((_, value)) = fields.last_mut() {
                value.push(' ');
                value.push_str(line.trim());
            }
        } else if let Some((key, value)) = line.split_once(':').filter(|_| !line.starts_with('#')) {
            fields.push((key.to_ascii_lowercase(), value.trim().to_owned()));
        }
    }
    all
}

/// `signed-by` of each entry of a file in the old form, one a line.
fn lines(text: &str) -> Vec<Option<String>> {
    let mut all = Vec::new();
    for line in text.lines().map(|line| line.split('#').next().unwrap_or_default().trim()) {
        if let Some(rest) = line.strip_prefix("deb-src").or_else(|| line.strip_prefix("deb")) {
            let options = rest.trim_start().strip_prefix('[').and_then(|rest| rest.split_once(']'));
            let options: Vec<(&str, &str)> = options
                .map_or("", |(inside, _)| inside)
                .split_whitespace()
                .filter_map(|option| option.split_once('='))
                .collect();
            let is_on = |(name, value): &(&str, &str)| UNCHECKED.contains(name) && *value != "no";
            let keys =
                options.iter().find(|(name, _)| *name == "signed-by").map(|(_, keys)| (*keys).to_owned());
            all.push(keys.filter(|_| !options.iter().any(is_on)));
        }
    }
    all
}

/// One line of a version table.
struct Offer<'a> {
    package: &'a str,
    version: &'a str,
    description: &'a str,
}

/// Further lines of `apt-cache policy`, below a package's name.
const HEADERS: [&str; 4] = ["  Installed: ", "  Candidate: ", "  Package pin: ", "  Version table:"];

/// `NAME:`, then ` *** VERSION PIN` or five blanks and the same, then more blanks, a priority and an index.
fn offers(text: &str) -> Result<Vec<Offer<'_>>, Fault> {
    let (mut package, mut version, mut all) = ("", "", Vec::new());
    for line in text.lines().filter(|line| !line.is_empty()) {
        if let Some(name) = line.strip_suffix(':').filter(|name| !name.starts_with(' ')) {
            (package, version) = (name, "");
        } else if let Some(rest) = line
            .strip_prefix(" *** ")
            .or_else(|| line.strip_prefix("     ").filter(|rest| !rest.starts_with(' ')))
        {
            version = rest.split(' ').next().unwrap_or_default();
        } else if line.starts_with("      ")
            && let Some((_, description)) = line.trim_start().split_once(' ')
        {
            // The installed version is no offer.
            if description != "/var/lib/dpkg/status" {
                all.push(Offer { package, version, description });
            }
        } else if !HEADERS.iter().any(|header| line.starts_with(header)) {
            return Err(Fault::new(format!("apt-cache policy is not understood: {line:?}")));
        }
    }
    Ok(all)
}

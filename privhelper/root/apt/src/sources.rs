//! Sources of versions: apt's configured entries, never a repository's own label.
//!
//! A repository chooses its label and origin. A source is the entry in apt's files that names the repository; apt knows
//! the entries of every version.

use std::collections::BTreeSet;
use std::path::Path;

use postern_proto::v1::{Action, PackageStep};
use postern_root::{Fault, store};

use crate::programs::{self, Host, ask};

/// Fields of a configured index; none contains a tab.
const FORMAT: &str = "$(SOURCESENTRY)\t$(SITE)\t$(DESCRIPTION)";
/// Longest file of sources that is read.
const FILE_MAX: u64 = 1024 * 1024;

/// Options of an entry under which a signature is not asked for, whatever `Signed-By` says (sources.list(5)).
const UNCHECKED: [&str; 4] = ["trusted", "allow-insecure", "allow-weak", "allow-downgrade-to-insecure"];

/// The description of a configured index of packages, and its source as [`PackageStep::sources`] has it; none where it can't be
/// written so.
type Index = (String, Option<String>);

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
        let operand = exact(step, native);
        let header = operand.strip_suffix(":native").unwrap_or(&operand);
        let of_step = offers.iter().filter(|offer| offer.package == header && offer.version == step.new);
        let sources: Option<Vec<_>> = of_step.map(|offer| source(&indexes, offer.description)).collect();
        let sources: BTreeSet<String> = sources.into_iter().flatten().flatten().collect();
        step.sources = sources.into_iter().collect();
    }
    Ok(())
}

/// The sources that have this description; none if one of them can't be named.
fn source(indexes: &[Index], description: &str) -> Option<Vec<String>> {
    let of_description = indexes.iter().filter(|index| index.0 == description);
    let found = of_description.map(|index| index.1.clone()).collect::<Option<Vec<_>>>();
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
    Some((description.to_owned(), source))
}

fn read(path: &Path) -> Option<String> {
    String::from_utf8(store::read(path, FILE_MAX).ok()??).ok()
}

/// The fields or options of one entry, names in small letters.
type Entry = Vec<(String, String)>;

/// Returns the keys in `Signed-By` of all entries of a file, or `-` if one entry has none. Per file, since apt numbers
/// entries differently between formats, and Debian 12 does not print the keys of an entry.
fn keys(file: &str, text: &str) -> String {
    let is_deb822 = Path::new(file).extension().is_some_and(|form| form == "sources");
    let entries = if is_deb822 { stanzas(text) } else { lines(text) };
    let all = entries.iter().map(signed_by).collect::<Option<Vec<_>>>().unwrap_or_default();
    let words = all.iter().flat_map(|keys| keys.split(|c: char| c == ',' || c.is_whitespace()));
    let names = words.filter(|key| !key.is_empty()).collect::<BTreeSet<_>>();
    // An inline key has no name that a policy could grant.
    let has_name =
        |key: &&str| key.starts_with('/') || key.bytes().all(|b| b.is_ascii_hexdigit() || b == b'!');
    if names.is_empty() || !names.iter().all(has_name) {
        return "-".to_owned();
    }
    names.into_iter().collect::<Vec<_>>().join(",")
}

/// `Signed-By` of an entry; none if a signature is not asked for.
fn signed_by(entry: &Entry) -> Option<&str> {
    let is_unchecked = |(name, value): &(String, String)| UNCHECKED.contains(&name.as_str()) && !is_no(value);
    let keys = entry.iter().find(|(name, value)| name == "signed-by" && !value.is_empty());
    keys.filter(|_| !entry.iter().any(is_unchecked)).map(|(_, keys)| keys.as_str())
}

fn is_no(value: &str) -> bool {
    value.eq_ignore_ascii_case("no")
}

/// The stanzas of a deb822 file that are not switched off.
fn stanzas(text: &str) -> Vec<Entry> {
    let (mut all, mut entry) = (Vec::new(), Entry::new());
    for line in text.lines().chain([""]) {
        if line.trim().is_empty() {
            let stanza = std::mem::take(&mut entry);
            let enabled = || stanza.iter().filter(|(name, _)| name == "enabled");
            let is_on = enabled().next().is_none() || enabled().any(|(_, value)| !is_no(value));
            if is_on && !stanza.is_empty() {
                all.push(stanza);
            }
        } else if line.starts_with([' ', '\t']) {
            if let Some((_, value)) = entry.last_mut() {
                value.push(' ');
                value.push_str(line.trim());
            }
        } else if let Some((key, value)) = line.split_once(':').filter(|_| !line.starts_with('#')) {
            entry.push((key.to_ascii_lowercase(), value.trim().to_owned()));
        }
    }
    all
}

/// The entries of a file in the old form, one a line: `deb [option=value ...] URI ...`.
fn lines(text: &str) -> Vec<Entry> {
    let texts = text.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
    let entries = texts.filter_map(|line| line.strip_prefix("deb-src").or_else(|| line.strip_prefix("deb")));
    let options = |entry: &str| {
        let inside = entry.trim_start().strip_prefix('[').and_then(|rest| rest.split_once(']'));
        let words = inside.map_or("", |(inside, _)| inside).split_whitespace();
        let pairs = words.filter_map(|option| option.split_once('='));
        pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
    };
    entries.map(options).collect()
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
        let other = line.strip_prefix("     ").filter(|rest| !rest.starts_with(' '));
        if let Some(name) = line.strip_suffix(':').filter(|name| !name.starts_with(' ')) {
            (package, version) = (name, "");
        } else if let Some(rest) = line.strip_prefix(" *** ").or(other) {
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

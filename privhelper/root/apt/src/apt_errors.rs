//! Stable codes for apt's error messages. Does no I/O.

use postern_root::{Code, Denied, one_line};

/// Words of apt's messages with their codes; the first that fits counts.
/// Messages as of apt 2.6 and 3.0 in the C locale.
const CODES: [(&str, Code); 19] = [
    ("No space left on device", Code::NoSpace),
    ("enough free space", Code::NoSpace),
    ("dpkg was interrupted", Code::NeedsRepair),
    ("--fix-broken install", Code::NeedsRepair),
    ("Could not get lock", Code::Busy),
    ("Unable to acquire the dpkg frontend lock", Code::Busy),
    ("Unable to lock", Code::Busy),
    ("Unable to locate package", Code::NotFound),
    ("Couldn't find any package", Code::NotFound),
    ("has no installation candidate", Code::NotFound),
    ("was not found", Code::NotFound),
    ("remove is disabled", Code::PlanRefused),
    ("Essential packages were removed", Code::Protected),
    ("-y was used without", Code::PlanRefused),
    ("Resolve generated breaks", Code::PlanRefused),
    ("you have held broken packages", Code::PlanRefused),
    ("Unable to satisfy dependencies", Code::PlanRefused),
    ("Unable to correct problems", Code::PlanRefused),
    ("Failed to fetch", Code::PackageFailed),
];

/// Tells code and message of an apt-get that failed from what it wrote.
#[must_use]
pub fn failure(output: &[u8]) -> Denied {
    let text = String::from_utf8_lossy(output);
    // apt 3 writes `Error:` where apt 2 wrote `E:`.
    let error = |line| str::strip_prefix(line, "E: ").or_else(|| line.strip_prefix("Error: "));
    let errors = text.lines().filter_map(error).collect::<Vec<_>>();
    let with = |words| errors.iter().copied().find(|line| line.contains(words));
    let found = CODES.into_iter().find_map(|(words, code)| Some((code, with(words)?)));
    let unknown = (Code::PackageFailed, errors.first().copied().unwrap_or("apt-get failed"));
    let (code, detail) = found.unwrap_or(unknown);
    Denied::new(code, one_line(detail))
}

/// Refuses every other work until the packages are repaired.
#[must_use]
pub fn needs_repair(why: &str) -> Denied {
    Denied::new(Code::NeedsRepair, one_line(&format!("{why}; repair the packages first (package.repair)")))
}

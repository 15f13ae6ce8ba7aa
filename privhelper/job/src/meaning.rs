//! What apt's messages mean. Does no I/O.

use postern_proto::root::v1::JobOutcome;

/// Longest line for a person, in characters.
const LINE_MAX: usize = 300;

/// Words of apt's messages and the code they stand for; the first that fits counts.
/// Messages as of apt 2.6 and 3.0 in the C locale.
const MEANINGS: [(&str, &str); 19] = [
    ("No space left on device", "no_space"),
    ("enough free space", "no_space"),
    ("dpkg was interrupted", "needs_repair"),
    ("--fix-broken install", "needs_repair"),
    ("Could not get lock", "busy"),
    ("Unable to acquire the dpkg frontend lock", "busy"),
    ("Unable to lock", "busy"),
    ("Unable to locate package", "not_found"),
    ("Couldn't find any package", "not_found"),
    ("has no installation candidate", "not_found"),
    ("was not found", "not_found"),
    ("remove is disabled", "plan_refused"),
    ("Essential packages were removed", "protected"),
    ("-y was used without", "plan_refused"),
    ("Resolve generated breaks", "plan_refused"),
    ("you have held broken packages", "plan_refused"),
    ("Unable to satisfy dependencies", "plan_refused"),
    ("Unable to correct problems", "plan_refused"),
    ("Failed to fetch", "package_failed"),
];

/// Code and detail of an apt-get that failed, from what it wrote.
pub fn failure(output: &[u8]) -> JobOutcome {
    let text = String::from_utf8_lossy(output);
    // apt 3 writes `Error:` where apt 2 wrote `E:`.
    let errors: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("E: ").or_else(|| line.strip_prefix("Error: ")))
        .collect();
    let meant = MEANINGS
        .iter()
        .find_map(|(words, code)| errors.iter().find(|line| line.contains(words)).map(|line| (*code, *line)));
    let (code, detail) = meant
        .or_else(|| errors.first().map(|line| ("package_failed", *line)))
        .unwrap_or(("package_failed", "apt-get failed"));
    outcome(code, detail)
}

/// An outcome that says only this. Without a code: nothing was to be done, and why.
pub fn outcome(code: &str, detail: &str) -> JobOutcome {
    JobOutcome { code: code.to_owned(), detail: one_line(detail), ..JobOutcome::default() }
}

/// Nothing is done before a person, or a rule, has the packages repaired.
pub fn needs_repair(why: &str) -> JobOutcome {
    outcome("needs_repair", &format!("{why}; repair the packages first (package.repair)"))
}

/// The text as one line of bounded length without control characters.
pub fn one_line(text: &str) -> String {
    let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(LINE_MAX).collect();
    line.trim().to_owned()
}

//! What apt-get is told, and what its messages mean. Does no I/O.

use std::path::Path;

use postern_proto::root::v1::JobOutcome;

use crate::record::{Record, Target};

/// Longest line for a person, in characters.
const LINE_MAX: usize = 300;

/// The arguments of a real install. `status_fd` is where apt-get writes progress,
/// `job` is this program, which apt-get starts again for the check.
pub fn install(record: &Record, status_fd: i32, job: &Path) -> Vec<String> {
    let job = job.display();
    let mut argv = vec!["-q".to_owned(), "-y".to_owned()];
    let mut option = |text: String| argv.extend(["-o".to_owned(), text]);
    option("APT::Cmd::Pattern-Only=true".to_owned());
    option(format!("APT::Status-Fd={status_fd}"));
    option("Dpkg::Use-Pty=0".to_owned());
    option(format!("DPkg::Lock::Timeout={}", record.lock_timeout_s));
    // A conffile question would meet the end of stdin and leave the package half done.
    option("Dpkg::Options::=--force-confdef".to_owned());
    option("Dpkg::Options::=--force-confold".to_owned());
    option(format!("DPkg::Pre-Install-Pkgs::={job} check {}", record.id.as_str()));
    // apt-get finds the protocol's version by the first word of the hook's line.
    option(format!("DPkg::Tools::Options::{job}::Version=3"));
    argv.extend(request(record));
    argv
}

/// The arguments of the simulation: the same request, nothing that takes effect.
pub fn simulate(record: &Record) -> Vec<String> {
    let mut argv = ["-s", "-q", "-y", "-o", "APT::Cmd::Pattern-Only=true"].map(String::from).to_vec();
    argv.extend(request(record));
    argv
}

/// What decides which packages: alike in simulation and run, or they would differ.
fn request(record: &Record) -> Vec<String> {
    let mut argv = vec!["-o".to_owned(), "APT::Get::AutomaticRemove=false".to_owned()];
    argv.extend(["-o".to_owned(), format!("APT::Install-Recommends={}", record.recommends)]);
    if !record.allow_removals {
        argv.push("--no-remove".to_owned());
    }
    if record.allow_downgrades {
        argv.push("--allow-downgrades".to_owned());
    }
    argv.extend(["install".to_owned(), "--".to_owned()]);
    argv.extend(record.targets.iter().map(Target::operand));
    argv
}

/// The arguments of `apt-get update`. Without the error mode it ends with 0 although sources failed.
pub fn update(status_fd: i32) -> Vec<String> {
    let status = format!("APT::Status-Fd={status_fd}");
    ["-q", "-y", "-o", &status, "-o", "APT::Update::Error-Mode=any", "update"].map(String::from).to_vec()
}

/// Words of apt's messages and the code they stand for; the first that fits counts.
/// Messages as of apt 2.6 and 3.0 in the C locale.
const MEANINGS: [(&str, &str); 14] = [
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
    ("-y was used without", "plan_refused"),
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

/// An outcome that says only this.
pub fn outcome(code: &str, detail: &str) -> JobOutcome {
    JobOutcome { code: code.to_owned(), detail: one_line(detail), ..JobOutcome::default() }
}

/// The text as one line of bounded length without control characters.
pub fn one_line(text: &str) -> String {
    let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(LINE_MAX).collect();
    line.trim().to_owned()
}

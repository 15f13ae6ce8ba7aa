//! Lines of a unit's journal, by journalctl(1). The group systemd-journal may read all of it: which unit and how many
//! lines is decided before.

use crate::child::{self, Excess};
use postern_policy::types::UnitName;
use postern_policy::{Code, Denied};
use postern_root::{Error, Fault, one_line};
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// The environment of journalctl.
const ENVIRONMENT: [(&str, &str); 5] = [
    ("PATH", "/usr/bin:/bin"),
    ("LC_ALL", "C.UTF-8"),
    ("TERM", "dumb"),
    ("SYSTEMD_PAGER", ""),
    ("SYSTEMD_PAGERSECURE", "1"),
];
/// `--all` shows text that is not printable, of which only the size is shown otherwise. `--reverse` because `--since` with
/// `--lines` means the first lines on Debian 12 and the last on Debian 13.
const FORM: [&str; 7] =
    ["--quiet", "--no-pager", "--all", "--no-hostname", "--utc", "--output=short-iso", "--reverse"];
/// How long journalctl may search.
const TIME: Duration = Duration::from_secs(30);
/// Most bytes of the journal that are returned: the newest.
const OUTPUT: usize = 1024 * 1024;

/// The requested lines.
#[derive(Debug, Clone, Copy)]
pub struct Lines {
    /// The number of lines.
    pub most: u32,
    /// The oldest time of a line, since 1970.
    pub since: Duration,
}

/// Reads the last lines that the journal has of a unit, the oldest of them first.
///
/// # Errors
/// `timeout`, or journalctl fails.
pub fn read(journalctl: &Path, unit: &UnitName, lines: Lines) -> Result<String, Error> {
    let since = format!("--since=@{}.{:06}", lines.since.as_secs(), lines.since.subsec_micros());
    let [unit, most] = [format!("--unit={unit}"), format!("--lines={}", lines.most)];
    #[expect(clippy::disallowed_methods, reason = "the one place that starts journalctl, from a fixed path")]
    let mut command = Command::new(journalctl);
    command.args(FORM).args([&most, &since, &unit]);
    command.env_clear().envs(ENVIRONMENT).current_dir("/").stdin(Stdio::null());
    let finished = child::run(&mut command, TIME, OUTPUT, Excess::Drop).map_err(|error| {
        if error.kind() == io::ErrorKind::TimedOut {
            let why = "the journal could not be searched in time; ask for fewer lines";
            return Error::from(Denied::new(Code::Timeout, why));
        }
        Fault::io("run journalctl")(error).into()
    })?;
    if !finished.status.success() {
        let why = one_line(&String::from_utf8_lossy(&finished.stderr));
        return Err(Fault::new(format!("journalctl: {why}")).into());
    }
    let text = String::from_utf8_lossy(&finished.stdout);
    let text = oldest_first(&text, usize::try_from(lines.most).unwrap_or(usize::MAX));
    Ok(text.chars().map(|c| if is_plain(c) { c } else { char::REPLACEMENT_CHARACTER }).collect())
}

/// Reverses the entries, not the lines of one: continuation lines are indented. A last line without a line feed
/// was cut off.
fn oldest_first(text: &str, most: usize) -> String {
    let mut entries: Vec<Vec<&str>> = Vec::new();
    for line in text.split_inclusive('\n').filter(|line| line.ends_with('\n')) {
        match entries.last_mut() {
            Some(entry) if line.starts_with(' ') => entry.push(line),
            Some(_) | None => entries.push(vec![line]),
        }
    }
    let lines = entries.into_iter().rev().flatten().collect::<Vec<_>>();
    lines.get(lines.len().saturating_sub(most)..).unwrap_or_default().concat()
}

/// Any service can write into the journal: its text must not control a terminal.
fn is_plain(c: char) -> bool {
    matches!(c, '\n' | '\t') || !c.is_control()
}

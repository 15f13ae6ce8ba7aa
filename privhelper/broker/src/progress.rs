//! Parses the progress of package transactions: lines of `APT::Status-Fd` (apt's README.progress-reporting) and of dpkg's
//! own `--status-fd` (dpkg(1)), which root passes on as they were written. Does no I/O.

use postern_policy::VerbId;
use postern_proto::v1::{Phase, Progress};

/// Longest line, in bytes; apt-get's are far shorter.
const LINE_MAX: usize = 64 * 1024;
/// Longest text for a person, in characters.
const TEXT_MAX: usize = 500;

/// The progress of one transaction.
#[derive(Debug)]
pub struct ProgressLines {
    downloading: Phase,
    partial: Vec<u8>,
    last: Option<Progress>,
}

impl ProgressLines {
    /// Before the first line of a request of this verb.
    #[must_use]
    pub fn new(verb: &str) -> Self {
        let is_update = verb == VerbId::PackageUpdate.name();
        let downloading = if is_update { Phase::Update } else { Phase::Download };
        Self { downloading, partial: Vec::new(), last: None }
    }

    /// Takes the bytes that were written since, and returns each new progress.
    pub fn take(&mut self, data: &[u8]) -> Vec<Progress> {
        self.partial.extend_from_slice(data);
        let Some(end) = self.partial.iter().rposition(|byte| *byte == b'\n') else {
            if self.partial.len() > LINE_MAX {
                self.partial.clear();
            }
            return Vec::new();
        };
        let rest = self.partial.split_off(end.saturating_add(1));
        let lines = std::mem::replace(&mut self.partial, rest);
        let mut new = Vec::new();
        for line in String::from_utf8_lossy(&lines).lines() {
            let progress = parse(line, self.downloading).filter(|now| self.last.as_ref() != Some(now));
            new.extend(progress.clone());
            self.last = progress.or(self.last.take());
        }
        new
    }
}

/// Parses a line; none for other kinds (`pmerror`, `media-change`, `pmconffile`).
fn parse(line: &str, downloading: Phase) -> Option<Progress> {
    let (kind, rest) = line.split_once(':')?;
    if kind == "processing" {
        // A step of dpkg, which reports no percentage.
        let (phase, item) = (Phase::Configure.into(), one_line(rest.trim().strip_prefix("configure: ")?));
        return Some(Progress { phase, item, ..Progress::default() });
    }
    if kind == "locked" {
        // postern-packages waits: `locked:PID:NAME`.
        let (pid, name) = rest.split_once(':')?;
        let name = if name.is_empty() { "another process".to_owned() } else { one_line(name) };
        let detail = format!("the lock is held by {name} (process {pid})");
        return Some(Progress { phase: Phase::Waiting.into(), detail, ..Progress::default() });
    }
    let (item, percent, text) = fields(rest)?;
    let phase = match kind {
        "dlstatus" => downloading,
        "pmstatus" => pm_phase(text),
        _ => return None,
    };
    // The item of a download is its number, that of dpkg's own start is `dpkg-exec`.
    let item = if kind == "dlstatus" || item == "dpkg-exec" { String::new() } else { one_line(item) };
    Some(Progress { phase: phase.into(), item, percent, detail: one_line(text) })
}

/// Packages and their scripts wrote the text.
fn one_line(text: &str) -> String {
    let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(TEXT_MAX).collect();
    line.trim().to_owned()
}

/// `item:percent:text`, where item may hold a colon (`libc6:amd64`) and so may text.
fn fields(rest: &str) -> Option<(&str, u32, &str)> {
    rest.match_indices(':').find_map(|(at, _)| {
        let (item, after) = rest.split_at_checked(at)?;
        let (percent, text) = after.strip_prefix(':')?.split_once(':')?;
        let whole = percent.split_once('.').map_or(percent, |(whole, _)| whole);
        let numeric = percent.bytes().all(|b| b.is_ascii_digit() || b == b'.');
        let percent = whole.parse::<u32>().ok().filter(|_| numeric)?;
        Some((item, percent.min(100), text))
    })
}

fn pm_phase(text: &str) -> Phase {
    let configures = ["Preparing to configure", "Configuring", "Installed", "Running post-installation"];
    if configures.iter().any(|start| text.starts_with(start)) { Phase::Configure } else { Phase::Unpack }
}

//! Lines of `APT::Status-Fd` (apt's README.progress-reporting) and of dpkg's own `--status-fd` (dpkg(1)). Does no I/O.

use postern_proto::v1::{Phase, Progress};

use postern_root::one_line;

/// A line of progress.
#[derive(Debug, Clone, PartialEq)]
pub enum Line {
    /// How far the work is.
    Progress(Progress),
    /// The package that dpkg could not finish, and why.
    Failed(String),
}

/// Parses a line; none for other kinds (`media-change`, `pmconffile`).
pub fn parse(line: &str, downloading: Phase) -> Option<Line> {
    let (kind, rest) = line.split_once(':')?;
    match kind {
        "processing" => return rest.trim().strip_prefix("configure: ").map(configures),
        "status" => return rest.split_once(" : error : ").map(|(package, text)| failed(package, text)),
        _ => {}
    }
    let (item, percent, text) = fields(rest)?;
    let phase = match kind {
        "dlstatus" => downloading,
        "pmstatus" => pm_phase(text),
        "pmerror" => return Some(failed(item, text)),
        _ => return None,
    };
    // The item of a download is its number, that of dpkg's own start is `dpkg-exec`.
    let item = if kind == "dlstatus" || item == "dpkg-exec" { String::new() } else { one_line(item) };
    Some(Line::Progress(Progress { phase: phase.into(), item, percent, detail: one_line(text) }))
}

/// A step of dpkg, which reports no percentage.
fn configures(package: &str) -> Line {
    let (phase, item) = (Phase::Configure.into(), one_line(package));
    Line::Progress(Progress { phase, item, ..Progress::default() })
}

fn failed(package: &str, text: &str) -> Line {
    Line::Failed(format!("{}: {}", one_line(package), one_line(text)))
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

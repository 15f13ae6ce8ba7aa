//! Lines of `APT::Status-Fd` (apt's README.progress-reporting) and of dpkg's own `--status-fd` (dpkg(1)). Does no I/O.

use postern_proto::v1::{Phase, Progress};

use postern_apt::apt_errors::one_line;

/// What a line says.
#[derive(Debug, Clone, PartialEq)]
pub enum Line {
    /// How far the work is.
    Progress(Progress),
    /// dpkg could not finish this package.
    Failed { package: String, text: String },
}

/// A line's meaning; none for what is of no interest here (`media-change`, `pmconffile`).
pub fn parse(line: &str, downloading: Phase) -> Option<Line> {
    let (kind, rest) = line.split_once(':')?;
    match kind {
        "processing" => return rest.trim().strip_prefix("configure: ").map(configures),
        "status" => return failed(rest),
        _ => {}
    }
    let (item, percent, text) = fields(rest)?;
    let phase = match kind {
        "dlstatus" => downloading,
        "pmstatus" => pm_phase(text),
        "pmerror" => return Some(Line::Failed { package: one_line(item), text: one_line(text) }),
        _ => return None,
    };
    // The item of a download is its number, that of dpkg's own start is `dpkg-exec`.
    let item = if kind == "dlstatus" || item == "dpkg-exec" { String::new() } else { one_line(item) };
    Some(Line::Progress(Progress { phase: phase.into(), item, percent, detail: one_line(text) }))
}

/// dpkg itself tells no percentage.
fn configures(package: &str) -> Line {
    let (phase, item) = (Phase::Configure.into(), one_line(package));
    Line::Progress(Progress { phase, item, ..Progress::default() })
}

/// `package : error : text`; a mere `package: state` is of no interest.
fn failed(rest: &str) -> Option<Line> {
    let (package, text) = rest.split_once(" : error : ")?;
    Some(Line::Failed { package: one_line(package), text: one_line(text) })
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

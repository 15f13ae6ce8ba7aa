//! Lines of `apt-get -s`: what would happen. Does no I/O.
//!
//! `Inst NAME [OLD] (NEW LABELS [ARCH]) [BROKEN...]`, `Conf NAME (NEW LABELS [ARCH])`,
//! `Remv NAME [OLD]`, `Purg NAME [OLD]` or `Purg NAME`. The labels are the repository's own
//! words: nothing is decided on them, and they may hold brackets of any kind.

use postern_proto::v1::Action;

/// One line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Install, configure, remove or purge.
    pub action: Action,
    /// Without the architecture that apt adds to foreign packages.
    pub name: String,
    /// That architecture; none for a native package.
    pub foreign: Option<String>,
    /// The installed version, if the line names one.
    pub old: Option<String>,
    /// The new version and its architecture, if the line names them.
    pub new: Option<(String, String)>,
}

/// Returns the packages that an upgrade keeps back: the indented lines after apt's heading.
pub fn kept_back(output: &str) -> Vec<String> {
    let mut lines = output.lines().skip_while(|line| *line != "The following packages have been kept back:");
    lines.next();
    let names = lines.take_while(|line| line.starts_with("  ")).flat_map(str::split_whitespace);
    names.map(str::to_owned).collect()
}

/// All steps of a simulation's output, or the line that is not understood.
pub fn parse(output: &str) -> Result<Vec<Line>, String> {
    let mut lines = Vec::new();
    for text in output.split('\n') {
        let action = match text.split_at_checked(5).map(|(word, _)| word) {
            Some("Inst ") => Action::Install,
            Some("Conf ") => Action::Configure,
            Some("Remv ") => Action::Remove,
            Some("Purg ") => Action::Purge,
            Some(_) | None => continue,
        };
        lines.push(line(action, text).ok_or_else(|| text.to_owned())?);
    }
    Ok(lines)
}

fn line(action: Action, text: &str) -> Option<Line> {
    let (_, rest) = text.split_once(' ')?;
    let (full, mut rest) = rest.split_once(' ').unwrap_or((rest, ""));
    let (name, foreign) = match full.split_once(':') {
        Some((name, arch)) => (name, Some(arch.to_owned())),
        None => (full, None),
    };
    let mut old = None;
    if let Some((version, after)) = rest.strip_prefix('[').and_then(|inner| inner.split_once(']')) {
        old = Some(version.to_owned());
        rest = after.trim_start();
    }
    let new = rest.strip_prefix('(').and_then(|inner| {
        let (version, labels) = inner.split_once(' ')?;
        // Package names may follow the parentheses: the last `)` closes them.
        let (inside, _) = labels.rsplit_once(')')?;
        let (_, arch) = inside.strip_suffix(']')?.rsplit_once('[')?;
        Some((version.to_owned(), arch.to_owned()))
    });
    let complete = match action {
        Action::Remove => old.is_some(),
        // apt prints no version for a package of which only configuration is left.
        Action::Purge => true,
        Action::Unspecified
        | Action::Install
        | Action::Upgrade
        | Action::Downgrade
        | Action::Reinstall
        | Action::Configure => new.is_some(),
    };
    complete.then(|| Line { action, name: name.to_owned(), foreign, old, new })
}

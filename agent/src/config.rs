//! `/etc/postern/agent.toml`: what root configures of the agent.

use serde::Deserialize;
use serde::de::IgnoredAny;
use std::io::ErrorKind;
use std::path::Path;
use toml::Spanned;

/// What the agent goes by.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Config {
    /// How a request that waits for approval is told.
    pub approvals: Approvals,
}

/// `[approvals]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Approvals {
    /// A program and its arguments, started for each request that comes to wait; empty = none.
    pub hook: Vec<String>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct File {
    approvals: ApprovalsTable,
    // Tables that have their names but nobody to read them yet.
    model: Option<IgnoredAny>,
    retry: Option<IgnoredAny>,
    limits: Option<IgnoredAny>,
    http: Option<IgnoredAny>,
    tools: Option<IgnoredAny>,
    log: Option<IgnoredAny>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct ApprovalsTable {
    hook: Option<Spanned<Vec<String>>>,
}

/// Reads the configuration. A file that is not there configures nothing.
///
/// # Errors
/// One line: the file, the line in it, and what is wrong there.
pub fn read(path: &Path) -> Result<Config, String> {
    let name = path.display();
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(Config::default()),
        Err(e) => return Err(format!("cannot read {name}: {e}")),
    };
    parse(&text).map_err(|(at, why)| {
        let line = text.get(..at).unwrap_or_default().matches('\n').count() + 1;
        format!("{name}:{line}: {}", why.replace('\n', " "))
    })
}

/// The error has the byte that it is about.
fn parse(text: &str) -> Result<Config, (usize, String)> {
    let file: File =
        toml::from_str(text).map_err(|e| (e.span().map_or(0, |span| span.start), e.message().to_owned()))?;
    let File { approvals, model: _, retry: _, limits: _, http: _, tools: _, log: _ } = file;
    let Some(hook) = approvals.hook else { return Ok(Config::default()) };
    let at = hook.span().start;
    let hook = hook.into_inner();
    match hook.first() {
        None => Err((at, "hook is empty: leave it out to have none".to_owned())),
        Some(program) if !program.starts_with('/') => {
            Err((at, format!("the hook's program must be an absolute path, not {program:?}")))
        }
        Some(_) if hook.iter().any(|word| word.contains('\0')) => {
            Err((at, "hook holds a zero byte".to_owned()))
        }
        Some(_) => Ok(Config { approvals: Approvals { hook } }),
    }
}

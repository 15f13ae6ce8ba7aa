//! `policy diff [OLD] [NEW]`.

use super::{Side, between, json, text};
use crate::host::Host;
use crate::io::{Exit, Io};
use crate::policy::Purpose;
use crate::policy::accepted::{self, Accepted};
use crate::policy::apply::load;
use crate::policy::source::Owner;
use clap::Args;
use postern_proto::root::v1 as root;
use std::io;
use std::path::{Path, PathBuf};

/// Arguments of `policy diff`.
#[derive(Debug, Args)]
pub struct DiffArgs {
    /// A policy.toml, a directory laid out like /etc/postern, an accepted.pb, or `accepted` for the accepted policy
    old: PathBuf,
    /// The same [default: the installed files, /etc/postern]
    new: Option<PathBuf>,
    /// One JSON object
    #[arg(long)]
    json: bool,
    /// Exit with 1 if there is a change in effect
    #[arg(long)]
    exit_code: bool,
}

/// A policy as it was read.
struct Read {
    rules: root::Rules,
    positions: Vec<root::Position>,
}

impl Read {
    fn side(&self) -> Side<'_> {
        Side { rules: &self.rules, positions: &self.positions }
    }
}

impl From<Accepted> for Read {
    fn from(accepted: Accepted) -> Self {
        Self { rules: accepted.rules, positions: accepted.positions }
    }
}

/// Compares two policies and prints the difference in effect.
///
/// # Errors
/// The result cannot be written.
pub fn run(host: &Host, args: &DiffArgs, io: &mut Io<'_>) -> io::Result<Exit> {
    let Some(old) = read(host, Some(&args.old), io)? else {
        return Ok(Exit::Failed);
    };
    let Some(new) = read(host, args.new.as_deref(), io)? else {
        return Ok(Exit::Failed);
    };
    let report = match between(old.side(), new.side()) {
        Ok(report) => report,
        Err(why) => {
            writeln!(io.err, "the helper refuses a policy: {}", crate::text::escape(&why))?;
            return Ok(Exit::Failed);
        }
    };
    if args.json {
        let object = json(&report, old.side(), new.side()).to_string();
        writeln!(io.out, "{}", crate::text::escape_json(&object))?;
    } else {
        write!(io.out, "{}", text(&report, old.side(), new.side()))?;
    }
    let is_failed = !report.unproven.is_empty() || (args.exit_code && report.is_change());
    Ok(if is_failed { Exit::Failed } else { Exit::Done })
}

/// Reads the policy that an argument names; prints the reason if there is none.
fn read(host: &Host, path: Option<&Path>, io: &mut Io<'_>) -> io::Result<Option<Read>> {
    let Some(path) = path else {
        return read_files(host, &host.etc, Owner::Only(host.owner_uid), io);
    };
    let is_accepted = path == Path::new("accepted");
    let file = if is_accepted { host.accepted_dir().join(accepted::FILE) } else { path.to_owned() };
    if !is_accepted && path.extension().is_none_or(|extension| extension != "pb") {
        return read_files(host, path, Owner::Anybody, io);
    }
    let shown = crate::text::escape(&file.display().to_string());
    match accepted::read_file(&file) {
        Ok(Some(accepted)) => return Ok(Some(accepted.into())),
        Ok(None) if is_accepted => {
            writeln!(io.err, "nothing was accepted yet: everything is new")?;
            return Ok(Some(Read {
                rules: root::Rules { version: 1, ..root::Rules::default() },
                positions: Vec::new(),
            }));
        }
        Ok(None) => writeln!(io.err, "{shown} does not exist")?,
        Err(error) => writeln!(io.err, "{shown}: {error}")?,
    }
    Ok(None)
}

fn read_files(host: &Host, path: &Path, owner: Owner, io: &mut Io<'_>) -> io::Result<Option<Read>> {
    let (_, findings, compiled) = load(path, owner, Purpose::Review, host);
    let Some(compiled) = compiled else {
        for finding in findings {
            writeln!(io.err, "{finding}")?;
        }
        writeln!(io.err, "not compared: `postern-admin policy check` must pass first")?;
        return Ok(None);
    };
    Ok(Some(Read { rules: compiled.rules, positions: compiled.positions }))
}

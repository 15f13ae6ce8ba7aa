//! `policy check` and `policy facts`.

use super::facts::{self, Facts};
use super::gather::{self, UnitScope};
use super::sarif;
use crate::finding::Severity;
use crate::host::Host;
use crate::io::{Exit, Io};
use crate::policy::accepted;
use crate::policy::apply::{is_fine, load_with, summary};
use crate::policy::finding::Finding;
use crate::policy::source::Owner;
use crate::policy::{Compiled, Purpose};
use crate::text::{count, escape, escape_json};
use clap::Args;
use postern_proto::root::v1 as root;
use serde_json::json;
use std::fs;
use std::io;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};

/// Arguments of `policy check`.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub struct CheckArgs {
    /// A policy.toml, or a directory laid out like /etc/postern [default: /etc/postern]
    path: Option<PathBuf>,
    /// Warnings are errors
    #[arg(long)]
    strict: bool,
    /// Check against this host, as `policy facts` described it
    #[arg(long, value_name = "FILE")]
    facts: Option<PathBuf>,
    /// One JSON object
    #[arg(long, conflicts_with = "sarif")]
    json: bool,
    /// SARIF 2.1.0, for code review tools
    #[arg(long)]
    sarif: bool,
    /// Check the accepted policy against this host and write warnings to the journal; for apt's hook
    #[arg(long, hide = true, conflicts_with_all = ["path", "strict", "facts", "json", "sarif"])]
    after_packages: bool,
}

/// Arguments of `policy facts`.
#[derive(Debug, Args)]
pub struct FactsArgs {
    /// The policy whose directories and clients are looked at [default: /etc/postern]
    path: Option<PathBuf>,
}

/// A policy that was checked.
struct Checked {
    findings: Vec<Finding>,
    compiled: Option<Compiled>,
    files: usize,
    summary: String,
    facts: Option<Facts>,
}

impl Checked {
    fn number(&self, severity: Severity) -> usize {
        self.findings.iter().filter(|finding| finding.severity == severity).count()
    }

    fn accepted(&self) -> usize {
        self.findings.iter().filter(|finding| finding.accepted.is_some()).count()
    }
}

/// `policy check`. Exit 0 if nothing is worse than a warning; under `--strict` a warning is an error.
///
/// # Errors
/// The result cannot be written.
pub fn run_check(host: &Host, args: &CheckArgs, io: &mut Io<'_>) -> io::Result<Exit> {
    if args.after_packages {
        return after_packages(host, io);
    }
    let given = match args.facts.as_deref().map(read_facts).transpose() {
        Ok(given) => given,
        Err(why) => {
            writeln!(io.err, "{}", escape(&why))?;
            return Ok(Exit::Usage);
        }
    };
    let checked = check(host, args.path.as_deref(), given);
    let is_fine = is_fine(&checked.findings) && !(args.strict && checked.number(Severity::Warning) > 0);
    if args.sarif {
        writeln!(io.out, "{}", escape_json(&sarif::log(&checked.findings).to_string()))?;
    } else if args.json {
        writeln!(io.out, "{}", escape_json(&as_json(&checked, is_fine).to_string()))?;
    } else {
        show(&checked, is_fine, io)?;
    }
    Ok(if is_fine { Exit::Done } else { Exit::Failed })
}

fn read_facts(path: &Path) -> Result<Facts, String> {
    let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    facts::read(&text).map_err(|why| format!("{}: {why}", path.display()))
}

/// The installed files are checked against this host; others against the host that was described, if any.
fn check(host: &Host, path: Option<&Path>, given: Option<Facts>) -> Checked {
    let mut facts = None;
    let (place, owner) =
        path.map_or((host.etc.as_path(), Owner::Only(host.owner_uid)), |path| (path, Owner::Anybody));
    let gathered = |rules: &root::Rules| {
        let live = || host.probes.as_ref().map(|probes| gather::live(rules, UnitScope::All, probes));
        facts = given.or_else(|| if path.is_none() { live() } else { None });
        facts.clone()
    };
    let (sources, findings, compiled) = load_with(place, owner, Purpose::Review, host, gathered);
    let summary = compiled.as_ref().map_or_else(String::new, |compiled| summary(compiled, &sources));
    Checked { findings, compiled, files: sources.len(), summary, facts }
}

fn as_json(checked: &Checked, is_fine: bool) -> serde_json::Value {
    let compiled = checked.compiled.as_ref().filter(|_| is_fine);
    let (rules, clients) = compiled.map_or((0, 0), |c| (c.rules.rules.len(), c.rules.clients.len()));
    let facts = checked.facts.as_ref().map(|facts| {
        json!({ "host": facts.host, "collected_unix_s": facts.collected_unix_s, "notes": facts.notes })
    });
    json!({
        "v": 1, "ok": is_fine, "errors": checked.number(Severity::Error),
        "warnings": checked.number(Severity::Warning), "accepted": checked.accepted(), "files": checked.files,
        "clients": clients, "rules": rules, "digest": compiled.map(|c| c.digest.to_string()),
        "facts": facts, "findings": checked.findings,
    })
}

fn show(checked: &Checked, is_fine: bool, io: &mut Io<'_>) -> io::Result<()> {
    for finding in checked.findings.iter().filter(|finding| finding.accepted.is_none()) {
        writeln!(io.out, "{finding}")?;
    }
    for note in checked.facts.iter().flat_map(|facts| &facts.notes) {
        writeln!(io.err, "of this host: {}", escape(note))?;
    }
    if is_fine {
        let accepted = match checked.accepted() {
            0 => String::new(),
            number => format!(", {} accepted by the rules", count(number, "finding")),
        };
        writeln!(io.out, "ok: {}{accepted}", checked.summary)
    } else {
        let (errors, warned) = (checked.number(Severity::Error), checked.number(Severity::Warning));
        let strict = if errors == 0 { " (--strict)" } else { "" };
        writeln!(io.err, "{}, {}{strict}", count(errors, "error"), count(warned, "warning"))
    }
}

/// `policy facts`: for the installed policy, another one, or none where there is none to be read.
///
/// # Errors
/// The result cannot be written.
pub fn run_facts(host: &Host, args: &FactsArgs, io: &mut Io<'_>) -> io::Result<Exit> {
    let (path, owner) = args
        .path
        .as_deref()
        .map_or((host.etc.as_path(), Owner::Only(host.owner_uid)), |path| (path, Owner::Anybody));
    let Some(probes) = &host.probes else {
        writeln!(io.err, "facts about this host cannot be gathered")?;
        return Ok(Exit::Failed);
    };
    // Units, hooks and links are facts without any policy.
    let mut rules = root::Rules::default();
    let (_, findings, _) = load_with(path, owner, Purpose::Review, host, |known| {
        known.clone_into(&mut rules);
        None
    });
    let is_unread = rules.clients.is_empty();
    if let Some(error) = findings.iter().find(|finding| is_unread && finding.severity == Severity::Error) {
        writeln!(io.err, "facts about the policy's directories and clients are missing: {error}")?;
    }
    let facts = gather::live(&rules, UnitScope::All, probes);
    for note in &facts.notes {
        writeln!(io.err, "of this host: {}", escape(note))?;
    }
    let text = serde_json::to_string_pretty(&facts).map_err(io::Error::other)?;
    for line in text.lines() {
        writeln!(io.out, "{}", escape_json(line))?;
    }
    Ok(Exit::Done)
}

/// Checks the accepted policy against the host after a package transaction. It only warns: apt is not stopped.
fn after_packages(host: &Host, io: &mut Io<'_>) -> io::Result<Exit> {
    let Some(probes) = &host.probes else {
        return Ok(Exit::Done);
    };
    let path = match accepted::files(&host.accepted_dir()) {
        Ok(Some(path)) => path,
        Ok(None) => return Ok(Exit::Done),
        Err(error) => {
            writeln!(io.err, "the accepted policy cannot be checked: {error}")?;
            return Ok(Exit::Done);
        }
    };
    let live = |rules: &root::Rules| Some(gather::live(rules, UnitScope::Loaded, probes));
    let (_, findings, _) = load_with(&path, Owner::Only(host.owner_uid), Purpose::Review, host, live);
    let is_of_host = |finding: &&Finding| {
        finding.accepted.is_none() && super::kind(finding.id).is_some_and(|kind| kind.is_of_host)
    };
    for finding in findings.iter().filter(is_of_host) {
        let text =
            format!("policy check after packages changed: [{}] {}", finding.id, escape(&finding.message));
        // The output of this command is part of apt's output, which the agent reads and which must not reveal the policy. Without a journal
        // there is still `policy check`.
        let _ = log(&probes.log, &text);
    }
    Ok(Exit::Done)
}

/// A warning of a system daemon, as syslog(3) sends it; journald listens there too.
pub(crate) fn log(socket: &Path, text: &str) -> io::Result<()> {
    const DAEMON_WARNING: u8 = 3 * 8 + 4;
    let line = format!("<{DAEMON_WARNING}>postern-admin: {text}");
    UnixDatagram::unbound()?.send_to(line.as_bytes(), socket).map(drop)
}

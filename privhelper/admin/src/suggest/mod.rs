//! `policy suggest`: rules for what the log says was refused, for a person to read, narrow and add.
//!
//! It installs nothing. A rule names exactly the objects, verbs and limits that were asked for; nothing is suggested of what a person
//! or a deny rule refused, or of what no rule can grant. The same log and policy give the same text. A report of the agent
//! only chooses among the log's records.

mod claims;
mod cover;
mod limits;
mod rules;
mod seen;
mod toml_text;

use crate::audit::filter::FilterArgs;
use crate::audit::follow::{Reading, Step, Until};
use crate::audit::lines::End;
use crate::explain::request::Element;
use crate::host::Host;
use crate::io::{Exit, Io};
use crate::loaded_policy::{LoadedPolicy, requester};
use crate::packs::pack;
use crate::policy::Purpose;
use crate::policy::apply::load_edited;
use crate::policy::edit::Edit;
use crate::policy::finding::Finding;
use crate::policy::source::Owner;
use crate::text::{count, escape};
use claims::Claims;
use clap::Args;
use postern_policy::{Code, Decision, Policy, VerbId};
use rules::Suggestion;
pub use seen::Seen;
use seen::{Basis, Wanted};
use serde_json::Value;
use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;

/// The file that the suggestion would be.
const FILE: &str = "suggested.toml";

/// Arguments of `policy suggest`.
#[derive(Debug, Args)]
pub struct SuggestArgs {
    /// Only requests that this report of `postern insights --json` names; - reads standard input. What they were is read from the log
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
    /// Instead, rules for what people approved at least this often and nobody denied
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    approved: Option<u64>,
    #[command(flatten)]
    filter: FilterArgs,
}

/// `policy suggest`.
///
/// # Errors
/// The output cannot be written.
pub fn run(host: &Host, args: &SuggestArgs, io: &mut Io<'_>) -> io::Result<Exit> {
    let mut notes = BTreeSet::new();
    match (read(host, args, &mut notes), args.approved) {
        (Ok(seen), None) => show_refused(host, seen, notes, io),
        (Ok(seen), Some(least)) => show_approved(host, seen, least, notes, io),
        (Err((exit, why)), _) => writeln!(io.err, "{}", escape(&why)).map(|()| exit),
    }
}

/// Prints rules for the refusals among these.
///
/// # Errors
/// The output cannot be written.
pub fn show(host: &Host, seen: Seen, io: &mut Io<'_>) -> io::Result<Exit> {
    show_refused(host, seen, BTreeSet::new(), io)
}

fn show_refused(host: &Host, seen: Seen, mut notes: BTreeSet<String>, io: &mut Io<'_>) -> io::Result<Exit> {
    let (seen, records) = seen.refused();
    let loaded = match LoadedPolicy::load(host, None) {
        Ok(loaded) => loaded,
        Err(error) => return error.print(io),
    };
    let wanted = refused_now(&loaded, seen, &mut notes);
    let suggestion = rules::of(&wanted, &loaded.rules, Basis::Refusals, &mut notes);
    let refusals = count(usize::try_from(records).unwrap_or(usize::MAX), "refusal");
    let (packs, _) = pack::all(host)?;
    let packs = cover::words(&packs, &suggestion);
    print(host, (&refusals, "for lack of a rule"), &packs, (&suggestion, &notes), io)
}

/// Prints rules that would take the place of approvals.
fn show_approved(
    host: &Host,
    seen: Seen,
    least: u64,
    mut notes: BTreeSet<String>,
    io: &mut Io<'_>,
) -> io::Result<Exit> {
    let (seen, asked_by) = seen.approved(least);
    let loaded = match LoadedPolicy::load(host, None) {
        Ok(loaded) => loaded,
        Err(error) => return error.print(io),
    };
    let approvals = seen.values().sum::<u64>();
    let wanted = asked_now(&loaded, seen.into_keys().collect(), &mut notes);
    let suggestion = rules::of(&wanted, &loaded.rules, Basis::Approvals, &mut notes);
    let asked_by = asked_by.into_iter().filter(|id| loaded.rules.rules.iter().any(|rule| rule.id == *id));
    let remark = |id: String| {
        format!(
            "rule {id} asks a person for some of it, and `ask` wins over `allow`: nothing changes until you narrow {id}"
        )
    };
    let remarks = if suggestion.rules.is_empty() { Vec::new() } else { asked_by.map(remark).collect() };
    let approvals = count(usize::try_from(approvals).unwrap_or(usize::MAX), "approval");
    let what = format!("of what was approved {least} times or more and never denied");
    print(host, (&approvals, &what), &remarks, (&suggestion, &notes), io)
}

/// Reads the refusals and approvals from the log.
fn read(host: &Host, args: &SuggestArgs, notes: &mut BTreeSet<String>) -> Result<Seen, (Exit, String)> {
    let basis = if args.approved.is_some() { Basis::Approvals } else { Basis::Refusals };
    let claims = args.from.as_ref().map(|path| Claims::read(path, basis == Basis::Approvals));
    let mut claims = claims.transpose().map_err(|why| (Exit::Failed, why))?;
    let (filter, files) = args.filter.resolve(host)?;
    let mut seen = Seen::default();
    each_record(host, files, |record| {
        let is_chosen = filter.fits(record) && claims.as_ref().is_none_or(|claims| claims.has(record));
        let taken = seen.take(record, is_chosen);
        if let (Some(claims), true) = (&mut claims, taken == Some(basis)) {
            claims.found(record);
        }
    })?;
    let what = if basis == Basis::Approvals { "approval" } else { "refusal for lack of a rule" };
    notes.extend(claims.and_then(|claims| claims.note(what)));
    Ok(seen)
}

/// Hands over each record of the log.
///
/// # Errors
/// A file cannot be read: how the command ends, and why.
pub fn each_record(
    host: &Host,
    files: Vec<PathBuf>,
    mut take: impl FnMut(&Value),
) -> Result<(), (Exit, String)> {
    let mut reading = Reading::new(host, files, Until::End);
    loop {
        match reading.next() {
            Ok(Step::Line(End::Whole)) => {
                if let Ok(record) = serde_json::from_slice(reading.line().2) {
                    take(&record);
                }
            }
            Ok(Step::Line(End::File | End::TooLong)) => {}
            Ok(Step::Caught | Step::End) => return Ok(()),
            Err(error) => {
                return Err((Exit::Failed, format!("{}: {error}", reading.line().0.display())));
            }
        }
    }
}

/// Those that the policy of now still has no rule for.
fn refused_now(
    loaded: &LoadedPolicy,
    seen: BTreeSet<Wanted>,
    notes: &mut BTreeSet<String>,
) -> BTreeSet<Wanted> {
    still(loaded, seen, notes, |_, decision| match decision {
        Err(Code::NoGrant) => Ok(true),
        Ok(_) => Ok(false),
        Err(code) => Err(format!("the policy says {}", code.as_str())),
    })
}

/// Those that the policy of now still asks a person for, and of which a rule allows no more than was approved.
fn asked_now(
    loaded: &LoadedPolicy,
    seen: BTreeSet<Wanted>,
    notes: &mut BTreeSet<String>,
) -> BTreeSet<Wanted> {
    still(loaded, seen, notes, |wanted, decision| match decision {
        Ok(Decision::Ask) if matches!(wanted.element.verb, VerbId::FileWrite | VerbId::FilePatch) => {
            Err("each content was read before it was approved, and a rule knows no content".to_owned())
        }
        Ok(Decision::Ask) => Ok(true),
        Ok(Decision::Allow | Decision::Deny) => Ok(false),
        Err(code) => Err(format!("the policy says {}", code.as_str())),
    })
}

/// Those that are still wanted under the policy of now. `judge`: whether one is, or why nothing is suggested of it.
fn still(
    loaded: &LoadedPolicy,
    mut seen: BTreeSet<Wanted>,
    notes: &mut BTreeSet<String>,
    judge: impl Fn(&Wanted, Result<Decision, Code>) -> Result<bool, String>,
) -> BTreeSet<Wanted> {
    seen.retain(|wanted| {
        let judged = decided(loaded, wanted)
            .and_then(|decision| judge(wanted, decision).map_err(|why| format!("{}: {why}", wanted.words())));
        judged.unwrap_or_else(|note| {
            notes.insert(note);
            false
        })
    });
    seen
}

/// The decision of the policy of now on an element by itself.
fn decided(loaded: &LoadedPolicy, wanted: &Wanted) -> Result<Result<Decision, Code>, String> {
    let names = wanted.client.split('+').map(str::to_owned).collect::<Vec<_>>();
    if !loaded.rules.clients.iter().any(|client| names.contains(&client.name)) {
        return Err(format!("{}: the policy has no such client any more", wanted.client));
    }
    Ok(decision(&loaded.for_clients(&names)?, &wanted.element))
}

/// The decision on an element, or why it is refused.
fn decision(policy: &Policy, element: &Element) -> Result<Decision, Code> {
    let object = element.target.object().map_err(|_| Code::InvalidArgument)?;
    let decided = policy.decide(&requester(), &[(element.verb, object)]);
    decided.map(|grant| grant.decision()).map_err(|denied| denied.code)
}

/// Runs `policy check` on the suggested rules together with the policy's files.
fn findings(host: &Host, suggestion: &Suggestion) -> Vec<Finding> {
    let edit = Edit { name: format!("policy.d/{FILE}"), text: Some(suggestion.text()), keeps_old: false };
    let as_read = (Owner::Only(host.owner_uid), Purpose::Review);
    let (_, mut findings, _) = load_edited(&host.etc, &[edit], as_read, host, |_| None);
    findings.retain(|finding| finding.file.ends_with(FILE));
    findings
}

/// Prints the rules of a suggestion after where they come from, and what is not suggested.
fn print(
    host: &Host,
    (records, kind): (&str, &str),
    remarks: &[String],
    (suggestion, notes): (&Suggestion, &BTreeSet<String>),
    io: &mut Io<'_>,
) -> io::Result<Exit> {
    if suggestion.rules.is_empty() {
        writeln!(io.out, "# {records} {kind}, and nothing to suggest.")?;
    } else {
        writeln!(
            io.out,
            "# From {records} in the audit log. Nothing was installed: read it, narrow it, and put it into a file of"
        )?;
        writeln!(
            io.out,
            "# {}/policy.d; then: postern-admin policy check && postern-admin policy apply",
            host.etc.display()
        )?;
    }
    for line in remarks {
        writeln!(io.out, "# {}", escape(line))?;
    }
    write!(io.out, "{}", suggestion.text())?;
    if !notes.is_empty() {
        writeln!(io.out, "\n# Not suggested:")?;
    }
    notes.iter().try_for_each(|note| writeln!(io.out, "# {}", escape(note)))?;
    for finding in findings(host, suggestion) {
        writeln!(io.err, "policy check would say: {finding}")?;
    }
    Ok(Exit::Done)
}

//! `policy suggest`: rules for what the log says was refused, for a person to read, narrow and add.
//!
//! It installs nothing. A rule names exactly the objects, verbs and limits that were asked for; nothing is suggested of what a person
//! or a deny rule refused, or of what no rule can grant. The same log and policy give the same text.

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
use clap::Args;
use postern_policy::{Code, Policy};
use rules::Suggestion;
pub use seen::Seen;
use seen::Wanted;
use serde_json::Value;
use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;

/// The file that the suggestion would be.
const FILE: &str = "suggested.toml";

/// Arguments of `policy suggest`.
#[derive(Debug, Args)]
pub struct SuggestArgs {
    #[command(flatten)]
    filter: FilterArgs,
}

/// `policy suggest`.
///
/// # Errors
/// The output cannot be written.
pub fn run(host: &Host, args: &SuggestArgs, io: &mut Io<'_>) -> io::Result<Exit> {
    match read(host, &args.filter) {
        Ok(seen) => show(host, seen, io),
        Err((exit, why)) => writeln!(io.err, "{}", escape(&why)).map(|()| exit),
    }
}

/// Prints rules for the refusals among these.
///
/// # Errors
/// The output cannot be written.
pub fn show(host: &Host, seen: Seen, io: &mut Io<'_>) -> io::Result<Exit> {
    let (seen, records) = seen.refused();
    let loaded = match LoadedPolicy::load(host, None) {
        Ok(loaded) => loaded,
        Err(error) => return error.print(io),
    };
    let mut notes = BTreeSet::new();
    let wanted = refused_now(&loaded, seen, &mut notes);
    let suggestion = rules::of(&wanted, &loaded.rules, &mut notes);
    print(host, records, &suggestion, &notes, io)?;
    for finding in findings(host, &suggestion) {
        writeln!(io.err, "policy check would say: {finding}")?;
    }
    Ok(Exit::Done)
}

/// Reads the refusals from the log.
fn read(host: &Host, filter: &FilterArgs) -> Result<Seen, (Exit, String)> {
    let (filter, files) = filter.resolve(host)?;
    let mut seen = Seen::default();
    each_record(host, files, |record| seen.take(record, filter.fits(record)))?;
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
    let code = |wanted: &Wanted| {
        let names = wanted.client.split('+').map(str::to_owned).collect::<Vec<_>>();
        if !loaded.rules.clients.iter().any(|client| names.contains(&client.name)) {
            return Err(format!("{}: the policy has no such client any more", wanted.client));
        }
        let policy = loaded.for_clients(&names)?;
        Ok(refusal(&policy, &wanted.element))
    };
    let mut still = BTreeSet::new();
    for wanted in seen {
        match code(&wanted) {
            Ok(Some(Code::NoGrant)) => {
                still.insert(wanted);
            }
            Ok(None) => {}
            Ok(Some(code)) => {
                notes.insert(format!("{}: the policy says {}", wanted.words(), code.as_str()));
            }
            Err(why) => {
                notes.insert(why);
            }
        }
    }
    still
}

/// Why a policy refuses an element; none if it grants it.
fn refusal(policy: &Policy, element: &Element) -> Option<Code> {
    match element.target.object() {
        Ok(object) => policy.decide(&requester(), &[(element.verb, object)]).err().map(|denied| denied.code),
        Err(_) => Some(Code::InvalidArgument),
    }
}

/// Runs `policy check` on the suggested rules together with the policy's files.
fn findings(host: &Host, suggestion: &Suggestion) -> Vec<Finding> {
    let edit = Edit { name: format!("policy.d/{FILE}"), text: Some(suggestion.text()), keeps_old: false };
    let as_read = (Owner::Only(host.owner_uid), Purpose::Review);
    let (_, mut findings, _) = load_edited(&host.etc, &[edit], as_read, host, |_| None);
    findings.retain(|finding| finding.file.ends_with(FILE));
    findings
}

fn print(
    host: &Host,
    records: u64,
    suggestion: &Suggestion,
    notes: &BTreeSet<String>,
    io: &mut Io<'_>,
) -> io::Result<()> {
    let refusals = count(usize::try_from(records).unwrap_or(usize::MAX), "refusal");
    if suggestion.rules.is_empty() {
        writeln!(io.out, "# {refusals} for lack of a rule, and nothing to suggest.")?;
    } else {
        writeln!(
            io.out,
            "# From {refusals} in the audit log. Nothing was installed: read it, narrow it, and put it into a file of"
        )?;
        writeln!(
            io.out,
            "# {}/policy.d; then: postern-admin policy check && postern-admin policy apply",
            host.etc.display()
        )?;
    }
    let (packs, _) = pack::all(host)?;
    for line in cover::words(&packs, suggestion) {
        writeln!(io.out, "# {}", escape(&line))?;
    }
    write!(io.out, "{}", suggestion.text())?;
    if !notes.is_empty() {
        writeln!(io.out, "\n# Not suggested:")?;
    }
    notes.iter().try_for_each(|note| writeln!(io.out, "# {}", escape(note)))
}

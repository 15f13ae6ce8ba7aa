//! Reading a policy with all its findings, and `policy apply`.

use super::accepted::{self, Accepted, Store};
use super::edit::{self, Edit};
use super::examples::PROTECTED;
use super::finding::{self, Finding, Findings};
use super::source::{Owner, Source};
use super::{Compiled, Purpose, check, files};
use crate::diff::{self, Side};
use crate::enforce::{self, Plan};
use crate::finding::Severity;
use crate::host::Host;
use crate::io::{Exit, Io};
use crate::lint::facts::Facts;
use crate::lint::{self, gather, how_to_accept};
use crate::operator::{self, CallError};
use crate::text::{count, escape};
use postern_policy::Policy;
use postern_policy::types::Digest;
use postern_proto::root::v1 as root;
use postern_proto::v1::{OperatorApplied, OperatorApplyRequest};
use std::collections::BTreeSet;
use std::io;
use std::path::Path;

/// The form of output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// A line each.
    Text,
    /// One object.
    Json,
}

/// Reads and checks the policy's files: sources, findings, and the compiled form if there is one. Findings of the
/// lint may still refuse it: see [`is_fine`].
#[must_use]
pub fn load(
    path: &Path,
    owner: Owner,
    purpose: Purpose,
    host: &Host,
) -> (Vec<Source>, Vec<Finding>, Option<Compiled>) {
    load_with(path, owner, purpose, host, |_| None)
}

/// As [`load`], and checked against what is known of a host.
#[must_use]
pub fn load_with(
    path: &Path,
    owner: Owner,
    purpose: Purpose,
    host: &Host,
    facts: impl FnOnce(&root::Rules) -> Option<Facts>,
) -> (Vec<Source>, Vec<Finding>, Option<Compiled>) {
    load_edited(path, &[], (owner, purpose), host, facts)
}

/// As [`load_with`], with edits that are not on the disk yet.
#[must_use]
pub fn load_edited(
    path: &Path,
    edits: &[Edit],
    (owner, purpose): (Owner, Purpose),
    host: &Host,
    facts: impl FnOnce(&root::Rules) -> Option<Facts>,
) -> (Vec<Source>, Vec<Finding>, Option<Compiled>) {
    let mut findings = Findings::default();
    let read = files::read(path, owner, &mut findings);
    // Findings about the old text of an edited file do not apply.
    findings
        .forget(&edits.iter().map(|edit| path.join(&edit.name).display().to_string()).collect::<Vec<_>>());
    let sources = edit::overlay(read, edits, path);
    let (mut findings, compiled) = check(&sources, findings, purpose, host);
    let is_policy = is_fine(&findings);
    let facts = facts(&compiled.rules);
    let found = lint::run(&compiled.lint_input(facts.as_ref()));
    findings.extend(finding::of_lint(found, &sources, &compiled.rules.rules));
    accept_nothing_protected(&mut findings);
    finding::sort(&mut findings);
    (sources, findings, is_policy.then_some(compiled))
}

/// Takes the advice to give a reason from findings about what no rule can grant: no reason helps there.
fn accept_nothing_protected(findings: &mut [Finding]) {
    let place = |finding: &Finding| (finding.file.clone(), finding.line, finding.column);
    let is_protected = |finding: &&Finding| finding.message.contains(PROTECTED);
    let protected = findings.iter().filter(is_protected).map(place).collect::<BTreeSet<_>>();
    for finding in findings.iter_mut().filter(|finding| protected.contains(&place(finding))) {
        if let Some(short) = finding.message.strip_suffix(&how_to_accept(finding.id)) {
            finding.message = short.to_owned();
        }
    }
}

/// Whether nothing was found for which the policy is refused.
#[must_use]
pub fn is_fine(findings: &[Finding]) -> bool {
    findings.iter().all(|finding| finding.severity != Severity::Error)
}

/// How much a policy is.
#[must_use]
pub fn summary(compiled: &Compiled, sources: &[Source]) -> String {
    let clients = count(compiled.rules.clients.len(), "client");
    let rules = count(compiled.rules.rules.len(), "rule");
    format!(
        "{clients} and {rules} in {}, policy {}",
        count(sources.len(), "file"),
        short(&compiled.digest.to_string())
    )
}

/// The first 12 digits of a digest, for people.
#[must_use]
pub fn short(digest: &str) -> &str {
    digest.get(..12).unwrap_or(digest)
}

/// Whether a person must agree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Confirmation {
    /// Ask where there is a difference.
    Ask,
    /// `--yes`.
    Given,
}

/// `policy apply`: checks, shows what would change, asks, writes what PID 1 enforces, has it recorded, and replaces the
/// accepted policy.
///
/// # Errors
/// The output cannot be written.
pub fn run_apply(host: &Host, confirmation: Confirmation, io: &mut Io<'_>) -> io::Result<Exit> {
    run(host, &[], Unchanged::AcceptAgain, confirmation, io)
}

/// As [`run_apply`], with edits of the files: they are on the disk only once a person has agreed, and are taken back if the
/// policy is not accepted. Without edits and without a difference nothing is written and nothing recorded, so that
/// configuration management may repeat the command.
///
/// # Errors
/// The output cannot be written.
pub fn run_edited(
    host: &Host,
    edits: &[Edit],
    confirmation: Confirmation,
    io: &mut Io<'_>,
) -> io::Result<Exit> {
    run(host, edits, Unchanged::Leave, confirmation, io)
}

/// The treatment of a policy that is accepted already, from the same files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unchanged {
    /// Its units are written again: `policy apply` mends what somebody took away.
    AcceptAgain,
    /// Nothing.
    Leave,
}

fn run(
    host: &Host,
    edits: &[Edit],
    unchanged: Unchanged,
    confirmation: Confirmation,
    io: &mut Io<'_>,
) -> io::Result<Exit> {
    if let Some(exit) = not_root(host, io)? {
        return Ok(exit);
    }
    let owner = Owner::Only(host.owner_uid);
    let facts = |rules: &root::Rules| {
        host.probes.as_ref().map(|probes| gather::live(rules, gather::UnitScope::All, probes))
    };
    let (sources, findings, compiled) = load_edited(&host.etc, edits, (owner, Purpose::Apply), host, facts);
    for finding in findings.iter().filter(|finding| finding.accepted.is_none()) {
        writeln!(io.err, "{finding}")?;
    }
    let Some(compiled) = compiled.filter(|_| is_fine(&findings)) else {
        writeln!(io.err, "not applied: the accepted policy is unchanged")?;
        return Ok(Exit::Failed);
    };
    let store = match store(host) {
        Ok(store) => store,
        Err(why) => return fail(io, &format!("not applied: {why}")),
    };
    let old = match accepted::read(&host.accepted_dir()) {
        Ok(old) => old,
        // It is replaced by a good one: nothing of it is worth keeping.
        Err(error) if error.kind() == io::ErrorKind::InvalidData => {
            writeln!(io.err, "{error}: every rule is shown as new")?;
            None
        }
        Err(error) => return fail(io, &format!("not applied: {}: {error}", host.accepted_dir().display())),
    };
    let plan = match plan(&compiled.rules, compiled.digest, host) {
        Ok(plan) => plan,
        Err(why) => return fail(io, &format!("not applied: {why}")),
    };
    for note in &plan.notes {
        writeln!(io.err, "note: {}", escape(note))?;
    }
    let differs = show(old.as_ref(), &compiled, io)?;
    if differs && let Some(exit) = refused(confirmation, "Apply this policy?", io)? {
        return Ok(exit);
    }
    let is_as_accepted =
        !differs && edits.is_empty() && old.as_ref().is_some_and(|old| old.positions == compiled.positions);
    if is_as_accepted && unchanged == Unchanged::Leave {
        return Ok(Exit::Done);
    }
    let replaced = match edit::write(&host.etc, edits) {
        Ok(replaced) => replaced,
        Err(error) => return fail(io, &format!("not applied: {}: {error}", host.etc.display())),
    };
    if let Err(why) = accept(host, &store, &plan, old.as_ref(), (&compiled, &sources)) {
        let why = match edit::revert(&host.etc, replaced) {
            Ok(()) => why,
            Err(error) => format!("{why}; and the files could not be put back: {error}"),
        };
        return fail(io, &why);
    }
    writeln!(io.out, "accepted: {}", summary(&compiled, &sources))?;
    writeln!(io.out, "active from the next decision on")?;
    Ok(Exit::Done)
}

/// `policy apply --accepted`: writes the units and mounts of the policy that is accepted already, as this version has them.
///
/// # Errors
/// The output cannot be written.
pub fn run_accepted(host: &Host, io: &mut Io<'_>) -> io::Result<Exit> {
    if let Some(exit) = not_root(host, io)? {
        return Ok(exit);
    }
    let written = store(host).and_then(|_held| {
        let accepted = accepted::read(&host.accepted_dir());
        let accepted = accepted.map_err(|error| format!("{}: {error}", host.accepted_dir().display()))?;
        let accepted = accepted.ok_or("no policy is accepted yet: see `postern-admin policy apply`")?;
        let plan = plan(&accepted.rules, accepted.digest, host)?;
        enforce::install(host, &plan, &BTreeSet::new())?;
        Ok(plan)
    });
    match written {
        Ok(plan) => {
            for note in &plan.notes {
                writeln!(io.err, "note: {}", escape(note))?;
            }
            writeln!(io.out, "{} of the accepted policy written", count(plan.units.len(), "unit"))?;
            Ok(Exit::Done)
        }
        Err(why) => fail(io, &why),
    }
}

fn not_root(host: &Host, io: &mut Io<'_>) -> io::Result<Option<Exit>> {
    if nix::unistd::geteuid().as_raw() == host.owner_uid {
        return Ok(None);
    }
    writeln!(
        io.err,
        "only root may apply a policy; `postern-admin policy check` checks it for anybody who may read it"
    )?;
    Ok(Some(Exit::Failed))
}

/// The directory of the accepted policy, for the programs that may read it.
fn store(host: &Host) -> Result<Store, String> {
    let group = |name: &str| {
        let known = (host.accounts.group)(name);
        known.map(|(gid, _)| gid).ok_or_else(|| format!("there is no group {name}"))
    };
    let (readers, files) = (group("postern-policy")?, group("postern-files")?);
    let store = Store::open(&host.accepted_dir(), host.owner_uid, readers);
    let store = store.and_then(|store| store.share(files).map(|()| store));
    store.map_err(|error| format!("{}: {error}", host.accepted_dir().display()))
}

fn plan(rules: &root::Rules, digest: Digest, host: &Host) -> Result<Plan, String> {
    Plan::of(&Policy::compile(rules, digest)?, host)
}

/// Shows the difference in effect; whether there is one.
fn show(old: Option<&Accepted>, compiled: &Compiled, io: &mut Io<'_>) -> io::Result<bool> {
    if old.is_some_and(|old| old.digest == compiled.digest) {
        writeln!(io.out, "no difference to what is accepted already")?;
        return Ok(false);
    }
    let none = root::Rules::default();
    let before = old.map_or(Side { rules: &none, positions: &[] }, |old| Side {
        rules: &old.rules,
        positions: &old.positions,
    });
    let after = Side { rules: &compiled.rules, positions: &compiled.positions };
    match diff::between(before, after) {
        Ok(report) => write!(io.out, "{}", diff::text(&report, before, after))?,
        // A policy that another version accepted may be invalid for this one.
        Err(why) => writeln!(io.err, "the difference in effect is not known: {}", escape(&why))?,
    }
    Ok(true)
}

/// Units and mounts first, then the record, and `accepted.pb` last: no program ever decides under a policy whose units are
/// missing, and none that was not recorded.
fn accept(
    host: &Host,
    store: &Store,
    plan: &Plan,
    old: Option<&Accepted>,
    (compiled, sources): (&Compiled, &[Source]),
) -> Result<(), String> {
    // Orders that were decided under the old policy still need its units.
    let kept = old.and_then(|old| Policy::compile(&old.rules, old.digest).ok());
    let kept = kept.and_then(|policy| enforce::units(&policy).ok()).unwrap_or_default().into_keys().collect();
    let installed = enforce::install(host, plan, &kept).map_err(|why| format!("not applied: {why}"))?;
    let revert = |installed: enforce::Installed<'_>, why: String| {
        installed.revert().map_or_else(|error| format!("{why}; {error}"), |()| why.clone())
    };
    let is_watched = match record(host, compiled.digest) {
        Ok(()) => true,
        // The recorder's first record will name the policy.
        Err(error) if error.is_absent() && !host.had_recorder() => false,
        Err(error) => {
            let why = format!("not applied, since it could not be recorded: {error}");
            let start = "; start the recorder: systemctl start postern-operator.socket";
            let start = if error.is_absent() { start } else { "" };
            return Err(revert(installed, format!("{why}{start}")));
        }
    };
    let now = crate::text::now();
    // SUDO_UID is text that the caller sets; the login uid and the real uid are the kernel's word. Under sudo the real
    // uid is root's, the login uid still the person's.
    let uid = (host.login_uid)().unwrap_or_else(|| nix::unistd::getuid().as_raw());
    let written = store.write(compiled, sources, now, uid);
    let replaced = match written {
        Ok(replaced) => replaced,
        Err(error) => {
            let why = format!("not applied: {}: {error}", host.accepted_dir().display());
            return Err(take_back(host, old, revert(installed, why)));
        }
    };
    let greeted = if is_watched { enforce::greet(host) } else { Ok(()) };
    let Err(why) = greeted else {
        store.keep(&replaced);
        return Ok(());
    };
    let why = format!("not applied, since postern-files did not start under it: {why}");
    let why = match store.restore(&replaced) {
        Ok(()) => revert(installed, why),
        Err(error) => format!("{why}; and what was accepted before could not be restored: {error}"),
    };
    Err(take_back(host, old, why))
}

/// Has the recorder write that the previous policy stays the accepted one.
fn take_back(host: &Host, old: Option<&Accepted>, why: String) -> String {
    let recorded = old.map_or(Ok(()), |old| record(host, old.digest));
    match recorded {
        Ok(()) => why,
        Err(error) => format!("{why}; and that could not be recorded: {error}"),
    }
}

/// Has the recorder write down that this policy is about to be accepted.
fn record(host: &Host, policy: Digest) -> Result<(), CallError> {
    let request = OperatorApplyRequest { policy_digest: policy.to_string() };
    let applied: Result<OperatorApplied, CallError> =
        operator::call(&host.operator_socket, host.owner_uid, "Operator/Apply", &request);
    applied.map(|OperatorApplied {}| ())
}

/// Asks where a person must agree; the exit if nobody does.
///
/// # Errors
/// The output cannot be written, or the answer not read.
pub fn refused(confirmation: Confirmation, question: &str, io: &mut Io<'_>) -> io::Result<Option<Exit>> {
    if confirmation == Confirmation::Given {
        return Ok(None);
    }
    let Some(answers) = io.answers.as_mut() else {
        writeln!(io.err, "not applied: there is no terminal to ask on; use --yes in a script")?;
        return Ok(Some(Exit::Usage));
    };
    write!(io.err, "{question} [y/N] ")?;
    io.err.flush()?;
    answers.discard()?;
    let answer = answers.line()?;
    if matches!(answer.trim(), "y" | "Y" | "yes") {
        return Ok(None);
    }
    writeln!(io.err, "not applied")?;
    Ok(Some(Exit::Failed))
}

fn fail(io: &mut Io<'_>, why: &str) -> io::Result<Exit> {
    writeln!(io.err, "{why}")?;
    Ok(Exit::Failed)
}

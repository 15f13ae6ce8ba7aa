//! Reading a policy with all its findings, and `policy apply`.

use super::accepted::{self, Store};
use super::finding::{self, Finding, Findings, Severity};
use super::source::{self, Owner, Source};
use super::{Compiled, Purpose, check};
use crate::diff::{self, Side};
use crate::host::Host;
use crate::io::{Exit, Io};
use crate::lint::facts::Facts;
use crate::lint::{self, gather};
use crate::operator::{self, CallError};
use crate::text::{count, escape};
use postern_proto::root::v1 as root;
use postern_proto::v1::{OperatorReloadRequest, OperatorReloaded};
use std::io;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// How findings are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// A line each.
    Text,
    /// One object.
    Json,
}

/// The files of the policy, what was found in them by their text alone, and the compiled form if they say one. What the
/// lint finds may still refuse it: see [`is_fine`].
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
    let mut findings = Findings::default();
    let sources = source::read(path, owner, &mut findings);
    let (mut findings, compiled) = check(&sources, findings, purpose, host.accounts);
    let is_policy = is_fine(&findings);
    let facts = facts(&compiled.rules);
    let found = lint::run(&compiled.lint_input(facts.as_ref()));
    findings.extend(finding::of_lint(found, &sources, &compiled.rules.rules));
    finding::sort(&mut findings);
    (sources, findings, is_policy.then_some(compiled))
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
pub enum Consent {
    /// Ask where there is a difference.
    Ask,
    /// `--yes`.
    Given,
}

/// `policy apply`: checks, shows what would change, asks, puts in force, and tells the helper.
///
/// # Errors
/// What is told cannot be written.
pub fn run_apply(host: &Host, consent: Consent, io: &mut Io<'_>) -> io::Result<Exit> {
    if nix::unistd::geteuid().as_raw() != host.owner_uid {
        writeln!(
            io.err,
            "only root may apply a policy; `postern-admin policy check` checks it for anybody who may read it"
        )?;
        return Ok(Exit::Failed);
    }
    let owner = Owner::Only(host.owner_uid);
    let facts = |rules: &root::Rules| {
        host.probes.as_ref().map(|probes| gather::live(rules, gather::Units::All, probes))
    };
    let (sources, findings, compiled) = load_with(&host.etc, owner, Purpose::Apply, host, facts);
    for finding in findings.iter().filter(|finding| finding.accepted.is_none()) {
        writeln!(io.err, "{finding}")?;
    }
    let Some(compiled) = compiled.filter(|_| is_fine(&findings)) else {
        writeln!(io.err, "not applied: what was accepted before stays in force")?;
        return Ok(Exit::Failed);
    };
    let failed = |error: &io::Error| format!("not applied: {}: {error}", host.accepted_dir().display());
    let store = match Store::open(&host.accepted_dir(), host.owner_uid) {
        Ok(store) => store,
        Err(error) => return fail(io, &failed(&error)),
    };
    let old = match accepted::read(&host.accepted_dir()) {
        Ok(old) => old,
        // It is replaced by a good one: nothing of it is worth keeping.
        Err(error) if error.kind() == io::ErrorKind::InvalidData => {
            writeln!(io.err, "{error}: every rule is shown as new")?;
            None
        }
        Err(error) => return fail(io, &failed(&error)),
    };
    let differs = old.as_ref().is_none_or(|old| old.digest != compiled.digest);
    let (before, positions) = old.map_or_else(Default::default, |old| (old.rules, old.positions));
    let before = Side { rules: &before, positions: &positions };
    let after = Side { rules: &compiled.rules, positions: &compiled.positions };
    if differs {
        match diff::between(before, after) {
            Ok(report) => write!(io.out, "{}", diff::text(&report, before, after))?,
            // What was accepted by another version may be no policy to this one.
            Err(why) => writeln!(io.err, "the difference in effect is not known: {}", escape(&why))?,
        }
    } else {
        writeln!(io.out, "no difference to what is accepted already")?;
    }
    if differs && let Some(exit) = refused(consent, io)? {
        return Ok(exit);
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    // SUDO_UID is text that the caller sets; the login uid and the real uid are the kernel's word. Under sudo the real
    // uid is root's, the login uid still the person's.
    let uid = (host.login_uid)().unwrap_or_else(|| nix::unistd::getuid().as_raw());
    if let Err(error) = store.write(&compiled, &sources, now, uid) {
        return fail(io, &failed(&error));
    }
    writeln!(io.out, "accepted: {}", summary(&compiled, &sources))?;
    reload(host, &compiled, io)
}

/// Asks where a person must agree; the exit if nobody does.
fn refused(consent: Consent, io: &mut Io<'_>) -> io::Result<Option<Exit>> {
    if consent == Consent::Given {
        return Ok(None);
    }
    let Some(answers) = io.answers.as_mut() else {
        writeln!(io.err, "not applied: nobody is there to answer; in a script say `policy apply --yes`")?;
        return Ok(Some(Exit::Usage));
    };
    write!(io.err, "Apply this policy? [y/N] ")?;
    io.err.flush()?;
    answers.discard()?;
    let answer = answers.line()?;
    if matches!(answer.trim(), "y" | "Y" | "yes") {
        return Ok(None);
    }
    writeln!(io.err, "not applied")?;
    Ok(Some(Exit::Failed))
}

fn reload(host: &Host, compiled: &Compiled, io: &mut Io<'_>) -> io::Result<Exit> {
    let request = OperatorReloadRequest {};
    let answer: Result<OperatorReloaded, CallError> =
        operator::call(&host.operator_socket, host.owner_uid, "Operator/Reload", &request);
    match answer {
        Ok(reloaded) if reloaded.policy_digest == compiled.digest.to_string() => {
            writeln!(io.out, "in force: the helper has taken it")?;
            Ok(Exit::Done)
        }
        Ok(reloaded) => {
            let has = short(&reloaded.policy_digest);
            fail(
                io,
                &format!("the helper took another policy ({}): was it applied twice at once?", escape(has)),
            )
        }
        Err(error) if error.is_absent() => {
            writeln!(io.err, "the helper does not run; it takes the policy when it starts")?;
            Ok(Exit::Done)
        }
        Err(error) => fail(io, &format!("accepted, but not yet in force: {error}")),
    }
}

fn fail(io: &mut Io<'_>, why: &str) -> io::Result<Exit> {
    writeln!(io.err, "{why}")?;
    Ok(Exit::Failed)
}

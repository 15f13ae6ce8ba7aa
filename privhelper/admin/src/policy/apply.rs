//! `policy check` and `policy apply`.

use super::accepted::{self, Store};
use super::finding::{Finding, Findings, Severity};
use super::source::{self, Owner, Source};
use super::{Compiled, Purpose, check};
use crate::diff::{self, Side};
use crate::host::Host;
use crate::io::{Exit, Io};
use crate::operator::{self, CallError};
use crate::text::{count, escape};
use postern_proto::v1::{OperatorReloadRequest, OperatorReloaded};
use serde_json::json;
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

/// What a warning is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Warnings {
    /// Told, and no more.
    Pass,
    /// As bad as an error.
    Fail,
}

/// The files of the policy, what was found in them, and the compiled form if that is no error.
#[must_use]
pub fn load(
    path: &Path,
    owner: Owner,
    purpose: Purpose,
    host: &Host,
) -> (Vec<Source>, Vec<Finding>, Option<Compiled>) {
    let mut findings = Findings::default();
    let sources = source::read(path, owner, &mut findings);
    let (findings, compiled) = check(&sources, findings, purpose, host.accounts);
    (sources, findings, compiled)
}

/// `policy check [PATH]`. Files elsewhere than in the policy's place may belong to anybody.
///
/// # Errors
/// The result cannot be written.
pub fn run_check(
    host: &Host,
    path: Option<&Path>,
    warnings: Warnings,
    format: Format,
    io: &mut Io<'_>,
) -> io::Result<Exit> {
    let (path, owner) =
        path.map_or((host.etc.as_path(), Owner::Only(host.owner_uid)), |path| (path, Owner::Anybody));
    let (sources, findings, compiled) = load(path, owner, Purpose::Review, host);
    let number = |severity| findings.iter().filter(|finding| finding.severity == severity).count();
    let (errors, warned) = (number(Severity::Error), number(Severity::Warning));
    let compiled = compiled.filter(|_| warnings == Warnings::Pass || warned == 0);
    match format {
        Format::Json => {
            let (rules, clients) =
                compiled.as_ref().map_or((0, 0), |c| (c.rules.rules.len(), c.rules.clients.len()));
            let result = json!({
                "v": 1, "ok": compiled.is_some(), "errors": errors, "warnings": warned, "files": sources.len(),
                "clients": clients, "rules": rules, "digest": compiled.as_ref().map(|c| c.digest.to_string()),
                "findings": findings,
            });
            writeln!(io.out, "{result}")?;
        }
        Format::Text => {
            for finding in &findings {
                writeln!(io.out, "{finding}")?;
            }
            if let Some(compiled) = &compiled {
                writeln!(io.out, "ok: {}", summary(compiled, &sources))?;
            } else {
                let strict = if errors == 0 { " (--strict)" } else { "" };
                writeln!(io.err, "{}, {}{strict}", count(errors, "error"), count(warned, "warning"))?;
            }
        }
    }
    Ok(if compiled.is_some() { Exit::Done } else { Exit::Failed })
}

fn summary(compiled: &Compiled, sources: &[Source]) -> String {
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
    let (sources, findings, compiled) = load(&host.etc, Owner::Only(host.owner_uid), Purpose::Apply, host);
    for finding in &findings {
        writeln!(io.err, "{finding}")?;
    }
    let Some(compiled) = compiled else {
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
    // SUDO_UID is text that the caller sets; the real uid is the kernel's word.
    let uid = nix::unistd::getuid().as_raw();
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
    let mut answer = String::new();
    answers.read_line(&mut answer)?;
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

//! `status`: the state of the recorder, and whether the policy's files match the accepted policy.

use crate::audit::storage::keeps_old;
use crate::finding::Severity;
use crate::host::Host;
use crate::io::{Exit, Io};
use crate::operator::{self, CallError};
use crate::policy::Purpose;
use crate::policy::accepted::{self, Accepted};
use crate::policy::apply::{Format, load, short};
use crate::policy::sign_off;
use crate::policy::source::Owner;
use crate::text::{count, escape, time};
use postern_policy::types::Digest;
use postern_proto::v1::{OperatorStatus, OperatorStatusRequest};
use serde_json::{Value, json};
use std::io;

/// The state of the files in `/etc/postern`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Files {
    /// This policy.
    Compiled(Digest),
    /// They have this many errors.
    Wrong(usize),
    /// This user may not read them.
    Unreadable,
}

/// The state of the files in `/etc/postern` beside the policy that is active, as a word and in words.
#[must_use]
pub fn files(host: &Host, active: Option<&str>) -> (&'static str, String) {
    let (sources, findings, compiled) = load(&host.etc, Owner::Only(host.owner_uid), Purpose::Review, host);
    let errors = findings.iter().filter(|finding| finding.severity == Severity::Error).count();
    let files = match compiled {
        Some(compiled) => Files::Compiled(compiled.digest),
        None if sources.is_empty() => Files::Unreadable,
        None => Files::Wrong(errors),
    };
    compare(files, active)
}

/// Compares the files with the accepted policy.
fn compare(files: Files, accepted: Option<&str>) -> (&'static str, String) {
    match (files, accepted) {
        (Files::Unreadable, _) => {
            ("unreadable", "the files cannot be read: see `postern-admin policy check`".to_owned())
        }
        (Files::Wrong(errors), _) => {
            let errors = count(errors, "error");
            ("errors", format!("{errors} in the files: see `postern-admin policy check`"))
        }
        (Files::Compiled(digest), Some(accepted)) if digest.to_string() == accepted => {
            ("in_force", "the files match the accepted policy".to_owned())
        }
        (Files::Compiled(_), Some(_)) => (
            "differ",
            "the files differ from the accepted policy: see `postern-admin policy apply`".to_owned(),
        ),
        (Files::Compiled(_), None) => ("unknown", "the files have no errors".to_owned()),
    }
}

/// `status`.
///
/// # Errors
/// The result cannot be written.
pub fn run(host: &Host, format: Format, io: &mut Io<'_>) -> io::Result<Exit> {
    let answer: Result<OperatorStatus, CallError> =
        operator::call(&host.operator_socket, host.owner_uid, "Operator/Status", &OperatorStatusRequest {});
    // Only root can read it; everybody else goes by what the recorder says.
    let accepted = accepted::read(&host.accepted_dir()).ok().flatten();
    let active = match (&answer, &accepted) {
        (Ok(status), _) => Some(status.policy_digest.clone()),
        (Err(_), Some(accepted)) => Some(accepted.digest.to_string()),
        (Err(_), None) => None,
    };
    let (state, words) = files(host, active.as_deref());
    let exit = match &answer {
        Ok(_) => Exit::Done,
        Err(CallError::Unreachable(_)) => Exit::Unreachable,
        Err(CallError::Refused(..) | CallError::Disconnected | CallError::Malformed(_)) => Exit::Failed,
    };
    // Sign-offs that cannot be read are none.
    let signed = sign_off::read(&host.own).unwrap_or_default();
    if format == Format::Json {
        let recorder = match &answer {
            Ok(status) => as_json(status),
            Err(error) => json!({ "error": error.to_string() }),
        };
        let one = active.as_deref().and_then(|digest| sign_off::of(&signed, digest));
        let accepted = accepted.map(|accepted| {
            json!({ "digest": accepted.digest.to_string(), "applied_unix_s": accepted.applied_unix_s, "applied_by": accepted.applied_by })
        });
        writeln!(
            io.out,
            "{}",
            json!({ "v": 1, "recorder": recorder, "accepted": accepted, "files": state, "sign_off": one })
        )?;
        return Ok(exit);
    }
    match &answer {
        Ok(status) => show(host, status, accepted.as_ref(), io)?,
        Err(error) => writeln!(io.err, "{error}")?,
    }
    writeln!(io.out, "files        {words}")?;
    let words = active.and_then(|digest| sign_off::words(&signed, &digest));
    words.map_or(Ok(()), |words| writeln!(io.out, "sign-off     {}", escape(&words)))?;
    Ok(exit)
}

fn as_json(status: &OperatorStatus) -> Value {
    json!({
        "version": status.version, "started_unix_s": status.started_unix_s, "policy_digest": status.policy_digest,
        "rules": status.rules, "clients": status.clients,
        "running": status.running, "audit_seq": status.audit_seq, "audit_fault": status.audit_fault, "notes": status.notes,
        "paused": status.paused, "pending": status.pending,
    })
}

fn show(
    host: &Host,
    status: &OperatorStatus,
    accepted: Option<&Accepted>,
    io: &mut Io<'_>,
) -> io::Result<()> {
    let mut line = |name: &str, words: String| writeln!(io.out, "{name:<12} {}", escape(&words));
    line("recorder", format!("{}, running since {}", status.version, time(status.started_unix_s)))?;
    if status.policy_digest.is_empty() {
        line(
            "policy",
            "none is accepted, so every request is refused: see `postern-admin policy apply`".to_owned(),
        )?;
    } else {
        let rules = count(usize::try_from(status.rules).unwrap_or(usize::MAX), "rule");
        let digest = short(&status.policy_digest);
        let applied = accepted
            .filter(|accepted| accepted.digest.to_string() == status.policy_digest)
            .map_or_else(String::new, |accepted| {
                format!(", applied {} by uid {}", time(accepted.applied_unix_s), accepted.applied_by)
            });
        line("policy", format!("{digest}, {rules}{applied}"))?;
    }
    if let Some(accepted) = accepted.filter(|accepted| accepted.digest.to_string() != status.policy_digest) {
        let digest = accepted.digest.to_string();
        line(
            "accepted",
            format!(
                "{} is accepted, but the recorder does not use it yet: see `policy apply`",
                short(&digest)
            ),
        )?;
    }
    let clients = if status.clients.is_empty() { "none".to_owned() } else { status.clients.join(" ") };
    line("clients", clients)?;
    line("running", count(status.running as usize, "request"))?;
    if status.audit_fault.is_empty() {
        line("audit", format!("last record {}", status.audit_seq))?;
    } else {
        line("audit", format!("cannot be written, so nothing is done: {}", status.audit_fault))?;
    }
    if !status.paused.is_empty() {
        line("paused", format!("nothing new begins until `postern-admin resume`: {}", status.paused))?;
    }
    match status.pending {
        0 => line("approvals", "nothing waits".to_owned())?,
        1 => line("approvals", "1 request waits: see `postern-admin pending`".to_owned())?,
        many => line("approvals", format!("{many} requests wait: see `postern-admin pending`"))?,
    }
    let kept =
        keeps_old(&host.state).map(|why| format!("erased seeds of the seal may remain on the disk: {why}"));
    status.notes.iter().cloned().chain(kept).try_for_each(|note| line("note", note))
}

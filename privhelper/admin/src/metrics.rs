//! `metrics`: the recorder, its log and the policy as numbers, in the text format that Prometheus reads.
//!
//! The agent serves its own counts and may not see these: they are for a textfile collector, which reads a file that this
//! program writes for it.

use crate::audit::tips;
use crate::audit::verified::LastVerification;
use crate::file::{self, Access};
use crate::host::Host;
use crate::io::{Exit, Io};
use crate::operator::{self, CallError};
use crate::policy::sign_off;
use crate::status;
use crate::text::escape;
use postern_proto::v1::{OperatorPending, OperatorPendingRequest, OperatorStatus, OperatorStatusRequest};
use prost::Message;
use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};

/// Arguments of `metrics`.
#[derive(Debug, clap::Args)]
pub struct MetricsArgs {
    /// Replace this file, whole or not at all, instead of printing
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Lines of metrics.
#[derive(Default)]
struct Text(String);

impl Text {
    /// Adds a gauge that is known.
    fn gauge(&mut self, name: &str, help: &str, value: Option<u64>) {
        if let Some(value) = value {
            // Writing to a String cannot fail.
            let _ = writeln!(
                self.0,
                "# HELP postern_{name} {help}\n# TYPE postern_{name} gauge\npostern_{name} {value}"
            );
        }
    }
}

/// `metrics`. Exit 0 if the metrics were written, also where the recorder does not answer: that is one of them. A recorder that
/// refuses this user or one of the calls is an error; what is known is written all the same.
///
/// # Errors
/// The result cannot be written to standard output.
pub fn run(host: &Host, args: &MetricsArgs, io: &mut Io<'_>) -> io::Result<Exit> {
    let (text, exit) = text(host, io)?;
    let Some(path) = &args.output else {
        write!(io.out, "{text}")?;
        return Ok(exit);
    };
    match replace(path, &text) {
        Ok(()) => Ok(exit),
        Err(error) => {
            writeln!(io.err, "{}: {error}", escape(&path.display().to_string()))?;
            Ok(Exit::Failed)
        }
    }
}

/// Writes the file for everybody to read. A name without a directory is in the current one.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    let path = std::path::absolute(path)?;
    file::replace(&path, text.as_bytes(), Access::own(0o644))
}

fn text(host: &Host, io: &mut Io<'_>) -> io::Result<(String, Exit)> {
    let status: Result<OperatorStatus, _> = call(host, "Operator/Status", &OperatorStatusRequest {});
    let pending: Result<OperatorPending, _> = call(host, "Operator/Pending", &OperatorPendingRequest {});
    let is_up = answered(&status).max(answered(&pending));
    let errors = [status.as_ref().err(), pending.as_ref().err()].into_iter().flatten().collect::<Vec<_>>();
    let mut why = errors.iter().map(|error| escape(&error.to_string())).collect::<Vec<_>>();
    why.dedup();
    for why in why {
        writeln!(io.err, "{why}")?;
    }
    let mut text = Text::default();
    text.gauge("recorder_up", "Whether the recorder answers.", is_up.map(u64::from));
    if let Ok(status) = &status {
        recorder(&mut text, status);
    }
    if let Ok(pending) = &pending {
        waiting(&mut text, pending);
    }
    match tips::newest(host) {
        Ok(tip) => {
            let help = "Last record of which the journal knows the hash.";
            text.gauge("audit_tip_record", help, tip.map(|(seq, _)| seq));
            let help = "When the recorder left that hash in the journal.";
            text.gauge("audit_tip_timestamp_seconds", help, tip.map(|(_, unix_s)| unix_s));
        }
        Err(why) => writeln!(io.err, "the journal's tips are not known: {}", escape(&why))?,
    }
    let verified = LastVerification::read(&host.own).ok().flatten();
    let help = "When `audit verify` last proved the audit log.";
    text.gauge("audit_verified_timestamp_seconds", help, verified.map(|last| last.unix_s));
    policy(&mut text, host, status.as_ref().ok().map(|status| status.policy_digest.as_str()));
    let is_metric = is_up == Some(false);
    let exit = errors.first().filter(|_| !is_metric).map_or(Exit::Done, |error| error.exit());
    Ok((text.0, exit))
}

fn call<Q: Message, R: Message + Default>(host: &Host, method: &str, request: &Q) -> Result<R, CallError> {
    operator::call(&host.operator_socket, host.owner_uid, method, request)
}

/// Whether the recorder answered, if only by a refusal. `None`: this user may not ask, so it is not known.
fn answered<R>(call: &Result<R, CallError>) -> Option<bool> {
    match call {
        Ok(_) => Some(true),
        Err(CallError::Refused(code, _)) => Some(*code != operator::UNAVAILABLE),
        Err(CallError::Unreachable(error)) if error.kind() == io::ErrorKind::PermissionDenied => None,
        Err(CallError::Unreachable(_) | CallError::Disconnected | CallError::Malformed(_)) => Some(false),
    }
}

fn recorder(text: &mut Text, status: &OperatorStatus) {
    let help = "Requests of all clients that are carried out now.";
    text.gauge("requests_running", help, Some(u64::from(status.running)));
    let help = "Whether an operator has paused all new effects.";
    text.gauge("paused", help, Some(u64::from(!status.paused.is_empty())));
    let help = "Whether the audit log can be written; nothing is done while it cannot.";
    text.gauge("audit_writable", help, Some(u64::from(status.audit_fault.is_empty())));
    text.gauge("audit_last_record", "Number of the audit log's last record.", Some(status.audit_seq));
}

fn waiting(text: &mut Text, pending: &OperatorPending) {
    let is_lost = |change: &&postern_proto::v1::Unkept| change.keep_until_unix_s == 0;
    let lost = pending.unkept.iter().filter(is_lost).count();
    let length = |length: usize| u64::try_from(length).ok();
    let help = "Requests of all clients that wait for a person's approval.";
    text.gauge("approvals_waiting", help, length(pending.approvals.len()));
    let help = "Changes that are taken back unless somebody keeps them.";
    text.gauge("changes_to_keep", help, length(pending.unkept.len().saturating_sub(lost)));
    let help = "Changes that nobody kept and that could not be taken back.";
    text.gauge("changes_not_taken_back", help, length(lost));
}

/// The files beside the active policy, and its sign-off, as far as this user can see them.
fn policy(text: &mut Text, host: &Host, active: Option<&str>) {
    let matches = match status::files(host, active).0 {
        "in_force" => Some(1),
        "differ" | "errors" => Some(0),
        _ => None,
    };
    text.gauge("policy_files_match", "Whether the files in /etc/postern are the active policy.", matches);
    let signed = sign_off::read(&host.own).unwrap_or_default();
    let is_signed =
        active.filter(|_| !signed.is_empty()).map(|digest| sign_off::of(&signed, digest).is_some());
    text.gauge(
        "policy_signed_off",
        "Whether a person has signed the active policy off.",
        is_signed.map(u64::from),
    );
}

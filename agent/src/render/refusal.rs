//! Why a request was not done, and what comes next: for a person a sentence, for a program a command.

use crate::protocol::event::{Completed, Refused, UnitInfo};
use std::time::Duration;

/// Why a request was refused, and what can be done about it. `explain` is the command with which an
/// operator sees why.
#[must_use]
pub fn refusal(refused: &Refused, explain: &str) -> String {
    let mut parts = vec![ending(&refused.code, &refused.message)];
    if !refused.missing.is_empty() && !refused.message.contains(&refused.missing) {
        parts.push(format!("missing: {}", refused.missing));
    }
    if !refused.granted_nearby.is_empty() {
        parts.push(format!("granted nearby: {}", refused.granted_nearby.join(", ")));
    }
    // The helper's words may hold the time already.
    if refused.retry_after_s > 0 && !refused.message.contains(&refused.retry_after_s.to_string()) {
        let pause = Duration::from_secs(refused.retry_after_s.into());
        parts.push(format!("ask again in {}", humantime::format_duration(pause)));
    }
    if let Some(command) = next_step(&refused.code, explain) {
        parts.push(format!("an operator can {}: {command}", purpose(&refused.code)));
    }
    parts.retain(|part| !part.is_empty());
    parts.join("; ")
}

/// A code's message, put so that it says who decided.
#[must_use]
pub fn ending(code: &str, message: &str) -> String {
    let by = match code {
        "not_approved" => "an operator said no",
        "denied_recently" => "an operator said no to the same request",
        "paused" => "an operator paused Postern",
        "approval_expired" => "nobody approved it in time",
        "too_many_pending" => "as many requests wait for approval as may",
        "plan_too_large" => "it is too large for a person to read before approving: ask for less at a time",
        _ => return message.to_owned(),
    };
    if message.is_empty() { by.to_owned() } else { format!("{by}: {message}") }
}

/// Why a request failed. Of a unit in systemd.exec(5)'s words, not in those of its properties.
#[must_use]
pub fn failure(done: &Completed) -> String {
    let message = ending(&done.code, &done.message);
    let Some(unit) = done.unit.as_ref().filter(|_| done.code == "unit_failed") else { return message };
    let plain = message.rfind(" (result ").filter(|_| message.ends_with(')'));
    let message = plain.and_then(|at| message.get(..at)).unwrap_or(&message).trim_end_matches('.');
    match unit_result(unit).as_str() {
        "" | "success" => message.to_owned(),
        why if message.is_empty() => format!("{}: {why}", unit.id),
        why => format!("{message}: {why}"),
    }
}

/// How a unit's last run ended, in words; `success` where it ended well.
#[must_use]
pub fn unit_result(unit: &UnitInfo) -> String {
    let words = match (unit.result.as_str(), unit.exit_status) {
        // The main process is not the one that failed.
        ("exit-code", 0) => {
            "a process beside the main one, such as that of ExecStartPre=, exited with an error"
        }
        ("exit-code", status) => return format!("its main process exited with status {status}"),
        ("signal", _) => "a process of it was killed by a signal",
        ("core-dump", _) => "a process of it crashed",
        ("timeout", _) => "it did not start or stop in time",
        ("watchdog", _) => "it did not answer its watchdog in time",
        ("start-limit-hit", _) => "it was started too often in a short time",
        ("oom-kill", _) => "the kernel killed it for want of memory",
        ("protocol", _) => "it did not report its start as its Type= says",
        ("resources", _) => "systemd could not set it up; its journal says why",
        (other, 0) => other,
        (other, status) => return format!("{other} (exit status {status})"),
    };
    words.to_owned()
}

/// The operator's next command, where there is one.
#[must_use]
pub fn next_step(code: &str, explain: &str) -> Option<String> {
    Some(match code {
        "no_grant" | "denied" | "limit_exceeded" | "plan_refused" | "would_cascade" | "protected"
        | "rate_limited" => explain.to_owned(),
        "unknown_client" => "postern-admin policy check".to_owned(),
        "paused" => "postern-admin resume".to_owned(),
        "too_many_pending" => "postern-admin pending".to_owned(),
        "approval_expired" => "postern-admin watch".to_owned(),
        "audit_unavailable" => "postern-admin status".to_owned(),
        _ => return None,
    })
}

/// Returns the purpose of the operator's next command.
fn purpose(code: &str) -> &'static str {
    match code {
        "unknown_client" => "name this user as a [[client]] in /etc/postern/policy.d",
        "paused" => "let it go on",
        "too_many_pending" => "decide on them",
        "approval_expired" => "see what comes to wait",
        "audit_unavailable" => "see what is wrong with the log",
        _ => "see why",
    }
}

//! The meaning of each stable code for a command's exit status, for all programs.

/// The kind of exit status that a code leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meaning {
    /// The command or an argument is wrong.
    Usage,
    /// Refused by the policy or by the helper's fixed rules.
    Refused,
    /// A person said no, or nobody said yes in time.
    NotApproved,
    /// It was tried, or could not be.
    Failed,
}

/// The meaning of a code; none if it is newer than this program, or no code.
#[must_use]
pub fn meaning(code: &str) -> Option<Meaning> {
    Some(match code {
        "invalid_argument" => Meaning::Usage,
        "unknown_client"
        | "no_grant"
        | "denied"
        | "limit_exceeded"
        | "rate_limited"
        | "plan_refused"
        | "plan_changed"
        | "would_cascade"
        | "protected"
        | "unsafe_path"
        | "plan_too_large"
        | "special_file"
        | "request_id_conflict"
        | "request_id_expired"
        | "unknown_request"
        | "too_many_pending"
        | "denied_recently"
        | "paused"
        | "unsupported" => Meaning::Refused,
        "not_approved" | "approval_expired" => Meaning::NotApproved,
        "not_found"
        | "already_exists"
        | "precondition_failed"
        | "too_large"
        | "not_text"
        | "validation_failed"
        | "busy"
        | "needs_repair"
        | "unit_failed"
        | "start_limit"
        | "package_failed"
        | "command_failed"
        | "timeout"
        | "undo_gone"
        | "undo_conflict"
        | "undo_full"
        | "directory_missing"
        | "audit_unavailable"
        | "no_space"
        | "read_only"
        | "interrupted" => Meaning::Failed,
        _ => return None,
    })
}

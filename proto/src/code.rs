//! The stable codes of refusals and failures, and the exit status that each leads to, for all programs.

/// The kind of exit status that a code leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitKind {
    /// The command or an argument is wrong.
    Usage,
    /// Refused by the policy or by the helper's fixed rules.
    Refused,
    /// A person said no, or nobody said yes in time.
    NotApproved,
    /// It was tried, or could not be.
    Failed,
}

macro_rules! codes {
    ($($variant:ident = $name:literal, $exit_kind:ident;)*) => {
        /// The stable codes of refusals and failures.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Code { $(#[doc = concat!("`", $name, "`")] $variant),* }

        impl Code {
            /// Every code.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// The code as it stands on the wire and in records.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name),* }
            }

            /// The kind of exit status that it leads to.
            #[must_use]
            pub const fn exit_kind(self) -> ExitKind {
                match self { $(Self::$variant => ExitKind::$exit_kind),* }
            }
        }
    };
}

codes! {
    InvalidArgument = "invalid_argument", Usage;
    UnknownClient = "unknown_client", Refused;
    NoGrant = "no_grant", Refused;
    Denied = "denied", Refused;
    LimitExceeded = "limit_exceeded", Refused;
    RateLimited = "rate_limited", Refused;
    PlanRefused = "plan_refused", Refused;
    PlanChanged = "plan_changed", Refused;
    WouldCascade = "would_cascade", Refused;
    Protected = "protected", Refused;
    UnsafePath = "unsafe_path", Refused;
    PlanTooLarge = "plan_too_large", Refused;
    SpecialFile = "special_file", Refused;
    RequestIdConflict = "request_id_conflict", Refused;
    RequestIdExpired = "request_id_expired", Refused;
    UnknownRequest = "unknown_request", Refused;
    TooManyPending = "too_many_pending", Refused;
    DeniedRecently = "denied_recently", Refused;
    Paused = "paused", Refused;
    Unsupported = "unsupported", Refused;
    NotApproved = "not_approved", NotApproved;
    ApprovalExpired = "approval_expired", NotApproved;
    NotFound = "not_found", Failed;
    AlreadyExists = "already_exists", Failed;
    PreconditionFailed = "precondition_failed", Failed;
    TooLarge = "too_large", Failed;
    ValidationFailed = "validation_failed", Failed;
    Busy = "busy", Failed;
    NeedsRepair = "needs_repair", Failed;
    UnitFailed = "unit_failed", Failed;
    StartLimit = "start_limit", Failed;
    PackageFailed = "package_failed", Failed;
    CommandFailed = "command_failed", Failed;
    Timeout = "timeout", Failed;
    UndoGone = "undo_gone", Failed;
    UndoConflict = "undo_conflict", Failed;
    UndoFull = "undo_full", Failed;
    DirectoryMissing = "directory_missing", Failed;
    AuditUnavailable = "audit_unavailable", Failed;
    NoSpace = "no_space", Failed;
    ReadOnly = "read_only", Failed;
    Interrupted = "interrupted", Failed;
}

impl Code {
    /// The code of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|code| code.as_str() == name)
    }
}

/// The kind of exit status of a code; none if it is newer than this program, or no code.
#[must_use]
pub fn exit_kind(code: &str) -> Option<ExitKind> {
    // Clients refuse other files than text themselves.
    if code == "not_text" { Some(ExitKind::Failed) } else { Code::from_name(code).map(Code::exit_kind) }
}

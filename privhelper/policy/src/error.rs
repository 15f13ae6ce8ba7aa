//! Errors of requests: the stable codes, and the refusal that a client gets.

use std::fmt;

macro_rules! codes {
    ($($variant:ident = $name:literal),* $(,)?) => {
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
        }
    };
}

codes! {
    InvalidArgument = "invalid_argument",
    UnknownClient = "unknown_client",
    NoGrant = "no_grant",
    Denied = "denied",
    LimitExceeded = "limit_exceeded",
    RateLimited = "rate_limited",
    PlanRefused = "plan_refused",
    PlanChanged = "plan_changed",
    WouldCascade = "would_cascade",
    Protected = "protected",
    UnsafePath = "unsafe_path",
    PlanTooLarge = "plan_too_large",
    SpecialFile = "special_file",
    RequestIdConflict = "request_id_conflict",
    RequestIdExpired = "request_id_expired",
    UnknownRequest = "unknown_request",
    TooManyPending = "too_many_pending",
    DeniedRecently = "denied_recently",
    Paused = "paused",
    Unsupported = "unsupported",
    NotApproved = "not_approved",
    ApprovalExpired = "approval_expired",
    NotFound = "not_found",
    AlreadyExists = "already_exists",
    PreconditionFailed = "precondition_failed",
    TooLarge = "too_large",
    ValidationFailed = "validation_failed",
    Busy = "busy",
    NeedsRepair = "needs_repair",
    UnitFailed = "unit_failed",
    StartLimit = "start_limit",
    PackageFailed = "package_failed",
    CommandFailed = "command_failed",
    Timeout = "timeout",
    UndoGone = "undo_gone",
    UndoConflict = "undo_conflict",
    UndoFull = "undo_full",
    DirectoryMissing = "directory_missing",
    AuditUnavailable = "audit_unavailable",
    NoSpace = "no_space",
    ReadOnly = "read_only",
    Interrupted = "interrupted",
}

impl Code {
    /// The code of this name, as a job wrote it.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|code| code.as_str() == name)
    }
}

/// An argument that is well-formed on the wire and fails validation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invalid {
    /// The wire name of the field.
    pub field: &'static str,
    /// The requirement that it fails.
    pub why: &'static str,
}

impl Invalid {
    /// `field` is not what it must be.
    #[must_use]
    pub const fn new(field: &'static str, why: &'static str) -> Self {
        Self { field, why }
    }
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.why)
    }
}

/// Reads each text of a list of the accepted policy; the reason in words if one cannot be read.
pub(crate) fn each<T>(
    texts: &[String],
    parse: impl Fn(&str) -> Result<T, Invalid>,
) -> Result<Vec<T>, String> {
    texts.iter().map(|text| parse(text).map_err(|invalid| format!("{text:?}: {invalid}"))).collect()
}

/// Why nothing is done: the part of an error that the client gets.
#[derive(Debug, Clone, PartialEq)]
pub struct Denied {
    /// The stable code.
    pub code: Code,
    /// One line for a person.
    pub message: String,
    /// The grant that is missing, computed from the request alone.
    pub missing: String,
    /// After how many seconds another try makes sense; 0 = unknown.
    pub retry_after_s: u32,
    /// Grants of this client for the same verb.
    pub granted_nearby: Vec<String>,
}

impl Denied {
    /// An error with a code and a line for a person.
    #[must_use]
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            missing: String::new(),
            retry_after_s: 0,
            granted_nearby: Vec::new(),
        }
    }

    /// The same, with the name that it is about, quoted.
    #[must_use]
    pub fn with(mut self, name: impl fmt::Display) -> Self {
        self.message = format!("{}: {:?}", self.message, name.to_string());
        self
    }
}

impl From<Invalid> for Denied {
    fn from(invalid: Invalid) -> Self {
        Self::new(Code::InvalidArgument, invalid.to_string())
    }
}

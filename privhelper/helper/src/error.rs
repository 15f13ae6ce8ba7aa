//! What goes wrong: a refusal is told to the client, a fault to the audit.

use postern_proto::v1 as wire;
use std::fmt;
use std::io;

macro_rules! codes {
    ($($variant:ident = $name:literal),* $(,)?) => {
        /// The stable codes of CONTRACTS 6.
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
    /// The code of this name, for what a job wrote.
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
    /// What it must be.
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

/// Why nothing is done, as the client is told.
#[derive(Debug, Clone, PartialEq)]
pub struct Refusal {
    /// The stable code.
    pub code: Code,
    /// One line for a person.
    pub message: String,
    /// What a rule would have to grant, computed from the request alone.
    pub missing: String,
    /// After how many seconds asking again makes sense; 0 = not said.
    pub retry_after_s: u32,
    /// What this client is granted of the same verb.
    pub granted_nearby: Vec<String>,
}

impl Refusal {
    /// A refusal with a code and a line for a person.
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
}

impl Refusal {
    /// The same, with the name that it is about, quoted.
    #[must_use]
    pub fn with(mut self, name: impl fmt::Display) -> Self {
        self.message = format!("{}: {:?}", self.message, name.to_string());
        self
    }
}

impl From<Invalid> for Refusal {
    fn from(invalid: Invalid) -> Self {
        Self::new(Code::InvalidArgument, invalid.to_string())
    }
}

/// What failed on this host, with the words for the audit and the journal.
#[derive(Debug)]
pub enum Fault {
    /// A call of the operating system.
    Io {
        /// What was tried.
        doing: &'static str,
        /// What the kernel said.
        error: io::Error,
    },
    /// The audit log cannot take a record.
    Audit(io::Error),
    /// A program that root runs did not do what it must.
    Program {
        /// Which and what.
        what: String,
    },
    /// A program did not end in time.
    Timeout {
        /// Which.
        what: &'static str,
    },
    /// A file of root's own is not what the helper wrote.
    Corrupt {
        /// Which.
        what: &'static str,
    },
}

impl Fault {
    /// For `map_err`: an error of the operating system while `doing`.
    pub fn io<E: Into<io::Error>>(doing: &'static str) -> impl FnOnce(E) -> Self {
        move |error| Self::Io { doing, error: error.into() }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { doing, error } => write!(f, "{doing}: {error}"),
            Self::Audit(error) => write!(f, "audit log: {error}"),
            Self::Program { what } => f.write_str(what),
            Self::Timeout { what } => write!(f, "{what} did not end in time"),
            Self::Corrupt { what } => write!(f, "{what} is damaged"),
        }
    }
}

impl std::error::Error for Fault {}

/// The kernel's words may name what the client may not know; they go to the audit.
const UNABLE: &str = "the helper could not do this; an operator finds the reason in the audit log";

impl Fault {
    /// The one place where a fault becomes a code for a client.
    #[must_use]
    pub fn code(&self) -> Code {
        match self {
            Self::Audit(_) => Code::AuditUnavailable,
            Self::Timeout { .. } => Code::Timeout,
            Self::Io { error, .. } => code_of(error.kind()),
            Self::Program { .. } | Self::Corrupt { .. } => Code::Interrupted,
        }
    }
}

impl From<Fault> for Refusal {
    fn from(fault: Fault) -> Self {
        Self::new(fault.code(), UNABLE)
    }
}

/// Kinds that a client can act on; every other is `interrupted`.
fn code_of(kind: io::ErrorKind) -> Code {
    const KNOWN: [(io::ErrorKind, Code); 4] = [
        (io::ErrorKind::StorageFull, Code::NoSpace),
        (io::ErrorKind::QuotaExceeded, Code::NoSpace),
        (io::ErrorKind::ReadOnlyFilesystem, Code::ReadOnly),
        (io::ErrorKind::NotFound, Code::NotFound),
    ];
    KNOWN.iter().find(|(known, _)| *known == kind).map_or(Code::Interrupted, |(_, code)| *code)
}

/// Why a request ends before it is done: a decision, or a failure of this host.
#[derive(Debug)]
pub enum Stop {
    /// Decided against.
    Refused(Refusal),
    /// Failed.
    Fault(Fault),
    /// The same request runs already, and who asked watches that one.
    Attached,
}

impl From<Refusal> for Stop {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<Invalid> for Stop {
    fn from(invalid: Invalid) -> Self {
        Self::Refused(invalid.into())
    }
}

impl From<Fault> for Stop {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl Stop {
    /// The outcome of a request that has taken its id and comes to nothing.
    #[must_use]
    pub fn told(&self) -> wire::Completed {
        let (code, message) = match self {
            Self::Refused(refusal) => (refusal.code, refusal.message.clone()),
            Self::Fault(fault) => (fault.code(), UNABLE.to_owned()),
            Self::Attached => (Code::Busy, String::new()),
        };
        let status = wire::Status::Failed.into();
        wire::Completed { status, code: code.as_str().to_owned(), message, ..wire::Completed::default() }
    }

    /// What only the audit is told.
    #[must_use]
    pub fn detail(&self) -> String {
        match self {
            Self::Refused(refusal) => refusal.message.clone(),
            Self::Fault(fault) => fault.to_string(),
            Self::Attached => String::new(),
        }
    }

    /// What the client is told, and what only the audit is told.
    #[must_use]
    pub fn tell(self) -> (Refusal, String) {
        let detail = self.detail();
        let refusal = match self {
            Self::Refused(refusal) => refusal,
            Self::Fault(fault) => fault.into(),
            Self::Attached => Refusal::new(Code::Busy, "the same request is under way"),
        };
        (refusal, detail)
    }
}

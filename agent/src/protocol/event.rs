//! The helper's answers as the agent's own types: read from the wire, written and read as JSON.
//!
//! Members have the wire's names; what is empty is left out.

use super::args::base64_bytes;
use postern_proto::v1;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Takes a member over from a message.
trait FromWire<W> {
    fn from_wire(wire: W) -> Self;
}

macro_rules! as_is {
    ($($t:ty)*) => { $(impl FromWire<$t> for $t { fn from_wire(wire: $t) -> $t { wire } })* };
}
as_is!(String bool u32 u64 i32 i64);

impl<W, T: FromWire<W>> FromWire<Vec<W>> for Vec<T> {
    fn from_wire(wire: Vec<W>) -> Self {
        wire.into_iter().map(T::from_wire).collect()
    }
}

impl<W, T: FromWire<W>> FromWire<Option<W>> for Option<T> {
    fn from_wire(wire: Option<W>) -> Self {
        wire.map(T::from_wire)
    }
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

macro_rules! words {
    ($($(#[$doc:meta])* $name:ident { $($variant:ident),* })*) => {
        $($(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum $name { #[default] Unspecified, $($variant),* }

        impl FromWire<i32> for $name {
            fn from_wire(wire: i32) -> Self {
                match v1::$name::try_from(wire).unwrap_or_default() {
                    v1::$name::Unspecified => Self::Unspecified,
                    $(v1::$name::$variant => Self::$variant),*
                }
            }
        })*
    };
}

words! {
    /// The policy's decision.
    Decision { Allow, Ask, Deny }
    /// How a request ended.
    Status { Done, Unchanged, Failed, Partly, Interrupted, Previewed }
    /// The current activity.
    Phase { Waiting, Update, Download, Unpack, Configure, Run, Validate }
    /// Kind of a stream of bytes.
    Stream { Stdout, Stderr, Content }
    /// Type of a file.
    FileType { File, Directory, Symlink, Other }
    /// Change of a package.
    Action { Install, Upgrade, Downgrade, Reinstall, Remove, Purge, Configure }
    /// Change of a file.
    ChangeKind { Write, Remove }
}

macro_rules! messages {
    ($($(#[$doc:meta])* $name:ident { $($field:ident: $type:ty),* $(,)? })*) => {
        $($(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(default)]
        pub struct $name { $(#[serde(skip_serializing_if = "is_default")] pub $field: $type),* }

        impl FromWire<v1::$name> for $name {
            fn from_wire(wire: v1::$name) -> Self {
                Self { $($field: FromWire::from_wire(wire.$field)),* }
            }
        })*
    };
}

messages! {
    /// The policy lets the request through.
    Accepted { decision: Decision, rule: String, attached: bool, no_effect: bool }
    /// The request waits for a person.
    Waiting { approval_id: String, expires_unix_s: u64, plan: Option<Plan> }
    /// Nothing was done.
    Refused {
        code: String, message: String, missing: String, retry_after_s: u32, plan: Option<Plan>, granted_nearby: Vec<String>,
    }
    /// The outcome.
    Completed {
        status: Status, code: String, message: String, decision: Decision, rule: String, plan: Option<Plan>,
        replayed: bool, undoable: bool, duration_us: u64, packages: Vec<PackageInfo>, unit: Option<UnitInfo>,
        files: Vec<FileInfo>, exit: Option<ExitInfo>, description: Option<Description>,
        no_effect: bool, keep_until_unix_s: u64, reboot_unix_s: u64, loaded_by: Vec<String>,
    }
    /// A plan: predicted changes, or those that were made.
    Plan {
        packages: Vec<PackageStep>, download_bytes: u64, disk_bytes: i64, units: Vec<UnitStep>, files: Vec<FileStep>,
        command: Option<CommandStep>, kept_back: Vec<String>, not_undoable: bool,
    }
    /// One package of a plan.
    PackageStep {
        action: Action, name: String, arch: String, old: String, new: String, sources: Vec<String>, asked: bool,
    }
    /// One unit of a plan.
    UnitStep { id: String, verb: String, cascade: bool, active: String, enabled: String }
    /// One file of a plan.
    FileStep {
        path: String, kind: ChangeKind, old_sha256: String, old_size: u64, new_sha256: String, new_size: u64,
        mode: String, owner: String, group: String, not_kept: bool,
    }
    /// The command of a plan.
    CommandStep { name: String, argv: Vec<String>, user: String, description: String }
    /// A package as it is.
    PackageInfo {
        name: String, arch: String, state: String, installed: String, candidate: String, sources: Vec<String>,
        held: bool, essential: bool, summary: String, conffiles_kept: Vec<String>,
    }
    /// A unit as it is.
    UnitInfo {
        id: String, load: String, active: String, sub: String, enabled: String, result: String, main_pid: u32,
        since_unix_us: u64, memory_bytes: u64, was_active: String, was_enabled: String, exit_status: i32,
    }
    /// A file as it is.
    FileInfo {
        path: String, r#type: FileType, size: u64, mode: String, owner: String, group: String, sha256: String,
        mtime_unix_s: u64,
    }
    /// Grants of this client.
    Description { client: String, grants: Vec<Grant> }
    /// One rule as this client may know it.
    Grant {
        verbs: Vec<String>, decision: Decision, packages: Vec<String>, units: Vec<String>, directories: Vec<String>,
        files: Vec<String>, commands: Vec<String>, modes: Vec<String>, max_bytes: u64, rate: String, limits: Vec<String>,
    }
}

/// How far the work is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Progress {
    /// The current activity.
    #[serde(skip_serializing_if = "is_default")]
    pub phase: Phase,
    /// The package, unit or path in work.
    #[serde(skip_serializing_if = "is_default")]
    pub item: String,
    /// 0 to 100.
    #[serde(skip_serializing_if = "is_default")]
    pub percent: u32,
    /// In words.
    #[serde(skip_serializing_if = "is_default")]
    pub detail: String,
    /// How many bytes a download has in all, by the plan; not on the wire, 0 where it is not known.
    #[serde(skip_serializing_if = "is_default")]
    pub total_bytes: u64,
}

impl FromWire<v1::Progress> for Progress {
    fn from_wire(wire: v1::Progress) -> Self {
        let v1::Progress { phase, item, percent, detail } = wire;
        Self { phase: Phase::from_wire(phase), item, percent, detail, total_bytes: 0 }
    }
}

/// How a program ended. Zero is said too: here it means something.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ExitInfo {
    /// The exit code.
    pub code: i32,
    /// The signal that ended it, or 0.
    #[serde(skip_serializing_if = "is_default")]
    pub signal: i32,
    /// More output was there than the limit lets through.
    #[serde(skip_serializing_if = "is_default")]
    pub truncated: bool,
}

impl FromWire<v1::ExitInfo> for ExitInfo {
    fn from_wire(wire: v1::ExitInfo) -> Self {
        Self { code: wire.code, signal: wire.signal, truncated: wire.truncated }
    }
}

/// Bytes that a program wrote or a file holds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Output {
    /// Kind of the stream.
    pub stream: Stream,
    /// At most 64 KiB; base64 in JSON.
    #[serde(with = "base64_bytes")]
    pub data: Vec<u8>,
    /// More was there than the limit lets through.
    #[serde(skip_serializing_if = "is_default")]
    pub truncated: bool,
}

impl FromWire<v1::Output> for Output {
    fn from_wire(wire: v1::Output) -> Self {
        Self { stream: Stream::from_wire(wire.stream), data: wire.data, truncated: wire.truncated }
    }
}

/// An error of the agent's own, where there is no answer of the helper's: a stable code and words.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AgentError {
    /// `unreachable`, `unsupported`, `invalid_argument`, `timeout`, ...
    pub code: String,
    /// For people.
    pub message: String,
    /// The helper has not begun it, and will not: it never got there, or was refused before it was decided on.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub not_begun: bool,
}

impl AgentError {
    /// An error with a stable code.
    #[must_use]
    pub fn new(code: &str, message: impl Into<String>) -> Self {
        Self { code: code.to_owned(), message: message.into(), not_begun: false }
    }

    /// The same of a request that the helper has not begun.
    #[must_use]
    pub fn not_begun(self) -> Self {
        Self { not_begun: true, ..self }
    }
}

/// One event of a request. `Completed`, `Refused` and `Error` are the last.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", content = "data", rename_all = "snake_case")]
pub enum Event {
    /// The policy lets the request through.
    Accepted(Accepted),
    /// The request waits for a person.
    Waiting(Waiting),
    /// How far the work is.
    Progress(Progress),
    /// Output of a program, a file or a journal.
    Output(Output),
    /// The outcome.
    Completed(Box<Completed>),
    /// Nothing was done.
    Refused(Refused),
    /// No answer of the helper's.
    Error(AgentError),
}

impl Event {
    /// Reads an event off the wire; `None` where its kind is not known here.
    #[must_use]
    pub fn from_message(message: v1::Event) -> Option<Self> {
        use v1::event::Kind;
        Some(match message.kind? {
            Kind::Accepted(e) => Self::Accepted(FromWire::from_wire(e)),
            Kind::Waiting(e) => Self::Waiting(FromWire::from_wire(e)),
            Kind::Progress(e) => Self::Progress(FromWire::from_wire(e)),
            Kind::Output(e) => Self::Output(FromWire::from_wire(e)),
            Kind::Completed(e) => Self::Completed(Box::new(FromWire::from_wire(e))),
            Kind::Refused(e) => Self::Refused(FromWire::from_wire(e)),
        })
    }

    /// Whether nothing follows it.
    #[must_use]
    pub fn is_last(&self) -> bool {
        match self {
            Self::Completed(_) | Self::Refused(_) | Self::Error(_) => true,
            Self::Accepted(_) | Self::Waiting(_) | Self::Progress(_) | Self::Output(_) => false,
        }
    }

    /// The last event's code; empty where all is well.
    #[must_use]
    pub fn code(&self) -> &str {
        match self {
            Self::Completed(done) => &done.code,
            Self::Refused(refused) => &refused.code,
            Self::Error(fault) => &fault.code,
            Self::Accepted(_) | Self::Waiting(_) | Self::Progress(_) | Self::Output(_) => "",
        }
    }

    /// The event's name, as on the wire.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Accepted(_) => "accepted",
            Self::Waiting(_) => "waiting",
            Self::Progress(_) => "progress",
            Self::Output(_) => "output",
            Self::Completed(_) => "completed",
            Self::Refused(_) => "refused",
            Self::Error(_) => "error",
        }
    }

    /// The event's members as JSON, without its name.
    #[must_use]
    pub fn data(&self) -> serde_json::Value {
        match serde_json::to_value(self) {
            Ok(serde_json::Value::Object(mut members)) => members.remove("data").unwrap_or_default(),
            Ok(_) | Err(_) => serde_json::Value::Null,
        }
    }

    /// Puts a named event together again.
    ///
    /// # Errors
    /// An unknown name or members that do not fit.
    pub fn from_parts(name: &str, data: &serde_json::Value) -> Result<Self, serde_json::Error> {
        serde_json::from_value(serde_json::json!({ "event": name, "data": data }))
    }
}

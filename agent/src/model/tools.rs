//! The tools that a model is offered: names, schemas, bounds and checks from one list.
//!
//! The types are the source: serde reads the arguments by them, schemars writes the schema of prompt and
//! `response_format` from them. Nothing is coerced and no key is dropped: an argument that is not
//! understood may be a limit that the model relies on.

mod arguments;

pub use arguments::{
    ApplyPatch, AskPerson, Checkpoint, Finish, GetNetwork, GetSystemInfo, ListDir, ListDisks, ListPackages,
    ListProcesses, ListTimers, ListUnits, MakePlan, PkgInstall, PkgRemove, PkgShow, ReadFile, RemoveFile,
    RunCommand, SearchFiles, SearchLogs, Service, Shell, Text, Undo, UnitJournal, WriteFile,
};

use super::{excerpt, redact};
use crate::tool::Action;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::num::NonZeroUsize;
use std::time::Duration;

/// The most characters of all results in one request to a model.
pub const REQUEST_OUTPUT: usize = 60_000;

/// The most characters of one result, unless a tool's row says otherwise.
pub const OUTPUT: NonZeroUsize = NonZeroUsize::new(20_000).unwrap();

/// The longest that a look of the agent's own takes.
pub const LOOK_TIME: Duration = Duration::from_secs(5);

/// The time limit of a tool, unless its row says otherwise.
pub const TIME: Time = Time::Within(LOOK_TIME);

/// What ends a call that does not end itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Time {
    /// The agent, after so long.
    Within(Duration),
    /// The helper, by the policy's rule: an effect that has begun is not left alone.
    Rule,
    /// The person who is asked, or the task's own end.
    Task,
}

/// How secrets are taken out of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Redaction {
    /// By the shapes of credentials.
    Whole,
    /// Besides, what may be part of a key: the result can begin in the middle of one.
    Excerpt,
}

/// What a tool has to say of itself to be offered. Nothing of it has a default.
///
/// ```
/// use postern_agent::model::tools::{Arguments, Call, OUTPUT, Redaction, TIME, Time, Tool};
/// # use std::num::NonZeroUsize;
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Peek {}
/// impl Arguments for Peek {
///     const NAME: &'static str = "peek";
///     const ABOUT: &'static str = "Look.";
///     const TIME: Time = TIME;
///     const OUTPUT: NonZeroUsize = OUTPUT;
///     const REDACTION: Redaction = Redaction::Whole;
///     fn call(self) -> Call { unimplemented!() }
/// }
/// const _: Tool = Tool::of::<Peek>();
/// ```
///
/// Without a time limit it is no tool:
/// ```compile_fail
/// use postern_agent::model::tools::{Arguments, Call, OUTPUT, Redaction, TIME, Time, Tool};
/// # use std::num::NonZeroUsize;
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Peek {}
/// impl Arguments for Peek {
///     const NAME: &'static str = "peek";
///     const ABOUT: &'static str = "Look.";
///     const OUTPUT: NonZeroUsize = OUTPUT;
///     const REDACTION: Redaction = Redaction::Whole;
///     fn call(self) -> Call { unimplemented!() }
/// }
/// ```
///
/// Nor without an output budget:
/// ```compile_fail
/// use postern_agent::model::tools::{Arguments, Call, OUTPUT, Redaction, TIME, Time, Tool};
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Peek {}
/// impl Arguments for Peek {
///     const NAME: &'static str = "peek";
///     const ABOUT: &'static str = "Look.";
///     const TIME: Time = TIME;
///     const REDACTION: Redaction = Redaction::Whole;
///     fn call(self) -> Call { unimplemented!() }
/// }
/// ```
///
/// Nor without redaction:
/// ```compile_fail
/// use postern_agent::model::tools::{Arguments, Call, OUTPUT, Redaction, TIME, Time, Tool};
/// # use std::num::NonZeroUsize;
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Peek {}
/// impl Arguments for Peek {
///     const NAME: &'static str = "peek";
///     const ABOUT: &'static str = "Look.";
///     const TIME: Time = TIME;
///     const OUTPUT: NonZeroUsize = OUTPUT;
///     fn call(self) -> Call { unimplemented!() }
/// }
/// ```
///
/// Nor without a schema:
/// ```compile_fail
/// use postern_agent::model::tools::{Arguments, Call, OUTPUT, Redaction, TIME, Time, Tool};
/// # use std::num::NonZeroUsize;
/// #[derive(serde::Deserialize)]
/// struct Peek {}
/// impl Arguments for Peek {
///     const NAME: &'static str = "peek";
///     const ABOUT: &'static str = "Look.";
///     const TIME: Time = TIME;
///     const OUTPUT: NonZeroUsize = OUTPUT;
///     const REDACTION: Redaction = Redaction::Whole;
///     fn call(self) -> Call { unimplemented!() }
/// }
/// ```
pub trait Arguments: DeserializeOwned + JsonSchema {
    /// The tool's name, as the model has to write it.
    const NAME: &'static str;
    /// What it does, in one sentence for the model.
    const ABOUT: &'static str;
    /// What ends a call.
    const TIME: Time;
    /// The most characters of a result.
    const OUTPUT: NonZeroUsize;
    /// How secrets are taken out of a result.
    const REDACTION: Redaction;
    /// The call with these arguments.
    fn call(self) -> Call;
}

/// One tool: there is none but of a type that says all of it.
#[derive(Debug)]
pub struct Tool {
    /// Its name, as the model has to write it.
    pub name: &'static str,
    /// What ends a call.
    pub time: Time,
    /// The most characters of a result.
    pub output: NonZeroUsize,
    about: &'static str,
    redaction: Redaction,
    schema: fn() -> Schema,
    check: fn(Map<String, Value>) -> Result<Call, serde_json::Error>,
}

/// Why a name and arguments are no call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoCall {
    /// There is no such tool.
    UnknownTool,
    /// The arguments are not the tool's; why.
    BadArgs(String),
}

macro_rules! tools {
    ($($(#[doc = $about:literal])+ $args:ident = $name:literal, $time:expr, $output:expr, $redaction:expr;)+) => {
        /// A call whose arguments were checked.
        #[derive(Clone, Debug, PartialEq, Eq, Serialize)]
        #[serde(tag = "tool", content = "args")]
        pub enum Call {
            $($(#[doc = $about])+ #[serde(rename = $name)] $args($args),)+
        }

        $(impl Arguments for $args {
            const NAME: &'static str = $name;
            const ABOUT: &'static str = concat!($($about),+);
            const TIME: Time = $time;
            const OUTPUT: NonZeroUsize = $output;
            const REDACTION: Redaction = $redaction;
            fn call(self) -> Call {
                Call::$args(self)
            }
        })+

        impl Call {
            /// The tool that it is a call of.
            #[must_use]
            pub fn of(&self) -> &'static Tool {
                match self { $(Self::$args(_) => const { &Tool::of::<$args>() },)+ }
            }
        }

        /// All tools.
        pub const ALL: &[Tool] = &[$(Tool::of::<$args>(),)+];
    };
}

// The first five are those that every agent of this kind has; a new ability is a new tool at the end.
tools! {
    /// Run a shell command without any privilege.
    Shell = "shell", Time::Task, OUTPUT, Redaction::Excerpt;
    /// Look at a systemd unit or change its state.
    Service = "service", Time::Rule, OUTPUT, Redaction::Whole;
    /// Install one Debian package.
    PkgInstall = "pkg_install", Time::Rule, OUTPUT, Redaction::Whole;
    /// Make a file hold exactly this content.
    WriteFile = "write_file", Time::Rule, OUTPUT, Redaction::Whole;
    /// Read a file, or a part of it.
    ReadFile = "read_file", Time::Rule, OUTPUT, Redaction::Excerpt;
    /// Remove one Debian package, keep its configuration.
    PkgRemove = "pkg_remove", Time::Rule, OUTPUT, Redaction::Whole;
    /// Look at one Debian package: whether it is installed, in which version, and what can be installed.
    PkgShow = "pkg_show", Time::Rule, OUTPUT, Redaction::Whole;
    /// Read the last lines that a unit wrote to the journal.
    UnitJournal = "unit_journal", Time::Rule, OUTPUT, Redaction::Excerpt;
    /// Change files by a unified diff, all of it or nothing.
    ApplyPatch = "apply_patch", Time::Rule, OUTPUT, Redaction::Whole;
    /// Remove a file.
    RemoveFile = "remove_file", Time::Rule, OUTPUT, Redaction::Whole;
    /// List a directory.
    ListDir = "list_dir", Time::Rule, OUTPUT, Redaction::Whole;
    /// Find a text, literally, in a file or in all files below a directory that the agent may read itself.
    SearchFiles = "search_files", TIME, OUTPUT, Redaction::Whole;
    /// Find a text, literally, in the log files below /var/log, newest lines first, not in the journal.
    SearchLogs = "search_logs", TIME, OUTPUT, Redaction::Whole;
    /// Look at the host: release, kernel, processors, memory, load, time since boot.
    GetSystemInfo = "get_system_info", TIME, OUTPUT, Redaction::Whole;
    /// List the units that systemd has loaded, with their states.
    ListUnits = "list_units", TIME, OUTPUT, Redaction::Whole;
    /// List the timers: what they start, when last and when next.
    ListTimers = "list_timers", TIME, OUTPUT, Redaction::Whole;
    /// List the processes by unit.
    ListProcesses = "list_processes", TIME, OUTPUT, Redaction::Whole;
    /// Look at the network: interfaces, addresses, routes, name servers, and who listens.
    GetNetwork = "get_network", TIME, OUTPUT, Redaction::Whole;
    /// List the file systems with their free space.
    ListDisks = "list_disks", TIME, OUTPUT, Redaction::Whole;
    /// List the packages that dpkg knows, with version and state.
    ListPackages = "list_packages", TIME, OUTPUT, Redaction::Whole;
    /// Run a command that the policy names, with its parameters.
    RunCommand = "run_command", Time::Rule, OUTPUT, Redaction::Excerpt;
    /// Take an earlier change back.
    Undo = "undo", Time::Rule, OUTPUT, Redaction::Whole;
    /// Ask the person a question that only they can answer. Nobody may be there.
    AskPerson = "ask_person", Time::Task, OUTPUT, Redaction::Whole;
    /// End the task: it is done, or cannot be done. Always the last call.
    Finish = "finish", TIME, OUTPUT, Redaction::Whole;
    /// Say how far the task is. Only when asked for it, at the end of a run.
    Checkpoint = "checkpoint", TIME, OUTPUT, Redaction::Whole;
    /// Give the plan: it is shown to a person and carried out later, or says why there is none.
    MakePlan = "plan", Time::Task, OUTPUT, Redaction::Whole;
}

/// The tools with the names that every agent of this kind has: what `postern model read` goes by.
pub const TOOLS: &[Tool] = ALL.split_at(5).0;

/// The tools of a task.
pub const TASK: &[Tool] = ALL.split_at(ALL.len() - 2).0;

/// Those of a task where no commands are run.
pub const TASK_WITHOUT_SHELL: &[Tool] = TASK.split_at(1).1;

/// The one tool at the end of a run.
pub const CHECKPOINT: &[Tool] = &[Tool::of::<Checkpoint>()];

/// The tools while a plan is made: those that only look, and the plan.
pub const PLANNING: &[Tool] = &[
    Tool::of::<Service>(),
    Tool::of::<ReadFile>(),
    Tool::of::<ListDir>(),
    Tool::of::<PkgShow>(),
    Tool::of::<UnitJournal>(),
    Tool::of::<SearchFiles>(),
    Tool::of::<SearchLogs>(),
    Tool::of::<GetSystemInfo>(),
    Tool::of::<ListUnits>(),
    Tool::of::<ListTimers>(),
    Tool::of::<ListProcesses>(),
    Tool::of::<GetNetwork>(),
    Tool::of::<ListDisks>(),
    Tool::of::<ListPackages>(),
    Tool::of::<MakePlan>(),
];

impl Call {
    /// The tool's name.
    #[must_use]
    pub fn tool(&self) -> &'static str {
        self.of().name
    }

    /// It changes the host.
    #[must_use]
    pub fn is_effect(&self) -> bool {
        match self {
            Self::Service(service) => service.action != Action::Status,
            Self::PkgInstall(_)
            | Self::WriteFile(_)
            | Self::PkgRemove(_)
            | Self::ApplyPatch(_)
            | Self::RemoveFile(_)
            | Self::RunCommand(_)
            | Self::Undo(_) => true,
            // What its programs ask for counts by itself.
            Self::Shell(_)
            | Self::ReadFile(_)
            | Self::PkgShow(_)
            | Self::UnitJournal(_)
            | Self::ListDir(_)
            | Self::SearchFiles(_)
            | Self::SearchLogs(_)
            | Self::GetSystemInfo(_)
            | Self::ListUnits(_)
            | Self::ListTimers(_)
            | Self::ListProcesses(_)
            | Self::GetNetwork(_)
            | Self::ListDisks(_)
            | Self::ListPackages(_)
            | Self::AskPerson(_)
            | Self::Finish(_)
            | Self::Checkpoint(_)
            | Self::MakePlan(_) => false,
        }
    }
}

/// A type's schema in one piece: where it stands in another one, a reference would lead nowhere.
pub(crate) fn whole<T: JsonSchema>() -> Schema {
    let settings = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    settings.into_generator().into_root_schema_for::<T>()
}

impl Tool {
    /// The tool with these arguments.
    #[must_use]
    pub const fn of<T: Arguments>() -> Self {
        const { assert!(T::OUTPUT.get() <= REQUEST_OUTPUT, "more than one request to a model may hold") };
        Self {
            name: T::NAME,
            time: T::TIME,
            output: T::OUTPUT,
            about: T::ABOUT,
            redaction: T::REDACTION,
            schema: whole::<T>,
            check: |args| T::deserialize(Value::Object(args)).map(T::call),
        }
    }

    /// What it does, in one sentence for the model.
    #[must_use]
    pub fn about(&self) -> &'static str {
        self.about.trim()
    }

    /// The JSON Schema of its arguments.
    #[must_use]
    pub fn schema(&self) -> Value {
        let mut schema = (self.schema)();
        // For people who collect schemas; a model has no use for them.
        schema.remove("$schema");
        schema.remove("title");
        schema.remove("description");
        schema.to_value()
    }

    /// Takes secrets out of a result; how many.
    pub fn redact(&self, told: &mut Value) -> usize {
        let parts = match self.redaction {
            Redaction::Whole => 0,
            Redaction::Excerpt => excerpt::strings(told),
        };
        parts + redact::strings(told)
    }
}

/// Makes a call of a name and arguments.
///
/// # Errors
/// The tool is not among `tools`, or the arguments are not exactly its own.
pub fn check(tools: &[Tool], name: &str, args: Map<String, Value>) -> Result<Call, NoCall> {
    let tool = tools.iter().find(|tool| tool.name == name).ok_or(NoCall::UnknownTool)?;
    (tool.check)(args).map_err(|error| NoCall::BadArgs(error.to_string()))
}

//! The tools that a model is offered: names, schemas, bounds and checks from one list.
//!
//! The types are the source: serde reads the arguments by them, schemars writes the schema of prompt and
//! `response_format` from them. Nothing is coerced and no key is dropped: an argument that is not
//! understood may be a limit that the model relies on.

mod arguments;
mod call;
mod plan_schema;
mod registry;
mod table;

pub use arguments::{
    ApplyPatch, AskPerson, Checkpoint, File, Finish, FinishOutcome, GetNetwork, GetSystemInfo, ListDisks,
    ListPackages, ListProcesses, ListTimers, ListUnits, MakePlan, Package, PkgInstall, ReadFile, Reboot,
    RunCommand, Runbook, SearchFiles, SearchKnowledge, SearchLogs, Service, Shell, Text, Undo, UnitJournal,
    UnitsReload, WriteFile,
};

pub use call::Call;
pub use registry::{Arguments, NoCall, OUTPUT, REQUEST_OUTPUT, Redaction, TIME, Time, Tool, check};
pub use table::{ALL, CHECKPOINT, PLANNING, RUNBOOK, TASK, TOOLS, of_task};

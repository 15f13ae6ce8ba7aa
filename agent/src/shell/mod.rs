//! Judges a command by its text: advice before the sandbox, never instead of it.
//!
//! A real shell grammar reads the text; every command in it, through pipes, lists, substitutions and programs
//! that start others, meets every rule, and the strictest wins. `SAFE` is a proof: each command is known with
//! all its options, and no word of it is left to chance. What nobody knows is `CONFIRM`.

mod ahead;
mod decision;
mod expand;
mod flow;
mod guard;
mod judge;
mod judging;
mod level;
mod options;
mod paths;
mod plain;
mod read;
#[expect(clippy::disallowed_methods, reason = "it starts this program again, to read one text")]
mod reader;
mod rule;
mod rules;
mod script;
mod shebang;
pub mod shim;
mod wrap;
mod wrappers;

pub use decision::{Decision, Hit};
pub use guard::LONGEST;
pub(crate) use guard::is_bad;
pub use level::{Capability, Level, Profile};
pub use reader::{READER, main as reader_main, read_in_processes, words};
pub use rule::RuleText;
pub use rules::{Rules, RulesFile};
pub use shebang::interpreter;
pub(crate) use wrap::is_assignment;

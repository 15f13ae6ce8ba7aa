//! Judges a command by its text: advice before the sandbox, never instead of it.
//!
//! Every command in a text meets every rule, and the strictest wins. `SAFE` is a proof: each command is known with
//! all its options, and each word is literal. Unknown commands are `CONFIRM`.

mod ahead;
mod decision;
mod judge;
mod judging;
mod level;
mod paths;
#[expect(clippy::disallowed_methods, reason = "it starts this program again, to read one text")]
mod reader;
mod rule;
mod rules;

pub use decision::{Decision, Hit};
pub use level::{Capability, Level};
pub use reader::{READER, main as reader_main, read_in_processes, words};
pub use rule::RuleText;
pub use rules::{Rules, RulesFile};

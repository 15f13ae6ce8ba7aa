//! Plans: what is to be done, as data that a person reads before it is done and a program checks.
//!
//! A plan is one JSON object whose `plan_type` says what it is. It is taken whole or not at all: an unknown
//! member, a command that needs a shell, a host that is not this one, and nothing of it runs. A plan is no
//! permission: each of its steps is asked for, judged and recorded as it would be without one.
//!
//! A step is a command (`{"command": "systemctl restart nginx", "purpose": …, "read_only": …}`: plain words,
//! which become typed requests where a request does it, and run in the sandbox otherwise) or a typed call
//! (`{"tool": "write_file", "args": {…}}`: content, and all that needs more than words).

mod argv;
mod document;
mod effect;
mod fit;
mod meaning;
mod patch;
mod table;

pub use argv::split;
pub use fit::changes;
pub use meaning::Meaning;
pub use table::table;

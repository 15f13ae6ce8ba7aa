//! Reads a shell's text: the commands in it, with what of their words is known before it runs.
//!
//! Nothing is judged here. A parser of the whole grammar reads the text, through pipes, lists, substitutions and
//! programs that start others, within the limits of [`guard`].

pub(crate) mod expand;
mod flow;
pub(crate) mod guard;
pub(crate) mod options;
pub(crate) mod plain;
pub(crate) mod read;
pub(crate) mod script;
mod shebang;
pub(crate) mod wrap;
pub(crate) mod wrappers;

pub use guard::LONGEST;
pub(crate) use guard::is_bad;
pub use shebang::interpreter;
pub(crate) use wrap::is_assignment;

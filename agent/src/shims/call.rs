//! A call of a shimmed program: its words, the place where it was called, and the requests that it comes to.

use super::exit_status::ProgramFamily;
use super::unit_query::UnitQuery;
use crate::protocol::request::Request;
use crate::shell_parser::options::{OptionOrder, Options, Parsed};
use crate::shell_parser::script::Word;
use std::ffi::OsString;

/// Environment of a shimmed program's call. Files are read as the tool's own user.
pub trait ShimHost {
    /// The directory of the call, absolute.
    fn directory(&self) -> String;
    /// All of standard input.
    ///
    /// # Errors
    /// Why it cannot be read.
    fn input(&mut self) -> Result<Vec<u8>, String>;
    /// Reads a file.
    ///
    /// # Errors
    /// Why it cannot be read.
    fn read(&self, path: &str) -> Result<Vec<u8>, String>;
    /// Whether there is a directory of this name.
    fn is_directory(&self, path: &str) -> bool;
    /// Whether the file is the tool's own to change: in its workspace.
    fn is_own(&self, path: &str) -> bool;
    /// Mode and owners of a file, where they can be seen.
    fn attributes(&self, _: &str) -> Option<Attributes> {
        None
    }
    /// Whether the file belongs to the caller, who may change its mode then.
    fn owns(&self, _: &str) -> bool {
        false
    }
    /// Whether it is a symbolic link.
    fn is_link(&self, _: &str) -> bool {
        false
    }
    /// Whether it is certain that nothing has this name.
    fn is_missing(&self, _: &str) -> bool {
        false
    }
    /// Whether `systemctl` can ask the service manager from here. Looking needs no request then.
    fn reaches_systemd(&self) -> bool {
        false
    }
    /// Runs `sed` with these arguments on a text, unprivileged.
    ///
    /// # Errors
    /// Its error text.
    fn sed(&self, arguments: &[String], text: &[u8]) -> Result<Vec<u8>, String>;
}

/// Mode and owners of a file as a call gives them; empty = as the file has them, or as the helper's default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attributes {
    /// In octal, four digits.
    pub mode: String,
    /// A user's name.
    pub owner: String,
    /// A group's name.
    pub group: String,
}

/// Whether the next step is taken after one has failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterFailure {
    /// The next operand of the same command; a failure is remembered.
    GoOn,
    /// `a && b`, and all under `-e`; also after one before it that failed.
    Stop,
    /// `a; b` in a script: what came of `a` is forgotten.
    Forget,
}

/// One request, and how a script hears of its end.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// The request to the helper.
    pub request: Request,
    /// As which program its end is told.
    pub family: ProgramFamily,
    /// Codes that count as done, such as `already_exists` for `mkdir -p`.
    pub excused: &'static [&'static str],
    /// After a failure.
    pub then: AfterFailure,
    /// Standard output of the replaced program.
    pub echo: Vec<u8>,
    /// How what was found is told, where the request only looks; quietly or not.
    pub look: Option<(UnitQuery, bool)>,
    /// Whether the program prints nothing of its own, as `apt-get -qq`.
    pub is_quiet: bool,
    /// A file of the tool's own that is gone once the step is done: what `mv` moved.
    pub moved: Option<String>,
    /// The mode that the new one was computed from, where the call names changes and not a mode.
    pub old_mode: Option<String>,
}

/// Why there is no request: what to say.
pub type Refusal = String;
pub type Steps = Result<Vec<Step>, Refusal>;
/// Options with their values.
pub type ParsedOptions = Vec<(String, Option<String>)>;

/// The program's name, without a directory where that is one of the system's. Another program of the name is not the
/// one that is translated.
pub fn program(argv: &[String]) -> String {
    let word = argv.first().map_or("", String::as_str);
    match word.rsplit_once('/') {
        Some(("/usr/bin" | "/usr/sbin" | "/bin" | "/sbin", name)) => name.to_owned(),
        Some(_) | None => word.to_owned(),
    }
}

/// The words of a call under the program's own name, also where it was called by its whole path, such as
/// `$(command -v sed)` gives: in the real one's place it would find itself again. `None` if a word is not UTF-8.
pub fn own_words(argv: &[OsString], name: &str) -> Option<Vec<String>> {
    let words = argv.iter().map(|word| word.to_str().map(str::to_owned));
    let mut words = words.collect::<Option<Vec<String>>>()?;
    name.clone_into(words.first_mut()?);
    Some(words)
}

/// Whether a variable only says how a program talks. Others may change what it acts on.
pub fn only_talks(assignment: &str) -> bool {
    let name = assignment.split_once('=').map_or("", |(name, _)| name);
    matches!(name, "DEBIAN_FRONTEND" | "LC_ALL" | "LANG" | "NEEDRESTART_MODE")
}

pub fn words(argv: &[String]) -> Vec<Word> {
    argv.iter().map(Word::literal).collect()
}

/// Options and operands of a call, as an option line describes them.
pub fn parse(argv: &[String], line: &str) -> Result<(ParsedOptions, Vec<String>), Refusal> {
    let words = words(argv);
    let arguments = words.get(1..).unwrap_or_default();
    let Some(Parsed { options, operands }) = Options::new(line).parse(arguments, OptionOrder::Any) else {
        let known = if line.is_empty() { "none".to_owned() } else { line.replace([':', '='], "") };
        return Err(format!("an option that no request has; known here: {known}"));
    };
    let options = options.into_iter().map(|(name, value)| (name, value.map(str::to_owned))).collect();
    let operands = operands.iter().filter_map(|&at| argv.get(at + 1).cloned()).collect();
    Ok((options, operands))
}

pub fn step(request: Request, family: ProgramFamily) -> Step {
    Step {
        request,
        family,
        excused: &[],
        then: AfterFailure::GoOn,
        echo: Vec::new(),
        look: None,
        is_quiet: false,
        moved: None,
        old_mode: None,
    }
}

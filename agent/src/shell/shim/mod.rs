//! What becomes of `sudo`, `apt-get`, `systemctl`, `tee` and their like inside the tool sandbox: typed requests,
//! or one line that says what to use. Nothing is asked for here and nothing is changed.

mod files;
mod nowhere;
mod owners;
mod packages;
mod script;
mod units;
mod voice;
pub mod wire;

pub use nowhere::{Foreseen, Nowhere};
pub use units::{Look, State};
pub use voice::{Said, Voice};

use super::options::{Options, Order, Parsed};
use super::script::Word;
use crate::request::Request;

/// What the place tells where a shimmed program was called. What it reads, it reads as the tool's own user.
pub trait Place {
    /// The directory of the call, absolute.
    fn directory(&self) -> String;
    /// All of standard input.
    ///
    /// # Errors
    /// Why it cannot be read.
    fn input(&mut self) -> Result<Vec<u8>, String>;
    /// What a file holds.
    ///
    /// # Errors
    /// Why it cannot be read.
    fn read(&self, path: &str) -> Result<Vec<u8>, String>;
    /// Whether there is a directory of this name.
    fn is_directory(&self, path: &str) -> bool;
    /// Whether the file is the tool's own to change: in its workspace.
    fn is_own(&self, path: &str) -> bool;
    /// What `sed` with these arguments makes of a text, run without power.
    ///
    /// # Errors
    /// What it says.
    fn sed(&self, arguments: &[String], text: &[u8]) -> Result<Vec<u8>, String>;
}

/// Whether the next step is taken after one has failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
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
    /// What is asked of the helper.
    pub request: Request,
    /// As which program its end is told.
    pub voice: Voice,
    /// Codes that count as done, such as `already_exists` for `mkdir -p`.
    pub excused: &'static [&'static str],
    /// After a failure.
    pub then: Then,
    /// What the program would have written to its standard output.
    pub echo: Vec<u8>,
    /// How what was found is told, where the request only looks; quietly or not.
    pub look: Option<(Look, bool)>,
    /// A file of the tool's own that is gone once the step is done: what `mv` moved.
    pub moved: Option<String>,
}

/// What a shimmed program stands for.
#[derive(Clone, Debug, PartialEq)]
pub enum Translation {
    /// Requests, in this order.
    Steps(Vec<Step>),
    /// Nothing that needs root: the real program runs in the sandbox, with these words.
    Local(Vec<String>),
    /// No request does this. One line for stderr, and the exit code.
    Advice(String, u8),
}

/// Every program that has a shim, in the order of the table.
pub const PROGRAMS: &[&str] = &[
    "sudo",
    "apt-get",
    "apt",
    "apt-mark",
    "dpkg",
    "systemctl",
    "service",
    "tee",
    "install",
    "cp",
    "mv",
    "rm",
    "sed",
    "mkdir",
    "chmod",
    "chown",
    "chgrp",
];

/// Why there is no request: what to say.
type Refusal = String;
type Steps = Result<Vec<Step>, Refusal>;
/// Options with their values.
type Given = Vec<(String, Option<String>)>;

/// Translates a call of a shimmed program.
#[must_use]
pub fn translate(argv: &[String], place: &mut dyn Place) -> Translation {
    let name = program(argv);
    let translated = if name == "sudo" { sudo(argv, place) } else { plain(argv, place) };
    translated.unwrap_or_else(|why| Translation::Advice(format!("{name}: {why}"), Voice::of(&name).failure()))
}

/// Without sudo: what a program does with the tool's own files needs nobody.
fn plain(argv: &[String], place: &mut dyn Place) -> Result<Translation, Refusal> {
    let name = program(argv);
    if !PROGRAMS.contains(&name.as_str()) || looks(argv) || files::is_local(argv, place) {
        return Ok(Translation::Local(argv.to_vec()));
    }
    command(argv, place).map(Translation::Steps)
}

/// `sudo [-n] COMMAND…`. What only reads goes on without it.
fn sudo(argv: &[String], place: &mut dyn Place) -> Result<Translation, Refusal> {
    let options = Options::new(
        "n S E H k v A u: g: --validate --non-interactive --stdin --preserve-env --set-home --user= --group=",
    );
    let words = words(argv);
    let parsed = options
        .parse(words.get(1..).unwrap_or_default(), Order::OptionsFirst)
        .ok_or("this option is not known here; use `sudo COMMAND`, without a shell of root's")?;
    let other = |name: &str| matches!(name, "u" | "user");
    if parsed.options.iter().any(|(name, value)| other(name) && *value != Some("root")) {
        return Err(
            "nothing runs as another user here; use a command that the policy names: `postern can`".into()
        );
    }
    let renews = parsed.options.iter().any(|(name, _)| matches!(name.as_str(), "v" | "validate"));
    if renews && parsed.operands.is_empty() {
        // Nothing asks for a password here, so there is nothing to renew.
        return Ok(Translation::Local(vec!["true".to_owned()]));
    }
    let mut inner: Vec<String> = parsed.operands.iter().filter_map(|&at| argv.get(at + 1).cloned()).collect();
    while inner.first().is_some_and(|word| super::wrap::is_assignment(word)) {
        inner.remove(0);
    }
    match program(&inner).as_str() {
        "" => Err("say what to run; there is no shell of root's here".into()),
        "env" => sudo_env(&inner, place),
        "sh" | "bash" | "dash" => script::translate(&inner, place).map(Translation::Steps),
        name if looks(&inner) || !name.starts_with("ch") && files::is_local(&inner, place) => {
            Ok(Translation::Local(inner))
        }
        name if PROGRAMS.contains(&name) => command(&inner, place).map(Translation::Steps),
        name => Err(format!(
            "{name} has no request of its own; see what is granted with `postern can`, or run it without sudo"
        )),
    }
}

/// `sudo env NAME=value COMMAND`.
fn sudo_env(argv: &[String], place: &mut dyn Place) -> Result<Translation, Refusal> {
    let rest = argv.iter().skip(1).skip_while(|word| super::wrap::is_assignment(word)).cloned();
    let mut again = vec!["sudo".to_owned()];
    again.extend(rest);
    if again.get(1).is_none_or(|word| word.starts_with('-') || word == "env") {
        return Err("env takes only NAME=value and a command here".into());
    }
    sudo(&again, place)
}

/// A program whose work is a request.
fn command(argv: &[String], place: &mut dyn Place) -> Steps {
    match program(argv).as_str() {
        "apt-get" | "apt" => packages::apt(argv),
        "apt-mark" => packages::mark(argv),
        "dpkg" => packages::dpkg(argv),
        "systemctl" => units::systemctl(argv),
        "service" => units::service(argv),
        "tee" => files::tee(argv, place),
        "install" => files::install(argv, place),
        "cp" => files::copy(argv, place),
        "mv" => files::rename(argv, place),
        "rm" => files::remove(argv, place),
        "sed" => files::sed(argv, place),
        "mkdir" => owners::mkdir(argv, place),
        "chmod" => owners::chmod(argv, place),
        "chown" | "chgrp" => owners::chown(argv, place),
        name => Err(format!("{name} has no request of its own; see what is granted with `postern can`")),
    }
}

/// Whether a command only looks, which needs no root: the real program runs.
pub(super) fn looks(argv: &[String]) -> bool {
    let first = argv.iter().skip(1).find(|word| !word.starts_with('-')).map_or("", String::as_str);
    let has = |flags: &[&str]| argv.iter().any(|word| flags.contains(&word.as_str()));
    match program(argv).as_str() {
        "systemctl" => has(&["--version", "--help", "-h"]) || first == "help",
        "apt-get" | "apt" => {
            has(&["-s", "--simulate", "--just-print", "--dry-run", "--version", "--help"])
                || matches!(first, "list" | "show" | "search" | "policy" | "depends" | "rdepends" | "")
                || matches!(first, "changelog" | "download" | "check" | "indextargets" | "madison")
        }
        "apt-mark" => first.starts_with("show"),
        "dpkg" => !has(&["--configure", "-i", "--install", "-r", "--remove", "-P", "--purge", "--unpack"]),
        "sed" => !files::is_in_place(argv),
        "cat" | "ls" | "head" | "tail" | "grep" | "id" | "whoami" | "test" | "stat" | "true" | "find"
        | "echo" | "journalctl" | "ss" | "ps" | "df" | "du" | "wc" | "which" | "dpkg-query" | "apt-cache" => {
            true
        }
        _ => has(&["--help", "--version"]),
    }
}

/// The program's name without a directory.
fn program(argv: &[String]) -> String {
    argv.first().map_or("", |word| word.rsplit('/').next().unwrap_or_default()).to_owned()
}

fn words(argv: &[String]) -> Vec<Word> {
    argv.iter().map(Word::literal).collect()
}

/// Options and operands of a call, as an option line describes them.
fn parse(argv: &[String], line: &str) -> Result<(Given, Vec<String>), Refusal> {
    let words = words(argv);
    let arguments = words.get(1..).unwrap_or_default();
    let Some(Parsed { options, operands }) = Options::new(line).parse(arguments, Order::Any) else {
        let known = if line.is_empty() { "none".to_owned() } else { line.replace([':', '='], "") };
        return Err(format!("an option that no request has; known here: {known}"));
    };
    let options = options.into_iter().map(|(name, value)| (name, value.map(str::to_owned))).collect();
    let operands = operands.iter().filter_map(|&at| argv.get(at + 1).cloned()).collect();
    Ok((options, operands))
}

fn step(request: Request, voice: Voice) -> Step {
    Step { request, voice, excused: &[], then: Then::GoOn, echo: Vec::new(), look: None, moved: None }
}

//! From a call of a shimmed program to requests, to the real program, or to one line that says what to use.

use super::call::{Refusal, ShimHost, Step, only_talks, program, words};
use super::exit_status::ProgramFamily;
use super::table::command;
use super::{files, script, sed, units};
use crate::shell_parser::options::{OptionOrder, Options};

/// Translation of a shimmed program's call.
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
    "reboot",
    "shutdown",
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

/// Translates a call of a shimmed program.
#[must_use]
pub fn translate(argv: &[String], place: &mut dyn ShimHost) -> Translation {
    let name = program(argv);
    let translated = if name == "sudo" { sudo(argv, place) } else { plain(argv, place) };
    translated.unwrap_or_else(|why| {
        Translation::Advice(format!("{name}: {why}"), ProgramFamily::of(&name).failure())
    })
}

/// Without sudo: what a program does with the tool's own files needs nobody.
fn plain(argv: &[String], place: &mut dyn ShimHost) -> Result<Translation, Refusal> {
    let name = program(argv);
    if !PROGRAMS.contains(&name.as_str()) || looks_from(argv, place) || files::is_local(argv, place) {
        return Ok(Translation::Local(argv.to_vec()));
    }
    command(argv, place).map(Translation::Steps)
}

/// Translates `sudo [-n] COMMAND…`. A read-only command runs without sudo.
fn sudo(argv: &[String], place: &mut dyn ShimHost) -> Result<Translation, Refusal> {
    let options = Options::new(
        "n S E H k K v A l u: g: --validate --non-interactive --stdin --preserve-env --set-home --list --reset-timestamp \
         --remove-timestamp --user= --group=",
    );
    let words = words(argv);
    let parsed = options
        .parse(words.get(1..).unwrap_or_default(), OptionOrder::OptionsFirst)
        .ok_or("this option is not known here; use `sudo COMMAND`, without a shell of root's")?;
    let other = |name: &str| matches!(name, "u" | "user");
    if parsed.options.iter().any(|(name, value)| other(name) && *value != Some("root")) {
        return Err(
            "nothing runs as another user here; use a command that the policy names: `postern can`".into()
        );
    }
    if parsed.options.iter().any(|(name, _)| matches!(name.as_str(), "g" | "group")) {
        return Err("nothing runs with another group here".into());
    }
    let has = |names: &[&str]| parsed.options.iter().any(|(name, _)| names.contains(&name.as_str()));
    if has(&["l", "list"]) && !parsed.operands.is_empty() {
        return Err("see whether it is granted with `postern can VERB ARGS`".into());
    }
    if has(&["l", "list"]) && place.reaches_systemd() {
        // The user is a client of the helper, which lists the grants.
        return Ok(Translation::Local(["/usr/bin/postern", "--direct", "can"].map(str::to_owned).to_vec()));
    }
    let renews = has(&["v", "validate", "k", "K", "reset-timestamp", "remove-timestamp"]);
    if renews && parsed.operands.is_empty() {
        // Nothing asks for a password here, so there is nothing to renew.
        return Ok(Translation::Local(vec!["true".to_owned()]));
    }
    let mut inner: Vec<String> = parsed.operands.iter().filter_map(|&at| argv.get(at + 1).cloned()).collect();
    while let Some(word) = inner.first().filter(|word| crate::shell_parser::is_assignment(word)) {
        talks(word)?;
        inner.remove(0);
    }
    match program(&inner).as_str() {
        "" => Err("say what to run; there is no shell of root's here".into()),
        "env" => sudo_env(&inner, place),
        "sh" | "bash" | "dash" => script::translate(&inner, place).map(Translation::Steps),
        name if looks_from(&inner, place) || is_own(name, &inner, place) => Ok(Translation::Local(inner)),
        name if PROGRAMS.contains(&name) || name == "touch" => command(&inner, place).map(Translation::Steps),
        name => Err(format!(
            "{name} has no request of its own; see what is granted with `postern can`, or run it without sudo"
        )),
    }
}

/// Whether a command behind sudo needs no root. Only root gives files away, and only an owner changes a mode.
fn is_own(name: &str, argv: &[String], place: &dyn ShimHost) -> bool {
    match name {
        "chown" | "chgrp" => false,
        "chmod" => files::are_callers(argv, place),
        _ => files::is_local(argv, place),
    }
}

/// Refuses a variable that may change what the command acts on.
fn talks(assignment: &str) -> Result<(), Refusal> {
    if only_talks(assignment) {
        return Ok(());
    }
    let name = assignment.split_once('=').map_or(assignment, |(name, _)| name);
    Err(format!("no request takes the variable {name}"))
}

/// `sudo env NAME=value COMMAND`.
fn sudo_env(argv: &[String], place: &mut dyn ShimHost) -> Result<Translation, Refusal> {
    let is_assignment = |word: &&String| crate::shell_parser::is_assignment(word);
    argv.iter().skip(1).take_while(is_assignment).try_for_each(|word| talks(word))?;
    let rest = argv.iter().skip(1).skip_while(is_assignment).cloned();
    let mut again = vec!["sudo".to_owned()];
    again.extend(rest);
    if again.get(1).is_none_or(|word| word.starts_with('-') || word == "env") {
        return Err("env takes only NAME=value and a command here".into());
    }
    sudo(&again, place)
}

/// The same where the service manager may be within reach.
fn looks_from(argv: &[String], place: &dyn ShimHost) -> bool {
    looks(argv) || place.reaches_systemd() && units::only_looks(argv)
}

/// Whether a command only looks, which needs no root: the real program runs.
pub fn looks(argv: &[String]) -> bool {
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
        "sed" => !sed::is_in_place(argv),
        "cat" | "ls" | "head" | "tail" | "grep" | "id" | "whoami" | "test" | "stat" | "true" | "false"
        | "find" | "echo" | "journalctl" | "ss" | "ps" | "df" | "du" | "wc" | "which" | "dpkg-query"
        | "apt-cache" | "printf" | "sort" | "uname" => true,
        _ => has(&["--help", "--version"]),
    }
}

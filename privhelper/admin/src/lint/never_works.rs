//! Rules of which no request can succeed on this host. That is no risk: somebody relies on them in vain.

use super::facts::{Facts, Inode};
use super::glob::matches;
use super::grant::{Grant, LintFinding};
use super::input::Input;
use super::reach::is_below;
use crate::finding::Severity;
use postern_policy::VerbId;
use postern_proto::root::v1::{Command, Sandbox};

/// Directories that a command's sandbox replaces by empty ones.
const HIDDEN: [&str; 5] = ["/home", "/root", "/run/user", "/tmp", "/var/tmp"];

pub(super) fn check(input: &Input<'_>, rule: &Grant<'_>, found: &mut Vec<LintFinding>) {
    let facts = input.facts.filter(|_| rule.rule.as_user.is_empty());
    let owners = facts.and_then(|facts| owner(rule, facts));
    let commands = input.rules.commands.iter().filter(|command| is_granted(rule, command));
    let programs = commands.filter_map(|command| {
        let why = hidden(command).or_else(|| missing(command, input.facts?))?;
        Some((command.name.as_str(), why))
    });
    for (value, why) in owners.into_iter().chain(programs) {
        let message = format!("rule {} can never work on this host: {why}", rule.rule.id);
        found.push(rule.remark("never-works", Severity::Warning, value, message));
    }
}

fn is_granted(rule: &Grant<'_>, command: &Command) -> bool {
    let is_asked = rule.has_verb(&[VerbId::CommandRun])
        && rule.rule.commands.iter().any(|name| matches(name, &command.name));
    is_asked || rule.rule.validate == command.name
}

/// A directory, or one above it, that is not root's alone: postern-files refuses it. A sticky one above is accepted.
fn owner<'a>(rule: &'a Grant<'_>, facts: &Facts) -> Option<(&'a str, String)> {
    let foreign = |inode: &&Inode, directory: &str| {
        let is_above = inode.path == "/" || is_below(directory, &[inode.path.as_str()]);
        let is_sticky = inode.path != directory && inode.bits() & 0o1000 != 0;
        is_above && inode.kind == "directory" && (inode.uid != 0 || (inode.bits() & 0o022 != 0 && !is_sticky))
    };
    rule.rule.directories.iter().find_map(|directory| {
        let inode = facts.inodes.iter().find(|inode| foreign(inode, directory))?;
        let Inode { path, uid, mode, .. } = inode;
        let why = format!(
            "{path} belongs to uid {uid} with mode {mode}, and files are changed and read only where root alone can write"
        );
        Some((directory.as_str(), why))
    })
}

/// A program or working directory that the command's sandbox hides.
fn hidden(command: &Command) -> Option<String> {
    if command.sandbox() == Sandbox::None {
        return None;
    }
    let program = command.argv.first()?;
    let path = [program, &command.cwd].into_iter().find(|path| is_below(path, &HIDDEN))?;
    Some(format!("command {} needs {path}, which its sandbox hides", command.name))
}

fn missing(command: &Command, facts: &Facts) -> Option<String> {
    let program = command.argv.first().filter(|program| facts.missing.contains(program))?;
    Some(format!("there is no {program}, which command {} runs", command.name))
}

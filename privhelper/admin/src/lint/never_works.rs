//! Rules of which no request can succeed on this host. That is no risk: somebody relies on them in vain.

use super::facts::{Facts, Inode};
use super::glob::matches;
use super::grant::{Grant, LintFinding};
use super::input::Input;
use super::reach::is_below;
use super::table::{NEEDS, NO_ARGUMENT, Need, Needs};
use crate::finding::Severity;
use postern_policy::VerbId;
use postern_proto::root::v1::{Command, Sandbox};

/// Directories that a command's sandbox replaces by empty ones.
const HIDDEN: [&str; 5] = ["/home", "/root", "/run/user", "/tmp", "/var/tmp"];
/// Those of them that are empty for what a command is told to read or write; /tmp is its own, and it may use it.
const HOMES: [&str; 3] = ["/home", "/root", "/run/user"];

pub(super) fn check(input: &Input<'_>, rule: &Grant<'_>, found: &mut Vec<LintFinding>) {
    let facts = input.facts.filter(|_| rule.rule.as_user.is_empty());
    let owners = facts.and_then(|facts| owner(rule, facts));
    let commands = input.rules.commands.iter().filter(|command| is_granted(rule, command));
    let programs = commands.filter_map(|command| {
        let why = hidden(command).or_else(|| lacking(command)).or_else(|| missing(command, input.facts?))?;
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

/// A program, working directory, argument, written directory or directory of a parameter that the command's sandbox hides.
fn hidden(command: &Command) -> Option<String> {
    if command.sandbox() == Sandbox::None {
        return None;
    }
    let program = command.argv.first()?;
    let of_it = [program, &command.cwd].into_iter().map(String::as_str).find(|path| is_below(path, &HIDDEN));
    let before = command.argv.iter().map(String::as_str);
    let arguments =
        before.zip(command.argv.iter().skip(1)).filter_map(|(before, word)| path_in(before, word));
    let checked = command.parameters.iter().filter(|parameter| !parameter.unchecked);
    let directories = command.write.iter().chain(checked.flat_map(|parameter| &parameter.directories));
    let mut told = arguments.chain(directories.map(String::as_str));
    let path = of_it.or_else(|| told.find(|path| is_below(path, &HOMES)))?;
    Some(format!("command {} needs {path}, which its sandbox hides", command.name))
}

/// The path that an argument is or that stands after its `=`. The program does not need what an option tells it to leave out.
fn path_in<'a>(before: &str, word: &'a str) -> Option<&'a str> {
    let (option, path) = word.split_once('=').unwrap_or((before, word));
    let leaves_out = option.starts_with('-')
        && ["exclude", "ignore", "-path", "-wholename"].iter().any(|name| option.contains(name))
        && !option.ends_with("-from");
    (path.starts_with('/') && !leaves_out).then_some(path)
}

/// The thing that the command's program needs and its sandbox does not have, by the table of programs.
fn lacking(command: &Command) -> Option<String> {
    if command.sandbox() == Sandbox::None {
        return None;
    }
    let (program, arguments) = command.argv.split_first()?;
    let program = program.rsplit('/').next()?;
    let of_it = |needs: &&Needs| {
        let is_without = |start: &&str| match *start {
            NO_ARGUMENT => arguments.is_empty(),
            start => arguments.iter().any(|word| word.starts_with(start)),
        };
        needs.programs.split(' ').any(|name| name == program) && !needs.unless.iter().any(is_without)
    };
    let needs = NEEDS.iter().find(of_it)?;
    let has_socket = |sockets: &[&str]| {
        let is_it =
            |path: &str, socket: &str| path == socket || (socket.ends_with('/') && path.starts_with(socket));
        let own = |path: &String| path.replacen("/var/run/", "/run/", 1);
        command.sockets.iter().map(own).any(|path| sockets.iter().any(|socket| is_it(&path, socket)))
    };
    let why = match needs.need {
        Need::Socket(sockets) if !has_socket(sockets) => {
            format!("{} in `sockets`", sockets.join(" or "))
        }
        Need::SocketOrNetwork(sockets) if !has_socket(sockets) && !command.network => {
            format!("a socket such as {} in `sockets`, or `network = true`", sockets.join(" or "))
        }
        Need::Network if !command.network => "`network = true`".to_owned(),
        Need::Capability(name) if command.capabilities.iter().all(|own| own != name) => {
            format!("{name} in `capabilities`")
        }
        Need::NoSandbox(why) => format!("`sandbox = \"none\"`, since {why}"),
        Need::Socket(_) | Need::SocketOrNetwork(_) | Need::Network | Need::Capability(_) => return None,
    };
    Some(format!("command {} runs {program} in a sandbox, where it needs {why}", command.name))
}

fn missing(command: &Command, facts: &Facts) -> Option<String> {
    if facts.unknown_users.contains(&command.user) {
        let user = &command.user;
        return Some(format!("command {} runs as user {user}, which this host does not have", command.name));
    }
    let program = command.argv.first().filter(|program| facts.missing.contains(program))?;
    Some(format!("there is no {program}, which command {} runs", command.name))
}

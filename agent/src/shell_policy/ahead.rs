//! Translates a script's shimmed commands before the first of them runs: half a script is not run.

use crate::shell_parser::script::{Certainty, Power, Simple, Word};
use crate::shims::{self, Foreseen, Translation};

/// Translation of a shimmed command, as far as it is known before the script runs.
enum Forecast {
    /// No request does it; the command and why.
    Untranslatable(String),
    /// A change of the host.
    Change,
    /// Only running it shows, or it changes nothing of the host.
    Unknown,
}

/// The shims translate at run time what they are called with; their own refusals are known from the words alone.
fn ahead(command: &Simple, directory: Directory) -> Forecast {
    if let [sign, target] = command.words.as_slice()
        && sign.is(">")
    {
        return redirected(target);
    }
    if !shims::PROGRAMS.contains(&command.program())
        || !command.is_found_by_name()
        || command.words.iter().any(|word| word.certainty != Certainty::Literal)
    {
        return Forecast::Unknown;
    }
    let argv: Vec<String> = command.words.iter().map(|word| word.text.clone()).collect();
    match shims::translate(&argv, &mut Foreseen) {
        Translation::Advice(why, _) if directory == Directory::Start || is_the_same_everywhere(&argv) => {
            Forecast::Untranslatable(format!("`{}`: {why}", argv.join(" ")))
        }
        Translation::Steps(steps) if steps.iter().any(|step| step.request.is_effect()) => Forecast::Change,
        Translation::Advice(..) | Translation::Steps(_) | Translation::Local(_) => Forecast::Unknown,
    }
}

/// A redirection is the shell's own, so no shim sees it: below these directories the sandbox's user cannot write.
const OTHERS: &[&str] = &["/etc/", "/usr/", "/opt/", "/srv/", "/boot/", "/root/", "/home/", "/var/"];

fn redirected(target: &Word) -> Forecast {
    let path = target.text.as_str();
    let is_others = target.certainty == Certainty::Literal
        && OTHERS.iter().any(|directory| path.starts_with(directory))
        && !["/var/tmp/", "/var/lib/postern-tool/"].iter().any(|own| path.starts_with(own));
    if is_others {
        let why = "a redirection writes as the sandbox's own user; use `| sudo tee FILE`, or `| sudo tee -a FILE` for `>>`";
        Forecast::Untranslatable(format!("`> {path}`: {why}"))
    } else {
        Forecast::Unknown
    }
}

/// Programs whose operands are files, but for the first one of some.
const FILE_PROGRAMS: &[(&str, usize)] = &[
    ("tee", 0),
    ("install", 0),
    ("cp", 0),
    ("mv", 0),
    ("rm", 0),
    ("sed", 1),
    ("mkdir", 0),
    ("chmod", 1),
    ("chown", 1),
    ("chgrp", 1),
];

/// Whether a command names the same files in every directory: it works on none, or all are named from the root.
fn is_the_same_everywhere(argv: &[String]) -> bool {
    let found = argv.iter().enumerate().find_map(|(at, word)| {
        let known = FILE_PROGRAMS.iter().find(|(name, _)| name == word);
        known.map(|(_, others)| (at, *others))
    });
    // `apt-get install` is about packages.
    let Some((at, others)) = found.filter(|_| !argv.iter().any(|word| word.starts_with("apt"))) else {
        return true;
    };
    let operands = argv.iter().skip(at + 1).filter(|word| !word.starts_with('-'));
    operands.skip(others).all(|word| word.starts_with('/'))
}

/// Where a script stands when it comes to a command.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Directory {
    /// Where every command begins: the task's own directory.
    Start,
    /// The script changes its directory somewhere, so that a relative name may be any file.
    Changed,
}

/// Lists the commands that no request does, beside others that would change something.
pub fn untranslatable(commands: &[Simple]) -> Vec<String> {
    let changes_directory = commands.iter().any(|command| is_cd(command.program()));
    let directory = if changes_directory { Directory::Changed } else { Directory::Start };
    let (mut wrong, mut has_change) = (Vec::new(), false);
    for command in commands.iter().filter(|command| command.power == Power::Own) {
        match ahead(command, directory) {
            Forecast::Untranslatable(why) if !wrong.contains(&why) => wrong.push(why),
            Forecast::Change => has_change = true,
            Forecast::Untranslatable(_) | Forecast::Unknown => {}
        }
    }
    if has_change { wrong } else { Vec::new() }
}

/// Whether a program changes the directory of those after it.
pub fn is_cd(program: &str) -> bool {
    matches!(program, "cd" | "pushd" | "chdir")
}

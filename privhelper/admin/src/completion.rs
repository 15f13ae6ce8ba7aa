//! Words for the shell's completion of `postern-admin`: what the policy grants, what waits, what the log has, which packs there are.
//!
//! The shell runs this program for each completion. It says what its user may read, nothing where that is nothing, and no error.

use crate::approvals;
use crate::audit::CURRENT;
use crate::cli::Cli;
use crate::host::Host;
use crate::loaded_policy::LoadedPolicy;
use crate::packs::{added, pack};
use clap::{Arg, Command, CommandFactory};
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate, ValueCompleter};
use postern_policy::VerbId;
use serde_json::Value;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

/// The variable that makes this program complete instead of run.
pub const VARIABLE: &str = "POSTERN_ADMIN_COMPLETE";
/// How much of the log's end is read for ids.
const TAIL: u64 = 256 * 1024;
/// Most ids that are offered.
const IDS: usize = 50;

/// A kind of words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Words {
    /// Verbs, and what a rule of the policy grants: units, packages and commands.
    Request,
    /// Rules of the policy.
    Rules,
    /// Clients of the policy.
    Clients,
    /// Verbs.
    Verbs,
    /// Pending approvals.
    Waiting,
    /// The last requests of the log, newest first.
    Requests,
    /// The last tasks of the log, newest first.
    Tasks,
    /// Every pack.
    Packs,
    /// The packs that were added.
    Added,
}

/// The command line, with words for each argument that names something of the host.
#[must_use]
pub fn command() -> Command {
    below("", Cli::command())
}

fn below(above: &str, command: Command) -> Command {
    let path = format!("{above} {}", command.get_name());
    let add = |arg: Arg| match words(&path, &arg) {
        Some(words) => arg.add(ArgValueCompleter::new(words)),
        None => arg,
    };
    command.mut_args(add).mut_subcommands(|command| below(&path, command))
}

/// The words for an argument: by its command where it has no name of its own, else by its name.
fn words(path: &str, arg: &Arg) -> Option<Words> {
    match (path.trim_start_matches(" postern-admin "), arg.get_long()) {
        ("approve" | "deny" | "show", None) => Some(Words::Waiting),
        ("policy explain", None) => Some(Words::Request),
        ("pack show" | "pack add", None) => Some(Words::Packs),
        ("pack diff" | "pack remove" | "pack update", None) => Some(Words::Added),
        (_, Some("client")) => Some(Words::Clients),
        (_, Some("verb")) => Some(Words::Verbs),
        (_, Some("rule")) => Some(Words::Rules),
        ("undo", None) | (_, Some("request")) => Some(Words::Requests),
        (_, Some("task")) => Some(Words::Tasks),
        _ => None,
    }
}

impl ValueCompleter for Words {
    fn complete(&self, current: &OsStr) -> Vec<CompletionCandidate> {
        let begun = current.to_string_lossy();
        let mut words = self.words(&Host::real());
        // A shell takes each word as it is: none with a blank or a character that means something to it.
        let is_plain =
            |word: &String| word.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-@:+~=".contains(&b));
        words.retain(|word| word.starts_with(&*begun) && is_plain(word));
        words.into_iter().map(CompletionCandidate::new).collect()
    }
}

impl Words {
    /// The words on this host.
    #[must_use]
    pub fn words(self, host: &Host) -> Vec<String> {
        let verbs = || VerbId::ALL.iter().map(|verb| verb.name().to_owned());
        match self {
            Self::Request => verbs().chain(granted(host)).collect(),
            Self::Verbs => verbs().collect(),
            Self::Rules => policy(host, |rules| rules.rules.iter().map(|rule| rule.id.clone()).collect()),
            Self::Clients => policy(host, |rules| rules.clients.iter().map(|one| one.name.clone()).collect()),
            Self::Waiting => approvals::waiting_ids(host),
            Self::Requests => from_log(host, "request_id"),
            Self::Tasks => from_log(host, "task"),
            Self::Packs => {
                let packs = pack::all(host).map(|(packs, _)| packs).unwrap_or_default();
                packs.into_iter().map(|pack| pack.about.name).collect()
            }
            Self::Added => added::all(host).unwrap_or_default().into_iter().map(|added| added.name).collect(),
        }
    }
}

fn policy(host: &Host, names: impl Fn(&postern_proto::root::v1::Rules) -> Vec<String>) -> Vec<String> {
    LoadedPolicy::rules(host).map(|(rules, _)| names(&rules)).unwrap_or_default()
}

/// Units, packages and commands that rules name: patterns stand for the host's own units and installed packages.
fn granted(host: &Host) -> Vec<String> {
    let (units, packages) = (units(host), packages(host));
    policy(host, |rules| {
        let mut names = BTreeSet::new();
        for rule in &rules.rules {
            names.extend(rule.commands.iter().cloned());
            for (patterns, present) in [(&rule.units, &units), (&rule.packages, &packages)] {
                for pattern in patterns {
                    if pattern.contains('*') {
                        let parsed = postern_policy::types::Pattern::new(pattern).ok();
                        let fits =
                            |name: &&String| parsed.as_ref().is_some_and(|parsed| parsed.matches(name));
                        names.extend(present.iter().filter(fits).cloned());
                    } else {
                        names.insert(pattern.clone());
                    }
                }
            }
        }
        names.into_iter().collect()
    })
}

/// The names of the host's unit files; directories beside them hold drop-ins and links.
fn units(host: &Host) -> BTreeSet<String> {
    let places = ["etc/systemd/system", "usr/lib/systemd/system", "run/systemd/generator"];
    let entries = places.iter().filter_map(|place| std::fs::read_dir(host.root.join(place)).ok()).flatten();
    let files =
        entries.filter_map(Result::ok).filter(|entry| entry.file_type().is_ok_and(|kind| !kind.is_dir()));
    files.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

/// The names of the packages in dpkg's database.
fn packages(host: &Host) -> BTreeSet<String> {
    let status = std::fs::read_to_string(host.root.join("var/lib/dpkg/status")).unwrap_or_default();
    status.lines().filter_map(|line| line.strip_prefix("Package: ")).map(str::to_owned).collect()
}

/// The last values of a member in the log's newest file, newest first, each once.
fn from_log(host: &Host, member: &str) -> Vec<String> {
    let tail = || {
        let mut file = File::open(host.log.join(CURRENT)).ok()?;
        let length = file.metadata().ok()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(TAIL))).ok()?;
        let mut bytes = Vec::new();
        file.take(TAIL).read_to_end(&mut bytes).ok()?;
        Some(bytes)
    };
    let mut ids = Vec::new();
    // The first line may be the end of a record: it does not parse.
    for line in tail().unwrap_or_default().rsplit(|byte| *byte == b'\n') {
        let record = serde_json::from_slice::<Value>(line).unwrap_or_default();
        let id = record[member].as_str().filter(|id| !id.is_empty()).map(str::to_owned);
        if let Some(id) = id.filter(|id| !ids.contains(id)) {
            ids.push(id);
        }
        if ids.len() == IDS {
            break;
        }
    }
    ids
}

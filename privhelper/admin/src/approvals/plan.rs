//! Renders the effects of an order, line by line, from its request and its facts.

use postern_policy::request::{FileChange, FilesRequest, NewState, Statement};
use postern_policy::types::Digest;
use postern_policy::{Request, VerbId};
use postern_proto::root::v1::{Facts, FileFacts, Order, PackageFacts, UnitFacts, UnitState};
use postern_proto::v1::{Action, PackageStep};
use std::fs::File;
use std::io::Read;

/// More than this no person reads.
const BYTES_MAX: usize = 256 * 1024;
/// Largest file that is compared with its new content, in bytes.
const FILE_MAX: u64 = 8 * 1024 * 1024;
/// Lines of a file that are shown around a change.
const AROUND: usize = 3;

/// The lines of an order's plan.
pub(super) fn of(order: &Order, request: &Request) -> Vec<u8> {
    let facts = order.inverse.as_ref().and_then(|inverse| inverse.left.as_ref()).or(order.facts.as_ref());
    let none = Facts::default();
    let facts = facts.unwrap_or(&none);
    match request {
        Request::Files(files) => self::files(files, &facts.files, order.inverse.is_some()),
        Request::FileRead(read) => {
            format!("read {}, from byte {}, at most {} bytes\n", read.path, read.offset, read.limit)
                .into_bytes()
        }
        Request::FileList(path) => format!("list {path}\n").into_bytes(),
        Request::Unit(unit) => {
            let action = unit.verb.name().trim_start_matches("unit.");
            units(action, unit.now, unit.unit.as_str(), facts.unit.as_ref()).into_bytes()
        }
        Request::UnitStatus(status) => {
            format!("show {} with {} journal lines\n", status.unit, status.journal_lines).into_bytes()
        }
        Request::DaemonReload => b"reload the units of systemd\n".to_vec(),
        Request::Reboot(Some(minutes)) => {
            format!("reboot the host {minutes} minutes after this approval\n").into_bytes()
        }
        Request::Reboot(None) => b"cancel the reboot that this client has scheduled\n".to_vec(),
        Request::Packages(packages) => {
            let steps = order.inverse.as_ref().and_then(|inverse| inverse.steps.as_ref());
            packages_plan(packages.verb, steps.or(facts.packages.as_ref())).into_bytes()
        }
        Request::Command(command) => {
            let parameter = |(name, value): (&str, &str)| format!("with {name} = {value:?}\n");
            let parameters = command.arguments.iter().map(parameter).collect::<String>();
            let secrets = "a value of 64 digits may stand for a secret\n";
            let secrets = if parameters.is_empty() { "" } else { secrets };
            format!("run the command {}\n{parameters}{secrets}", command.name).into_bytes()
        }
        Request::Describe => b"describe the policy\n".to_vec(),
        Request::Own(Statement::Keep(of)) => format!("keep the change of {of}\n").into_bytes(),
        Request::Own(Statement::Note(seq, _)) => {
            format!("note that a record of the client's ends with entry {seq}\n").into_bytes()
        }
        Request::Result(of) => format!("tell the outcome of {of}\n").into_bytes(),
        Request::Undo(of) => format!("undo {of}\n").into_bytes(),
    }
}

fn files(request: &FilesRequest, facts: &[FileFacts], is_undo: bool) -> Vec<u8> {
    let mut text = Vec::new();
    for change in &request.changes {
        let path = change.path.as_str();
        let old = facts.iter().find(|facts| facts.path == path).filter(|facts| facts.exists);
        let set = [
            change.mode.map(|mode| format!(", mode {mode}")),
            change.owner.as_ref().map(|owner| format!(", owner {owner}")),
            change.group.as_ref().map(|group| format!(", group {group}")),
        ];
        let set = set.into_iter().flatten().collect::<String>();
        let what = match &change.to {
            NewState::Content(_) if is_undo => "write back the content that was kept".to_owned(),
            NewState::Content(content) => {
                format!("write {} bytes, SHA-256 {}", content.len(), Digest::of(&[content]))
            }
            NewState::Removed => "remove".to_owned(),
            NewState::Directory => "make a directory".to_owned(),
            NewState::Attributes => "set mode or owner".to_owned(),
        };
        let line = format!("file {path}: {what}{set}\nnow {}\n", old.map_or("nothing".to_owned(), standing));
        text.extend_from_slice(line.as_bytes());
        if !is_undo {
            text.extend(content(change, old));
        }
    }
    text
}

/// The file at a path, from the order's facts.
fn standing(old: &FileFacts) -> String {
    let kind = if old.directory { "a directory".to_owned() } else { format!("a file of {} bytes", old.size) };
    let attributes = if old.attributes.is_empty() { "" } else { ", with extended attributes" };
    format!("{kind}, mode {:04o}, uid {}, gid {}{attributes}", old.mode, old.uid, old.gid)
}

/// The difference of new and old content, if the old one can be read here and is the one in the facts.
fn content(change: &FileChange, old: Option<&FileFacts>) -> Vec<u8> {
    let NewState::Content(new) = &change.to else { return Vec::new() };
    let Some(old) = old.filter(|old| !old.directory) else { return diff(b"", new) };
    let (words, before) = match read(change.path.as_str()) {
        Some(live) if Digest::of(&[&live]).as_bytes() == old.sha256 => ("", live),
        Some(_) => {
            ("the file has changed since, so root will refuse this; the whole new content:\n", Vec::new())
        }
        None => ("you cannot read the old content; the whole new one:\n", Vec::new()),
    };
    [words.as_bytes(), &diff(&before, new)].concat()
}

fn read(path: &str) -> Option<Vec<u8>> {
    let mut content = Vec::new();
    let file = File::open(path).ok().filter(|file| file.metadata().is_ok_and(|facts| facts.is_file()))?;
    file.take(FILE_MAX).read_to_end(&mut content).ok()?;
    Some(content)
}

fn units(action: &str, now: bool, asked: &str, facts: Option<&UnitFacts>) -> String {
    let state = |state: &UnitState| {
        let enabled = if state.enabled.is_empty() { "not installed" } else { &state.enabled };
        format!("which is {} and {enabled}", state.active)
    };
    let none = UnitState::default();
    let unit = facts.and_then(|facts| facts.unit.as_ref()).unwrap_or(&none);
    let mut text = format!("{action} {}, {}\n", unit.id, state(unit));
    if asked != unit.id {
        text.extend(["asked for as ", asked, "\n"]);
    }
    if now {
        let second = if action == "enable" { "start" } else { "stop" };
        text.extend([format!("{second} {}, {}\n", unit.id, state(unit))]);
    }
    for other in facts.iter().flat_map(|facts| &facts.affected) {
        let unit = other.unit.as_ref().unwrap_or(&none);
        let (effect, id, state, cause) = (&other.effect, &unit.id, state(unit), &other.cause);
        text.extend([format!("{effect} {id}, {state}; affected by {cause}\n")]);
    }
    text
}

fn packages_plan(verb: VerbId, facts: Option<&PackageFacts>) -> String {
    let Some(facts) = facts else { return format!("{}\n", verb.name()) };
    let or_none = |version: &str| if version.is_empty() { "none".to_owned() } else { version.to_owned() };
    let step = |step: &PackageStep| {
        let asked = if step.asked { "asked for" } else { "not asked for" };
        let (name, arch, old, new) = (&step.name, &step.arch, or_none(&step.old), or_none(&step.new));
        let from = step.sources.iter().flat_map(|source| [", from ", source]).collect::<String>();
        let done = match step.action() {
            Action::Unspecified => "changed",
            Action::Install => "installed",
            Action::Upgrade => "upgraded",
            Action::Downgrade => "downgraded",
            Action::Reinstall => "reinstalled",
            Action::Remove => "removed",
            Action::Purge => "purged",
            Action::Configure => "configured",
        };
        format!("{name} ({arch}) is {done}: {old} -> {new}, {asked}{from}\n")
    };
    let steps = facts.steps.iter().map(step).collect::<String>();
    let kept = facts.kept_back.iter().flat_map(|name| [name, " is kept back\n"]).collect::<String>();
    let (download, disk) = (facts.download_bytes, facts.disk_bytes);
    format!("{steps}{kept}fetches {download} bytes, takes {disk} bytes of disk\n")
}

/// Renders the difference of two contents: equal lines before and after are cut to three. One block, so that nobody has to
/// trust an algorithm. Ends where it is longer than a person reads.
#[must_use]
pub fn diff(old: &[u8], new: &[u8]) -> Vec<u8> {
    let lines = |content| <[u8]>::split_inclusive(content, |byte| *byte == b'\n');
    let pairs = lines(old).zip(lines(new)).take_while(|(old, new)| old == new);
    let (head, count) = pairs.fold((0, 0), |(bytes, count), (line, _)| (bytes + line.len(), count + 1_usize));
    let (old_rest, new_rest) = (&old[head..], &new[head..]);
    let equal = lines(old_rest).rev().zip(lines(new_rest).rev()).take_while(|(old, new)| old == new);
    let tail = equal.fold(0, |bytes, (line, _)| bytes + line.len());
    let (old_middle, new_middle) = (old_rest.len() - tail, new_rest.len() - tail);
    let before = lines(&old[..head]).rev().take(AROUND).collect::<Vec<_>>();
    let after = lines(&new_rest[new_middle..]).take(AROUND);
    let mut text = format!("at line {}\n", count - before.len() + 1).into_bytes();
    let marked = |mark: &'static [u8]| move |line| (mark, line);
    let all = before.into_iter().rev().map(marked(b" "));
    let all = all.chain(lines(&old_rest[..old_middle]).map(marked(b"-")));
    let all = all.chain(lines(&new_rest[..new_middle]).map(marked(b"+")));
    for (mark, line) in all.chain(after.map(marked(b" "))) {
        if text.len() > BYTES_MAX {
            break;
        }
        text.extend_from_slice(mark);
        text.extend_from_slice(line);
        if !line.ends_with(b"\n") {
            text.extend_from_slice(b"\n\\ no line feed at the end\n");
        }
    }
    text
}

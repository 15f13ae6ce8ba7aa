//! Reads files and a unit's journal for `sudo`, as far as the policy grants them.

use super::call::{ShimHost, parse, program};
use super::caller::Caller;
use super::operands::{absolute, option};
use super::steps::say;
use crate::config::host::host_name;
use crate::protocol::args::{PathOnly, UnitLook};
use crate::protocol::event::{Event, Status};
use crate::protocol::request::Request;
use crate::protocol::tool::unit_name;
use jiff::{Timestamp, tz::TimeZone};
use nix::errno::Errno;
use nix::unistd::{AccessFlags, access};
use std::io::{self, Write};

/// The lines of a journal that are read where the call names no number.
const LINES: u32 = 1000;

/// Reads with the helper's help; the exit code. `None` where the program can do it by itself, or no request can.
pub fn through_helper(words: &[String], caller: &Caller) -> Option<u8> {
    match program(words).as_str() {
        "test" => unknown(words),
        "cat" => cat(words, caller),
        "ls" => list(words, caller),
        "journalctl" => journal(words, caller),
        _ => None,
    }
}

/// `test` of what only root may see: neither yes nor no, but an error.
fn unknown(words: &[String]) -> Option<u8> {
    let of_root = words.iter().any(|word| matches!(word.as_str(), "-r" | "-w" | "-x" | "-O" | "-G"));
    let is_closed = |word: &String| access(word.as_str(), AccessFlags::F_OK) == Err(Errno::EACCES);
    let is_unknown = of_root || words.iter().skip(1).any(is_closed);
    is_unknown.then(|| say("test: only root could say; no request does", 2))
}

fn cat(words: &[String], caller: &Caller) -> Option<u8> {
    let paths = words.get(1..).unwrap_or_default();
    let is_closed = |path: &String| access(path.as_str(), AccessFlags::R_OK) == Err(Errno::EACCES);
    if paths.iter().any(|path| path.starts_with('-')) || !paths.iter().any(is_closed) {
        return None;
    }
    let mut exit = 0;
    for path in paths {
        let content = absolute(path, caller).and_then(|path| caller.read(&path));
        exit = match content {
            Ok(content) if io::stdout().write_all(&content).is_ok() => exit,
            Ok(_) => 1,
            Err(why) => say(&format!("cat: {path}: {why}"), 1),
        };
    }
    Some(exit)
}

/// `ls DIRECTORY`, a name a line.
fn list(words: &[String], caller: &Caller) -> Option<u8> {
    let [_, directory] = words else { return None };
    if access(directory.as_str(), AccessFlags::R_OK) != Err(Errno::EACCES) {
        return None;
    }
    let path = absolute(directory, caller).ok()?;
    let outcome = caller.outcome(Request::FileList(PathOnly { path })).ok()?;
    let Event::Completed(done) = &outcome.end else { return None };
    if done.status != Status::Done {
        return None;
    }
    let names = done.files.iter().filter_map(|file| file.path.rsplit('/').next());
    let mut names: Vec<&str> = names.filter(|name| !name.starts_with('.')).collect();
    names.sort_unstable();
    let text: String = names.into_iter().flat_map(|name| [name, "\n"]).collect();
    Some(u8::from(io::stdout().write_all(text.as_bytes()).is_err()))
}

/// `journalctl -u UNIT [-n LINES] [-o short|cat] [--no-pager]`.
fn journal(words: &[String], caller: &Caller) -> Option<u8> {
    let (options, operands) =
        parse(words, "u: n: o: q e --unit= --lines= --output= --no-pager --quiet").ok()?;
    let unit = option(&options, &["u", "unit"]).filter(|_| operands.is_empty())?;
    let number = option(&options, &["n", "lines"]);
    let lines = number.map_or(Some(LINES), |lines| lines.parse().ok())?;
    let is_bare = match option(&options, &["o", "output"]) {
        None | Some("short") => false,
        Some("cat") => true,
        Some(_) => return None,
    };
    let look = UnitLook { unit: unit_name(unit), journal_lines: lines, since_unix_s: 0 };
    let outcome = caller.outcome(Request::UnitStatus(look)).ok()?;
    // Not granted: journalctl reports that the user may not read it.
    if !matches!(&outcome.end, Event::Completed(done) if done.status == Status::Done) {
        return None;
    }
    let (host, zone) = (host_name(), TimeZone::system());
    let show = |line: &str| {
        let shown = if is_bare {
            parts(line).map(|(.., message)| message.to_owned())
        } else {
            host.as_deref().and_then(|host| short(line, host, &zone))
        };
        shown.unwrap_or_else(|| line.to_owned())
    };
    let text = String::from_utf8_lossy(&outcome.content);
    let shown: String = text.lines().flat_map(|line| [show(line), "\n".to_owned()]).collect();
    let exit = u8::from(io::stdout().write_all(shown.as_bytes()).is_err());
    if outcome.truncated {
        say("journalctl: the text was too long and is cut; ask for fewer lines: -n NUMBER", 0);
    } else if number.is_none() && text.lines().count() >= usize::try_from(LINES).unwrap_or(usize::MAX) {
        say(&format!("journalctl: these are the newest {LINES} lines; for more say how many: -n NUMBER"), 0);
    }
    Some(exit)
}

/// Time, program and message of a line as the helper tells it: `2026-11-23T02:44:01+00:00 systemd[1]: Started.`
fn parts(line: &str) -> Option<(&str, &str, &str)> {
    let (time, rest) = line.split_once(' ')?;
    let (program, message) = rest.split_once(": ")?;
    Some((time, program, message))
}

/// The same as journalctl prints it: local time, and the host's name.
fn short(line: &str, host: &str, zone: &TimeZone) -> Option<String> {
    let (time, program, message) = parts(line)?;
    let time = time.parse::<Timestamp>().ok()?.to_zoned(zone.clone());
    Some(format!("{} {host} {program}: {message}", time.strftime("%b %d %H:%M:%S")))
}

//! `cp`, `mv` and `install`: content with its attributes from one place to another.

use super::call::{Attributes, ShimHost, Step, Steps, parse, step};
use super::exit_status::ProgramFamily;
use super::files::{change, write};
use super::operands::{absolute, given_mode, has, option};
use super::owners::missing_ancestors;
use crate::client::patching::sha256;
use crate::protocol::args::{Changes, FileChange, NewDirectory, any};
use crate::protocol::request::Request;

/// The mode that a request gives a new file by itself.
const USUAL: &str = "0644";

/// Sources and their destinations, as `cp`, `mv` and `install` read them.
fn pairs(
    operands: &[String],
    into: Option<&str>,
    place: &dyn ShimHost,
) -> Result<Vec<(String, String)>, String> {
    let (sources, target) = match (into, operands.split_last()) {
        (Some(directory), _) => (operands, directory),
        (None, Some((target, sources))) => (sources, target.as_str()),
        (None, None) => return Err("name the files".into()),
    };
    if sources.is_empty() {
        return Err("name the file and where it goes".into());
    }
    let is_directory =
        into.is_some() || target.ends_with('/') || place.is_directory(&absolute(target, place)?);
    if sources.len() > 1 && !is_directory {
        return Err(format!("{target:?} is no directory"));
    }
    let target = absolute(target, place)?;
    sources
        .iter()
        .map(|source| {
            let source = absolute(source, place)?;
            let name = source.rsplit('/').next().unwrap_or_default();
            let path = if is_directory {
                format!("{}/{name}", target.trim_end_matches('/'))
            } else {
                target.clone()
            };
            Ok((source, path))
        })
        .collect()
}

fn content(source: &str, place: &dyn ShimHost) -> Result<Vec<u8>, String> {
    place.read(source).map_err(|why| {
        if place.is_directory(source) {
            format!("{source} is a directory; a request copies one file's content, not trees")
        } else {
            format!("cannot read {source}: {why}")
        }
    })
}

/// The mode of a copy: that of its source where it is new and not the usual one, less what root's umask takes.
fn new_mode(source: &str, path: &str, place: &dyn ShimHost) -> Attributes {
    let seen = place.attributes(source).filter(|_| place.is_missing(path));
    let bits = seen.and_then(|seen| u32::from_str_radix(&seen.mode, 8).ok());
    let mode = bits.map(|bits| format!("{:04o}", bits & 0o755)).filter(|mode| mode != USUAL);
    Attributes { mode: mode.unwrap_or_default(), ..Attributes::default() }
}

pub fn copy(argv: &[String], place: &mut dyn ShimHost) -> Steps {
    let (options, operands) = parse(argv, "f t: --force --target-directory=")
        .map_err(|why| format!("{why}; a request copies one file's content, not trees, times or owners"))?;
    let pairs = pairs(&operands, option(&options, &["t", "target-directory"]), place)?;
    let written = pairs.into_iter().map(|(source, path)| {
        let content = content(&source, place)?;
        let given = new_mode(&source, &path, place);
        Ok(step(write(path, content, given), ProgramFamily::Files))
    });
    written.collect()
}

pub fn install(argv: &[String], place: &mut dyn ShimHost) -> Steps {
    let (options, operands) =
        parse(argv, "m: o: g: t: d C D --mode= --owner= --group= --target-directory= --directory --compare")?;
    let mode = given_mode(&options)?;
    let own = |names: &[&str]| option(&options, names).unwrap_or_default().to_owned();
    let (owner, group) = (own(&["o", "owner"]), own(&["g", "group"]));
    if has(&options, &["d", "directory"]) {
        let mut steps = Vec::new();
        for path in &operands {
            let path = absolute(path, place)?;
            steps.extend(missing_ancestors(&path, place));
            let (mode, owner, group) = (mode.clone(), owner.clone(), group.clone());
            let request = Request::FileMkdir(NewDirectory { path, mode, owner, group });
            // An existing directory would get the mode and the owner too; the helper refuses it.
            steps.push(step(request, ProgramFamily::Files));
        }
        return Ok(steps);
    }
    let given = Attributes { mode: if mode.is_empty() { "0755".to_owned() } else { mode }, owner, group };
    let pairs = pairs(&operands, option(&options, &["t", "target-directory"]), place)?;
    let mut steps = Vec::new();
    for (source, path) in pairs {
        let content = content(&source, place)?;
        let seen = place.attributes(&path).filter(|_| given.owner.is_empty());
        if seen.is_some_and(|seen| !matches!(seen.owner.as_str(), "" | "root")) {
            return Err(format!("{path} belongs to another user: say whose it is to be, with -o and -g"));
        }
        if has(&options, &["D"]) {
            steps.extend(missing_ancestors(&path, place));
        }
        steps.push(step(write(path, content, given.clone()), ProgramFamily::Files));
    }
    Ok(steps)
}

pub fn rename(argv: &[String], place: &mut dyn ShimHost) -> Steps {
    let (options, operands) = parse(argv, "f t: --force --target-directory=")?;
    let pairs = pairs(&operands, option(&options, &["t", "target-directory"]), place)?;
    let moved = pairs.into_iter().map(|(source, path)| {
        if place.is_link(&source) {
            return Err(format!("{source} is a symbolic link, which no request moves"));
        }
        let content = content(&source, place)?;
        let mode = place.attributes(&source).map(|seen| seen.mode).filter(|mode| mode != USUAL);
        let given = Attributes { mode: mode.unwrap_or_default(), ..Attributes::default() };
        if place.is_own(&source) {
            let request = write(path, content, given);
            return Ok(Step { moved: Some(source), ..step(request, ProgramFamily::Files) });
        }
        // One request makes both changes or neither, and removes exactly the content that was read.
        let gone = FileChange::remove(source, sha256(&content));
        let changes = vec![change(path, content, any(), given), gone];
        Ok(step(Request::FilePatch(Changes { changes }), ProgramFamily::Files))
    });
    moved.collect()
}

//! `tee`, `install`, `cp`, `mv`, `rm` and `sed -i`: what a file is to hold.

use super::call::{ShimHost, Step, Steps, parse, program, step};
use super::exit_status::ProgramFamily;
use super::operands::{absolute, mode_of, option};
use crate::protocol::args::{Change, ChangeKind, FileChange, NewDirectory, OneChange, RemoveFile, any};
use crate::protocol::request::Request;
use sha2::{Digest, Sha256};
use std::fmt::Write;

/// Whether all files that a call would change are the tool's own. Then no request is needed.
pub fn is_local(argv: &[String], place: &dyn ShimHost) -> bool {
    let operands = argv.iter().skip(1).filter(|word| !word.starts_with('-'));
    let is_own =
        |path: &String| path == "/dev/null" || absolute(path, place).is_ok_and(|path| place.is_own(&path));
    match program(argv).as_str() {
        "tee" | "rm" | "mkdir" | "mv" => operands.clone().count() > 0 && operands.clone().all(is_own),
        // The first is a mode, an owner or a script.
        "chmod" | "chown" | "chgrp" | "sed" => {
            operands.clone().count() > 1 && operands.clone().skip(1).all(is_own)
        }
        "cp" | "install" => operands.clone().next_back().is_some_and(is_own),
        _ => false,
    }
}

/// Permissions as a call gives them; empty = as the file has them, or as the helper's default.
#[derive(Clone, Debug, Default)]
struct Attributes {
    mode: String,
    owner: String,
    group: String,
}

fn change(path: String, content: Vec<u8>, expect: String, given: Attributes) -> FileChange {
    let Attributes { mode, owner, group } = given;
    FileChange { path, kind: ChangeKind::Write, content, expect, mode, owner, group }
}

fn write(path: String, content: Vec<u8>, given: Attributes) -> Request {
    Request::FileWrite(Change { change: OneChange(change(path, content, any(), given)) })
}

fn hash(content: &[u8]) -> String {
    Sha256::digest(content).iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// What `tee -a` and `>>` come to: the whole new content, if the file still holds what was read.
pub fn append(path: String, more: &[u8], place: &dyn ShimHost) -> Result<Request, String> {
    let old = place.read(&path).map_err(|why| format!("to append to {path} it must be read: {why}"))?;
    let expect = hash(&old);
    let content = [&old, more].concat();
    Ok(Request::FileWrite(Change { change: OneChange(change(path, content, expect, Attributes::default())) }))
}

/// What `>` comes to.
pub fn overwrite(path: String, content: Vec<u8>) -> Request {
    write(path, content, Attributes::default())
}

pub fn tee(argv: &[String], place: &mut dyn ShimHost) -> Steps {
    let (options, paths) = parse(argv, "a i --append --ignore-interrupts")?;
    let appends = options.iter().any(|(name, _)| matches!(name.as_str(), "a" | "append"));
    let input = place.input()?;
    let mut steps = Vec::new();
    for path in paths.iter().filter(|path| *path != "/dev/null") {
        let path = absolute(path, place)?;
        let request = if appends {
            append(path, &input, place)?
        } else {
            write(path, input.clone(), Attributes::default())
        };
        steps.push(step(request, ProgramFamily::Files));
    }
    match steps.first_mut() {
        // tee copies its input whether the files can be written or not.
        Some(first) => first.echo = input,
        None => return Err("name the file to write".into()),
    }
    Ok(steps)
}

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

pub fn copy(argv: &[String], place: &mut dyn ShimHost) -> Steps {
    let (options, operands) = parse(argv, "f v t: T --force --verbose --target-directory=")
        .map_err(|why| format!("{why}; a request copies one file's content, not trees nor owners"))?;
    let into = option(&options, &["t", "target-directory"]);
    let pairs = pairs(&operands, into, place)?;
    let written = pairs.into_iter().map(|(source, path)| {
        let content = place.read(&source).map_err(|why| format!("cannot read {source}: {why}"))?;
        Ok(step(write(path, content, Attributes::default()), ProgramFamily::Files))
    });
    written.collect()
}

pub fn install(argv: &[String], place: &mut dyn ShimHost) -> Steps {
    let (options, operands) = parse(
        argv,
        "m: o: g: t: d C v p --mode= --owner= --group= --target-directory= --directory --compare --verbose",
    )?;
    let mode = option(&options, &["m", "mode"]).map_or(Ok(String::new()), mode_of)?;
    let own = |names: &[&str]| option(&options, names).unwrap_or_default().to_owned();
    let (owner, group) = (own(&["o", "owner"]), own(&["g", "group"]));
    if options.iter().any(|(name, _)| matches!(name.as_str(), "d" | "directory")) {
        let directories = operands.iter().map(|path| {
            let path = absolute(path, place)?;
            let (mode, owner, group) = (mode.clone(), owner.clone(), group.clone());
            let request = Request::FileMkdir(NewDirectory { path, mode, owner, group });
            Ok(Step { excused: &["already_exists"], ..step(request, ProgramFamily::Files) })
        });
        return directories.collect();
    }
    let given = Attributes { mode: if mode.is_empty() { "0755".to_owned() } else { mode }, owner, group };
    let pairs = pairs(&operands, option(&options, &["t", "target-directory"]), place)?;
    let written = pairs.into_iter().map(|(source, path)| {
        let content = place.read(&source).map_err(|why| format!("cannot read {source}: {why}"))?;
        Ok(step(write(path, content, given.clone()), ProgramFamily::Files))
    });
    written.collect()
}

pub fn rename(argv: &[String], place: &mut dyn ShimHost) -> Steps {
    let (options, operands) = parse(argv, "f v t: T --force --verbose --target-directory=")?;
    let pairs = pairs(&operands, option(&options, &["t", "target-directory"]), place)?;
    let moved = pairs.into_iter().map(|(source, path)| {
        let content = place.read(&source).map_err(|why| format!("cannot read {source}: {why}"))?;
        if place.is_own(&source) {
            let request = write(path, content, Attributes::default());
            return Ok(Step { moved: Some(source), ..step(request, ProgramFamily::Files) });
        }
        // Both or neither: one request. What is removed is what was read.
        let gone = FileChange {
            kind: ChangeKind::Remove,
            ..change(source, Vec::new(), hash(&content), Attributes::default())
        };
        let changes = vec![change(path, content, any(), Attributes::default()), gone];
        Ok(step(Request::FilePatch(crate::protocol::args::Changes { changes }), ProgramFamily::Files))
    });
    moved.collect()
}

pub fn remove(argv: &[String], place: &mut dyn ShimHost) -> Steps {
    let (options, operands) = parse(argv, "f v i I --force --verbose")
        .map_err(|why| format!("{why}; a request removes one file, not a tree"))?;
    let excused: &[&str] = if options.iter().any(|(name, _)| matches!(name.as_str(), "f" | "force")) {
        &["not_found", "directory_missing"]
    } else {
        &[]
    };
    if operands.is_empty() && excused.is_empty() {
        return Err("name the files".into());
    }
    let removed = operands.iter().map(|path| {
        let request = Request::FileRemove(RemoveFile { path: absolute(path, place)?, expect: any() });
        Ok(Step { excused, ..step(request, ProgramFamily::Files) })
    });
    removed.collect()
}

/// Whether a `sed` changes files.
pub fn is_in_place(argv: &[String]) -> bool {
    let is = |word: &String| {
        word.starts_with("--i")
            || word
                .strip_prefix('-')
                .is_some_and(|letters| !letters.starts_with('-') && letters.contains('i'))
    };
    argv.iter().skip(1).any(is)
}

pub fn sed(argv: &[String], place: &mut dyn ShimHost) -> Steps {
    let (options, mut operands) =
        parse(argv, "i E r n s z e: --in-place --regexp-extended --quiet --silent --null-data --expression=")
            .map_err(|why| format!("{why}; no copy is kept beside the file, `postern undo` has it"))?;
    let mut arguments = Vec::new();
    let mut has_script = false;
    for (name, value) in &options {
        match (name.as_str(), value) {
            ("i" | "in-place", _) => {}
            ("e" | "expression", Some(script)) => {
                arguments.extend(["-e".to_owned(), script.clone()]);
                has_script = true;
            }
            (name, _) if name.len() == 1 => arguments.push(format!("-{name}")),
            (name, _) => arguments.push(format!("--{name}")),
        }
    }
    if !has_script && !operands.is_empty() {
        arguments.extend(["-e".to_owned(), operands.remove(0)]);
    }
    if operands.is_empty() {
        return Err("name the files".into());
    }
    let edited = operands.iter().map(|path| {
        let path = absolute(path, place)?;
        let old = place.read(&path).map_err(|why| format!("cannot read {path}: {why}"))?;
        let new = place.sed(&arguments, &old)?;
        let change = change(path, new, hash(&old), Attributes::default());
        Ok(step(Request::FileWrite(Change { change: OneChange(change) }), ProgramFamily::Sed))
    });
    edited.collect()
}

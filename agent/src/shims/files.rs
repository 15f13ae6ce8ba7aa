//! Translates `tee`, `touch`, `rm` and redirections into requests with the whole new content.

use super::call::{Attributes, ShimHost, Step, Steps, parse, program, step};
use super::exit_status::ProgramFamily;
use super::operands::{absolute, has};
use crate::client::patching::sha256;
use crate::protocol::args::{Change, FileChange, OneChange, RemoveFile, any};
use crate::protocol::request::Request;

/// Whether all files that a call would change are the tool's own. Then no request is needed.
pub fn is_local(argv: &[String], place: &dyn ShimHost) -> bool {
    let (operands, has_script, into) = operands(argv);
    let is_own =
        |path: &String| path == "/dev/null" || absolute(path, place).is_ok_and(|path| place.is_own(&path));
    let nothing_there = |path: &String| absolute(path, place).is_ok_and(|path| place.is_missing(&path));
    let makes_directories = argv.iter().any(|word| word == "-d" || word == "--directory");
    let is_missing = |operands: &[&String]| {
        let sources = operands.len().saturating_sub(usize::from(into.is_none()));
        let mut sources = operands.iter().take(sources);
        !makes_directories && sources.len() > 0 && sources.all(|path| nothing_there(path))
    };
    let files = match program(argv).as_str() {
        // The first is a mode or an owner.
        "chmod" | "chown" | "chgrp" => operands.get(1..).unwrap_or_default(),
        "sed" => {
            let files = operands.get(usize::from(!has_script)..).unwrap_or_default();
            if !files.is_empty() && files.iter().all(|path| nothing_there(path)) {
                return true;
            }
            files
        }
        // The real program says best that a source is not there.
        "cp" | "install" | "mv" if is_missing(&operands) => return true,
        "tee" | "rm" | "mkdir" | "mv" => operands.as_slice(),
        "cp" | "install" => match into {
            Some(directory) => return is_own(directory),
            None => operands.get(operands.len().saturating_sub(1)..).unwrap_or_default(),
        },
        _ => &[],
    };
    !files.is_empty() && files.iter().all(|path| is_own(path))
}

/// Whether all files of a `chmod` belong to the caller.
pub fn are_callers(argv: &[String], place: &dyn ShimHost) -> bool {
    let (operands, ..) = operands(argv);
    let files = operands.get(1..).unwrap_or_default();
    !files.is_empty() && files.iter().all(|path| absolute(path, place).is_ok_and(|path| place.owns(&path)))
}

/// Returns the operands, whether a script is among the options, and the target directory.
fn operands(argv: &[String]) -> (Vec<&String>, bool, Option<&String>) {
    let (mut operands, mut has_script, mut into) = (Vec::new(), false, None);
    let is_sed = program(argv) == "sed";
    let mut rest = argv.iter().skip(1);
    while let Some(word) = rest.next() {
        match word.as_str() {
            "-e" | "-f" | "--expression" | "--file" if is_sed => {
                has_script = true;
                rest.next();
            }
            "-t" | "--target-directory" => into = rest.next(),
            "-m" | "-o" | "-g" | "-S" => drop(rest.next()),
            "--" => operands.extend(rest.by_ref()),
            word if word.starts_with("--expression=") => has_script = true,
            text if text.starts_with('-') && text != "-" => {}
            _ => operands.push(word),
        }
    }
    (operands, has_script, into)
}

pub fn change(path: String, content: Vec<u8>, expect: String, given: Attributes) -> FileChange {
    let Attributes { mode, owner, group } = given;
    FileChange { mode, owner, group, ..FileChange::write(path, content, expect) }
}

pub fn write(path: String, content: Vec<u8>, given: Attributes) -> Request {
    Request::FileWrite(Change { change: OneChange(change(path, content, any(), given)) })
}

/// `expect` for a file that does not exist yet.
const ABSENT: &str = "absent";

/// Translates `tee -a` and `>>`: the whole new content, if the file still has the content that was read.
pub fn append(path: String, more: &[u8], place: &dyn ShimHost) -> Result<Request, String> {
    let (old, expect) = if place.is_missing(&path) {
        (Vec::new(), ABSENT.to_owned())
    } else {
        let old = place.read(&path).map_err(|why| format!("to append to {path} it must be read: {why}"))?;
        let expect = sha256(&old);
        (old, expect)
    };
    let content = [&old, more].concat();
    Ok(Request::FileWrite(Change { change: OneChange(FileChange::write(path, content, expect)) }))
}

/// Translates `>`.
pub fn overwrite(path: String, content: Vec<u8>) -> Request {
    write(path, content, Attributes::default())
}

pub fn tee(argv: &[String], place: &mut dyn ShimHost) -> Steps {
    let (options, paths) = parse(argv, "a i --append --ignore-interrupts")?;
    let appends = has(&options, &["a", "append"]);
    let input = place.input()?;
    let mut steps = Vec::new();
    for path in paths.iter().filter(|path| *path != "/dev/null") {
        let path = absolute(path, place)?;
        let request = if appends { append(path, &input, place)? } else { overwrite(path, input.clone()) };
        steps.push(step(request, ProgramFamily::Files));
    }
    match steps.first_mut() {
        // tee copies its input whether the files can be written or not.
        Some(first) => first.echo = input,
        None => return Err("name the file to write".into()),
    }
    Ok(steps)
}

/// `touch` makes empty files; no request changes a time.
pub fn touch(argv: &[String], place: &mut dyn ShimHost) -> Steps {
    let (_, paths) = parse(argv, "")?;
    if paths.is_empty() {
        return Err("name the files".into());
    }
    let made = paths.iter().map(|path| {
        let path = absolute(path, place)?;
        if !place.is_missing(&path) {
            return Err(format!("{path} is there; no request changes a file's time"));
        }
        let change = FileChange::write(path, Vec::new(), ABSENT.to_owned());
        Ok(step(Request::FileWrite(Change { change: OneChange(change) }), ProgramFamily::Files))
    });
    made.collect()
}

pub fn remove(argv: &[String], place: &mut dyn ShimHost) -> Steps {
    let (options, operands) =
        parse(argv, "f --force").map_err(|why| format!("{why}; a request removes one file, not a tree"))?;
    let excused: &[&str] =
        if has(&options, &["f", "force"]) { &["not_found", "directory_missing"] } else { &[] };
    if operands.is_empty() && excused.is_empty() {
        return Err("name the files".into());
    }
    let removed = operands.iter().map(|path| {
        let request = Request::FileRemove(RemoveFile { path: absolute(path, place)?, expect: any() });
        Ok(Step { excused, ..step(request, ProgramFamily::Files) })
    });
    removed.collect()
}

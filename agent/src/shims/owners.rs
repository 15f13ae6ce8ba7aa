//! `mkdir`, `chmod`, `chown` and `chgrp`.

use super::call::{ShimHost, Step, Steps, parse, program, step};
use super::exit_status::ProgramFamily;
use super::modes::changed_mode;
use super::operands::{absolute, given_mode, has};
use crate::protocol::args::{NewDirectory, Ownership, Permissions};
use crate::protocol::request::Request;

pub fn mkdir(argv: &[String], place: &mut dyn ShimHost) -> Steps {
    let (options, operands) = parse(argv, "p m: --parents --mode=")?;
    let mode = given_mode(&options)?;
    let with_parents = has(&options, &["p", "parents"]);
    let mut steps = Vec::new();
    for path in &operands {
        let path = absolute(path, place)?;
        if !with_parents {
            steps.push(step(made(path, mode.clone()), ProgramFamily::Files));
            continue;
        }
        if place.attributes(&path).is_some() && !place.is_directory(&path) {
            return Err(format!("{path}: File exists"));
        }
        steps.extend(missing_ancestors(&path, place));
        if !place.is_directory(&path) {
            let request = made(path, mode.clone());
            steps.push(Step { excused: &["already_exists"], ..step(request, ProgramFamily::Files) });
        }
    }
    if operands.is_empty() { Err("name the directories".into()) } else { Ok(steps) }
}

/// Steps that make the directories above a path, as far as they are not there.
pub fn missing_ancestors(path: &str, place: &dyn ShimHost) -> Vec<Step> {
    let ends = path.match_indices('/').map(|(at, _)| at).skip(1);
    let missing = ends.filter_map(|end| path.get(..end)).filter(|ancestor| !place.is_directory(ancestor));
    let steps = missing.map(|ancestor| {
        let request = made(ancestor.to_owned(), String::new());
        Step { excused: &["already_exists"], ..step(request, ProgramFamily::Files) }
    });
    steps.collect()
}

fn made(path: String, mode: String) -> Request {
    Request::FileMkdir(NewDirectory { path, mode, owner: String::new(), group: String::new() })
}

pub fn chmod(argv: &[String], place: &mut dyn ShimHost) -> Steps {
    let (_, operands) = parse(argv, "f --silent --quiet")
        .map_err(|why| format!("{why}; a request names each file, and the mode in octal"))?;
    let Some((mode, paths)) = operands.split_first().filter(|(_, paths)| !paths.is_empty()) else {
        return Err("name the mode and the files".into());
    };
    let set = paths.iter().map(|path| {
        let path = absolute(path, place)?;
        let old = place.attributes(&path).map(|old| old.mode);
        let new = changed_mode(mode, old.as_deref(), place.is_directory(&path))?;
        let old_mode = old.filter(|_| !mode.starts_with(|first: char| first.is_ascii_digit()));
        let request = Request::FileSetMode(Permissions { path, mode: new });
        Ok(Step { old_mode, ..step(request, ProgramFamily::Files) })
    });
    set.collect()
}

pub fn chown(argv: &[String], place: &mut dyn ShimHost) -> Steps {
    let (_, operands) =
        parse(argv, "f --silent --quiet").map_err(|why| format!("{why}; a request names each file"))?;
    let Some((who, paths)) = operands.split_first().filter(|(_, paths)| !paths.is_empty()) else {
        return Err("name the owner and the files".into());
    };
    if who.ends_with(':') {
        return Err("name the group; a login group is not looked up here".into());
    }
    let (owner, group) =
        if program(argv) == "chgrp" { ("", who.as_str()) } else { who.split_once(':').unwrap_or((who, "")) };
    let set = paths.iter().map(|path| {
        let path = absolute(path, place)?;
        let request =
            Request::FileSetOwner(Ownership { path, owner: owner.to_owned(), group: group.to_owned() });
        Ok(step(request, ProgramFamily::Files))
    });
    set.collect()
}

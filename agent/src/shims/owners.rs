//! `mkdir`, `chmod`, `chown` and `chgrp`.

use super::call::{ShimHost, Step, Steps, parse, program, step};
use super::exit_status::ProgramFamily;
use super::operands::{absolute, given_mode, mode_of};
use crate::protocol::args::{NewDirectory, Ownership, Permissions};
use crate::protocol::request::Request;

pub fn mkdir(argv: &[String], place: &mut dyn ShimHost) -> Steps {
    let (options, operands) = parse(argv, "p v m: --parents --verbose --mode=")?;
    let mode = given_mode(&options)?;
    let with_parents = options.iter().any(|(name, _)| matches!(name.as_str(), "p" | "parents"));
    let mut steps = Vec::new();
    for path in &operands {
        let path = absolute(path, place)?;
        if !with_parents {
            steps.push(step(made(path, mode.clone()), ProgramFamily::Files));
            continue;
        }
        let ends = path.match_indices('/').map(|(at, _)| at).skip(1).chain([path.len()]);
        for end in ends {
            let ancestor = path.get(..end).unwrap_or_default();
            if !place.is_directory(ancestor) {
                let mode = if end == path.len() { mode.clone() } else { String::new() };
                let request = made(ancestor.to_owned(), mode);
                steps.push(Step { excused: &["already_exists"], ..step(request, ProgramFamily::Files) });
            }
        }
    }
    if operands.is_empty() { Err("name the directories".into()) } else { Ok(steps) }
}

fn made(path: String, mode: String) -> Request {
    Request::FileMkdir(NewDirectory { path, mode, owner: String::new(), group: String::new() })
}

pub fn chmod(argv: &[String], place: &mut dyn ShimHost) -> Steps {
    let (_, operands) = parse(argv, "f v c --silent --quiet --verbose --changes")
        .map_err(|why| format!("{why}; a request names each file, and the mode in octal"))?;
    let Some((mode, paths)) = operands.split_first().filter(|(_, paths)| !paths.is_empty()) else {
        return Err("name the mode and the files".into());
    };
    let mode = mode_of(mode)?;
    let set = paths.iter().map(|path| {
        let request = Request::FileSetMode(Permissions { path: absolute(path, place)?, mode: mode.clone() });
        Ok(step(request, ProgramFamily::Files))
    });
    set.collect()
}

pub fn chown(argv: &[String], place: &mut dyn ShimHost) -> Steps {
    let (_, operands) = parse(argv, "f v c --silent --quiet --verbose --changes")
        .map_err(|why| format!("{why}; a request names each file"))?;
    let Some((who, paths)) = operands.split_first().filter(|(_, paths)| !paths.is_empty()) else {
        return Err("name the owner and the files".into());
    };
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

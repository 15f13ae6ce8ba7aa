//! `sed -i`: each file as sed makes it.

use super::call::{ParsedOptions, ShimHost, Steps, parse, step};
use super::exit_status::ProgramFamily;
use super::files::change;
use super::operands::{absolute, has};
use crate::client::patching::sha256;
use crate::protocol::args::{Change, Changes, FileChange, OneChange, any};
use crate::protocol::request::Request;

/// The letters before and behind the `i` of a cluster of options. Behind `e`, `f` and `l` is their value.
fn in_place(word: &str) -> Option<(&str, &str)> {
    let letters = word.strip_prefix('-').filter(|letters| !letters.starts_with('-'))?;
    let at = letters.find(['e', 'f', 'l', 'i'])?;
    letters.get(at..)?.strip_prefix('i').map(|suffix| (letters.get(..at).unwrap_or_default(), suffix))
}

/// Whether the value of an option is the next word.
fn takes_next(word: &str) -> bool {
    match word.strip_prefix('-').filter(|letters| !letters.starts_with('-')) {
        Some(letters) => letters
            .find(['e', 'f', 'l', 'i'])
            .is_some_and(|at| at + 1 == letters.len() && !letters.ends_with('i')),
        None => matches!(word, "--expression" | "--file" | "--line-length"),
    }
}

/// Whether a `sed` changes files.
pub fn is_in_place(argv: &[String]) -> bool {
    let mut words = argv.iter().skip(1).take_while(|word| *word != "--");
    while let Some(word) = words.next() {
        if word.starts_with("--i") || in_place(word).is_some() {
            return true;
        }
        if takes_next(word) {
            words.next();
        }
    }
    false
}

/// The suffix of the copies that `-i` keeps, and the call without it. All behind the letter is the suffix.
fn without_suffix(argv: &[String]) -> (String, Vec<String>) {
    let mut suffix = String::new();
    let mut is_option = true;
    let words = argv.iter().map(|word| {
        is_option &= word != "--";
        let (kept, rest) = match (word.strip_prefix("--in-place="), in_place(word)) {
            (Some(rest), _) if is_option => ("--in-place".to_owned(), rest),
            (_, Some((before, rest))) if is_option => (format!("-{before}i"), rest),
            _ => return word.clone(),
        };
        rest.clone_into(&mut suffix);
        kept
    });
    let words = words.collect();
    (suffix, words)
}

/// Splits a call of `sed` into arguments that edit a text, and files.
fn script_and_files(options: &ParsedOptions, mut operands: Vec<String>) -> (Vec<String>, Vec<String>) {
    let mut arguments = Vec::new();
    let mut has_script = false;
    for (name, value) in options {
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
    (arguments, operands)
}

pub fn sed(argv: &[String], place: &mut dyn ShimHost) -> Steps {
    let (suffix, argv) = without_suffix(argv);
    if suffix.contains(['*', '/']) {
        return Err("keep the copy beside the file, as in -i.bak; `postern undo` has it too".into());
    }
    let (options, operands) = parse(
        &argv,
        "i E r n s z e: --in-place --regexp-extended --quiet --silent --null-data --expression=",
    )?;
    if !has(&options, &["i", "in-place"]) {
        return Err("without -i nothing is written: run it without sudo".into());
    }
    let (arguments, files) = script_and_files(&options, operands);
    if files.is_empty() {
        return Err("name the files".into());
    }
    let edited = files.iter().map(|path| {
        let path = absolute(path, place)?;
        let old = place.read(&path).map_err(|why| format!("cannot read {path}: {why}"))?;
        let new = place.sed(&arguments, &old)?;
        let edited = FileChange::write(path.clone(), new, sha256(&old));
        let request = if suffix.is_empty() {
            Request::FileWrite(Change { change: OneChange(edited) })
        } else {
            let given = place.attributes(&path).unwrap_or_default();
            let copy = change(format!("{path}{suffix}"), old, any(), given);
            Request::FilePatch(Changes { changes: vec![copy, edited] })
        };
        Ok(step(request, ProgramFamily::Sed))
    });
    edited.collect()
}

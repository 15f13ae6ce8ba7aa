//! The values of a pack's variables: from `--set`, from the file that is there already, from a person, or by default.

use super::error::{CommandError, usage};
use super::fill::Values;
use super::options::With;
use super::pack::Pack;
use super::variable::{Variable, split};
use crate::io::{Exit, Io};
use crate::text::{escape, unknown};
use std::collections::BTreeMap;

/// How often a person may answer one question wrongly.
const TRIES: u32 = 5;

/// Values from `--set`, by pack and variable.
pub type Given = BTreeMap<(String, String), Vec<String>>;

/// Reads `--set`. Each must be a variable of one of the packs.
pub fn given(packs: &[&Pack], with: &With) -> Result<Given, CommandError> {
    let mut given = Given::new();
    for set in &with.set {
        let (name, text) =
            set.split_once('=').ok_or_else(|| usage(format!("--set {set:?}: write NAME=VALUE")))?;
        let (of, name) = name.split_once('.').map_or((None, name), |(pack, name)| (Some(pack), name));
        let mut is_known = false;
        for pack in packs.iter().filter(|pack| of.is_none_or(|of| of == pack.about.name)) {
            if let Some(variable) = pack.variable(name) {
                let values = split(text);
                variable.check(&values).map_err(|why| usage(format!("--set {set:?}: {why}")))?;
                given.insert((pack.about.name.clone(), name.to_owned()), values);
                is_known = true;
            }
        }
        if !is_known {
            let names = packs.iter().flat_map(|pack| pack.variables.iter().map(|one| one.name.as_str()));
            let names = names.collect::<Vec<_>>();
            return Err(usage(format!("--set {set:?}: {}", unknown("variable", name, names))));
        }
    }
    Ok(given)
}

/// The values of a pack: given anew, as before, answered, or the defaults.
pub fn values(
    pack: &Pack,
    given: &Given,
    before: Option<&Values>,
    with: &With,
    io: &mut Io<'_>,
) -> Result<Values, CommandError> {
    let mut values = Values::new();
    let mut missing = Vec::new();
    for variable in &pack.variables {
        let key = (pack.about.name.clone(), variable.name.clone());
        // Of another version of the pack: a value that it had may not be one any more.
        let before = before.and_then(|before| before.get(&variable.name));
        let before = before.filter(|before| variable.check(before).is_ok());
        let proposed = before.unwrap_or(&variable.default);
        let value = if let Some(given) = given.get(&key) {
            given.clone()
        } else if !with.yes && io.answers.is_some() && variable.name != "client" {
            ask(pack, variable, proposed, io)?
        } else {
            proposed.clone()
        };
        if value.is_empty() {
            missing.push(format!("--set {}.{}=VALUE ({})", pack.about.name, variable.name, variable.words()));
        }
        values.insert(variable.name.clone(), value);
    }
    if missing.is_empty() {
        Ok(values)
    } else {
        Err(usage(format!("nothing was changed: these have no default: {}", missing.join(", "))))
    }
}

/// Asks until the answer is of the variable's kind.
fn ask(
    pack: &Pack,
    variable: &Variable,
    proposed: &[String],
    io: &mut Io<'_>,
) -> Result<Vec<String>, CommandError> {
    let default = if proposed.is_empty() { String::new() } else { format!(" [{}]", proposed.join(", ")) };
    for _ in 0..TRIES {
        write!(io.err, "{}: {}{default} ", pack.about.name, variable.question)?;
        io.err.flush()?;
        let line = io.answers.as_mut().map_or(Ok(String::new()), |answers| answers.line())?;
        if line.is_empty() {
            // The end of the input is no answer.
            return Err(CommandError::Message(
                Exit::NotApproved,
                "\nnothing was changed: no answer".to_owned(),
            ));
        }
        let answered = split(&line);
        let values = if answered.is_empty() { proposed.to_vec() } else { answered };
        match variable.check(&values) {
            Ok(()) => return Ok(values),
            Err(why) => writeln!(io.err, "{}; write {}", escape(&why), variable.words())?,
        }
    }
    Err(CommandError::Message(Exit::NotApproved, "nothing was changed: no answer that fits".to_owned()))
}

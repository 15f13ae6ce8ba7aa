//! Puts the values of variables into a pack's body.
//!
//! Only texts in quotes hold variables. One with several values becomes several texts of the list that it stands in.

use super::pack::Pack;
use std::collections::BTreeMap;

/// The values of a pack's variables, by name.
pub type Values = BTreeMap<String, Vec<String>>;

/// The body with the variables' values in it.
///
/// # Errors
/// A variable has no or a wrong value, or the body names one that the pack does not have.
pub fn fill(pack: &Pack, values: &Values) -> Result<String, String> {
    for variable in &pack.variables {
        let given = values.get(&variable.name).map(Vec::as_slice).unwrap_or_default();
        variable.check(given).map_err(|why| format!("{}: {why}", variable.name))?;
    }
    if let Some(name) = values.keys().find(|name| pack.variable(name).is_none()) {
        let known = pack.variables.iter().map(|variable| variable.name.as_str());
        return Err(format!("pack {}: {}", pack.about.name, crate::text::unknown("variable", name, known)));
    }
    pack.body.split_inclusive('\n').map(|line| one_line(line, values)).collect()
}

/// Replaces the variables of one line: in its texts, and in its comment.
fn one_line(line: &str, values: &Values) -> Result<String, String> {
    let mut filled = String::new();
    let mut rest = line;
    while let Some(at) = rest.find(['"', '\'', '#']) {
        let (before, from) = rest.split_at(at);
        filled.push_str(before);
        if from.starts_with('#') {
            let comment = expand(from, values)?;
            filled.push_str(comment.first().map_or("", String::as_str));
            return if comment.len() == 1 {
                Ok(filled)
            } else {
                Err(format!("a comment names a list: {}", line.trim()))
            };
        }
        let length = text_length(from).ok_or_else(|| format!("a text does not end: {}", line.trim()))?;
        let (text, after) = from.split_at(length);
        filled.push_str(&expand(text, values)?.join(", "));
        rest = after;
    }
    filled.push_str(rest);
    Ok(filled)
}

/// Bytes of the text that begins here, with its quotes. Only texts in double quotes have escapes.
fn text_length(text: &str) -> Option<usize> {
    let quote = text.chars().next()?;
    let mut is_escaped = false;
    for (at, character) in text.char_indices().skip(1) {
        match character {
            _ if is_escaped => is_escaped = false,
            '\\' if quote == '"' => is_escaped = true,
            other if other == quote => return Some(at + quote.len_utf8()),
            _ => {}
        }
    }
    None
}

/// The text once for each combination of its variables' values.
fn expand(text: &str, values: &Values) -> Result<Vec<String>, String> {
    let Some((before, rest)) = text.split_once("${") else {
        return Ok(vec![text.to_owned()]);
    };
    let (name, after) = rest.split_once('}').ok_or_else(|| format!("a variable does not end: {text}"))?;
    let given = values.get(name).ok_or_else(|| format!("no variable {name:?}: {text}"))?;
    let tails = expand(after, values)?;
    let each = given.iter().flat_map(|value| tails.iter().map(move |tail| format!("{before}{value}{tail}")));
    Ok(each.collect())
}

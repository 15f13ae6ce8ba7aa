//! The options that a program knows, in one line: `n: q --lines= --quiet #` (a colon or an equals sign takes
//! a value, `#` is a number such as `-20`). Options that are not in the line are unknown, also abbreviations.

use super::script::{Certainty, Word};

/// The options of one program.
#[derive(Clone, Debug, Default)]
pub struct Options {
    flags: Vec<char>,
    valued: Vec<char>,
    long_flags: Vec<String>,
    long_valued: Vec<String>,
    has_numbers: bool,
}

/// Arguments, told apart.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Parsed<'a> {
    /// The options' names, each with its value.
    pub options: Vec<(String, Option<&'a str>)>,
    /// Where the operands stand among the arguments.
    pub operands: Vec<usize>,
}

/// Whether options may stand after the first operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionOrder {
    /// As most programs have it.
    Any,
    /// As programs have it that start another.
    OptionsFirst,
}

impl Options {
    /// Reads the line.
    pub fn new(line: &str) -> Self {
        let mut options = Self::default();
        for item in line.split_whitespace() {
            if item == "#" {
                options.has_numbers = true;
            } else if let Some(long) = item.strip_prefix("--") {
                match long.strip_suffix('=') {
                    Some(name) => options.long_valued.push(name.to_owned()),
                    None => options.long_flags.push(long.to_owned()),
                }
            } else {
                let list = if item.ends_with(':') { &mut options.valued } else { &mut options.flags };
                list.extend(item.trim_end_matches(':').chars());
            }
        }
        options
    }

    /// Tells options from operands, or `None` where an option is not known or might be one.
    pub fn parse<'a>(&self, arguments: &'a [Word], order: OptionOrder) -> Option<Parsed<'a>> {
        let mut parsed = Parsed::default();
        let mut at = 0;
        while let Some(word) = arguments.get(at) {
            let text = word.text.as_str();
            let may_be_option = text.starts_with('-') || text.starts_with(['$', '*', '?', '[']);
            if may_be_option && text != "-" && word.certainty != Certainty::Literal {
                return None;
            }
            if text == "--" {
                parsed.operands.extend(at + 1..arguments.len());
                break;
            }
            if !text.starts_with('-') || text == "-" {
                if order == OptionOrder::OptionsFirst {
                    parsed.operands.extend(at..arguments.len());
                    break;
                }
                parsed.operands.push(at);
                at += 1;
                continue;
            }
            let next = arguments.get(at + 1).map(|w| w.text.as_str());
            let takes_next = match text.strip_prefix("--") {
                Some(long) => self.long(long, next, &mut parsed)?,
                None => self.short(text.get(1..)?, next, &mut parsed)?,
            };
            // Where a value may be left out, this is an option of its own.
            if takes_next && next.is_some_and(|value| value.starts_with('-')) {
                return None;
            }
            at += if takes_next { 2 } else { 1 };
        }
        Some(parsed)
    }

    fn long<'a>(&self, text: &'a str, next: Option<&'a str>, into: &mut Parsed<'a>) -> Option<bool> {
        let (name, value) = match text.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (text, None),
        };
        let has = |names: &[String]| names.iter().any(|known| known == name);
        match value {
            Some(_) if has(&self.long_valued) => {
                into.options.push((name.to_owned(), value));
                Some(false)
            }
            None if has(&self.long_flags) => {
                into.options.push((name.to_owned(), None));
                Some(false)
            }
            None if has(&self.long_valued) => {
                into.options.push((name.to_owned(), Some(next?)));
                Some(true)
            }
            Some(_) | None => None,
        }
    }

    fn short<'a>(&self, text: &'a str, next: Option<&'a str>, into: &mut Parsed<'a>) -> Option<bool> {
        if self.has_numbers && text.bytes().all(|b| b.is_ascii_digit()) {
            into.options.push(("#".to_owned(), Some(text)));
            return Some(false);
        }
        for (at, letter) in text.char_indices() {
            if self.flags.contains(&letter) {
                into.options.push((letter.to_string(), None));
            } else if self.valued.contains(&letter) {
                let rest = text.get(at + letter.len_utf8()..).filter(|rest| !rest.is_empty());
                into.options.push((letter.to_string(), Some(rest.or(next)?)));
                return Some(rest.is_none());
            } else {
                return None;
            }
        }
        Some(false)
    }
}

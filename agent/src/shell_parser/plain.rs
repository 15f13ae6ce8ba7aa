//! A text that needs no shell: one program and its words.

use super::read::{Reader, options};
use super::script::{Certainty, Power, Script, Word};
use brush_parser::{Parser, SourceInfo, ast};

/// Shell builtins: there is no such program to start.
const BUILTINS: &[&str] = &[
    ".", ":", "alias", "bg", "break", "cd", "command", "continue", "eval", "exec", "exit", "export", "fc",
    "fg", "getopts", "hash", "jobs", "local", "read", "readonly", "return", "set", "shift", "source",
    "times", "trap", "type", "ulimit", "umask", "unalias", "unset", "wait",
];

/// The words of a text that is one command of plain words; `None` where a shell has to read it. The text may hang its
/// reader.
pub fn one(text: &str) -> Option<Vec<String>> {
    let program = Parser::new(text.as_bytes(), &options(), &SourceInfo::default()).parse_program().ok()?;
    let [ast::CompoundList(items)] = program.complete_commands.as_slice() else { return None };
    let [ast::CompoundListItem(list, ast::SeparatorOperator::Sequence)] = items.as_slice() else {
        return None;
    };
    let pipeline = &list.first;
    let ([], [ast::Command::Simple(simple)], false, None) =
        (list.additional.as_slice(), pipeline.seq.as_slice(), pipeline.bang, &pipeline.timed)
    else {
        return None;
    };
    if simple.prefix.is_some() {
        return None;
    }
    let mut seen = Script::default();
    let mut reader = Reader { into: &mut seen, power: Power::Own, depth: 0 };
    let mut words: Vec<Word> = simple.word_or_name.iter().map(|word| reader.word(word)).collect();
    for item in simple.suffix.iter().flat_map(|suffix| &suffix.0) {
        let ast::CommandPrefixOrSuffixItem::Word(word) = item else { return None };
        words.push(reader.word(word));
    }
    let is_plain = |word: &Word| word.certainty == Certainty::Literal && !word.text.starts_with('~');
    let is_all = words.iter().all(is_plain) && seen.facts.is_empty() && seen.commands.is_empty();
    let words: Vec<String> = words.into_iter().map(|word| word.text).collect();
    let is_program = words.first().is_some_and(|name| !name.is_empty() && !BUILTINS.contains(&name.as_str()));
    (is_all && is_program).then_some(words)
}

//! Unwraps programs that start another one (`env`, `xargs`, `sh -c`): both are judged.

use super::options::{OptionOrder, Parsed};
use super::script::{Certainty, Flow, Input, Power, Simple, Word};
use super::wrappers::{Frame, Holds, WRAPPERS, Wrapper};

/// Commands nested in a command.
pub enum Inside {
    /// Nothing: the command is what it says.
    Nothing,
    /// Other commands, and whether the outer one is nothing but their frame.
    Commands(Frame, Vec<Simple>),
    /// Texts that a shell will read.
    Scripts(Frame, Vec<(Word, Power)>),
    /// Something, but its options do not tell where it begins.
    Unclear,
}

/// Whether a program is a shell.
pub fn is_shell(name: &str) -> bool {
    WRAPPERS.get(name).is_some_and(|wrapper| {
        matches!(wrapper.holds, Holds::Script("c", usize::MAX)) && wrapper.frame == Frame::Transparent
    })
}

/// Whether a command starts another one with a `PATH` that is not its own.
pub fn resets_path(command: &Simple) -> bool {
    let resets: &[&str] = match command.program() {
        "env" => &["i", "u", "ignore-environment", "unset"],
        "command" => &["p"],
        "exec" => &["c"],
        _ => return false,
    };
    let Some(wrapper) = WRAPPERS.get(command.program()) else { return false };
    // Options that are not known make the command unclear, which is asked about in any case.
    wrapper
        .options
        .parse(command.arguments(), OptionOrder::OptionsFirst)
        .is_some_and(|parsed| parsed.options.iter().any(|(name, _)| resets.contains(&name.as_str())))
}

/// Finds the commands nested in a command.
pub fn inside(command: &Simple) -> Inside {
    let name = command.program();
    if name == "find" {
        return find(command);
    }
    let Some(wrapper) = WRAPPERS.get(name) else { return Inside::Nothing };
    let arguments = command.arguments();
    if name == "command" && arguments.first().is_some_and(|w| w.is("-v") || w.is("-V")) {
        return Inside::Nothing;
    }
    if is_shell(name) {
        return shell(wrapper, command);
    }
    let Some(parsed) = wrapper.options.parse(arguments, OptionOrder::OptionsFirst) else {
        return Inside::Unclear;
    };
    let power = match wrapper.power {
        // A file named sudo is a program like any other; only the shim asks the helper.
        Some(Power::Root) if name == "sudo" && command.is_found_by_name() => Power::Request,
        Some(power) => power,
        None => command.power,
    };
    let script = |names: &str| {
        let mut values = parsed.options.iter().filter(|(o, _)| names.split(' ').any(|name| name == o));
        values.find_map(|(_, value)| value.and_then(|value| word_of(arguments, value)))
    };
    match wrapper.holds {
        Holds::Script(names, skip) => match script(names) {
            Some(script) => Inside::Scripts(wrapper.frame, vec![(script, power)]),
            None if names.is_empty() => joined(wrapper.frame, arguments, &parsed, skip, power),
            None if skip == usize::MAX => Inside::Nothing,
            None => command_after(name, wrapper.frame, command, &parsed, skip, power),
        },
        Holds::Joined => joined(wrapper.frame, arguments, &parsed, 0, power),
        Holds::Command(skip) => command_after(name, wrapper.frame, command, &parsed, skip, power),
    }
}

/// A value of an option as a word; part of a word is as uncertain as the whole.
fn word_of(arguments: &[Word], value: &str) -> Option<Word> {
    let word = arguments.iter().find(|word| word.text.ends_with(value))?;
    Some(Word { text: value.to_owned(), ..word.clone() })
}

/// `sh -c SCRIPT`; a shell with a file or with standard input is for rules and facts to judge.
fn shell(wrapper: &Wrapper, command: &Simple) -> Inside {
    let arguments = command.arguments();
    let Some(parsed) = wrapper.options.parse(arguments, OptionOrder::OptionsFirst) else {
        return Inside::Unclear;
    };
    if !parsed.options.iter().any(|(name, _)| name == "c") {
        return Inside::Nothing;
    }
    let odd = |name: &str| matches!(name, "i" | "l" | "login" | "s");
    let frame = if parsed.options.iter().any(|(name, _)| odd(name)) { Frame::Judged } else { wrapper.frame };
    match parsed.operands.first().and_then(|&at| arguments.get(at)) {
        Some(script) => Inside::Scripts(frame, vec![(script.clone(), command.power)]),
        None => Inside::Unclear,
    }
}

fn joined(frame: Frame, arguments: &[Word], parsed: &Parsed, skip: usize, power: Power) -> Inside {
    let words: Vec<&Word> = parsed.operands.iter().skip(skip).filter_map(|&at| arguments.get(at)).collect();
    if words.is_empty() {
        return Inside::Nothing;
    }
    let text = words.iter().map(|w| w.text.as_str()).collect::<Vec<_>>().join(" ");
    let certainty = words.iter().map(|w| w.certainty).max().unwrap_or(Certainty::Literal);
    let flow = words.iter().fold(Flow::default(), |flow, word| flow | word.flow);
    Inside::Scripts(frame, vec![(Word { text, certainty, flow }, power)])
}

fn command_after(
    name: &str,
    frame: Frame,
    command: &Simple,
    parsed: &Parsed,
    skip: usize,
    power: Power,
) -> Inside {
    let arguments = command.arguments();
    let mut rest: Vec<Word> =
        parsed.operands.iter().skip(skip).filter_map(|&at| arguments.get(at).cloned()).collect();
    let mut commands = Vec::new();
    // `env` and `sudo` take assignments before the command.
    while matches!(name, "env" | "sudo" | "doas") && rest.first().is_some_and(|w| is_assignment(&w.text)) {
        commands.push(command.with(vec![Word::literal("="), rest.remove(0)]));
    }
    if rest.is_empty() {
        return if commands.is_empty() { Inside::Nothing } else { Inside::Commands(frame, commands) };
    }
    let mut input = command.input.clone();
    if name == "xargs" {
        let marks: Vec<&str> = parsed
            .options
            .iter()
            .filter(|(o, _)| matches!(o.as_str(), "I" | "replace" | "i"))
            .map(|(_, value)| value.unwrap_or("{}"))
            .collect();
        if marks.is_empty() {
            rest.push(Word { flow: input.flow, ..Word::unknown() });
        }
        for mark in marks {
            replace(&mut rest, mark, input.flow);
        }
        input = Input::default();
    }
    commands.push(Simple { words: rest, input, power, depth: command.depth });
    Inside::Commands(frame, commands)
}

fn replace(words: &mut [Word], mark: &str, flow: Flow) {
    for word in words.iter_mut().filter(|word| word.text.contains(mark)) {
        let text = word.text.replace(mark, "$");
        *word = Word { text, certainty: Certainty::Unknown, flow: word.flow | flow };
    }
}

/// The commands of `find -exec` and its relatives. Every such word is taken as one, also inside the command of
/// another: which of them `find` sees depends on where the one before ends.
fn find(command: &Simple) -> Inside {
    let arguments = command.arguments();
    let mut commands = Vec::new();
    for (at, word) in arguments.iter().enumerate() {
        let takes_plus = match word.text.as_str() {
            "-exec" | "-execdir" => true,
            "-ok" | "-okdir" => false,
            _ => continue,
        };
        let rest = arguments.get(at + 1..).unwrap_or_default();
        let mut words = rest.get(..end_of_exec(rest, takes_plus)).unwrap_or_default().to_vec();
        replace(&mut words, "{}", Flow::default());
        if !words.is_empty() {
            commands.push(command.with(words));
        }
    }
    if commands.is_empty() { Inside::Nothing } else { Inside::Commands(Frame::Judged, commands) }
}

/// Where a command of find(1) ends: at `;`, or at a `+` right after a word with `{}`. Any other `+` is an argument.
fn end_of_exec(words: &[Word], takes_plus: bool) -> usize {
    let mut follows_braces = false;
    for (at, word) in words.iter().enumerate() {
        if word.is(";") || (takes_plus && follows_braces && word.is("+")) {
            return at;
        }
        follows_braces = word.text.contains("{}");
    }
    words.len()
}

/// `NAME=value`.
pub fn is_assignment(text: &str) -> bool {
    let Some((name, _)) = text.split_once('=') else { return false };
    !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

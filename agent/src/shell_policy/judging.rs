//! A command's text as it is judged: every command in it, through programs that start others, with what else was seen.

use super::ahead::{is_cd, untranslatable};
use super::paths::Directories;
use super::rule::PROGRAMS;
use crate::shell_parser::read::{DEPTH, read, rough};
use crate::shell_parser::script::{Certainty, Fact, Flow, Input, Power, Script, Simple, Word};
use crate::shell_parser::wrap::{Inside, inside, is_shell, resets_path};
use crate::shell_parser::wrappers::Frame;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// So many commands are looked at.
const MOST: usize = 512;

/// One text as it is judged.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Judging {
    pub script: Script,
    /// The commands for rules to look at.
    pub plain: Vec<Simple>,
    places: Directories,
    /// Some command starts another one without the `PATH` on which the shims come first.
    pub resets_path: bool,
    /// Commands for a shim that no request does, each with why. Found where the text is read: `sh -c` has a text too.
    pub untranslated: Vec<String>,
}

impl Judging {
    /// A text as `sh -c` would get it.
    pub fn of_text(text: &str) -> Self {
        let mut judging = Self::default();
        read(text, Power::Own, 0, &mut judging.script);
        judging.unwrap_all();
        judging.untranslated = untranslatable(&judging.plain);
        judging
    }

    /// A program and its arguments.
    pub fn of_argv(argv: &[String]) -> Self {
        let mut judging = Self::default();
        if !argv.is_empty() {
            judging.script.commands.push(Simple {
                words: argv.iter().map(Word::literal).collect(),
                input: Input::default(),
                power: Power::Own,
                depth: 0,
            });
        }
        judging.unwrap_all();
        judging
    }

    /// A text of which nothing else is known.
    pub fn with(fact: Fact) -> Self {
        let mut judging = Self::default();
        judging.script.facts.insert(fact);
        judging
    }

    /// A text that could not be read.
    pub fn rough(text: &str) -> Self {
        let mut judging = Self::with(Fact::ParseError);
        rough(text, Power::Own, 0, &mut judging.script);
        judging.plain = std::mem::take(&mut judging.script.commands);
        judging
    }

    fn unwrap_all(&mut self) {
        if self.script.commands.is_empty() {
            self.script.facts.insert(Fact::Empty);
        }
        let mut queue: VecDeque<Simple> = std::mem::take(&mut self.script.commands).into();
        let mut count = 0;
        while let Some(command) = queue.pop_front() {
            count += 1;
            if count > MOST {
                self.script.facts.insert(Fact::TooDeep);
                break;
            }
            self.note(&command);
            self.resets_path |= resets_path(&command);
            self.interpreted(&command, &mut queue);
            match inside(&command) {
                Inside::Nothing => self.plain.push(command),
                Inside::Commands(frame, commands) => {
                    queue.extend(commands);
                    self.frame(frame, command);
                }
                Inside::Scripts(frame, scripts) => {
                    for (word, power) in scripts {
                        self.nested(&word, power, command.depth + 1, &mut queue);
                    }
                    self.frame(frame, command);
                }
                Inside::Unclear => {
                    self.script.facts.insert(Fact::UnknownWrapper);
                    if command.words.iter().any(|word| word.certainty == Certainty::Unknown) {
                        self.script.facts.insert(Fact::UnknownProgram);
                    }
                    // Where the inner command begins is not known, so it is looked for everywhere.
                    for at in 1..command.words.len().min(24) {
                        let rest = command.words.get(at..).unwrap_or_default().to_vec();
                        if rest.first().is_some_and(|word| !word.text.starts_with('-')) {
                            self.plain.push(command.with(rest));
                        }
                    }
                    self.plain.push(command);
                }
            }
        }
    }

    fn frame(&mut self, frame: Frame, command: Simple) {
        match frame {
            Frame::Transparent => {}
            Frame::Judged => self.plain.push(command),
        }
    }

    /// A script inside a word.
    fn nested(&mut self, word: &Word, power: Power, depth: usize, queue: &mut VecDeque<Simple>) {
        self.flow_into_interpreter(word.flow);
        if word.certainty == Certainty::Unknown {
            self.script.facts.insert(Fact::UnknownProgram);
        }
        if depth > DEPTH + 1 {
            self.script.facts.insert(Fact::TooDeep);
            return;
        }
        let mut script = Script::default();
        read(&word.text, power, depth, &mut script);
        self.script.facts.extend(&script.facts);
        queue.extend(script.commands);
    }

    fn flow_into_interpreter(&mut self, flow: Flow) {
        if flow.is_downloaded {
            self.script.facts.insert(Fact::DownloadedScript);
        }
        if flow.is_decoded {
            self.script.facts.insert(Fact::DecodedScript);
        }
    }

    /// Notes how the command changes the meaning of later ones.
    fn note(&mut self, command: &Simple) {
        let Some(program) = command.words.first() else { return };
        if program.certainty != Certainty::Literal {
            self.script.facts.insert(Fact::UnknownProgram);
            self.flow_into_interpreter(program.flow);
        }
        if is_cd(command.program()) {
            let mut to = command.arguments().iter().filter(|word| !matches!(word.text.as_str(), "-P" | "-L"));
            let is_followed = match (to.next(), to.next()) {
                (None, _) => self.places.change("~"),
                (Some(word), None) if word.certainty == Certainty::Literal && word.text != "-" => {
                    self.places.change(&word.text)
                }
                (Some(_), _) => false,
            };
            if !is_followed {
                self.script.facts.insert(Fact::UnknownDirectory);
            }
        }
    }

    /// An interpreter that gets its program from elsewhere.
    fn interpreted(&mut self, command: &Simple, queue: &mut VecDeque<Simple>) {
        let name = command.program();
        if matches!(name, "eval" | "source" | ".") || is_interpreter(name) {
            for word in command.arguments() {
                self.flow_into_interpreter(word.flow);
            }
        }
        let is_file = |word: &Word| !word.text.starts_with('-') && word.text != "/dev/stdin";
        let reads_input = is_interpreter(name)
            && (!command.arguments().iter().any(is_file) || command.arguments().iter().any(|w| w.is("-s")))
            && !command.arguments().iter().any(|w| is_program_option(name, &w.text));
        if !reads_input || !command.input.is_fed {
            return;
        }
        self.script.facts.insert(Fact::FedInterpreter);
        self.flow_into_interpreter(command.input.flow);
        if let Some(word) = &command.input.text
            && is_shell(name)
        {
            self.nested(&word.clone(), command.power, command.depth + 1, queue);
        }
    }

    pub fn paths(&self, command: &Simple) -> Vec<String> {
        let mut paths: Vec<String> = Vec::new();
        // `/bin/rm` is no file that rm works on.
        let is_program = |word: &Word| PROGRAMS.iter().any(|directory| word.text.starts_with(directory));
        let skip = usize::from(command.words.first().is_some_and(is_program));
        for word in command.words.iter().skip(skip) {
            for path in self.places.paths(&word.text) {
                if !paths.contains(&path) {
                    paths.push(path);
                }
            }
        }
        paths
    }
}

/// `-c`, `-e` and such: the program stands in the command.
fn is_program_option(name: &str, text: &str) -> bool {
    let letters = text.strip_prefix('-').filter(|rest| !rest.starts_with('-')).unwrap_or_default();
    if is_shell(name) { letters.contains('c') } else { letters.contains(['c', 'e', 'r', 'm', 'E', 'V']) }
}

/// Programs that run what they read.
pub fn is_interpreter(name: &str) -> bool {
    let bare = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    is_shell(name)
        || matches!(bare, "python" | "pypy" | "perl" | "ruby" | "node" | "nodejs" | "php" | "lua" | "tclsh")
        || matches!(bare, "bun" | "deno" | "Rscript" | "guile" | "osascript" | "pwsh" | "csh" | "tcsh")
}

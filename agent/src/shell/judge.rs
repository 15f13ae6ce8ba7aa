//! The decision on a text: every command in it by every rule, the strictest wins.

use super::decision::{Decision, sum};
use super::guard::{self, Answer, How, Job, LONGEST, is_bad};
use super::level::Level;
use super::paths::Places;
use super::read::{DEPTH, read, rough};
use super::rule::{PROGRAMS, Rule};
use super::rules::Rules;
use super::script::{Certainty, Fact, Flow, Input, Power, Script, Simple, Word};
use super::shim::{self, Nowhere, Translation};
use super::wrap::{Frame, Inside, inside, is_shell, resets_path};
use serde::{Deserialize, Serialize};
use std::collections::{HashSet, VecDeque};

/// So many commands are looked at.
const MOST: usize = 512;

impl Rules {
    /// Judges a command's text as `sh -c` would get it.
    #[must_use]
    pub fn judge(&self, text: &str) -> Decision {
        self.judge_by(text, How::AsSet)
    }

    /// The same of a text of root's own.
    pub(super) fn judge_by(&self, text: &str, how: How) -> Decision {
        if is_bad(text) {
            return self.decide(&Judging::with(Fact::BadInput));
        }
        match guard::read(Job::Text(text.to_owned()), how) {
            Some(Answer::Judging(judging)) => self.decide(&judging),
            Some(Answer::Words(_)) | None => self.decide(&Judging::rough(text)),
        }
    }

    /// Judges a program with its arguments, no shell between.
    #[must_use]
    pub fn judge_argv(&self, argv: &[String]) -> Decision {
        let length = argv.iter().map(|word| word.len() + 1).sum::<usize>();
        if length > LONGEST || argv.iter().any(|word| is_bad(word)) {
            return self.decide(&Judging::with(Fact::BadInput));
        }
        match guard::read(Job::Argv(argv.to_vec()), How::AsSet) {
            Some(Answer::Judging(judging)) => self.decide(&judging),
            Some(Answer::Words(_)) | None => self.decide(&Judging::rough(&argv.join(" "))),
        }
    }

    fn decide(&self, judging: &Judging) -> Decision {
        let (requests, own): (Vec<&Simple>, Vec<&Simple>) =
            judging.plain.iter().partition(|command| !judging.resets_path && is_request(command));
        let mut decision = self.decide_on(judging, &judging.plain.iter().collect::<Vec<_>>());
        if !requests.is_empty() {
            let nothing = own.is_empty() && judging.script.facts.is_empty();
            decision.own_level = if nothing { Level::Safe } else { self.decide_on(judging, &own).level };
        }
        decision.untranslated = judging.untranslated();
        for command in &judging.plain {
            let name = command.program();
            if shim::PROGRAMS.contains(&name) && !decision.shims.iter().any(|seen| seen == name) {
                decision.shims.push(name.to_owned());
            }
        }
        decision
    }

    fn decide_on(&self, judging: &Judging, commands: &[&Simple]) -> Decision {
        let mut hits: Vec<&Rule> = Vec::new();
        let mut facts = judging.script.facts.clone();
        for command in commands {
            let paths = judging.paths(command);
            let before = hits.len();
            hits.extend(self.each().filter(|rule| rule.applies(command, &paths)));
            if hits.len() == before {
                facts.insert(Fact::UnknownCommand);
            }
        }
        let mut unruled = false;
        for fact in &facts {
            let before = hits.len();
            hits.extend(self.each().filter(|rule| rule.text.when == Some(*fact)));
            unruled |= hits.len() == before;
        }
        let mut seen = HashSet::new();
        hits.retain(|rule| seen.insert(rule.text.id.as_str()));
        hits.sort_by_key(|rule| std::cmp::Reverse((rule.text.level, rule.text.score)));
        sum(&hits, unruled)
    }
}

/// Whether a command can act only as a request to the helper: what the `sudo` shim is given, and a shim's name by itself.
/// A shim is found by its bare name; `./sudo` and `/usr/bin/apt-get` are the files of these names, run in the sandbox.
/// A shim that only looks starts the real program, so that is no request either.
fn is_request(command: &Simple) -> bool {
    let argv: Vec<String> = command.words.iter().map(|word| word.text.clone()).collect();
    let asks_the_helper = match command.power {
        // The shim goes by the last part of the name, and starts the file where the work needs no root.
        Power::Request => command.is_found_by_name() || has_program_directory(command),
        Power::Own | Power::Root => {
            command.is_found_by_name()
                && matches!(
                    command.program(),
                    "sudo" | "apt-get" | "apt" | "apt-mark" | "dpkg" | "systemctl" | "service"
                )
        }
    };
    asks_the_helper && !shim::looks(&argv)
}

/// Shims whose requests are known from their words alone, whatever the files are.
const BY_WORDS: &[&str] = &["sudo", "apt-get", "apt", "apt-mark", "dpkg", "systemctl", "service"];
/// Commands that `sudo` translates by files, or by a script's redirections.
const BY_FILES: &[&str] = &[
    "tee", "install", "cp", "mv", "rm", "sed", "mkdir", "chmod", "chown", "chgrp", "sh", "bash", "dash",
    "env",
];

/// A command for a shim that no request does, and why; known before anything of the text was run.
fn untranslated(command: &Simple) -> Option<String> {
    let is_known = command.words.iter().all(|word| word.certainty == Certainty::Literal);
    if !is_known || !command.is_found_by_name() || !BY_WORDS.contains(&command.program()) {
        return None;
    }
    let argv: Vec<String> = command.words.iter().map(|word| word.text.clone()).collect();
    let is_by_files = |word: &String| BY_FILES.contains(&word.rsplit('/').next().unwrap_or_default());
    // `install` is also what apt-get is told to do.
    if command.program() == "sudo"
        && argv.iter().any(is_by_files)
        && !argv.iter().any(|word| word.contains("apt"))
    {
        return None;
    }
    match shim::translate(&argv, &mut Nowhere("it reads what is not known before it runs")) {
        Translation::Advice(why, _) => Some(format!("`{}`: {why}", argv.join(" "))),
        Translation::Steps(_) | Translation::Local(_) => None,
    }
}

fn has_program_directory(command: &Simple) -> bool {
    let name = command.words.first().map_or("", |word| word.text.as_str());
    PROGRAMS.iter().any(|directory| name.strip_prefix(directory).is_some_and(|rest| !rest.contains('/')))
}

/// One text as it is judged.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Judging {
    script: Script,
    /// The commands for rules to look at.
    plain: Vec<Simple>,
    places: Places,
    /// Some command starts another one without the `PATH` on which the shims come first.
    resets_path: bool,
}

impl Judging {
    /// A text as `sh -c` would get it.
    pub fn of_text(text: &str) -> Self {
        let mut judging = Self::default();
        read(text, Power::Own, 0, &mut judging.script);
        judging.unwrap_all();
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

    /// Commands for a shim that no request does, beside others that would change something: half a script is not run.
    fn untranslated(&self) -> Vec<String> {
        let of_text = self.plain.iter().filter(|command| command.power == Power::Own);
        let (wrong, right): (Vec<_>, Vec<_>) = of_text
            .filter(|command| shim::PROGRAMS.contains(&command.program()))
            .map(untranslated)
            .partition(Option::is_some);
        if right.is_empty() { Vec::new() } else { wrong.into_iter().flatten().collect() }
    }

    /// A text of which nothing else is known.
    fn with(fact: Fact) -> Self {
        let mut judging = Self::default();
        judging.script.facts.insert(fact);
        judging
    }

    /// A text that could not be read.
    fn rough(text: &str) -> Self {
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

    /// What the command does to the reading of the others.
    fn note(&mut self, command: &Simple) {
        let Some(program) = command.words.first() else { return };
        if program.certainty != Certainty::Literal {
            self.script.facts.insert(Fact::UnknownProgram);
            self.flow_into_interpreter(program.flow);
        }
        if matches!(command.program(), "cd" | "pushd" | "chdir") {
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

    fn paths(&self, command: &Simple) -> Vec<String> {
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

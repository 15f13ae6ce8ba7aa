//! The decision on a text: every command in it by every rule, the strictest wins.

use super::decision::{Decision, sum};
use super::guard::{self, Answer, How, Job, LONGEST, is_bad};
use super::level::Level;
use super::paths::Places;
use super::read::{DEPTH, read, rough};
use super::rule::{PROGRAMS, Rule};
use super::rules::Rules;
use super::script::{Certainty, Fact, Flow, Input, Power, Script, Simple, Word};
use super::shim::{self, Foreseen, Translation};
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
        decision.untranslated.clone_from(&judging.untranslated);
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

/// What a command for a shim comes to, as far as its words tell before anything of the text runs.
enum Ahead {
    /// No request does it; the command and why.
    Untranslatable(String),
    /// A change of the host.
    Change,
    /// Only running it shows, or it changes nothing of the host.
    Unknown,
}

/// The shims translate at run time what they are called with; their own refusals are known from the words alone.
fn ahead(command: &Simple, directory: Directory) -> Ahead {
    if let [sign, target] = command.words.as_slice()
        && sign.is(">")
    {
        return redirected(target);
    }
    if !shim::PROGRAMS.contains(&command.program())
        || !command.is_found_by_name()
        || command.words.iter().any(|word| word.certainty != Certainty::Literal)
    {
        return Ahead::Unknown;
    }
    let argv: Vec<String> = command.words.iter().map(|word| word.text.clone()).collect();
    match shim::translate(&argv, &mut Foreseen) {
        Translation::Advice(why, _) if directory == Directory::Start || is_the_same_everywhere(&argv) => {
            Ahead::Untranslatable(format!("`{}`: {why}", argv.join(" ")))
        }
        Translation::Steps(steps) if steps.iter().any(|step| step.request.is_effect()) => Ahead::Change,
        Translation::Advice(..) | Translation::Steps(_) | Translation::Local(_) => Ahead::Unknown,
    }
}

/// A redirection is the shell's own, so no shim sees it: below these directories the sandbox's user cannot write.
const OTHERS: &[&str] = &["/etc/", "/usr/", "/opt/", "/srv/", "/boot/", "/root/", "/home/", "/var/"];

fn redirected(target: &Word) -> Ahead {
    let path = target.text.as_str();
    let is_others = target.certainty == Certainty::Literal
        && OTHERS.iter().any(|directory| path.starts_with(directory))
        && !["/var/tmp/", "/var/lib/postern-tool/"].iter().any(|own| path.starts_with(own));
    if is_others {
        let why = "a redirection writes as the sandbox's own user; use `| sudo tee FILE`, or `| sudo tee -a FILE` for `>>`";
        Ahead::Untranslatable(format!("`> {path}`: {why}"))
    } else {
        Ahead::Unknown
    }
}

/// Programs whose operands are files, but for the first one of some.
const FILE_PROGRAMS: &[(&str, usize)] = &[
    ("tee", 0),
    ("install", 0),
    ("cp", 0),
    ("mv", 0),
    ("rm", 0),
    ("sed", 1),
    ("mkdir", 0),
    ("chmod", 1),
    ("chown", 1),
    ("chgrp", 1),
];

/// Whether a command names the same files in every directory: it works on none, or all are named from the root.
fn is_the_same_everywhere(argv: &[String]) -> bool {
    let found = argv.iter().enumerate().find_map(|(at, word)| {
        let known = FILE_PROGRAMS.iter().find(|(name, _)| name == word);
        known.map(|(_, others)| (at, *others))
    });
    // `apt-get install` is about packages.
    let Some((at, others)) = found.filter(|_| !argv.iter().any(|word| word.starts_with("apt"))) else {
        return true;
    };
    let operands = argv.iter().skip(at + 1).filter(|word| !word.starts_with('-'));
    operands.skip(others).all(|word| word.starts_with('/'))
}

/// Where a script stands when it comes to a command.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Directory {
    /// Where every command begins: the task's own directory.
    Start,
    /// The script changes its directory somewhere, so that a relative name may be any file.
    Changed,
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
    /// Commands for a shim that no request does, each with why. Found where the text is read: `sh -c` has a text too.
    untranslated: Vec<String>,
}

impl Judging {
    /// A text as `sh -c` would get it.
    pub fn of_text(text: &str) -> Self {
        let mut judging = Self::default();
        read(text, Power::Own, 0, &mut judging.script);
        judging.unwrap_all();
        judging.look_ahead();
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

    /// Lists the commands that no request does, beside others that would change something: half a script is not run.
    fn look_ahead(&mut self) {
        let changes_directory = self.plain.iter().any(|command| is_cd(command.program()));
        let directory = if changes_directory { Directory::Changed } else { Directory::Start };
        let (mut wrong, mut has_change) = (Vec::new(), false);
        for command in self.plain.iter().filter(|command| command.power == Power::Own) {
            match ahead(command, directory) {
                Ahead::Untranslatable(why) if !wrong.contains(&why) => wrong.push(why),
                Ahead::Change => has_change = true,
                Ahead::Untranslatable(_) | Ahead::Unknown => {}
            }
        }
        if has_change {
            self.untranslated = wrong;
        }
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

fn is_cd(program: &str) -> bool {
    matches!(program, "cd" | "pushd" | "chdir")
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

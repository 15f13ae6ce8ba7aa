//! The decision on a text: every command in it by every rule, the strictest wins.

use super::decision::{Decision, sum};
use super::judging::Judging;
use super::level::Level;
use super::reader::{self, How, Job, ReaderReply};
use super::rule::{PROGRAMS, Rule};
use super::rules::Rules;
use crate::shell_parser::script::{Fact, Power, Simple};
use crate::shell_parser::{LONGEST, is_bad};
use crate::shims;
use std::collections::HashSet;

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
        match reader::read(Job::Text(text.to_owned()), how) {
            Some(ReaderReply::Judging(judging)) => self.decide(&judging),
            Some(ReaderReply::Words(_)) | None => self.decide(&Judging::rough(text)),
        }
    }

    /// Judges a program with its arguments, no shell between.
    #[must_use]
    pub fn judge_argv(&self, argv: &[String]) -> Decision {
        let length = argv.iter().map(|word| word.len() + 1).sum::<usize>();
        if length > LONGEST || argv.iter().any(|word| is_bad(word)) {
            return self.decide(&Judging::with(Fact::BadInput));
        }
        match reader::read(Job::Argv(argv.to_vec()), How::AsSet) {
            Some(ReaderReply::Judging(judging)) => self.decide(&judging),
            Some(ReaderReply::Words(_)) | None => self.decide(&Judging::rough(&argv.join(" "))),
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
            if shims::PROGRAMS.contains(&name) && !decision.shims.iter().any(|seen| seen == name) {
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
                    "sudo"
                        | "apt-get"
                        | "apt"
                        | "apt-mark"
                        | "dpkg"
                        | "systemctl"
                        | "service"
                        | "reboot"
                        | "shutdown"
                )
        }
    };
    asks_the_helper && !shims::looks(&argv)
}

fn has_program_directory(command: &Simple) -> bool {
    let name = command.words.first().map_or("", |word| word.text.as_str());
    PROGRAMS.iter().any(|directory| name.strip_prefix(directory).is_some_and(|rest| !rest.contains('/')))
}

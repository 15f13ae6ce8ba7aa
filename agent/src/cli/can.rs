//! `can`: what may be asked, and whether one request would be let through. Nothing is done.

use super::options::{Command, Global};
use super::session::{Session, usage};
use crate::client::pending_request::Outcome;
use crate::protocol::args::Nothing;
use crate::protocol::event::{AgentError, Decision, Event};
use crate::protocol::exit::Exit;
use crate::protocol::mode::Mode;
use crate::protocol::request::Request;
use crate::render;
use crate::render::report::Report;
use clap::Parser;
use std::ffi::OsString;

/// Command line behind `can`.
#[derive(Debug, Parser)]
#[command(name = "postern can")]
struct Can {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Option<Command>,
}

impl Session<'_> {
    /// `can` alone describes; `can VERB ARGS` asks for the decision alone.
    pub(super) async fn can(&mut self, command: Vec<String>) -> Exit {
        let can = match Can::try_parse_from(words(command)) {
            Ok(can) => can,
            Err(error) => return usage(&error, self.console),
        };
        self.global.json = self.global.json.or(can.global.json);
        self.global.direct |= can.global.direct;
        self.global.quiet |= can.global.quiet;
        self.global.timeout = self.global.timeout.or(can.global.timeout);
        // Whether a file may be written does not wait for its content.
        self.console.input = Box::new(std::io::empty());
        match can.command.map(|command| self.request(command)) {
            None => self.typed(Request::PolicyDescribe(Nothing {}), Mode::Execute).await,
            Some(Ok(request)) => Box::pin(self.may(request)).await,
            Some(Err(why)) => self.fail(&AgentError::new("invalid_argument", why)),
        }
    }

    /// Asks for the decision. That of a unit's name is not all: where it is an alias, the unit behind it must be granted too, which
    /// the helper finds out for the plan alone.
    async fn may(&mut self, request: Request) -> Exit {
        let (mut outcome, ask) = self.asked(request, Mode::Check).await;
        let verb = ask.request.verb();
        let names_a_unit = verb.starts_with("unit.") && verb != "unit.daemon-reload";
        if names_a_unit && Exit::of_end(&outcome.end) == Exit::Done {
            let (planned, _) = self.asked(ask.request, Mode::Preview).await;
            if Exit::of_end(&planned.end) == Exit::Refused {
                outcome = planned;
            }
        }
        self.verdict(&outcome)
    }

    /// Yes, with approval, or no: exit 0, 4, 3.
    fn verdict(&mut self, outcome: &Outcome) -> Exit {
        let (exit, text) = match &outcome.end {
            Event::Completed(done) => {
                let rule =
                    if done.rule.is_empty() { String::new() } else { format!(" (rule {})", done.rule) };
                match done.decision {
                    Decision::Ask => {
                        let text = format!("with approval: {} waits for an operator{rule}", outcome.verb);
                        (Exit::NotApproved, text)
                    }
                    Decision::Allow | Decision::Unspecified => {
                        (Exit::of_end(&outcome.end), format!("yes: {}{rule}", outcome.verb))
                    }
                    Decision::Deny => (Exit::Refused, format!("no: denied{rule}")),
                }
            }
            Event::Refused(refused) if Exit::of_end(&outcome.end) == Exit::Refused => {
                let why = render::refusal(refused, &outcome.explain);
                (Exit::Refused, format!("no: {}: {why}", refused.code))
            }
            end => (Exit::of_end(end), String::new()),
        };
        if self.global.json.is_some() {
            self.console.json(&Report::new(outcome));
        } else if text.is_empty() {
            self.print(outcome, Mode::Check);
        } else {
            self.console.result(&postern_text::line(&text));
        }
        exit
    }
}

/// `package.install` is taken for `package install`, and `command.run` for `command`.
fn words(command: Vec<String>) -> Vec<OsString> {
    let mut words = vec![OsString::from("postern can")];
    for (index, word) in command.into_iter().enumerate() {
        match word.split_once('.').filter(|_| index == 0) {
            Some(("command", "run")) => words.push("command".into()),
            Some(("request", verb)) => words.push(verb.into()),
            Some((noun, verb)) => words.extend([noun.into(), verb.into()]),
            None => words.push(word.into()),
        }
    }
    words
}

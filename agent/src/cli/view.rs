//! Follows work to its end and shows it. While an operator is asked on this terminal, nothing is shown.

use super::Session;
use super::options::Json;
use super::progress::Meter;
use crate::event::{Event, Waiting};
use crate::operators;
use crate::show::{self, Later};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::os::fd::AsFd;
use std::pin::pin;
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};
use tokio::process::{Child, Command};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc::UnboundedReceiver;

/// An interrupt that ends the question reaches this process too, and perhaps after the question's end.
const ECHO: Duration = Duration::from_millis(300);

/// How often one run asks: an agent that is not itself must not hold a terminal for ever.
const ASK_LIMIT: usize = 30;

/// What makes the client leave before the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leave {
    /// The person typed an interrupt.
    Interrupt,
    /// The terminal or the session ends.
    HangUp,
}

/// What there is to show: an event's name and its members.
pub type Note = (String, Value);

/// Shows the events of a task or a request.
pub struct View<'a, 'b> {
    session: &'a mut Session<'b>,
    meter: Meter,
    later: Later,
    rule: String,
    /// What waits, and every approval that was told of: a lost connection says it again.
    waiting: Option<Waiting>,
    told: HashSet<String>,
}

impl<'a, 'b> View<'a, 'b> {
    pub fn new(session: &'a mut Session<'b>, later: Later) -> Self {
        let meter = Meter::new(session.console, session.is_silent());
        Self { session, meter, later, rule: String::new(), waiting: None, told: HashSet::new() }
    }

    /// Works and shows what is told meanwhile, in order and all of it. While `postern-admin` has the terminal,
    /// what is told is kept, and an interrupt is meant for it. `leaving` gets the id of the approval that is
    /// waited for, and may end the following.
    pub async fn follow<T>(
        mut self,
        working: impl Future<Output = T>,
        mut notes: UnboundedReceiver<Note>,
        mut leaving: impl FnMut(Leave, Option<&str>) -> Option<T>,
    ) -> T {
        let mut working = pin!(working);
        let mut signals = Signals::new();
        let (mut ended, mut asking, mut asked) = (None, None, None::<Instant>);
        loop {
            while asking.is_none()
                && let Ok(note) = notes.try_recv()
            {
                asking = self.show(&note);
            }
            if asking.is_none()
                && let Some(ended) = ended.take()
            {
                self.meter.clear();
                return ended;
            }
            tokio::select! {
                status = over(&mut asking), if asking.is_some() => {
                    asking = None;
                    asked = Some(Instant::now());
                    self.asked(status);
                }
                Some(note) = notes.recv(), if asking.is_none() => asking = self.show(&note),
                result = &mut working, if ended.is_none() => ended = Some(result),
                leave = signals.next() => {
                    let is_for_it = leave == Leave::Interrupt
                        && (asking.is_some() || asked.is_some_and(|at| at.elapsed() < ECHO));
                    let waiting_for = self.waiting.as_ref().map(|waiting| waiting.approval_id.as_str());
                    if !is_for_it && let Some(end) = leaving(leave, waiting_for) {
                        self.meter.clear();
                        return end;
                    }
                }
            }
        }
    }

    /// Shows one thing; a child, if it asks the person now.
    fn show(&mut self, (name, data): &Note) -> Option<Child> {
        if self.session.global.json == Some(Json::Lines) {
            let line = match &self.later {
                Later::Request(id) => json!({ "event": name, "request_id": id, "data": data }),
                Later::Task(_) | Later::Nowhere => json!({ "event": name, "data": data }),
            };
            self.session.console.json(&line);
        }
        if self.session.global.json.is_some() {
            return None;
        }
        if name == "step" {
            self.step(data);
            return None;
        }
        let event = Event::from_parts(name, data).ok()?;
        match event {
            // Said again after a lost connection.
            Event::Accepted(accepted) if accepted.attached && self.waiting.is_some() => {}
            Event::Accepted(accepted) if !accepted.attached => self.rule = accepted.rule,
            Event::Waiting(waiting) => return self.waits(waiting),
            other => {
                self.waiting = None;
                self.meter.show(&other, self.session.console);
            }
        }
        None
    }

    fn step(&mut self, data: &Value) {
        self.meter.clear();
        let is_quiet = self.session.global.quiet;
        let what = data["what"].as_str().unwrap_or_default();
        let head = format!("[{}/{}] {what}", data["step"], data["of"]);
        let status = data["status"].as_str().unwrap_or_default();
        if status == "running" {
            if !is_quiet {
                self.session.console.say(&head);
                self.meter = Meter::new(self.session.console, is_quiet);
            }
            return;
        }
        if let Some(found) = data["result"]["stdout"].as_str() {
            self.session.console.result(found);
        }
        if let Some(stderr) = data["result"]["stderr"].as_str() {
            self.session.console.say_lines(stderr);
        }
        if !is_quiet {
            self.session.console.say(&format!("{head}: {status}"));
        }
    }

    fn waits(&mut self, waiting: Waiting) -> Option<Child> {
        if self.session.global.quiet || !self.told.insert(waiting.approval_id.clone()) {
            return None;
        }
        self.meter.clear();
        self.meter = Meter::new(self.session.console, self.session.is_silent());
        // It came through the agent and becomes an argument.
        let id = operators::approval_id(&waiting.approval_id).map(str::to_owned);
        self.waiting = Some(waiting);
        let console = &self.session.console;
        let may_ask = console.in_is_terminal && console.err_is_terminal && self.told.len() <= ASK_LIMIT;
        match id {
            Some(id) if may_ask && operators::may_approve(self.session.host) => match self.ask(&id) {
                Ok(child) => return Some(child),
                Err(e) => {
                    let admin = self.session.host.admin.display();
                    self.session.console.say(&format!("  cannot start {admin}: {e}"));
                    self.tell();
                }
            },
            Some(_) => self.tell(),
            None => self.session.console.say("  waits for approval, under an id that is none"),
        }
        None
    }

    /// `postern-admin` takes the terminal: it alone asks the helper what it is about, shows it and asks the
    /// person. Nothing that came through the agent stands beside the question.
    #[expect(clippy::disallowed_methods, reason = "an operator's own command, in their terminal")]
    fn ask(&self, id: &str) -> std::io::Result<Child> {
        let mut command = Command::new(&self.session.host.admin);
        command.args(["approve", id]);
        if !self.session.console.out_is_terminal {
            // Results go elsewhere; a question is none.
            command.stdout(Stdio::from(std::io::stderr().as_fd().try_clone_to_owned()?));
        }
        command.spawn()
    }

    /// After the person was asked: whoever did not approve learns how it can still be done.
    fn asked(&mut self, status: std::io::Result<ExitStatus>) {
        if !status.is_ok_and(|status| status.success()) {
            self.tell();
        }
    }

    fn tell(&mut self) {
        if let Some(Waiting { approval_id, expires_unix_s, .. }) = &self.waiting {
            let who = operators::who(&self.session.host.operators);
            for line in show::waiting(approval_id, *expires_unix_s, &self.rule, &who, &self.later) {
                self.session.console.say(&line);
            }
        }
    }
}

async fn over(child: &mut Option<Child>) -> std::io::Result<ExitStatus> {
    match child {
        Some(child) => child.wait().await,
        None => std::future::pending().await,
    }
}

/// The signals that end a client.
struct Signals {
    interrupts: Option<Signal>,
    hang_ups: Option<Signal>,
    terminations: Option<Signal>,
}

impl Signals {
    fn new() -> Self {
        let of = |kind| signal(kind).ok();
        Self {
            interrupts: of(SignalKind::interrupt()),
            hang_ups: of(SignalKind::hangup()),
            terminations: of(SignalKind::terminate()),
        }
    }

    async fn next(&mut self) -> Leave {
        tokio::select! {
            () = one(&mut self.interrupts) => Leave::Interrupt,
            () = one(&mut self.hang_ups) => Leave::HangUp,
            () = one(&mut self.terminations) => Leave::HangUp,
        }
    }
}

async fn one(signals: &mut Option<Signal>) {
    let came = match signals {
        Some(signals) => signals.recv().await,
        None => None,
    };
    if came.is_none() {
        std::future::pending::<()>().await;
    }
}

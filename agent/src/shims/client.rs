//! The helper, asked by a shim as the user that runs it.

use super::call::Step;
use super::output::output;
use super::steps::say;
use super::wire::ShimReply;
use crate::client::helper::Helper;
use crate::client::operators;
use crate::client::pending_request::{Outcome, PendingRequest, left, new_id, reason};
use crate::client::transport::Transport;
use crate::config::host::Host;
use crate::protocol::args::Permissions;
use crate::protocol::event::{Decision, Event, Status};
use crate::protocol::mode::Mode;
use crate::protocol::request::Request;
use crate::render;
use nix::unistd::getuid;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use tokio::runtime::Builder;

/// The exit code of a program that an interrupt ended.
const INTERRUPTED: i32 = 130;

/// The way to the helper. Nothing is connected before something is asked.
pub struct Client {
    socket: PathBuf,
    reason: String,
}

impl Client {
    /// For a call of these words.
    pub fn new(host: &Host, words: &[String]) -> Self {
        // Arguments and variables may be secrets: only the shim's own name is told.
        let reason = reason(words.first().map_or("", String::as_str));
        Self { socket: host.helper_socket.clone(), reason }
    }

    /// Asks for one step.
    pub fn step(&self, step: &Step) -> Result<ShimReply, String> {
        if let (Some(old), Request::FileSetMode(new)) = (&step.old_mode, &step.request)
            && self.must_be_approved(&step.request)?
        {
            let Permissions { path, mode } = new;
            let why = format!(
                "{path} has mode {old} now, which may change before a person approves: give the new one in octal, {mode}"
            );
            return Ok(ShimReply::no("precondition_failed", why));
        }
        Ok(reply(&step.request, &self.ask(step.request.clone())?))
    }

    /// Whether a person must approve a request. Nobody is asked yet.
    fn must_be_approved(&self, request: &Request) -> Result<bool, String> {
        let outcome = self.send(request.clone(), Mode::Check)?;
        Ok(matches!(&outcome.end, Event::Completed(done) if done.decision == Decision::Ask))
    }

    /// Asks, and waits for whoever must approve it. An interrupt ends the waiting, and this process.
    pub fn ask(&self, request: Request) -> Result<Outcome, String> {
        self.send(request, Mode::Execute)
    }

    fn send(&self, request: Request, mode: Mode) -> Result<Outcome, String> {
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| format!("cannot start: {error}"))?;
        let ask = PendingRequest {
            request,
            id: new_id(),
            mode,
            reason: self.reason.clone(),
            task: String::new(),
            claimed_uid: getuid().as_raw(),
            session: String::new(),
            wait_ms: 0,
        };
        let helper = Transport::Helper(Helper::new(&self.socket));
        let mut waiting_for = None;
        let mut on = |event: &Event| {
            if let Event::Waiting(waiting) = event {
                let id = operators::approval_id(&waiting.approval_id).map(str::to_owned);
                let until = render::clock(waiting.expires_unix_s);
                let which = id.as_deref().unwrap_or("ID");
                say(
                    &format!("postern: waiting for an operator until {until}: postern-admin approve {which}"),
                    0,
                );
                waiting_for = id;
            }
        };
        let outcome = runtime.block_on(async {
            tokio::select! {
                outcome = helper.ask(&ask, &mut on) => Some(outcome),
                _ = tokio::signal::ctrl_c() => None,
            }
        });
        if let Some(outcome) = outcome {
            say_deadline(&outcome);
            return Ok(outcome);
        }
        say(&format!("postern: {}", left(&ask.id, waiting_for.as_deref()).message), 0);
        std::process::exit(INTERRUPTED);
    }
}

/// Says that a change is taken back by itself, which no real program does.
fn say_deadline(outcome: &Outcome) {
    if let Event::Completed(done) = &outcome.end
        && let Some(line) = render::deadline(done, &outcome.id)
    {
        say(&format!("postern: {line}"), 0);
    }
}

/// How a script hears of an outcome.
fn reply(request: &Request, outcome: &Outcome) -> ShimReply {
    match &outcome.end {
        Event::Completed(done) if matches!(done.status, Status::Done | Status::Unchanged) => ShimReply {
            unit: done.unit.as_ref().map(Into::into),
            output: output(request, done, &installed).into_bytes(),
            ..ShimReply::default()
        },
        Event::Completed(done) => {
            let code = if done.code.is_empty() { "failed" } else { &done.code };
            ShimReply::no(code, render::failure(done))
        }
        Event::Refused(refused) => ShimReply::no(&refused.code, render::refusal(refused, &outcome.explain)),
        Event::Error(fault) => ShimReply::no(&fault.code, &fault.message),
        Event::Accepted(_) | Event::Waiting(_) | Event::Progress(_) | Event::Output(_) => {
            ShimReply::no("internal", "")
        }
    }
}

/// As dpkg tells everybody.
fn installed(package: &str) -> Option<String> {
    let asked = ["--show", "--showformat=${Version}", "--", package];
    let said = Command::new("/usr/bin/dpkg-query").args(asked).stderr(Stdio::null()).output().ok()?;
    String::from_utf8(said.stdout).ok().filter(|version| !version.is_empty())
}

//! Serves the requests of programs in a command: each is a step of the task, with its policy, budget and trace.
//!
//! The peer on the descriptor is untrusted: a packet is a typed request of a kind that a shim makes, or is refused.
//! Passed descriptors (`SCM_RIGHTS`) are never received.

use super::output::OUTPUT_LIMIT;
use super::runner::{Runner, status_word};
use super::step::result;
use crate::protocol::event::{AgentError, Event};
use crate::protocol::mode::Mode;
use crate::protocol::request::Request;
use crate::protocol::step::{Origin, StepResult, StepStatus};
use crate::protocol::task::Task;
use crate::protocol::tool::Tool;
use crate::sandbox::{Job, Record};
use crate::shims::wire::{ANSWER, Inbox, PACKET, ShimReply, is_of_a_shim};
use crate::shims::{State, output};
use nix::errno::Errno;
use nix::sys::socket::{AddressFamily, MsgFlags, SockFlag, SockType, recvmsg, send, socketpair};
use std::io::{self, IoSliceMut};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::pin::pin;
use tokio::io::Interest;
use tokio::net::UnixDatagram;

/// So many requests of a call may come to nothing: a shim's are of the right form, and a task's budget ends.
const PATIENCE: u32 = 16;

impl Runner<'_> {
    /// Runs one call to its end and answers its shims meanwhile. The descriptor ends with the call.
    pub(super) async fn call(
        &mut self,
        task: &mut Task,
        number: usize,
        mut job: Job,
        is_shimmed: bool,
    ) -> Result<Record, AgentError> {
        let failed = |error: io::Error| AgentError::new("failed", format!("no pair of sockets: {error}"));
        let mut channel = None;
        if is_shimmed {
            let (own, theirs) = Channel::pair().map_err(failed)?;
            job.shim = Some(theirs);
            channel = Some(own);
        }
        let commands = self.commands;
        let mut cancel = self.cancel.clone();
        let mut call = pin!(commands.sandbox.run(job));
        let mut vain = 0;
        loop {
            let request = tokio::select! {
                record = &mut call => return record,
                _ = cancel.wait_for(|cancelled| *cancelled) => {
                    return Err(AgentError::new("cancelled", "killed with all that it had started"));
                }
                request = next(&mut channel) => request,
            };
            match (request, &mut channel) {
                (Some((tag, request)), Some(open)) => {
                    let answer = match request {
                        Ok(request) => {
                            // The call goes on meanwhile; a request that began is seen to its end even if the call ends.
                            let mut ended = None;
                            let mut asked = pin!(self.shimmed(task, number, request));
                            let answer = loop {
                                tokio::select! {
                                    answer = &mut asked => break answer,
                                    record = &mut call, if ended.is_none() => ended = Some(record),
                                }
                            };
                            if let Some(record) = ended {
                                return record;
                            }
                            answer
                        }
                        Err(why) => ShimReply::no("invalid_argument", why),
                    };
                    vain += u32::from(matches!(answer.code.as_str(), "invalid_argument" | "out_of_budget"));
                    open.answer(ShimReply { tag, ..answer });
                    if vain > PATIENCE {
                        channel = None;
                    }
                }
                (None, _) | (_, None) => channel = None,
            }
        }
    }

    /// One request of a shim's.
    async fn shimmed(&mut self, task: &mut Task, number: usize, request: Request) -> ShimReply {
        if !is_of_a_shim(&request) {
            return ShimReply::no(
                "invalid_argument",
                format!("{} is not for programs to ask", request.verb()),
            );
        }
        let is_effect = request.is_effect();
        let costs = self.budget.step().and_then(|()| if is_effect { self.budget.change() } else { Ok(()) });
        if let Err(why) = costs {
            return ShimReply::no("out_of_budget", why);
        }
        let asked = kept(request.clone());
        let tool = Tool::Request(asked.clone());
        self.announce(task, number, &tool, "running");
        // Looking changes nothing: a dry run looks too.
        let mode = if is_effect { self.order.mode } else { Mode::Execute };
        // Secrets are granted by tool: a program has those of `shell`, not those of an earlier step's tool.
        "shell".clone_into(&mut self.tool);
        let outcome = self.ask(task, number, request, mode).await;
        let result =
            StepResult { origin: Some(Origin::Shim), ..result(number, &tool, &outcome, self.secrets) };
        let mut answer = answer_of(&asked, &result, &outcome.end);
        answer.message = self.secrets.values(&answer.message).0;
        let status = result.status;
        task.results.push(result);
        self.announce(task, number, &tool, status_word(status));
        answer
    }
}

/// The request as the task's record has it: a program may write more than the agent could keep.
fn kept(mut request: Request) -> Request {
    let mut room = OUTPUT_LIMIT;
    let changes = if let Request::FileWrite(write) = &mut request {
        std::slice::from_mut(&mut write.change.0)
    } else if let Request::FilePatch(patch) = &mut request {
        patch.changes.as_mut_slice()
    } else {
        &mut []
    };
    for change in changes {
        match room.checked_sub(change.content.len()) {
            Some(left) => room = left,
            None => {
                change.content = format!("[{} bytes, not kept here]", change.content.len()).into_bytes();
            }
        }
    }
    request
}

/// How a script hears of it.
fn answer_of(request: &Request, result: &StepResult, end: &Event) -> ShimReply {
    let (code, message) = match end {
        Event::Completed(done) => (done.code.as_str(), done.message.as_str()),
        Event::Refused(refused) => (refused.code.as_str(), refused.message.as_str()),
        Event::Error(fault) => (fault.code.as_str(), fault.message.as_str()),
        Event::Accepted(_) | Event::Waiting(_) | Event::Progress(_) | Event::Output(_) => ("internal", ""),
    };
    if matches!(result.status, StepStatus::Ok | StepStatus::Truncated) {
        let Event::Completed(done) = end else { return ShimReply::default() };
        let mut output = output(request, done, &|_| None).into_bytes();
        output.truncate(ANSWER / 2);
        return ShimReply { unit: done.unit.as_ref().map(State::from), output, ..ShimReply::default() };
    }
    ShimReply::no(if code.is_empty() { "failed" } else { code }, message)
}

async fn next(channel: &mut Option<Channel>) -> Option<(u32, Result<Request, String>)> {
    match channel {
        Some(channel) => channel.request().await,
        None => std::future::pending().await,
    }
}

/// The agent's end. Tokio knows no socket of packets in sequence; one of datagrams is waited for in the same way.
struct Channel {
    socket: UnixDatagram,
    inbox: Inbox,
}

impl Channel {
    /// Both ends; the other one is for the sandbox.
    fn pair() -> io::Result<(Self, OwnedFd)> {
        let (own, theirs) =
            socketpair(AddressFamily::Unix, SockType::SeqPacket, None, SockFlag::SOCK_CLOEXEC)?;
        let own = std::os::unix::net::UnixDatagram::from(own);
        own.set_nonblocking(true)?;
        Ok((Self { socket: UnixDatagram::from_std(own)?, inbox: Inbox::default() }, theirs))
    }

    /// The next whole request; `None` once nobody is left to ask. May be dropped at any time.
    async fn request(&mut self) -> Option<(u32, Result<Request, String>)> {
        let mut packet = vec![0; PACKET];
        loop {
            let socket = self.socket.as_raw_fd();
            let read = || Ok(receive(socket, &mut packet)?);
            let length = self.socket.async_io(Interest::READABLE, read).await.ok()?;
            let packet = packet.get(..length).filter(|packet| !packet.is_empty())?;
            if let Some(request) = self.inbox.take(packet) {
                return Some(request);
            }
        }
    }

    /// Sends a reply, without blocking: a peer that does not read loses it.
    fn answer(&self, mut answer: ShimReply) {
        let end = (0..=ANSWER / 8).rev().find(|&n| answer.message.is_char_boundary(n));
        answer.message.truncate(end.unwrap_or(0));
        if let Ok(text) = serde_json::to_vec(&answer) {
            let _ = send(self.socket.as_raw_fd(), &text, MsgFlags::MSG_NOSIGNAL | MsgFlags::MSG_DONTWAIT);
        }
    }
}

/// One packet. Without room for them the kernel drops descriptors that were passed; a packet with some, or one that is
/// too long, ends the channel.
fn receive(socket: RawFd, packet: &mut [u8]) -> Result<usize, Errno> {
    let mut parts = [IoSliceMut::new(packet)];
    let flags = MsgFlags::MSG_CMSG_CLOEXEC | MsgFlags::MSG_DONTWAIT;
    let message = recvmsg::<()>(socket, &mut parts, None, flags)?;
    if message.flags.intersects(MsgFlags::MSG_CTRUNC | MsgFlags::MSG_TRUNC) {
        return Err(Errno::EBADMSG);
    }
    Ok(message.bytes)
}

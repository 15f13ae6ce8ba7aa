//! The way of a shim in the sandbox: over the descriptor that the call inherited, to the agent.

use super::call::Step;
use super::caller::workspace;
use super::wire::{ANSWER, ShimReply, VARIABLE, packets};
use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, recv, send};
use std::fs::File;
use std::os::fd::RawFd;

/// Asks the agent, one shim of the call at a time.
pub fn ask(step: &Step) -> Result<ShimReply, String> {
    let number: RawFd = std::env::var(VARIABLE).ok().and_then(|number| number.parse().ok()).ok_or(
        "this command was given no way to the helper: let `sudo` stand in the command's own text, not in a file",
    )?;
    let tag = std::process::id();
    let packets = packets(&step.request, tag)?;
    // Answers on the descriptor are for whoever reads first.
    let turn = workspace().and_then(|path| File::open(path).ok());
    if let Some(turn) = &turn {
        turn.lock().map_err(|error| format!("cannot wait for other requests: {error}"))?;
    }
    let lost = |error: Errno| format!("the agent does not listen: {error}");
    for packet in packets {
        again(|| send(number, &packet, MsgFlags::MSG_NOSIGNAL)).map_err(lost)?;
    }
    let mut bytes = vec![0; ANSWER];
    loop {
        let length = again(|| recv(number, &mut bytes, MsgFlags::empty())).map_err(lost)?;
        let answer: ShimReply = serde_json::from_slice(bytes.get(..length).unwrap_or_default())
            .map_err(|_| "the agent does not answer any more".to_owned())?;
        // Another one is that of a shim that was ended before it came.
        if answer.tag == tag {
            return Ok(answer);
        }
    }
}

fn again<T>(mut work: impl FnMut() -> Result<T, Errno>) -> Result<T, Errno> {
    loop {
        match work() {
            Err(Errno::EINTR) => {}
            other => return other,
        }
    }
}

//! Serves person.sock: a person's session is open for as long as their connection and the process that made it.
//!
//! The person's process sends one line, the uid of the client that may quote its session, in one write. The answer is one
//! line too: the token, or `no session: ` and why not.

use crate::fault::Fault;
use crate::host::random_id;
use crate::log::{Asker, Record};
use crate::state::State;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use postern_peers::Peer;
use postern_policy::{Code, Denied};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// Longest line, and how long the person's process may take to send it.
const LINE: usize = 16;
const LINE_TIME: Duration = Duration::from_secs(2);

/// Serves one connection to its end: it is closed, a byte comes, or its process exits. One that is not within the limits of
/// sessions gets its answer before anything is read.
#[expect(clippy::needless_pass_by_value, reason = "it is closed when this returns")]
pub fn serve(state: &State, stream: UnixStream, peer: Peer) {
    let Some((token, other)) = random_id().ok().zip(stream.try_clone().ok()) else { return };
    let times = ((state.host.audit.since_boot)(), state.host.audit.unix());
    let admitted = state.sessions.admit(&token, peer.uid, other, times);
    match admitted.and_then(|()| open(state, &stream, peer, &token)) {
        Ok(process) => {
            if writeln!(&stream, "{token}").is_ok() {
                wait(&stream, &process);
            }
        }
        Err(denied) => refuse(&stream, &denied),
    }
    state.sessions.close(&token);
}

/// Reads which client may quote the session, and opens it. Returns a descriptor of the person's process: a connection
/// that is handed on does not keep the session of a process that has exited.
fn open(state: &State, mut stream: &UnixStream, peer: Peer, token: &str) -> Result<OwnedFd, Denied> {
    let denied = |why: &str| Denied::new(Code::Denied, why);
    let times = stream.set_read_timeout(Some(LINE_TIME));
    times.and(stream.set_write_timeout(Some(LINE_TIME))).map_err(Fault::io("set a time limit"))?;
    let mut line = [0; LINE];
    let len = stream.read(&mut line).map_err(|_| denied("the line with the client's uid did not come"))?;
    let text = line.get(..len).and_then(|line| std::str::from_utf8(line).ok());
    let client = text.and_then(|text| text.strip_suffix('\n')?.parse().ok());
    let client = client.ok_or_else(|| denied("the uid of a client was expected, in one line"))?;
    if !state.is_person(peer.uid) {
        return Err(denied("only members of postern-users have one, not root and no client of the policy"));
    }
    let pid = Pid::from_raw(peer.pid).ok_or_else(|| denied("your process is in another pid namespace"))?;
    let process = pidfd_open(pid, PidfdFlags::empty()).map_err(Fault::io("open a person's process"))?;
    state.sessions.open(token, client);
    Ok(process)
}

/// Says why there is no session. The socket's buffer takes the line; it is lost if the peer reads nothing.
fn refuse(mut stream: &UnixStream, denied: &Denied) {
    let retry = match denied.retry_after_s {
        0 => String::new(),
        seconds => format!("; retry in {seconds} s"),
    };
    drop(writeln!(stream, "no session: {}{retry}", denied.message));
}

/// Waits until either has ended. The person's process sends nothing more.
fn wait(stream: &UnixStream, process: &OwnedFd) {
    let of = |fd| PollFd::new(fd, PollFlags::POLLIN | postern_peers::hangup());
    let mut fds = [of(stream.as_fd()), of(process.as_fd())];
    while poll(&mut fds, PollTimeout::NONE) == Err(Errno::EINTR) {}
}

impl State {
    /// Returns the person whose open session a client quotes in that person's name.
    pub fn asker(&self, token: &str, client: u32, claimed_uid: u32) -> Option<Asker> {
        let asker = self.sessions.find(token, client, claimed_uid)?;
        self.is_person(asker.uid).then_some(asker)
    }

    /// Notes whether the session of a request is still open, and still a person's.
    pub fn look_again(&self, record: &mut Record) {
        if let Some(asker) = &mut record.asked_by {
            asker.open = self.sessions.is_open(asker) && self.is_person(asker.uid);
        }
    }
}

//! The session of the person behind this process's requests: a connection to the helper's recorder, which records that it was
//! open when the agent quoted it for a request.

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::unistd::User;
use std::io::{Error, ErrorKind};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::sync::Mutex;

/// The length of a token, in hex digits, and the longest line that the recorder answers.
const TOKEN: usize = 32;
const LINE: u64 = 256;
/// How long the recorder may take, and the pause after there was no session.
const LIMIT: Duration = Duration::from_millis(500);
const PAUSE: Duration = Duration::from_secs(10);
/// How often an open session is looked at.
const LOOK: Duration = Duration::from_secs(5);

/// This process's session. It is open from the first call of the agent on, for as long as a copy of this value is there.
#[derive(Debug, Clone)]
pub struct PersonSession(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    socket: PathBuf,
    /// The user of the agent, the only client that may quote it.
    agent_user: String,
    open: Mutex<Open>,
}

#[derive(Debug, Default)]
struct Open {
    session: Option<(UnixStream, String)>,
    /// When there was none, and why; the reason until it was told.
    failed: Option<Instant>,
    why: Option<String>,
    is_told: bool,
}

impl PersonSession {
    /// One that is not open yet.
    #[must_use]
    pub fn new(socket: &Path, agent_user: &str) -> Self {
        let (socket, agent_user) = (socket.to_owned(), agent_user.to_owned());
        Self(Arc::new(Inner { socket, agent_user, open: Mutex::default() }))
    }

    /// The token to quote; empty where there is no session. A session that the recorder has ended is opened anew.
    pub async fn token(&self) -> String {
        let mut open = self.0.open.lock().await;
        if open.session.as_ref().is_none_or(|(stream, _)| has_ended(stream)) {
            open.session = None;
            if open.failed.is_none_or(|failed| failed.elapsed() >= PAUSE) {
                let late = |_| Err(Error::new(ErrorKind::TimedOut, "the recorder did not answer"));
                match tokio::time::timeout(LIMIT, self.connect()).await.unwrap_or_else(late) {
                    Ok(session) => (open.session, open.failed) = (Some(session), None),
                    Err(error) => {
                        open.failed = Some(Instant::now());
                        // Without the socket nobody has a session here: `postern-admin doctor` reports that.
                        open.why = Some(error.to_string()).filter(|_| error.kind() != ErrorKind::NotFound);
                    }
                }
            }
        }
        open.session.as_ref().map(|(_, token)| token.clone()).unwrap_or_default()
    }

    /// Why there is no session, for the person, once.
    pub async fn failure(&self) -> Option<String> {
        let mut open = self.0.open.lock().await;
        let why = open.why.take().filter(|_| !open.is_told)?;
        open.is_told = true;
        let socket = self.0.socket.display();
        Some(format!(
            "note: you have no session at {socket} ({why}): the helper knows who asks by the agent's word alone"
        ))
    }

    /// Returns once an open session has ended; the next call of the agent then opens another.
    pub async fn ended(&self) {
        loop {
            tokio::time::sleep(LOOK).await;
            if self.0.open.lock().await.session.as_ref().is_some_and(|(stream, _)| has_ended(stream)) {
                return;
            }
        }
    }

    /// Says which client may quote the session, and reads its token.
    async fn connect(&self) -> std::io::Result<(UnixStream, String)> {
        let name = self.0.agent_user.clone();
        // Accounts may be looked up over a network.
        let user = tokio::task::spawn_blocking(move || User::from_name(&name)).await.map_err(Error::other)?;
        let agent = user?.ok_or_else(|| Error::other("the agent has no user"))?;
        let mut stream = UnixStream::connect(&self.0.socket).await?;
        // The recorder may have answered and closed without reading it.
        let sent = stream.write_all(format!("{}\n", agent.uid).as_bytes()).await;
        let mut line = String::new();
        BufReader::new((&mut stream).take(LINE)).read_line(&mut line).await?;
        match line.trim_end() {
            token if is_token(token) => Ok((stream, token.to_owned())),
            "" => Err(sent.err().unwrap_or_else(|| ErrorKind::UnexpectedEof.into())),
            why => Err(Error::other(why.trim_start_matches("no session: ").to_owned())),
        }
    }
}

/// Nothing comes on an open session but its end. The kernel is asked: the runtime may not have seen it yet.
fn has_ended(stream: &UnixStream) -> bool {
    let mut fds = [PollFd::new(stream.as_fd(), PollFlags::POLLIN)];
    poll(&mut fds, PollTimeout::ZERO) != Ok(0)
}

/// Whether a text has a token's form.
#[must_use]
pub fn is_token(text: &str) -> bool {
    text.len() == TOKEN && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

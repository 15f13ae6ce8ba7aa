//! Open sessions of people, in memory only: the agent quotes the token of its person's session in each request.

use crate::log::Asker;
use postern_peers::{Class, Rates, locked};
use postern_policy::types::Digest;
use postern_policy::{Code, Denied};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::Mutex;
use std::time::Duration;

/// Most connections of people. One more ends the oldest of the person who has most, so that nobody can keep others out.
pub const MAX: usize = 64;
/// Most connections of one person.
pub const EACH: usize = 16;
/// How often one person may connect within a minute and within an hour.
const CONNECTS: [u32; 2] = [240, 4800];

/// A connection of a person.
pub struct Session {
    token: String,
    uid: u32,
    /// The client that may quote it. None: the person's process has not named one yet, so nobody may.
    client: Option<u32>,
    stream: UnixStream,
}

/// All connections of people, the oldest first.
#[derive(Default)]
pub struct Sessions {
    /// For tests to count.
    pub all: Mutex<Vec<Session>>,
    rates: Mutex<Rates>,
}

impl Sessions {
    /// Admits a connection of this uid, before anything is read from it. Times since boot and since 1970.
    ///
    /// # Errors
    /// `rate_limited`; `busy`: this person has too many.
    pub fn admit(
        &self,
        token: &str,
        uid: u32,
        stream: UnixStream,
        times: (Duration, Duration),
    ) -> Result<(), Denied> {
        locked(&self.rates).admit(uid, Class::Effect, CONNECTS, times)?;
        let mut all = locked(&self.all);
        let count = |all: &[Session], uid: u32| all.iter().filter(|one| one.uid == uid).count();
        if count(&all, uid) >= EACH {
            let why = format!("{EACH} sessions of uid {uid} are open already; end one of them");
            return Err(Denied::new(Code::Busy, why));
        }
        all.push(Session { token: token.to_owned(), uid, client: None, stream });
        let most = all.iter().map(|one| count(&all, one.uid)).max();
        let oldest = all.iter().position(|one| Some(count(&all, one.uid)) == most);
        if let Some(oldest) = oldest.filter(|_| all.len() > MAX) {
            // Its thread ends, and its person's program opens another with its next request.
            drop(all.remove(oldest).stream.shutdown(Shutdown::Both));
        }
        Ok(())
    }

    /// Opens an admitted session for this client.
    pub fn open(&self, token: &str, client: u32) {
        let mut all = locked(&self.all);
        all.iter_mut().filter(|one| one.token == token).for_each(|one| one.client = Some(client));
    }

    /// Ends a session.
    pub fn close(&self, token: &str) {
        locked(&self.all).retain(|one| one.token != token);
    }

    /// Returns the person whose open session this is. None: it is not open, not for this client, or the client claims
    /// another person.
    pub fn find(&self, token: &str, client: u32, claimed_uid: u32) -> Option<Asker> {
        let is_quoted =
            |one: &&Session| one.token == token && one.uid == claimed_uid && one.client == Some(client);
        let all = locked(&self.all);
        all.iter().find(is_quoted).map(|one| Asker { uid: one.uid, session: name(&one.token), open: true })
    }

    /// Returns whether a session is still open.
    pub fn is_open(&self, asker: &Asker) -> bool {
        locked(&self.all).iter().any(|one| name(&one.token) == asker.session)
    }
}

/// A session's name in records.
fn name(token: &str) -> String {
    Digest::of(&[token.as_bytes()]).to_string().chars().take(16).collect()
}

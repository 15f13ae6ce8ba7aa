//! The state that all connections share.

use crate::error::{Error, Fault};
use crate::history::History;
use crate::host::Host;
use crate::recorder::Recorder;
use postern_peers::{Accepted, Class, Limit, Peer, Rates, files, locked};
use postern_policy::types::Digest;
use postern_policy::{Code, Denied, Identity, Policy};
use postern_proto::root::v1::Claim;
use postern_proto::v1 as wire;
use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Connections, and requests under way: most of one uid, and of all.
const CONNECTIONS: (usize, usize) = (8, 32);
/// Bytes of request bodies in memory: most of one uid, and of all.
const BODIES: (usize, usize) = (16 * 1024 * 1024, 64 * 1024 * 1024);

/// Notes of one uid within a minute and an hour: one every five seconds.
const NOTES: [u32; 2] = [12, 720];
/// Most connections that were turned away and wait to be recorded.
const TURNED_AWAY_MAX: usize = 32;

/// The broker.
#[derive(Debug)]
pub struct State {
    /// Paths and clocks of this host.
    pub host: Host,
    /// The recorder.
    pub recorder: Recorder,
    /// Rates and denials.
    pub history: History,
    /// Open connections.
    pub connections: Arc<Limit>,
    /// Requests under way.
    pub running: Arc<Limit>,
    /// Bytes of request bodies in memory.
    pub bodies: Arc<Limit>,
    /// The visible plans of requests that wait for approval, by approval id, for clients that attach.
    pub waiting: Mutex<HashMap<String, wire::Plan>>,
    rates: Mutex<Rates>,
    notes: Mutex<Rates>,
    turned_away: Mutex<Vec<Peer>>,
    accepted: Accepted,
    /// Known to the broker alone: the recorder keeps keyed digests of requests.
    key: [u8; 32],
}

impl State {
    /// Opens the broker's own directory.
    ///
    /// # Errors
    /// It cannot be read or written.
    pub fn open(host: Host) -> Result<Self, Fault> {
        let path = host.directory.join("key");
        let failed = "read or make the broker's key";
        if files::read(&path, 32).map_err(Fault::io(failed))?.is_none() {
            let key = files::random::<32>().and_then(|key| files::replace(&path, &key));
            key.map_err(Fault::io(failed))?;
        }
        let key = files::read(&path, 32).map_err(Fault::io(failed))?.unwrap_or_default();
        let damaged = |_| Fault::new(Code::Interrupted, format!("{} is damaged; remove it", path.display()));
        Ok(Self {
            key: key.try_into().map_err(damaged)?,
            recorder: Recorder::new(host.recorder_socket.clone()),
            history: History::open(host.directory.join("history"))?,
            connections: Limit::new(CONNECTIONS.0, CONNECTIONS.1),
            running: Limit::new(CONNECTIONS.0, CONNECTIONS.1),
            bodies: Limit::new(BODIES.0, BODIES.1),
            waiting: Mutex::default(),
            rates: Mutex::default(),
            notes: Mutex::default(),
            turned_away: Mutex::default(),
            accepted: Accepted::new(&host.accepted, &host.passwd, &host.group),
            host,
        })
    }

    /// Returns the accepted policy.
    ///
    /// # Errors
    /// None is accepted, or it is damaged: nobody is a client.
    pub fn policy(&self) -> Result<Arc<Policy>, Error> {
        self.accepted.policy(|_| {}).map_err(|error| {
            if error.kind() == io::ErrorKind::NotFound {
                let why = "no policy has been accepted; an operator must apply one";
                return Denied::new(Code::UnknownClient, why).into();
            }
            Fault::new(Code::UnknownClient, error).into()
        })
    }

    /// Returns the names of a uid, from the account files as they are now, with the time.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn identity(&self, uid: u32) -> Result<Identity, Fault> {
        let who = self.accepted.identity(uid).map_err(Fault::io("read the account files"))?;
        Ok(Identity { unix_s: self.host.unix().as_secs(), ..who })
    }

    /// Returns the keyed digest of a request.
    #[must_use]
    pub fn digest(&self, parts: &[&[u8]]) -> Digest {
        Digest::of(&[&[self.key.as_slice()], parts].concat())
    }

    /// Counts a request of this uid.
    ///
    /// # Errors
    /// `rate_limited`.
    pub fn admit(&self, uid: u32, class: Class) -> Result<(), Denied> {
        let audit = self.policy().map(|policy| policy.audit()).unwrap_or_default();
        let or = |set: u32, default: u32| if set == 0 { default } else { set };
        let most = [or(audit.records_per_minute, 60), or(audit.records_per_hour, 2000)];
        locked(&self.rates).admit(uid, class, most, ((self.host.since_boot)(), self.host.unix()))
    }

    /// Counts a note of this uid.
    ///
    /// # Errors
    /// `rate_limited`.
    pub fn admit_note(&self, uid: u32) -> Result<(), Denied> {
        let times = ((self.host.since_boot)(), self.host.unix());
        locked(&self.notes).admit(uid, Class::Effect, NOTES, times)
    }

    /// Records an event without an order. One over the log's own budget is counted with those over the broker's.
    ///
    /// # Errors
    /// The log does not take it.
    pub fn note(&self, claim: Claim) -> Result<(), Error> {
        let uid = claim.uid;
        let noted = self.recorder.note(claim);
        if matches!(&noted, Err(Error::Recorded(denied)) if denied.code == Code::RateLimited) {
            locked(&self.rates).suppress(uid, self.host.unix());
        }
        noted
    }

    /// Records requests over a budget, once a minute per uid, and connections that were refused for their number.
    pub fn report(&self) {
        let over = locked(&self.rates).take_over(false, (self.host.since_boot)());
        for (uid, over) in over {
            let micros = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
            let claim = Claim {
                event: "suppressed".to_owned(),
                uid,
                count: over.count,
                first_unix_us: micros(over.first),
                last_unix_us: micros(over.last),
                ..Claim::default()
            };
            // A recorder that cannot write reports it to operators itself.
            drop(self.note(claim));
        }
        let turned_away = std::mem::take(&mut *locked(&self.turned_away));
        for peer in turned_away {
            self.note_refused(peer, Code::Busy);
        }
    }

    /// Remembers a connection that was dropped because its uid or all uids have too many. Does not block.
    pub fn turn_away(&self, peer: Peer) {
        let mut turned_away = locked(&self.turned_away);
        if turned_away.len() < TURNED_AWAY_MAX {
            turned_away.push(peer);
        }
    }

    /// Records a connection that was refused.
    pub fn note_refused(&self, peer: Peer, code: Code) {
        let word = |text: &str| text.to_owned();
        let claim = Claim {
            event: word("refused"),
            verb: word("connect"),
            status: word("refused"),
            code: word(code.as_str()),
            ..of(peer)
        };
        // It is refused whether or not the log can take it.
        drop(self.admit(peer.uid, Class::Effect).map(|()| self.note(claim)));
    }

    /// Records bytes that are no request: size and digest, never the text.
    pub fn note_malformed(&self, peer: Peer, method: &str, bytes: &[u8]) {
        let sha256 = Digest::of(&[bytes]).as_bytes().to_vec();
        let size = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        let (event, verb) = ("malformed".to_owned(), method.to_owned());
        let claim = Claim { event, verb, size, sha256, ..of(peer) };
        // The connection ends either way.
        drop(self.admit(peer.uid, Class::Effect).map(|()| self.note(claim)));
    }
}

/// A claim about this peer.
#[must_use]
pub fn of(peer: Peer) -> Claim {
    Claim { uid: peer.uid, gid: peer.gid, pid: peer.pid, ..Claim::default() }
}

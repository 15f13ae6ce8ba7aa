//! The doors: who connects is what the kernel says, before a byte is read.

use crate::audit::{Json, Record};
use crate::connection::{Client, serve};
use crate::dispatch::record_refusal;
use crate::error::{Code, Fault};
use crate::helper::Helper;
use crate::operator;
use crate::policy::Peer;
use crate::startup::spawn;
use crate::sys::{locked, socket};
use std::collections::HashMap;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Most connections of one uid.
const PER_UID: usize = 8;
/// Most connections of all.
const TOTAL: usize = 32;

/// How many connections each uid has.
#[derive(Debug, Default)]
pub struct Places(Mutex<HashMap<u32, usize>>);

/// A connection's place; given back when dropped.
#[derive(Debug)]
pub struct Place {
    places: Arc<Places>,
    uid: u32,
}

impl Places {
    /// A place for this uid, if there is one.
    #[must_use]
    pub fn take(self: &Arc<Self>, uid: u32) -> Option<Place> {
        let mut counts = locked(&self.0);
        let total: usize = counts.values().sum();
        let own = counts.entry(uid).or_default();
        if *own >= PER_UID || total >= TOTAL {
            return None;
        }
        *own = own.saturating_add(1);
        drop(counts);
        Some(Place { places: Arc::clone(self), uid })
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> usize {
        locked(&self.0).values().sum()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut counts = locked(&self.places.0);
        if let Some(own) = counts.get_mut(&self.uid) {
            *own = own.saturating_sub(1);
        }
        counts.retain(|_, count| *count > 0);
    }
}

/// Accepts clients for as long as the helper lives. A connection that can't be served is dropped; the next is taken.
pub fn clients(helper: &Arc<Helper>, listener: &UnixListener, places: &Arc<Places>) {
    accept_all(listener, |stream| {
        let peer = socket::peer(&stream)?;
        let policy = helper.policy();
        let known = policy.is_some_and(|policy| !policy.clients_of(peer).is_empty());
        if !known {
            return turn_away(helper, peer, Code::UnknownClient);
        }
        let Some(place) = places.take(peer.uid) else {
            return turn_away(helper, peer, Code::Busy);
        };
        let channel = socket::hand_over(&helper.host.paths.gateway_socket, &stream)?;
        let mut client = Client { helper: Arc::clone(helper), peer, socket: stream };
        spawn("client", move || {
            let watch = client.socket.try_clone();
            if let Ok(watch) = watch {
                serve(channel, Some(&watch), &mut client);
            }
            drop(place);
        })
    });
}

/// Accepts operators. Threads and places of their own: clients can't keep them out.
pub fn operators(helper: &Arc<Helper>, listener: &UnixListener, clients: &Arc<Places>) {
    let places = Arc::new(Places::default());
    accept_all(listener, |stream| {
        let peer = socket::peer(&stream)?;
        let Some(place) = places.take(peer.uid) else {
            return turn_away(helper, peer, Code::Busy);
        };
        stream.set_nonblocking(true).map_err(Fault::io("make a socket non-blocking"))?;
        let mut service =
            operator::Operator { helper: Arc::clone(helper), peer, clients: Arc::clone(clients) };
        spawn("operator", move || {
            serve(stream, None, &mut service);
            drop(place);
        })
    });
}

/// One connection after the other. Errors of one do not end the loop; without descriptors it waits.
fn accept_all(listener: &UnixListener, mut take: impl FnMut(UnixStream) -> Result<(), Fault>) {
    loop {
        let taken = listener.accept().map_err(Fault::io("accept")).and_then(|(stream, _)| take(stream));
        if taken.is_err() {
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

fn turn_away(helper: &Helper, peer: Peer, code: Code) -> Result<(), Fault> {
    let record =
        Record { client: Some(peer), verb: "connect".to_owned(), args: Json::new(), ..Record::default() };
    record_refusal(helper, record, code, "")
}

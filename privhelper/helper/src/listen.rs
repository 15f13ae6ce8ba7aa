//! The doors: who connects is what the kernel says, before a byte is read.

use crate::connection::{Client, serve};
use crate::error::Fault;
use crate::helper::Helper;
use crate::operator;
use crate::places::Places;
use crate::startup::spawn;
use crate::sys::socket;
use postern_policy::Code;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::time::Duration;

/// Accepts clients for as long as the helper lives. A connection that can't be served is dropped; the next is taken.
pub fn clients(helper: &Arc<Helper>, listener: &UnixListener, places: &Arc<Places>) {
    accept_all(listener, |stream| {
        let peer = socket::peer(&stream)?;
        let policy = helper.policy();
        let who = helper.host.identity(peer.uid)?;
        let known = policy.is_some_and(|policy| !policy.clients_of(&who).is_empty());
        if !known {
            helper.note_refused(peer, "connect", Code::UnknownClient);
            return Ok(());
        }
        let Some(place) = places.take(peer.uid) else {
            helper.note_refused(peer, "connect", Code::Busy);
            return Ok(());
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
            helper.note_refused(peer, "connect", Code::Busy);
            return Ok(());
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

//! Accepts clients by `SO_PEERCRED`, before a byte is read.

use crate::connection::Connection;
use crate::error::Fault;
use crate::state::State;
use crate::sys::{log, socket};
use nix::errno::Errno;
use postern_peers::{Permit, hung_up};
use postern_policy::Code;
use std::io;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::time::Duration;

/// Accepts clients for as long as the broker lives.
pub fn accept_all(state: &Arc<State>, listener: &UnixListener) {
    loop {
        match listener.accept() {
            Ok((stream, _)) => accept(state, stream),
            Err(error) if is_shortage(&error) => std::thread::sleep(Duration::from_millis(20)),
            // Only that connection failed.
            Err(_) => {}
        }
    }
}

/// Whether the next attempt would fail too, until something is closed.
fn is_shortage(error: &io::Error) -> bool {
    let shortages = [Errno::EMFILE, Errno::ENFILE, Errno::ENOMEM, Errno::ENOBUFS];
    error.raw_os_error().is_some_and(|number| shortages.contains(&Errno::from_raw(number)))
}

/// Takes one connection, or drops it. Nothing here waits for a client or a gateway.
fn accept(state: &Arc<State>, stream: UnixStream) {
    let Ok(peer) = postern_peers::peer(&stream) else { return };
    let Some(permit) = state.connections.take(peer.uid, 1) else { return state.turn_away(peer) };
    let shared = Arc::clone(state);
    let thread = std::thread::Builder::new().name("client".to_owned());
    // Without a thread the client finds its connection closed.
    drop(thread.spawn(move || {
        let connection = Connection { state: shared, peer, client: stream };
        serve(&connection, permit).unwrap_or_else(|fault| log(&fault));
    }));
}

/// Hands a client to a gateway and serves their channel. The permit is held until the gateway's process has ended, so that
/// no client has more of them than it may have, not even captured ones.
fn serve(connection: &Connection, _permit: Permit) -> Result<(), Fault> {
    let Connection { state, peer, client } = connection;
    let is_client = state.policy().is_ok_and(|policy| {
        state.identity(peer.uid).is_ok_and(|identity| !policy.clients_of(&identity).is_empty())
    });
    if !is_client {
        state.note_refused(*peer, Code::UnknownClient);
        return Ok(());
    }
    // A client that has left already costs no gateway.
    if hung_up(client) {
        return Ok(());
    }
    let (channel, gateway) = socket::hand_over(&state.host.gateway_socket, client)?;
    // Closed only then: bytes that we have not read would take those with them that the gateway has not (unix(7)).
    let _end = channel.try_clone().map_err(Fault::io("copy a channel's descriptor"))?;
    connection.serve(channel);
    socket::wait_for_end(gateway);
    Ok(())
}

//! Accepts connections on all sockets by `SO_PEERCRED`, before a byte is read.

use crate::fault::Fault;
use crate::host::Host;
use crate::state::State;
use crate::{broker, operator, person, sessions};
use postern_peers::{Limit, Peer};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::time::Duration;

/// Most connections of the broker: each order that runs or waits has one.
const BROKER_MAX: usize = 160;
/// Most connections of one operator, and of all. They have threads of their own, so clients cannot keep them out.
const OPERATOR_MAX: [usize; 2] = [8, 32];
/// The same of people, who are more than can be trusted: any of postern-users can connect. Beside those that have a session,
/// as many may be in the middle of getting one, or of the answer that they have too many.
const PEOPLE_MAX: [usize; 2] = [2 * sessions::EACH, 2 * sessions::MAX];
/// The pause after a failed accept (EMFILE, ENOMEM) or thread start.
const PAUSE: Duration = Duration::from_millis(20);

/// Takes systemd's sockets, told apart by the name that the kernel gives them. Without that of people, the last, nobody has a session.
///
/// # Errors
/// One is missing.
pub fn sockets(host: &Host) -> Result<Vec<UnixListener>, Fault> {
    let mut given = listenfd::ListenFd::from_env();
    let mut listeners = (0..given.len())
        .filter_map(|index| given.take_unix_listener(index).ok().flatten())
        .collect::<Vec<_>>();
    let mut one = |path: &Path| {
        let is = |listener: &UnixListener| {
            listener.local_addr().ok().is_some_and(|address| address.as_pathname() == Some(path))
        };
        let at = listeners.iter().position(is);
        at.map(|at| listeners.swap_remove(at))
            .ok_or_else(|| Fault::corrupt("what systemd passed (a socket is missing)"))
    };
    let people = one(&host.person_socket).ok();
    Ok([one(&host.recorder_socket)?, one(&host.operator_socket)?].into_iter().chain(people).collect())
}

/// Serves all sockets on threads, and runs the upkeep every second.
///
/// # Errors
/// No thread can be had.
pub fn start(state: &Arc<State>, sockets: Vec<UnixListener>) -> Result<(), Fault> {
    let shared = Arc::clone(state);
    spawn("tick", move || {
        loop {
            std::thread::sleep(Duration::from_secs(1));
            shared.tick();
        }
    })?;
    let kinds: [(&str, [usize; 2], Serve); 3] = [
        ("broker", [BROKER_MAX; 2], broker::serve),
        ("operators", OPERATOR_MAX, operator::serve),
        ("people", PEOPLE_MAX, person::serve),
    ];
    for (listener, (name, [each, total], serve)) in sockets.into_iter().zip(kinds) {
        let (shared, limit) = (Arc::clone(state), Limit::new(each, total));
        spawn(name, move || accept(&listener, &limit, &shared, serve))?;
    }
    Ok(())
}

/// Serves one connection to its end.
type Serve = fn(&State, UnixStream, Peer);

/// Accepts one connection after the other. One that its user has too many of is closed; its peer asks again.
fn accept(listener: &UnixListener, limit: &Arc<Limit>, state: &Arc<State>, serve: Serve) {
    loop {
        let (state, (give, take)) = (Arc::clone(state), mpsc::channel());
        let work = move || take.iter().for_each(|(stream, peer, _permit)| serve(&state, stream, peer));
        // The thread comes first: without one a connection waits in the backlog, and its order is not lost.
        let accepted = spawn("connection", work).and_then(|()| {
            let (stream, _) = listener.accept().map_err(Fault::io("accept a connection"))?;
            let peer = postern_peers::peer(&stream).map_err(Fault::io("read SO_PEERCRED"))?;
            drop(limit.take(peer.uid, 1).map(|permit| give.send((stream, peer, permit))));
            Ok(())
        });
        if accepted.is_err() {
            std::thread::sleep(PAUSE);
        }
    }
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<(), Fault> {
    let thread = std::thread::Builder::new().name(name.to_owned()).spawn(work);
    thread.map(drop).map_err(Fault::io("start a thread"))
}

//! Asks `postern-files` whether it starts under a policy that was just accepted: its mounts and its confinement are made
//! of it.

use crate::host::Host;
use nix::unistd::{Gid, Uid, getegid, geteuid, setegid, seteuid};
use postern_proto::link::{self, Kind};
use postern_proto::root::v1::{Hello, Outcomes};
use std::io::ErrorKind;
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// Longest wait for the answer; a cold start takes less than a second.
const REPLY_TIMEOUT: Duration = Duration::from_secs(15);

/// Greets it, and asks about an order that nobody has sent.
///
/// # Errors
/// No answer, in words.
pub fn greet(host: &Host) -> Result<(), String> {
    let failed = |error: std::io::Error| match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => {
            format!("no answer within {} s; see: journalctl -u postern-files", REPLY_TIMEOUT.as_secs())
        }
        _ => format!("no answer: {error}; see: journalctl -u postern-files"),
    };
    let mut stream = connect(host)?;
    let times =
        stream.set_read_timeout(Some(REPLY_TIMEOUT)).and(stream.set_write_timeout(Some(REPLY_TIMEOUT)));
    times.map_err(failed)?;
    let hello = Hello { build: link::build().to_vec() };
    let sent = link::send(&mut stream, Kind::Hello, &hello);
    let order = Outcomes { order_id: vec![0; 32] };
    let sent = sent.and_then(|()| link::send(&mut stream, Kind::Outcomes, &order));
    sent.map_err(failed)?;
    match link::read(&mut stream).map_err(failed)? {
        Some((Kind::OutcomesReply, _)) => Ok(()),
        Some(_) => Err("an answer that is not understood".to_owned()),
        None => Err(failed(ErrorKind::UnexpectedEof.into())),
    }
}

/// Connects as the recorder, which is the only one that it serves.
fn connect(host: &Host) -> Result<UnixStream, String> {
    let connect = || {
        let socket = &host.files_socket;
        UnixStream::connect(socket).map_err(|error| format!("{}: {error}", socket.display()))
    };
    let Some(name) = host.greets_as else { return connect() };
    let user = (host.accounts.user)(name).ok_or_else(|| format!("there is no user {name}"))?;
    let (group, _) = (host.accounts.group)(name).ok_or_else(|| format!("there is no group {name}"))?;
    let own = (geteuid(), getegid());
    let changed = setegid(Gid::from_raw(group)).and_then(|()| seteuid(Uid::from_raw(user)));
    let connected =
        changed.map_err(|error| format!("cannot connect as {name}: {error}")).and_then(|()| connect());
    // The real uid is root's still, so this does not fail; if it did, nothing more would be done as another user.
    let back = seteuid(own.0).and_then(|()| setegid(own.1));
    back.map_err(|error| format!("cannot be root again: {error}")).and(connected)
}

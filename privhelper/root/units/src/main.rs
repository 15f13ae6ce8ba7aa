//! `postern-units`: started by its socket, as uid 0 without a capability; ends when it is idle.
//!
//! Takes no arguments. Exit status 1 and one line in the journal if it cannot serve.

use postern_root::{Fault, server};
use postern_units::{Host, State};
use std::process::ExitCode;

fn main() -> ExitCode {
    server::exit("postern-units", serve())
}

fn serve() -> Result<(), Fault> {
    let (listener, signals) = server::start(&[])?;
    let host = Host::real()?;
    let peer_uid = host.root.peer_uid;
    let state = State::open(host)?;
    let handle = |stream| state.serve(stream);
    server::serve(&listener, &signals, server::Limits::REAL, peer_uid, || true, handle).map(drop)
}

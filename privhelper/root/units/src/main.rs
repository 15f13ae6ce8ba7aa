//! `postern-units`: started by its socket, as uid 0 without a capability; ends when it is idle.
//!
//! Takes no arguments. Exit status 1 and one line in the journal if it cannot serve.

use postern_root::{Fault, server, startup};
use postern_units::{Host, State};
use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
    match serve() {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            drop(writeln!(std::io::stderr(), "postern-units: {fault}"));
            ExitCode::FAILURE
        }
    }
}

fn serve() -> Result<(), Fault> {
    startup::drop_power(&[])?;
    // First: it closes every other descriptor.
    let listener = startup::listener()?;
    let signals = startup::hold_signals()?;
    let host = Host::real()?;
    let peer_uid = host.root.peer_uid;
    let state = State::open(host)?;
    let ended = server::serve(
        &listener,
        &signals,
        server::Limits::REAL,
        peer_uid,
        || state.is_current(),
        |stream| state.serve(stream),
    );
    ended.map(drop)
}

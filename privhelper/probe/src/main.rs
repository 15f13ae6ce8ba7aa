//! `postern-probe`: started by its sockets, as a user of its own, without a capability; ends when it is idle.
//!
//! Takes no arguments. Exit status 1 and one line in the journal if it cannot serve.

use postern_probe::{Host, State, server, startup};
use postern_root::Fault;
use postern_root::server::hold_signals;
use std::process::ExitCode;

fn main() -> ExitCode {
    postern_root::server::exit("postern-probe", serve())
}

fn serve() -> Result<(), Fault> {
    startup::confine()?;
    let host = Host::real()?;
    // First: it closes every other descriptor.
    let sockets = startup::sockets(&host)?;
    let signals = hold_signals()?;
    let state = State::open(host)?;
    server::serve(&state, &sockets, &signals, server::IDLE)
}

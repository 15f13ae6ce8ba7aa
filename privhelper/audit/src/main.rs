//! `postern-audit`: started by its sockets, under its own uid, without any capability.
//!
//! Takes no arguments. Exits with 1 and one line in the journal if it cannot record.

use nix::sys::prctl::set_dumpable;
use nix::sys::signal::{SigSet, Signal};
use nix::sys::stat::{Mode, umask};
use postern_audit::fault::Fault;
use postern_audit::host::Host;
use postern_audit::listen;
use postern_audit::state::State;
use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

/// How long an effect may go on after systemd has asked for the end; the next recorder learns what became of it.
const STOP_TIME: Duration = Duration::from_secs(10);

fn main() -> ExitCode {
    match serve() {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            // Without a journal nobody could be told.
            drop(writeln!(std::io::stderr(), "postern-audit: {fault}"));
            ExitCode::FAILURE
        }
    }
}

fn serve() -> Result<(), Fault> {
    umask(Mode::from_bits_truncate(0o077));
    nix::unistd::chdir("/").map_err(Fault::io("change to /"))?;
    set_dumpable(false).map_err(Fault::io("forbid core dumps"))?;
    // Before any thread is started, since threads inherit it.
    let signals = SigSet::from_iter([Signal::SIGTERM, Signal::SIGINT]);
    signals.thread_block().map_err(Fault::io("block signals"))?;
    let host = Host::real()?;
    let sockets = listen::sockets(&host)?;
    let state = Arc::new(State::open(host)?);
    state.recover();
    listen::start(&state, sockets)?;
    signals.wait().map_err(Fault::io("wait for a signal"))?;
    state.stop(STOP_TIME)
}

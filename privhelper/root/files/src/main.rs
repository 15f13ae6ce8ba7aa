//! `postern-files`: started by its socket under its own uid, with three capabilities; ends when it is idle.
//!
//! `postern-files as-user` serves one connection of postern-units as the user of a rule, without a capability.

use caps::Capability::{CAP_CHOWN, CAP_DAC_OVERRIDE, CAP_FOWNER};
use postern_files::{State, as_user, confine, recover};
use postern_root::{Fault, Host, server};
use std::os::fd::AsFd;
use std::process::ExitCode;

fn main() -> ExitCode {
    server::exit("postern-files", run())
}

fn run() -> Result<(), Fault> {
    if std::env::args().nth(1).is_some_and(|argument| argument == "as-user") {
        server::drop_power(&[])?;
        // PID 1 passes the connection as standard input.
        let input =
            std::io::stdin().as_fd().try_clone_to_owned().map_err(Fault::io("take the connection"))?;
        return as_user::serve(input.into(), confine::confine_to);
    }
    // Needed for files of any owner and mode.
    let (listener, signals) = server::start(&[CAP_CHOWN, CAP_DAC_OVERRIDE, CAP_FOWNER])?;
    let state = State::open(Host::real("files", "/var/lib/postern-files")?, confine::confine)?;
    recover::recover_all(&state)?;
    let peer_uid = state.host.peer_uid;
    let is_current = || state.is_current();
    let handle = |stream| state.serve(stream);
    server::serve(&listener, &signals, server::Limits::REAL, peer_uid, is_current, handle).map(drop)
}

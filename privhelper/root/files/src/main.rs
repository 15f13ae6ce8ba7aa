//! `postern-files`: started by its socket under its own uid, with three capabilities; ends when it is idle.
//!
//! `postern-files as-user` serves one connection of postern-units as the user of a rule, without a capability.

use caps::Capability;
use postern_files::{State, as_user, confine};
use postern_root::{Fault, Host, server};
use std::process::ExitCode;

/// Needed for files of any owner and mode.
const CAPABILITIES: [Capability; 3] =
    [Capability::CAP_CHOWN, Capability::CAP_DAC_OVERRIDE, Capability::CAP_FOWNER];

fn main() -> ExitCode {
    server::exit("postern-files", run())
}

fn run() -> Result<(), Fault> {
    if std::env::args().nth(1).is_some_and(|argument| argument == "as-user") {
        server::drop_power(&[])?;
        return as_user::run();
    }
    let (listener, signals) = server::start(&CAPABILITIES)?;
    let state = State::open(Host::real("files", "/var/lib/postern-files")?, confine::confine)?;
    let peer_uid = state.host.peer_uid;
    let is_current = || state.is_current();
    let handle = |stream| state.serve(stream);
    server::serve(&listener, &signals, server::Limits::REAL, peer_uid, is_current, handle).map(drop)
}

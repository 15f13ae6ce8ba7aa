//! `postern-files`: started by its socket under its own uid, with three capabilities; ends when it is idle.

use caps::Capability;
use postern_files::{confine, open, serve};
use postern_root::{Fault, Host, server, startup};
use std::io::Write;
use std::process::ExitCode;

/// Files of any owner and mode, as root would change them.
const CAPABILITIES: [Capability; 3] =
    [Capability::CAP_CHOWN, Capability::CAP_DAC_OVERRIDE, Capability::CAP_FOWNER];

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            // Without a journal there is only the exit status.
            drop(writeln!(std::io::stderr(), "postern-files: {fault}"));
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Fault> {
    startup::drop_power(&CAPABILITIES)?;
    // First: it closes every other descriptor.
    let listener = startup::listener()?;
    let signals = startup::hold_signals()?;
    let state = open(Host::real("files", "/var/lib/postern-files")?, confine::confine)?;
    let peer_uid = state.host.peer_uid;
    let is_current = || state.is_current();
    let handle = |stream| serve(&state, stream);
    server::serve(&listener, &signals, server::Limits::REAL, peer_uid, is_current, handle).map(drop)
}

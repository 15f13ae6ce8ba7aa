//! `postern-broker`: started by helper.sock, as a user of its own, without any capability.
//!
//! Takes no arguments and reads no configuration but the accepted policy. Ends with 1 and one line in the journal if
//! it cannot serve safely.

use nix::sys::prctl::set_dumpable;
use nix::sys::stat::{Mode, umask};
use postern_broker::error::Fault;
use postern_broker::host::Host;
use postern_broker::state::State;
use postern_broker::{listen, sys};
use postern_policy::Code;
use std::os::unix::net::UnixListener;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

/// How often suppressed requests are reported, if any are due.
const REPORT: Duration = Duration::from_secs(5);

fn main() -> ExitCode {
    match serve() {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            sys::log(&fault);
            ExitCode::FAILURE
        }
    }
}

fn serve() -> Result<(), Fault> {
    confine()?;
    let listener = listener()?;
    let state = Arc::new(State::open(Host::real())?);
    let shared = Arc::clone(&state);
    let reporter = std::thread::Builder::new().name("report".to_owned());
    let report = move || {
        loop {
            std::thread::sleep(REPORT);
            shared.report();
        }
    };
    reporter.spawn(report).map_err(Fault::io("start a thread"))?;
    listen::accept_all(&state, &listener);
    Ok(())
}

/// Drops umask, working directory, core dumps and tracing. The unit sets the rest: user, capabilities, files, system calls.
fn confine() -> Result<(), Fault> {
    if nix::unistd::Uid::effective().is_root() {
        return Err(Fault::new(Code::Interrupted, "must not run as root; is it started by its unit?"));
    }
    umask(Mode::from_bits_truncate(0o177));
    nix::unistd::chdir("/").map_err(Fault::io("change to /"))?;
    set_dumpable(false).map_err(Fault::io("forbid core dumps and tracing"))
}

/// The one socket that systemd passes.
fn listener() -> Result<UnixListener, Fault> {
    let mut given = listenfd::ListenFd::from_env();
    let listener = given.take_unix_listener(0).map_err(Fault::io("take the socket"))?;
    let listener = listener.filter(|_| given.len() == 1);
    listener.ok_or_else(|| Fault::new(Code::Interrupted, "systemd did not pass helper.sock alone"))
}

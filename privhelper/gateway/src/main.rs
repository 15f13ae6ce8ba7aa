//! `postern-gateway`: started by systemd for one connection of the broker's, which is its standard input.

use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::process::ExitCode;

use postern_gateway::{Fault, Times, receive, serve};
use rustix::process::{DumpableBehavior, set_dumpable_behavior};

/// Its group is the broker's, which alone may hand over a connection.
const SOCKET: &str = "/run/postern/internal/gateway.sock";

fn main() -> ExitCode {
    let Err(fault) = run() else { return ExitCode::SUCCESS };
    // If the journal cannot be written, the exit status still reports the failure.
    writeln!(io::stderr(), "{fault}").ok();
    ExitCode::FAILURE
}

fn run() -> Result<(), Fault> {
    // All gateways have one uid: a captured one must not trace the others.
    set_dumpable_behavior(DumpableBehavior::NotDumpable).map_err(Fault::system("cannot forbid tracing"))?;
    let from = io::stdin().as_fd().try_clone_to_owned().map_err(Fault::system("cannot take stdin"))?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(Fault::system("cannot start"))?;
    runtime.block_on(async {
        let broker = std::fs::metadata(SOCKET).map_err(Fault::system("cannot see the socket"))?.gid();
        let handover = receive(UnixStream::from(from), broker).await?;
        // Every way in which the client ends is a success.
        serve(handover, Times::REAL).await.map(drop)
    })
}

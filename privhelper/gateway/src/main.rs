//! `postern-gateway`: started by systemd for one connection of root's, which is its standard input.

use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::process::ExitCode;

use postern_gateway::{Fault, Times, receive, serve};
use rustix::process::{DumpableBehavior, set_dumpable_behavior};

/// Who may hand a connection over.
const ROOT: u32 = 0;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            // If the journal cannot be written to, the exit status still tells.
            writeln!(io::stderr(), "{fault}").ok();
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Fault> {
    // All gateways have one uid: a captured one must not trace the others.
    set_dumpable_behavior(DumpableBehavior::NotDumpable)
        .map_err(|error| Fault::System("cannot forbid tracing", error.into()))?;
    let root = io::stdin()
        .as_fd()
        .try_clone_to_owned()
        .map_err(|error| Fault::System("cannot take standard input", error))?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .build()
        .map_err(|error| Fault::System("cannot start", error))?;
    runtime.block_on(async {
        let handover = receive(UnixStream::from(root), ROOT).await?;
        // However the client ends, the gateway has done its work.
        serve(handover, Times::REAL).await.map(drop)
    })
}

//! `postern-gateway`: started by systemd for one connection of the broker's, which is its standard input.

use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::process::ExitCode;

use postern_gateway::{Fault, Times, receive, serve};
use rustix::process::{DumpableBehavior, set_dumpable_behavior};

/// Who may hand a connection over: root's helper, or the broker where it is installed.
fn allowed() -> Vec<u32> {
    let passwd = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let broker = passwd.lines().find_map(|line| line.strip_prefix("postern-broker:"));
    let broker = broker.and_then(|line| line.split(':').nth(1)?.parse().ok());
    [0].into_iter().chain(broker).collect()
}

fn main() -> ExitCode {
    let Err(fault) = run() else { return ExitCode::SUCCESS };
    // If the journal cannot be written to, the exit status still tells.
    writeln!(io::stderr(), "{fault}").ok();
    ExitCode::FAILURE
}

fn run() -> Result<(), Fault> {
    // All gateways have one uid: a captured one must not trace the others.
    set_dumpable_behavior(DumpableBehavior::NotDumpable).map_err(Fault::system("cannot forbid tracing"))?;
    let stdin = io::stdin().as_fd().try_clone_to_owned();
    let broker = stdin.map_err(Fault::system("cannot take standard input"))?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(Fault::system("cannot start"))?;
    runtime.block_on(async {
        let handover = receive(UnixStream::from(broker), &allowed()).await?;
        // However the client ends, the gateway has done its work.
        serve(handover, Times::REAL).await.map(drop)
    })
}

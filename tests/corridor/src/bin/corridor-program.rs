//! One program of the corridor as a process of its own, for tests that kill it: `corridor-program NAME DIRECTORY [ORDER]`,
//! with its listening sockets, or the connection of a gateway, as standard input and output, as systemd keeps them across
//! the death of a program.

use postern_corridor::{gateway, job, listeners, serve};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments = std::env::args().skip(1).collect::<Vec<_>>();
    let (name, directory) = (arguments[0].as_str(), PathBuf::from(&arguments[1]));
    match (name, arguments.get(2)) {
        (_, Some(id)) if !job(name, &directory, id) => return ExitCode::FAILURE,
        (_, Some(_)) => {}
        ("gateway", None) => {
            gateway(UnixStream::from(std::io::stdin().as_fd().try_clone_to_owned().unwrap()));
        }
        ("recorder" | "probe", None) => serve(name, &directory, listeners(2)),
        _ => serve(name, &directory, listeners(1)),
    }
    ExitCode::SUCCESS
}

//! One program of the corridor as a process of its own, for tests that kill it: `corridor-program NAME DIRECTORY`, with
//! its listening socket as standard input, as systemd keeps one across the death of a program.

use postern_corridor::serve;
use std::os::fd::AsFd;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let (name, directory) = (arguments.next().unwrap(), PathBuf::from(arguments.next().unwrap()));
    let listener = UnixListener::from(std::io::stdin().as_fd().try_clone_to_owned().unwrap());
    serve(&name, &directory, &listener);
}

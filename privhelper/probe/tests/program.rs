//! The program: what it refuses to start with.
#![expect(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test stops at the first surprise")]

use std::os::unix::process::CommandExt;
use std::process::{Command, Output};

const ROOT: &str = "postern-probe: must not run as root; is it started by its unit?\n";
/// Without the accounts of the package, and with them.
const ALONE: [&str; 2] =
    ["postern-probe: no user postern-audit\n", "postern-probe: systemd must pass exactly two sockets\n"];

fn failed(command: &mut Command) -> String {
    // While coverage is measured: its user may not write the counts.
    let command = command.env_clear().env("LLVM_PROFILE_FILE", "/dev/null");
    let Output { status, stderr, stdout } = command.output().unwrap();
    assert_eq!((status.code(), stdout.as_slice()), (Some(1), &b""[..]));
    String::from_utf8(stderr).unwrap()
}

#[test]
fn refuses_to_start_without_its_sockets() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_postern-probe"));
    if nix::unistd::Uid::effective().is_root() {
        command.uid(65_534).gid(65_534);
    }
    let message = failed(&mut command);
    assert!(ALONE.contains(&message.as_str()), "{message}");
}

/// Tests that need root.
mod as_root {
    use super::{Command, ROOT, failed};

    #[test]
    #[ignore = "needs root: it is what the program refuses"]
    fn refuses_to_run_as_root() {
        assert_eq!(failed(&mut Command::new(env!("CARGO_BIN_EXE_postern-probe"))), ROOT);
    }
}

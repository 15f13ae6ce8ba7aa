//! The program's own command line.

use std::process::{Command, Stdio};

fn ended(arguments: &[&str]) -> (Option<i32>, Vec<u8>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_postern-job"));
    let answer = command.args(arguments).stdin(Stdio::null()).output().unwrap();
    (answer.status.code(), answer.stdout, String::from_utf8(answer.stderr).unwrap())
}

#[test]
fn refuses_anything_but_its_three_uses() {
    let upper = "0123456789ABCDEF0123456789ABCDEF";
    let short = "0123456789abcdef";
    for arguments in [
        &[][..],
        &["run"],
        &["run", short],
        &["run", upper],
        &["run", "../0123456789abcdef0123456789abc"],
        &["check", "$(id)"],
        &["check", upper],
        &["plan", short],
        &["--help"],
        &["run", "0123456789abcdef0123456789abcdef", "--jobs=/tmp"],
    ] {
        let (code, stdout, stderr) = ended(arguments);
        assert_eq!(code, Some(2), "{arguments:?}");
        assert!(stdout.is_empty());
        assert!(stderr.starts_with("postern-job: "), "{stderr}");
    }
}

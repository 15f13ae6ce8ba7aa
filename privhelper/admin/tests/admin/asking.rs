//! The question on a real terminal: only what is typed after it stood there is an answer.

use crate::desk::{Desk, approve, decisions, expect, hex, id, sha256};
use crate::support::{GOOD, Ran, TestHost};
use nix::pty::{Winsize, openpty};
use postern_admin::approvals::{Charset, Ink, Look, Terminal, Which, look_of};
use postern_admin::io::Exit;
use postern_proto::v1::OperatorDecideRequest;
use std::fs::File;
use std::io::{Read, Write};
use std::thread;

const TEXT: &[u8] = b"unit.restart nginx.service\n\x1b[c\x1b[6n\n";
const END: &str = "changes nothing: ";

/// A person types `before` the command starts and `after` the question stands; returns what the screen was sent, too.
fn at_a_terminal(before: &str, after: &str) -> (Ran, Vec<OperatorDecideRequest>, String) {
    let host = TestHost::new(GOOD);
    let helper = Desk::with(&[("3f9a", TEXT)]).helper(&host);
    let size = Winsize { ws_row: 24, ws_col: 72, ws_xpixel: 0, ws_ypixel: 0 };
    let pty = openpty(Some(&size), None).unwrap();
    let mut keyboard = File::from(pty.master);
    let tty = File::from(pty.slave);
    assert_eq!(look_of(&tty).columns, 72);
    keyboard.write_all(before.as_bytes()).unwrap();
    let look = Look { columns: 72, ink: Ink::Plain, charset: Charset::Ascii };
    let command = thread::spawn(move || {
        (approve(&host, &Which::Id(id("3f9a")), &mut Terminal::new(tty, look)), decisions(&helper.finish()))
    });
    let (mut screen, mut buffer) = (String::new(), [0; 4096]);
    while !screen.ends_with(END) {
        let read = keyboard.read(&mut buffer).unwrap();
        screen.push_str(str::from_utf8(&buffer[..read]).unwrap());
    }
    keyboard.write_all(after.as_bytes()).unwrap();
    let (ran, decided) = command.join().unwrap();
    (ran, decided, screen)
}

fn digits() -> String {
    hex(&sha256(TEXT))[60..].to_owned()
}

#[test]
fn what_was_typed_ahead_is_no_answer() {
    let right = format!("{}\n", digits());
    for before in [right.clone(), right.repeat(50), format!("\n\ny\n{right}")] {
        let (ran, decided, _) = at_a_terminal(&before, "\n");
        expect(&ran, Exit::NotApproved, "nothing was approved");
        assert_eq!(decided, [], "{before:?}");
    }
}

#[test]
fn what_is_typed_after_the_question_is() {
    // Half a word that stood there before does not spoil it.
    for before in ["", "y\n", "no"] {
        let (ran, decided, _) = at_a_terminal(before, &format!("{}\n", digits()));
        expect(&ran, Exit::Done, "approved: runs now");
        assert_eq!(decided.len(), 1);
        assert_eq!(decided[0].shown_sha256, sha256(TEXT));
    }
}

#[test]
fn the_end_of_input_is_no_answer() {
    let (ran, decided, _) = at_a_terminal("", "\x04");
    expect(&ran, Exit::NotApproved, "nothing was approved");
    assert_eq!(decided, []);
}

#[test]
fn the_terminal_is_driven_by_nothing_that_is_shown() {
    let (_, _, screen) = at_a_terminal("", "\n");
    let is_plain = |c: char| matches!(c, '\r' | '\n' | ' '..='~');
    assert!(screen.chars().all(is_plain), "{screen:?}");
    assert!(screen.contains("   2 | \\x1b[c\\x1b[6n\r\n"), "{screen:?}");
}

//! The question on a real terminal: only what is typed after it stood there is an answer.

use crate::approvals_support::{Desk, approve, decisions, digest, expect, hex, id};
use crate::support::{GOOD, Ran, TestHost};
use clap::Parser;
use nix::pty::{Winsize, openpty};
use postern_admin::approvals::{Charset, Screen, Selection, Style, Terminal, screen_of};
use postern_admin::cli::{self, Cli};
use postern_admin::io::{Answers, AtTerminal, Exit, Io};
use postern_proto::v1::OperatorDecideRequest;
use std::fs::File;
use std::io::{self, BufReader, Read, Write};
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
    assert_eq!(screen_of(&tty).columns, 72);
    keyboard.write_all(before.as_bytes()).unwrap();
    let screen = Screen { columns: 72, style: Style::Plain, charset: Charset::Ascii };
    let command = thread::spawn(move || {
        (
            approve(&host, &Selection::Id(id("3f9a")), &mut Terminal::new(tty, screen)),
            decisions(&helper.finish()),
        )
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
    hex(&digest(TEXT))[60..].to_owned()
}

#[test]
fn input_typed_before_the_prompt_is_discarded() {
    let right = format!("{}\n", digits());
    for before in [right.clone(), right.repeat(50), format!("\n\ny\n{right}")] {
        let (ran, decided, _) = at_a_terminal(&before, "\n");
        expect(&ran, Exit::NotApproved, "nothing was approved");
        assert_eq!(decided, [], "{before:?}");
    }
}

#[test]
fn input_typed_after_the_prompt_is_accepted() {
    // Half a word that stood there before does not spoil it.
    for before in ["", "y\n", "no"] {
        let (ran, decided, _) = at_a_terminal(before, &format!("{}\n", digits()));
        expect(&ran, Exit::Done, "approved: runs now");
        assert_eq!(decided.len(), 1);
        assert_eq!(decided[0].shown_sha256, digest(TEXT));
    }
}

#[test]
fn end_of_input_does_not_approve() {
    let (ran, decided, _) = at_a_terminal("", "\x04");
    expect(&ran, Exit::NotApproved, "nothing was approved");
    assert_eq!(decided, []);
}

#[test]
fn shown_text_cannot_send_control_sequences_to_the_terminal() {
    let (_, _, screen) = at_a_terminal("", "\n");
    let is_plain = |c: char| matches!(c, '\r' | '\n' | ' '..='~');
    assert!(screen.chars().all(is_plain), "{screen:?}");
    assert!(screen.contains("| +\\x1b[c\\x1b[6n\r\n"), "{screen:?}");
}

/// A person at a terminal who types as soon as the question stands.
struct Waiting {
    at: AtTerminal<File, BufReader<File>>,
    keyboard: File,
    types: &'static str,
}

impl Answers for Waiting {
    fn discard(&mut self) -> io::Result<()> {
        self.at.discard()?;
        self.keyboard.write_all(self.types.as_bytes())
    }

    fn line(&mut self) -> io::Result<String> {
        self.at.line()
    }
}

#[test]
fn discards_input_typed_before_the_apply_prompt() {
    for (before, types, exit) in
        [("y\n", "n\n", Exit::Failed), ("n\n", "y\n", Exit::Done), ("y\ny\n", "\n", Exit::Failed)]
    {
        let host = TestHost::new(GOOD);
        let pty = openpty(None, None).unwrap();
        let mut keyboard = File::from(pty.master);
        let tty = File::from(pty.slave);
        keyboard.write_all(before.as_bytes()).unwrap();
        let at = AtTerminal { terminal: tty.try_clone().unwrap(), lines: BufReader::new(tty) };
        let mut person = Waiting { at, keyboard, types };
        let cli = Cli::try_parse_from(["postern-admin", "policy", "apply"]).unwrap();
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let mut io = Io { out: &mut out, err: &mut err, answers: Some(&mut person) };
        let ended = cli::run(&cli, &host.host, &mut io).unwrap();
        assert_eq!((ended, host.accepted().is_some()), (exit, exit == Exit::Done), "{before:?} {types:?}");
    }
}

//! An operator at a real terminal: `postern-admin` has it alone while it asks, and an interrupt is its own.

mod common;

use common::{FakeHelper, Place, Play, approval, in_seconds, progress, unit, until, waiting};
use nix::pty::openpty;
use postern_agent::{Host, cli};
use postern_proto::v1::{self, Status};
use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::Notify;

const PLACE: &str = "POSTERN_TEST_TERMINAL_PLACE";

fn host(place: &Path) -> Host {
    Host {
        helper_socket: place.join("helper.sock"),
        operator_socket: place.join("operator.sock"),
        admin: place.join("postern-admin"),
        operators: "no-such-group".to_owned(),
        ..Host::default()
    }
}

/// No test of its own: the process that the others start on a terminal.
#[tokio::test]
#[ignore = "the command line that the other tests start"]
async fn command_line() {
    let Some(place) = std::env::var_os(PLACE).map(PathBuf::from) else { return };
    let args = ["postern", "--direct", "service", "restart", "nginx"].map(Into::into);
    let exit = cli::run(args, &host(&place), &mut cli::Console::standard()).await;
    std::fs::write(place.join("exit"), format!("{}", exit.number())).expect("write");
}

/// A command line on a terminal of its own, whose output is kept.
struct Terminal {
    place: Place,
    child: Child,
    master: File,
    screen: Arc<Mutex<Vec<u8>>>,
    helper: FakeHelper,
    go: Arc<Notify>,
    _operators: UnixListener,
}

impl Terminal {
    fn start(end: v1::event::Kind) -> Self {
        let place = Place::new();
        // It reads from the terminal, as the real one does, and leaves what it read.
        place.script(
            "postern-admin",
            "printf 'QUESTION '\nread answer < /dev/tty\necho \"$answer\" > $0.answer\nprintf 'ANSWERED\\n'",
        );
        let operators = UnixListener::bind(place.path("operator.sock")).unwrap();
        let go = Arc::new(Notify::new());
        let before = waiting(&approval("a"), in_seconds(840));
        let helper =
            place.helper(vec![Play::Hold(before, Arc::clone(&go), vec![progress("\u{1b}[2Jfake", 50), end])]);
        let pty = openpty(None, None).unwrap();
        let slave = File::from(pty.slave);
        let child = Command::new("setsid")
            .args(["--ctty", "--wait"])
            .arg(std::env::current_exe().unwrap())
            .args(["--exact", "command_line", "--ignored", "--nocapture", "--quiet"])
            .env(PLACE, place.path(""))
            .env("TERM", "xterm")
            .stdin(slave.try_clone().unwrap())
            .stdout(slave.try_clone().unwrap())
            .stderr(slave)
            .spawn()
            .unwrap();
        let (master, screen) = (File::from(pty.master), Arc::<Mutex<Vec<u8>>>::default());
        let (mut from, to) = (master.try_clone().unwrap(), Arc::clone(&screen));
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = from.read(&mut bytes) {
                to.lock().unwrap().extend_from_slice(&bytes[..count]);
            }
        });
        Self { place, child, master, screen, helper, go, _operators: operators }
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.screen.lock().unwrap()).into_owned()
    }

    async fn shows(&self, text: &str) {
        for _ in 0..500 {
            if self.text().contains(text) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("never {text:?}:\n{}", self.text());
    }

    async fn end(mut self) -> (String, String) {
        let child = &mut self.child;
        until("the command line ends", || child.try_wait().unwrap().is_some()).await;
        assert_eq!(self.helper.seen().len(), 1);
        let exit = std::fs::read_to_string(self.place.path("exit")).unwrap();
        (exit, self.text())
    }
}

#[tokio::test]
async fn nothing_stands_beside_the_question() {
    let mut terminal = Terminal::start(unit(Status::Done, "nginx.service", "active", "running"));
    terminal.shows("QUESTION ").await;
    terminal.go.notify_one();
    tokio::time::sleep(Duration::from_millis(400)).await;
    assert!(terminal.text().ends_with("QUESTION "), "{}", terminal.text());
    terminal.master.write_all(b"beef\n").unwrap();
    terminal.shows("nginx.service is active (running)").await;
    let answer = terminal.place.path("postern-admin.answer");
    assert_eq!(std::fs::read_to_string(answer).unwrap(), "beef\n", "all that was typed is the question's");
    let (exit, screen) = terminal.end().await;
    assert_eq!(exit, "0", "{screen}");
    assert!(screen.contains("QUESTION beef\r\nANSWERED\r\n"), "{screen}");
    assert!(!screen.contains("[2Jfake") || screen.contains("\\x1b[2Jfake"), "{screen}");
}

#[tokio::test]
async fn an_interrupt_at_the_question_ends_the_question_only() {
    let refused = v1::Refused { code: "not_approved".into(), message: "no".into(), ..v1::Refused::default() };
    let mut terminal = Terminal::start(v1::event::Kind::Refused(refused));
    terminal.shows("QUESTION ").await;
    terminal.master.write_all(b"\x03").unwrap();
    terminal.shows("waits for approval (rule web-config) until ").await;
    assert!(!terminal.text().contains("ANSWERED"));
    terminal.go.notify_one();
    terminal.shows("an operator said no: no").await;
    let (exit, screen) = terminal.end().await;
    assert_eq!(exit, "4", "{screen}");
}

#[tokio::test]
async fn an_interrupt_while_nobody_is_asked_ends_the_command_and_says_what_goes_on() {
    let mut terminal = Terminal::start(unit(Status::Done, "nginx.service", "active", "running"));
    terminal.shows("QUESTION ").await;
    terminal.master.write_all(b"\x03").unwrap();
    terminal.shows("this terminal may be closed").await;
    tokio::time::sleep(Duration::from_millis(400)).await;
    terminal.master.write_all(b"\x03").unwrap();
    let (exit, screen) = terminal.end().await;
    assert_eq!(exit, "1", "{screen}");
    assert!(screen.contains("cancelled: it still waits and is done if somebody approves"), "{screen}");
}

//! A person at a real terminal: `postern-admin` has it alone while it asks an operator, and an interrupt is its own;
//! bars, colours and questions of a patch.
#![expect(clippy::disallowed_methods, reason = "tests start programs")]

mod common;
#[path = "model/server.rs"]
#[expect(dead_code, reason = "what misbehaves is for others")]
mod server;

use common::{
    ENDED_WHILE_ASKED, FakeHelper, Place, Play, approval, completed, debug_log, ended, in_seconds, output,
    progress, unit, until, waiting,
};
use nix::pty::{Winsize, openpty};
use postern_agent::redaction::log;
use postern_agent::{Host, cli};
use postern_proto::v1::{self, Status};
use std::fs::{File, Permissions, set_permissions};
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::Notify;

const PLACE: &str = "POSTERN_TEST_TERMINAL_PLACE";

const ARGUMENTS: &str = "POSTERN_TEST_TERMINAL_ARGUMENTS";
const RESTART: &[&str] = &["--direct", "service", "restart", "nginx"];
const COLUMNS: u16 = 60;

fn host(place: &Path) -> Host {
    Host {
        agent_socket: place.join("agent.sock"),
        helper_socket: place.join("helper.sock"),
        operator_socket: place.join("operator.sock"),
        person_socket: place.join("person.sock"),
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
    let arguments = std::env::var(ARGUMENTS).expect("arguments");
    let args = ["postern"].into_iter().chain(arguments.split('\n')).filter(|word| !word.is_empty());
    let args = args.map(Into::into);
    let to = std::sync::Mutex::new(File::create(place.join("log")).expect("create"));
    tracing::subscriber::set_global_default(log::subscriber(&debug_log(), to)).expect("the only log");
    let exit = cli::run(args, &host(&place), &mut cli::Console::standard()).await;
    std::fs::write(place.join("exit"), format!("{}", exit.number())).expect("write");
}

/// A command line on a terminal of its own, whose output is kept.
struct Terminal {
    place: Place,
    child: Child,
    master: File,
    screen: Arc<Mutex<Vec<u8>>>,
    reading: std::thread::JoinHandle<()>,
    helper: FakeHelper,
    go: Arc<Notify>,
    /// The terminal's own file.
    tty: PathBuf,
    _operators: Option<UnixListener>,
}

impl Terminal {
    /// An operator's, whose request waits for approval.
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
        let after = vec![progress("\u{1b}[2Jfake", 50), end];
        let script = vec![Play::Hold(before, Arc::clone(&go), after)];
        Self { _operators: Some(operators), ..Self::run(place, RESTART, script, go) }
    }

    fn run(place: Place, arguments: &[&str], script: Vec<Play>, go: Arc<Notify>) -> Self {
        Self::run_with(None, place, arguments, script, go)
    }

    /// The same with standard input from a file.
    fn run_with(
        input: Option<&Path>,
        place: Place,
        arguments: &[&str],
        script: Vec<Play>,
        go: Arc<Notify>,
    ) -> Self {
        let helper = place.helper(script);
        let size = Winsize { ws_row: 24, ws_col: COLUMNS, ws_xpixel: 0, ws_ypixel: 0 };
        let pty = openpty(Some(&size), None).unwrap();
        let slave = File::from(pty.slave);
        let tty = nix::unistd::ttyname(&slave).unwrap();
        set_permissions(&tty, Permissions::from_mode(0o620)).unwrap();
        let child = Command::new("setsid")
            .args(["--ctty", "--wait", "sh", "-c"])
            .arg(input.map_or(r#"exec "$0" "$@""#.to_owned(), |from| {
                format!(r#"exec "$0" "$@" < {}"#, from.display())
            }))
            .arg(std::env::current_exe().unwrap())
            .args(["--exact", "command_line", "--ignored", "--nocapture", "--quiet"])
            .env(PLACE, place.path(""))
            .env(ARGUMENTS, arguments.join("\n"))
            .env("TERM", "xterm")
            .env("XDG_STATE_HOME", place.path("home"))
            .env("PAGER", place.path("pager"))
            .env_remove("NO_COLOR")
            .stdin(slave.try_clone().unwrap())
            .stdout(slave.try_clone().unwrap())
            .stderr(slave)
            .spawn()
            .unwrap();
        let (master, screen) = (File::from(pty.master), Arc::<Mutex<Vec<u8>>>::default());
        let (mut from, to) = (master.try_clone().unwrap(), Arc::clone(&screen));
        let reading = std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = from.read(&mut bytes) {
                to.lock().unwrap().extend_from_slice(&bytes[..count]);
            }
        });
        Self { place, child, master, screen, reading, helper, go, tty, _operators: None }
    }

    /// Whether others may write on it, as mesg(1) shows.
    fn takes_messages(&self) -> bool {
        std::fs::metadata(&self.tty).unwrap().permissions().mode() & 0o020 != 0
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
        // The last process on the terminal has closed it: nothing more comes.
        until("the screen is whole", || self.reading.is_finished()).await;
        let exit = std::fs::read_to_string(self.place.path("exit")).unwrap();
        (exit, self.text())
    }
}

#[tokio::test]
async fn nothing_stands_beside_the_question() {
    let mut terminal = Terminal::start(unit(Status::Done, "nginx.service", "active", "running"));
    terminal.shows("QUESTION ").await;
    terminal.go.notify_one();
    let log = terminal.place.path("log");
    let has_ended = || std::fs::read_to_string(&log).is_ok_and(|log| log.contains(ENDED_WHILE_ASKED));
    until("the outcome has come", has_ended).await;
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
async fn a_terminal_on_which_an_operator_is_asked_takes_no_messages_meanwhile() {
    let mut terminal = Terminal::start(unit(Status::Done, "nginx.service", "active", "running"));
    terminal.shows("QUESTION ").await;
    assert!(!terminal.takes_messages());
    terminal.go.notify_one();
    terminal.master.write_all(b"beef\n").unwrap();
    until("the command line has ended", || terminal.place.path("exit").exists()).await;
    assert!(terminal.takes_messages());
    let (exit, screen) = terminal.end().await;
    assert_eq!(exit, "0", "{screen}");
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
    // One that comes right after the question's end is taken for a late one of the question's.
    while !terminal.place.path("exit").exists() {
        terminal.master.write_all(b"\x03").unwrap();
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let (exit, screen) = terminal.end().await;
    assert_eq!(exit, "1", "{screen}");
    assert!(screen.contains("cancelled: it still waits and is done if somebody approves"), "{screen}");
}

#[tokio::test]
async fn a_terminal_that_goes_away_is_told_what_goes_on() {
    let terminal = Terminal::start(unit(Status::Done, "nginx.service", "active", "running"));
    terminal.shows("QUESTION ").await;
    // The question ends with its terminal, and so does the command.
    let child = nix::unistd::Pid::from_raw(i32::try_from(terminal.child.id()).unwrap());
    nix::sys::signal::kill(child, nix::sys::signal::Signal::SIGHUP).unwrap();
    let (exit, screen) = terminal.end().await;
    assert_eq!(exit, "1", "{screen}");
    assert!(screen.contains("cancelled: it still waits and is done if somebody approves"), "{screen}");
    assert!(screen.contains("see `postern result "), "{screen}");
}

fn phase(phase: v1::Phase, item: &str, percent: u32, detail: &str) -> v1::event::Kind {
    let (phase, item, detail) = (phase.into(), item.to_owned(), detail.to_owned());
    v1::event::Kind::Progress(v1::Progress { phase, item, percent, detail })
}

#[tokio::test]
async fn each_phase_has_a_bar_that_fits_the_terminal() {
    let go = Arc::new(Notify::new());
    let lock = phase(v1::Phase::Waiting, "", 0, "the lock is held by apt-get (process 7)");
    let long = format!("\u{1b}[2J{}", "x".repeat(200));
    let after = vec![
        phase(v1::Phase::Download, "1", 20, "one"),
        phase(v1::Phase::Unpack, "nginx", 40, &long),
        ended(Status::Done, ""),
    ];
    let script = vec![Play::Hold(vec![common::accepted(), lock], Arc::clone(&go), after)];
    let terminal = Terminal::run(Place::new(), &["--direct", "package", "install", "nginx"], script, go);
    terminal.shows("waiting     the lock is held by apt-get (process 7)").await;
    assert!(!terminal.text().contains('%'), "waiting has no percent: {}", terminal.text());
    assert!(terminal.text().contains(" 0s"), "how long it takes: {}", terminal.text());
    terminal.go.notify_one();
    let (exit, screen) = terminal.end().await;
    assert_eq!(exit, "0", "{screen}");
    for part in ["downloading ", " 20 % file 1: one", "unpacking   ", " 40 % nginx: \\x1b[2Jxxx"] {
        assert!(screen.contains(part), "{part}: {screen:?}");
    }
    assert!(!screen.contains("\u{1b}[2J"), "{screen:?}");
    assert!(!screen.contains(&"x".repeat(usize::from(COLUMNS))), "{screen:?}");
}

#[tokio::test]
async fn download_of_known_size_shows_its_rate_and_the_time_that_is_left() {
    let go = Arc::new(Notify::new());
    let begun = phase(v1::Phase::Download, "", 0, "Retrieving file 1 of 2");
    let after = vec![
        phase(v1::Phase::Download, "", 50, "Retrieving file 2 of 2"),
        phase(v1::Phase::Unpack, "nginx", 10, "Unpacking nginx"),
        ended(Status::Done, ""),
    ];
    let plan = v1::Plan { download_bytes: 40 << 20, ..v1::Plan::default() };
    let status = Status::Previewed.into();
    let previewed = completed(v1::Completed { status, plan: Some(plan), ..v1::Completed::default() });
    let script = vec![
        Play::Hold(vec![common::accepted(), begun], Arc::clone(&go), after),
        Play::Events(vec![previewed]),
    ];
    let terminal = Terminal::run(Place::new(), &["--direct", "package", "install", "nginx"], script, go);
    until("the plan is asked for", || terminal.helper.seen().len() == 2).await;
    assert_eq!(terminal.helper.seen()[1].meta().mode(), v1::Mode::Preview);
    terminal.go.notify_one();
    let (exit, screen) = terminal.end().await;
    assert_eq!(exit, "0", "{screen}");
    for part in
        ["downloading 20.00 MiB/40.00 MiB ", "/s ", "s left", "unpacking   ", " 10 % nginx: Unpacking"]
    {
        assert!(screen.contains(part), "{part}: {screen:?}");
    }
}

#[tokio::test]
async fn download_that_was_approved_has_the_size_of_the_plan_that_was_shown() {
    let place = Place::new();
    let plan = v1::Plan { download_bytes: 40 << 20, ..v1::Plan::default() };
    let asked = v1::Waiting { approval_id: approval("a"), expires_unix_s: in_seconds(60), plan: Some(plan) };
    let events = vec![
        common::accepted(),
        v1::event::Kind::Waiting(asked),
        phase(v1::Phase::Download, "", 1, ""),
        ended(Status::Done, ""),
    ];
    let helper = place.helper(vec![Play::Events(events)]);
    let ran = place.run(&["package", "install", "nginx", "--direct"]).await;
    assert!(ran.err.contains("downloading 40.00 MiB\n"), "{ran:?}");
    assert_eq!(helper.seen().len(), 1, "nobody is asked for the plan again");
}

#[tokio::test]
async fn download_of_a_task_says_its_size_where_no_terminal_is() {
    let place = Place::new();
    let go = Arc::new(Notify::new());
    let after = vec![phase(v1::Phase::Download, "", 50, ""), ended(Status::Done, "")];
    let begun = vec![common::accepted(), phase(v1::Phase::Download, "", 1, "")];
    let plan = v1::Plan { download_bytes: 40 << 20, ..v1::Plan::default() };
    let status = Status::Previewed.into();
    let previewed = completed(v1::Completed { status, plan: Some(plan), ..v1::Completed::default() });
    let helper = place.helper(vec![Play::Hold(begun, Arc::clone(&go), after), Play::Events(vec![previewed])]);
    place.serve();
    let meanwhile = async {
        until("the plan is asked for", || helper.seen().len() == 2).await;
        go.notify_one();
    };
    let (ran, ()) = tokio::join!(place.run(&["run", "install nginx"]), meanwhile);
    assert_eq!(ran.exit, postern_agent::Exit::Done, "{ran:?}");
    assert!(ran.err.contains("downloading 40.00 MiB\n"), "{ran:?}");
}

fn file(content: &[u8]) -> Play {
    let status = Status::Done.into();
    let done = completed(v1::Completed { status, ..v1::Completed::default() });
    Play::Events(vec![output(v1::Stream::Content, content), done])
}

const TWO_FILES: &str = "--- a/etc/x\n+++ b/etc/x\n@@ -1 +1 @@\n-one\n+ONE\n\
    --- a/etc/y\n+++ b/etc/y\n@@ -1 +1 @@\n-two\n+TWO\n";

fn patch(answers: usize) -> Terminal {
    let place = Place::new();
    std::fs::write(place.path("diff"), TWO_FILES).unwrap();
    let from = place.path("diff").display().to_string();
    let mut script = vec![file(b"one\n"), file(b"two\n")];
    script.extend((0..answers).map(|_| Play::Events(vec![ended(Status::Done, "")])));
    Terminal::run(
        place,
        &["--direct", "file", "patch", "--from", &from, "--interactive"],
        script,
        Arc::default(),
    )
}

#[tokio::test]
async fn a_person_drops_files_of_a_patch_before_it_is_sent() {
    let mut terminal = patch(1);
    terminal.shows("/etc/x +1 -1: send it? [y]es, [n]o, [a]ll that follow, [q]uit: ").await;
    assert!(
        terminal.text().contains("\u{1b}[31m-one\u{1b}[0m\r\n\u{1b}[32m+ONE\u{1b}[0m"),
        "{}",
        terminal.text()
    );
    assert!(!terminal.text().contains("TWO"));
    terminal.master.write_all(b"n\n").unwrap();
    terminal.shows("/etc/y +1 -1: send it?").await;
    terminal.master.write_all(b"y\n").unwrap();
    let helper = Arc::clone(&terminal.helper.seen);
    let (exit, screen) = terminal.end().await;
    assert_eq!(exit, "0", "{screen}");
    let sent: v1::FilePatchRequest = helper.lock().unwrap()[2].decode();
    let paths: Vec<_> = sent.changes.iter().map(|change| change.path.as_str()).collect();
    assert_eq!(paths, ["/etc/y"]);
}

#[tokio::test]
async fn a_person_who_is_asked_of_a_patch_can_leave_it_be() {
    for answer in [&b"q\n"[..], b"\n", b"\x03"] {
        let mut terminal = patch(0);
        terminal.shows("/etc/x +1 -1: send it?").await;
        terminal.master.write_all(answer).unwrap();
        let helper = Arc::clone(&terminal.helper.seen);
        let (exit, screen) = terminal.end().await;
        assert_eq!(exit, "1", "{screen}");
        assert!(screen.contains("cancelled: nothing has been sent"), "{screen}");
        assert_eq!(helper.lock().unwrap().len(), 2, "the two reads");
    }
}

/// A pager that keeps what it shows, and waits for a key.
const PAGER: &str = "cat > $0.shown\nprintf PAGED\nread key < /dev/tty";

/// A patch of one file that the screen does not hold, with a character that drives terminals in it.
fn long_patch(pager: Option<&str>) -> Terminal {
    let place = Place::new();
    if let Some(pager) = pager {
        place.script("pager", pager);
    }
    let lines = (0..40).map(|line| format!("+line {line} \u{1b}[2J\n")).collect::<Vec<_>>().concat();
    std::fs::write(place.path("diff"), format!("--- /dev/null\n+++ b/etc/x\n@@ -0,0 +1,40 @@\n{lines}"))
        .unwrap();
    let from = place.path("diff").display().to_string();
    let script = vec![Play::Events(vec![ended(Status::Done, "")])];
    let arguments = ["--direct", "file", "patch", "--from", &from, "--interactive"];
    Terminal::run(place, &arguments, script, Arc::default())
}

#[tokio::test]
async fn long_diff_is_shown_by_the_pager_with_hostile_characters_escaped_before_the_question() {
    let mut terminal = long_patch(Some(PAGER));
    terminal.shows("PAGED").await;
    assert!(!terminal.text().contains("send it?"), "{}", terminal.text());
    let shown = std::fs::read_to_string(terminal.place.path("pager.shown")).unwrap();
    assert!(shown.contains("+line 39 \\x1b[2J") && !shown.contains("\u{1b}[2J"), "{shown:?}");
    terminal.master.write_all(b"q\n").unwrap();
    terminal.shows("/etc/x +40 -0: send it?").await;
    terminal.master.write_all(b"y\n").unwrap();
    let (exit, screen) = terminal.end().await;
    assert_eq!(exit, "0", "{screen}");
    assert!(!screen.contains("line 39"), "it is shown once: {screen}");
}

#[tokio::test]
async fn long_diff_without_a_pager_is_shown_as_it_is() {
    let mut terminal = long_patch(None);
    terminal.shows("/etc/x +40 -0: send it?").await;
    assert!(terminal.text().contains("line 39"), "{}", terminal.text());
    terminal.master.write_all(b"q\n").unwrap();
    assert_eq!(terminal.end().await.0, "1");
}

#[tokio::test]
async fn interrupt_in_the_pager_of_a_question_does_not_end_the_task() {
    let lines = (0..60).map(|line| format!("line {line}\n")).collect::<Vec<_>>().concat();
    let server = server::Server::start(vec![
        calls("write_file", &serde_json::json!({ "path": "/etc/x", "content": lines })),
        calls("finish", &serde_json::json!({ "outcome": "done", "summary": "all is said" })),
    ])
    .await;
    let place = Place::new();
    place.script("pager", PAGER);
    let text = format!("[model]\nprovider = \"openai\"\nbase_url = \"http://{}/v1\"\n", server.address);
    std::fs::write(&place.host.config, text).unwrap();
    place.serve();
    let previewed = Play::Events(vec![ended(Status::Previewed, "")]);
    let done = Play::Events(vec![ended(Status::Done, "")]);
    let missing = Play::Events(vec![ended(Status::Failed, "not_found")]);
    let script = vec![describe(), may_read(), missing, previewed, done];
    let mut terminal = Terminal::run(place, &["run", "set the port"], script, Arc::default());
    terminal.shows("PAGED").await;
    terminal.master.write_all(b"\x03").unwrap();
    terminal.shows(CHOICES).await;
    terminal.master.write_all(b"y\n").unwrap();
    let (exit, screen) = terminal.end().await;
    assert_eq!(exit, "0", "{screen}");
    assert!(screen.contains("all is said"), "{screen}");
}

/// A task that was at work when an earlier agent ended.
fn interrupted_task(place: &Place) {
    std::fs::create_dir_all(&place.host.state).unwrap();
    let old = rusqlite::Connection::open(place.host.state.join("postern.db")).unwrap();
    old.execute_batch(include_str!("../src/store/database/1.sql")).unwrap();
    let owner = serde_json::json!({ "uid": nix::unistd::getuid().as_raw() });
    let step = serde_json::json!({ "tool": "service", "args": { "action": "restart", "name": "nginx" } });
    let order = serde_json::json!({ "task": "restart nginx", "session": "mine", "steps": [step], "mode": "execute",
        "reason": "", "wait_ms": 0, "owner": owner, "interactive": false });
    let id = "01890000-0000-7000-8000-000000000000";
    let record = serde_json::json!({ "id": id, "session": "mine", "task": "restart nginx", "status": "running",
        "summary": "", "results": [], "changes": [], "warnings": [], "usage": {} });
    let values = [id, &owner.to_string(), &order.to_string(), &record.to_string()];
    let insert = "INSERT INTO tasks (id, owner, session, status, ordered, record) VALUES (?, ?, 'mine', 'running', ?, ?)";
    old.execute(insert, values).unwrap();
    old.execute_batch("PRAGMA user_version = 1").unwrap();
}

#[tokio::test]
async fn resume_at_the_prompt_goes_on_with_the_newest_interrupted_task() {
    let place = Place::new();
    interrupted_task(&place);
    place.serve();
    let script = vec![Play::Events(vec![unit(Status::Done, "nginx.service", "active", "running")])];
    let mut terminal = Terminal::run(place, &[], script, Arc::default());
    terminal.shows("postern> ").await;
    terminal.master.write_all(b"/resume 0199\r").unwrap();
    terminal.shows("no such task was interrupted").await;
    terminal.master.write_all(b"/resume\r").unwrap();
    terminal.shows("resumes: restart nginx").await;
    terminal.shows("nginx.service is active (running)").await;
    until("it is recorded", || !terminal.helper.seen().is_empty()).await;
    terminal.shows(": ok").await;
    terminal.master.write_all(b"/resume\r").unwrap();
    until("it says so again", || terminal.text().matches("no such task was interrupted").count() == 2).await;
    terminal.master.write_all(b"/quit\r").unwrap();
    let helper = Arc::clone(&terminal.helper.seen);
    let (exit, screen) = terminal.end().await;
    assert_eq!(exit, "0", "{screen}");
    let rpcs: Vec<String> = helper.lock().unwrap().iter().map(|seen| seen.rpc.clone()).collect();
    assert_eq!(rpcs, ["UnitRestart"]);
}

/// A model's call as an endpoint answers with it.
fn calls(tool: &str, args: &serde_json::Value) -> server::Play {
    let function = serde_json::json!({ "name": tool, "arguments": args.to_string() });
    let message = serde_json::json!({ "content": null, "tool_calls": [{ "id": "c", "function": function }] });
    let body = serde_json::json!({ "choices": [{ "message": message, "finish_reason": "tool_calls" }] });
    server::Play::Answer(200, &[("content-type", "application/json")], body.to_string())
}

/// A task of a model that asks and then writes a file, on a terminal.
async fn task_of_a_model(script: Vec<Play>) -> (Terminal, server::Server) {
    let server = server::Server::start(vec![
        calls("ask_person", &serde_json::json!({ "question": "Which port?\u{1b}[2J" })),
        calls("write_file", &serde_json::json!({ "path": "/etc/x", "content": "port 8080\n" })),
        calls("finish", &serde_json::json!({ "outcome": "done", "summary": "all is said" })),
    ])
    .await;
    let place = Place::new();
    let text = format!("[model]\nprovider = \"openai\"\nbase_url = \"http://{}/v1\"\n", server.address);
    std::fs::write(&place.host.config, text).unwrap();
    place.serve();
    (Terminal::run(place, &["run", "set the port"], script, Arc::default()), server)
}

fn may_read() -> Play {
    let status = Status::Previewed.into();
    let decision = v1::Decision::Allow.into();
    Play::Events(vec![completed(v1::Completed { status, decision, ..v1::Completed::default() })])
}

fn describe() -> Play {
    Play::Events(vec![ended(Status::Done, "")])
}

const CHOICES: &str = "[y]es, [n]o, t WORDS for something else: ";

#[tokio::test]
async fn a_task_asks_its_person_and_shows_the_first_change_before_it_is_made() {
    let previewed = || Play::Events(vec![ended(Status::Previewed, "")]);
    let done = Play::Events(vec![ended(Status::Done, "")]);
    let (mut terminal, server) =
        task_of_a_model(vec![describe(), may_read(), file(b"port 80\n"), previewed(), done]).await;
    // Input typed before the prompt is discarded.
    terminal.master.write_all(b"y\n").unwrap();
    terminal.shows("Which port?\\x1b[2J\r\nyour answer (nothing = none): ").await;
    terminal.master.write_all(b"8080\n").unwrap();
    // The file was not read by the model: that is the question, and it is the first change too.
    terminal.shows("\"/etc/x\" exists, and the model has not read it").await;
    terminal.shows(CHOICES).await;
    assert!(terminal.text().contains("-port 80\u{1b}[0m\r\n\u{1b}[32m+port 8080"), "{}", terminal.text());
    terminal.master.write_all(b"y\n").unwrap();
    let helper = Arc::clone(&terminal.helper.seen);
    let (exit, screen) = terminal.end().await;
    assert_eq!(exit, "0", "{screen}");
    let rpcs: Vec<String> = helper.lock().unwrap().iter().map(|seen| seen.rpc.clone()).collect();
    assert_eq!(rpcs, ["PolicyDescribe", "FileRead", "FileRead", "FileWrite"]);
    let sent: v1::FileWriteRequest = helper.lock().unwrap()[3].decode();
    assert_ne!(sent.change.unwrap().expect, "any", "what the person saw is what is replaced");
    let told = server.seen()[1].body["messages"].to_string();
    assert!(told.contains("8080"), "{told}");
}

/// A task of a model whose patch has two files, on a terminal that shows its question.
async fn patch_of_a_model(done: Option<Play>) -> (Terminal, server::Server) {
    let diff = "--- a/etc/x\n+++ b/etc/x\n@@ -1 +1 @@\n-one\n+ONE\n--- a/etc/y\n+++ b/etc/y\n@@ -1 +1 @@\n-two\n+TWO\n";
    let server = server::Server::start(vec![
        calls("apply_patch", &serde_json::json!({ "diff": diff })),
        calls("finish", &serde_json::json!({ "outcome": "partly", "summary": "patched" })),
    ])
    .await;
    let place = Place::new();
    let text = format!("[model]\nprovider = \"openai\"\nbase_url = \"http://{}/v1\"\n", server.address);
    std::fs::write(&place.host.config, text).unwrap();
    place.serve();
    let previewed = Play::Events(vec![ended(Status::Previewed, "")]);
    let script = [describe(), file(b"one\n"), file(b"two\n"), previewed].into_iter().chain(done).collect();
    let terminal = Terminal::run(place, &["run", "set both"], script, Arc::default());
    terminal.shows("the first change of this session: file.patch /etc/x /etc/y").await;
    terminal.shows("[y]es, [f]iles one by one, [n]o, t WORDS for something else: ").await;
    (terminal, server)
}

#[tokio::test]
async fn a_person_drops_files_of_a_models_patch_before_it_is_made() {
    let (mut terminal, server) = patch_of_a_model(Some(Play::Events(vec![ended(Status::Done, "")]))).await;
    terminal.master.write_all(b"f\n").unwrap();
    terminal.shows("/etc/x +1 -1: change it? [y]es, [n]o, [a]ll that follow, [q]uit: ").await;
    terminal.master.write_all(b"n\n").unwrap();
    terminal.shows("/etc/y +1 -1: change it?").await;
    terminal.master.write_all(b"y\n").unwrap();
    let helper = Arc::clone(&terminal.helper.seen);
    let (_, screen) = terminal.end().await;
    let sent: v1::FilePatchRequest = helper.lock().unwrap()[4].decode();
    let paths: Vec<_> = sent.changes.iter().map(|change| change.path.as_str()).collect();
    assert_eq!(paths, ["/etc/y"], "{screen}");
    assert!(screen.contains("left out of a patch, as its person chose: /etc/x"), "{screen}");
    let told = server.seen()[1].body["messages"].to_string();
    assert!(
        told.contains("NOT changed, since the person left these files of the patch out: /etc/x"),
        "{told}"
    );
}

#[tokio::test]
async fn who_chooses_no_file_of_a_models_patch_or_quits_has_said_no() {
    for answers in [&[&b"f\n"[..], b"n\n", b"n\n"][..], &[b"f\n", b"y\n", b"q\n"]] {
        let (mut terminal, server) = patch_of_a_model(None).await;
        for (answer, shows) in
            answers.iter().zip(["/etc/x +1 -1: change it?", "/etc/y +1 -1: change it?", "the person"])
        {
            terminal.master.write_all(answer).unwrap();
            if shows != "the person" {
                terminal.shows(shows).await;
            }
        }
        let helper = Arc::clone(&terminal.helper.seen);
        terminal.end().await;
        assert!(server.seen()[1].body["messages"].to_string().contains("the person said no"));
        assert_eq!(helper.lock().unwrap().len(), 4, "nothing but the description, the reads and the preview");
    }
}

#[tokio::test]
async fn operator_is_asked_once_about_all_calls_of_one_reply_that_need_approval() {
    let call = |name: &str| {
        let args = serde_json::json!({ "name": name }).to_string();
        serde_json::json!({ "id": name, "function": { "name": "pkg_install", "arguments": args } })
    };
    let message = serde_json::json!({ "content": null, "tool_calls": [call("nginx"), call("curl")] });
    let body = serde_json::json!({ "choices": [{ "message": message, "finish_reason": "tool_calls" }] });
    let server = server::Server::start(vec![
        server::Play::Answer(200, &[("content-type", "application/json")], body.to_string()),
        calls("finish", &serde_json::json!({ "outcome": "done", "summary": "all is said" })),
    ])
    .await;
    let place = Place::new();
    let text = format!("[model]\nprovider = \"openai\"\nbase_url = \"http://{}/v1\"\n", server.address);
    std::fs::write(&place.host.config, text).unwrap();
    place.script(
        "postern-admin",
        "echo \"$@\" >> $0.asked\nprintf 'QUESTION '\nread answer < /dev/tty\nprintf 'ANSWERED\\n'",
    );
    let _operators = UnixListener::bind(place.path("operator.sock")).unwrap();
    let ask = v1::Decision::Ask.into();
    let verbs = vec!["package.install".to_owned()];
    let grants = vec![v1::Grant { verbs, decision: ask, ..v1::Grant::default() }];
    let description = Some(v1::Description { client: "agent".into(), grants });
    let (done, previewed) = (Status::Done.into(), Status::Previewed.into());
    let describes = completed(v1::Completed { status: done, description, ..v1::Completed::default() });
    let asks = || {
        Play::Events(vec![completed(v1::Completed {
            status: previewed,
            decision: ask,
            ..v1::Completed::default()
        })])
    };
    let go = [Arc::<Notify>::default(), Arc::default()];
    let hold = |at: usize| {
        let before = waiting(&approval(&at.to_string()), in_seconds(600));
        Play::Hold(before, Arc::clone(&go[at]), vec![ended(Status::Done, "")])
    };
    // The description, two checks, what the first change would do, and the two.
    let script = vec![Play::Events(vec![describes]), asks(), asks(), asks(), hold(0), hold(1)];
    place.serve();
    let mut terminal = Terminal::run(place, &["run", "install both"], script, Arc::default());
    terminal.shows("the first change of this session: package.install nginx").await;
    terminal.shows(CHOICES).await;
    terminal.master.write_all(b"y\n").unwrap();
    terminal.shows("QUESTION ").await;
    terminal.master.write_all(b"beef\n").unwrap();
    terminal.shows("ANSWERED").await;
    for one in &go {
        one.notify_one();
    }
    let tasks = terminal.place.run(&["tasks", "list", "--json"]).await.json();
    let asked = std::fs::read_to_string(terminal.place.path("postern-admin.asked")).unwrap();
    assert_eq!(asked, format!("approve --task {}\n", tasks[0]["id"].as_str().unwrap()), "once");
    let (exit, screen) = terminal.end().await;
    assert_eq!(exit, "0", "{screen}");
}

#[tokio::test]
async fn a_person_is_asked_about_a_script_that_came_from_a_file() {
    let place = Place::new();
    let script = place.path("script");
    std::fs::write(&script, "make install\n").unwrap();
    place.serve();
    let arguments = &["shell", "run", "-"];
    let mut terminal = Terminal::run_with(Some(&script), place, arguments, Vec::new(), Arc::default());
    terminal.shows("run make install").await;
    terminal.shows("[y]es, ").await;
    terminal.master.write_all(b"n\n").unwrap();
    let (exit, screen) = terminal.end().await;
    assert_eq!(exit, "4", "{screen}");
    assert!(screen.contains("its person does not want it run"), "{screen}");
}

#[tokio::test]
async fn an_interrupt_at_a_question_is_a_no_and_ends_the_task() {
    let (mut terminal, _server) = task_of_a_model(vec![describe()]).await;
    terminal.shows("your answer (nothing = none): ").await;
    terminal.master.write_all(b"\x03").unwrap();
    let helper = Arc::clone(&terminal.helper.seen);
    let (exit, screen) = terminal.end().await;
    assert_eq!(exit, "1", "{screen}");
    assert!(screen.contains("postern: cancelled: cancelled"), "{screen}");
    assert_eq!(helper.lock().unwrap().len(), 1, "nothing was done");
}

#[tokio::test]
async fn a_first_change_that_the_person_does_not_want_is_not_made() {
    let refused = vec![describe(), may_read(), Play::Events(vec![ended(Status::Failed, "not_found")])];
    let (mut terminal, server) = task_of_a_model(
        refused.into_iter().chain([Play::Events(vec![ended(Status::Previewed, "")])]).collect(),
    )
    .await;
    terminal.shows("your answer (nothing = none): ").await;
    terminal.master.write_all(b"\n").unwrap();
    terminal.shows("the first change of this session: file.write /etc/x").await;
    terminal.shows(CHOICES).await;
    terminal.master.write_all(b"t use port 81\n").unwrap();
    let helper = Arc::clone(&terminal.helper.seen);
    let (exit, screen) = terminal.end().await;
    assert_eq!(exit, "4", "{screen}");
    assert_eq!(helper.lock().unwrap().len(), 4, "{screen}");
    let told = server.seen()[2].body["messages"].to_string();
    assert!(told.contains("not_approved: the person said no, and says instead: use port 81"), "{told}");
    assert!(told.contains("the person gave no answer"), "{told}");
}

#[tokio::test]
async fn without_a_command_there_is_a_prompt_whose_lines_are_one_session() {
    let server = server::Server::start(vec![
        calls("finish", &serde_json::json!({ "outcome": "done", "summary": "the first is done" })),
        calls("finish", &serde_json::json!({ "outcome": "done", "summary": "the second is done" })),
    ])
    .await;
    let place = Place::new();
    let text = format!("[model]\nprovider = \"openai\"\nbase_url = \"http://{}/v1\"\n", server.address);
    std::fs::write(&place.host.config, text).unwrap();
    place.serve();
    let history = place.path("home/postern/history");
    let mut terminal = Terminal::run(place, &[], vec![describe(), describe()], Arc::default());
    terminal.shows("postern> ").await;
    terminal.master.write_all(b"look around, password=hunter2hunter2\r").unwrap();
    terminal.shows("the first is done").await;
    terminal.master.write_all(b"look again\r").unwrap();
    terminal.shows("the second is done").await;
    let second = server.seen()[1].body["messages"].to_string();
    assert!(second.contains("look around"), "what was said is remembered: {second}");
    terminal.master.write_all(b"/nonsense\r").unwrap();
    terminal.shows("unknown command \"/nonsense\" (permitted: /tasks,").await;
    terminal.master.write_all(b"/tasks\r").unwrap();
    terminal.shows(" failed look again").await;
    terminal.master.write_all(b"/quit\r").unwrap();
    let tasks = terminal.place.run(&["tasks", "list", "--json"]).await.json();
    let sessions: Vec<&str> =
        tasks.as_array().unwrap().iter().map(|task| task["session"].as_str().unwrap()).collect();
    assert!(sessions.len() == 2 && !sessions[0].is_empty() && sessions[0] == sessions[1], "{sessions:?}");
    let kept = std::fs::read_to_string(&history).unwrap();
    assert!(
        kept.contains("look again") && kept.contains("password=[REDACTED]") && !kept.contains("hunter2"),
        "{kept}"
    );
    let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&history).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
    let (exit, screen) = terminal.end().await;
    assert_eq!(exit, "0", "{screen}");
}

/// `undo last` on a terminal, of a file after which nginx was reloaded; the agent's own helper goes on.
async fn undo_on_a_terminal() -> (Terminal, FakeHelper) {
    let changed = || {
        let status = Status::Done.into();
        Play::Events(vec![completed(v1::Completed { status, undoable: true, ..v1::Completed::default() })])
    };
    let place = Place::new();
    let helper = place.helper(vec![changed(), changed()]);
    place.serve();
    let order = "write 'x' to /etc/nginx/a and reload nginx";
    assert_eq!(place.run(&["run", order]).await.exit, postern_agent::Exit::Done);
    for play in [Play::Events(vec![ended(Status::Previewed, "")]), changed(), changed()] {
        helper.add(play);
    }
    (Terminal::run(place, &["undo", "last"], Vec::new(), Arc::default()), helper)
}

#[tokio::test]
async fn undo_last_is_shown_and_asked_about_at_a_terminal_and_so_is_the_reload_after_it() {
    let (mut terminal, helper) = undo_on_a_terminal().await;
    terminal.shows("takes back: file.write /etc/nginx/a at ").await;
    terminal.shows("take this back? [y]es, [n]o: ").await;
    terminal.master.write_all(b"y\n").unwrap();
    terminal.shows("nginx.service still runs with it; reload it? [y]es, [n]o: ").await;
    terminal.master.write_all(b"y\n").unwrap();
    terminal.shows("reloaded nginx.service").await;
    assert_eq!(terminal.end().await.0, "0");
    let rpcs: Vec<String> = helper.seen().into_iter().map(|seen| seen.rpc).collect();
    assert_eq!(rpcs, ["FileWrite", "UnitReload", "RequestUndo", "RequestUndo", "UnitReload"]);
}

#[tokio::test]
async fn a_no_at_the_terminal_takes_nothing_back() {
    let (mut terminal, helper) = undo_on_a_terminal().await;
    terminal.shows("take this back? [y]es, [n]o: ").await;
    terminal.master.write_all(b"n\n").unwrap();
    let (exit, screen) = terminal.end().await;
    assert_eq!(exit, "1", "{screen}");
    assert!(screen.contains("nothing was taken back"), "{screen}");
    assert_eq!(helper.seen().len(), 3, "the third only showed what would be");
}

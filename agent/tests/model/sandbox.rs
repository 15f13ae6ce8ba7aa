//! The sandbox as far as it holds without its unit: the records, the limits, files, system calls.

use super::common::tool::ToolServer;
use postern_agent::protocol::confinement::{Holder, Profile};
use postern_agent::sandbox::{Ended, Job, Program, Record, Sandbox};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed, TestRunner};
use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::Duration;

fn shell(text: &str) -> Job {
    Job {
        program: Program::Shell(text.to_owned()),
        profile: Profile::WorkspaceWrite,
        task: "t1".to_owned(),
        time: Duration::from_secs(20),
        output: 65_536,
        ports: Vec::new(),
        shim: None,
    }
}

async fn ran(sandbox: &Sandbox, job: Job) -> Record {
    sandbox.run(job).await.expect("a record")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[tokio::test]
async fn a_record_holds_the_programs_own_words_and_how_it_ended() {
    let server = ToolServer::start();
    let sandbox = server.sandbox();
    let record = ran(&sandbox, shell("echo out; echo err >&2; exit 3")).await;
    assert_eq!((text(&record.stdout), text(&record.stderr)), ("out\n".to_owned(), "err\n".to_owned()));
    assert_eq!((record.ended, record.exit_code, record.signal), (Ended::Exited, Some(3), None));
    assert!(!record.truncated);
    let record = ran(&sandbox, shell("kill -TERM $$")).await;
    assert_eq!((record.ended, record.exit_code, record.signal), (Ended::Killed, None, Some(15)));
    assert_eq!(text(&record.stderr), "");
}

#[tokio::test]
async fn an_argv_meets_no_shell_and_what_does_not_exist_is_no_output() {
    let server = ToolServer::start();
    let sandbox = server.sandbox();
    let argv = |words: &[&str]| Job {
        program: Program::Argv(words.iter().map(|word| (*word).to_owned()).collect()),
        ..shell("")
    };
    let record = ran(&sandbox, argv(&["echo", "$HOME; ls"])).await;
    assert_eq!(text(&record.stdout), "$HOME; ls\n");
    // grep's 1 is an answer, not a failure of the sandbox.
    let record = ran(&sandbox, argv(&["grep", "-c", "nobody-has-this", "/etc/passwd"])).await;
    assert_eq!((text(&record.stdout), record.exit_code), ("0\n".to_owned(), Some(1)));
    let fault = sandbox.run(argv(&["no-such-program"])).await.expect_err("nothing to run");
    assert_eq!(fault.code, "cannot_start");
    let fault = sandbox.run(Job { profile: Profile::None, ..shell("true") }).await.expect_err("nothing runs");
    assert_eq!(fault.code, "refused");
    let fault = sandbox.run(Job { task: "../up".to_owned(), ..shell("true") }).await.expect_err("no task");
    assert_eq!(fault.code, "sandbox_failed");
}

#[tokio::test]
async fn what_the_host_cannot_hold_is_refused_or_reported_and_never_claimed() {
    let server = ToolServer::start();
    let strict = Sandbox::at(&server.socket);
    let fault = strict.run(shell("echo x > f")).await.expect_err("no unit holds it");
    assert_eq!(fault.code, "unenforced");
    assert!(fault.message.contains("processes: "), "{}", fault.message);
    assert!(!server.workspace("t1").join("f").exists());
    let record = ran(&server.sandbox(), shell("true")).await;
    assert!(!record.sandbox.enforced);
    let by = |name: &str| record.sandbox.controls.iter().find(|control| control.name == name).unwrap().by;
    assert_eq!(
        (by("processes"), by("system_calls"), by("network")),
        (Holder::Nobody, Holder::Seccomp, Holder::Seccomp)
    );
}

#[tokio::test]
async fn an_older_landlock_hands_over_to_the_filter_and_the_unit() {
    for (abi, truncation, filesystem) in [
        ("0", Holder::Seccomp, Holder::Nobody),
        ("2", Holder::Seccomp, Holder::Landlock),
        ("6", Holder::Landlock, Holder::Landlock),
    ] {
        let server = ToolServer::with(&[("POSTERN_TOOL_LANDLOCK", abi)]);
        // Opened for reading only, and cut: below ABI 3 Landlock does not see it.
        let cut = "printf 12345 > f; python3 -c \"import os; os.open('f', os.O_RDONLY | os.O_TRUNC)\" 2>/dev/null; wc -c < f";
        let record = ran(&server.sandbox(), shell(cut)).await;
        let by = |name: &str| record.sandbox.controls.iter().find(|control| control.name == name).unwrap().by;
        assert_eq!((by("truncation"), by("filesystem")), (truncation, filesystem), "ABI {abi}");
        let left = if truncation == Holder::Seccomp { "5\n" } else { "0\n" };
        assert_eq!(text(&record.stdout), left, "ABI {abi}");
        // Nobody claims a network that nobody holds: without its unit other hosts are in reach.
        let ports = ran(&server.sandbox(), Job { ports: vec![80], ..shell("true") }).await;
        let network = ports.sandbox.controls.iter().find(|control| control.name == "network").unwrap();
        assert!(network.by == Holder::Nobody && network.lacks.starts_with("addresses: "), "{network:?}");
    }
}

#[tokio::test]
async fn at_its_time_limit_it_ends_with_all_that_it_started() {
    let server = ToolServer::start();
    let job = Job { time: Duration::from_secs(3), ..shell("echo begun; sleep 1000 & sleep 1000") };
    let record = ran(&server.sandbox(), job).await;
    assert_eq!(
        (record.ended, record.signal, text(&record.stdout)),
        (Ended::Timeout, Some(9), "begun\n".to_owned())
    );
    // A background process of the program does not delay the answer.
    let record = ran(&server.sandbox(), shell("sleep 1000 & echo done")).await;
    assert_eq!((record.ended, text(&record.stdout)), (Ended::Exited, "done\n".to_owned()));
    assert!(record.duration_ms < 10_000);
}

#[tokio::test]
async fn nobody_left_to_answer_ends_the_call() {
    let server = ToolServer::start();
    let sandbox = server.sandbox();
    let pipe = server.workspace("t1").join("pipe");
    // The program says that it lives, and holds a pipe open for as long as it does.
    let call = tokio::spawn(async move { sandbox.run(shell("mkfifo pipe; exec sleep 1000 > pipe")).await });
    let opened = tokio::task::spawn_blocking(move || {
        while !pipe.exists() {
            std::thread::yield_now();
        }
        std::fs::File::open(pipe).expect("the program opens the other end")
    });
    let mut opened = opened.await.expect("a reader");
    call.abort();
    let end = tokio::task::spawn_blocking(move || std::io::Read::read(&mut opened, &mut [0]));
    assert_eq!(end.await.expect("a read").expect("its end"), 0);
}

#[tokio::test]
async fn a_flood_of_output_keeps_its_beginning_and_its_end() {
    let server = ToolServer::start();
    let job = Job { output: 1_000, ..shell("seq 1 200000; seq 1 200000 >&2; echo last") };
    let record = ran(&server.sandbox(), job).await;
    let (out, err) = (text(&record.stdout), text(&record.stderr));
    assert!(record.truncated && out.len() < 1_100 && err.len() < 1_100, "{} {}", out.len(), err.len());
    assert!(out.starts_with("1\n2\n") && out.ends_with("200000\nlast\n"), "{out}");
    assert!(out.contains("\n[truncated: ") && err.contains(" bytes left out]\n"), "{out}");
}

#[tokio::test]
async fn a_workspace_is_a_tasks_own_and_kept_from_call_to_call() {
    let server = ToolServer::start();
    let sandbox = server.sandbox();
    let record = ran(&sandbox, shell("echo kept > f; pwd; echo $HOME $TMPDIR; echo t > $TMPDIR/t")).await;
    let own = server.workspace("t1").display().to_string();
    assert_eq!(text(&record.stdout), format!("{own}\n{own} {own}/tmp\n"));
    assert_eq!(text(&ran(&sandbox, shell("cat f")).await.stdout), "kept\n");
    let other = |text: &str| Job { task: "t2".to_owned(), ..shell(text) };
    let record = ran(&sandbox, other(&format!("cat {own}/f; echo x > {own}/g; ls {own}/.."))).await;
    assert_eq!(text(&record.stdout), "");
    assert_eq!(text(&record.stderr).matches("Permission denied").count(), 3, "{}", text(&record.stderr));
    assert!(!server.workspace("t1").join("g").exists());
    for profile in [Profile::ReadOnly, Profile::SystemInspect] {
        let record =
            ran(&sandbox, Job { profile, ..shell("cat f; echo x > new; chmod 777 f; touch f; rm f") }).await;
        assert_eq!(text(&record.stdout), "kept\n");
        assert!(!server.workspace("t1").join("new").exists());
        assert!(server.workspace("t1").join("f").exists());
        assert!(text(&record.stderr).contains("Operation not permitted"), "{}", text(&record.stderr));
    }
}

#[tokio::test]
async fn a_workspace_that_grows_over_its_limit_ends_the_call() {
    let server = ToolServer::start();
    let many = "import os, time\nfor i in range(21000): open(f'd{i}', 'w').close()\ntime.sleep(1000)";
    let program = Program::Argv(["python3", "-c", many].map(str::to_owned).to_vec());
    // Its time is no part of this, however busy the machine is.
    let time = Duration::from_secs(900);
    let record = ran(&server.sandbox(), Job { program, time, ..shell("") }).await;
    assert_eq!((record.ended, record.signal), (Ended::Disk, Some(9)));
    // A full workspace can still be cleared.
    let record = ran(&server.sandbox(), shell("find . -type f -delete")).await;
    assert_eq!(record.ended, Ended::Exited, "{}", text(&record.stderr));
    assert!(!server.workspace("t1").join("d1").exists());
    // One file alone is bounded by the kernel.
    let record =
        ran(&server.sandbox(), shell("dd if=/dev/zero of=big bs=1M count=100 2>/dev/null; wc -c < big"))
            .await;
    assert_eq!(text(&record.stdout), "67108864\n");
}

#[tokio::test]
async fn only_the_profile_decides_what_is_read() {
    let server = ToolServer::start();
    let mut sandbox = server.sandbox();
    let root = tempfile::tempdir().expect("a directory");
    std::fs::write(root.path().join("r"), "read\n").expect("write");
    let read = |profile, path: String| Job { profile, ..shell(&format!("cat {path}")) };
    let path = root.path().join("r").display().to_string();
    assert_eq!(ran(&sandbox, read(Profile::WorkspaceWrite, path.clone())).await.exit_code, Some(1));
    sandbox.read_roots = vec![root.path().to_owned()];
    assert_eq!(text(&ran(&sandbox, read(Profile::ReadOnly, path)).await.stdout), "read\n");
    // No root may open one task's directory to another.
    let state = server.state.path();
    for root in [state.to_owned(), state.join("t2"), "/".into(), "relative".into()] {
        let sandbox = Sandbox { read_roots: vec![root.clone()], ..sandbox.clone() };
        let fault = sandbox.run(shell("true")).await.expect_err("no such root");
        assert_eq!(fault.code, "invalid_argument", "{}", root.display());
    }
    assert_eq!(ran(&sandbox, read(Profile::ReadOnly, "/proc/version".to_owned())).await.exit_code, Some(1));
    assert_eq!(
        ran(&sandbox, read(Profile::SystemInspect, "/proc/version".to_owned())).await.exit_code,
        Some(0)
    );
}

#[tokio::test]
async fn the_environment_is_constant_and_the_shims_descriptor_is_the_only_one() {
    use nix::sys::socket::{AddressFamily, MsgFlags, SockFlag, SockType, recv, send, socketpair};
    use std::os::fd::AsRawFd;
    let server = ToolServer::with(&[("LD_PRELOAD_NOT", "x"), ("SECRET", "hush")]);
    let record =
        ran(&server.sandbox(), shell("env | sort | cut -d= -f1 | tr '\\n' ' '; ls /proc/self/fd | wc -l"))
            .await;
    // ls has a descriptor of its own besides the three streams.
    assert_eq!(text(&record.stdout), "HOME LANG LOGNAME PATH PWD SHELL TMPDIR USER 4\n");
    let (ours, theirs) =
        socketpair(AddressFamily::Unix, SockType::SeqPacket, None, SockFlag::SOCK_CLOEXEC).expect("a pair");
    let speak = "import os, socket; s = socket.socket(fileno=int(os.environ['POSTERN_SHIM_FD'])); \
                 s.send(b'ask'); print(s.recv(100).decode(), os.environ['PATH'].split(':')[0])";
    let program = Program::Argv(["python3", "-c", speak].map(str::to_owned).to_vec());
    let job = Job { program, shim: Some(theirs), ..shell("") };
    let sandbox = server.sandbox();
    let call = tokio::spawn(async move { ran(&sandbox, job).await });
    let answered = tokio::task::spawn_blocking(move || {
        let mut asked = [0; 10];
        let count = recv(ours.as_raw_fd(), &mut asked, MsgFlags::empty()).expect("a question");
        send(ours.as_raw_fd(), b"answer", MsgFlags::empty()).expect("sent");
        // Its end dies with the call.
        (asked[..count].to_vec(), recv(ours.as_raw_fd(), &mut [0; 10], MsgFlags::empty()).expect("the end"))
    });
    assert_eq!(text(&call.await.expect("a call").stdout), "answer /usr/lib/postern/shims\n");
    assert_eq!(answered.await.expect("an answer"), (b"ask".to_vec(), 0));
}

/// Waits until a file is there; the test's own time limit ends it where it never comes.
async fn until_exists(path: std::path::PathBuf) {
    let appears = async {
        while !path.exists() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), appears).await.expect("the file");
}

#[tokio::test]
async fn refuses_a_workspace_that_was_exchanged_for_a_link_to_another_tasks() {
    let server = ToolServer::start();
    let sandbox = server.sandbox();
    ran(&sandbox, Job { task: "victim".to_owned(), ..shell("echo secret > f") }).await;
    ran(&sandbox, shell("true")).await;
    // A local user could do this after a command had opened the directory of all workspaces.
    std::fs::rename(server.workspace("t1"), server.workspace("away")).expect("rename");
    std::os::unix::fs::symlink(server.workspace("victim"), server.workspace("t1")).expect("a link");
    let fault = sandbox.run(shell("cat f; echo changed > f")).await.expect_err("a link is no workspace");
    assert_eq!(fault.code, "sandbox_failed", "{}", fault.message);
    assert_eq!(std::fs::read_to_string(server.workspace("victim").join("f")).expect("read"), "secret\n");
}

#[tokio::test]
async fn closes_what_a_command_opened_to_others() {
    use std::os::unix::fs::PermissionsExt;
    let server = ToolServer::start();
    let mode = |path: &std::path::Path| path.metadata().expect("there").permissions().mode() & 0o7777;
    ran(&server.sandbox(), shell("chmod 777 . ..")).await;
    assert_eq!(mode(server.state.path()), 0o777, "the control: a command can do that");
    ran(&server.sandbox(), shell("chmod 0 . ..")).await;
    ran(&server.sandbox(), shell("true")).await;
    assert_eq!((mode(server.state.path()), mode(&server.workspace("t1"))), (0o700, 0o700));
}

#[tokio::test]
async fn the_oldest_workspaces_go_where_all_together_would_be_too_large() {
    const MIB: u64 = 1 << 20;
    let server = ToolServer::start();
    // Room for one that is full and for 100 MiB besides.
    let sandbox = Sandbox { total: 356 * MIB, ..server.sandbox() };
    let fill =
        |task: &str| Job { task: task.to_owned(), ..shell("head -c 60M /dev/zero > f; mkdir d; chmod 0 d") };
    for task in ["first", "second", "third"] {
        assert_eq!(ran(&sandbox, fill(task)).await.exit_code, Some(0));
    }
    let stands = |task: &str| server.workspace(task).exists();
    assert_eq!([stands("first"), stands("second"), stands("third")], [false, true, true]);
    // One that is in use stays, and counts as full: there is no room for another beside it.
    let begun = server.workspace("second").join("begun");
    let other = sandbox.clone();
    let job = Job { task: "second".to_owned(), ..shell("touch begun; exec sleep 1000") };
    let running = tokio::spawn(async move { other.run(job).await });
    until_exists(begun).await;
    let fault = sandbox.run(fill("fourth")).await.expect_err("no room");
    assert!(fault.message.contains("hold all the room"), "{}", fault.message);
    assert!(stands("second"));
    // A read-only call needs no room.
    let reads = Job { profile: Profile::ReadOnly, task: "fifth".to_owned(), ..shell("true") };
    assert_eq!(ran(&sandbox, reads).await.exit_code, Some(0));
    running.abort();
}

/// Bytes as whoever speaks the protocol, or does not, could send them: a first byte, a length, and something.
fn frames() -> impl Strategy<Value = Vec<u8>> {
    let json = prop_oneof![
        Just(r#"{"program":{"shell":"true"},"profile":"read_only","task":"t","time_ms":1000,"output":10,"ports":[],"read_roots":[],"unenforced":"report"}"#.to_owned()),
        Just(r#"{"record":{"ended":"exited","exit_code":0,"signal":null,"stdout":"!","stderr":"","truncated":false,"duration_ms":1,"sandbox":{"profile":"none","enforced":true,"controls":[]}}}"#.to_owned()),
        Just(r#"{"agent_error":{"code":"c","message":"m"}}"#.to_owned()),
        any::<String>(),
    ];
    let length = prop_oneof![Just(None), any::<u32>().prop_map(Some), (0..300_u32).prop_map(Some)];
    let change = prop::option::of((any::<prop::sample::Index>(), any::<u8>()));
    (any::<bool>(), json, length, change, prop::collection::vec(any::<u8>(), 0..40)).prop_map(
        |(has_first, json, length, change, rest)| {
            let mut bytes = if has_first { vec![b'1'] } else { Vec::new() };
            let length = length.unwrap_or(u32::try_from(json.len()).unwrap_or_default());
            bytes.extend(length.to_le_bytes());
            bytes.extend(json.as_bytes());
            bytes.extend(rest);
            if let Some((at, byte)) = change {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
            bytes
        },
    )
}

/// The same cases at every run.
fn cases(cases: u32) -> TestRunner {
    TestRunner::new(Config {
        cases,
        rng_seed: RngSeed::Fixed(1),
        failure_persistence: None,
        ..Config::default()
    })
}

#[test]
fn no_bytes_hang_the_supervisor_or_keep_it_from_the_next_call() {
    let server = ToolServer::start();
    let told = |bytes: &[u8]| {
        let mut stream = UnixStream::connect(&server.socket).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        // It may have left already.
        let _ = stream.write_all(bytes);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let mut answer = Vec::new();
        match stream.read_to_end(&mut answer) {
            Ok(_) => Ok(()),
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => Ok(()),
            Err(error) => Err(TestCaseError::fail(format!("it does not end: {error}"))),
        }
    };
    cases(48).run(&frames(), |bytes| told(&bytes)).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    assert_eq!(runtime.block_on(ran(&server.sandbox(), shell("true"))).exit_code, Some(0));
}

#[test]
fn no_answer_of_a_sandbox_is_more_than_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let socket = directory.path().join("tool.sock");
    let listener = UnixListener::bind(&socket).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let answered = |bytes: Vec<u8>| {
        let listener = listener.try_clone().unwrap();
        let answering = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            // The agent's length tells when it has asked.
            let mut head = [0; 5];
            stream.read_exact(&mut head).unwrap();
            let mut ask = vec![0; u32::from_le_bytes(head[1..].try_into().unwrap()) as usize];
            stream.read_exact(&mut ask).unwrap();
            let _ = stream.write_all(&bytes);
        });
        let job = Job { time: Duration::from_secs(5), ..shell("true") };
        let ended = runtime.block_on(Sandbox::at(&socket).run(job));
        answering.join().unwrap();
        // A record is one only where all of it is there.
        match ended {
            Ok(record) => prop_assert_eq!(record.ended, Ended::Exited),
            Err(fault) => prop_assert!(!fault.code.is_empty()),
        }
        Ok(())
    };
    cases(200).run(&frames(), answered).unwrap();
}

/// Run by `tests/run`; by hand as root with `-- --ignored as_root`.
mod as_root {
    use super::*;

    #[tokio::test]
    #[ignore = "needs root: nobody else can give a directory away"]
    async fn refuses_a_workspace_of_another_owner() {
        let server = ToolServer::start();
        ran(&server.sandbox(), shell("true")).await;
        std::os::unix::fs::chown(server.workspace("t1"), Some(65_534), None).expect("chown");
        let fault = server.sandbox().run(shell("true")).await.expect_err("another's directory");
        assert!(fault.message.contains("belongs to uid 65534"), "{}", fault.message);
    }
}

//! How people hear of a request that waits: the hook of agent.toml, and a line on operators' terminals.

mod common;

use common::{Place, Play, approval, ended, in_seconds, until, waiting};
use nix::pty::openpty;
use postern_agent::Exit;
use postern_proto::v1::Status;
use serde_json::Value;
use std::fs::{Permissions, read_to_string, set_permissions, write};
use std::io::Read;
use std::os::unix::fs::{PermissionsExt, symlink};

fn waits(id: &str) -> Play {
    Play::Events([waiting(id, in_seconds(60)), vec![ended(Status::Done, "")]].concat())
}

fn configure(place: &Place, text: &str) {
    write(&place.host.config, text).unwrap();
}

#[tokio::test]
async fn the_hook_gets_what_waits_once_as_json_and_a_constant_environment() {
    let place = Place::new();
    let hook = place.script(
        "hook",
        &format!("echo \"$@\" > {0}.args; env | sort > {0}.env; cat >> {0}", place.path("got").display()),
    );
    configure(&place, &format!("[model]\nname = \"x\"\n[approvals]\nhook = [{hook:?}, \"ops\"]\n"));
    let expires = in_seconds(60);
    let broken = Play::Break(waiting(&approval("a"), expires));
    let again = Play::Events([waiting(&approval("a"), expires), vec![ended(Status::Done, "")]].concat());
    place.helper(vec![broken, again, waits(&approval("b"))]);
    place.serve();
    let task = place.run(&["run", "restart nginx", "--json"]).await.json();
    let write = ["file", "write", "/srv/\u{202e}\u{1b}[2J\nx", "--content", "secret"];
    assert_eq!(place.run(&write).await.exit, Exit::Done);
    let got = || read_to_string(place.path("got")).unwrap_or_default();
    until("the hook was told of both", || got().lines().count() == 2).await;
    let mut told: Vec<Value> = got().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    told.sort_by_key(|message| message["approval_id"].to_string());
    let host = read_to_string("/proc/sys/kernel/hostname").unwrap();
    assert_eq!(
        told[0],
        serde_json::json!({
            "v": 1, "approval_id": approval("a"), "task": task["id"], "verb": "unit.restart", "target": "nginx.service",
            "rule": "web-config", "expires_unix_s": expires, "host": host.trim(),
        })
    );
    assert_eq!(
        (&told[1]["verb"], &told[1]["target"]),
        (&"file.write".into(), &"/srv/\u{202e}\u{1b}[2J\nx".into())
    );
    assert!(got().is_ascii() && !got().contains("secret"), "{}", got());
    assert_eq!(read_to_string(place.path("got.args")).unwrap(), "ops\n");
    let environment = read_to_string(place.path("got.env")).unwrap();
    let names: Vec<&str> = environment.lines().filter_map(|line| Some(line.split_once('=')?.0)).collect();
    // The shell itself adds PWD.
    assert_eq!(names, ["LANG", "PATH", "PWD"], "{environment}");
}

#[tokio::test]
async fn a_hook_cannot_hold_a_task_up_and_is_ended_with_what_it_started() {
    let place = Place::new();
    let pids = place.path("pids");
    let hook = place.script("hook", &format!("sleep 300 & echo $$ $! > {}; wait", pids.display()));
    configure(&place, &format!("[approvals]\nhook = [{hook:?}]\nhook_timeout = \"3s\"\n"));
    place.helper(vec![waits(&approval("a"))]);
    place.serve();
    assert_eq!(place.run(&["run", "restart nginx"]).await.exit, Exit::Done);
    until("the hook runs", || read_to_string(&pids).is_ok_and(|text| text.ends_with('\n'))).await;
    let text = read_to_string(&pids).unwrap();
    let lives =
        |pid: &str| read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z"));
    assert!(text.split_whitespace().all(lives), "{text}");
    // The program itself would take five minutes.
    until("both have ended", || !text.split_whitespace().any(lives)).await;
}

#[tokio::test]
async fn a_hook_that_cannot_be_started_changes_nothing_for_the_request() {
    let place = Place::new();
    configure(&place, "[approvals]\nhook = [\"/no/such/program\"]\n");
    place.helper(vec![waits(&approval("a"))]);
    place.serve();
    assert_eq!(place.run(&["run", "restart nginx"]).await.exit, Exit::Done);
}

#[tokio::test]
async fn a_wrong_configuration_is_told_with_its_line_and_locks_nobody_out() {
    let vectors = [
        ("[approvals]\n\nhok = [\"/x\"]\n", 3, "unknown field `hok`"),
        ("[aprovals]\n", 1, "unknown field `aprovals`"),
        ("[approvals]\nhook = \"/x\"\n", 2, "expected a sequence"),
        ("[approvals]\nhook = []\n", 2, "hook is empty"),
        (
            "# one\n[approvals]\nhook = [\"notify\\u001b\"]\n",
            3,
            "must be an absolute path, not \"notify\\u{1b}\"",
        ),
        ("[approvals]\nhook = [\"/x\", \"\\u0000\"]\n", 2, "a zero byte"),
        ("[approvals\n", 1, ""),
    ];
    for (text, line, words) in vectors {
        let place = Place::new();
        configure(&place, text);
        let ran = place.run(&["config", "check"]).await;
        assert_eq!(ran.exit, Exit::Failed, "{text}");
        assert!(
            ran.err.contains(&format!("agent.toml:{line}: ")) && ran.err.contains(words),
            "{text}: {ran:?}"
        );
        assert_eq!(ran.err.lines().count(), 1, "{ran:?}");
        place.helper(vec![waits(&approval("a")), Play::Events(vec![ended(Status::Done, "")])]);
        place.serve();
        assert_eq!(place.run(&["run", "restart nginx"]).await.exit, Exit::Done);
        let health = place.run(&["health", "--json"]).await.json();
        assert!(health["agent"].as_str().unwrap().contains(&format!("agent.toml:{line}: ")), "{health}");
    }
    let place = Place::new();
    configure(&place, "[approvals]\nhook = [\"/usr/bin/true\", \"a\"]\n[retry]\nmax_attempts = 3\n");
    assert_eq!(place.run(&["config", "check"]).await.exit, Exit::Done);
    let shown = place.run(&["config", "show"]).await.json();
    assert_eq!(shown["approvals"]["hook"], serde_json::json!(["/usr/bin/true", "a"]));
    std::fs::remove_file(&place.host.config).unwrap();
    assert_eq!(place.run(&["config", "check"]).await.exit, Exit::Done, "everything has a default");
}

#[tokio::test]
async fn operators_terminals_that_take_messages_get_one_fixed_line() {
    let mut place = Place::new();
    let directory = place.path("terminals");
    std::fs::create_dir(&directory).unwrap();
    place.host.terminals = vec![directory.clone()];
    // Makes the test's own user an operator.
    let own = nix::unistd::Group::from_gid(nix::unistd::getgid()).unwrap().unwrap();
    place.host.operators = own.name;
    let open = |name: &str, mode: u32| {
        let pty = openpty(None, None).unwrap();
        let path = nix::unistd::ttyname(&pty.slave).unwrap();
        set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        symlink(&path, directory.join(name)).unwrap();
        pty
    };
    let (ssh, refuses, other) = (open("1", 0o620), open("tty2", 0o600), open("ptmx", 0o620));
    write(directory.join("3"), "no terminal").unwrap();
    set_permissions(directory.join("3"), Permissions::from_mode(0o666)).unwrap();

    let ran = place.run(&["tell-operators", &approval("a")]).await;
    assert_eq!((ran.exit, ran.err.as_str()), (Exit::Done, "told 1 terminal of operators\n"));
    let mut got = [0; 500];
    let mut terminal = std::fs::File::from(ssh.master);
    let length = terminal.read(&mut got).unwrap();
    let line = format!("postern: a request waits for your approval: postern-admin show {}", approval("a"));
    let text = String::from_utf8_lossy(&got[..length]).replace('\r', "");
    assert_eq!(text, format!("\n{line}\u{7}\n"));
    // As the recorder says it: one line on a connection.
    let ran = place.run_with(&["tell-operators", "-"], b"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n").await;
    assert_eq!((ran.exit, ran.err.as_str()), (Exit::Done, "told 1 terminal of operators\n"));
    assert_eq!(terminal.read(&mut got).unwrap(), length);
    for wrong in [
        &b""[..],
        b"aaaa\n",
        b"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n",
        b"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n\n",
        b"\xff\n",
    ] {
        assert_eq!(place.run_with(&["tell-operators", "-"], wrong).await.exit, Exit::Usage, "{wrong:?}");
    }
    for quiet in [refuses.master, other.master] {
        nix::fcntl::fcntl(&quiet, nix::fcntl::FcntlArg::F_SETFL(nix::fcntl::OFlag::O_NONBLOCK)).unwrap();
        let error = std::fs::File::from(quiet).read(&mut got).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock);
    }
    assert_eq!(read_to_string(directory.join("3")).unwrap(), "no terminal");

    place.host.operators = "no-such-group".to_owned();
    let ran = place.run(&["tell-operators", &approval("a")]).await;
    assert_eq!(
        (ran.exit, ran.err.as_str()),
        (Exit::Failed, "postern: failed: there is no group no-such-group\n")
    );
    let ran = place.run(&["tell-operators", "\u{1b}[2J; rm -r /"]).await;
    assert_eq!((ran.exit, ran.out.as_str()), (Exit::Usage, ""));
    assert!(!ran.err.contains('\u{1b}'));
}

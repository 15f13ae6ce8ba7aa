//! Typed commands against a helper that is told what to answer: arguments, words, JSON, exit codes, retries.

mod common;

use common::{Place, Play, accepted, completed, ended, output, progress, refused, unit, until};
use postern_agent::Exit;
use postern_proto::v1::{self, Status};
use std::time::Duration;
use tonic::Code;

#[tokio::test]
async fn sends_exactly_what_was_asked() {
    let place = Place::new();
    let helper = place.helper(vec![
        Play::Events(vec![ended(Status::Done, "")]),
        Play::Events(vec![ended(Status::Done, "")]),
        Play::Events(vec![ended(Status::Done, "")]),
        Play::Events(vec![ended(Status::Previewed, "")]),
    ]);
    place.run(&["--direct", "package", "install", "nginx-light", "curl=7.88"]).await;
    place
        .run(&["service", "enable", "nginx", "--now", "--direct", "--reason", "a\nb", "--timeout", "90s"])
        .await;
    let write = ["--direct", "file", "write", "/srv/x", "--mode", "0600", "--expect", "absent"];
    place.run_with(&write, b"from stdin\0\xff").await;
    place.run(&["--direct", "service", "stop", "a.timer", "--preview"]).await;
    let seen = helper.seen();
    let rpcs: Vec<&str> = seen.iter().map(|s| s.rpc.as_str()).collect();
    assert_eq!(rpcs, ["PackageInstall", "UnitEnable", "FileWrite", "UnitStop"]);

    let install: v1::PackageInstallRequest = seen[0].decode();
    let packages: Vec<_> = install.packages.iter().map(|p| (p.name.as_str(), p.version.as_str())).collect();
    assert_eq!(packages, [("nginx-light", ""), ("curl", "7.88")]);
    let enable: v1::UnitEnableRequest = seen[1].decode();
    assert_eq!((enable.unit.as_str(), enable.now), ("nginx.service", true));
    let meta = enable.meta.unwrap();
    assert_eq!((meta.reason.as_str(), meta.wait_ms, meta.mode()), ("a b", 90_000, v1::Mode::Execute));
    assert_eq!(meta.claimed_uid, nix::unistd::getuid().as_raw());
    assert_eq!(uuid::Uuid::parse_str(&meta.request_id).unwrap().get_version_num(), 7);
    let change = seen[2].decode::<v1::FileWriteRequest>().change.unwrap();
    assert_eq!((change.content.as_slice(), change.kind()), (&b"from stdin\0\xff"[..], v1::ChangeKind::Write));
    assert_eq!((change.mode.as_str(), change.expect.as_str()), ("0600", "absent"));
    let stop: v1::UnitStopRequest = seen[3].decode();
    assert_eq!((stop.unit.as_str(), stop.meta.unwrap().mode()), ("a.timer", v1::Mode::Preview));
}

#[tokio::test]
async fn exits_as_the_table_says() {
    let vectors = [
        (Play::Events(vec![ended(Status::Done, "")]), Exit::Done, "done"),
        (Play::Events(vec![ended(Status::Unchanged, "")]), Exit::Done, "unchanged"),
        (Play::Events(vec![ended(Status::Previewed, "")]), Exit::Done, "previewed"),
        (Play::Events(vec![ended(Status::Failed, "unit_failed")]), Exit::Failed, "failed"),
        (Play::Events(vec![ended(Status::Failed, "")]), Exit::Failed, "failed"),
        (Play::Events(vec![ended(Status::Interrupted, "interrupted")]), Exit::Failed, "interrupted"),
        (Play::Events(vec![ended(Status::Partly, "package_failed")]), Exit::Partly, "partly"),
        (Play::Events(vec![refused("no_grant")]), Exit::Refused, "refused"),
        (Play::Events(vec![refused("a_code_of_tomorrow")]), Exit::Refused, "refused"),
        (Play::Events(vec![refused("invalid_argument")]), Exit::Usage, "refused"),
        (Play::Events(vec![refused("not_approved")]), Exit::NotApproved, "not_approved"),
        (Play::Events(vec![refused("approval_expired")]), Exit::NotApproved, "not_approved"),
        (Play::Events(vec![refused("busy")]), Exit::Failed, "refused"),
        (Play::Status(Code::InvalidArgument, "not canonical"), Exit::Usage, "failed"),
        (Play::Status(Code::Unimplemented, ""), Exit::Refused, "refused"),
        (Play::Status(Code::ResourceExhausted, "8 streams"), Exit::Failed, "failed"),
        (Play::Status(Code::PermissionDenied, "uid 7"), Exit::Refused, "refused"),
        (Play::Status(Code::Internal, "oops"), Exit::Failed, "failed"),
    ];
    let place = Place::new();
    let helper = place.helper(Vec::new());
    for (index, (play, exit, status)) in vectors.into_iter().enumerate() {
        helper.add(play);
        let ran = place.run(&["--direct", "--json", "service", "start", "nginx"]).await;
        assert_eq!((ran.exit, ran.json()["status"].as_str()), (exit, Some(status)), "row {index}: {ran:?}");
        assert_eq!(ran.err, "", "row {index}");
    }
    assert_eq!(helper.seen().len(), 18, "each was asked once");
}

#[tokio::test]
async fn refuses_wrong_usage_before_asking() {
    let place = Place::new();
    let helper = place.helper(Vec::new());
    for args in [
        &["--direct", "package", "install"][..],
        &["--direct", "service", "explode", "nginx"],
        &["--direct", "pakage", "install", "nginx"],
        &["--direct", "service", "start", "nginx", "--timeout", "soon"],
        &["--direct", "service", "start", "nginx", "--request-id", "1234"],
        &["--direct", "service", "start", "nginx", "--request-id", "67e55044-10b1-426f-9247-bb680e5fe0c8"],
        &["--direct", "package", "upgrade"],
        &["--direct", "package", "upgrade", "--all", "nginx"],
        &["--direct", "command", "x", "novalue"],
        &["--direct", "file", "write", "/x", "--content", "a", "--from", "b"],
        &["--direct", "file", "write", "/x", "--from", "/no/such/file"],
        &["--direct", "run", "frobnicate the widget"],
        &["--direct", "frobnicate"],
    ] {
        let ran = place.run(args).await;
        assert_eq!(ran.exit, Exit::Usage, "{args:?}: {ran:?}");
        assert!(ran.out.is_empty() && !ran.err.is_empty(), "{args:?}: {ran:?}");
    }
    assert!(helper.seen().is_empty());
}

#[tokio::test]
async fn a_commands_value_comes_from_stdin_or_a_file_and_so_is_in_no_list_of_processes() {
    let place = Place::new();
    let helper = place.helper(vec![Play::Events(vec![ended(Status::Done, "")])]);
    let file = place.path("key");
    std::fs::write(&file, "-----BEGIN\nabc\n\n").unwrap();
    let key = format!("key=@{}", file.display());
    let args = ["--direct", "command", "enrol", "password=-", &key, "host=a=b"];
    let ran = place.run_with(&args, b"-hunter2\n").await;
    assert_eq!(ran.exit, Exit::Done, "{ran:?}");
    let request: v1::CommandRunRequest = helper.seen()[0].decode();
    let given: Vec<_> = request.parameters.iter().map(|p| (p.name.as_str(), p.value.as_str())).collect();
    assert_eq!(given, [("host", "a=b"), ("key", "-----BEGIN\nabc\n"), ("password", "-hunter2")]);
    for refused in [&["a=-", "b=-"][..], &["a=@/no/such/file"], &["hunter2"]] {
        let ran = place.run_with(&[&["--direct", "command", "enrol"], refused].concat(), b"hunter2").await;
        assert_eq!(ran.exit, Exit::Usage, "{refused:?}: {ran:?}");
        assert!(!ran.err.contains("hunter2"), "{ran:?}");
    }
    let ran = place.run_with(&["--direct", "command", "enrol", "a=-"], b"\xff").await;
    assert_eq!((ran.exit, helper.seen().len()), (Exit::Usage, 1), "{ran:?}");
}

#[tokio::test]
async fn prints_one_object_with_the_names_of_the_contract() {
    let place = Place::new();
    let id = uuid::Uuid::now_v7().to_string();
    place.helper(vec![Play::Events(vec![
        accepted(),
        progress("nginx-light", 40),
        completed(v1::Completed {
            status: Status::Done.into(),
            decision: v1::Decision::Allow.into(),
            rule: "web".into(),
            undoable: true,
            duration_us: 42,
            plan: Some(v1::Plan {
                packages: vec![v1::PackageStep {
                    action: v1::Action::Install.into(),
                    name: "nginx-light".into(),
                    new: "1.22".into(),
                    asked: true,
                    ..v1::PackageStep::default()
                }],
                ..v1::Plan::default()
            }),
            exit: Some(v1::ExitInfo::default()),
            ..v1::Completed::default()
        }),
    ])]);
    let args = ["package", "install", "nginx-light", "--direct", "--json=lines", "--request-id", &id];
    let ran = place.run(&args).await;
    let lines: Vec<serde_json::Value> = ran.out.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert_eq!(lines[0]["event"], "accepted");
    let progress = serde_json::json!({ "phase": "unpack", "item": "nginx-light", "percent": 40 });
    assert_eq!((&lines[1]["event"], &lines[1]["data"]), (&"progress".into(), &progress));
    assert_eq!(
        lines[2],
        serde_json::json!({
            "v": 1, "request_id": id, "verb": "package.install", "status": "done", "decision": "allow", "rule": "web",
            "plan": { "packages": [{ "action": "install", "name": "nginx-light", "new": "1.22", "asked": true }] },
            "result": { "exit": { "code": 0 } }, "undo": id, "duration_us": 42,
        })
    );
    assert_eq!(lines.len(), 3);
}

#[tokio::test]
async fn a_refusal_ends_in_a_next_step() {
    let place = Place::new();
    place.helper(vec![Play::Events(vec![refused("no_grant")])]);
    let ran = place.run(&["--direct", "service", "stop", "nginx"]).await;
    assert_eq!(ran.exit, Exit::Refused);
    for part in [
        "refused: no_grant:",
        "missing: unit.stop nginx.service",
        "granted nearby: unit.status nginx.service",
        "an operator can see why: postern-admin policy explain unit.stop nginx.service",
    ] {
        assert!(ran.err.contains(part), "{part}: {}", ran.err);
    }
    assert_eq!(ran.out, "");
}

#[tokio::test]
async fn shows_a_unit_a_package_and_the_grants_in_words() {
    let place = Place::new();
    let package = v1::PackageInfo {
        name: "nginx-light".into(),
        state: "installed".into(),
        installed: "1.22".into(),
        held: true,
        ..v1::PackageInfo::default()
    };
    let grant = v1::Grant {
        verbs: vec!["unit.status".into(), "unit.start".into()],
        decision: v1::Decision::Allow.into(),
        units: vec!["nginx.service".into()],
        ..v1::Grant::default()
    };
    let description = v1::Description { client: "agent".into(), grants: vec![grant] };
    place.helper(vec![
        Play::Events(vec![
            output(v1::Stream::Content, b"a line of the journal\x1b[31m\n"),
            unit(Status::Done, "nginx.service", "active", "running"),
        ]),
        Play::Events(vec![completed(v1::Completed {
            status: Status::Done.into(),
            packages: vec![package],
            ..v1::Completed::default()
        })]),
        Play::Events(vec![completed(v1::Completed {
            status: Status::Done.into(),
            description: Some(description),
            ..v1::Completed::default()
        })]),
    ]);
    let status = place.run(&["--direct", "unit", "status", "nginx", "--lines", "5"]).await;
    assert!(
        status.out.starts_with("nginx.service\n  loaded     loaded\n  state      active (running)\n"),
        "{status:?}"
    );
    assert!(
        status.out.ends_with("a line of the journal\\x1b[31m\n"),
        "control characters are escaped: {status:?}"
    );
    let show = place.run(&["--direct", "pkg", "show", "nginx-light"]).await;
    assert_eq!(show.out, "nginx-light\n  state      installed, held\n  installed  1.22\n");
    let can = place.run(&["--direct", "can"]).await;
    let granted = "agent may, without asking:\n- unit.status, unit.start: nginx.service\n";
    assert_eq!(can.out, format!("{granted}everything else is refused\n"));
}

#[tokio::test]
async fn file_read_prints_the_bytes_as_they_are() {
    let place = Place::new();
    let play = || {
        Play::Events(vec![
            output(v1::Stream::Content, b"one\0\xff\x1b"),
            output(v1::Stream::Content, b"two"),
            ended(Status::Done, ""),
        ])
    };
    place.helper(vec![play(), play()]);
    let ran = place.run(&["--direct", "file", "read", "/srv/x", "--offset", "-7"]).await;
    assert_eq!(ran.bytes, b"one\0\xff\x1btwo");
    let json = place.run(&["--direct", "file", "read", "/srv/x", "--json"]).await.json();
    assert_eq!(json["result"]["content_base64"], "b25lAP8bdHdv");
}

#[tokio::test]
async fn a_failed_start_shows_the_units_last_lines() {
    let place = Place::new();
    let play = || {
        let failed = completed(v1::Completed { code: "unit_failed".into(), ..failed_unit() });
        Play::Events(vec![output(v1::Stream::Content, b"no such port\n"), failed])
    };
    place.helper(vec![play(), play()]);
    let ran = place.run(&["--direct", "service", "start", "a"]).await;
    assert_eq!((ran.exit, ran.out.as_str()), (Exit::Failed, ""), "{ran:?}");
    assert!(ran.err.starts_with("a.service is failed (failed)\nno such port\n"), "{ran:?}");
    let json = place.run(&["--direct", "service", "start", "a", "--json"]).await.json();
    assert_eq!(json["result"]["content"], "no such port\n");
    assert_eq!(json["result"]["unit"]["exit_status"], 3);
}

fn failed_unit() -> v1::Completed {
    let unit = v1::UnitInfo {
        id: "a.service".into(),
        active: "failed".into(),
        sub: "failed".into(),
        exit_status: 3,
        ..v1::UnitInfo::default()
    };
    v1::Completed { status: Status::Failed.into(), unit: Some(unit), ..v1::Completed::default() }
}

#[tokio::test]
async fn asks_again_under_the_same_id_when_the_connection_breaks() {
    let place = Place::new();
    let helper = place.helper(vec![
        Play::Break(vec![accepted(), output(v1::Stream::Stdout, b"half")]),
        Play::Status(Code::Unavailable, "the helper is stopping"),
        Play::Events(vec![output(v1::Stream::Stdout, b"whole\n"), ended(Status::Done, "")]),
    ]);
    let ran = place.run(&["--direct", "command", "x"]).await;
    assert_eq!((ran.exit, ran.out.as_str()), (Exit::Done, "whole\n"), "{ran:?}");
    let seen = helper.seen();
    assert_eq!(seen.len(), 3);
    assert!(seen.iter().all(|s| s.body == seen[0].body), "the same bytes each time");
}

#[tokio::test]
async fn survives_a_helper_that_is_killed_and_started_again() {
    let place = Place::new();
    let first = place.helper(vec![Play::Break(vec![accepted()])]);
    let asking = place.run(&["--direct", "service", "restart", "nginx"]);
    let restarting = async {
        until("it is asked", || !first.seen().is_empty()).await;
        first.stop();
        std::fs::remove_file(&place.host.helper_socket).unwrap();
        tokio::time::sleep(Duration::from_millis(700)).await;
        place.helper(vec![Play::Events(vec![unit(Status::Done, "nginx.service", "active", "running")])])
    };
    let (ran, second) = tokio::join!(asking, restarting);
    assert_eq!(ran.exit, Exit::Done, "{ran:?}");
    assert_eq!(first.seen()[0].body, second.seen()[0].body);
}

#[tokio::test]
async fn says_how_to_reach_a_helper_that_is_not_there() {
    let place = Place::new();
    let ran = place.run(&["--direct", "service", "start", "nginx"]).await;
    assert_eq!(ran.exit, Exit::Unreachable);
    assert!(ran.err.contains("helper.sock: is postern-helper.socket started?"), "{ran:?}");
    let ran = place.run(&["service", "start", "nginx"]).await;
    assert_eq!(ran.exit, Exit::Unreachable);
    assert!(ran.err.contains("agent.sock: is postern-agent.socket started?"), "{ran:?}");
    let ran = place.run(&["run", "start nginx", "--json"]).await;
    assert_eq!((ran.exit, ran.json()["error"]["code"].as_str()), (Exit::Unreachable, Some("unreachable")));
}

#[test]
fn offers_every_verb_of_the_service() {
    let rpcs: Vec<&str> = postern_proto::HELPER_PROTO
        .lines()
        .filter_map(|line| line.trim().strip_prefix("rpc ")?.split('(').next())
        // The agent's own, for the end of its audit log: nobody asks for it by name.
        .filter(|rpc| *rpc != "AgentNote")
        .collect();
    let verbs: Vec<String> = postern_agent::VERBS
        .iter()
        .map(|verb| {
            let capital = |word: &str| word[..1].to_uppercase() + &word[1..];
            verb.split(['.', '-']).map(capital).collect()
        })
        .collect();
    assert_eq!(rpcs, verbs);
}

//! `init`: every answer takes effect at once, a second run changes nothing, and what is a person's own stays.

use crate::support::{GOOD, Ran, TestHost, accounts};
use postern_admin::host::Accounts;
use postern_admin::io::Exit;
use std::fs;
use std::os::unix::fs::PermissionsExt;

const ALL: [&str; 8] = [
    "init",
    "--tasks=alice",
    "--approve=alice",
    "--look=none",
    "--packs=none",
    "--model=none",
    "--key=later",
    "--yes",
];

fn user(name: &str) -> Option<u32> {
    match name {
        "alice" => Some(1000),
        "bob" => Some(1001),
        "carol" => Some(1002),
        other => (accounts().user)(other),
    }
}

/// A host with people: alice and bob give tasks already, alice approves.
fn host() -> TestHost {
    let mut host = TestHost::new(GOOD);
    host.host.accounts = Accounts { user, ..accounts() };
    host.host.packs = host.host.etc.with_file_name("packs");
    host.write("agent.toml", "# Configuration\n#[model]\n#provider = \"offline\"\n");
    host
}

fn with(flag: &str) -> Vec<&str> {
    let name = flag.split('=').next().unwrap();
    let others = ALL.iter().filter(|other| other.split('=').next().unwrap() != name);
    others.copied().chain([flag]).collect()
}

/// The programs that were run, in order.
fn called(host: &TestHost) -> Vec<String> {
    let path = host.host.etc.with_file_name("called");
    fs::read_to_string(path).unwrap_or_default().lines().map(str::to_owned).collect()
}

fn agent(host: &TestHost) -> String {
    fs::read_to_string(host.host.etc.join("agent.toml")).unwrap()
}

fn done(ran: &Ran) {
    assert_eq!(ran.exit, Exit::Done, "{}{}", ran.out, ran.err);
}

#[test]
fn adds_to_the_groups_and_ends_with_a_task_of_the_person() {
    let host = host();
    let ran = host.run(&with("--tasks=alice,carol"));
    done(&ran);
    let called = called(&host);
    let expected = [
        "usermod --append --groups postern-users carol",
        "runuser --user alice -- POSTERN can",
        "runuser --user alice -- POSTERN run is dbus running",
    ];
    let postern = host.host.programs.postern.display().to_string();
    let expected = expected.map(|line| line.replace("POSTERN", &postern));
    assert_eq!(called, expected, "{}", ran.out);
    for words in [
        "postern-users: alice (was there)",
        "postern-users: carol (new)",
        "postern-users: bob stays; to take it away: gpasswd --delete bob postern-users",
        "postern-operators: alice (was there)",
        "packs: none added",
        "model: none (as before)",
        "audit key: not made",
        "next, as alice or carol: log in again, or: sg postern-users -c 'postern run \"is dbus running\"'",
    ] {
        assert!(ran.out.contains(words), "{words}: {}", ran.out);
    }
}

#[test]
fn names_the_missing_flags_where_nobody_answers_and_does_nothing() {
    let host = host();
    for (index, flag) in ALL.iter().enumerate().skip(1) {
        let without = ALL.iter().enumerate().filter(|(other, _)| *other != index).map(|(_, flag)| *flag);
        let ran = host.run(&without.collect::<Vec<_>>());
        assert_eq!(ran.exit, Exit::Usage, "{flag}");
        assert!(ran.err.contains(flag.split('=').next().unwrap()), "{flag}: {}", ran.err);
        assert!(called(&host).is_empty(), "{flag}");
    }
}

#[test]
fn refuses_names_that_are_no_people_before_it_changes_anything() {
    let host = host();
    for flag in [
        "--tasks=mallory",
        "--tasks=root",
        "--approve=postern",
        "--approve=postern-audit",
        "--look=postern-broker",
        "--packs=nothing",
    ] {
        let ran = host.run(&with(flag));
        assert_eq!(ran.exit, Exit::Usage, "{flag}: {}", ran.err);
        assert!(called(&host).is_empty(), "{flag}");
    }
}

#[test]
fn an_answer_has_taken_effect_before_the_next_question() {
    let host = host();
    // The input ends at the third question.
    let ran = host.answer(&["init"], "carol\nalice\n");
    assert_eq!(ran.exit, Exit::NotApproved, "{}", ran.err);
    assert!(ran.err.contains("1/5") && ran.err.contains("3/5") && !ran.err.contains("4/5"), "{}", ran.err);
    assert!(ran.err.contains("`postern-admin init` goes on from there"), "{}", ran.err);
    assert_eq!(called(&host), ["usermod --append --groups postern-users carol"]);
}

#[test]
fn asks_again_after_a_name_that_is_nobodys() {
    let host = host();
    let ran = host.answer(&["init", "--model=none", "--key=later"], "mallory\ncarol\n\nnone\nnone\n");
    done(&ran);
    // People are listed, neither root nor users of services.
    assert!(ran.err.contains("unknown user \"mallory\" (permitted: alice, carol)"), "{}", ran.err);
    assert!(ran.err.contains("[alice, bob]"), "{}", ran.err);
}

#[test]
fn writes_a_model_into_a_block_of_its_own_and_replaces_only_that() {
    let host = host();
    let before = agent(&host);
    let model = |name: &'static str| {
        let mut argv = with("--model=openai");
        argv.extend(["--model-url=http://127.0.0.1:9/v1", "--model-key=/etc/postern/key", name]);
        argv
    };
    done(&host.run(&model("--model-name=one")));
    let text = agent(&host);
    assert!(text.starts_with(before.trim_end()), "{text}");
    let block = "[model]\nprovider = \"openai\"\nbase_url = \"http://127.0.0.1:9/v1\"\nname = \"one\"\nkey = \"file:/etc/postern/key\"\n";
    assert!(text.contains(block), "{text}");
    let mode = fs::metadata(host.host.etc.join("agent.toml")).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o640);
    let restarted =
        |host: &TestHost| called(host).iter().filter(|line| line.starts_with("systemctl restart")).count();
    assert_eq!(restarted(&host), 1);
    // The same again restarts nothing, another name replaces the block, none removes it.
    done(&host.run(&model("--model-name=one")));
    assert_eq!((restarted(&host), agent(&host)), (1, text));
    done(&host.run(&model("--model-name=two")));
    let text = agent(&host);
    assert!(
        text.contains("\"two\"") && !text.contains("\"one\"") && text.matches("[model]").count() == 2,
        "{text}"
    );
    done(&host.run(&ALL));
    assert_eq!(agent(&host), before);
    for name in ["--model-name=a\"b", "--model-name=a\\b", "--model-name=a\nb"] {
        assert_eq!(host.run(&model(name)).exit, Exit::Usage, "{name}");
    }
    assert_eq!(agent(&host), before);
}

#[test]
fn a_model_that_a_person_configured_stays() {
    let host = host();
    let own = "[model]\nprovider = \"anthropic\"\n";
    host.write("agent.toml", own);
    let ran = host.run(&with("--model=ollama"));
    done(&ran);
    assert!(ran.out.contains("of your own, which stays"), "{}", ran.out);
    assert_eq!(agent(&host), own);
}

#[test]
fn a_configuration_that_the_agent_refuses_is_taken_back() {
    let host = host();
    let before = agent(&host);
    fs::write(&host.host.programs.postern, "#!/bin/sh\necho line 4: no >&2\nexit 2\n").unwrap();
    let mut argv = with("--model=openai");
    argv.extend(["--model-name=x", "--model-key=/k"]);
    let ran = host.run(&argv);
    assert_eq!(ran.exit, Exit::Failed);
    assert!(ran.err.contains("agent.toml stays as it was") && ran.err.contains("line 4: no"), "{}", ran.err);
    assert_eq!(agent(&host), before);
    assert!(!called(&host).iter().any(|line| line.starts_with("systemctl")));
}

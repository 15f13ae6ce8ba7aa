//! `init`: every answer takes effect at once, a second run changes nothing, and what is a person's own stays.

use crate::support::{GOOD, Ran, TestHost, accounts};
use postern_admin::host::Accounts;
use postern_admin::host::ModelPorts;
use postern_admin::io::Exit;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
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
    assert!(
        ran.err.contains("there is no user \"mallory\" on this host; local users: alice, carol"),
        "{}",
        ran.err
    );
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

/// A server on loopback that answers every request so; its port.
fn server(status: &'static str, body: &'static str) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, mut asked) = (stream.unwrap(), [0; 1024]);
            let length = stream.read(&mut asked).unwrap();
            assert!(
                asked[..length].starts_with(b"GET /v1/models HTTP/1.0\r\nHost: localhost\r\n"),
                "{asked:?}"
            );
            // The other end may have had enough.
            let _ = write!(stream, "HTTP/1.1 {status}\r\nContent-Type: application/json\r\n\r\n{body}");
        }
    });
    port
}

/// Answers of a person to the questions before the model's.
const BEFORE: [&str; 5] = ["init", "--tasks=alice", "--approve=alice", "--look=none", "--packs=none"];

/// A host whose programs for models answer at these ports.
fn with_models(ollama: u16, llama_cpp: u16) -> TestHost {
    let mut host = host();
    host.host.model_ports = ModelPorts { ollama, llama_cpp };
    host
}

fn asked(host: &TestHost, flags: &[&str], typed: &str) -> Ran {
    host.answer(&[&BEFORE[..], &["--key=later"], flags].concat(), typed)
}

const TWO: &str = "{\"object\":\"list\",\"data\":[{\"id\":\"qwen3:8b\"},{\"id\":\"llama3\"}]}";

#[test]
fn the_model_that_answers_on_loopback_is_proposed_with_its_name() {
    let (ollama, llama) = (server("200 OK", TWO), server("200 OK", "{\"data\":[{\"id\":\"gguf\"}]}"));
    // Enter twice: the provider that answers, and its first model.
    for (host, provider, port, name) in [
        (with_models(ollama, 1), "ollama", ollama, "qwen3:8b"),
        (with_models(1, llama), "llama.cpp", llama, "gguf"),
        (with_models(ollama, llama), "ollama", ollama, "qwen3:8b"),
    ] {
        let ran = asked(&host, &[], "\n\n");
        done(&ran);
        assert!(ran.err.contains(&format!("[{provider}] ")), "{}", ran.err);
        assert!(ran.err.contains(&format!("The model's name there? [{name}] ")), "{}", ran.err);
        assert!(!ran.err.contains("key"), "a model on this host needs none: {}", ran.err);
        let block = format!(
            "[model]\nprovider = \"openai\"\nbase_url = \"http://127.0.0.1:{port}/v1\"\nname = \"{name}\"\n"
        );
        assert!(agent(&host).contains(&block), "{}", agent(&host));
        assert!(ran.out.contains(&format!("model: {provider}; the agent was restarted")), "{}", ran.out);
    }
    // Another name than the first, and a word that is no provider.
    let host = with_models(ollama, llama);
    let ran = asked(&host, &[], "gpt\nllama.cpp\nother\n");
    done(&ran);
    assert!(ran.err.contains("\"gpt\" is none of none, ollama, llama.cpp, openai, anthropic"), "{}", ran.err);
    assert!(agent(&host).contains(&format!(":{llama}/v1\"\nname = \"other\"\n")), "{}", agent(&host));
}

#[test]
fn another_program_at_the_port_is_no_model() {
    for (status, body) in [
        ("200 OK", "<html>a site</html>"),
        ("404 Not Found", "{\"data\":[{\"id\":\"x\"}]}"),
        ("200 OK", "{\"error\":\"no such page\"}"),
        ("200 OK", ""),
    ] {
        let host = with_models(1, server(status, body));
        let before = agent(&host);
        let ran = asked(&host, &[], "\n");
        done(&ran);
        assert!(ran.err.contains("5/5 Which model") && ran.err.contains("[none] "), "{body}: {}", ran.err);
        assert_eq!(agent(&host), before, "{body}");
    }
    // A name that would end its line in agent.toml is not taken.
    let host = with_models(server("200 OK", "{\"data\":[{\"id\":\"a\\nb\"},{\"id\":\"fine\"}]}"), 1);
    done(&asked(&host, &[], "\n\n"));
    assert!(agent(&host).contains("name = \"fine\""), "{}", agent(&host));
}

#[test]
fn an_endpoint_elsewhere_needs_a_key_and_a_name() {
    let host = with_models(1, 1);
    let ran = asked(&host, &[], "anthropic\nclaude\n/etc/postern/key\n");
    done(&ran);
    assert!(ran.err.contains("The model's name there? [] "), "{}", ran.err);
    assert!(ran.err.contains("The file with its key (of root or postern, mode 0600)?"), "{}", ran.err);
    let block = "provider = \"anthropic\"\nname = \"claude\"\nkey = \"file:/etc/postern/key\"\n";
    assert!(agent(&host).contains(block), "{}", agent(&host));
    // Without a name, or a key, nothing is written.
    for typed in ["openai\n\n/k\n", "openai\nname\n\n"] {
        let host = with_models(1, 1);
        let before = agent(&host);
        assert_ne!(asked(&host, &[], typed).exit, Exit::Done, "{typed:?}");
        assert_eq!(agent(&host), before, "{typed:?}");
    }
    // With flags alone.
    for (flags, missing) in [
        (&["--model=openai", "--model-name=x"][..], "--model-key FILE"),
        (&["--model=openai", "--model-key=/k"], "--model-name NAME"),
        (&["--model=ollama"], "--model-name NAME"),
    ] {
        let host = with_models(1, 1);
        let before = agent(&host);
        let without_model =
            ALL.iter().copied().filter(|flag| !flag.starts_with("--model")).collect::<Vec<_>>();
        let ran = host.run(&[&without_model[..], flags].concat());
        assert_eq!(ran.exit, Exit::Usage, "{flags:?}: {}", ran.err);
        assert!(ran.err.contains(missing), "{flags:?}: {}", ran.err);
        assert_eq!(agent(&host), before, "{flags:?}");
    }
}

#[test]
fn a_model_that_init_set_up_is_changed_only_on_request() {
    let port = server("200 OK", TWO);
    let host = with_models(port, 1);
    done(&asked(&host, &[], "\n\n"));
    let text = agent(&host);
    let restarts = || called(&host).iter().filter(|line| line.starts_with("systemctl restart")).count();
    for typed in ["\n", "n\n"] {
        let ran = asked(&host, &[], typed);
        done(&ran);
        assert!(ran.err.contains("A model is set up already. Change it? [y/N] "), "{}", ran.err);
        assert_eq!((agent(&host), restarts()), (text.clone(), 1), "{typed:?}");
    }
    done(&asked(&host, &[], "y\n\nllama3\n"));
    assert!(
        agent(&host).contains("name = \"llama3\"") && !agent(&host).contains("qwen3"),
        "{}",
        agent(&host)
    );
    // The flag for configuration management takes the first name that the endpoint has, and changes nothing the second time.
    for _ in 0..2 {
        done(&host.run(&with("--model=ollama")));
        assert_eq!((agent(&host), restarts()), (text.clone(), 3));
    }
    // A URL of somebody else's is not asked, nor is the usual port for it.
    let mut argv = with("--model=ollama");
    argv.extend(["--model-url=http://192.0.2.1:11434/v1"]);
    let ran = host.run(&argv);
    assert_eq!(ran.exit, Exit::Usage, "{}", ran.err);
    assert_eq!(agent(&host), text);
}

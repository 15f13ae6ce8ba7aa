//! The first hour: from the package to a first change by the agent, at a terminal, without an edit of any file.

use std::path::Path;
use std::time::{Duration, Instant};

use postern_tests::{Machine, Release, deb, on_each_release};
use serde_json::json;

on_each_release!(from_the_package_to_a_validated_change_of_a_site_in_three_commands);

fn host(release: Release) -> Machine {
    let machine = Machine::boot_offering(release, &["man-db"]);
    machine.copy_in(&deb(), "/var/tmp/postern.deb");
    let _ = machine
        .shell(
            // Minimal images leave pages out, and with them what man-db's trigger waits for.
            "grep -l '^path-exclude' /etc/dpkg/dpkg.cfg.d/* 2>/dev/null | xargs -r rm
            DEBIAN_FRONTEND=noninteractive apt-get -q -y install nginx-light man-db >&2
            useradd --create-home --shell /bin/bash ann
            useradd --create-home --shell /bin/bash bob",
        )
        .ok();
    machine
}

const QUESTIONS: [(&str, &str); 10] = [
    ("1/5 Who gives the agent tasks?", "ann"),
    ("2/5 Who approves", "ann"),
    ("3/5 Who else reads", "bob"),
    ("4/5 Which packs", ""),
    ("Which directories hold the sites' content?", ""),
    ("Does a person approve each change", ""),
    ("Apply this policy? [y/N]", "y"),
    ("5/5 Which model", ""),
    ("Make it now? [Y/n]", ""),
    ("type its last 8 characters", "key:8"),
];

fn from_the_package_to_a_validated_change_of_a_site_in_three_commands(release: Release) {
    let machine = host(release);
    let begun = Instant::now();
    let files = "find /etc/postern /etc/nginx -newer /var/tmp/begun -type f | sort";

    // 1
    let _ = machine.shell("touch /var/tmp/begun").ok();
    let installed =
        machine.shell("DEBIAN_FRONTEND=noninteractive apt-get -q -y install /var/tmp/postern.deb").ok();
    assert!(installed.contains("Processing triggers for man-db"), "the control: {installed}");
    assert!(installed.trim_end().ends_with("postern: next: postern-admin init"), "{installed}");

    // An interruption after the third answer: what was answered is done.
    let answers = json!([QUESTIONS[0], QUESTIONS[1], QUESTIONS[2], ["4/5", "^C"]]);
    let interrupted = machine.at_a_terminal(&answers, "postern-admin init");
    assert_eq!(interrupted.code, 128 + 2, "{interrupted}");
    assert!(machine.shell("id -nG ann").ok().contains("postern-users"));
    assert_eq!(machine.shell("ls /etc/postern/policy.d").ok(), "");

    // 2: what was answered is proposed, so Enter is an answer.
    let mut answers = QUESTIONS.to_vec();
    answers[0].1 = "";
    answers[1].1 = "";
    answers[2].1 = "";
    let init = machine.at_a_terminal(&json!(answers), "postern-admin init");
    assert_eq!(init.code, 0, "{init}");
    for words in [
        "postern-users: ann (was there)",
        "[web-nginx]",
        "hazard: nginx opens logs",
        "public key: ",
        "done: status of dbus.service",
        "next, as ann: log in again, or: sg postern-users",
    ] {
        assert!(init.stdout.contains(words), "{words}: {init}");
    }

    // 3: at a new login. The change is validated, and the person agrees to exactly its text.
    let task =
        "write 'server { listen 8090; root /var/www/html; }' to /etc/nginx/conf.d/site.conf and reload nginx";
    let _ = machine.shell(&format!("cat > /home/ann/task <<'END'\npostern run \"{task}\"\nEND")).ok();
    let login = "exec runuser -l ann --session-command 'sh ~/task'";
    let ran = machine.at_a_terminal(&json!([["its last digits, to agree", "digest:4"]]), login);
    assert_eq!(ran.code, 0, "{ran}");
    let took = begun.elapsed();
    let _ =
        machine.shell("sleep 1; curl -sf -o /dev/null http://localhost:8090/index.nginx-debian.html").ok();
    // On a machine that does nothing else it is a quarter of this.
    assert!(took < Duration::from_secs(120), "{took:?}");
    println!("{took:?} from the package to the change");
    // Postern wrote all of these, and nobody else any.
    assert_eq!(
        machine.shell(files).ok(),
        "/etc/nginx/conf.d/site.conf\n/etc/postern/policy.d/pack-web-nginx.toml\n",
        "the package's own files are older"
    );

    the_session_of_before_reaches_the_agent_by_sg(&machine);
    a_second_run_changes_nothing(&machine);
    without_a_terminal_the_missing_flags_are_named(&machine);
    a_bad_configuration_is_not_written(&machine);
    a_model_on_loopback_makes_the_steps_of_the_first_task(&machine);
}

fn the_session_of_before_reaches_the_agent_by_sg(machine: &Machine) {
    // A session without the new group, as one that began before it.
    let old = machine.shell("setpriv --reuid ann --regid ann --clear-groups postern can");
    assert_ne!(old.code, 0, "the control: {old}");
    let new =
        machine.shell("setpriv --reuid ann --regid ann --clear-groups sg postern-users -c 'postern can'");
    assert_eq!(new.code, 0, "{new}");
}

/// Everything that `init` may change: groups, files with their times, what PID 1 enforces, and the policies of the log.
const STATE: &str = "getent group | grep ^postern; cat /etc/postern/agent.toml /etc/postern/policy.d/*; \
                     find /etc/postern /var/lib/postern-policy /var/lib/postern-admin /etc/systemd/system \
                     -type f ! -name apply.lock -printf '%p %T@ %m %U:%G\\n' | sort; \
                     find /var/lib/postern-policy -type f | sort | xargs sha256sum; \
                     cat /var/log/postern/*.jsonl | grep -Ec '\"event\":\"(policy_applied|start|stop)\"'; \
                     systemctl show --property=MainPID postern-agent.service postern-broker.service";

fn a_second_run_changes_nothing(machine: &Machine) {
    let before = machine.shell(STATE).ok();
    let again = machine.root(&[
        "postern-admin",
        "init",
        "--tasks=ann",
        "--approve=ann",
        "--look=bob",
        "--packs=web-nginx",
        "--model=none",
        "--key=later",
        "--yes",
    ]);
    assert_eq!(again.code, 0, "{again}");
    assert!(again.stdout.contains("no difference to what is accepted already"), "{again}");
    assert_eq!(machine.shell(STATE).ok(), before);
}

fn without_a_terminal_the_missing_flags_are_named(machine: &Machine) {
    let before = machine.shell(STATE).ok();
    let asked = machine.root(&["postern-admin", "init", "--tasks=bob", "--model=none"]);
    assert_eq!(asked.code, 2, "{asked}");
    assert!(asked.stderr.contains("--approve --look --packs --key later --yes"), "{asked}");
    for wrong in ["--tasks=mallory", "--tasks=postern", "--packs=nothing", "--set=web-nginx.root=x"] {
        let flags = [
            "--tasks=bob",
            "--approve=ann",
            "--look=none",
            "--packs=web-nginx",
            "--model=none",
            "--key=later",
            "--yes",
        ];
        let flags = flags.iter().filter(|flag| flag.split('=').next() != wrong.split('=').next()).copied();
        let argv = ["postern-admin", "init"].into_iter().chain(flags).chain([wrong]).collect::<Vec<_>>();
        let refused = machine.root(&argv);
        assert_eq!(refused.code, 2, "{refused}");
    }
    assert_eq!(machine.shell(STATE).ok(), before);
}

fn a_bad_configuration_is_not_written(machine: &Machine) {
    let task = "write 'server { lisen 8090; }' to /etc/nginx/conf.d/bad.conf and reload nginx";
    let _ = machine.shell(&format!("cat > /home/ann/task <<'END'\npostern run \"{task}\"\nEND")).ok();
    let login = "exec runuser -l ann --session-command 'sh ~/task'";
    let ran = machine.at_a_terminal(&json!([["its last digits, to agree", "digest:4"]]), login);
    assert_eq!(ran.code, 1, "{ran}");
    let _ = machine
        .shell("test ! -e /etc/nginx/conf.d/bad.conf; curl -sf -o /dev/null http://localhost:8090/index.nginx-debian.html")
        .ok();
}

/// The first name that the server has is taken, and the task at the end of `init` is the model's.
fn a_model_on_loopback_makes_the_steps_of_the_first_task(machine: &Machine) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("models/scripted.py");
    machine.copy_in(&script, "/var/tmp/scripted.py");
    let replies = json!([
        { "tool": "service", "args": { "action": "status", "name": "dbus" } },
        { "tool": "finish", "args": { "outcome": "done", "summary": "dbus runs, says the model" } },
    ]);
    let _ = machine
        .shell(&format!(
            "install -d -m 1777 /var/tmp/model
            cat > /var/tmp/replies.json <<'END'
{replies}
END
            systemd-run --quiet --unit=model python3 /var/tmp/scripted.py 8080 /var/tmp/replies.json /var/tmp/model/seen
            curl -s --retry 100 --retry-connrefused --retry-delay 1 --retry-max-time 30 -o /dev/null http://127.0.0.1:8080/"
        ))
        .ok();
    let flags = ["--tasks=ann", "--approve=ann", "--look=bob", "--packs=web-nginx", "--key=later", "--yes"];
    let init = [&["postern-admin", "init", "--model=llama.cpp"][..], &flags[..]].concat();
    let set_up = machine.root(&init);
    assert_eq!(set_up.code, 0, "{set_up}");
    assert!(set_up.stdout.contains("model: llama.cpp; the agent was restarted"), "{set_up}");
    assert!(set_up.stdout.contains("dbus runs, says the model"), "{set_up}");
    let shown = machine.root(&["postern", "config", "show"]).ok();
    for words in ["http://127.0.0.1:8080/v1", "scripted"] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    // The same again restarts nothing; the script of replies is over, so only the configuration is looked at.
    let before =
        machine.shell("cat /etc/postern/agent.toml; systemctl show -p MainPID postern-agent.service").ok();
    let again = machine.root(&init);
    assert!(again.stdout.contains("model: llama.cpp (as before)"), "{again}");
    let after =
        machine.shell("cat /etc/postern/agent.toml; systemctl show -p MainPID postern-agent.service").ok();
    assert_eq!(after, before);
}

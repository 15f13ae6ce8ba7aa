//! Named commands on a real systemd: what their sandbox holds back, what their limits end, and what survives.

use std::thread;

use postern_tests::{Installed, Output, Release, on_each_release};

on_each_release!(
    a_strict_command_changes_nothing_and_reaches_nobody_but_what_its_row_names,
    a_value_arrives_as_it_is_or_not_at_all,
    a_secret_is_read_by_the_program_and_stands_nowhere,
    what_is_printed_beyond_the_limit_is_cut_and_marked,
    the_time_limit_ends_everything_that_the_command_started,
    outcome_is_recorded_after_recorder_and_helper_were_killed,
);

/// A machine with this script as /usr/libexec/probe, and these commands granted by name.
fn host(release: Release, script: &str, commands: &[(&str, &str)], accepted: &str) -> Installed {
    let host = Installed::on(release);
    let _ = host
        .shell(&format!(
            "install -d -m 0777 /srv/probe; cat > /usr/libexec/probe <<'PROBE'\n#!/bin/bash\n{script}\nPROBE\nchmod 0755 /usr/libexec/probe"
        ))
        .ok();
    let rows = commands.iter().map(|(name, row)| format!("[[command]]\nname = \"{name}\"\n{row}\n"));
    let names: Vec<String> = commands.iter().map(|(name, _)| format!("{name:?}")).collect();
    let rule = format!(
        "[[rule]]\nid = \"probe\"\nclient = \"agent\"\nverbs = [\"command.run\", \"request.undo\"]\ncommands = [{}]\ntimeout = \"10m\"\n\
         decision = \"allow\"\njustification = \"tests of the sandbox\"\naccept_risk = {{ {accepted} }}\n",
        names.join(", ")
    );
    let rules: String = rows.chain([rule]).collect();
    host.grant(&rules);
    host
}

/// Returns the value on the output line that begins with a name.
fn said<'a>(output: &'a Output, name: &str) -> &'a str {
    let line = output.stdout.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("nothing of {name}: {output}"))
}

fn a_strict_command_changes_nothing_and_reaches_nobody_but_what_its_row_names(release: Release) {
    let script = r#"
try() { if eval "$2" 2>/dev/null >&2; then echo "$1 yes"; else echo "$1 no"; fi; }
connect() { python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])' "$1"; }
try etc 'touch /etc/probe'
try usr 'touch /usr/probe'
try listed 'touch /srv/probe/file'
try network 'exec 3<>/dev/tcp/127.0.0.1/7777'
try bus 'busctl --system list'
try home '[ -n "$(ls -A /root)" ]'
try state '[ -n "$(ls -A /var/lib/postern-root)" ]'
try sockets '[ -n "$(ls -A /run/postern)" ]'
try others 'ls -d /proc/1'
try namespace 'unshare -m true'
try one 'connect /run/probe/one.sock'
try two 'connect /run/probe/two.sock'
try three 'connect /srv/probe/three.sock'
touch /dev/shm/probe
echo "uid $(id -u)"
echo "powers $(grep CapEff /proc/self/status | tr -d '\t ')"
echo "privileges $(grep NoNewPrivs /proc/self/status | tr -dc 0-9)""#;
    let argv = "argv = [\"/usr/libexec/probe\"]";
    let strong = format!("{argv}\ncapabilities = [\"CAP_DAC_OVERRIDE\"]\nwrite = [\"/srv/probe\"]");
    let validator = format!("{argv}\nsandbox = \"validator\"\nscratch = [\"/srv/probe\"]");
    let control = format!("{argv}\nsandbox = \"none\"\nuser = \"root\"");
    let talks = format!("{argv}\nsockets = [\"/run/probe/one.sock\"]");
    let host = host(
        release,
        script,
        &[
            ("bare", argv),
            ("strong", &strong),
            ("looks", &validator),
            ("control", &control),
            ("talks", &talks),
        ],
        "command-capabilities = \"a test\", command-as-root = \"a test\", command-without-sandbox = \"a test\"",
    );
    // One process holds them all: a transient socket unit of systemd-run's ends with its first connection.
    let listen = "import os, socket, time
def at(path):
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    os.chmod(path, 0o666)
    listener.listen()
    return listener
os.makedirs('/run/probe')
held = [socket.create_server(('127.0.0.1', 7777))]
held += [at(path) for path in ('/run/probe/one.sock', '/run/probe/two.sock', '/srv/probe/three.sock')]
open('/run/probe/ready', 'w')
time.sleep(10000)";
    let _ = host.root(&["systemd-run", "--quiet", "python3", "-c", listen]).ok();
    let _ =
        host.shell("for i in $(seq 100); do [ -e /run/probe/ready ] && exit; sleep 0.1; done; exit 1").ok();
    let names = [
        "etc",
        "usr",
        "listed",
        "network",
        "bus",
        "home",
        "state",
        "sockets",
        "others",
        "namespace",
        "one",
        "two",
        "three",
    ];
    let run = |name: &str| host.visitor(&["postern", "command", name]);
    let of = |output: &Output| names.map(|name| said(output, name) == "yes");

    let control = run("control");
    assert_eq!(control.code, 0, "{control}\n{}", host.journal("postern-*"));
    assert_eq!(of(&control), [true; 13], "the control can do all of it: {control}");
    assert_eq!(said(&control, "uid"), "0");
    let _ = host.shell("rm /etc/probe /usr/probe /srv/probe/file /dev/shm/probe").ok();

    let bare = run("bare");
    assert_eq!(of(&bare), [false; 13], "{bare}");
    // Its /dev/shm is private and removed with it.
    let _ = host.shell("test ! -e /dev/shm/probe").ok();
    assert_eq!((said(&bare, "powers"), said(&bare, "privileges")), ("CapEff:0000000000000000", "1"));
    assert!(said(&bare, "uid").parse::<u32>().is_ok_and(|uid| uid >= 61184), "its own user: {bare}");

    // Root's power over files is not enough: the file system itself is read-only but for what the row names.
    let strong = run("strong");
    let only_listed = names.map(|name| name == "listed");
    assert_eq!(of(&strong), only_listed, "{strong}");
    assert_eq!(said(&strong, "powers"), "CapEff:0000000000000002");
    let _ = host.shell("rm /srv/probe/file; test ! -e /etc/probe -a ! -e /usr/probe").ok();

    // Of all sockets those that the row names.
    let talks = run("talks");
    assert_eq!(of(&talks), names.map(|name| name == "one"), "{talks}\n{}", host.journal("postern-command*"));

    // A validator judges changes of files and is no command.
    let looks = run("looks");
    assert!(looks.code == 3 && looks.stderr.contains("unsupported"), "{looks}");
    assert_eq!(host.shell("ls /var/lib/postern-root/jobs").ok(), "");
    assert_eq!(host.shell("systemctl list-units --all --plain --no-legend 'postern-command*'").ok(), "");
}

fn a_value_arrives_as_it_is_or_not_at_all(release: Release) {
    let row = "argv = [\"/usr/libexec/probe\", \"--\", \"{word}\", \"word={word}\"]\n\
               params.word = { kind = \"text\", pattern = \"*\" }";
    let script = "printf '<%s>' \"$@\"; touch /srv/probe/ran 2>/dev/null; printf '\\377' >&2; exit 7";
    let host = host(release, script, &[("say", row)], "free-text-argument = \"a test\"");
    let say = |word: &str| host.visitor(&["postern", "command", "say", &format!("word={word}")]);
    for word in ["a b", "$HOME", "${HOME}", "%i%n", "$(id)", "; id", "'\"", "a\\x41"] {
        let output = say(word);
        assert_eq!(output.code, 1, "{output}");
        // Of what failed nothing is a result.
        assert!(output.stderr.contains(&format!("<--><{word}><word={word}>")), "{output}");
        assert!(output.stderr.contains("exit code 7"), "{output}");
    }
    let lines = host.shell("grep -c '\"event\":\"begin\"' /var/log/postern/audit.jsonl").ok();
    for word in ["-x", "--help", "@/etc/passwd", "+x", ""] {
        assert_eq!(say(word).code, 2, "{word:?}");
    }
    assert_eq!(host.shell("grep -c '\"event\":\"begin\"' /var/log/postern/audit.jsonl").ok(), lines);
    let _ = host.root(&["chmod", "0775", "/usr/libexec/probe"]).ok();
    let output = say("a");
    assert_eq!(output.code, 3, "a program that a group may change: {output}");
    assert!(output.stderr.contains("unsafe_path"), "{output}");
}

fn a_secret_is_read_by_the_program_and_stands_nowhere(release: Release) {
    let on = "argv = [\"/usr/libexec/probe\", \"on\", \"{name}\", \"{key}\", \"pass={pass}\"]\n\
              params = { name = { kind = \"name\" }, key = { kind = \"secret\" }, pass = { kind = \"secret\" } }\n\
              write = [\"/srv/probe\"]\ntimeout = \"10m\"\nreverse = \"off\"";
    let off = "argv = [\"/usr/libexec/probe\", \"off\", \"{name}\"]\nparams.name = { kind = \"name\" }";
    let script = "if [ $1 = off ]; then echo off $2; exit; fi\n\
                  touch /srv/probe/began; for i in $(seq 6000); do [ -e /srv/probe/go ] && break; sleep 0.1; done\n\
                  sha256sum < $3; sha256sum < ${4#pass=}";
    let host = host(release, script, &[("on", on), ("off", off)], "");
    // Made there, so that no command of the test names them.
    let _ = host
        .shell(
            "umask 077; cd /home/visitor; for name in key pass; do head -c 9 /dev/urandom | base64 -w 0 | tr +/ xy > $name; done; \
             chown visitor key pass; cat pass > both; echo >> both; cat key >> both",
        )
        .ok();
    // Every file but programs and the person's own, what processes show of themselves, and what PID 1 and the journal say.
    let seen = "set +e; grep -rlsF -f /home/visitor/both /run /var /etc /tmp /srv /root /dev/shm; \
                grep -lsF -f /home/visitor/both /proc/[0-9]*/cmdline /proc/[0-9]*/environ; \
                systemctl show --all '*' | grep -cF -f /home/visitor/both; \
                journalctl --no-pager --all -o json | grep -cF -f /home/visitor/both; true";
    let (during, answer) = thread::scope(|scope| {
        let asked = "cat /home/visitor/pass | postern command on name=db-1 key=@/home/visitor/key pass=-";
        let answer = scope.spawn(|| host.visitor(&["sh", "-c", asked]));
        let _ = host.shell("for i in $(seq 300); do [ -e /srv/probe/began ] && break; sleep 0.1; done").ok();
        let during = host.shell(seen).ok();
        let _ = host.shell("touch /srv/probe/go").ok();
        (during, answer.join().expect("the person's command"))
    });
    assert_eq!(answer.code, 0, "{answer}\n{}", host.journal("postern-*"));
    // The control: both copies on a tmpfs are found, the one that PID 1 reads and the credential that it makes of it.
    let (found, elsewhere) = during.lines().partition::<Vec<_>, _>(|line| line.starts_with("/run/"));
    let is_place = |line: &&str| {
        line.starts_with("/run/postern-jobs/") || line.starts_with("/run/credentials/postern-command-on-")
    };
    assert_eq!((found.iter().filter(|line| is_place(line)).count(), found.len()), (2, 2), "{during}");
    assert_eq!(elsewhere, ["0", "0"], "{during}");
    assert_eq!(answer.stdout, host.shell("cd /home/visitor; sha256sum < key; sha256sum < pass").ok());
    assert_eq!(host.shell(seen).ok(), "0\n0\n", "once it is done");
    let _ = host.shell("grep -q '\"pass=(secret)\"' /var/log/postern/audit.jsonl").ok();

    // Its undo is the other command, with the value that is no secret.
    let undone = host.visitor(&["postern", "undo", "last"]);
    assert_eq!((undone.code, undone.stdout.trim()), (0, "off db-1"), "{undone}");
    let _ = host.root(&["postern-admin", "audit", "verify"]).ok();
}

fn what_is_printed_beyond_the_limit_is_cut_and_marked(release: Release) {
    let row = "argv = [\"/usr/libexec/probe\"]\noutput = 1000";
    let script = "head -c 3000000 /dev/zero | tr '\\0' o; head -c 999 /dev/zero | tr '\\0' e >&2";
    let host = host(release, script, &[("print", row)], "");
    let output = host.visitor(&["postern", "command", "print", "--json"]);
    assert_eq!(output.code, 0, "{output}");
    assert!(output.stdout.contains(&format!("\"stdout\":\"{}\"", "o".repeat(1000))), "{output}");
    assert!(output.stdout.contains(&format!("\"stderr\":\"{}\"", "e".repeat(999))), "{output}");
    assert!(output.stdout.contains("\"truncated\":true"), "{output}");
    let output = host.visitor(&["postern", "command", "print"]);
    assert!(output.stderr.contains("this is not all"), "{output}");
}

fn the_time_limit_ends_everything_that_the_command_started(release: Release) {
    let row = "argv = [\"/usr/libexec/probe\"]\ntimeout = \"2s\"";
    let script = "echo before; (trap '' TERM HUP; setsid sleep 1234) & setsid sleep 1235 & sleep 1236";
    let short = "argv = [\"/usr/libexec/probe\"]\nenv = { SHORT = \"1\" }";
    let script = format!(
        "if [ -n \"$SHORT\" ]; then (trap '' TERM HUP; setsid sleep 1237) & echo short; exit 0; fi\n{script}"
    );
    let host = host(release, &script, &[("late", row), ("short", short)], "");
    let output = host.visitor(&["postern", "command", "late"]);
    assert_eq!(output.code, 1, "{output}");
    assert!(output.stderr.contains("before") && output.stderr.contains("timeout"), "{output}");
    assert_eq!(host.shell("pgrep -a sleep || true").ok(), "", "its children live");

    // Processes left by a command that has ended are killed before it is answered.
    let output = host.visitor(&["postern", "command", "short"]);
    assert_eq!((output.code, output.stdout.trim()), (0, "short"), "{output}");
    assert_eq!(host.shell("pgrep -a sleep || true").ok(), "", "its children live");
}

fn outcome_is_recorded_after_recorder_and_helper_were_killed(release: Release) {
    let row = "argv = [\"/usr/libexec/probe\"]\nwrite = [\"/srv/probe\"]\ntimeout = \"40s\"";
    let script = "touch /srv/probe/began; sleep 6; touch /srv/probe/done; echo worked; exit 5";
    let host = host(release, script, &[("slow", row)], "");
    let id = "01890000-0000-7000-8000-000000000000";
    let now = host.shell("date +%s%3N").ok();
    let stamp = format!("{:012x}", now.trim().parse::<u64>().expect("milliseconds"));
    let id = format!("{}-{}{}", &stamp[..8], &stamp[8..], &id[13..]);
    let _ = host
        .shell(&format!(
            "systemd-run --quiet --unit slow --uid visitor -p RemainAfterExit=yes -- postern command slow --request-id {id}; \
             for i in $(seq 100); do [ -e /srv/probe/began ] && break; sleep 0.1; done; \
             test ! -e /srv/probe/done; systemctl kill -s KILL postern-audit.service postern-units.service postern-broker.service"
        ))
        .ok();
    let _ = host.shell("for i in $(seq 150); do [ -e /srv/probe/done ] && break; sleep 0.1; done; sleep 3; test -e /srv/probe/done").ok();
    let output = host.visitor(&["postern", "result", &id, "--json"]);
    assert!(output.stdout.contains("\"code\":\"command_failed\""), "{output}\n{}", host.journal("postern-*"));
    assert!(output.stdout.contains("\"exit\":{\"code\":5"), "{output}");
    let log = host.shell("grep '\"event\":\"end\"' /var/log/postern/audit.jsonl | tail -n 1").ok();
    assert!(log.contains("\"exit\":{\"code\":5"), "{log}");
    let _ = host.root(&["postern-admin", "audit", "verify"]).ok();
}

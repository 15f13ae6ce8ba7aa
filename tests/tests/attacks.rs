//! Attacks on the installed system. Each has a control: the same try without our guard, or by whom it is meant.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use postern_proto::v1::{ChangeKind, FileChange, FileWriteRequest, Meta, Mode};
use postern_tests::{Installed, Release, on_each_release};
use prost::Message;

on_each_release!(
    forged_sockets_gain_nothing,
    a_captured_gateway_has_one_clients_power,
    each_program_reaches_its_neighbours_and_nobody_else,
    a_client_that_connects_and_leaves_all_the_time_fails_no_other,
);

fn script(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("attacks").join(name)
}

fn forged_sockets_gain_nothing(release: Release) {
    let host = Installed::on(release);
    let _ = host.root(&["useradd", "--create-home", "--groups", "postern-clients", "mallory"]).ok();
    host.copy_in(&script("stranger.py"), "/var/tmp/stranger.py");
    let answer = host.run("mallory", &["python3", "/var/tmp/stranger.py"]).ok();
    let wanted = "plain: closed\nbound to a path: closed\nbound to an abstract name: closed\noperator: refused\nperson: refused\n\
                  internal/gateway: refused\ninternal/recorder: refused\ninternal/files: refused\n\
                  internal/units: refused\nwith a socket of root's: closed\n";
    let as_root: String =
        wanted.lines().map(|line| format!("as root of a namespace, {line}\n")).collect::<Vec<_>>().concat();
    assert_eq!(answer, format!("{wanted}{as_root}"));
    let uid = host.root(&["id", "-u", "mallory"]).ok();
    let log = host.shell("cat /var/log/postern/audit.jsonl").ok();
    let turned_away: Vec<&str> = log.lines().filter(|line| line.contains("unknown_client")).collect();
    assert!(turned_away.len() >= 8, "{log}");
    for line in turned_away {
        assert!(line.contains(&format!("\"client\":{{\"uid\":{},", uid.trim())), "{line}");
    }
    // The control: the agent's own user is served on the same socket.
    let _ = host.run("postern", &["postern", "--direct", "can"]).ok();
}

/// A request to write a page, as hex of its bytes.
fn write(path: &str) -> String {
    static COUNT: AtomicU64 = AtomicU64::new(1);
    let ms = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock after 1970").as_millis();
    let time = format!("{ms:012x}");
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let meta = Meta {
        request_id: format!("{}-{}-7000-8000-{count:012x}", &time[..8], &time[8..]),
        mode: Mode::Execute.into(),
        // Recorded as a claim only.
        claimed_uid: 4_242,
        ..Meta::default()
    };
    let change = FileChange {
        path: path.to_owned(),
        kind: ChangeKind::Write.into(),
        content: b"x".to_vec(),
        expect: "any".to_owned(),
        ..FileChange::default()
    };
    let request = FileWriteRequest { meta: Some(meta), change: Some(change) };
    request.encode_to_vec().iter().fold(String::new(), |hex, byte| hex + &format!("{byte:02x}"))
}

fn a_captured_gateway_has_one_clients_power(release: Release) {
    let host = Installed::on(release);
    let _ = host.shell("mkdir -p /var/www/html").ok();
    host.copy_in(&script("captured_gateway.py"), "/usr/local/lib/captured.py");
    let bodies = ["a", "b", "c"].map(|name| write(&format!("/var/www/html/{name}.html"))).join(",");
    // More freedom than a captured gateway would have: its view of the files and its filters are lifted.
    let unit = "/etc/systemd/system/postern-gateway@.service.d";
    let lifted = [
        "SystemCallFilter",
        "RestrictAddressFamilies",
        "RootDirectory",
        "TemporaryFileSystem",
        "BindReadOnlyPaths",
        "NoExecPaths",
        "ExecPaths",
        "ExecStart",
    ];
    let lifted = lifted.join("=\\n") + "=\\n";
    let dropin = format!(
        "[Service]\\n{lifted}ExecStart=/usr/bin/python3 /usr/local/lib/captured.py\\nMemoryDenyWriteExecute=no\\n\
         PrivateUsers=no\\nEnvironment=ATTACK_BODIES={bodies}\\n"
    );
    let _ = host.shell(&format!(
        "systemctl stop postern-agent.service postern-agent.socket; mkdir -p {unit}; printf '{dropin}' > {unit}/evil.conf; systemctl daemon-reload"
    )).ok();
    // A client connects, waits and leaves without a word.
    let client = "import socket, time; s = socket.socket(socket.AF_UNIX); s.connect('/run/postern/helper.sock'); time.sleep(3)";
    let _ = host.run("postern", &["python3", "-c", client]).ok();
    let _ = host
        .shell("for i in $(seq 50); do journalctl -b | grep -q 'captured: after' && break; sleep 0.1; done");
    let journal = host.shell("journalctl -b -o cat | grep '^captured: ' || journalctl -b -n 60").ok();
    let said = |what: &str| {
        let prefix = format!("captured: {what}: ");
        journal
            .lines()
            .find_map(|line| line.strip_prefix(&prefix).map(str::to_owned))
            .unwrap_or_else(|| panic!("{what}\n{journal}"))
    };
    let uid = host.root(&["id", "-u", "postern-gateway"]).ok();
    assert_eq!(said("uid"), uid.trim());
    for name in [
        "helper",
        "operator",
        "person",
        "internal/gateway",
        "internal/recorder",
        "internal/files",
        "internal/units",
    ] {
        assert!(said(&format!("connect to {name}.sock")).starts_with("refused: "), "{journal}");
    }
    // The control: while its client is there it has that client's power, and no other's.
    assert_eq!(said("as the client"), "ended with code 0");
    assert_eq!(said("with descriptors"), "ended with code 0");
    let after = said("after the client left");
    assert!(after == "closed" || after.starts_with("refused: "), "{after}");
    assert_eq!(host.shell("ls /var/www/html").ok(), "a.html\nb.html\n");
    let agent = host.root(&["id", "-u", "postern"]).ok();
    let begun = host.shell("grep '\"event\":\"begin\"' /var/log/postern/audit.jsonl").ok();
    assert_eq!(begun.lines().count(), 2, "{begun}");
    for line in begun.lines() {
        assert!(
            line.contains(&format!("\"client\":{{\"name\":\"agent\",\"uid\":{},", agent.trim())),
            "{line}"
        );
        assert!(line.contains("\"claimed_by\":{\"uid\":4242}"), "{line}");
    }
    let open = host.shell("ls /proc/$(systemctl show --value -p MainPID postern-broker.service)/fd -l | grep -c journal || true").ok();
    assert_eq!(open.trim(), "0", "a descriptor was received");
}

/// Sockets and files that a user of ours can reach outside of any unit: protected by uid and groups alone.
struct Reach {
    user: &'static str,
    /// Sockets below /run/postern that let it connect.
    sockets: &'static [&'static str],
    /// State and secrets that it reads.
    files: &'static [&'static str],
}

const REACH: &[Reach] = &[
    Reach { user: "postern", sockets: &["helper", "tool", "tool-ports"], files: &[] },
    Reach { user: "postern-tool", sockets: &[], files: &[] },
    Reach { user: "postern-gateway", sockets: &[], files: &[] },
    Reach {
        user: "postern-broker",
        sockets: &["internal/gateway", "internal/probe", "internal/recorder"],
        files: &["/var/lib/postern-broker", "/var/lib/postern-policy/accepted.pb"],
    },
    Reach { user: "postern-probe", sockets: &[], files: &["/var/lib/postern-policy/accepted.pb"] },
    Reach {
        user: "postern-audit",
        sockets: &["internal/announce", "internal/asked", "internal/files", "internal/units"],
        files: &[
            "/etc/postern/policy.toml",
            "/run/postern-audit",
            "/var/lib/postern-audit",
            "/var/lib/postern-policy/accepted.pb",
            "/var/log/postern/audit.jsonl",
        ],
    },
    // With its unit's capabilities it reads more; Landlock and the unit bound that (sandboxes).
    Reach {
        user: "postern-files",
        sockets: &[],
        files: &["/var/lib/postern-files", "/var/lib/postern-policy/accepted.pb"],
    },
];

fn each_program_reaches_its_neighbours_and_nobody_else(release: Release) {
    let host = Installed::as_shipped(release);
    let try_all = "import os, socket, sys
sockets = ['agent', 'helper', 'operator', 'tool', 'tool-ports'] + ['internal/' + name for name in
    ('announce', 'asked', 'files', 'gateway', 'probe', 'recorder', 'units')]
for name in sockets:
    try:
        socket.socket(socket.AF_UNIX).connect('/run/postern/' + name + '.sock')
        print(name)
    except PermissionError:
        pass
for path in sys.argv[1:]:
    try:
        os.listdir(path) if os.path.isdir(path) else open(path, 'rb').close()
        print(path)
    except PermissionError:
        pass
";
    let files = [
        "/etc/postern/policy.toml",
        "/run/postern-audit",
        "/run/postern-jobs",
        "/var/lib/postern-audit",
        "/var/lib/postern-broker",
        "/var/lib/postern-files",
        "/var/lib/postern-policy/accepted.pb",
        "/var/lib/postern-root",
        "/var/log/postern/audit.jsonl",
    ];
    for path in files {
        let _ = host.root(&["test", "-e", path]).ok();
    }
    for reach in REACH {
        let argv = [&["python3", "-c", try_all], &files[..]].concat();
        let reached = host.run(reach.user, &argv).ok();
        let mut wanted = [reach.sockets, reach.files].concat();
        let mut found: Vec<&str> = reached.lines().collect();
        wanted.sort_unstable();
        found.sort_unstable();
        assert_eq!(found, wanted, "{}", reach.user);
    }
}

fn a_client_that_connects_and_leaves_all_the_time_fails_no_other(release: Release) {
    let host = Installed::on(release);
    let _ = host.root(&["useradd", "--create-home", "--groups", "postern-clients", "mallory"]).ok();
    host.grant(
        r#"
[[client]]
name = "noise"
user = "mallory"

[[rule]]
id = "noise-units"
client = "noise"
verbs = ["unit.status"]
units = ["*.service"]
decision = "allow"
justification = "a second client"
"#,
    );
    let flood = "import socket, time
count, end = 0, time.monotonic() + 10
while time.monotonic() < end:
    s = socket.socket(socket.AF_UNIX)
    s.connect('/run/postern/helper.sock')
    s.close()
    count += 1
    time.sleep(1 / 150)
print(count)";
    std::thread::scope(|scope| {
        let flood = scope.spawn(|| host.run("mallory", &["python3", "-c", flood]).ok());
        for number in 0..7 {
            let answer = host.run("postern", &["postern", "--direct", "service", "status", "dbus"]);
            assert_eq!(answer.code, 0, "request {number}: {answer}");
        }
        let count: u32 = flood.join().expect("the flood ends").trim().parse().expect("a number");
        assert!(count > 500, "{count} connections in 10 s are no flood");
    });
}

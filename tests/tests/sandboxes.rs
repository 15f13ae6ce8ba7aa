//! Each unit, started with a probing program in the place of its own: what it can see, open, connect to and call.
//!
//! A check that works must be listed, and one that is listed must work, so that no ability comes unnoticed and none
//! is left that the program has no use for. The control is the same program as root without any unit of ours.

use std::collections::BTreeMap;
use std::path::Path;

use postern_tests::{Installed, Release, on_each_release};

on_each_release!(units_can_do_what_is_listed_and_nothing_else,);

/// A unit, how it is started, and what works in it.
struct Row {
    /// Whose journal has the report; a pattern for templates.
    unit: &'static str,
    /// Started by this script of root's.
    start: &'static str,
    /// Prints the report, where it is not in the journal.
    report: Option<&'static str>,
    /// Checks of the probe.
    works: &'static [&'static [&'static str]],
}

/// Works in every unit that has the host's root, read-only: nothing here is another user's secret.
const HOST: &[&str] = &[
    "list /",
    "list /etc",
    "list /run",
    "list /usr/lib",
    "list /var/lib",
    "read /etc/passwd",
    "read /proc/self/mountinfo",
    "run a program",
    "run from memory",
    "see /boot",
    "see /etc/machine-id",
    "see /etc/postern",
    "see /etc/shadow",
    "see /home",
    "see /root",
    "see /sys/class",
    "see /usr/bin",
    "see /var/lib/dpkg",
    // RestrictAddressFamilies= closes socket(2) alone. For commands of the agent their supervisor closes it too.
    "send to the journal through a socketpair",
    "write in /dev/shm",
    "write in /tmp",
];

/// Further of units without `ProcSubset=pid` or with Unix sockets.
const UNIX: &[&str] = &[
    "connect to /run/dbus/system_bus_socket",
    "connect to /run/postern/helper.sock",
    "connect to /run/postern/tool-ports.sock",
    "connect to /run/postern/tool.sock",
    "connect to /run/systemd/journal/stdout",
    "list /run/postern",
    "read /etc/postern/agent.toml",
    "see /proc/sys",
    "see /run/dbus/system_bus_socket",
    "see /run/postern/helper.sock",
    "socket unix",
];

/// An IP network.
const INTERNET: &[&str] = &["connect to this host by TCP", "socket inet", "socket inet6"];

/// The programs that the probe takes the place of.
const PROGRAMS: [&str; 4] = [
    "/usr/bin/postern",
    "/usr/libexec/postern/postern-gateway",
    "/usr/libexec/postern/postern-helper",
    "/usr/libexec/postern/postern-job",
];

/// Connects to a socket as a user: `connect USER PATH`.
const CONNECT: &str = "connect() { runuser -u \"$1\" -- python3 -c \
                       'import socket, sys; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); s.recv(1)' \"$2\"; }\n";

const ROWS: &[Row] = &[
    Row {
        unit: "postern-gateway@*",
        start: "connect root /run/postern/gateway.sock",
        report: None,
        // The mount point that hides root's home.
        works: &[&["read /proc/self/mountinfo", "see /root"]],
    },
    Row {
        unit: "postern-helper.service",
        start: "systemctl restart postern-helper.service",
        report: None,
        works: &[
            HOST,
            UNIX,
            &[
                "become the group of root",
                "connect to /run/postern/agent.sock",
                "connect to /run/postern/gateway.sock",
                "connect to /run/postern/operator.sock",
                "connect to /run/systemd/private",
                "give a file away",
                "list /var/lib/postern-helper",
                "make a setuid file",
                "read /etc/postern/policy.toml",
                "read /etc/shadow",
                "read /var/lib/postern-helper/policy/accepted.pb",
                "read /var/log/postern/audit.jsonl",
                "signal to PID 1",
                "write in /etc",
                "write in /run/postern-helper",
                "write in /srv",
                "write in /usr/local/bin",
                "write in /var/lib",
                "write in /var/lib/postern-helper",
                "write in /var/lib/postern-tool",
                "write in /var/lib/postern-tool/tasks",
                "write in /var/log/postern",
            ],
        ],
    },
    Row {
        unit: "postern-agent.service",
        start: "systemctl restart postern-agent.service",
        report: None,
        works: &[HOST, UNIX, INTERNET, &["write in /var/lib/postern"]],
    },
    Row {
        unit: "postern-tool@*",
        start: "connect postern /run/postern/tool.sock",
        report: None,
        works: &[HOST, &["see /proc/sys", "write in /var/lib/postern-tool/tasks"]],
    },
    Row {
        unit: "postern-tool-ports@*",
        start: "connect postern /run/postern/tool-ports.sock",
        report: None,
        works: &[HOST, INTERNET, &["see /proc/sys", "write in /var/lib/postern-tool/tasks"]],
    },
    Row {
        unit: "postern-plan@*",
        start: "mkdir /var/lib/postern-helper/jobs/x; touch /var/lib/postern-helper/jobs/x/job.pb; \
                systemctl start postern-plan@x.service",
        report: Some("cat /var/lib/postern-helper/jobs/x/stderr"),
        works: &[HOST, &["see /run/dbus/system_bus_socket"]],
    },
    Row {
        unit: "postern-wall@*",
        start: "systemctl start postern-wall@x.service",
        report: None,
        works: &[HOST, &["see /run/dbus/system_bus_socket"]],
    },
];

/// What does not work for root in such a machine either: no control shows that a unit is what keeps it off.
const UNPROVEN: &[&str] = &["open /proc/sys/kernel/hostname for writing", "see /dev/kmsg"];

/// The first report in what a unit said: each check with how it went.
fn report(text: &str) -> Option<BTreeMap<String, String>> {
    let lines = text.lines().filter_map(|line| line.strip_prefix("sandbox-probe: "));
    let checks: Vec<&str> = lines.take_while(|line| *line != "end").collect();
    let is_whole = text.contains("sandbox-probe: end");
    is_whole.then(|| {
        let pairs = checks.into_iter().map(|line| line.rsplit_once(": ").expect("a check and its outcome"));
        pairs.map(|(check, how)| (check.to_owned(), how.to_owned())).collect()
    })
}

/// Puts the probe in the place of every program, and somebody to talk to into the machine.
fn prepare(host: &Installed) {
    host.copy_in(Path::new(env!("CARGO_BIN_EXE_sandbox-probe")), "/var/tmp/sandbox-probe");
    let _ = host.shell("systemctl stop postern-helper.service postern-agent.service").ok();
    for program in PROGRAMS {
        let _ = host.root(&["install", "-m", "0755", "/var/tmp/sandbox-probe", program]).ok();
    }
    let listen = "import socket, time; s = socket.create_server(('127.0.0.1', 7001)); time.sleep(10000)";
    let _ = host.root(&["systemd-run", "--quiet", "--unit=listen", "python3", "-c", listen]).ok();
}

/// Starts a unit and waits for its report.
fn probe(host: &Installed, row: &Row) -> BTreeMap<String, String> {
    let journal = format!("journalctl -o cat -u '{}' --since \"$now\"", row.unit);
    let print = row.report.unwrap_or(&journal);
    let script = format!(
        "{CONNECT}now=@$(date +%s.%N)\n{}\nfor i in $(seq 100); do {print} | grep -qx 'sandbox-probe: end' && break; \
         sleep 0.1; done\n{print}",
        row.start
    );
    let said = host.shell(&script).ok();
    report(&said).unwrap_or_else(|| panic!("no report of {}:\n{said}", row.unit))
}

fn units_can_do_what_is_listed_and_nothing_else(release: Release) {
    let host = Installed::as_shipped(release);
    prepare(&host);
    let mut wrong = Vec::new();
    for row in ROWS {
        let found = probe(&host, row);
        let listed: Vec<&str> = row.works.concat();
        for (check, how) in &found {
            match (how == "works", listed.contains(&check.as_str())) {
                (true, false) => wrong.push(format!("{}: {check} works", row.unit)),
                (false, true) => wrong.push(format!("{}: {check} does not work: {how}", row.unit)),
                _ => {}
            }
        }
        let unknown = listed.iter().filter(|check| !found.contains_key(**check));
        wrong.extend(unknown.map(|check| format!("{}: the probe has no check {check:?}", row.unit)));
    }
    let control = host.root(&["/var/tmp/sandbox-probe"]);
    let control = report(&control.stderr).unwrap_or_else(|| panic!("no report of the control: {control}"));
    for (check, how) in control {
        if (how == "works") == UNPROVEN.contains(&check.as_str()) {
            wrong.push(format!("the control, as root: {check}: {how}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

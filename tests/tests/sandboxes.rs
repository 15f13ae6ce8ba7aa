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
    /// The unit that the report is in the journal of; a pattern for templates.
    unit: &'static str,
    /// Started by this script of root's.
    start: &'static str,
    /// Prints the report, where it is not in the journal.
    report: Option<&'static str>,
    /// Checks of the probe.
    works: &'static [&'static [&'static str]],
    /// Further ones on Debian 13, whose systemd adds the journal's sockets to a hidden root.
    works_on_13: &'static [&'static str],
}

/// Works in every unit that has the host's root, read-only: nothing here is another user's secret.
const HOST: &[&str] = &[
    "list /",
    "list /etc",
    "list /run",
    "list /usr/lib",
    "list /var/lib",
    // Only the names: the files are readable by group systemd-journal alone.
    "list /var/log/journal",
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
    "write in /dev/shm",
    "write in /tmp",
];

/// Where the journal's sockets are in view: `RestrictAddressFamilies=` closes socket(2) alone. For commands of the agent
/// their supervisor closes it too.
const JOURNAL: &[&str] = &["send to the journal through a socketpair"];

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
const PROGRAMS: [&str; 7] = [
    "/usr/bin/postern",
    "/usr/libexec/postern/postern-audit",
    "/usr/libexec/postern/postern-broker",
    "/usr/libexec/postern/postern-files",
    "/usr/libexec/postern/postern-gateway",
    "/usr/libexec/postern/postern-probe",
    "/usr/libexec/postern/postern-units",
];

/// Connects to a socket as a user: `connect USER PATH`. The probe in the unit's place takes no connection that systemd did
/// not accept for it, so nobody waits for an answer.
const CONNECT: &str = "connect() { runuser -u \"$1\" -- python3 -c \
                       'import socket, sys; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); s.settimeout(2)
try: s.recv(1)
except TimeoutError: pass' \"$2\"; }\n";

const ROWS: &[Row] = &[
    Row {
        unit: "postern-gateway@*",
        start: "connect postern-broker /run/postern/internal/gateway.sock",
        report: None,
        // The mount point that hides root's home.
        works: &[&["read /proc/self/mountinfo", "see /root"]],
        works_on_13: &[],
    },
    Row {
        unit: "postern-broker.service",
        start: "systemctl restart postern-broker.service",
        report: None,
        works: &[&[
            "connect to /run/postern/internal/gateway.sock",
            "connect to /run/postern/internal/probe.sock",
            "connect to /run/postern/internal/recorder.sock",
            "list /",
            "list /etc",
            "list /run",
            "list /run/postern",
            "list /usr/lib",
            "list /var/lib",
            "read /etc/passwd",
            "read /proc/self/mountinfo",
            "read /var/lib/postern-policy/accepted.pb",
            "see /etc/machine-id",
            "see /etc/postern",
            "see /etc/shadow",
            "see /root",
            "see /run/postern/helper.sock",
            "socket unix",
            "write in /var/lib/postern-broker",
        ]],
        works_on_13: &["connect to /run/systemd/journal/stdout", "send to the journal through a socketpair"],
    },
    Row {
        unit: "postern-audit.service",
        start: "systemctl restart postern-audit.service",
        report: None,
        works: &[&[
            "connect to /run/postern/internal/announce.sock",
            "connect to /run/postern/internal/asked.sock",
            "connect to /run/postern/internal/files.sock",
            "connect to /run/postern/internal/units.sock",
            "list /",
            "list /etc",
            "list /run",
            "list /run/postern",
            "list /usr/lib",
            "list /var/lib",
            "list /var/lib/postern-audit",
            "read /etc/passwd",
            "read /proc/self/mountinfo",
            "read /var/lib/postern-policy/accepted.pb",
            "read /var/log/postern/audit.jsonl",
            "see /boot",
            "see /etc/machine-id",
            "see /etc/postern",
            "see /etc/shadow",
            "see /home",
            "see /proc/sys",
            "see /root",
            "see /run/postern/helper.sock",
            "see /sys/class",
            "see /usr/bin",
            "send to the journal through a socketpair",
            "socket unix",
            "write in /dev/shm",
            "write in /run/postern-audit",
            "write in /tmp",
            "write in /var/lib/postern-audit",
            "write in /var/log/postern",
        ]],
        works_on_13: &[],
    },
    Row {
        unit: "postern-probe.service",
        start: "connect postern-broker /run/postern/internal/probe.sock",
        report: None,
        works: &[
            HOST,
            &[
                "connect to /run/dbus/system_bus_socket",
                "read /var/lib/postern-policy/accepted.pb",
                "see /proc/sys",
                "see /run/dbus/system_bus_socket",
                "socket unix",
            ],
        ],
        works_on_13: &[],
    },
    Row {
        unit: "postern-files.service",
        start: "connect postern-audit /run/postern/internal/files.sock",
        report: None,
        works: &[
            HOST,
            // Before it confines itself; then it opens nothing but what the policy grants, and its own state. In the
            // place of the recorder's and root's state it finds empty directories.
            &[
                "list /var/lib/postern-audit",
                "list /var/lib/postern-files",
                "list /var/lib/postern-root",
                "read /etc/shadow",
                "read /var/lib/postern-policy/accepted.pb",
                "read /var/lib/postern-policy/validator.key",
                "see /proc/sys",
                "write in /var/lib/postern-files",
            ],
        ],
        works_on_13: &[],
    },
    Row {
        unit: "postern-units.service",
        start: "connect postern-audit /run/postern/internal/units.sock",
        report: None,
        works: &[
            HOST,
            JOURNAL,
            // uid 0 without a capability: what its files' modes give it, and PID 1's ear.
            &[
                "become the group of root",
                "connect to /run/dbus/system_bus_socket",
                "connect to /run/systemd/journal/stdout",
                "connect to /run/systemd/private",
                "list /var/lib/postern-root",
                "read /etc/shadow",
                "read /var/lib/postern-policy/accepted.pb",
                "read /var/lib/postern-policy/validator.key",
                "see /proc/sys",
                "see /run/dbus/system_bus_socket",
                "signal to PID 1",
                "socket unix",
                "write in /run/postern-jobs",
                "write in /var/lib/postern-root",
            ],
        ],
        works_on_13: &[],
    },
    Row {
        unit: "postern-agent.service",
        start: "systemctl restart postern-agent.service",
        report: None,
        works: &[HOST, JOURNAL, UNIX, INTERNET, &["write in /var/lib/postern"]],
        works_on_13: &[],
    },
    Row {
        unit: "postern-tool@*",
        start: "connect postern /run/postern/tool.sock",
        report: None,
        works: &[HOST, JOURNAL, &["see /proc/sys", "write in /var/lib/postern-tool/tasks"]],
        works_on_13: &[],
    },
    Row {
        unit: "postern-tool-ports@*",
        start: "connect postern /run/postern/tool-ports.sock",
        report: None,
        works: &[HOST, JOURNAL, INTERNET, &["see /proc/sys", "write in /var/lib/postern-tool/tasks"]],
        works_on_13: &[],
    },
    Row {
        unit: "postern-announce@*",
        start: "connect postern-audit /run/postern/internal/announce.sock",
        report: None,
        works: &[HOST, JOURNAL, &["see /run/dbus/system_bus_socket"]],
        works_on_13: &[],
    },
];

/// Does not work for root in such a machine either, so no control shows that the unit prevents it.
const UNPROVEN: &[&str] = &["open /proc/sys/kernel/hostname for writing", "see /dev/kmsg"];

/// Parses the first whole report in a unit's output: each check with its result. Output of an earlier or
/// interrupted start may come before it.
fn report(text: &str) -> Option<BTreeMap<String, String>> {
    let mut begun = text.split("sandbox-probe: begin").skip(1);
    let whole = begun.find(|part| part.contains("sandbox-probe: end"))?;
    let lines = whole.lines().filter_map(|line| line.strip_prefix("sandbox-probe: "));
    let checks = lines.take_while(|line| *line != "end");
    let pairs = checks.map(|line| line.rsplit_once(": ").expect("a check and its outcome"));
    Some(pairs.map(|(check, how)| (check.to_owned(), how.to_owned())).collect())
}

/// Puts the probe in the place of every program, and somebody to talk to into the machine.
fn prepare(host: &Installed) {
    host.copy_in(Path::new(env!("CARGO_BIN_EXE_sandbox-probe")), "/var/tmp/sandbox-probe");
    let _ = host.shell("systemctl stop postern-broker.service postern-audit.service postern-files.service postern-units.service postern-probe.service postern-agent.service").ok();
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
        "{CONNECT}now=@$(date +%s.%N)\n{}\nfor i in $(seq 100); do {print} | sed -n '/^sandbox-probe: begin$/,$p' | grep -qx 'sandbox-probe: end' && break; \
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
        let mut listed: Vec<&str> = row.works.concat();
        if release == Release::Trixie {
            listed.extend(row.works_on_13);
        }
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

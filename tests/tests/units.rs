//! What every unit file of `deploy/systemd` must and must not say, without a machine.

use std::fs;
use std::path::Path;

/// All units as (file name, lines without comments).
fn units() -> Vec<(String, Vec<String>)> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/systemd");
    let mut units: Vec<_> = fs::read_dir(directory)
        .expect("deploy/systemd")
        .map(|entry| {
            let entry = entry.expect("an entry");
            let text = fs::read_to_string(entry.path()).expect("a unit in UTF-8");
            let lines = text.lines().filter(|l| !l.starts_with('#')).map(str::to_owned).collect();
            (entry.file_name().to_string_lossy().into_owned(), lines)
        })
        .collect();
    units.sort();
    units
}

fn unit(name: &str) -> Vec<String> {
    units().into_iter().find(|(file, _)| file == name).unwrap_or_else(|| panic!("no unit {name}")).1
}

fn has(lines: &[String], line: &str) -> bool {
    lines.iter().any(|l| l == line)
}

#[test]
fn no_unit_owns_the_directory_of_the_sockets() {
    for (name, lines) in units() {
        assert!(!lines.iter().any(|l| l.starts_with("RuntimeDirectory=")), "{name}");
        let state = lines.iter().find(|l| l.starts_with("StateDirectory="));
        assert!(
            state.is_none_or(|s| name == "postern-agent.service" && s == "StateDirectory=postern"),
            "{name}"
        );
    }
}

#[test]
fn no_crash_closes_a_socket_or_a_service_for_good() {
    for (name, lines) in units() {
        let is = |kind: &str| Path::new(&name).extension().is_some_and(|e| e == kind);
        let needed = if is("socket") {
            "TriggerLimitIntervalSec=0"
        } else if name.contains('@') || is("slice") {
            continue;
        } else {
            "StartLimitIntervalSec=0"
        };
        assert!(has(&lines, needed), "{name} lacks {needed}");
    }
    for name in ["postern-helper.service", "postern-agent.service"] {
        assert!(has(&unit(name), "Restart=always"), "{name}");
    }
}

#[test]
fn every_socket_is_roots() {
    for (name, lines) in units().into_iter().filter(|(_, lines)| has(lines, "[Socket]")) {
        assert!(has(&lines, "SocketUser=root"), "{name}");
        let mode = if name == "postern-gateway.socket" { "SocketMode=0600" } else { "SocketMode=0660" };
        assert!(has(&lines, mode), "{name}");
    }
}

#[test]
fn the_helper_keeps_openat2_and_the_boot_id() {
    let helper = unit("postern-helper.service");
    for (key, why) in [
        ("RestrictSUIDSGID=", "openat2 answers ENOSYS"),
        ("DynamicUser=", "openat2 answers ENOSYS"),
        ("ProcSubset=", "hides the boot id"),
        ("PrivateUsers=", "hides the clients' uids"),
    ] {
        assert!(!helper.iter().any(|l| l.starts_with(key)), "{key} {why}");
    }
    assert!(has(&helper, "CapabilityBoundingSet=CAP_CHOWN CAP_DAC_OVERRIDE CAP_FOWNER"));
    assert!(
        !unit("postern-agent.service").iter().any(|l| l.starts_with("PrivateUsers=")),
        "the helper would see nobody"
    );
}

#[test]
fn everything_but_jobs_is_without_new_privileges() {
    for (name, lines) in units().into_iter().filter(|(_, lines)| has(lines, "[Service]")) {
        assert_eq!(has(&lines, "NoNewPrivileges=yes"), name != "postern-job@.service", "{name}");
    }
}

#[test]
fn a_stop_never_interrupts_dpkg() {
    let job = unit("postern-job@.service");
    for line in ["KillMode=process", "KillSignal=SIGCONT", "SendSIGKILL=no", "TimeoutStartSec=infinity"] {
        assert!(has(&job, line), "{line}");
    }
}

#[test]
fn commands_with_ports_differ_by_their_network_alone() {
    let [plain, ports] = ["postern-tool@.service", "postern-tool-ports@.service"].map(unit);
    let only = |ours: &[String], theirs: &[String]| -> Vec<String> {
        ours.iter().filter(|line| !has(theirs, line)).cloned().collect()
    };
    let mut without = only(&plain, &ports);
    let mut with = only(&ports, &plain);
    for lines in [&mut without, &mut with] {
        lines.retain(|line| !line.starts_with("Description="));
    }
    assert_eq!(without, ["PrivateNetwork=yes", "RestrictAddressFamilies=none"]);
    assert_eq!(with, ["IPAddressAllow=localhost", "RestrictAddressFamilies=AF_INET AF_INET6"]);
}

//! Required and forbidden directives of every unit file of `deploy/systemd`, checked without a machine.

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
    for name in ["postern-broker.service", "postern-audit.service", "postern-agent.service"] {
        assert!(has(&unit(name), "Restart=always"), "{name}");
    }
    for name in ["postern-files.service", "postern-units.service", "postern-probe.service"] {
        assert!(has(&unit(name), "Restart=on-failure"), "{name}");
    }
}

/// journald drops lines of a unit that writes many, and `audit verify --journal` would then blame root.
#[test]
fn no_witness_line_of_roots_is_dropped_by_a_rate_limit() {
    for name in ["postern-files.service", "postern-units.service", "postern-packages@.service"] {
        assert!(has(&unit(name), "LogRateLimitIntervalSec=0"), "{name}");
    }
}

#[test]
fn every_socket_is_roots() {
    for (name, lines) in units().into_iter().filter(|(_, lines)| has(lines, "[Socket]")) {
        assert!(has(&lines, "SocketUser=root"), "{name}");
        assert!(has(&lines, "SocketMode=0660"), "{name}");
    }
}

#[test]
fn programs_see_the_uids_and_the_boot_id_that_they_compare() {
    for name in ["audit", "broker", "files", "units", "probe", "gateway@", "agent"] {
        let name = format!("postern-{name}.service");
        let lines = unit(&name);
        assert!(
            !lines.iter().any(|line| line.starts_with("PrivateUsers=")),
            "{name} would see peers as nobody"
        );
    }
    for name in ["postern-audit.service", "postern-files.service", "postern-units.service"] {
        let lines = unit(name);
        assert!(
            !lines.iter().any(|line| line.starts_with("ProcSubset=")),
            "{name}: approvals name the boot id"
        );
    }
}

#[test]
fn capabilities_are_of_the_program_for_files_alone() {
    for (name, lines) in units().into_iter().filter(|(_, lines)| has(lines, "[Service]")) {
        let expected = match name.as_str() {
            // Maintainer scripts have root's whole power.
            "postern-packages@.service" => continue,
            "postern-files.service" => "CapabilityBoundingSet=CAP_CHOWN CAP_DAC_OVERRIDE CAP_FOWNER",
            _ => "CapabilityBoundingSet=",
        };
        assert!(has(&lines, expected), "{name}");
    }
}

#[test]
fn everything_but_jobs_is_without_new_privileges() {
    for (name, lines) in units().into_iter().filter(|(_, lines)| has(lines, "[Service]")) {
        assert_eq!(has(&lines, "NoNewPrivileges=yes"), name != "postern-packages@.service", "{name}");
    }
}

#[test]
fn a_stop_never_interrupts_dpkg() {
    let job = unit("postern-packages@.service");
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

/// Units with a sandbox. A job has none: it has root's whole power, and so no filter of system calls that could bind
/// it, nor one that a package's scripts could stumble over.
fn sandboxed() -> impl Iterator<Item = (String, Vec<String>)> {
    units().into_iter().filter(|(name, lines)| has(lines, "[Service]") && name != "postern-packages@.service")
}

#[test]
fn io_uring_gives_no_unit_the_sockets_that_it_has_not() {
    for (name, lines) in sandboxed() {
        let filters: Vec<&str> = lines.iter().filter_map(|l| l.strip_prefix("SystemCallFilter=")).collect();
        let closed =
            filters.iter().position(|f| f.starts_with('~') && f[1..].split(' ').any(|w| w == "@aio"));
        let closed = closed.unwrap_or_else(|| panic!("{name} lacks SystemCallFilter=~@aio"));
        for filter in filters[closed..].iter().filter(|filter| !filter.starts_with('~')) {
            let opens = ["@aio", "@system-service", "io_uring"].iter().any(|word| filter.contains(word));
            assert!(!opens, "{name} opens it again: {filter}");
        }
    }
}

#[test]
fn no_unit_hides_the_root_in_a_way_that_systemd_drops() {
    for (name, lines) in sandboxed() {
        assert!(has(&lines, "ProtectSystem=strict"), "{name}");
        let mut over = lines.iter().filter_map(|l| l.strip_prefix("TemporaryFileSystem="));
        assert!(!over.any(|path| path == "/" || path.starts_with("/:")), "{name}: use RootDirectory=");
    }
}

/// Any of `ProtectControlGroups=`, `ProtectKernelTunables=`, `ProtectProc=` and `ProcSubset=` makes systemd mount the
/// kernel's file systems anew, and `ProtectSystem=strict` then leaves out `/run`.
#[test]
fn run_is_read_only_in_every_unit() {
    for (name, lines) in sandboxed() {
        let ways = ["ReadOnlyPaths=/run", "ReadOnlyPaths=+/run", "TemporaryFileSystem=/run:ro"];
        assert!(ways.iter().any(|way| has(&lines, way)), "{name}");
    }
}

#[test]
fn every_hidden_root_is_an_empty_directory_of_that_unit_alone() {
    let made = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/tmpfiles.conf"));
    let made = made.expect("deploy/tmpfiles.conf");
    let mut roots = Vec::new();
    for (name, lines) in sandboxed() {
        let Some(root) = lines.iter().find_map(|l| l.strip_prefix("RootDirectory=")) else { continue };
        let is_made = |line: &str| line.split_whitespace().eq(["d", root, "0755", "root", "root"]);
        assert!(made.lines().any(is_made), "{name}: tmpfiles.conf does not make {root}");
        assert!(has(&lines, "MountAPIVFS=yes"), "{name}");
        assert!(!roots.contains(&root.to_owned()), "{name} shares {root}");
        roots.push(root.to_owned());
    }
    assert!(!roots.is_empty());
}

//! The programs' hosts: one temporary directory with the installed paths, shortened.

use crate::{ANN, BOB, CLIENT_UID, GROUP_UID, OPERATOR, OTHER_OPERATOR, STRANGER_UID};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// The boot of every world.
pub const BOOT_ID: &str = "00000000-0000-4000-8000-000000000000";

/// Host settings of each program.
#[derive(Debug, Clone)]
pub struct Hosts {
    /// The broker's.
    pub broker: postern_broker::host::Host,
    /// The recorder's.
    pub recorder: postern_audit::host::Host,
    /// Of postern-files.
    pub files: postern_root::Host,
    /// Of postern-units.
    pub units: postern_units::Host,
    /// The probe's.
    pub probe: postern_probe::Host,
    /// Of the jobs of packages.
    pub packages: postern_packages::Host,
}

/// The uid of every program, and of root's files.
pub fn own_uid() -> u32 {
    nix::unistd::Uid::effective().as_raw()
}

/// The gid of every program, and of root's files.
pub fn own_gid() -> u32 {
    nix::unistd::Gid::effective().as_raw()
}

/// Makes what an installed Postern finds on a host, but the policy.
pub fn furnish(at: &Path) {
    for name in ["broker", "log", "audit", "audit/seal", "run", "files", "root", "jobs", "systemd", "site"] {
        std::fs::create_dir(at.join(name)).unwrap();
    }
    let line = |name: &str, uid: u32, gid: u32| format!("{name}:x:{uid}:{gid}::/:/bin/sh\n");
    let passwd = [
        line("root", own_uid(), own_gid()),
        line("postern", CLIENT_UID, CLIENT_UID),
        line("stranger", STRANGER_UID, STRANGER_UID),
        line("member", GROUP_UID, 4_000_100),
        line("op", OPERATOR, OPERATOR),
        line("op2", OTHER_OPERATOR, OTHER_OPERATOR),
        line("ann", ANN, ANN),
        line("bob", BOB, BOB),
    ];
    std::fs::write(at.join("passwd"), passwd.concat()).unwrap();
    let groups = "helpers:x:4000100:postern\npostern-users:x:4000101:ann,bob\n";
    std::fs::write(at.join("group"), format!("root:x:{}:\n{groups}", own_gid())).unwrap();
    std::fs::write(at.join("validator.key"), [7; 32]).unwrap();
}

impl Hosts {
    /// Hosts below this directory.
    pub fn at(at: &Path) -> Self {
        let root = |family, state: &str| postern_root::Host {
            family,
            accepted: at.join("accepted.pb"),
            validator_key: at.join("validator.key"),
            state: at.join(state),
            passwd: at.join("passwd"),
            group: at.join("group"),
            boot_id: BOOT_ID.to_owned(),
            root_uid: own_uid(),
            peer_uid: own_uid(),
            now: SystemTime::now,
        };
        Self {
            broker: broker(at),
            recorder: recorder(at),
            files: root("files", "files"),
            units: postern_units::Host {
                root: root("units", "root"),
                systemctl: at.join("systemctl"),
                commands: at.join("jobs"),
                dpkg_lock: at.join("dpkg.lock"),
                scheduled: at.join("scheduled"),
                systemd: at.join("systemd"),
            },
            probe: postern_probe::Host {
                root: root("probe", "none"),
                broker_uid: own_uid(),
                probe_socket: at.join("probe.sock"),
                asked_socket: at.join("asked.sock"),
                apt: apt(at),
                journalctl: at.join("journalctl"),
                bus: format!("unix:path={}", at.join("bus.sock").display()),
                systemd: at.join("systemd"),
            },
            packages: postern_packages::Host {
                root: root("units", "root"),
                apt: apt(at),
                program: at.join("postern-packages"),
            },
        }
    }
}

fn broker(at: &Path) -> postern_broker::host::Host {
    postern_broker::host::Host {
        accepted: at.join("accepted.pb"),
        passwd: at.join("passwd"),
        group: at.join("group"),
        directory: at.join("broker"),
        gateway_socket: at.join("gateway.sock"),
        recorder_socket: at.join("recorder.sock"),
        probe_socket: at.join("probe.sock"),
        now: SystemTime::now,
        since_boot: || SystemTime::now().duration_since(UNIX_EPOCH).unwrap(),
    }
}

fn recorder(at: &Path) -> postern_audit::host::Host {
    postern_audit::host::Host {
        audit: postern_audit::log::Location {
            log: at.join("log"),
            next: at.join("audit/seal/next"),
            running: at.join("run/seal"),
            journal: at.join("journal"),
            boot_id: BOOT_ID.to_owned(),
            now: SystemTime::now,
            since_boot: || SystemTime::now().duration_since(UNIX_EPOCH).unwrap(),
        },
        state: at.join("audit"),
        accepted: at.join("accepted.pb"),
        recorder_socket: at.join("recorder.sock"),
        operator_socket: at.join("operator.sock"),
        person_socket: at.join("person.sock"),
        files: at.join("files.sock"),
        units: at.join("units.sock"),
        asked: at.join("asked.sock"),
        announce: at.join("announce.sock"),
        passwd: at.join("passwd"),
        group: at.join("group"),
        owner_uid: own_uid(),
        peer_uid: own_uid(),
    }
}

fn apt(at: &Path) -> postern_apt::Host {
    postern_apt::Host {
        apt_get: at.join("apt-get"),
        apt_cache: at.join("apt-cache"),
        apt_mark: at.join("apt-mark"),
        dpkg: at.join("dpkg"),
        dpkg_query: at.join("dpkg-query"),
        dpkg_lock: at.join("lock-frontend"),
        lists_lock: at.join("lists-lock"),
        dpkg_updates: at.join("updates"),
        run: std::process::Command::output,
    }
}

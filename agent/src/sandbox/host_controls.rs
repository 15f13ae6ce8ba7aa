//! Checks which controls of the sandbox this host enforces. The unit's part is read from this process's own state.

use super::wire::SandboxRequest;
use crate::protocol::confinement::{Control, Holder};
use landlock::{ABI, Access, AccessFs, CompatLevel, Compatible, Ruleset, RulesetAttr};
use std::net::UdpSocket;
use std::{fs, io};

/// The newest Landlock ABI whose rights are used.
const NEWEST: i32 = 9;
/// Set in the unit by a test: acts as on a kernel that has this Landlock ABI, whatever this one has. It can
/// only lower what is held, and what is not held is refused or reported as anywhere.
const CAP: &str = "POSTERN_TOOL_LANDLOCK";
/// The first ABI that knows a right, a port, a scope of signals.
const TRUNCATION: i32 = 3;
const PORTS: i32 = 4;
/// The first ABI that keeps signals within the sandbox.
pub const SIGNALS: i32 = 6;

/// Controls that this process has from its unit.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    /// The Landlock ABI to use; 0 for none.
    pub abi: i32,
    /// It is a unit of its own, which ends with all that it started, and whose `/tmp` is its own.
    pub own_unit: bool,
    /// The unit bounds the memory and the number of all its processes together.
    pub bounded: bool,
    /// An ordinary user without any power.
    pub powerless: bool,
}

impl Facts {
    /// Looks.
    pub fn here() -> Self {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let line = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
        let uids = line("Uid:").split_whitespace().all(|uid| uid != "0");
        let caps = ["CapPrm:", "CapEff:", "CapBnd:", "CapAmb:"];
        let no_caps =
            caps.iter().all(|name| !line(name).is_empty() && line(name).trim().chars().all(|c| c == '0'));
        let cgroups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let cgroup = cgroups.lines().find_map(|line| line.strip_prefix("0::")).unwrap_or_default();
        let unit = cgroup.rsplit('/').next().unwrap_or_default();
        // Without the kernel's controllers systemd goes on, and there is no such file.
        let is_bounded = |file: &str| {
            let most = fs::read_to_string(format!("/sys/fs/cgroup{cgroup}/{file}")).unwrap_or_default();
            most.trim().parse::<u64>().is_ok()
        };
        Self {
            abi: landlock_abi(),
            bounded: is_bounded("memory.max") && is_bounded("pids.max"),
            own_unit: unit.starts_with("postern-tool") && unit.contains('@') && unit.ends_with(".service"),
            powerless: uids && no_caps && line("NoNewPrivs:").trim() == "1",
        }
    }

    /// Returns each control of this call with the mechanism that enforces it.
    pub fn controls(self, ask: &SandboxRequest) -> Vec<Control> {
        let by_unit =
            |holds: bool, lacks: &str| held(if holds { Holder::Unit } else { Holder::Nobody }, lacks);
        let not_unit = "it does not run in a unit of its own, postern-tool@.service";
        let from = |abi: i32, landlock: MissingControl, otherwise: MissingControl| {
            if self.abi >= abi { landlock } else { otherwise }
        };
        let landlock = || held(Holder::Landlock, "");
        let signals = by_unit(self.own_unit && self.powerless, not_unit);
        let network = if ask.ports.is_empty() {
            held(Holder::Seccomp, "")
        } else if is_local_only() {
            from(PORTS, landlock(), held(Holder::Nobody, "ports: this kernel's Landlock is older than ABI 4"))
        } else {
            held(
                Holder::Nobody,
                "addresses: the unit's IPAddressDeny= is not in force, other hosts are in reach",
            )
        };
        let controls = [
            ("user", by_unit(self.powerless, "it runs as root, or with capabilities")),
            ("filesystem", from(1, landlock(), held(Holder::Nobody, "this kernel has no Landlock"))),
            ("truncation", from(TRUNCATION, landlock(), held(Holder::Seccomp, ""))),
            ("system_calls", held(Holder::Seccomp, "")),
            ("network", network),
            ("signals", from(SIGNALS, landlock(), signals)),
            ("processes", by_unit(self.own_unit, not_unit)),
            ("resources", held(if self.bounded { Holder::Unit } else { Holder::Limits }, "")),
        ];
        controls.into_iter().map(|(name, held)| held.named(name)).collect()
    }
}

/// The mechanism that enforces a control, and the missing part where none does.
struct MissingControl(Holder, String);

fn held(by: Holder, lacks: &str) -> MissingControl {
    MissingControl(by, if by == Holder::Nobody { lacks.to_owned() } else { String::new() })
}

impl MissingControl {
    fn named(self, name: &str) -> Control {
        Control { name: name.to_owned(), by: self.0, lacks: self.1 }
    }
}

/// Other hosts are out of reach. systemd goes on where it cannot put that in force, so it is tried, with an empty
/// datagram to an address that is nobody's.
fn is_local_only() -> bool {
    let sent = UdpSocket::bind("0.0.0.0:0").and_then(|socket| socket.send_to(&[], "192.0.2.1:9"));
    sent.is_err_and(|error| error.kind() == io::ErrorKind::PermissionDenied)
}

/// The newest ABI that this kernel has, no newer than the unit allows.
pub fn landlock_abi() -> i32 {
    let cap = std::env::var(CAP).ok().and_then(|text| text.parse().ok()).unwrap_or(NEWEST);
    (1..=NEWEST.min(cap)).rev().find(|abi| has(ABI::from(*abi))).unwrap_or(0)
}

/// This kernel knows all rights of an ABI.
fn has(abi: ABI) -> bool {
    let rules = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
    let known = rules.handle_access(AccessFs::from_all(abi)).and_then(|rules| {
        let rules =
            if abi >= ABI::V4 { rules.handle_access(landlock::AccessNet::from_all(abi))? } else { rules };
        let rules = if abi >= ABI::V6 { rules.scope(landlock::Scope::from_all(abi))? } else { rules };
        rules.create()
    });
    known.is_ok()
}

//! Postern's units as PID 1 has them, the sockets' files, and the recorder's answer.

use crate::host::Host;
use crate::operator::{self, CallError};
use crate::programs::output;
use crate::text::count;
use postern_doctor::Check;
use postern_proto::v1::{OperatorStatus, OperatorStatusRequest};
use std::os::unix::fs::{FileTypeExt, MetadataExt};

const UNITS: &str = "units";
const SOCKETS: &str = "sockets";
const RECORDER: &str = "recorder";

/// Services that always run.
const SERVICES: [&str; 3] = ["postern-audit.service", "postern-broker.service", "postern-agent.service"];

/// Services that their sockets start, and that end when idle.
const ON_DEMAND: [&str; 3] = ["postern-probe.service", "postern-files.service", "postern-units.service"];

/// Each socket: its unit, its file below `/run/postern`, and the group that may connect.
pub const LISTENERS: [(&str, &str, &str); 13] = [
    ("postern-agent.socket", "agent.sock", "postern-users"),
    ("postern-helper.socket", "helper.sock", "postern-clients"),
    ("postern-operator.socket", "operator.sock", "postern-operators"),
    ("postern-person.socket", "person.sock", "postern-users"),
    ("postern-tool.socket", "tool.sock", "postern"),
    ("postern-tool-ports.socket", "tool-ports.sock", "postern"),
    ("postern-recorder.socket", "internal/recorder.sock", "postern-broker"),
    ("postern-gateway.socket", "internal/gateway.sock", "postern-broker"),
    ("postern-probe.socket", "internal/probe.sock", "postern-broker"),
    ("postern-files.socket", "internal/files.sock", "postern-audit"),
    ("postern-units.socket", "internal/units.sock", "postern-audit"),
    ("postern-asked.socket", "internal/asked.sock", "postern-audit"),
    ("postern-announce.socket", "internal/announce.sock", "postern-audit"),
];

pub(super) fn checks(host: &Host) -> Vec<Check> {
    let mut checks = if host.systemd.exists() {
        units(host)
    } else {
        vec![Check::unknown(UNITS, "systemd is not PID 1 here")]
    };
    let wrong = LISTENERS.iter().filter_map(|listener| socket(host, listener)).collect::<Vec<_>>();
    if wrong.is_empty() {
        let all = count(LISTENERS.len(), "socket");
        checks.push(Check::ok(SOCKETS, format!("{all}, each root's and open to its one group")));
    }
    checks.extend(wrong);
    checks
}

/// Properties of a unit from `systemctl show`.
#[derive(Default)]
struct Unit<'a> {
    id: &'a str,
    load: &'a str,
    active: &'a str,
    enabled: &'a str,
}

fn units(host: &Host) -> Vec<Check> {
    let names = LISTENERS.iter().map(|(unit, ..)| *unit).chain(SERVICES).chain(ON_DEMAND);
    let fixed = ["show", "--no-pager", "--property=Id,LoadState,ActiveState,UnitFileState", "--"];
    let arguments = fixed.into_iter().chain(names).collect::<Vec<_>>();
    let shown = match output(&host.programs.systemctl, &arguments) {
        Ok(shown) if shown.status.success() => String::from_utf8_lossy(&shown.stdout).into_owned(),
        Ok(shown) => {
            let why = String::from_utf8_lossy(&shown.stderr).trim().to_owned();
            return vec![Check::unknown(UNITS, format!("systemctl: {why}"))];
        }
        Err(why) => return vec![Check::unknown(UNITS, why)],
    };
    let units = shown.split("\n\n").map(parse).filter(|unit| !unit.id.is_empty()).collect::<Vec<_>>();
    let wrong = units.iter().filter_map(unit).collect::<Vec<_>>();
    match (units.is_empty(), wrong.is_empty()) {
        (true, _) => vec![Check::unknown(UNITS, "systemctl knows none of Postern's units")],
        (false, true) => vec![Check::ok(UNITS, format!("{} as they should be", count(units.len(), "unit")))],
        (false, false) => wrong,
    }
}

fn parse(paragraph: &str) -> Unit<'_> {
    let mut unit = Unit::default();
    for (key, value) in paragraph.lines().filter_map(|line| line.split_once('=')) {
        match key {
            "Id" => unit.id = value,
            "LoadState" => unit.load = value,
            "ActiveState" => unit.active = value,
            "UnitFileState" => unit.enabled = value,
            _ => {}
        }
    }
    unit
}

fn unit(unit: &Unit<'_>) -> Option<Check> {
    let Unit { id, load, active, enabled } = unit;
    let wrong = |why: &str, mend: String| Some(Check::wrong(UNITS, format!("{id} {why}"), mend));
    match (*load, *active, *enabled) {
        ("not-found", ..) => wrong("is missing", "apt-get install --reinstall postern".to_owned()),
        ("masked", ..) => wrong("is masked", format!("systemctl unmask {id} && systemctl start {id}")),
        (_, "failed", _) => wrong("has failed", format!("journalctl -u {id} -n 20; systemctl restart {id}")),
        _ if ON_DEMAND.contains(id) => None,
        (_, "active" | "activating" | "reloading", "disabled") => {
            wrong("runs, but does not start at boot", format!("systemctl enable {id}"))
        }
        (_, "active" | "activating" | "reloading", _) => None,
        (_, _, "disabled") => wrong("does not run", format!("systemctl enable --now {id}")),
        _ => wrong("does not run", format!("systemctl start {id}")),
    }
}

/// Checks type, owner, group and mode of a socket's file: the next program trusts whoever may connect to it or
/// replace it.
fn socket(host: &Host, (unit, path, group): &(&str, &str, &str)) -> Option<Check> {
    let path = host.root.join("run/postern").join(path);
    let wrong = |why: String| {
        let why = format!("{} {why}", path.display());
        Some(Check::wrong(SOCKETS, why, format!("systemctl restart {unit}")))
    };
    let facts = match path.symlink_metadata() {
        Ok(facts) if facts.file_type().is_socket() => facts,
        Ok(_) => return wrong("is no socket".to_owned()),
        Err(_) => return wrong("is missing".to_owned()),
    };
    let Some((gid, _)) = (host.accounts.group)(group) else {
        let why = format!("there is no group {group}");
        return Some(Check::wrong(SOCKETS, why, "systemd-sysusers postern.conf"));
    };
    if facts.uid() != host.owner_uid || facts.gid() != gid {
        return wrong(format!(
            "belongs to uid {} and gid {}, not to root and {group}",
            facts.uid(),
            facts.gid()
        ));
    }
    let mode = facts.mode() & 0o777;
    (mode != 0o660).then(|| wrong(format!("has mode {mode:04o}, not 0660"))).flatten()
}

/// The recorder's word for itself.
pub(super) fn recorder(host: &Host) -> Check {
    let answer: Result<OperatorStatus, CallError> =
        operator::call(&host.operator_socket, host.owner_uid, "Operator/Status", &OperatorStatusRequest {});
    match answer {
        Ok(status) if !status.audit_fault.is_empty() => {
            let why = format!("the log cannot be written, so nothing is done: {}", status.audit_fault);
            Check::wrong(RECORDER, why, "df -i /var/log/postern; journalctl -u postern-audit -n 20")
        }
        Ok(status) if !status.paused.is_empty() => {
            let why = format!("paused, nothing new begins: {}", status.paused);
            Check::wrong(RECORDER, why, "postern-admin resume")
        }
        Ok(status) => Check::ok(RECORDER, format!("answers; last record {}", status.audit_seq)),
        Err(CallError::Unreachable(error)) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            Check::unknown(RECORDER, "only root and members of postern-operators may ask it")
        }
        Err(error) => {
            let mend = "systemctl restart postern-operator.socket postern-audit.service";
            Check::wrong(RECORDER, error.to_string(), mend)
        }
    }
}

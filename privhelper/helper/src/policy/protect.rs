//! What no rule can grant: Postern itself and what keeps the host standing.

use super::rule::Object;
use crate::error::{Code, Refusal};
use crate::plan::{Action, Subject};
use crate::verb_id::VerbId;

/// Units that no effect may touch: ours, and PID 1's own.
const UNITS: [&str; 5] = ["postern-", "systemd-", "dbus", "init.scope", "user@"];
/// Packages that no transaction may change: the tools that the helper stands on.
const PACKAGES: [&str; 6] = ["postern", "systemd", "dpkg", "apt", "libc6", "base-files"];
/// Directories in which no file verb works, whatever a rule says.
const DIRECTORIES: [&str; 8] = [
    "/etc/postern/",
    "/var/lib/postern/",
    "/var/lib/postern-helper/",
    "/var/log/postern/",
    "/proc/",
    "/sys/",
    "/dev/",
    "/run/",
];

fn protected(what: &str) -> Result<(), Refusal> {
    Err(Refusal::new(Code::Protected, format!("{what} is protected; no rule can grant this")))
}

/// Checks an object before any rule is asked. Looking at a unit or package is free.
pub(super) fn check_object(verb: VerbId, object: &Object) -> Result<(), Refusal> {
    match object {
        Object::Unit(name)
            if verb != VerbId::UnitStatus && UNITS.iter().any(|p| name.as_str().starts_with(p)) =>
        {
            protected(name.as_str())
        }
        Object::File { path, .. } if DIRECTORIES.iter().any(|p| path.as_str().starts_with(p)) => {
            protected(path.as_str())
        }
        Object::Nothing | Object::Package { .. } | Object::Unit(_) | Object::File { .. } => Ok(()),
    }
}

/// Checks what the plan would really touch.
pub(super) fn check_plan(plan: &Subject<'_>) -> Result<(), Refusal> {
    match plan {
        Subject::Packages(packages) => {
            let touched = packages
                .steps
                .iter()
                .find(|step| step.action != Action::Configure && PACKAGES.contains(&step.name.as_str()));
            touched.map_or(Ok(()), |step| protected(step.name.as_str()))
        }
        Subject::Unit(unit) => {
            let touched = unit.cascade.iter().find(|unit| UNITS.iter().any(|p| unit.id.starts_with(p)));
            touched.map_or(Ok(()), |unit| protected(&unit.id))
        }
        Subject::File(_) | Subject::Nothing => Ok(()),
    }
}

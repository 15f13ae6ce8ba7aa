//! What an install would do, asked of apt-get without privilege.

use std::io::{Read, Write};

use postern_proto::root::v1::{JobEvent, JobKind, JobOutcome};
use postern_proto::v1::{Action, PackageStep};

use crate::record::{RECORD_MAX, Record};
use crate::simulation::{self, Line};
use crate::sys::Events;
use crate::{Fault, Host, apt, show, sys};

/// Answers one record with one event that carries the outcome.
///
/// # Errors
/// Input that cannot be read or output that cannot be written. A record that
/// does not hold is an outcome, `invalid_argument`.
pub fn plan(host: &Host, input: impl Read, output: impl Write) -> Result<(), Fault> {
    let bytes = sys::read_capped(input, RECORD_MAX)?;
    let outcome = match Record::decode(&bytes) {
        Ok(record) => match record.kind {
            JobKind::PlanInstall => simulate(host, &record),
            JobKind::Show => show::show(host, &record),
            JobKind::Unspecified | JobKind::Update | JobKind::Install | JobKind::Command => {
                Ok(apt::outcome("invalid_argument", "not a job without privilege"))
            }
        }
        .unwrap_or_else(|fault| apt::outcome("package_failed", &fault.to_string())),
        Err(fault) => apt::outcome("invalid_argument", &fault.to_string()),
    };
    Events(output).send(&JobEvent { outcome: Some(outcome), ..JobEvent::default() })
}

/// One simulation. `apt-get -s` prints no sizes: they stay 0.
fn simulate(host: &Host, record: &Record) -> Result<JobOutcome, Fault> {
    let argv = apt::simulate(record);
    let answer = sys::ask(&host.apt_get, &argv.iter().map(String::as_str).collect::<Vec<_>>())?;
    if !answer.status.success() {
        let mut outcome = apt::failure(&[answer.stdout, answer.stderr].concat());
        outcome.exit_code = answer.status.code().unwrap_or_default();
        return Ok(outcome);
    }
    let lines = String::from_utf8(answer.stdout)
        .map_err(|_| Fault::new("apt-get -s wrote no UTF-8"))
        .and_then(|text| {
            simulation::parse(&text)
                .map_err(|line| Fault::new(format!("cannot read apt-get's line {line:?}")))
        })?;
    let steps = steps(host, record, &lines)?;
    Ok(JobOutcome { steps, ..JobOutcome::default() })
}

fn steps(host: &Host, record: &Record, lines: &[Line]) -> Result<Vec<PackageStep>, Fault> {
    let names = record.names();
    let mut steps: Vec<PackageStep> = Vec::new();
    for line in lines {
        let (new, arch) = match &line.new {
            Some((version, arch)) => (version.clone(), arch.clone()),
            None => (String::new(), removed_arch(host, line)?),
        };
        let mut old = line.old.clone().unwrap_or_default();
        let mut action = line.action;
        if action == Action::Configure {
            // Of a package installed above: no step. Alone: an earlier run left it half done.
            if steps.iter().any(|s| s.name == line.name && s.arch == arch && s.new == new) {
                continue;
            }
            old.clone_from(&new);
        } else if action == Action::Install && !old.is_empty() {
            action = change(host, &old, &new)?;
        }
        let asked = line.foreign.is_none() && names.contains(&line.name.as_str());
        let (action, name) = (action.into(), line.name.clone());
        steps.push(PackageStep { action, name, arch, old, new, asked, ..PackageStep::default() });
    }
    Ok(steps)
}

/// apt does not say the architecture of what it removes; dpkg knows it.
fn removed_arch(host: &Host, line: &Line) -> Result<String, Fault> {
    if let Some(arch) = &line.foreign {
        return Ok(arch.clone());
    }
    let native = show::native(host)?;
    show::installed(host, &[&line.name])?
        .into_iter()
        .find(|row| row.arch == native || row.arch == "all")
        .map(|row| row.arch)
        .ok_or_else(|| Fault::new(format!("dpkg does not know {:?}, which would be removed", line.name)))
}

/// What a new version is to the old one, as dpkg orders them.
fn change(host: &Host, old: &str, new: &str) -> Result<Action, Fault> {
    for (relation, action) in [("lt", Action::Upgrade), ("eq", Action::Reinstall), ("gt", Action::Downgrade)]
    {
        if sys::ask(&host.dpkg, &["--compare-versions", old, relation, new])?.status.success() {
            return Ok(action);
        }
    }
    Err(Fault::new(format!("dpkg cannot compare {old:?} and {new:?}")))
}

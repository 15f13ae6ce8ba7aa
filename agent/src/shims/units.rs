//! `systemctl` and `service`.

use super::call::{Step, Steps, parse, program, step};
use super::exit_status::ProgramFamily;
use super::operands::has;
use super::power;
use super::unit_query::UnitQuery;
use crate::protocol::args::{Nothing, Unit, UnitLook, UnitNow};
use crate::protocol::request::Request;
use crate::protocol::tool::unit_name;

/// `is-active` and its like, of one unit; `None` for all other calls.
fn look(argv: &[String]) -> Option<Steps> {
    let (options, operands) = parse(argv, "q l n: --quiet --no-pager --full --system --lines=").ok()?;
    let (action, units) = operands.split_first()?;
    let look = UnitQuery::of(action)?;
    let [unit] = units else { return Some(Err(format!("{action}: one unit at a time"))) };
    if unit.contains(['*', '?', '[', '/']) {
        return Some(Err(PATTERN.into()));
    }
    Some(Ok(vec![look_at(look, unit, has(&options, &["q", "quiet"]))]))
}

fn look_at(look: UnitQuery, unit: &str, is_quiet: bool) -> Step {
    let request = UnitLook { unit: unit_name(unit), journal_lines: 0, since_unix_s: 0 };
    Step { look: Some((look, is_quiet)), ..step(Request::UnitStatus(request), ProgramFamily::Systemctl) }
}

/// Options of `systemctl` whose value may be the next word.
const VALUED: &[&str] = &[
    "-n",
    "-p",
    "-P",
    "-t",
    "-o",
    "-s",
    "--property",
    "--type",
    "--state",
    "--lines",
    "--output",
    "--signal",
];

/// Actions of `systemctl` that only look.
const LOOKS: &[&str] = &["show", "cat", "status", "help", "get-default", "show-environment"];

/// Whether the call asks the service manager for nothing but information, or asks the caller's own one.
pub fn only_looks(argv: &[String]) -> bool {
    let arguments = argv.get(1..).unwrap_or_default();
    match program(argv).as_str() {
        "systemctl" => {
            let after = std::iter::once("").chain(arguments.iter().map(String::as_str));
            let mut operands = arguments
                .iter()
                .zip(after)
                .filter(|(word, option)| !word.starts_with('-') && !VALUED.contains(option));
            let action = operands.next().map_or("list-units", |(word, _)| word.as_str());
            arguments.iter().any(|word| word == "--user")
                || LOOKS.contains(&action)
                || action.starts_with("list-")
                || action.starts_with("is-")
        }
        "service" => matches!(arguments, [_, action] if action == "status") || arguments == ["--status-all"],
        _ => false,
    }
}

const PATTERN: &str = "name each unit; a pattern or a file is no name";

pub fn systemctl(argv: &[String]) -> Steps {
    if let Some(steps) = look(argv) {
        return steps;
    }
    let (options, operands) =
        parse(argv, "q --quiet --now --no-pager --no-block --system --no-ask-password --no-reload")?;
    let now = has(&options, &["now"]);
    let Some((action, units)) = operands.split_first() else { return Err("say what to do".into()) };
    if action == "daemon-reload" && units.is_empty() {
        return Ok(vec![step(Request::UnitDaemonReload(Nothing {}), ProgramFamily::Systemctl)]);
    }
    if action == "reboot" && units.is_empty() {
        return Ok(vec![power::in_minutes(1)]);
    }
    if action.starts_with("list-") || matches!(action.as_str(), "show" | "cat" | "get-default") {
        return Err("systemd is out of a sandbox's reach; ask for one unit: `systemctl status UNIT`".into());
    }
    if units.is_empty() {
        return Err(format!("{action}: name the units"));
    }
    if units.iter().any(|unit| unit.contains(['*', '?', '[', '/'])) {
        return Err(PATTERN.into());
    }
    units
        .iter()
        .map(|unit| one(action, unit, now).map(|request| step(request, ProgramFamily::Systemctl)))
        .collect()
}

fn one(action: &str, unit: &str, now: bool) -> Result<Request, String> {
    let unit = unit_name(unit);
    let takes_now = matches!(action, "enable" | "disable" | "mask");
    if now && !takes_now {
        return Err(format!("{action} takes no --now"));
    }
    Ok(match action {
        "start" => Request::UnitStart(Unit { unit }),
        "stop" => Request::UnitStop(Unit { unit }),
        "restart" => Request::UnitRestart(Unit { unit }),
        "reload" => Request::UnitReload(Unit { unit }),
        "try-restart" | "condrestart" => Request::UnitTryRestart(Unit { unit }),
        "reset-failed" => Request::UnitResetFailed(Unit { unit }),
        "enable" => Request::UnitEnable(UnitNow { unit, now }),
        "disable" => Request::UnitDisable(UnitNow { unit, now }),
        "mask" => Request::UnitMask(UnitNow { unit, now }),
        "unmask" => Request::UnitUnmask(Unit { unit }),
        "reload-or-restart" | "try-reload-or-restart" | "force-reload" => {
            return Err("say which: `systemctl reload` or `systemctl restart`".into());
        }
        "edit" | "set-property" => {
            return Err("write a drop-in file and run `systemctl daemon-reload`".into());
        }
        _ => return Err(format!("{action} has no request; see `postern service --help`")),
    })
}

/// `service NAME ACTION`.
pub fn service(argv: &[String]) -> Steps {
    match argv {
        [_, unit, action] if action == "status" => Ok(vec![look_at(UnitQuery::Status, unit, false)]),
        [_, unit, action] => {
            one(action, unit, false).map(|request| vec![step(request, ProgramFamily::Systemctl)])
        }
        _ => Err("use `systemctl ACTION UNIT`".into()),
    }
}

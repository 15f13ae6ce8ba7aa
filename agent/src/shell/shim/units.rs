//! `systemctl` and `service`.

use super::{Step, Steps, Voice, parse, step};
use crate::args::{Nothing, Unit, UnitLook, UnitNow};
use crate::event::UnitInfo;
use crate::request::Request;
use crate::tool::unit_name;
use serde::{Deserialize, Serialize};

/// What a command wants to know of a unit. No sandbox reaches systemd, but the helper tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// `is-active`
    Active,
    /// `is-enabled`
    Enabled,
    /// `is-failed`
    Failed,
    /// `status`
    Status,
}

/// A unit, as far as a script hears of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct State {
    /// Its whole name.
    pub id: String,
    /// Whether there is one.
    pub load: String,
    /// `active`, `inactive`, `failed` and some more.
    pub active: String,
    /// The same, in the words of its kind.
    pub sub: String,
    /// Whether it starts at boot.
    pub enabled: String,
}

impl From<&UnitInfo> for State {
    fn from(unit: &UnitInfo) -> Self {
        let [id, load, active, sub, enabled] =
            [&unit.id, &unit.load, &unit.active, &unit.sub, &unit.enabled].map(Clone::clone);
        Self { id, load, active, sub, enabled }
    }
}

impl Look {
    fn of(action: &str) -> Option<Self> {
        match action {
            "is-active" => Some(Self::Active),
            "is-enabled" => Some(Self::Enabled),
            "is-failed" => Some(Self::Failed),
            "status" => Some(Self::Status),
            _ => None,
        }
    }

    /// What `systemctl` would put out, and its exit code.
    #[must_use]
    pub fn told(self, state: &State) -> (String, u8) {
        let State { id, load, active, sub, enabled } = state;
        let is_active = matches!(active.as_str(), "active" | "reloading");
        let none = if load == "not-found" { 4 } else { 3 };
        match self {
            Self::Active => (format!("{active}\n"), if is_active { 0 } else { none }),
            Self::Enabled if enabled.is_empty() => ("not-found\n".to_owned(), if none == 4 { 4 } else { 1 }),
            Self::Enabled => {
                let counts = ["enabled", "static", "alias", "indirect", "generated"];
                let is_enabled = counts.iter().any(|word| enabled.starts_with(word));
                (format!("{enabled}\n"), u8::from(!is_enabled))
            }
            Self::Failed => (format!("{active}\n"), u8::from(active != "failed")),
            Self::Status => {
                let text = format!("{id}\n     Loaded: {load} ({enabled})\n     Active: {active} ({sub})\n");
                (text, if is_active { 0 } else { none })
            }
        }
    }
}

/// `is-active` and its like, of one unit; `None` for all other calls.
fn look(argv: &[String]) -> Option<Steps> {
    let (options, operands) = parse(argv, "q l n: --quiet --no-pager --full --system --lines=").ok()?;
    let (action, units) = operands.split_first()?;
    let look = Look::of(action)?;
    let [unit] = units else { return Some(Err(format!("{action}: one unit at a time"))) };
    if unit.contains(['*', '?', '[', '/']) {
        return Some(Err(PATTERN.into()));
    }
    Some(Ok(vec![look_at(
        look,
        unit,
        options.iter().any(|(name, _)| matches!(name.as_str(), "q" | "quiet")),
    )]))
}

fn look_at(look: Look, unit: &str, is_quiet: bool) -> Step {
    let request = UnitLook { unit: unit_name(unit), journal_lines: 0, since_unix_s: 0 };
    Step { look: Some((look, is_quiet)), ..step(Request::UnitStatus(request), Voice::Systemctl) }
}

const PATTERN: &str = "name each unit; a pattern or a file is no name";

pub fn systemctl(argv: &[String]) -> Steps {
    if let Some(steps) = look(argv) {
        return steps;
    }
    let (options, operands) =
        parse(argv, "q --quiet --now --no-pager --no-block --system --no-ask-password --no-reload")?;
    let now = options.iter().any(|(name, _)| name == "now");
    let Some((action, units)) = operands.split_first() else { return Err("say what to do".into()) };
    if action == "daemon-reload" && units.is_empty() {
        return Ok(vec![step(Request::UnitDaemonReload(Nothing {}), Voice::Systemctl)]);
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
    units.iter().map(|unit| one(action, unit, now).map(|request| step(request, Voice::Systemctl))).collect()
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
        [_, unit, action] if action == "status" => Ok(vec![look_at(Look::Status, unit, false)]),
        [_, unit, action] => one(action, unit, false).map(|request| vec![step(request, Voice::Systemctl)]),
        _ => Err("use `systemctl ACTION UNIT`".into()),
    }
}

//! `unit.status`: the state of a unit as systemd reports it.

use crate::audit::Json;
use crate::context::Context;
use crate::error::{Fault, Stop};
use crate::helper::Helper;
use crate::leave::{Done, Looked};
use crate::sys::process::{self, Lines};
use crate::verb::Verb;
use postern_policy::facts::affected::{STATE, UnitProperties};
use postern_policy::facts::{UnitFacts, UnitState};
use postern_policy::types::UnitName;
use postern_policy::{Code, Denied, Grant, Invalid, Object, RequiredGrant, VerbId};
use postern_proto::frame::OUTPUT_MAX;
use postern_proto::v1 as wire;
use std::time::Duration;

/// A unit, and the last lines of its journal.
#[derive(Debug)]
pub struct Status {
    unit: UnitName,
    journal: Lines,
}

/// A slice's journal is that of every unit in it.
pub(super) fn has_own_journal(unit: &UnitName) -> bool {
    unit.as_str().rsplit('.').next() != Some("slice")
}

/// Sends the last lines that the journal has of a unit, the oldest of them first.
pub(super) fn send_journal(cx: &Context, by: &Grant, unit: &UnitName, lines: Lines) -> Result<(), Stop> {
    let finished = process::journal(&cx.helper.host, by, unit, lines)?;
    if !finished.status.success() {
        return Err(Fault::Program { what: format!("journalctl: {}", finished.stderr.trim()) }.into());
    }
    let text = oldest_first(&finished.stdout, usize::try_from(lines.most).unwrap_or(usize::MAX));
    for part in text.as_bytes().chunks(OUTPUT_MAX) {
        let stream = wire::Stream::Content.into();
        let data = part.to_vec();
        cx.watchers.event(&wire::event::Kind::Output(wire::Output { stream, data, truncated: false }));
    }
    Ok(())
}

/// Turns the entries round, not the lines of one: those that go on an entry are indented. A last line without an
/// end was cut off.
fn oldest_first(text: &str, most: usize) -> String {
    let mut entries: Vec<Vec<&str>> = Vec::new();
    for line in text.split_inclusive('\n').filter(|line| line.ends_with('\n')) {
        match entries.last_mut() {
            Some(entry) if line.starts_with(' ') => entry.push(line),
            _ => entries.push(vec![line]),
        }
    }
    let lines = entries.into_iter().rev().flatten().collect::<Vec<_>>();
    lines.get(lines.len().saturating_sub(most)..).unwrap_or_default().concat()
}

/// Asks systemd for units: one answer a unit, in order. They are those that policy has let through and those that may
/// change with them.
pub(super) fn show(
    cx: &Context,
    by: &Grant,
    properties: &str,
    units: &[UnitName],
) -> Result<Vec<UnitProperties>, Stop> {
    if !cx.helper.host.paths.systemd.exists() {
        return Err(Denied::new(Code::Unsupported, "this host does not run systemd").into());
    }
    let finished = process::show_units(&cx.helper.host, by, properties, units, Duration::from_secs(30))?;
    let wrong = |why: &str| Fault::Program { what: format!("systemctl show: {why}") };
    let shown = UnitProperties::parse(&finished.stdout).map_err(|invalid| wrong(&invalid.to_string()))?;
    if !finished.status.success() || shown.len() != units.len() {
        return Err(wrong(finished.stderr.trim()).into());
    }
    Ok(shown)
}

/// The state of one unit.
pub(super) fn show_one(cx: &Context, by: &Grant, unit: &UnitName) -> Result<UnitState, Stop> {
    let shown = show(cx, by, STATE, std::slice::from_ref(unit))?.into_iter().next();
    let unit = shown.ok_or_else(|| Fault::Program { what: "systemctl show printed nothing".to_owned() })?;
    Ok(unit.state)
}

impl Verb for Status {
    type Wire = wire::UnitStatusRequest;
    type Plan = UnitFacts;
    type Leave = Looked;
    const ID: VerbId = VerbId::UnitStatus;

    fn parse(wire: Self::Wire) -> (Option<wire::Meta>, Result<Self, Invalid>) {
        let journal = Lines { most: wire.journal_lines, since: Duration::from_secs(wire.since_unix_s) };
        let status = UnitName::new(&wire.unit).and_then(|unit| {
            if journal.most > 0 && !has_own_journal(&unit) {
                let why = "must be 0 for a slice: its journal is that of all its units";
                return Err(Invalid::new("journal_lines", why));
            }
            if journal.most == 0 && wire.since_unix_s > 0 {
                return Err(Invalid::new("since_unix_s", "must be 0 where no journal lines are asked for"));
            }
            Ok(Self { unit, journal })
        });
        (wire.meta, status)
    }

    fn required_grants(&self, _: &Helper, _: u32) -> Result<Vec<RequiredGrant>, Denied> {
        Ok(vec![(Self::ID, Object::Unit { name: self.unit.clone(), journal_lines: self.journal.most })])
    }

    fn args(&self) -> Json {
        let args = Json::new().text("unit", self.unit.as_str());
        if self.journal.most == 0 {
            return args;
        }
        args.number("journal_lines", self.journal.most).number("since_unix_s", self.journal.since.as_secs())
    }

    fn plan(&self, cx: &Context, by: &Grant) -> Result<UnitFacts, Stop> {
        let state = show_one(cx, by, &self.unit)?;
        let journal_lines = self.journal.most;
        Ok(UnitFacts { state, action: "status", journal_lines, ..UnitFacts::default() })
    }

    fn act(&self, cx: &Context, by: &Grant, plan: &UnitFacts, _: &Looked) -> Result<Done, Stop> {
        if plan.state.is_missing() {
            return Err(
                Denied::new(Code::NotFound, format!("{} does not exist on this host", self.unit)).into()
            );
        }
        if self.journal.most > 0 {
            // The journal knows no aliases. The id is granted like the name.
            send_journal(cx, by, &UnitName::new(&plan.state.id)?, self.journal)?;
        }
        let status = wire::Status::Done.into();
        let unit = Some(plan.state.wire());
        Ok(Done { completed: wire::Completed { status, unit, ..Default::default() }, undo: Json::new() })
    }
}

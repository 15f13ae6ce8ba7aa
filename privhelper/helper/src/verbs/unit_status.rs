//! `unit.status`: the state of a unit as systemd reports it.

use crate::audit::Json;
use crate::context::Context;
use crate::error::{Code, Fault, Invalid, Refusal, Stop};
use crate::leave::{Done, Looked};
use crate::plan::UnitPlan;
use crate::plan::units::{PROPERTIES, Shown, parse};
use crate::policy::{Authorized, Object};
use crate::sys::process;
use crate::types::UnitName;
use crate::verb::{Verb, Wish};
use crate::verb_id::VerbId;
use postern_proto::v1 as wire;
use std::time::Duration;

/// A unit. Journal lines come with a later issue and are refused until then.
#[derive(Debug)]
pub struct Status {
    unit: UnitName,
}

/// Asks systemd for units whose names policy has let through: one answer a unit, in order.
pub(super) fn show<V>(cx: &Context, by: &Authorized<V>, units: &[&UnitName]) -> Result<Vec<Shown>, Stop> {
    if !cx.helper.host.paths.systemd.exists() {
        return Err(Refusal::new(Code::Unsupported, "this host does not run systemd").into());
    }
    if units.is_empty() {
        return Ok(Vec::new());
    }
    let finished = process::show_units(&cx.helper.host, by, PROPERTIES, units, Duration::from_secs(30))?;
    let shown = parse(&finished.stdout);
    if !finished.status.success() || shown.len() != units.len() {
        return Err(Fault::Program { what: format!("systemctl show: {}", finished.stderr.trim()) }.into());
    }
    Ok(shown)
}

/// The first of [`show`].
pub(super) fn show_one<V>(cx: &Context, by: &Authorized<V>, unit: &UnitName) -> Result<Shown, Stop> {
    let shown = show(cx, by, &[unit])?.into_iter().next();
    shown.ok_or_else(|| Fault::Program { what: "systemctl show printed nothing".to_owned() }.into())
}

impl Verb for Status {
    type Wire = wire::UnitStatusRequest;
    type Plan = UnitPlan;
    type Leave = Looked;
    const ID: VerbId = VerbId::UnitStatus;

    fn parse(wire: Self::Wire) -> (Option<wire::Meta>, Result<Self, Invalid>) {
        let unit = if wire.journal_lines == 0 && wire.since_unix_s == 0 {
            UnitName::new(&wire.unit)
        } else {
            Err(Invalid::new(
                "journal_lines",
                "journal lines are not built yet; must be 0, and since_unix_s too",
            ))
        };
        (wire.meta, unit.map(|unit| Self { unit }))
    }

    fn wishes(&self) -> Vec<Wish> {
        vec![(Self::ID, Object::Unit(self.unit.clone()))]
    }

    fn args(&self) -> Json {
        Json::new().text("unit", self.unit.as_str())
    }

    fn plan(&self, cx: &Context, by: &Authorized<Self>) -> Result<UnitPlan, Stop> {
        let state = show_one(cx, by, &self.unit)?.state;
        Ok(UnitPlan { state, action: "status", ..UnitPlan::default() })
    }

    fn act(&self, _: &Context, _: &Authorized<Self>, plan: &UnitPlan, _: &Looked) -> Result<Done, Stop> {
        if plan.state.load == "not-found" {
            return Err(
                Refusal::new(Code::NotFound, format!("{} does not exist on this host", self.unit)).into()
            );
        }
        let status = wire::Status::Done.into();
        let unit = Some(plan.state.wire());
        Ok(Done { completed: wire::Completed { status, unit, ..Default::default() }, undo: Json::new() })
    }
}

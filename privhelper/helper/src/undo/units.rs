//! A unit as it was before a request changed it.

use super::conflict;
use crate::audit::{Json, Ticket};
use crate::context::Context;
use crate::error::Stop;
use crate::leave::Done;
use crate::sys::process::UnitAction;
use crate::verbs::unit_change::Change;
use postern_policy::facts::UnitFacts;
use postern_policy::types::UnitName;
use postern_policy::{Code, Denied, Grant, Object, RequiredGrant};
use postern_proto::v1 as wire;

/// The unit, and what the request made of what.
#[derive(Debug)]
pub struct Unit {
    unit: UnitName,
    info: wire::UnitInfo,
}

impl Unit {
    pub(super) const fn new(unit: UnitName, info: wire::UnitInfo) -> Self {
        Self { unit, info }
    }

    /// What brings it back: whether it is enabled first, then whether it runs.
    fn actions(&self) -> Vec<UnitAction> {
        let info = &self.info;
        let mut actions = Vec::new();
        if info.was_enabled != info.enabled {
            actions.push(match (info.was_enabled.as_str(), info.enabled.as_str()) {
                ("masked", _) => UnitAction::Mask,
                (_, "masked") => UnitAction::Unmask,
                ("enabled", _) => UnitAction::Enable,
                (_, _) => UnitAction::Disable,
            });
        }
        // What was on its way up or reloading was not down, so that nothing is stopped for it.
        let up = |active: &str| matches!(active, "active" | "activating" | "reloading" | "refreshing");
        if up(&info.was_active) != up(&info.active) {
            actions.push(if up(&info.was_active) { UnitAction::Start } else { UnitAction::Stop });
        }
        actions
    }

    pub(super) fn required_grants(&self) -> Vec<RequiredGrant> {
        let grant = |action: UnitAction| (action.verb(), Object::unit(self.unit.clone()));
        self.actions().into_iter().map(grant).collect()
    }

    fn change(&self) -> Change {
        Change::new(self.unit.clone())
    }

    pub(super) fn plan(&self, cx: &Context, by: &Grant) -> Result<UnitFacts, Stop> {
        let mut plans = Vec::new();
        for action in self.actions() {
            plans.push(self.change().plan(cx, by, action)?);
        }
        let mut plans = plans.into_iter();
        let mut plan = match plans.next() {
            Some(plan) => plan,
            // Nothing differs: it is looked at as for a change that affects no other, and left alone.
            None => UnitFacts { action: "leave", ..self.change().plan(cx, by, UnitAction::ResetFailed)? },
        };
        if (&plan.state.active, &plan.state.enabled) != (&self.info.active, &self.info.enabled) {
            return Err(conflict(self.unit.as_str()));
        }
        if let Some(second) = plans.next() {
            plan.now = Some(second.action);
            let known = plan.affected.clone();
            plan.affected.extend(second.affected.into_iter().filter(|other| !known.contains(other)));
        }
        Ok(plan)
    }

    /// One action after the other, each by what does it otherwise.
    pub(super) fn act(
        &self,
        cx: &Context,
        by: &Grant,
        plan: &UnitFacts,
        ticket: &Ticket,
    ) -> Result<Done, Stop> {
        let mut last: Option<Done> = None;
        for action in self.actions() {
            let step = self.change().plan(cx, by, action)?;
            let state = |plan: &UnitFacts| (plan.state.active.clone(), plan.state.enabled.clone());
            // A person may have taken their time to agree.
            if last.is_none() && state(&step) != state(plan) {
                return Err(conflict(self.unit.as_str()));
            }
            if !step.effects().is_subset(&plan.effects()) {
                return Err(Denied::new(Code::PlanChanged, "other units would change now; ask again").into());
            }
            let mut done = self.change().act(cx, by, action, &step, ticket)?;
            // What it was before the first of them.
            if let (Some(unit), Some(first)) =
                (&mut done.completed.unit, last.and_then(|last| last.completed.unit))
            {
                (unit.was_active, unit.was_enabled) = (first.was_active, first.was_enabled);
            }
            if done.completed.status() == wire::Status::Failed {
                return Ok(done);
            }
            last = Some(done);
        }
        let status = wire::Status::Unchanged.into();
        let unchanged =
            || wire::Completed { status, unit: Some(plan.state.wire()), ..wire::Completed::default() };
        Ok(last.unwrap_or_else(|| Done { completed: unchanged(), undo: Json::new() }))
    }
}

//! `unit.start` and all else that changes one unit: one word for systemctl.

use super::unit_status::{has_own_journal, send_journal, show, show_one};
use crate::audit::{Json, Ticket};
use crate::context::{Context, too_late};
use crate::error::Stop as Stopped;
use crate::helper::{Helper, wait_for};
use crate::leave::Done;
use crate::plan::units::Shown;
use crate::sys::process::{Lines, UnitAction, change_unit, sync_journal, unit_files};
use crate::verb::Verb;
use postern_policy::facts::{AffectedUnit, UnitFacts, UnitState};
use postern_policy::types::UnitName;
use postern_policy::{Code, Denied, Grant, Invalid, Object, RequiredGrant, VerbId};
use postern_proto::v1 as wire;
use std::collections::BTreeMap;
use std::time::Duration;

/// A unit, and whether enabling, disabling or masking acts on it at once.
#[derive(Debug)]
pub struct Change {
    unit: UnitName,
    now: bool,
}

impl Change {
    /// A change of this unit and nothing at once besides.
    #[must_use]
    pub const fn new(unit: UnitName) -> Self {
        Self { unit, now: false }
    }

    /// With `now` what is done at once must be granted too.
    fn required_grants(&self, id: VerbId) -> Vec<RequiredGrant> {
        let object = || Object::unit(self.unit.clone());
        let at_once = if id == VerbId::UnitEnable { VerbId::UnitStart } else { VerbId::UnitStop };
        let mut required_grants = vec![(id, object())];
        if self.now {
            required_grants.push((at_once, object()));
        }
        required_grants
    }

    fn args(&self) -> Json {
        Json::new().text("unit", self.unit.as_str()).flag("now", self.now)
    }

    /// The unit's state, and which active units would go down with the change.
    ///
    /// # Errors
    /// It does not exist, or systemd can't be asked.
    pub fn plan(&self, cx: &Context, by: &Grant, action: UnitAction) -> Result<UnitFacts, Stopped> {
        let shown = show_one(cx, by, &self.unit)?;
        if shown.state.is_missing() {
            return Err(
                Denied::new(Code::NotFound, format!("{} does not exist on this host", self.unit)).into()
            );
        }
        let restarts =
            action == UnitAction::Restart || (action == UnitAction::TryRestart && shown.state.is_up());
        let stops = restarts
            || action == UnitAction::Stop
            || (matches!(action, UnitAction::Disable | UnitAction::Mask) && self.now);
        let starts = restarts || action == UnitAction::Start || (action == UnitAction::Enable && self.now);
        let mut others = Vec::new();
        if starts {
            others.extend(shown.conflicts);
        }
        if stops {
            others.extend(shown.stop_with);
        }
        let affected_unit = |verb| move |state| AffectedUnit { verb, state };
        let mut affected =
            up_with(cx, by, others, stops)?.into_iter().map(affected_unit("stop")).collect::<Vec<_>>();
        if matches!(action, UnitAction::Enable | UnitAction::Disable) {
            affected
                .extend(installed_with(cx, by, &self.unit)?.into_iter().map(affected_unit(action.word())));
        }
        let now = self.now.then_some(if action == UnitAction::Enable { "start" } else { "stop" });
        Ok(UnitFacts { state: shown.state, action: action.word(), now, affected, journal_lines: 0 })
    }

    /// Does it, if the unit still is what was planned.
    ///
    /// # Errors
    /// It is not, or systemd can't be asked.
    pub fn act(
        &self,
        cx: &Context,
        by: &Grant,
        action: UnitAction,
        plan: &UnitFacts,
        ticket: &Ticket,
    ) -> Result<Done, Stopped> {
        let wait = cx.limit(by);
        let _one_at_a_time = wait_for(&cx.helper.units, wait)?;
        let ids =
            |plan: &UnitFacts| plan.affected.iter().map(|other| other.state.id.clone()).collect::<Vec<_>>();
        let now = self.plan(cx, by, action)?;
        let is_same = (&now.state.active, &now.state.enabled) == (&plan.state.active, &plan.state.enabled);
        if !is_same || ids(&now) != ids(plan) {
            return Err(Denied::new(
                Code::PlanChanged,
                "the unit is not what it was, or other units would change now; ask again",
            )
            .into());
        }
        let before = now.state;
        let begun = cx.helper.host.unix();
        cx.watchers.progress(wire::Phase::Run, self.unit.as_str(), 0, action.word());
        let finished = change_unit(&cx.helper.host, ticket, action, self.now, &self.unit, wait, &|| {
            cx.watchers.finish(&too_late());
        })?;
        let after = show_one(cx, by, &self.unit)?.state;
        if matches!(
            action,
            UnitAction::Start | UnitAction::Restart | UnitAction::TryRestart | UnitAction::Reload
        ) {
            self.send_last_lines(cx, by, &after, begun);
        }
        let said = complaint(&finished.stderr);
        // systemd forgets a unit that neither runs nor has failed: nothing is left to reset.
        let is_unknown = action == UnitAction::ResetFailed && said.ends_with("not loaded.");
        let (was_active, was_enabled) = (before.active.clone(), before.enabled.clone());
        let of = Json::new().text("active", &was_active).text("enabled", &was_enabled);
        let unit = Some(wire::UnitInfo { was_active, was_enabled, ..after.wire() });
        if finished.status.success() || is_unknown {
            let status = outcome(action, &before, &after).into();
            let completed = wire::Completed { status, unit, ..wire::Completed::default() };
            return Ok(Done { completed, undo: Json::new().text("kind", "unit.state").object("of", &of) });
        }
        // systemd keeps the older result where it will not start a failed unit once more.
        let is_refused = said.starts_with("Job for") && before.active == "failed" && after.active == "failed";
        let is_limit =
            after.result == "start-limit-hit" || (is_refused && before.invocation == after.invocation);
        let code = if is_limit { Code::StartLimit } else { Code::UnitFailed };
        let message = format!("{said} (result {}, exit status {})", after.result, after.exit_status);
        let status = wire::Status::Failed.into();
        let code = code.as_str().to_owned();
        let completed = wire::Completed { status, code, message, unit, ..wire::Completed::default() };
        Ok(Done { completed, undo: Json::new() })
    }

    /// What the journal has of the unit since the change, as much of it as `unit.status` grants. It tells no more than
    /// how the start went, so that an unreadable journal is no failure.
    fn send_last_lines(&self, cx: &Context, by: &Grant, unit: &UnitState, since: Duration) {
        let most = cx.policy.journal_lines(&cx.who, unit).min(LINES_MAX);
        if most > 0 && has_own_journal(&self.unit) && sync_journal(&cx.helper.host, by).is_ok() {
            let sent = UnitName::new(&unit.id)
                .map_err(Stopped::from)
                .and_then(|id| send_journal(cx, by, &id, Lines { most, since }));
            drop(sent);
        }
    }
}

/// Why systemctl failed: its first line that is no warning. What goes on such a line is indented.
fn complaint(stderr: &str) -> &str {
    let is_warning =
        |line: &&str| ["Warning: ", "Stopping ", " "].iter().any(|start| line.starts_with(start));
    stderr.lines().find(|line| !is_warning(line)).unwrap_or("systemctl failed")
}

/// Most lines that the answer to a start or restart brings along.
const LINES_MAX: u32 = 20;

/// Whether a change that succeeded changed anything.
fn outcome(action: UnitAction, before: &UnitState, after: &UnitState) -> wire::Status {
    let same = before.active == after.active
        && before.enabled == after.enabled
        && before.main_pid == after.main_pid
        && before.invocation == after.invocation;
    match action {
        UnitAction::Restart | UnitAction::Reload => wire::Status::Done,
        // What does not stay up has run: systemd forgets a oneshot that went well, and its invocation with it.
        UnitAction::Start => {
            if same && before.is_up() {
                wire::Status::Unchanged
            } else {
                wire::Status::Done
            }
        }
        UnitAction::Stop
        | UnitAction::Enable
        | UnitAction::Disable
        | UnitAction::TryRestart
        | UnitAction::ResetFailed
        | UnitAction::Mask
        | UnitAction::Unmask => {
            if same {
                wire::Status::Unchanged
            } else {
                wire::Status::Done
            }
        }
    }
}

/// Most units that are looked at for one change.
const CASCADE_MAX: usize = 256;

/// Those of these units that are up; with `further` also those that stop with them, and so on.
fn up_with(
    cx: &Context,
    by: &Grant,
    mut names: Vec<String>,
    further: bool,
) -> Result<Vec<UnitState>, Stopped> {
    let mut known: BTreeMap<String, UnitState> = BTreeMap::new();
    while !names.is_empty() {
        let units = names.iter().map(|name| UnitName::new(name)).collect::<Result<Vec<_>, _>>()?;
        let shown = show(cx, by, &units.iter().collect::<Vec<_>>())?;
        names.clear();
        for Shown { state, stop_with, .. } in shown {
            if state.is_up() && known.insert(state.id.clone(), state).is_none() && further {
                names.extend(stop_with);
            }
        }
        names.retain(|name| !known.contains_key(name));
        if known.len().saturating_add(names.len()) > CASCADE_MAX {
            return Err(Denied::new(Code::PlanTooLarge, "more than 256 units would change").into());
        }
    }
    Ok(known.into_values().collect())
}

/// Units that are enabled and disabled with this one (`Also=`, systemd.unit(5)).
fn installed_with(cx: &Context, by: &Grant, unit: &UnitName) -> Result<Vec<UnitState>, Stopped> {
    let files = unit_files(&cx.helper.host, by, unit)?;
    let named = files
        .stdout
        .lines()
        .filter_map(|line| line.trim().strip_prefix("Also"))
        .filter_map(|rest| rest.trim().strip_prefix('='));
    let units = named.flat_map(str::split_whitespace).filter(|name| *name != unit.as_str());
    let units = units.map(UnitName::new).collect::<Result<Vec<_>, _>>()?;
    Ok(show(cx, by, &units.iter().collect::<Vec<_>>())?.into_iter().map(|shown| shown.state).collect())
}

/// One verb of the kind: its name, message, and how the message says `now`.
macro_rules! change {
    ($doc:literal, $verb:ident, $wire:ident, $id:ident, $now:expr) => {
        #[doc = $doc]
        #[derive(Debug)]
        pub struct $verb(Change);

        impl Verb for $verb {
            type Wire = wire::$wire;
            type Plan = UnitFacts;
            type Leave = Ticket;
            const ID: VerbId = VerbId::$id;

            fn parse(wire: Self::Wire) -> (Option<wire::Meta>, Result<Self, Invalid>) {
                let now = ($now)(&wire);
                (wire.meta, UnitName::new(&wire.unit).map(|unit| Self(Change { unit, now })))
            }

            fn required_grants(&self, _: &Helper, _: u32) -> Result<Vec<RequiredGrant>, Denied> {
                Ok(self.0.required_grants(Self::ID))
            }

            fn args(&self) -> Json {
                self.0.args()
            }

            fn plan(&self, cx: &Context, by: &Grant) -> Result<UnitFacts, Stopped> {
                self.0.plan(cx, by, UnitAction::$verb)
            }

            fn act(
                &self,
                cx: &Context,
                by: &Grant,
                plan: &UnitFacts,
                leave: &Ticket,
            ) -> Result<Done, Stopped> {
                self.0.act(cx, by, UnitAction::$verb, plan, leave)
            }
        }
    };
}

change!("`unit.start`", Start, UnitStartRequest, UnitStart, |_: &wire::UnitStartRequest| false);
change!("`unit.stop`", Stop, UnitStopRequest, UnitStop, |_: &wire::UnitStopRequest| false);
change!("`unit.restart`", Restart, UnitRestartRequest, UnitRestart, |_: &wire::UnitRestartRequest| false);
change!("`unit.reload`", Reload, UnitReloadRequest, UnitReload, |_: &wire::UnitReloadRequest| false);
change!("`unit.enable`", Enable, UnitEnableRequest, UnitEnable, |wire: &wire::UnitEnableRequest| wire.now);
change!("`unit.disable`", Disable, UnitDisableRequest, UnitDisable, |wire: &wire::UnitDisableRequest| wire
    .now);
change!("`unit.try-restart`", TryRestart, UnitTryRestartRequest, UnitTryRestart, |_| false);
change!("`unit.reset-failed`", ResetFailed, UnitResetFailedRequest, UnitResetFailed, |_| false);
change!("`unit.mask`", Mask, UnitMaskRequest, UnitMask, |wire: &wire::UnitMaskRequest| wire.now);
change!("`unit.unmask`", Unmask, UnitUnmaskRequest, UnitUnmask, |_| false);

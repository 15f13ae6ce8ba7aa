//! `unit.start` and all else that changes one unit: one word for systemctl.

use super::unit_status::{has_own_journal, send_journal, show, show_one};
use crate::audit::{Json, Ticket};
use crate::context::{Context, too_late};
use crate::error::{Fault, Stop as Stopped};
use crate::helper::{Helper, wait_for};
use crate::leave::Done;
use crate::sys::process::{self, Lines, UnitAction, UnitFiles, change_unit, sync_journal};
use crate::verb::Verb;
use postern_policy::facts::affected::{
    Closure, Install, KnownUnits, LOOKUPS_MAX, UnitChange, UnitProperties, affected_units,
};
use postern_policy::facts::{UnitFacts, UnitState};
use postern_policy::types::UnitName;
use postern_policy::{Code, Denied, Grant, Invalid, Object, RequiredGrant, VerbId};
use postern_proto::v1 as wire;
use std::collections::BTreeSet;
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

    /// The unit's state, and every unit that would change with it.
    ///
    /// # Errors
    /// It does not exist, its file changed since systemd read it, or systemd can't be asked.
    pub fn plan(&self, cx: &Context, by: &Grant, action: UnitAction) -> Result<UnitFacts, Stopped> {
        let look_up = |names: Vec<UnitName>| {
            let units = show(cx, by, &UnitProperties::argument(), &names)?;
            Ok::<_, Stopped>(names.into_iter().zip(units).collect::<KnownUnits>())
        };
        let mut known = look_up(vec![self.unit.clone()])?;
        if known.values().any(|unit| unit.state.is_missing()) {
            let why = format!("{} does not exist on this host", self.unit);
            return Err(Denied::new(Code::NotFound, why).into());
        }
        let install = self.install(cx, by, action)?;
        let change = UnitChange { unit: &self.unit, verb: action.verb(), now: self.now, install: &install };
        let affected = loop {
            match affected_units(change, &known)? {
                Closure::Affected(affected) => break affected,
                Closure::LookUp(names) => known.extend(look_up(names)?),
            }
        };
        let state = known.remove(&self.unit).unwrap_or_default().state;
        let now = self.now.then_some(if action == UnitAction::Enable { "start" } else { "stop" });
        Ok(UnitFacts { state, action: action.word(), now, affected, journal_lines: 0 })
    }

    /// The links that the change makes or removes, and the units that it enables or disables along.
    fn install(&self, cx: &Context, by: &Grant, action: UnitAction) -> Result<Install, Stopped> {
        let unreadable = |invalid: Invalid| Denied::new(Code::Unsupported, invalid.to_string());
        let mut install = Install::default();
        if action == UnitAction::Disable {
            let links = unit_files(cx, by, UnitFiles::Links, &self.unit)?;
            install.read_links(&self.unit, &links).map_err(unreadable)?;
        }
        let mut unread = Vec::from_iter((action == UnitAction::Enable).then(|| self.unit.clone()));
        let mut read = BTreeSet::new();
        while let Some(name) = unread.pop() {
            // systemctl goes on without one of `Also=` that does not exist.
            if name == self.unit || !show_one(cx, by, &name)?.is_missing() {
                let content = unit_files(cx, by, UnitFiles::Content, &name)?;
                install.read_files(&name, &content).map_err(unreadable)?;
            }
            read.insert(name);
            if read.len() > LOOKUPS_MAX {
                return Err(Denied::new(Code::PlanTooLarge, "too many units are enabled along").into());
            }
            unread = install.also.difference(&read).cloned().collect();
        }
        Ok(install)
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
        let now = self.plan(cx, by, action)?;
        let is_same = (&now.state.active, &now.state.enabled) == (&plan.state.active, &plan.state.enabled);
        if !is_same || now.effects() != plan.effects() {
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
        let after = show_one(cx, by, &self.unit)?;
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

/// What systemd says of a unit's files.
fn unit_files(cx: &Context, by: &Grant, what: UnitFiles, unit: &UnitName) -> Result<String, Stopped> {
    let finished = process::unit_files(&cx.helper.host, by, what, unit)?;
    // For a unit that is not enabled `is-enabled` fails, and says so on its output.
    if finished.stdout.is_empty() {
        let what = format!("systemctl on the files of {unit}: {}", finished.stderr.trim());
        return Err(Fault::Program { what }.into());
    }
    Ok(finished.stdout)
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

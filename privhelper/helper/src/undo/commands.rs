//! The command that the policy names as what takes another back.

use crate::audit::Ticket;
use crate::context::Context;
use crate::error::Stop;
use crate::helper::Helper;
use crate::leave::Done;
use crate::plan::CommandPlan;
use crate::verbs::command_run::Run;
use postern_policy::types::Arguments;
use postern_policy::{Code, Denied, Grant};
use postern_proto::root::v1::RequestRecord;
use postern_proto::v1 as wire;

/// The reverse, with the values that the command was given.
#[derive(Debug)]
pub struct Reverse {
    pub(super) run: Run,
    /// The same as the log of ids has it.
    pub(super) call: wire::CommandRunRequest,
}

impl Reverse {
    /// By the policy that is in force now.
    pub(super) fn of(helper: &Helper, call: &wire::CommandRunRequest) -> Result<Self, Stop> {
        let policy = helper.policy().unwrap_or_default();
        let Some(row) = policy.reverse(&call.name) else {
            let why = format!("the policy names no command that takes {} back (`reverse`)", call.name);
            return Err(Denied::new(Code::Unsupported, why).into());
        };
        let is_taken = |given: &&wire::Parameter| row.parameters.iter().any(|(name, _)| *name == given.name);
        let parameters = call.parameters.iter().filter(is_taken).cloned().collect::<Vec<_>>();
        let pairs = parameters.iter().map(|given| (given.name.clone(), given.value.clone())).collect();
        let arguments = Arguments::new(pairs)?;
        // A secret is kept nowhere, and the policy may have changed.
        row.check(&arguments).map_err(|refusal| {
            let why = format!("command {} can't be given the same values: {}", row.name, refusal.message);
            Denied::new(Code::UndoGone, why)
        })?;
        let call = wire::CommandRunRequest { meta: None, name: row.name.to_string(), parameters };
        Ok(Self { run: Run::new(row.name.clone(), arguments), call })
    }

    /// Runs it. Nothing on the host tells whether a command was taken back, so it is noted before: another undo at the
    /// same time, or one after a crash, does not run it again. Where it fails it may be tried again.
    pub(super) fn act(
        &self,
        cx: &Context,
        by: &Grant,
        record: &RequestRecord,
        plan: &CommandPlan,
        ticket: &Ticket,
    ) -> Result<Done, Stop> {
        let note = |undone| cx.helper.requests.note_undone(record.uid, &record.request_id, undone);
        if !note(true)? {
            return Err(Denied::new(Code::UndoGone, "another undo of it has begun").into());
        }
        let result = self.run.run(cx, by, plan, ticket);
        if !result.as_ref().is_ok_and(|done| done.completed.status() != wire::Status::Failed) {
            note(false)?;
        }
        result
    }
}

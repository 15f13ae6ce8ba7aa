//! The command that the policy names as what takes another back.

use crate::error::{Code, Refusal, Stop};
use crate::helper::Helper;
use crate::types::Arguments;
use crate::verbs::command_run::Run;
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
            return Err(Refusal::new(Code::Unsupported, why).into());
        };
        let is_taken = |given: &&wire::Parameter| row.parameters.iter().any(|(name, _)| *name == given.name);
        let parameters = call.parameters.iter().filter(is_taken).cloned().collect::<Vec<_>>();
        let pairs = parameters.iter().map(|given| (given.name.clone(), given.value.clone())).collect();
        let arguments = Arguments::new(pairs)?;
        // A secret is kept nowhere, and the policy may have changed.
        row.check(&arguments).map_err(|refusal| {
            let why = format!("command {} can't be given the same values: {}", row.name, refusal.message);
            Refusal::new(Code::UndoGone, why)
        })?;
        let call = wire::CommandRunRequest { meta: None, name: row.name.to_string(), parameters };
        Ok(Self { run: Run::new(row.name.clone(), arguments), call })
    }
}

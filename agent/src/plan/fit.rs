//! Whether a plan of commands can be carried out as it says.

use super::meaning::Meaning;
use crate::config::host::host_name;
use crate::protocol::plan::{Check, Code, CommandPlan, Step, Unfit, unfit};
use crate::protocol::tool::Tool;
use crate::protocol::tool_request::request;
use crate::shell_policy::{Level, Rules};
use postern_patch::parse;

/// The longest that one command may take, in seconds: a day.
const LONGEST: u32 = 86_400;
/// Steps or checks of one list.
const MOST: usize = 50;

impl CommandPlan {
    /// Whether it can be carried out as it says.
    pub(super) fn check(&self) -> Result<(), Unfit> {
        if self.commands.is_empty() {
            return Err(unfit(Code::EmptyCommands, "the plan has no commands"));
        }
        let checks = [&self.preflight_checks, &self.verification_commands, &self.rollback_commands];
        if self.commands.len() > MOST || checks.iter().any(|list| list.len() > MOST) {
            return Err(unfit(Code::InvalidSchema, format!("more than {MOST} of one kind are no plan")));
        }
        for (step, number) in self.commands.iter().zip(1..) {
            step.check().map_err(|why| why.of(&format!("command {number}")))?;
        }
        for (check, number) in self.rollback_commands.iter().zip(1..) {
            check.is_safe().map_err(|why| why.of(&format!("rollback command {number}")))?;
        }
        only_look("preflight check", &self.preflight_checks)?;
        only_look("verification", &self.verification_commands)
    }
}

/// Whether none of the checks changes anything.
pub(super) fn only_look(name: &str, checks: &[Check]) -> Result<(), Unfit> {
    for (check, number) in checks.iter().zip(1..) {
        check.only_looks().map_err(|why| why.of(&format!("{name} {number}")))?;
    }
    Ok(())
}

impl Step {
    fn check(&self) -> Result<(), Unfit> {
        let command = match self {
            Self::Command(command) => command,
            Self::Call(call) => return call_fits(&call.tool),
        };
        let invalid = |why: String| Err(unfit(Code::InvalidSchema, why));
        let meaning = judged(&command.command)?;
        if command.read_only && meaning.is_effect() {
            return invalid(format!("read_only is true, but {:?} would change something", command.command));
        }
        if let Some(host) = command.target_hosts.iter().find(|host| !is_here(host)) {
            return invalid(format!("target_hosts names {host:?}: this agent administers its own host only"));
        }
        if command.background {
            return invalid("background is true: a step has ended before the next one begins".into());
        }
        if !(1..=LONGEST).contains(&command.timeout_seconds) {
            return invalid(format!("timeout_seconds is not from 1 to {LONGEST}"));
        }
        let codes = &command.acceptable_exit_codes;
        let is_unique = codes.iter().enumerate().all(|(at, code)| !codes[..at].contains(code));
        if codes.is_empty() || !is_unique {
            return invalid("acceptable_exit_codes is empty or names a code twice".into());
        }
        if !command.read_only && codes != &[0] {
            return invalid("acceptable_exit_codes of what changes something is [0]".into());
        }
        Ok(())
    }
}

impl Check {
    fn is_safe(&self) -> Result<(), Unfit> {
        match self {
            Self::Command(command) => judged(command).map(drop),
            Self::Call(call) => call_fits(&call.tool),
        }
    }

    /// A check that changes something would be a step.
    fn only_looks(&self) -> Result<(), Unfit> {
        match self {
            Self::Command(command) if judged(command)?.is_effect() => {
                Err(unfit(Code::InvalidSchema, format!("a check changes nothing, but {command:?} would")))
            }
            Self::Call(call) if changes(&call.tool) => Err(unfit(
                Code::InvalidSchema,
                format!("a check changes nothing, but to {} does", call.tool.describe()),
            )),
            Self::Command(_) | Self::Call(_) => Ok(()),
        }
    }
}

/// Checks a call before it is made. A command in it is judged like a command of a plan.
fn call_fits(tool: &Tool) -> Result<(), Unfit> {
    if let Tool::Shell { cmd } = tool {
        judged(cmd)?;
    }
    if matches!(tool, Tool::Runbook { .. }) {
        return Err(unfit(Code::InvalidSchema, "a runbook is no step of another plan: write its steps out"));
    }
    if let Tool::ApplyPatch { diff } = tool
        && let Err(fault) = parse(diff.as_bytes())
    {
        return Err(unfit(Code::InvalidSchema, format!("its diff: {fault}")));
    }
    Ok(())
}

/// A command is plain words, and none that is never run.
fn judged(command: &str) -> Result<Meaning, Unfit> {
    let meaning = Meaning::of(command).map_err(|why| unfit(Code::ArgvUnsafe, why))?;
    let blocked = |why: &str| Err(unfit(Code::Blocked, format!("{command:?} is never run: {why}")));
    let decision = match Rules::builtin() {
        Ok(rules) => rules.judge(command),
        Err(why) => return blocked(why),
    };
    match &meaning {
        _ if decision.effective() == Level::Block => blocked(decision.reason()),
        Meaning::Nothing(why) => blocked(why),
        Meaning::Requests(_) | Meaning::Program => Ok(meaning),
    }
}

/// Whether a tool may change the host.
#[must_use]
pub fn changes(tool: &Tool) -> bool {
    match tool {
        Tool::Shell { .. } => true,
        // A tool without a request to the helper is read-only.
        other => request(other).is_some_and(|request| request.is_effect()),
    }
}

fn is_here(host: &str) -> bool {
    matches!(host, "localhost" | "127.0.0.1" | "::1") || host_name().is_some_and(|name| name == host)
}

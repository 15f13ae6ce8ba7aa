//! `command.run`.

use super::{Parsed, Request};
use postern_policy::types::{Arguments, CommandName};
use postern_policy::{Object, RequiredGrant, VerbId};
use postern_proto::v1 as wire;

/// A command that the policy names, with values for its parameters.
#[derive(Debug)]
pub struct CommandRequest {
    /// Its name.
    pub name: CommandName,
    /// The values. In an order a secret is its commitment.
    pub arguments: Arguments,
}

pub(super) fn run(wire: wire::CommandRunRequest) -> Parsed {
    let pairs = wire.parameters.into_iter().map(|parameter| (parameter.name, parameter.value)).collect();
    let command = CommandName::new(&wire.name)
        .and_then(|name| Ok(Request::Command(CommandRequest { name, arguments: Arguments::new(pairs)? })));
    (wire.meta, command)
}

impl CommandRequest {
    pub(super) fn required_grant(&self) -> RequiredGrant {
        let (name, arguments) = (self.name.clone(), self.arguments.clone());
        (VerbId::CommandRun, Object::Command { name, arguments })
    }
}

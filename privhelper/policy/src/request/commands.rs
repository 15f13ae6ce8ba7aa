//! Requests for named commands, and the secrets among their parameters.
//!
//! An order holds a commitment in place of each secret value: SHA-256(random ‖ value) with 32 random bytes that are
//! stored nowhere. The values are sent beside the order.

use crate::error::Invalid;
use crate::rules::{Command, Object, RequiredGrant};
use crate::types::{Arguments, CommandName, Digest};
use crate::verb_id::VerbId;
use postern_proto::root::v1::SecretValue;
use postern_proto::v1 as wire;

/// `command.run`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandRequest {
    /// The command's name in the policy.
    pub name: CommandName,
    /// Its parameters.
    pub arguments: Arguments,
}

impl CommandRequest {
    pub(super) fn new(wire: wire::CommandRunRequest) -> Result<Self, Invalid> {
        let pairs = wire.parameters.into_iter().map(|parameter| (parameter.name, parameter.value));
        Ok(Self { name: CommandName::new(&wire.name)?, arguments: Arguments::new(pairs.collect())? })
    }

    pub(super) fn required_grants(&self) -> Vec<RequiredGrant> {
        let (name, arguments) = (self.name.clone(), self.arguments.clone());
        vec![(VerbId::CommandRun, Object::Command { name, arguments })]
    }

    /// Puts the secret values in the place of their commitments.
    ///
    /// # Errors
    /// A parameter of kind `secret` has no value that its commitment is of, or a value belongs to no such parameter.
    pub fn open_secrets(self, row: &Command, values: &[SecretValue]) -> Result<Self, Invalid> {
        let invalid = Invalid::new("parameters", "have secrets that are not those of the request");
        let open = |(name, value): (&str, &str)| {
            let mut given = values.iter().filter(|secret| secret.parameter == name);
            let value = match (row.is_secret(name), given.next(), given.next()) {
                (false, None, None) => value.to_owned(),
                (true, Some(secret), None) if is_commitment(value, secret) => {
                    String::from_utf8(secret.value.clone()).map_err(|_| invalid.clone())?
                }
                _ => return Err(invalid.clone()),
            };
            Ok((name.to_owned(), value))
        };
        let pairs = self.arguments.iter().map(open).collect::<Result<Vec<_>, _>>()?;
        if values.iter().any(|secret| self.arguments.get(&secret.parameter).is_none()) {
            return Err(invalid);
        }
        Ok(Self { arguments: Arguments::new(pairs)?, ..self })
    }
}

fn is_commitment(text: &str, secret: &SecretValue) -> bool {
    secret.random.len() == 32 && Digest::of(&[&secret.random, &secret.value]).to_string() == text
}

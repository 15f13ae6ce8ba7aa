//! The commands that a policy names: what is run, and what its parameters may be.

use super::Object;
use crate::error::{Code, Refusal};
use crate::types::{Arguments, CommandName, ParameterKind};
use postern_proto::root::v1 as root;

/// One `[[command]]`.
#[derive(Debug)]
pub struct Command {
    /// Its name.
    pub name: CommandName,
    /// Its parameters, sorted by name, each with what it may be. Every one must be given.
    pub parameters: Vec<(String, ParameterKind)>,
    /// How it is run.
    pub wire: root::Command,
}

impl Command {
    /// Reads one command of the accepted form.
    ///
    /// # Errors
    /// A field that is not what it must be, in words.
    pub fn new(wire: &root::Command) -> Result<Self, String> {
        let name = CommandName::new(&wire.name).map_err(|invalid| invalid.to_string())?;
        let mut parameters = Vec::new();
        for parameter in &wire.parameters {
            let kind = ParameterKind::new(parameter)
                .map_err(|why| format!("parameter {:?} {why}", parameter.name))?;
            parameters.push((parameter.name.clone(), kind));
        }
        let sorted = parameters.iter().zip(parameters.iter().skip(1)).all(|((a, _), (b, _))| a < b);
        if !sorted || !parameters.iter().all(|(name, _)| Arguments::is_name(name)) {
            return Err("has parameters that are not sorted, not unique or not names".to_owned());
        }
        Ok(Self { name, parameters, wire: wire.clone() })
    }

    /// Whether every parameter is given, each as its kind says, and no other.
    ///
    /// # Errors
    /// `invalid_argument`, with the parameter's name and never its value.
    pub fn check(&self, arguments: &Arguments) -> Result<(), Refusal> {
        let invalid = |what: String| Err(Refusal::new(Code::InvalidArgument, format!("parameters: {what}")));
        for (name, kind) in &self.parameters {
            match arguments.get(name) {
                None => return invalid(format!("{name} is missing: {}", kind.says())),
                Some(value) if !kind.admits(value) => {
                    return invalid(format!("{name} must be {}", kind.says()));
                }
                Some(_) => {}
            }
        }
        let is_known = |name: &str| self.parameters.iter().any(|(known, _)| known == name);
        match arguments.iter().find(|(name, _)| !is_known(name)) {
            Some((name, _)) => invalid(format!("{} takes no {name}", self.name)),
            None => Ok(()),
        }
    }
}

/// Checks a command's arguments once a rule has let it through by name: before that nothing is told of it.
pub(super) fn check(commands: &[Command], object: &Object) -> Result<(), Refusal> {
    let Object::Command { name, arguments } = object else {
        return Ok(());
    };
    let command = commands.iter().find(|command| command.name == *name);
    command
        .ok_or_else(|| Refusal::new(Code::NotFound, format!("the policy has no command named {name}")))?
        .check(arguments)
}

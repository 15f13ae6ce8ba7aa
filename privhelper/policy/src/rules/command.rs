//! The commands that a policy names: their arguments, and the values that parameters may have.

use crate::error::{Code, Denied};
use crate::types::{Arguments, CommandName, Digest, ParameterKind};
use postern_proto::SECRET;
use postern_proto::root::v1 as root;
use prost::Message;

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

    /// Returns the arguments: each parameter fills a whole argument or the value of a `key=value` pair, as the policy
    /// writes it. [`SECRET`] is the placeholder of a secret's descriptor.
    ///
    /// # Errors
    /// A value is missing, or the policy's argument is of no form that it may have.
    pub fn argv(&self, arguments: &Arguments) -> Result<Vec<String>, Denied> {
        let broken = || {
            Denied::new(Code::Unsupported, format!("`argv` of command {} is not of a known form", self.name))
        };
        let value = |part: &str| match named(part) {
            Some(name) if self.is_secret(name) => arguments.get(name).map(|_| SECRET.to_owned()),
            Some(name) => arguments.get(name).map(str::to_owned),
            None => (!part.contains(['{', '}'])).then(|| part.to_owned()),
        };
        let filled = self.wire.argv.iter().enumerate().map(|(place, element)| {
            if !element.contains(['{', '}']) {
                return Some(element.clone());
            }
            // No parameter chooses the program.
            if place == 0 {
                return None;
            }
            match element.split_once('=') {
                None => value(element),
                Some((key, _)) if named(key).is_some_and(|name| self.is_secret(name)) => None,
                Some((key, rest)) => Some(format!("{}={}", value(key)?, value(rest)?)),
            }
        });
        let argv = filled.collect::<Option<Vec<_>>>().ok_or_else(broken)?;
        if argv.first().is_some_and(|program| program.starts_with('/')) { Ok(argv) } else { Err(broken()) }
    }

    /// The values that the program reads from descriptors, each with the argument that names its descriptor.
    pub fn secrets(&self, arguments: &Arguments) -> Vec<root::Secret> {
        let secret = |(element, place): (&String, u32)| {
            let part = element.split_once('=').map_or(element.as_str(), |(_, value)| value);
            let name = named(part).filter(|name| self.is_secret(name))?;
            Some(root::Secret { place, value: arguments.get(name)?.as_bytes().to_vec() })
        };
        self.wire.argv.iter().zip(0..).filter_map(secret).collect()
    }

    /// The unit template that `policy apply` writes for this row: `postern-command-NAME-DIGEST`, without `@INSTANCE.service`.
    /// Another row of the same name has another unit.
    pub fn unit(&self) -> String {
        self.unit_of(&[])
    }

    /// The unit template of this row as a validator of one granted directory.
    pub fn validator_unit(&self, directory: &str) -> String {
        self.unit_of(directory.as_bytes())
    }

    fn unit_of(&self, directory: &[u8]) -> String {
        let digest =
            Digest::of(&[b"postern command 1\n", &self.wire.encode_to_vec(), b"\n", directory]).to_string();
        format!("postern-command-{}-{}", self.name, digest.chars().take(16).collect::<String>())
    }

    /// Whether this parameter is a secret.
    pub fn is_secret(&self, name: &str) -> bool {
        self.parameters.iter().any(|(known, kind)| known == name && kind.is(root::ParameterKind::Secret))
    }

    /// The values that name paths, under directories that only root may write.
    pub fn paths<'a>(&self, arguments: &'a Arguments) -> impl Iterator<Item = &'a str> {
        let paths = self.parameters.iter().filter(|(_, kind)| kind.is_checked_path());
        let names = paths.map(|(name, _)| name.clone()).collect::<Vec<_>>();
        names.into_iter().filter_map(|name| arguments.get(&name))
    }

    /// Whether every parameter is given, each as its kind says, and no other.
    ///
    /// # Errors
    /// `invalid_argument`, with the parameter's name and never its value.
    pub fn check(&self, arguments: &Arguments) -> Result<(), Denied> {
        let invalid = |what: String| Err(Denied::new(Code::InvalidArgument, format!("parameters: {what}")));
        for (name, kind) in &self.parameters {
            match arguments.get(name) {
                None => return invalid(format!("{name} is missing: {}", kind.says())),
                Some(value) if !kind.is(root::ParameterKind::Secret) && !Arguments::is_value(value) => {
                    let why = "without control characters, the first no '-', '@' or '+'";
                    return invalid(format!("{name} must be 1 to 4096 bytes {why}"));
                }
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

/// The parameter that fills this part of an argument.
fn named(part: &str) -> Option<&str> {
    part.strip_prefix('{')?.strip_suffix('}')
}

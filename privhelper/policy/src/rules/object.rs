//! What a decision is about, and which of it a rule selects.

use super::decision::Decision;
use crate::types::{
    Arguments, CommandName, FileMode, PackageName, PackageVersion, Pattern, TargetPath, UnitName, UserName,
};
use crate::verb_id::VerbId;
use std::sync::Arc;

/// A verb on an object: each must be granted for a request to pass.
pub type RequiredGrant = (VerbId, Object);

/// What policy sees of one element of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Object {
    /// The verb alone, such as `package.update`.
    Nothing,
    /// A package.
    Package {
        /// Its name.
        name: PackageName,
        /// The version asked for; none = the candidate.
        version: Option<PackageVersion>,
    },
    /// Every installed package, for `package.upgrade` of all. Each one that changes is decided with the plan.
    AllPackages,
    /// A unit.
    Unit(UnitName),
    /// A file, with what the request would make of it.
    File {
        /// Where.
        path: TargetPath,
        /// Bytes of new content; 0 for reading.
        bytes: u64,
        /// The new content; none = nothing is written.
        content: Option<Arc<[u8]>>,
        /// Mode asked for.
        mode: Option<FileMode>,
        /// Owner asked for.
        owner: Option<UserName>,
        /// Group asked for.
        group: Option<UserName>,
    },
    /// A command of the policy.
    Command {
        /// Its name.
        name: CommandName,
        /// What is given for its parameters.
        arguments: Arguments,
    },
    /// The undo of a request that a rule let through.
    Undo {
        /// That rule's id.
        rule: String,
        /// What was decided of the request: its undo is not let through more easily.
        least: Decision,
    },
}

impl Object {
    /// The file as a reader sees it.
    #[must_use]
    pub fn read(path: TargetPath) -> Self {
        Self::File { path, bytes: 0, content: None, mode: None, owner: None, group: None }
    }

    /// The same without content, which only the decision on the request looks at.
    #[must_use]
    pub fn without_content(&self) -> Self {
        match self.clone() {
            Self::File { path, bytes, mode, owner, group, content: _ } => {
                Self::File { path, bytes, content: None, mode, owner, group }
            }
            other @ (Self::Nothing
            | Self::Package { .. }
            | Self::AllPackages
            | Self::Unit(_)
            | Self::Command { .. }
            | Self::Undo { .. }) => other,
        }
    }

    /// What a request about this is at least, whatever the rules say.
    #[must_use]
    pub fn least(&self) -> Decision {
        match self {
            Self::Undo { least, .. } => *least,
            Self::Nothing
            | Self::Package { .. }
            | Self::AllPackages
            | Self::Unit(_)
            | Self::File { .. }
            | Self::Command { .. } => Decision::Allow,
        }
    }

    /// The path, if it is a file's.
    #[must_use]
    pub fn path(&self) -> Option<&TargetPath> {
        match self {
            Self::File { path, .. } => Some(path),
            Self::Nothing
            | Self::Package { .. }
            | Self::AllPackages
            | Self::Unit(_)
            | Self::Command { .. }
            | Self::Undo { .. } => None,
        }
    }

    /// Whether it is the file of this path.
    #[must_use]
    pub fn is_file(&self, at: &TargetPath) -> bool {
        self.path() == Some(at)
    }

    /// What a person reads after the verb: never a value or content.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Nothing => "",
            Self::Package { name, .. } => name.as_str(),
            Self::AllPackages => "--all",
            Self::Unit(name) => name.as_str(),
            Self::File { path, .. } => path.as_str(),
            Self::Command { name, .. } => name.as_str(),
            Self::Undo { rule, .. } => rule,
        }
    }
}

/// What a rule is about.
#[derive(Debug)]
pub enum Selector {
    /// Verbs without an object.
    Nothing,
    /// Packages by name.
    Packages(Vec<Pattern>),
    /// Units by name.
    Units(Vec<Pattern>),
    /// Files by directory, levels below it, and name.
    Files {
        /// The directories.
        directories: Vec<TargetPath>,
        /// 1 = direct children.
        depth: usize,
        /// Patterns of the last component.
        files: Vec<Pattern>,
    },
    /// Commands by name and by what is given for their parameters.
    Commands {
        /// Patterns of their names.
        names: Vec<Pattern>,
        /// For each of these parameters the patterns of which its value must be one; others may be anything.
        parameters: Vec<(String, Vec<Pattern>)>,
    },
}

impl Selector {
    /// Whether this is about the object. An undo is selected by its rule and not here.
    #[must_use]
    pub fn selects(&self, verb: VerbId, object: &Object) -> bool {
        match (self, object) {
            (Self::Nothing, Object::Nothing) => true,
            (Self::Packages(patterns), Object::Package { name, .. }) => {
                patterns.iter().any(|pattern| pattern.matches(name.as_str()))
            }
            (Self::Packages(patterns), Object::AllPackages) => {
                patterns.iter().any(|pattern| pattern.as_str() == "*")
            }
            (Self::Units(patterns), Object::Unit(name)) => {
                patterns.iter().any(|pattern| pattern.matches_unit(name.as_str()))
            }
            (Self::Files { .. }, Object::File { path, .. }) => self.directory_of(verb, path).is_some(),
            (Self::Commands { names, parameters }, Object::Command { name, arguments }) => {
                let one_of =
                    |patterns: &[Pattern], value: &str| patterns.iter().any(|pattern| pattern.matches(value));
                names.iter().any(|pattern| pattern.matches(name.as_str()))
                    && parameters.iter().all(|(name, patterns)| {
                        arguments.get(name).is_some_and(|value| one_of(patterns, value))
                    })
            }
            (
                Self::Nothing
                | Self::Packages(_)
                | Self::Units(_)
                | Self::Files { .. }
                | Self::Commands { .. },
                Object::Nothing
                | Object::Package { .. }
                | Object::AllPackages
                | Object::Unit(_)
                | Object::File { .. }
                | Object::Command { .. }
                | Object::Undo { .. },
            ) => false,
        }
    }

    /// The directory through which this reaches the path, if it does.
    #[must_use]
    pub fn directory_of(&self, verb: VerbId, path: &TargetPath) -> Option<&TargetPath> {
        match self {
            Self::Files { directories, depth, files } => {
                directories.iter().find(|directory| reaches(directory, *depth, files, verb, path))
            }
            Self::Nothing | Self::Packages(_) | Self::Units(_) | Self::Commands { .. } => None,
        }
    }
}

/// At most `depth` levels below, no hidden directory on the way, the last component as the patterns say. A directory
/// that is listed is one whose children are within reach, whatever its own name.
fn reaches(directory: &TargetPath, depth: usize, files: &[Pattern], verb: VerbId, path: &TargetPath) -> bool {
    let is_listed = verb == VerbId::FileList;
    if is_listed && path == directory {
        return true;
    }
    let Some(below) = path.below(directory) else {
        return false;
    };
    let (parents, name) = if is_listed {
        (below, None)
    } else {
        below.rsplit_once('/').map_or(("", Some(below)), |(parents, name)| (parents, Some(name)))
    };
    let levels = below.split('/').count();
    let hidden = parents.split('/').any(|component| component.starts_with('.'));
    let in_depth = if is_listed { levels < depth } else { levels <= depth };
    in_depth && !hidden && name.is_none_or(|name| files.iter().any(|pattern| pattern.matches_file(name)))
}

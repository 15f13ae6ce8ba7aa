//! The objects of a decision, and the selectors of rules.

use super::decision::Decision;
use crate::types::{
    Arguments, CommandName, FileMode, PackageName, PackageVersion, Pattern, TargetPath, UnitName, UserName,
};
use crate::verb_id::VerbId;
use std::sync::Arc;

/// A verb on an object: each must be granted for a request to pass.
pub type RequiredGrant = (VerbId, Object);

/// One element of a request, as the policy decides it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Object {
    /// The verb alone, such as `package.update`.
    Nothing,
    /// `host.reboot`: after so many seconds; none = the client's own reboot is cancelled.
    Reboot {
        /// Seconds from the decision to the reboot.
        after_s: Option<u32>,
    },
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
    Unit {
        /// Its name.
        name: UnitName,
        /// Lines of its journal that are asked for.
        journal_lines: u32,
    },
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
        /// The values of its parameters.
        arguments: Arguments,
    },
    /// The undo of a request that a rule let through.
    Undo {
        /// That rule's id.
        rule: String,
        /// The decision of that request, which its undo does not fall below.
        least: Decision,
    },
}

impl Object {
    /// The unit, without its journal.
    pub const fn unit(name: UnitName) -> Self {
        Self::Unit { name, journal_lines: 0 }
    }

    /// The package, in any version.
    pub const fn package(name: PackageName) -> Self {
        Self::Package { name, version: None }
    }

    /// The file as a reader sees it.
    pub fn read(path: TargetPath) -> Self {
        Self::File { path, bytes: 0, content: None, mode: None, owner: None, group: None }
    }

    /// The same without content, which only the decision on the request looks at.
    pub fn without_content(&self) -> Self {
        let mut object = self.clone();
        if let Self::File { content, .. } = &mut object {
            *content = None;
        }
        object
    }

    /// The least strict decision that a request about this may get.
    pub const fn least(&self) -> Decision {
        if let Self::Undo { least, .. } = self { *least } else { Decision::Allow }
    }

    /// The path, if it is a file's.
    pub const fn path(&self) -> Option<&TargetPath> {
        if let Self::File { path, .. } = self { Some(path) } else { None }
    }

    /// Whether it is the file of this path.
    pub fn is_file(&self, at: &TargetPath) -> bool {
        self.path() == Some(at)
    }

    /// The name of the object for people: never a value or content.
    pub fn name(&self) -> &str {
        match self {
            Self::Nothing | Self::Reboot { .. } => "",
            Self::Package { name, .. } => name.as_str(),
            Self::AllPackages => "--all",
            Self::Unit { name, .. } => name.as_str(),
            Self::File { path, .. } => path.as_str(),
            Self::Command { name, .. } => name.as_str(),
            Self::Undo { rule, .. } => rule,
        }
    }
}

/// The objects that a rule selects.
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
    pub fn selects(&self, verb: VerbId, object: &Object) -> bool {
        match self {
            Self::Nothing => matches!(object, Object::Nothing | Object::Reboot { .. }),
            Self::Packages(patterns) => {
                let name = if let Object::Package { name, .. } = object { Some(name) } else { None };
                let is_all = *object == Object::AllPackages;
                let is_named = |pattern: &Pattern| name.is_some_and(|name| pattern.matches(name.as_str()));
                patterns.iter().any(|pattern| is_named(pattern) || (is_all && pattern.as_str() == "*"))
            }
            Self::Units(patterns) => {
                let Object::Unit { name, .. } = object else { return false };
                patterns.iter().any(|pattern| pattern.matches_unit(name.as_str()))
            }
            Self::Files { .. } => object.path().is_some_and(|path| self.directory_of(verb, path).is_some()),
            Self::Commands { names, parameters } => {
                let Object::Command { name, arguments } = object else { return false };
                let is_value = |(name, patterns): &(String, Vec<Pattern>)| {
                    let value = arguments.get(name);
                    value.is_some_and(|value| patterns.iter().any(|pattern| pattern.matches(value)))
                };
                names.iter().any(|pattern| pattern.matches(name.as_str())) && parameters.iter().all(is_value)
            }
        }
    }

    /// The directory through which this reaches the path, if it does.
    pub fn directory_of(&self, verb: VerbId, path: &TargetPath) -> Option<&TargetPath> {
        let Self::Files { directories, depth, files } = self else { return None };
        directories.iter().find(|directory| reaches(directory, *depth, files, verb, path))
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

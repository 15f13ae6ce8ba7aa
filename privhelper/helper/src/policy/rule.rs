//! One rule, and which objects it selects.

use super::Decision;
use crate::error::{Code, Invalid, Refusal};
use crate::types::{FileMode, PackageName, PackageVersion, Pattern, TargetPath, UnitName, UserName};
use crate::verb_id::VerbId;
use postern_proto::root::v1 as root;
use std::time::Duration;

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
    /// A unit.
    Unit(UnitName),
    /// A file, with what the request would make of it.
    File {
        /// Where.
        path: TargetPath,
        /// Bytes of new content; 0 for reading.
        bytes: u64,
        /// Mode asked for.
        mode: Option<FileMode>,
        /// Owner asked for.
        owner: Option<UserName>,
        /// Group asked for.
        group: Option<UserName>,
    },
}

impl Object {
    /// The file as a reader sees it.
    #[must_use]
    pub fn read(path: TargetPath) -> Self {
        Self::File { path, bytes: 0, mode: None, owner: None, group: None }
    }
}

/// At most `count` begin records of the rule in a sliding `window`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// How many.
    pub count: u32,
    /// In how long.
    pub window: Duration,
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
}

/// One rule with all its limits. Public for reading: it has no constructor but [`Rule::new`].
#[derive(Debug)]
#[non_exhaustive]
#[expect(clippy::struct_excessive_bools, reason = "each is a key of the policy file")]
pub struct Rule {
    /// Unique in the policy.
    pub id: String,
    /// The client it speaks of.
    pub client: String,
    /// Which verbs.
    pub verbs: Vec<VerbId>,
    /// What it decides.
    pub decision: Decision,
    /// Which objects.
    pub selector: Selector,
    /// How often.
    pub rate: Option<Rate>,
    /// Longest wait for locks and jobs.
    pub timeout: Duration,
    /// How long a request waits for a person.
    pub approval_ttl: Duration,
    /// How many people must agree.
    pub approvers: u32,
    /// Versions that may be asked for.
    pub versions: Vec<Pattern>,
    /// Packages that a transaction may newly install.
    pub max_new_packages: u32,
    /// Whether a transaction may upgrade others.
    pub allow_upgrades: bool,
    /// Whether a transaction may remove others.
    pub allow_removals: bool,
    /// Whether a transaction may downgrade.
    pub allow_downgrades: bool,
    /// Whether recommended packages are installed too.
    pub recommends: bool,
    /// Whether other units may be dragged along.
    pub allow_cascade: bool,
    /// Journal lines that `unit.status` may show.
    pub journal_lines: u32,
    /// Bytes of a file's content.
    pub max_bytes: u64,
    /// Modes that may be set.
    pub modes: Vec<FileMode>,
    /// Owners that may be set.
    pub owners: Vec<UserName>,
    /// Groups that may be set.
    pub groups: Vec<UserName>,
    /// Whether a file may be made.
    pub allow_create: bool,
}

impl Rule {
    /// Reads one rule of the accepted form.
    ///
    /// # Errors
    /// A field that is not what it must be, in words.
    pub fn new(rule: &root::Rule) -> Result<Self, String> {
        let verbs = rule
            .verbs
            .iter()
            .map(|name| VerbId::from_name(name).ok_or_else(|| format!("no verb is named {name:?}")));
        let decision = match rule.decision() {
            root::Decision::Allow => Decision::Allow,
            root::Decision::Deny => Decision::Deny,
            root::Decision::Ask => Decision::Ask,
            root::Decision::Unspecified => return Err("no decision".to_owned()),
        };
        let rate = (rule.rate_count > 0)
            .then(|| Rate { count: rule.rate_count, window: Duration::from_secs(rule.rate_window_s) });
        Ok(Self {
            id: rule.id.clone(),
            client: rule.client.clone(),
            verbs: verbs.collect::<Result<_, _>>()?,
            decision,
            selector: selector(rule)?,
            rate,
            timeout: Duration::from_secs(rule.timeout_s),
            approval_ttl: Duration::from_secs(rule.approval_ttl_s),
            approvers: rule.approvers,
            versions: each(&rule.versions, Pattern::new)?,
            max_new_packages: rule.max_new_packages,
            allow_upgrades: rule.allow_upgrades,
            allow_removals: rule.allow_removals,
            allow_downgrades: rule.allow_downgrades,
            recommends: rule.recommends,
            allow_cascade: rule.allow_cascade,
            journal_lines: rule.journal_lines,
            max_bytes: rule.max_bytes,
            modes: each(&rule.modes, FileMode::new)?,
            owners: each(&rule.owners, |text| UserName::new("owners", text))?,
            groups: each(&rule.groups, |text| UserName::new("groups", text))?,
            allow_create: rule.allow_create,
        })
    }

    /// Whether the rule speaks of this verb on this object.
    #[must_use]
    pub fn selects(&self, verb: VerbId, object: &Object) -> bool {
        self.verbs.contains(&verb)
            && match (&self.selector, object) {
                (Selector::Nothing, Object::Nothing) => true,
                (Selector::Packages(patterns), Object::Package { name, .. }) => {
                    patterns.iter().any(|pattern| pattern.matches(name.as_str()))
                }
                (Selector::Units(patterns), Object::Unit(name)) => {
                    patterns.iter().any(|pattern| pattern.matches_unit(name.as_str()))
                }
                (Selector::Files { directories, depth, files }, Object::File { path, .. }) => {
                    directories.iter().any(|directory| reaches(directory, *depth, files, path))
                }
                (
                    Selector::Nothing | Selector::Packages(_) | Selector::Units(_) | Selector::Files { .. },
                    Object::Nothing | Object::Package { .. } | Object::Unit(_) | Object::File { .. },
                ) => false,
            }
    }

    /// The rule's directory that this path is in, if the rule selects files.
    #[must_use]
    pub fn directory_of(&self, path: &TargetPath) -> Option<&TargetPath> {
        match &self.selector {
            Selector::Files { directories, depth, files } => {
                directories.iter().find(|directory| reaches(directory, *depth, files, path))
            }
            Selector::Nothing | Selector::Packages(_) | Selector::Units(_) => None,
        }
    }

    /// Whether the object keeps the limits that the request alone can break.
    ///
    /// # Errors
    /// `limit_exceeded` with the limit's name.
    pub fn holds(&self, object: &Object) -> Result<(), Refusal> {
        let over = |what: String| Err(Refusal::new(Code::LimitExceeded, what));
        match object {
            Object::Nothing | Object::Unit(_) => {}
            Object::Package { version, .. } => {
                if let Some(version) = version
                    && !self.versions.iter().any(|pattern| pattern.matches(version.as_str()))
                {
                    return over(format!(
                        "rule {} grants the candidate version only, or those in `versions`",
                        self.id
                    ));
                }
            }
            Object::File { bytes, mode, owner, group, .. } => {
                if *bytes > self.max_bytes {
                    return over(format!(
                        "rule {} grants at most {} bytes (`max_bytes`)",
                        self.id, self.max_bytes
                    ));
                }
                if mode.is_some_and(|mode| !self.modes.contains(&mode)) {
                    return over(format!("rule {} grants only the modes {}", self.id, list(&self.modes)));
                }
                if owner.as_ref().is_some_and(|owner| !self.owners.contains(owner)) {
                    return over(format!("rule {} grants only the owners {}", self.id, list(&self.owners)));
                }
                if group.as_ref().is_some_and(|group| !self.groups.contains(group)) {
                    return over(format!("rule {} grants only the groups {}", self.id, list(&self.groups)));
                }
            }
        }
        Ok(())
    }
}

pub(super) fn list<T: std::fmt::Display>(items: &[T]) -> String {
    items.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn each<T>(texts: &[String], parse: impl Fn(&str) -> Result<T, Invalid>) -> Result<Vec<T>, String> {
    texts.iter().map(|text| parse(text).map_err(|invalid| format!("{text:?}: {invalid}"))).collect()
}

fn selector(rule: &root::Rule) -> Result<Selector, String> {
    let used = [!rule.packages.is_empty(), !rule.units.is_empty(), !rule.directories.is_empty()];
    match used {
        [false, false, false] => Ok(Selector::Nothing),
        [true, false, false] => Ok(Selector::Packages(each(&rule.packages, Pattern::new)?)),
        [false, true, false] => Ok(Selector::Units(each(&rule.units, Pattern::new)?)),
        [false, false, true] => Ok(Selector::Files {
            directories: each(&rule.directories, TargetPath::new)?,
            depth: usize::try_from(rule.depth).map_err(|_| "depth is too large")?,
            files: each(&rule.files, Pattern::new)?,
        }),
        _ => Err("speaks of more than one of packages, units and directories".to_owned()),
    }
}

/// At most `depth` levels below, no hidden directory on the way, the last component as the patterns say.
fn reaches(directory: &TargetPath, depth: usize, files: &[Pattern], path: &TargetPath) -> bool {
    let Some(below) = path.below(directory) else {
        return false;
    };
    let (parents, name) =
        below.rsplit_once('/').map_or((None, below), |(parents, name)| (Some(parents), name));
    let levels = below.split('/').count();
    let hidden =
        parents.is_some_and(|parents| parents.split('/').any(|component| component.starts_with('.')));
    levels <= depth && !hidden && files.iter().any(|pattern| pattern.matches_file(name))
}

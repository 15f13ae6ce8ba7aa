//! One rule: what it selects, and the limits that a request alone can break.

use super::decision::Decision;
use super::lines::first_unlisted;
use super::object::{Object, Selector};
use crate::accounts::Identity;
use crate::error::{Code, Denied, each};
use crate::types::{Digest, FileMode, PackageVersion, Pattern, TargetPath, UserName};
use crate::verb_id::VerbId;
use postern_proto::root::v1 as root;
use std::ops::Deref;

/// Largest content that a process of a rule's user gets or gives, in bytes.
pub const AS_USER_MAX: u64 = 1024 * 1024;

/// One rule with all its limits. Public for reading: it has no constructor but [`Rule::new`].
///
/// Numbers and flags are those of the accepted form, by [`Deref`]; what has a type of its own is a field here.
#[derive(Debug)]
#[non_exhaustive]
pub struct Rule {
    wire: root::Rule,
    /// Which verbs.
    pub verbs: Vec<VerbId>,
    /// Its decision.
    pub decision: Decision,
    /// Which objects.
    pub selector: Selector,
    /// Versions that may be asked for.
    pub versions: Vec<Pattern>,
    /// Modes that may be set.
    pub modes: Vec<FileMode>,
    /// Owners that may be set.
    pub owners: Vec<UserName>,
    /// Groups that may be set.
    pub groups: Vec<UserName>,
    /// The only lines that a written file may consist of; empty = any.
    pub lines: Vec<Pattern>,
}

impl Deref for Rule {
    type Target = root::Rule;

    fn deref(&self) -> &root::Rule {
        &self.wire
    }
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
        for name in &rule.people {
            UserName::new("people", name.strip_prefix("group:").unwrap_or(name))
                .map_err(|invalid| invalid.to_string())?;
        }
        // Nobody has to open a session: such a rule would bar nobody.
        if decision == Decision::Deny && !rule.people.is_empty() {
            return Err("a deny rule has no `people`".to_owned());
        }
        let verbs = verbs.collect::<Result<Vec<_>, _>>()?;
        let lasts = |verb: &VerbId| verb.is_effect() && !verb.has_inverse() && *verb != VerbId::RequestUndo;
        if rule.keep_within_s > 0 && verbs.iter().any(lasts) {
            return Err("`keep_within` for a verb without an inverse".to_owned());
        }
        if !rule.as_user.is_empty() {
            check_as_user(rule, &verbs)?;
        }
        Ok(Self {
            verbs,
            decision,
            selector: selector(rule)?,
            versions: each(&rule.versions, Pattern::new)?,
            modes: each(&rule.modes, FileMode::new)?,
            owners: each(&rule.owners, |text| UserName::new("owners", text))?,
            groups: each(&rule.groups, |text| UserName::new("groups", text))?,
            lines: each(&rule.lines, Pattern::of_text)?,
            wire: rule.clone(),
        })
    }

    /// The name of the socket, and of its service, through which files below a directory are reached as the rule's user.
    pub fn as_unit(&self, directory: &TargetPath) -> String {
        let digest = Digest::of(&[self.as_user.as_bytes(), b"\0", directory.as_str().as_bytes()]).to_string();
        format!("postern-as-{}", digest.chars().take(16).collect::<String>())
    }

    /// Whether the rule speaks of this verb on this object.
    pub fn selects(&self, verb: VerbId, object: &Object) -> bool {
        let is_selected = if let Object::Undo { rule, .. } = object {
            verb == VerbId::RequestUndo && *rule == self.id
        } else {
            verb != VerbId::RequestUndo && self.selector.selects(verb, object)
        };
        is_selected && self.verbs.contains(&verb)
    }

    /// Whether the rule is for whoever asks. One that names `people` is for a person whose session was quoted, and for nobody
    /// without.
    pub fn is_for(&self, who: &Identity) -> bool {
        let is_one = |name: &String, person: &Identity| match name.strip_prefix("group:") {
            Some(group) => person.groups.iter().any(|own| own == group),
            None => person.users.contains(name),
        };
        let is_named = |person: &Identity| self.people.iter().any(|name| is_one(name, person));
        self.people.is_empty() || (!who.has_asker_left && who.asker.as_deref().is_some_and(is_named))
    }

    /// Whether it is known who asks, where that person cannot agree: without a session they could.
    ///
    /// # Errors
    /// `limit_exceeded` with the limit's name.
    pub fn holds_asker(&self, who: &Identity) -> Result<(), Denied> {
        self.keep(who.asker.is_some() || !self.approvers_exclude_asker, || {
            "nothing without a session of the person who asks (`approvers_exclude_asker`): ask through the \
             agent, as a member of postern-users who is no client"
                .to_owned()
        })
    }

    /// Whether the object keeps the limits that the request alone can break.
    ///
    /// # Errors
    /// `limit_exceeded` with the limit's name.
    pub fn holds(&self, object: &Object) -> Result<(), Denied> {
        match object {
            Object::Unit { journal_lines, .. } => {
                let most = self.journal_lines;
                self.keep(*journal_lines <= most, || format!("{most} lines of the journal (`journal_lines`)"))
            }
            Object::Nothing
            | Object::Reboot { .. }
            | Object::AllPackages
            | Object::Command { .. }
            | Object::Undo { .. } => Ok(()),
            Object::Package { version, .. } => {
                let is_granted = |version: &PackageVersion| {
                    self.versions.iter().any(|pattern| pattern.matches(version.as_str()))
                };
                self.keep(version.as_ref().is_none_or(is_granted), || {
                    "the candidate version only, or those in `versions`".to_owned()
                })
            }
            Object::File { bytes, content, mode, owner, group, .. } => {
                let most = self.max_bytes;
                self.keep(*bytes <= most, || format!("at most {most} bytes (`max_bytes`)"))?;
                self.keep_lines(content.as_deref())?;
                self.keep_listed("modes", mode.as_ref(), &self.modes)?;
                self.keep_listed("owners", owner.as_ref(), &self.owners)?;
                self.keep_listed("groups", group.as_ref(), &self.groups)
            }
        }
    }

    /// Whether the verb on this many files at once keeps the limits.
    ///
    /// # Errors
    /// `limit_exceeded` with the limit's name.
    pub fn holds_verb(&self, verb: VerbId, files: usize) -> Result<(), Denied> {
        let most = self.max_files;
        let is_kept = verb != VerbId::FilePatch || u32::try_from(files).is_ok_and(|files| files <= most);
        self.keep(is_kept, || format!("at most {most} files (`max_files`)"))
    }

    fn keep_lines(&self, content: Option<&[u8]>) -> Result<(), Denied> {
        let content = content.filter(|_| !self.lines.is_empty());
        let unlisted = content.and_then(|content| first_unlisted(&self.lines, self.comments, content));
        let why = |line| format!("line {line} is none of those that rule {} grants (`lines`)", self.id);
        unlisted.map_or(Ok(()), |line| Err(Denied::new(Code::LimitExceeded, why(line))))
    }

    fn keep_listed<T: PartialEq + std::fmt::Display>(
        &self,
        key: &str,
        asked: Option<&T>,
        granted: &[T],
    ) -> Result<(), Denied> {
        self.keep(asked.is_none_or(|asked| granted.contains(asked)), || {
            format!("only the {key} {}", if granted.is_empty() { "none".to_owned() } else { list(granted) })
        })
    }

    /// Refuses what breaks a limit; `grants` are the words for it.
    fn keep(&self, is_kept: bool, grants: impl Fn() -> String) -> Result<(), Denied> {
        let why = || format!("rule {} grants {}", self.id, grants());
        if is_kept { Ok(()) } else { Err(Denied::new(Code::LimitExceeded, why())) }
    }
}

/// Whether a process of the rule's user does all that the rule lets through: it gives existing files new content.
fn check_as_user(rule: &root::Rule, verbs: &[VerbId]) -> Result<(), String> {
    UserName::new("as", &rule.as_user).map_err(|invalid| invalid.to_string())?;
    let is_done = |verb: &VerbId| matches!(verb, VerbId::FileRead | VerbId::FileWrite | VerbId::RequestUndo);
    let sets =
        rule.allow_create || [&rule.modes, &rule.owners, &rule.groups].iter().any(|list| !list.is_empty());
    let limits = [
        (!verbs.iter().all(is_done), "only file.read and file.write"),
        (
            rule.decision() == root::Decision::Deny || rule.directories.is_empty(),
            "only files are allowed or asked for",
        ),
        (sets, "no file is created, or gets another mode or owner"),
        (
            !rule.validate.is_empty() || rule.keep_within_s > 0,
            "there is neither `validate` nor `keep_within`",
        ),
        (rule.max_bytes > AS_USER_MAX, "files have at most 1 MiB (`max_bytes`)"),
    ];
    let broken = limits.iter().find(|(is_broken, _)| *is_broken);
    broken.map_or(Ok(()), |(_, why)| Err(format!("with `as` {why}")))
}

pub(super) fn list<T: std::fmt::Display>(items: &[T]) -> String {
    items.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn selector(rule: &root::Rule) -> Result<Selector, String> {
    let used = [&rule.packages, &rule.units, &rule.directories, &rule.commands].map(|list| !list.is_empty());
    match used {
        [false, false, false, false] => Ok(Selector::Nothing),
        [true, false, false, false] => Ok(Selector::Packages(each(&rule.packages, Pattern::new)?)),
        [false, true, false, false] => Ok(Selector::Units(each(&rule.units, Pattern::new)?)),
        [false, false, true, false] => Ok(Selector::Files {
            directories: each(&rule.directories, TargetPath::new)?,
            depth: usize::try_from(rule.depth).map_err(|_| "depth is too large")?,
            files: each(&rule.files, Pattern::new)?,
        }),
        [false, false, false, true] => {
            let grant = |grant: &root::ParameterGrant| {
                Ok((grant.name.clone(), each(&grant.patterns, Pattern::of_text)?))
            };
            Ok(Selector::Commands {
                names: each(&rule.commands, Pattern::new)?,
                parameters: rule.parameters.iter().map(grant).collect::<Result<_, String>>()?,
            })
        }
        _ => Err("speaks of more than one of packages, units, directories and commands".to_owned()),
    }
}

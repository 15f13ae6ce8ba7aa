//! One request that both policies are asked about.

use crate::policy::keys::is_limit_of;
use crate::text::count;
use postern_policy::{Object, VerbId};

/// The side effects of a request.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Plan {
    /// Nothing.
    Nothing,
    /// A transaction of apt.
    Packages {
        /// Packages that are newly installed, the one asked for with them.
        new: u32,
        /// Whether others are upgraded.
        upgrades: bool,
        /// Whether others are removed.
        removals: bool,
        /// Whether others are downgraded.
        downgrades: bool,
    },
    /// Whether other units are affected.
    Unit {
        /// It is.
        cascade: bool,
    },
    /// Lines of a unit's journal.
    Journal {
        /// How many.
        lines: u32,
    },
    /// Whether the file is a new one.
    File {
        /// It is.
        create: bool,
    },
}

/// One request about one object, with what it would come to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Probe {
    /// The object with all that is asked for.
    pub object: Object,
    /// Its side effects.
    pub plan: Plan,
    /// The limits that it goes to, by their keys. Empty: the plainest request.
    pub beyond: Vec<&'static str>,
}

/// Whether requests are made that go to this limit and beyond it. The others are compared as they are written.
#[must_use]
pub fn is_probed(key: &str, verb: VerbId) -> bool {
    match key {
        "versions" | "max_new_packages" | "allow_upgrades" | "allow_removals" | "allow_downgrades"
        | "new_packages" | "lines" | "allow_cascade" | "journal_lines" | "modes" | "owners" | "groups"
        | "allow_create" => true,
        "max_bytes" => is_limit_of("allow_create", verb),
        _ => false,
    }
}

impl Probe {
    /// Returns the side effects that are shown; nothing if there is none.
    #[must_use]
    pub fn visible_plan(&self) -> Plan {
        match &self.plan {
            Plan::Unit { cascade: false } | Plan::Journal { lines: 0 } | Plan::File { create: false } => {
                Plan::Nothing
            }
            plan => plan.clone(),
        }
    }

    /// The request in words, without its verb.
    #[must_use]
    pub fn describe(&self) -> String {
        let mut words = vec![self.object.name().to_owned()];
        let mut say = |text: String| words.push(text);
        match &self.object {
            Object::Nothing
            | Object::Reboot { .. }
            | Object::AllPackages
            | Object::Unit { .. }
            | Object::Undo { .. } => {}
            Object::Command { arguments, .. } => {
                for (name, value) in arguments.iter() {
                    say(format!("{name}={value}"));
                }
            }
            Object::Package { version, .. } => {
                if let Some(version) = version {
                    say(format!("version {}", version.as_str()));
                }
            }
            Object::File { bytes, content, mode, owner, group, .. } => {
                if let Some(mode) = mode {
                    say(format!("mode {mode}"));
                }
                if let Some(owner) = owner {
                    say(format!("owner {owner}"));
                }
                if let Some(group) = group {
                    say(format!("group {group}"));
                }
                if let Some(content) = content {
                    say(format!("content {:?}", String::from_utf8_lossy(content)));
                } else if *bytes > 0 {
                    say(count(usize::try_from(*bytes).unwrap_or(usize::MAX), "byte"));
                }
            }
        }
        match &self.plan {
            Plan::Packages { new, upgrades, removals, downgrades } => {
                if !self.beyond.is_empty() && self.beyond.contains(&"max_new_packages") {
                    say(format!("with {}", count(*new as usize, "new package")));
                }
                for (is_so, text) in [
                    (upgrades, "upgrading others"),
                    (removals, "removing others"),
                    (downgrades, "downgrading others"),
                ] {
                    if *is_so {
                        say(text.to_owned());
                    }
                }
            }
            Plan::Unit { cascade: true } => say("affecting other units".to_owned()),
            Plan::Journal { lines: lines @ 1.. } => say(format!("{lines} lines of its journal")),
            Plan::File { create: true } => say("as a new file".to_owned()),
            Plan::Nothing
            | Plan::Unit { cascade: false }
            | Plan::Journal { lines: 0 }
            | Plan::File { create: false } => {}
        }
        words.retain(|word| !word.is_empty());
        words.join(", ")
    }
}

//! The limits of a suggested rule: as narrow as the requests were.

use super::toml_text::list;
use crate::policy::keys;
use postern_policy::VerbId;
use serde_json::Value;
use std::collections::BTreeSet;

/// Bounds of a rule's limits that cover the recorded requests.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Limits {
    /// Lines of a unit's journal.
    pub journal_lines: u64,
    /// Versions of packages by name.
    pub versions: BTreeSet<String>,
    /// Bytes of new content.
    pub max_bytes: Option<u64>,
    /// Files of one request.
    pub max_files: Option<u64>,
    /// Modes, with the one that a request without a mode gives.
    pub modes: BTreeSet<String>,
    /// Owners that were named.
    pub owners: BTreeSet<String>,
    /// Groups that were named.
    pub groups: BTreeSet<String>,
    /// A file that does not exist was asked for.
    pub creates: bool,
}

impl Limits {
    /// Those of one change of a file; `number` files were in its request.
    pub fn of_file(verb: VerbId, change: &Value, number: u64) -> Self {
        let text = |key: &str| change[key].as_str().filter(|text| !text.is_empty()).map(str::to_owned);
        let is_change = matches!(verb, VerbId::FileWrite | VerbId::FilePatch);
        let default = if verb == VerbId::FileMkdir { "0755" } else { "0644" };
        let takes_mode = is_change || matches!(verb, VerbId::FileMkdir | VerbId::FileSetMode);
        let mode = text("mode").unwrap_or_else(|| default.to_owned());
        Self {
            max_bytes: is_change.then(|| change["size"].as_u64().unwrap_or_default()),
            max_files: (verb == VerbId::FilePatch).then_some(number),
            modes: takes_mode.then_some(mode).into_iter().collect(),
            owners: text("owner").into_iter().collect(),
            groups: text("group").into_iter().collect(),
            // `any` lets a file be made too.
            creates: is_change && matches!(text("expect").as_deref(), Some("absent" | "any")),
            ..Self::default()
        }
    }

    /// The limits that two requests must share to be of one rule: a rule grants each of its values with each other.
    pub fn shared(&self) -> Self {
        Self { journal_lines: 0, max_bytes: None, versions: BTreeSet::new(), ..self.clone() }
    }

    /// Adds what another request asked that shares the rest.
    pub fn add(&mut self, other: &Self) {
        self.journal_lines = self.journal_lines.max(other.journal_lines);
        self.max_bytes = self.max_bytes.max(other.max_bytes);
        self.versions.extend(other.versions.iter().cloned());
    }

    /// The keys as TOML, each that one of these verbs uses and that is not its default.
    pub fn lines(&self, verbs: &BTreeSet<VerbId>) -> Vec<String> {
        let is_used = |name: &str| {
            let key = keys::RULE.iter().find(|key| key.name == name);
            key.is_some_and(|key| verbs.iter().any(|verb| (key.used_by)(*verb)))
        };
        let some = |set: &BTreeSet<String>| (!set.is_empty()).then(|| list(set.iter()));
        let is_writing = verbs.iter().any(|verb| matches!(verb, VerbId::FileWrite | VerbId::FilePatch));
        let number = |number: Option<u64>| number.map(|number| number.to_string());
        let all = [
            ("journal_lines", number(Some(self.journal_lines).filter(|lines| *lines > 0))),
            ("versions", some(&self.versions)),
            ("max_bytes", number(self.max_bytes)),
            ("max_files", number(self.max_files)),
            ("modes", some(&self.modes)),
            ("owners", some(&self.owners)),
            ("groups", some(&self.groups)),
            ("allow_create", (is_writing && !self.creates).then(|| "false".to_owned())),
        ];
        let used = all.into_iter().filter(|(name, _)| is_used(name));
        used.filter_map(|(name, value)| value.map(|value| format!("{name} = {value}"))).collect()
    }
}

//! Rules in words: what a grant is limited to, for people who do not know the keys by heart.

use postern_helper::verb_id::VerbId;
use postern_proto::root::v1 as root;
use serde::Serialize;

/// The default of `timeout`, which is not worth a word.
const TIMEOUT_S: u64 = 600;

/// When a limit is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum When {
    /// On the request, before anything is touched.
    Request,
    /// When it is known what exactly would happen.
    Plan,
    /// While it is done.
    Run,
}

/// How far a limit goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Reach {
    /// It narrows the grant.
    Narrow,
    /// It lets through what a reviewer should think about.
    Wide,
}

/// One limit of a rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Limit {
    /// The key of the policy.
    pub key: &'static str,
    /// What it says.
    pub words: String,
    /// When it is checked.
    pub when: When,
    /// How far it goes.
    pub reach: Reach,
}

/// Limits under construction.
struct Limits(Vec<Limit>);

impl Limits {
    fn narrow(&mut self, when: When, key: &'static str, words: impl Into<String>) {
        self.0.push(Limit { key, words: words.into(), when, reach: Reach::Narrow });
    }

    fn wide(&mut self, when: When, key: &'static str, words: impl Into<String>) {
        self.0.push(Limit { key, words: words.into(), when, reach: Reach::Wide });
    }

    /// A flag that lets more through when it is set.
    fn flag(&mut self, key: &'static str, set: bool, yes: &str, no: &str) {
        if set {
            self.wide(When::Plan, key, yes);
        } else {
            self.narrow(When::Plan, key, no);
        }
    }
}

/// The limits of a rule for these of its verbs. A deny rule has none.
#[must_use]
pub fn limits(rule: &root::Rule, verbs: &[VerbId], sources: &[root::Source]) -> Vec<Limit> {
    let mut limits = Limits(Vec::new());
    if rule.decision() == root::Decision::Deny {
        return limits.0;
    }
    let any = |of: fn(VerbId) -> bool| verbs.iter().any(|verb| of(*verb));
    if any(is_transaction) {
        packages(rule, verbs, sources, &mut limits);
    }
    if any(|verb| verb == VerbId::UnitStatus) {
        let lines = rule.journal_lines;
        if lines == 0 {
            limits.narrow(When::Request, "journal_lines", "no line of the journal");
        } else {
            limits.wide(When::Request, "journal_lines", format!("up to {lines} lines of the journal"));
        }
    }
    if any(is_unit_change) {
        limits.flag(
            "allow_cascade",
            rule.allow_cascade,
            "other units may change too",
            "no other unit may change",
        );
    }
    if any(|verb| matches!(verb, VerbId::FileRead | VerbId::FileList) || is_write(verb)) {
        limits.narrow(When::Request, "max_bytes", format!("up to {}", size(rule.max_bytes)));
    }
    if any(|verb| is_write(verb) || is_standing(verb)) {
        let list = |items: &[String]| if items.is_empty() { "none".to_owned() } else { items.join(" or ") };
        limits.narrow(When::Request, "modes", format!("mode {}", list(&rule.modes)));
        limits.narrow(When::Request, "owners", format!("owner {}", list(&rule.owners)));
        limits.narrow(When::Request, "groups", format!("group {}", list(&rule.groups)));
    }
    if any(is_write) {
        content(rule, &mut limits);
    }
    if any(is_effect) {
        if rule.rate_count == 0 {
            limits.narrow(When::Run, "rate", "as often as asked");
        } else {
            let window = duration(rule.rate_window_s);
            limits.narrow(When::Run, "rate", format!("at most {} in {window}", times(rule.rate_count)));
        }
        if rule.timeout_s != TIMEOUT_S {
            let most = duration(rule.timeout_s);
            limits.narrow(When::Run, "timeout", format!("waits at most {most} for locks and jobs"));
        }
    }
    limits.0
}

fn packages(rule: &root::Rule, verbs: &[VerbId], sources: &[root::Source], limits: &mut Limits) {
    use When::{Plan, Request};
    if verbs.contains(&VerbId::PackageInstall) || verbs.contains(&VerbId::PackageUpgrade) {
        if rule.versions.is_empty() {
            limits.narrow(Request, "versions", "the candidate version only");
        } else {
            limits.narrow(
                Request,
                "versions",
                format!("the candidate version, or {}", rule.versions.join(", ")),
            );
        }
        if rule.sources.is_empty() {
            limits.wide(Plan, "sources", "from any configured source");
        } else {
            let entries = |name: &String| {
                let source = sources.iter().find(|source| source.name == *name);
                source
                    .map_or_else(|| name.clone(), |source| format!("{name} ({})", source.entries.join(", ")))
            };
            let named = rule.sources.iter().map(entries).collect::<Vec<_>>().join(", ");
            limits.narrow(Plan, "sources", format!("only from {named}"));
        }
        let most = rule.max_new_packages;
        limits.narrow(
            Plan,
            "max_new_packages",
            format!("at most {most} new packages at once, dependencies included"),
        );
        limits.flag(
            "allow_upgrades",
            rule.allow_upgrades,
            "others may be upgraded with them",
            "upgrades no others",
        );
        limits.flag("allow_downgrades", rule.allow_downgrades, "may downgrade", "never downgrades");
        if rule.recommends {
            limits.wide(Plan, "recommends", "recommended packages come too");
        }
    }
    if verbs.contains(&VerbId::PackageUpgrade) {
        limits.flag(
            "new_packages",
            rule.new_packages,
            "upgrades may bring new packages",
            "upgrades bring no new packages",
        );
    }
    limits.flag("allow_removals", rule.allow_removals, "other packages may be removed", "removes no others");
}

fn content(rule: &root::Rule, limits: &mut Limits) {
    if rule.allow_create {
        limits.narrow(When::Plan, "allow_create", "may make new files");
    } else {
        limits.narrow(When::Plan, "allow_create", "changes existing files only");
    }
    if !rule.lines.is_empty() {
        let lines = rule.lines.iter().map(|line| format!("`{line}`")).collect::<Vec<_>>().join(" or ");
        limits.narrow(When::Request, "lines", format!("every line is {lines}"));
    }
    if !rule.validate.is_empty() {
        limits.narrow(When::Plan, "validate", format!("only if `{}` agrees", rule.validate));
    }
    if rule.backup() == root::Backup::None {
        limits.wide(When::Run, "backup", "what was there before is not kept, so it cannot be undone");
    }
}

const fn is_transaction(verb: VerbId) -> bool {
    use VerbId::{PackageAutoremove, PackageInstall, PackagePurge, PackageRemove, PackageUpgrade};
    matches!(verb, PackageInstall | PackageUpgrade | PackageRemove | PackagePurge | PackageAutoremove)
}

const fn is_unit_change(verb: VerbId) -> bool {
    use VerbId::{
        UnitDisable, UnitEnable, UnitMask, UnitReload, UnitRestart, UnitStart, UnitStop, UnitTryRestart,
        UnitUnmask,
    };
    matches!(
        verb,
        UnitStart
            | UnitStop
            | UnitRestart
            | UnitReload
            | UnitTryRestart
            | UnitEnable
            | UnitDisable
            | UnitMask
            | UnitUnmask
    )
}

const fn is_write(verb: VerbId) -> bool {
    matches!(verb, VerbId::FileWrite | VerbId::FilePatch)
}

const fn is_standing(verb: VerbId) -> bool {
    matches!(verb, VerbId::FileMkdir | VerbId::FileSetMode | VerbId::FileSetOwner)
}

/// Whether the verb changes something, built or not.
#[must_use]
pub const fn is_effect(verb: VerbId) -> bool {
    use VerbId::{FileList, FileRead, PackageShow, PolicyDescribe, RequestResult, UnitStatus};
    !matches!(verb, PackageShow | UnitStatus | FileRead | FileList | PolicyDescribe | RequestResult)
}

fn times(count: u32) -> String {
    if count == 1 { "once".to_owned() } else { format!("{count} times") }
}

/// `1 MiB`, `300 KiB`, `1500 bytes`: exact.
#[must_use]
pub fn size(bytes: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    let unit = UNITS.iter().find(|(unit, _)| bytes >= *unit && bytes.is_multiple_of(*unit));
    unit.map_or_else(|| format!("{bytes} bytes"), |(unit, name)| format!("{} {name}", bytes / unit))
}

/// `1 hour`, `10 minutes`, `90 seconds`: exact.
#[must_use]
pub fn duration(seconds: u64) -> String {
    const UNITS: [(u64, &str); 4] = [(24 * 3600, "day"), (3600, "hour"), (60, "minute"), (1, "second")];
    let unit = UNITS.iter().find(|(unit, _)| seconds >= *unit && seconds.is_multiple_of(*unit));
    let (unit, name) = unit.copied().unwrap_or((1, "second"));
    let number = seconds / unit;
    format!("{number} {name}{}", if number == 1 { "" } else { "s" })
}

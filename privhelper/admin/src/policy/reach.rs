//! Rules that no request can ever use, since others of the same client are always used before them.
//!
//! Exact where one pattern of another rule covers a pattern: what only several
//! patterns cover together is not found.

use super::rule::{CompiledRule, ParsedRule};
use postern_policy::types::{Pattern, TargetPath};
use postern_policy::{Decision, VerbId};
use postern_proto::root::v1 as root;

/// One thing that a rule selects: a pattern, with the place that it holds in.
enum Atom<'a> {
    Nothing,
    Package(Pattern),
    Unit(Pattern),
    File(&'a TargetPath, usize, Pattern),
    Command(Pattern, &'a [(String, Vec<Pattern>)]),
}

/// A rule taken apart.
struct Reach<'a> {
    parsed: &'a ParsedRule<'a>,
    whole: &'a CompiledRule,
    directories: Vec<TargetPath>,
    parameters: Vec<(String, Vec<Pattern>)>,
}

/// Warns of every rule that is always passed over. A deny rule is never one of them: it must not be held up.
pub fn check(rules: &[ParsedRule<'_>]) {
    let taken = rules.iter().filter_map(take).collect::<Vec<_>>();
    let atoms = taken.iter().map(Reach::atoms).collect::<Vec<_>>();
    for (place, rule) in taken.iter().enumerate().filter(|(_, rule)| rule.whole.decision != Decision::Deny) {
        let table = rule.parsed.table;
        let before = |other: usize, its: &Reach<'_>| its.goes_before(other < place, rule);
        if let Some(by) = covering(&taken, &atoms, place, before) {
            table.warn(table.at, format!("no request can use this rule: {by} is used first for all of it"));
        } else if !rule.whole.wire.people.is_empty()
            && let Some(by) = weaker(&taken, &atoms, place)
        {
            let why = format!("who opens no session gets {by} instead, which is weaker (`people`)");
            table.warn(table.place("people").unwrap_or(table.at), why);
        } else if !rule.whole.wire.hours.is_empty()
            && let Some(by) = covering(&taken, &atoms, place, |_, its| its.is_open_beside(rule))
        {
            let why = format!("`hours` closes nothing: {by} lets all of it through at any time");
            table.warn(table.place("hours").unwrap_or(table.at), why);
        }
    }
}

/// The first rule for anybody that holds back less than the rule for people at `place`, of something that both select.
fn weaker<'a>(taken: &[Reach<'a>], atoms: &[Vec<Atom<'_>>], place: usize) -> Option<&'a str> {
    let rule = &taken[place];
    let is_shared = |its: &Reach<'_>, of: &[Atom<'_>]| {
        let verbs = rule.whole.verbs.iter().filter(|verb| its.whole.verbs.contains(verb));
        let both = |verb: VerbId, a: &Atom<'_>, b: &Atom<'_>| covers(verb, a, b) || covers(verb, b, a);
        verbs
            .into_iter()
            .any(|verb| atoms[place].iter().any(|own| of.iter().any(|other| both(*verb, own, other))))
    };
    let mut others =
        taken.iter().zip(atoms).filter(|(its, of)| its.is_weaker_for_all(rule) && is_shared(its, of));
    others.next().map(|(its, _)| its.whole.wire.id.as_str())
}

/// The rules that together select all that the rule at `place` does, of those that `counts`; none if something is left.
fn covering(
    taken: &[Reach<'_>],
    atoms: &[Vec<Atom<'_>>],
    place: usize,
    counts: impl Fn(usize, &Reach<'_>) -> bool,
) -> Option<String> {
    let verbs = taken[place].whole.verbs.iter().filter(|verb| **verb != VerbId::RequestUndo);
    let mut by: Vec<&str> = Vec::new();
    for verb in verbs {
        for atom in &atoms[place] {
            let (_, (other, _)) = taken.iter().zip(atoms).enumerate().find(|(other, (its, of))| {
                *other != place
                    && its.whole.verbs.contains(verb)
                    && counts(*other, its)
                    && of.iter().any(|its| covers(*verb, its, atom))
            })?;
            by.push(&other.whole.wire.id);
        }
    }
    by.sort_unstable();
    by.dedup();
    Some(by.join(", "))
}

fn take<'a>(parsed: &'a ParsedRule<'a>) -> Option<Reach<'a>> {
    let whole = parsed.rule.as_ref()?;
    let directories = whole.wire.directories.iter().map(|text| TargetPath::new(text));
    let parameter = |grant: &root::ParameterGrant| {
        let patterns = grant.patterns.iter().map(|text| Pattern::of_text(text));
        Ok((grant.name.clone(), patterns.collect::<Result<_, _>>()?))
    };
    let parameters = whole.wire.parameters.iter().map(parameter);
    Some(Reach {
        parsed,
        whole,
        directories: directories.collect::<Result<_, _>>().ok()?,
        parameters: parameters.collect::<Result<_, postern_policy::Invalid>>().ok()?,
    })
}

impl Reach<'_> {
    fn atoms(&self) -> Vec<Atom<'_>> {
        let wire = &self.whole.wire;
        let patterns =
            |texts: &[String]| texts.iter().filter_map(|text| Pattern::new(text).ok()).collect::<Vec<_>>();
        let depth = usize::try_from(wire.depth).unwrap_or(usize::MAX);
        let mut atoms = Vec::new();
        atoms.extend(patterns(&wire.packages).into_iter().map(Atom::Package));
        atoms.extend(patterns(&wire.units).into_iter().map(Atom::Unit));
        atoms.extend(patterns(&wire.commands).into_iter().map(|name| Atom::Command(name, &self.parameters)));
        for directory in &self.directories {
            atoms.extend(patterns(&wire.files).into_iter().map(|file| Atom::File(directory, depth, file)));
        }
        if atoms.is_empty() { vec![Atom::Nothing] } else { atoms }
    }

    /// Whether this rule is used wherever both rules select: it is stricter, or it decides the same, comes earlier and
    /// lets through whatever the other does.
    fn goes_before(&self, is_earlier: bool, other: &Self) -> bool {
        let same_client = self.whole.wire.client == other.whole.wire.client;
        same_client
            && any(&self.whole.wire.people, &other.whole.wire.people)
            && (self.whole.decision > other.whole.decision
                || (self.whole.decision == other.whole.decision
                    && is_earlier
                    && is_wider(&self.whole.wire, &other.whole.wire)))
    }

    /// Whether this rule, which is for anybody of the same client, holds back less than the other, which is for people.
    fn is_weaker_for_all(&self, other: &Self) -> bool {
        let (own, its) = (&self.whole.wire, &other.whole.wire);
        let is_less = self.whole.decision < other.whole.decision
            || (self.whole.decision == other.whole.decision && !is_wider(its, own));
        own.client == its.client && own.people.is_empty() && is_less
    }

    /// Whether this rule decides the same at any time, and lets through whatever the other does in its `hours`.
    fn is_open_beside(&self, other: &Self) -> bool {
        let (own, its) = (&self.whole.wire, &other.whole.wire);
        let is_for_all = any(&own.people, &its.people);
        is_for_all
            && own.client == its.client
            && own.decision == its.decision
            && own.hours.is_empty()
            && is_wider(own, its)
    }
}

/// Whether `a` selects everything that `b` does. A `*` of `b` is matched as a character that only a `*` of `a` can match.
fn covers(verb: VerbId, a: &Atom<'_>, b: &Atom<'_>) -> bool {
    match (a, b) {
        (Atom::Nothing, Atom::Nothing) => true,
        (Atom::Package(a), Atom::Package(b)) => a.matches(b.as_str()),
        (Atom::Unit(a), Atom::Unit(b)) => a.matches_unit(b.as_str()),
        (Atom::File(a, a_depth, a_file), Atom::File(b, b_depth, b_file)) => {
            let between = if a == b { Some("") } else { b.below(a) };
            let Some(between) = between else {
                return false;
            };
            let mut steps = between.split('/').filter(|step| !step.is_empty());
            let is_hidden = steps.clone().any(|step| step.starts_with('.'));
            // The name of a directory that is listed is not looked at.
            let names = verb == VerbId::FileList || a_file.matches_file(b_file.as_str());
            let levels = steps.by_ref().count();
            !is_hidden && names && *a_depth >= b_depth.saturating_add(levels)
        }
        (Atom::Command(a, a_values), Atom::Command(b, b_values)) => {
            let one = |patterns: &[Pattern], b: &Pattern| patterns.iter().any(|a| a.matches(b.as_str()));
            a.matches(b.as_str())
                && a_values.iter().all(|(name, patterns)| {
                    let narrowed = b_values.iter().find(|(known, _)| known == name);
                    narrowed.is_some_and(|(_, values)| values.iter().all(|value| one(patterns, value)))
                })
        }
        (
            Atom::Nothing | Atom::Package(_) | Atom::Unit(_) | Atom::File(..) | Atom::Command(..),
            Atom::Nothing | Atom::Package(_) | Atom::Unit(_) | Atom::File(..) | Atom::Command(..),
        ) => false,
    }
}

/// Whether every limit of `a` lets through what that of `b` does.
fn is_wider(a: &root::Rule, b: &root::Rule) -> bool {
    let has = |a: bool, b: bool| a || !b;
    let rate = a.rate_count == 0
        || (b.rate_count > 0 && a.rate_count >= b.rate_count && a.rate_window_s <= b.rate_window_s);
    let person_rate = a.person_rate_count == 0
        || (b.person_rate_count > 0
            && a.person_rate_count >= b.person_rate_count
            && a.person_rate_window_s <= b.person_rate_window_s);
    rate && person_rate
        && any(&a.hours, &b.hours)
        && has(!a.approvers_exclude_asker, !b.approvers_exclude_asker)
        && a.timeout_s >= b.timeout_s
        && a.approval_ttl_s >= b.approval_ttl_s
        && a.approvers <= b.approvers
        && all(&a.versions, &b.versions)
        && any(&a.sources, &b.sources)
        && a.max_new_packages >= b.max_new_packages
        && has(a.allow_upgrades, b.allow_upgrades)
        && has(a.allow_removals, b.allow_removals)
        && has(a.allow_downgrades, b.allow_downgrades)
        && has(a.new_packages, b.new_packages)
        && has(a.recommends, b.recommends)
        && has(a.allow_cascade, b.allow_cascade)
        && a.journal_lines >= b.journal_lines
        && a.max_bytes >= b.max_bytes
        && all(&a.modes, &b.modes)
        && all(&a.owners, &b.owners)
        && all(&a.groups, &b.groups)
        && a.max_files >= b.max_files
        && has(a.allow_create, b.allow_create)
        && any(&a.lines, &b.lines)
        && (a.lines.is_empty() || has(a.comments, b.comments))
        && (a.validate.is_empty() || a.validate == b.validate)
        && has(!a.no_undo_copy, !b.no_undo_copy)
        && a.as_user == b.as_user
        && (a.keep_within_s == 0 || (b.keep_within_s > 0 && a.keep_within_s >= b.keep_within_s))
}

fn all<T: PartialEq>(a: &[T], b: &[T]) -> bool {
    b.iter().all(|value| a.contains(value))
}

/// As [`all`], where an empty list lets everything through.
fn any<T: PartialEq>(a: &[T], b: &[T]) -> bool {
    a.is_empty() || (!b.is_empty() && all(a, b))
}

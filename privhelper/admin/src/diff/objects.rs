//! Which sets of rules can select the same object, each with a small such object. A new kind of object is added here.

use super::automaton::{Alphabet, Budget, Exhausted, Machine, ONE, Star};
use super::commands;
use super::facet::Facet;
use super::parents::{self, Parent};
use postern_policy::rules::protect;
use postern_policy::types::{PackageName, TargetPath, UNIT_SUFFIXES, UnitName};
use postern_policy::{Decision, Object, VerbId};
use postern_proto::root::v1 as root;
use std::collections::HashMap;

/// Names of packages.
const PACKAGE: Alphabet = Alphabet { letters: b"xabcdefghijklmnopqrstuvwyz0123456789+.-", longest: 128 };
/// Names of units.
const UNIT: Alphabet = Alphabet {
    letters: b"xabcdefghijklmnopqrstuvwyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:_.-\\@",
    longest: 255,
};
/// Names of files: the last ones stand for all that no pattern can hold.
const FILE: Alphabet = Alphabet {
    letters: b"xabcdefghijklmnopqrstuvwyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+.,:;@#%=~!$&'()\"<>^`|* {",
    longest: 255,
};
/// What tells apart names that are alike to all patterns: whether they are names at all.
pub(super) const PACKAGE_RULES: [&str; 4] = ["+*", ".*", "-*", "*-"];
pub(super) const UNIT_RULES: [&str; 5] = ["-*", ".*", "@*", "*@*@*", "*..*"];

/// Objects that the same rules select.
#[derive(Debug)]
pub struct Class {
    /// One of them, with nothing asked for beyond its name.
    pub object: Object,
    /// The facets that select it: places in the list.
    pub members: Vec<usize>,
}

/// All classes in which a facet that differs takes part.
///
/// # Errors
/// The patterns are too many for the budget.
pub fn classes(
    verb: VerbId,
    facets: &[Facet<'_>],
    sides: [&root::Rules; 2],
    budget: &mut Budget,
) -> Result<Vec<Class>, Exhausted> {
    let protect = sides.iter().filter_map(|rules| rules.protect.as_ref()).collect::<Vec<_>>();
    let protect = &*protect;
    let mut found = Found { facets, seen: HashMap::new(), classes: Vec::new() };
    if verb == VerbId::RequestUndo {
        undos(&mut found);
        return Ok(found.classes);
    }
    let bare = facets.iter().enumerate().filter(|(_, facet)| {
        let root::Rule { packages, units, directories, commands, .. } = facet.known.rule;
        packages.is_empty() && units.is_empty() && directories.is_empty() && commands.is_empty()
    });
    found.add(Some(Object::Nothing), "", bare.map(|(place, _)| place).collect());
    if verb == VerbId::PackageUpgrade {
        let has_all = |facet: &Facet<'_>| facet.known.rule.packages.iter().any(|text| text == "*");
        let all = facets.iter().enumerate().filter(|(_, facet)| has_all(facet));
        found.add(Some(Object::AllPackages), "", all.map(|(place, _)| place).collect());
    }
    packages(&mut found, protect, budget)?;
    units(&mut found, protect, budget)?;
    files(verb, &mut found, protect, budget)?;
    commands::add(&mut found, sides.map(|rules| &*rules.commands), budget)?;
    Ok(found.classes)
}

/// Classes as they are found.
pub(super) struct Found<'a> {
    pub(super) facets: &'a [Facet<'a>],
    /// How often each set of facets was kept.
    seen: HashMap<(Vec<usize>, String), usize>,
    classes: Vec<Class>,
}

impl Found<'_> {
    /// Keeps the first objects of a class: one would do, more of them make better examples. `apart` says what else
    /// tells objects apart.
    pub(super) fn add(&mut self, object: Option<Object>, apart: &str, members: Vec<usize>) {
        let Some(object) = object else {
            return;
        };
        if members.iter().all(|place| !self.facets[*place].differs) {
            return;
        }
        let kept = self.seen.entry((members.clone(), apart.to_owned())).or_default();
        if *kept < super::effect::EXAMPLES_MAX {
            *kept += 1;
            self.classes.push(Class { object, members });
        }
    }
}

/// The patterns of the facets, each with the places of the facets that have it.
struct Patterns {
    machine: Machine,
    owners: Vec<Vec<usize>>,
}

impl Patterns {
    fn new<'a>(facets: impl Iterator<Item = (usize, &'a Facet<'a>, &'a [String])>, star: Star) -> Self {
        let mut patterns = Self { machine: Machine::default(), owners: Vec::new() };
        for (place, facet, texts) in facets {
            for text in texts {
                let id = patterns.machine.add(text, star, facet.differs);
                patterns.owners.resize_with(patterns.owners.len().max(id + 1), Vec::new);
                if patterns.owners[id].last() != Some(&place) {
                    patterns.owners[id].push(place);
                }
            }
        }
        patterns
    }

    /// Patterns that no rule has, but that tell names apart.
    fn tell_apart(&mut self, text: &str, star: Star) {
        let id = self.machine.add(text, star, false);
        self.owners.resize_with(self.owners.len().max(id + 1), Vec::new);
    }

    fn explore(
        &self,
        alphabet: &Alphabet,
        budget: &mut Budget,
        mut found: impl FnMut(&str, Vec<usize>, &str),
    ) -> Result<(), Exhausted> {
        if self.owners.is_empty() {
            return Ok(());
        }
        self.machine.explore(alphabet, budget, |name, matched| {
            let mut members = matched.iter().flat_map(|id| self.owners[*id].clone()).collect::<Vec<_>>();
            members.sort_unstable();
            members.dedup();
            let apart = matched.iter().filter(|id| self.owners[**id].is_empty());
            let apart = apart.map(ToString::to_string).collect::<Vec<_>>().join(" ");
            found(name, members, &apart);
        })
    }
}

fn packages(found: &mut Found<'_>, protect: &[&root::Protect], budget: &mut Budget) -> Result<(), Exhausted> {
    let facets = found.facets;
    let speaking =
        facets.iter().enumerate().map(|(place, facet)| (place, facet, &*facet.known.rule.packages));
    let mut patterns = Patterns::new(speaking, Star::Any);
    if patterns.owners.is_empty() {
        return Ok(());
    }
    let known = protect.iter().flat_map(|protect| protect.packages.iter().map(String::as_str));
    patterns.tell_apart(&format!("{ONE}{ONE}*"), Star::Any);
    for text in
        PACKAGE_RULES.iter().chain(&protect::OWN_PACKAGES).chain(&protect::PACKAGES).copied().chain(known)
    {
        patterns.tell_apart(text, Star::Any);
    }
    patterns.explore(&PACKAGE, budget, |name, members, apart| {
        let object = PackageName::new(name).ok().map(|name| Object::Package { name, version: None });
        found.add(object, apart, members);
    })
}

fn units(found: &mut Found<'_>, protect: &[&root::Protect], budget: &mut Budget) -> Result<(), Exhausted> {
    let facets = found.facets;
    let speaking = facets.iter().enumerate().map(|(place, facet)| (place, facet, &*facet.known.rule.units));
    let mut patterns = Patterns::new(speaking, Star::NotAt);
    if patterns.owners.is_empty() {
        return Ok(());
    }
    for text in UNIT_RULES {
        patterns.tell_apart(text, Star::Any);
    }
    for suffix in UNIT_SUFFIXES {
        patterns.tell_apart(&format!("*{suffix}"), Star::Any);
        patterns.tell_apart(&format!("*@{suffix}"), Star::Any);
    }
    for start in protect::UNITS {
        patterns.tell_apart(&format!("{start}*"), Star::Any);
    }
    for text in protect.iter().flat_map(|protect| &protect.units) {
        patterns.tell_apart(text, Star::NotAt);
    }
    patterns.explore(&UNIT, budget, |name, members, apart| {
        found.add(UnitName::new(name).ok().map(Object::unit), apart, members);
    })
}

/// What a rule decided can be undone under the rule of the same id.
fn undos(found: &mut Found<'_>) {
    for facet in found.facets {
        let id = &facet.known.rule.id;
        let members = found.facets.iter().enumerate().filter(|(_, facet)| facet.known.rule.id == *id);
        let members = members.map(|(place, _)| place).collect();
        found.add(Some(Object::Undo { rule: id.clone(), least: Decision::Allow }), id, members);
    }
}

fn files(
    verb: VerbId,
    found: &mut Found<'_>,
    protect: &[&root::Protect],
    budget: &mut Budget,
) -> Result<(), Exhausted> {
    let facets = found.facets;
    let own = protect.iter().flat_map(|protect| protect.paths.iter().map(String::as_str));
    let starts = protect::DIRECTORIES.iter().copied().chain(own).collect::<Vec<_>>();
    let wholes = protect::FILES.iter().copied().chain(starts.iter().copied()).collect::<Vec<_>>();
    for parent in parents::of(facets, &wholes, budget)? {
        let Parent { path, reaching } = parent;
        if !reaching.iter().any(|place| facets[*place].differs) {
            continue;
        }
        if verb == VerbId::FileList {
            // What is listed is the directory, whatever its own name.
            found.add(TargetPath::new(&path).ok().map(Object::read), &path, reaching);
            continue;
        }
        let speaking = reaching.iter().map(|place| {
            let facet = &facets[*place];
            (*place, facet, &*facet.known.rule.files)
        });
        let mut patterns = Patterns::new(speaking, Star::NotHidden);
        let below = format!("{path}/");
        for name in wholes.iter().filter_map(|whole| whole.strip_prefix(&below)) {
            if !name.is_empty() && !name.trim_end_matches('/').contains('/') {
                let name = name.trim_end_matches('/');
                patterns.tell_apart(name, Star::Any);
                patterns.tell_apart(&format!("{name}-"), Star::Any);
                patterns.tell_apart(&format!("{name}*"), Star::Any);
            }
        }
        for name in [".", ".."] {
            patterns.tell_apart(name, Star::Any);
        }
        let covered = if starts.iter().any(|start| below.starts_with(start)) { "protected " } else { "" };
        patterns.explore(&FILE, budget, |name, members, apart| {
            let path = TargetPath::new(&format!("{path}/{name}")).ok();
            found.add(path.map(Object::read), &format!("{covered}{apart}"), members);
        })?;
    }
    Ok(())
}

//! Which sets of rules can select the same object, each with a small such object. A new kind of object is added here.

use super::automaton::{Alphabet, Budget, Exhausted, Machine, ONE, Star};
use super::class::{ObjectClass, ObjectClasses, PACKAGE_RULES, UNIT_RULES};
use super::commands;
use super::parents::{self, Parent};
use super::verb_rule::VerbRule;
use postern_policy::rules::protect;
use postern_policy::types::{PackageName, TargetPath, UNIT_SUFFIXES, UnitName};
use postern_policy::{Decision, Object, VerbId};
use postern_proto::root::v1 as root;

/// Names of packages.
const PACKAGE: Alphabet = Alphabet { letters: b"xabcdefghijklmnopqrstuvwyz0123456789+.-", longest: 128 };
/// Names of units.
const UNIT: Alphabet = Alphabet {
    letters: b"xabcdefghijklmnopqrstuvwyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:_.-\\@",
    longest: 255,
};
/// Names of files: the last ones represent all characters that no pattern can hold.
const FILE: Alphabet = Alphabet {
    letters: b"xabcdefghijklmnopqrstuvwyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+.,:;@#%=~!$&'()\"<>^`|* {",
    longest: 255,
};
/// All classes of objects that a rule selects which is only in one of the policies.
///
/// # Errors
/// The patterns are too many for the budget.
pub fn classes(
    verb: VerbId,
    verb_rules: &[VerbRule<'_>],
    sides: [&root::Rules; 2],
    budget: &mut Budget,
) -> Result<Vec<ObjectClass>, Exhausted> {
    let protect = sides.iter().filter_map(|rules| rules.protect.as_ref()).collect::<Vec<_>>();
    let protect = &*protect;
    let mut found = ObjectClasses::new(verb_rules);
    if verb == VerbId::RequestUndo {
        undos(&mut found);
        return Ok(found.classes);
    }
    let bare = verb_rules.iter().enumerate().filter(|(_, verb_rule)| {
        let root::Rule { packages, units, directories, commands, .. } = verb_rule.resolved.rule;
        packages.is_empty() && units.is_empty() && directories.is_empty() && commands.is_empty()
    });
    found.add(Some(Object::Nothing), "", bare.map(|(place, _)| place).collect());
    if verb == VerbId::PackageUpgrade {
        let has_all =
            |verb_rule: &VerbRule<'_>| verb_rule.resolved.rule.packages.iter().any(|text| text == "*");
        let all = verb_rules.iter().enumerate().filter(|(_, verb_rule)| has_all(verb_rule));
        found.add(Some(Object::AllPackages), "", all.map(|(place, _)| place).collect());
    }
    packages(&mut found, protect, budget)?;
    units(&mut found, protect, budget)?;
    files(verb, &mut found, protect, budget)?;
    commands::add(&mut found, sides.map(|rules| &*rules.commands), budget)?;
    Ok(found.classes)
}

/// The patterns of the rules, each with the indices of the rules that have it.
struct Patterns {
    machine: Machine,
    owners: Vec<Vec<usize>>,
}

impl Patterns {
    fn new<'a>(
        verb_rules: impl Iterator<Item = (usize, &'a VerbRule<'a>, &'a [String])>,
        star: Star,
    ) -> Self {
        let mut patterns = Self { machine: Machine::default(), owners: Vec::new() };
        for (place, verb_rule, texts) in verb_rules {
            for text in texts {
                let id = patterns.machine.add(text, star, verb_rule.differs);
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

fn packages(
    found: &mut ObjectClasses<'_>,
    protect: &[&root::Protect],
    budget: &mut Budget,
) -> Result<(), Exhausted> {
    let verb_rules = found.verb_rules;
    let speaking = verb_rules
        .iter()
        .enumerate()
        .map(|(place, verb_rule)| (place, verb_rule, &*verb_rule.resolved.rule.packages));
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

fn units(
    found: &mut ObjectClasses<'_>,
    protect: &[&root::Protect],
    budget: &mut Budget,
) -> Result<(), Exhausted> {
    let verb_rules = found.verb_rules;
    let speaking = verb_rules
        .iter()
        .enumerate()
        .map(|(place, verb_rule)| (place, verb_rule, &*verb_rule.resolved.rule.units));
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

/// A request can be undone under the rule of the id that decided it.
fn undos(found: &mut ObjectClasses<'_>) {
    for verb_rule in found.verb_rules {
        let id = &verb_rule.resolved.rule.id;
        let members =
            found.verb_rules.iter().enumerate().filter(|(_, verb_rule)| verb_rule.resolved.rule.id == *id);
        let members = members.map(|(place, _)| place).collect();
        found.add(Some(Object::Undo { rule: id.clone(), least: Decision::Allow }), id, members);
    }
}

fn files(
    verb: VerbId,
    found: &mut ObjectClasses<'_>,
    protect: &[&root::Protect],
    budget: &mut Budget,
) -> Result<(), Exhausted> {
    let verb_rules = found.verb_rules;
    let own = protect.iter().flat_map(|protect| protect.paths.iter().map(String::as_str));
    let starts = protect::DIRECTORIES.iter().copied().chain(own).collect::<Vec<_>>();
    let wholes = protect::FILES.iter().copied().chain(starts.iter().copied()).collect::<Vec<_>>();
    for parent in parents::of(verb_rules, &wholes, budget)? {
        let Parent { path, reaching } = parent;
        if !reaching.iter().any(|place| verb_rules[*place].differs) {
            continue;
        }
        if verb == VerbId::FileList {
            // `file.list` is about the directory, whatever its own name.
            found.add(TargetPath::new(&path).ok().map(Object::read), &path, reaching);
            continue;
        }
        let speaking = reaching.iter().map(|place| {
            let verb_rule = &verb_rules[*place];
            (*place, verb_rule, &*verb_rule.resolved.rule.files)
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

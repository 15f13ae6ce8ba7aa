//! The limits that rules do not share, and the values that tell them apart.

use super::automaton::{Alphabet, Budget, Exhausted, Machine, Star};
use super::probe::{Plan, Probe, is_probed};
use crate::policy::keys::is_limit_of;
use postern_policy::types::{FileMode, PackageVersion, UserName};
use postern_policy::{Object, VerbId};
use postern_proto::root::v1 as root;

/// Versions of packages.
const VERSION: Alphabet = Alphabet {
    letters: b"1023456789.-+~:abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ",
    longest: 128,
};

/// Adds every probe once more with each of the values.
pub fn spread<T>(
    probes: &mut Vec<Probe>,
    key: &'static str,
    values: &[T],
    budget: &mut Budget,
    set: impl Fn(&mut Probe, &T),
) -> Result<(), Exhausted> {
    let plain = probes.len();
    // Each is decided under two policies later, which is far more than a step.
    budget.take(plain.saturating_mul(values.len()).saturating_mul(1000))?;
    for value in values {
        for at in 0..plain {
            let mut probe = probes[at].clone();
            set(&mut probe, value);
            probe.beyond.push(key);
            probes.push(probe);
        }
    }
    Ok(())
}

/// A limit that is on or off.
type Flag = fn(&root::Rule) -> bool;
/// Makes a request go to a limit.
type Set = fn(&mut Probe);
/// A limit that is a list.
type Listed = fn(&root::Rule) -> &Vec<String>;

/// The rules whose limits count.
pub struct Limits<'a> {
    /// Of this verb.
    pub verb: VerbId,
    /// The rules.
    pub rules: &'a [&'a root::Rule],
}

impl Limits<'_> {
    /// Whether the rules differ in a limit that the verb has. Where they do not, all of them hold or none does.
    pub fn vary<T: PartialEq>(&self, key: &str, of: impl Fn(&root::Rule) -> T) -> bool {
        let mut values = self.rules.iter().map(|rule| of(rule));
        let first = values.next();
        is_limit_of(key, self.verb) && values.any(|value| Some(value) != first)
    }

    pub fn plan(&self, object: &Object) -> Plan {
        let has = |key| is_limit_of(key, self.verb);
        match object {
            Object::Package { .. } | Object::AllPackages if has("allow_removals") => {
                let new = u32::from(self.verb == VerbId::PackageInstall);
                Plan::Packages { new, upgrades: false, removals: false, downgrades: false }
            }
            Object::Unit { .. } if has("allow_cascade") => Plan::Unit { cascade: false },
            Object::Unit { .. } if has("journal_lines") => Plan::Journal { lines: 0 },
            Object::File { .. } if has("allow_create") => Plan::File { create: false },
            Object::Nothing
            | Object::Reboot { .. }
            | Object::Package { .. }
            | Object::AllPackages
            | Object::Unit { .. }
            | Object::File { .. }
            | Object::Command { .. }
            | Object::Undo { .. } => Plan::Nothing,
        }
    }

    pub fn versions(&self, probes: &mut Vec<Probe>, budget: &mut Budget) -> Result<(), Exhausted> {
        if !self.vary("versions", |rule| rule.versions.clone()) {
            return Ok(());
        }
        let mut machine = Machine::default();
        for text in self.rules.iter().flat_map(|rule| &rule.versions) {
            machine.add(text, Star::Any, true);
        }
        for digit in '0'..='9' {
            machine.add(&format!("{digit}*"), Star::Any, false);
        }
        let mut versions = Vec::new();
        machine.explore(&VERSION, budget, |text, _| versions.extend(PackageVersion::new(text)))?;
        spread(probes, "versions", &versions, budget, |probe, value| {
            if let Object::Package { version, .. } = &mut probe.object {
                *version = Some(value.clone());
            }
        })
    }

    pub fn transactions(&self, probes: &mut Vec<Probe>, budget: &mut Budget) -> Result<(), Exhausted> {
        // Without a rule that grants new packages, the requested package is counted already.
        let mut counts = vec![0, 1];
        counts.extend(thresholds(self.rules.iter().map(|rule| rule.max_new_packages)));
        counts.sort_unstable();
        counts.dedup();
        counts.retain(|count| *count != u32::from(self.verb == VerbId::PackageInstall));
        let has_none = is_limit_of("max_new_packages", self.verb)
            && self.rules.iter().any(|rule| rule.max_new_packages == 0);
        if self.vary("max_new_packages", |rule| rule.max_new_packages)
            || self.vary("new_packages", |rule| rule.new_packages)
            || has_none
        {
            spread(probes, "max_new_packages", &counts, budget, |probe, count| {
                if let Plan::Packages { new, .. } = &mut probe.plan {
                    *new = *count;
                }
            })?;
        }
        let flags: [(&'static str, Flag, Set); 3] = [
            (
                "allow_upgrades",
                |rule| rule.allow_upgrades,
                |probe| {
                    if let Plan::Packages { upgrades, .. } = &mut probe.plan {
                        *upgrades = true;
                    }
                },
            ),
            (
                "allow_removals",
                |rule| rule.allow_removals,
                |probe| {
                    if let Plan::Packages { removals, .. } = &mut probe.plan {
                        *removals = true;
                    }
                },
            ),
            (
                "allow_downgrades",
                |rule| rule.allow_downgrades,
                |probe| {
                    if let Plan::Packages { downgrades, .. } = &mut probe.plan {
                        *downgrades = true;
                    }
                },
            ),
        ];
        for (key, granted, set) in flags {
            if self.vary(key, granted) {
                spread(probes, key, &[()], budget, |probe, ()| set(probe))?;
            }
        }
        Ok(())
    }

    pub fn files(&self, probes: &mut Vec<Probe>, budget: &mut Budget) -> Result<(), Exhausted> {
        let varied: [(&'static str, Listed); 3] =
            [("modes", |rule| &rule.modes), ("owners", |rule| &rule.owners), ("groups", |rule| &rule.groups)];
        let of = |index: usize| {
            let (key, values): (&'static str, Listed) = varied[index];
            let must = if index == 0 { VerbId::FileSetMode } else { VerbId::FileSetOwner } == self.verb;
            (key, must || self.vary(key, |rule| values(rule).clone()), values)
        };
        let creates = is_limit_of("allow_create", self.verb)
            && (self.vary("allow_create", |rule| rule.allow_create) || (0..3).any(|index| of(index).1));
        let default = ["0644", "root", "root"];
        let asked = |index: usize| {
            let (key, differs, values) = of(index);
            let mut all = self.rules.iter().flat_map(|rule| values(rule).clone()).collect::<Vec<_>>();
            all.sort_unstable();
            all.dedup();
            if !differs {
                // The default of a new file may not be granted; then a granted value is requested.
                let needs = creates && !all.iter().any(|value| value == default[index]);
                all.truncate(usize::from(needs));
            }
            (key, all)
        };
        let (key, modes) = asked(0);
        let modes = modes.iter().filter_map(|text| FileMode::new(text).ok()).collect::<Vec<_>>();
        spread(probes, key, &modes, budget, |probe, value| {
            if let Object::File { mode, .. } = &mut probe.object {
                *mode = Some(*value);
            }
        })?;
        for index in [1, 2] {
            let (key, names) = asked(index);
            let names = names.iter().filter_map(|text| UserName::new("name", text).ok()).collect::<Vec<_>>();
            spread(probes, key, &names, budget, |probe, value| {
                if let Object::File { owner, group, .. } = &mut probe.object {
                    *(if key == "owners" { owner } else { group }) = Some(value.clone());
                }
            })?;
        }
        if self.vary("lines", |rule| (rule.lines.clone(), rule.comments)) {
            let contents = super::lines::contents(self.rules, budget)?;
            spread(probes, "lines", &contents, budget, |probe, value| {
                if let Object::File { bytes, content, .. } = &mut probe.object {
                    *bytes = value.len() as u64;
                    *content = Some(value.as_bytes().into());
                }
            })?;
        }
        if is_probed("max_bytes", self.verb) && self.vary("max_bytes", |rule| rule.max_bytes) {
            let sizes = thresholds(self.rules.iter().map(|rule| rule.max_bytes));
            spread(probes, "max_bytes", &sizes, budget, |probe, value| {
                if let Object::File { bytes, .. } = &mut probe.object {
                    *bytes = *value;
                }
            })?;
        }
        if creates {
            spread(probes, "allow_create", &[()], budget, |probe, ()| {
                probe.plan = Plan::File { create: true }
            })?;
        }
        Ok(())
    }
}

/// One more than each of the numbers but the highest, beyond which no rule holds.
pub fn thresholds<T: Ord + Copy + std::ops::Add<Output = T> + From<u8>>(
    numbers: impl Iterator<Item = T>,
) -> Vec<T> {
    let mut numbers = numbers.collect::<Vec<_>>();
    numbers.sort_unstable();
    numbers.dedup();
    numbers.pop();
    numbers.into_iter().map(|number| number + T::from(1)).collect()
}

//! Requests that tell limits apart: for each limit that rules do not share, one value on either side of each threshold.

use super::automaton::{Alphabet, Budget, Exhausted, Machine, Star};
use super::facet::is_limit_of;
use postern_helper::policy::Object;
use postern_helper::types::{FileMode, PackageVersion, UserName};
use postern_helper::verb_id::VerbId;
use postern_proto::root::v1 as root;

/// Versions of packages.
const VERSION: Alphabet = Alphabet {
    letters: b"1023456789.-+~:abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ",
    longest: 128,
};

/// What would happen beside what the request names.
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
    /// Whether another unit is dragged along.
    Unit {
        /// It is.
        cascade: bool,
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
    /// What would happen beside it.
    pub plan: Plan,
    /// The limits that it goes to, by their keys. Empty: the plainest request.
    pub beyond: Vec<&'static str>,
}

/// Whether [`probes`] tries the values of this limit. The others are compared as they are written.
#[must_use]
pub fn is_probed(key: &str, verb: VerbId) -> bool {
    match key {
        "versions" | "max_new_packages" | "allow_upgrades" | "allow_removals" | "allow_downgrades"
        | "new_packages" | "lines" | "allow_cascade" | "modes" | "owners" | "groups" | "allow_create" => true,
        "max_bytes" => is_limit_of("allow_create", verb),
        _ => false,
    }
}

/// The requests that find out whether these rules grant the same about this object, the plainest first.
///
/// # Errors
/// There are too many for the budget.
pub fn probes(
    verb: VerbId,
    object: &Object,
    rules: &[&root::Rule],
    budget: &mut Budget,
) -> Result<Vec<Probe>, Exhausted> {
    let limits = Limits { verb, rules };
    let first = Probe { object: object.clone(), plan: limits.plan(object), beyond: Vec::new() };
    let mut probes = vec![first];
    match object {
        Object::Nothing | Object::Command { .. } | Object::Undo { .. } => {}
        Object::Package { .. } | Object::AllPackages => {
            limits.versions(&mut probes, budget)?;
            limits.transactions(&mut probes, budget)?;
        }
        Object::Unit(_) => {
            if limits.vary("allow_cascade", |rule| rule.allow_cascade) {
                spread(&mut probes, "allow_cascade", &[true], budget, |probe, cascade| {
                    probe.plan = Plan::Unit { cascade: *cascade };
                })?;
            }
        }
        Object::File { .. } => limits.files(&mut probes, budget)?,
    }
    probes.retain(|probe| is_request(verb, &probe.object));
    probes.sort_by_key(|probe| probe.beyond.len());
    Ok(probes)
}

impl Probe {
    /// What would happen beside what the request names; nothing, if that is all there is to say.
    #[must_use]
    pub fn told(&self) -> Plan {
        match &self.plan {
            Plan::Unit { cascade: false } | Plan::File { create: false } => Plan::Nothing,
            plan => plan.clone(),
        }
    }
}

/// Whether the request names what its verb is about.
fn is_request(verb: VerbId, object: &Object) -> bool {
    match object {
        Object::File { mode: None, .. } if verb == VerbId::FileSetMode => false,
        Object::File { owner: None, group: None, .. } if verb == VerbId::FileSetOwner => false,
        Object::Nothing
        | Object::Package { .. }
        | Object::AllPackages
        | Object::Unit(_)
        | Object::File { .. }
        | Object::Command { .. }
        | Object::Undo { .. } => true,
    }
}

/// Adds every probe once more with each of the values.
fn spread<T>(
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

struct Limits<'a> {
    verb: VerbId,
    rules: &'a [&'a root::Rule],
}

impl Limits<'_> {
    /// Whether the rules differ in a limit that the verb has. Where they do not, all of them hold or none does.
    fn vary<T: PartialEq>(&self, key: &str, of: impl Fn(&root::Rule) -> T) -> bool {
        let mut values = self.rules.iter().map(|rule| of(rule));
        let first = values.next();
        is_limit_of(key, self.verb) && values.any(|value| Some(value) != first)
    }

    fn plan(&self, object: &Object) -> Plan {
        let has = |key| is_limit_of(key, self.verb);
        match object {
            Object::Package { .. } | Object::AllPackages if has("allow_removals") => {
                let new = u32::from(self.verb == VerbId::PackageInstall);
                Plan::Packages { new, upgrades: false, removals: false, downgrades: false }
            }
            Object::Unit(_) if has("allow_cascade") => Plan::Unit { cascade: false },
            Object::File { .. } if has("allow_create") => Plan::File { create: false },
            Object::Nothing
            | Object::Package { .. }
            | Object::AllPackages
            | Object::Unit(_)
            | Object::File { .. }
            | Object::Command { .. }
            | Object::Undo { .. } => Plan::Nothing,
        }
    }

    fn versions(&self, probes: &mut Vec<Probe>, budget: &mut Budget) -> Result<(), Exhausted> {
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

    fn transactions(&self, probes: &mut Vec<Probe>, budget: &mut Budget) -> Result<(), Exhausted> {
        // Where no rule grants a new package, the one asked for stands there already.
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
        let flags: [(&'static str, fn(&root::Rule) -> bool, fn(&mut Probe)); 3] = [
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

    fn files(&self, probes: &mut Vec<Probe>, budget: &mut Budget) -> Result<(), Exhausted> {
        let varied: [(&'static str, fn(&root::Rule) -> &Vec<String>); 3] =
            [("modes", |rule| &rule.modes), ("owners", |rule| &rule.owners), ("groups", |rule| &rule.groups)];
        let of = |index: usize| {
            let (key, values): (&'static str, fn(&root::Rule) -> &Vec<String>) = varied[index];
            let must = if index == 0 { VerbId::FileSetMode } else { VerbId::FileSetOwner } == self.verb;
            (key, must || self.vary(key, |rule| values(rule).clone()), values)
        };
        let creates = is_limit_of("allow_create", self.verb)
            && (self.vary("allow_create", |rule| rule.allow_create) || (0..3).any(|index| of(index).1));
        let default = ["0644", "root", "root"];
        let asked = |index: usize| {
            let (key, varies, values) = of(index);
            let mut all = self.rules.iter().flat_map(|rule| values(rule).clone()).collect::<Vec<_>>();
            all.sort_unstable();
            all.dedup();
            if !varies {
                // What a new file gets by itself may not be granted; something that is must be asked for then.
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
        if self.vary("lines", |rule| rule.lines.clone()) {
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
fn thresholds<T: Ord + Copy + std::ops::Add<Output = T> + From<u8>>(
    numbers: impl Iterator<Item = T>,
) -> Vec<T> {
    let mut numbers = numbers.collect::<Vec<_>>();
    numbers.sort_unstable();
    numbers.dedup();
    numbers.pop();
    numbers.into_iter().map(|number| number + T::from(1)).collect()
}

//! Classes of objects: the same rules select all objects of a class.

use super::verb_rule::VerbRule;
use postern_policy::Object;
use std::collections::HashMap;

/// Most examples of one class, and of one effect.
pub const EXAMPLES_MAX: usize = 5;
/// Patterns that no valid name of a package matches: they tell names apart that all other patterns treat alike.
pub const PACKAGE_RULES: [&str; 4] = ["+*", ".*", "-*", "*-"];
/// The same for names of units.
pub const UNIT_RULES: [&str; 5] = ["-*", ".*", "@*", "*@*@*", "*..*"];

/// Objects that the same rules select, all of one verb.
#[derive(Debug)]
pub struct ObjectClass {
    /// One of them, with nothing asked for beyond its name.
    pub object: Object,
    /// The rules that select it: indices in the list of [`VerbRule`]s.
    pub members: Vec<usize>,
}

/// The classes that were found so far.
pub struct ObjectClasses<'a> {
    /// The rules that are compared.
    pub verb_rules: &'a [VerbRule<'a>],
    /// How many objects were kept for each set of rules.
    seen: HashMap<(Vec<usize>, String), usize>,
    /// The classes.
    pub classes: Vec<ObjectClass>,
}

impl<'a> ObjectClasses<'a> {
    /// No class yet.
    #[must_use]
    pub fn new(verb_rules: &'a [VerbRule<'a>]) -> Self {
        Self { verb_rules, seen: HashMap::new(), classes: Vec::new() }
    }

    /// Keeps the first objects of a class: one would do, more of them make better examples. `apart` says what else
    /// tells objects apart.
    pub fn add(&mut self, object: Option<Object>, apart: &str, members: Vec<usize>) {
        let Some(object) = object else {
            return;
        };
        if members.iter().all(|place| !self.verb_rules[*place].differs) {
            return;
        }
        let kept = self.seen.entry((members.clone(), apart.to_owned())).or_default();
        if *kept < EXAMPLES_MAX {
            *kept += 1;
            self.classes.push(ObjectClass { object, members });
        }
    }
}

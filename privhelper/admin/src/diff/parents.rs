//! Directories as rules see them: which rules reach the files right in one, each set of rules with a short directory.

use super::automaton::{Budget, Exhausted};
use super::verb_rule::VerbRule;
use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};

/// A directory, and the rules that reach the files right in it.
#[derive(Debug)]
pub struct Parent {
    /// Without a final `/`.
    pub path: String,
    /// Indices in the list of [`VerbRule`]s.
    pub reaching: Vec<usize>,
}

/// For each rule how many levels it still reaches from here.
type Reach = BTreeMap<usize, u32>;

/// All sets of rules that reach into the same directory. `protected` are paths that are protected, or beginnings of
/// such: directories above and below them are distinguished from others.
///
/// # Errors
/// There are too many for the budget.
pub fn of(
    verb_rules: &[VerbRule<'_>],
    protected: &[&str],
    budget: &mut Budget,
) -> Result<Vec<Parent>, Exhausted> {
    let tree = Tree::new(verb_rules, protected);
    let mut seen = HashSet::new();
    let mut parents = Vec::new();
    let mut emit = |path: &str, reach: &Reach| {
        let reaching = reach.keys().copied().collect::<Vec<_>>();
        let inside = format!("{path}/");
        let near = |start: &&&str| inside.starts_with(**start) || start.starts_with(&inside);
        let apart = protected.iter().filter(near).copied().collect::<Vec<_>>();
        let is_start = protected.iter().any(|start| start.trim_end_matches('/') == path);
        if !reaching.is_empty() && seen.insert((reaching.clone(), apart, is_start)) {
            parents.push(Parent { path: path.to_owned(), reaching });
        }
    };
    let mut queue = VecDeque::from([(String::new(), Reach::new())]);
    while let Some((mut path, mut reach)) = queue.pop_front() {
        for (place, depth) in tree.rules.get(&path).into_iter().flatten() {
            let levels = reach.entry(*place).or_default();
            *levels = (*levels).max(*depth);
        }
        budget.take(reach.len() + protected.len())?;
        emit(&path, &reach);
        for child in tree.children.get(&path).into_iter().flatten() {
            let next = if child.starts_with('.') { Reach::new() } else { below(&reach) };
            queue.push_back((format!("{path}/{child}"), next));
        }
        // Below a directory that nobody names only the depth counts.
        let mut fresh = below(&reach);
        if fresh.is_empty() {
            continue;
        }
        path = tree.fresh(&path, protected).ok_or(Exhausted)?;
        while !fresh.is_empty() {
            budget.take(fresh.len() + protected.len())?;
            emit(&path, &fresh);
            fresh = below(&fresh);
            path.push_str("/x");
        }
    }
    Ok(parents)
}

fn below(reach: &Reach) -> Reach {
    reach.iter().filter(|(_, levels)| **levels > 1).map(|(place, levels)| (*place, levels - 1)).collect()
}

/// The directories that are named anywhere, with all that lie above them.
#[derive(Default)]
struct Tree {
    children: BTreeMap<String, BTreeSet<String>>,
    rules: BTreeMap<String, Vec<(usize, u32)>>,
}

impl Tree {
    fn new(verb_rules: &[VerbRule<'_>], protected: &[&str]) -> Self {
        let mut tree = Self::default();
        for (place, verb_rule) in verb_rules.iter().enumerate() {
            for directory in &verb_rule.resolved.rule.directories {
                tree.add(directory);
                tree.rules.entry(directory.clone()).or_default().push((place, verb_rule.resolved.rule.depth));
            }
        }
        if !tree.rules.is_empty() {
            for path in protected {
                tree.add(path);
            }
        }
        tree
    }

    fn add(&mut self, directory: &str) {
        let mut path = String::new();
        for name in directory.split('/').filter(|name| !name.is_empty()) {
            self.children.entry(path.clone()).or_default().insert(name.to_owned());
            path = format!("{path}/{name}");
        }
    }

    /// A directory right in this one that nobody names and that is not protected for itself.
    fn fresh(&self, path: &str, protected: &[&str]) -> Option<String> {
        let is_free = |name: &String| {
            let whole = format!("{path}/{name}/");
            let is_named = self.children.get(path).is_some_and(|children| children.contains(name));
            !is_named
                && !protected.iter().any(|start| start.len() > path.len() + 1 && whole.starts_with(start))
        };
        let letters = || ('a'..='z').rev();
        let mut names = ["x".to_owned()]
            .into_iter()
            .chain(letters().map(String::from))
            .chain(letters().flat_map(|letter| (0..1000).map(move |number| format!("{letter}{number}"))));
        names.find(is_free).map(|name| format!("{path}/{name}"))
    }
}

//! Contents that tell apart which rules grant all of their lines.

use super::automaton::{Alphabet, Budget, Exhausted, MARK, Machine, Star};
use postern_policy::is_comment;
use postern_proto::root::v1 as root;
use std::collections::BTreeSet;

/// Lines: printable ASCII.
const LINE: Alphabet = Alphabet {
    letters:
        b"xabcdefghijklmnopqrstuvwyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+.,:;@#%=~!$&'()\"<>^`|* {}[]?/\\",
    longest: 4096,
};

/// For each set of rules that can be just those that grant some content, such a content.
///
/// # Errors
/// There are too many for the budget.
pub fn contents(rules: &[&root::Rule], budget: &mut Budget) -> Result<Vec<String>, Exhausted> {
    let mut machine = Machine::default();
    let patterns = rules.iter().map(|rule| {
        rule.lines.iter().map(|text| machine.add(text, Star::Any, true)).collect::<BTreeSet<_>>()
    });
    let patterns = patterns.collect::<Vec<_>>();
    machine.add("*", Star::Any, true);
    // A blank line passes everywhere, and one with a last backslash nowhere.
    let mark = machine.add(&format!("*{MARK}*"), Star::Any, false);
    let joins = machine.add("*\\", Star::Any, false);
    if rules.iter().any(|rule| rule.comments) {
        for text in ["#", "# *", "##*", " #", " # *", " ##*"] {
            machine.add(text, Star::Any, false);
        }
    }
    let mut known: Vec<(BTreeSet<usize>, String)> = Vec::new();
    machine.explore(&LINE, budget, |line, matched| {
        let grants = (0..rules.len()).filter(|place| {
            let rule = rules[*place];
            rule.lines.is_empty()
                || (rule.comments && is_comment(line))
                || matched.iter().any(|id| patterns[*place].contains(id))
        });
        let grants = grants.collect::<BTreeSet<_>>();
        let is_line = matched.contains(&mark) && !matched.contains(&joins);
        if is_line && !known.iter().any(|(set, _)| *set == grants) {
            known.push((grants, line.to_owned()));
        }
    })?;
    // Content of several lines is granted by the rules that grant each of them.
    let mut at = 0;
    while at < known.len() {
        for other in 0..at {
            budget.take(known.len() * 100)?;
            let both = known[at].0.intersection(&known[other].0).copied().collect::<BTreeSet<_>>();
            if !known.iter().any(|(set, _)| *set == both) {
                let text = format!("{}\n{}", known[other].1, known[at].1);
                known.push((both, text));
            }
        }
        at += 1;
    }
    Ok(known.into_iter().map(|(_, text)| text).collect())
}

//! Units and packages that amount to root by their name.

use super::glob::{Star, meet};
use super::grant::{Grant, LintFinding, shorten};
use super::table::{Direction, Names};
use postern_policy::VerbId;

/// The verbs of one direction, with the word for them.
pub(super) struct VerbGroup {
    pub(super) direction: Direction,
    pub(super) verbs: &'static [VerbId],
    pub(super) word: &'static str,
}

/// Every row of the table that a name or pattern of the rule meets.
pub(super) fn check(
    rule: &Grant<'_>,
    granted: &[String],
    star: Star,
    (table, groups): (&'static [Names], &[VerbGroup]),
    found: &mut Vec<LintFinding>,
) {
    for row in table {
        let Some(group) =
            groups.iter().find(|group| group.direction == row.direction && rule.has_verb(group.verbs))
        else {
            continue;
        };
        let such_as =
            |name: &String| row.patterns().find_map(|entry| meet(name, star, entry, Star::Anything));
        let hits: Vec<_> = granted.iter().filter_map(|name| Some((name, such_as(name)?))).collect();
        if let Some((first, _)) = hits.first() {
            let shown: Vec<_> = hits.iter().map(|(name, example)| show(name, example)).collect();
            let what = format!("{} {}", group.word, shorten(&shown));
            found.push(rule.finding(row.id, row.class, first, &what, row.how));
        }
    }
}

/// The granted name, with an example if it is a pattern.
fn show(granted: &str, example: &str) -> String {
    if granted.contains('*') { format!("{granted} (such as {example})") } else { granted.to_owned() }
}

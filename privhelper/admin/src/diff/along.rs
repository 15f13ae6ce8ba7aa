//! Side effects of deny rules: an object that they name must not change as a side effect of another request
//! either. The host decides which packages and units depend on each other, so the change is shown without an example.

use postern_proto::root::v1 as root;
use std::collections::BTreeSet;

/// How rules name one kind of object.
struct Kind {
    /// For people.
    word: &'static str,
    /// The patterns of a rule.
    patterns: fn(&root::Rule) -> &[String],
    /// Whether more than what is named may change under a rule.
    drags: fn(&root::Rule) -> bool,
}

const KINDS: [Kind; 2] = [
    Kind {
        word: "packages",
        patterns: |rule| &rule.packages,
        drags: |rule| {
            rule.max_new_packages > 0 || rule.allow_upgrades || rule.allow_removals || rule.allow_downgrades
        },
    },
    // A start of another unit needs no `allow_cascade`, so that every change may affect other units.
    Kind {
        word: "units",
        patterns: |rule| &rule.units,
        drags: |rule| rule.verbs.iter().any(|verb| verb != "unit.status"),
    },
];

/// One line for each client and kind whose deny rules name other things, where a rule lets such things come along.
#[must_use]
pub fn changes(old: &root::Rules, new: &root::Rules) -> Vec<String> {
    let clients = |rules: &root::Rules| rules.clients.iter().map(|c| c.name.clone()).collect::<BTreeSet<_>>();
    let mut lines = Vec::new();
    for client in &clients(old) | &clients(new) {
        for kind in &KINDS {
            let drags = [old, new].iter().any(|rules| {
                let own =
                    |rule: &&root::Rule| rule.client == client && rule.decision() != root::Decision::Deny;
                rules
                    .rules
                    .iter()
                    .filter(own)
                    .any(|rule| !(kind.patterns)(rule).is_empty() && (kind.drags)(rule))
            });
            let (before, after) = (denied(old, &client, kind), denied(new, &client, kind));
            if drags && before != after {
                let gone = before.difference(&after).map(|name| format!("-{name}"));
                let come = after.difference(&before).map(|name| format!("+{name}"));
                let names = gone.chain(come).collect::<Vec<_>>().join(" ");
                let word = kind.word;
                lines.push(format!(
                    "~ the {word} that may not come along with what {client} changes: {names}"
                ));
            }
        }
    }
    lines
}

/// Verb and pattern of everything of this kind that the client is denied.
fn denied(rules: &root::Rules, client: &str, kind: &Kind) -> BTreeSet<String> {
    let is_own = |rule: &&root::Rule| rule.client == client && rule.decision() == root::Decision::Deny;
    let each = rules.rules.iter().filter(is_own).flat_map(|rule| {
        rule.verbs.iter().flat_map(move |verb| {
            (kind.patterns)(rule).iter().map(move |pattern| format!("{verb}:{pattern}"))
        })
    });
    each.collect()
}

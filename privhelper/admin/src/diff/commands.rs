//! Commands of the policy with what can be given for their parameters.

use super::automaton::{Alphabet, Budget, Exhausted, Machine, Star};
use super::class::{ObjectClasses, PACKAGE_RULES, UNIT_RULES};
use super::verb_rule::VerbRule;
use postern_policy::Object;
use postern_policy::types::{Arguments, CommandName, ParameterKind, Pattern, UNIT_SUFFIXES};
use postern_proto::root::v1 as root;
use std::collections::{BTreeMap, BTreeSet};

/// Values: printable ASCII, and blanks.
const VALUE: Alphabet = Alphabet {
    letters:
        b"x1abcdefghijklmnopqrstuvwyzABCDEFGHIJKLMNOPQRSTUVWXYZ023456789_-+.,:;@#%=~!$&'()\"<>^`|*{}[]?/\\ ",
    longest: 4096,
};
/// Values of each kind that has no list or patterns: one that is small, and one that is not.
const SAMPLES: [&str; 14] = [
    "1",
    "x",
    "512M",
    "8080",
    "UTC",
    "Europe/Berlin",
    "a.example",
    "192.0.2.1",
    "192.0.2.0/24",
    "2001:db8::1",
    "2001:db8::/32",
    "xx",
    "0",
    "www.a.example",
];

/// Adds what can be asked of every command that one of the policies defines.
///
/// # Errors
/// The patterns are too many for the budget, or a parameter's kind is none of those that patterns can be proven for.
pub(super) fn add(
    found: &mut ObjectClasses<'_>,
    defined: [&[root::Command]; 2],
    budget: &mut Budget,
) -> Result<(), Exhausted> {
    let names = defined.iter().flat_map(|commands| commands.iter().map(|command| command.name.as_str()));
    for name in names.collect::<BTreeSet<_>>() {
        let verb_rules = found.verb_rules;
        let is_named = |verb_rule: &VerbRule<'_>| matches_one(&verb_rule.resolved.rule.commands, name);
        let speaking =
            (0..verb_rules.len()).filter(|place| is_named(&verb_rules[*place])).collect::<Vec<_>>();
        if speaking.iter().all(|place| !verb_rules[*place].differs) {
            continue;
        }
        for commands in defined {
            let command = commands.iter().find(|command| command.name == name);
            let Some(command) = command else {
                continue;
            };
            let mut sets = vec![Vec::new()];
            for parameter in &command.parameters {
                let grants = speaking.iter().map(|place| grant(&verb_rules[*place], &parameter.name));
                let values = values(parameter, &grants.collect::<Vec<_>>(), budget)?;
                budget.take(sets.len() * values.len() * 100)?;
                let with = |set: &Vec<(String, String)>, value: &String| {
                    let pair = (parameter.name.clone(), value.clone());
                    set.iter().cloned().chain([pair]).collect::<Vec<_>>()
                };
                sets = sets.iter().flat_map(|set| values.iter().map(move |value| with(set, value))).collect();
            }
            for set in sets {
                let admits = |verb_rule: &VerbRule<'_>| {
                    verb_rule.resolved.rule.parameters.iter().all(|grant| {
                        let value = set.iter().find(|(name, _)| *name == grant.name);
                        value.is_some_and(|(_, value)| matches_one(&grant.patterns, value))
                    })
                };
                let members = speaking.iter().copied().filter(|place| admits(&verb_rules[*place])).collect();
                let call = CommandName::new(name).ok().zip(Arguments::new(set).ok());
                found.add(call.map(|(name, arguments)| Object::Command { name, arguments }), name, members);
            }
        }
    }
    Ok(())
}

fn matches_one(patterns: &[String], text: &str) -> bool {
    let is_like = |pattern: &String| Pattern::of_text(pattern).is_ok_and(|pattern| pattern.matches(text));
    patterns.iter().any(is_like)
}

/// The patterns of a rule for a parameter; none = any value.
fn grant<'a>(verb_rule: &VerbRule<'a>, parameter: &str) -> Option<&'a [String]> {
    let grants = &verb_rule.resolved.rule.parameters;
    grants.iter().find(|grant| grant.name == parameter).map(|grant| &*grant.patterns)
}

/// Values of the parameter, one for each set of grants that can admit the same value.
fn values(
    parameter: &root::Parameter,
    grants: &[Option<&[String]>],
    budget: &mut Budget,
) -> Result<Vec<String>, Exhausted> {
    use root::ParameterKind as Kind;
    let Ok(kind) = ParameterKind::new(parameter) else {
        return Ok(Vec::new());
    };
    let is_value = |value: &str| kind.admits(value) && Arguments::is_value(value);
    let mut machine = Machine::default();
    let mut patterns_of = |texts: Option<&[String]>| {
        let texts = texts.into_iter().flatten();
        texts.map(|text| machine.add(text, Star::NotSlash, true)).collect::<Vec<_>>()
    };
    let granting = grants.iter().copied().map(&mut patterns_of).collect::<Vec<_>>();
    let star = if parameter.kind() == Kind::Unit { Star::NotAt } else { Star::NotSlash };
    let has_patterns = matches!(parameter.kind(), Kind::Text | Kind::Package | Kind::Unit);
    let texts = parameter.values.iter().filter(|_| has_patterns);
    let admitting = texts.map(|text| machine.add(text, star, true)).collect::<Vec<_>>();
    let mut apart = |text: &str| machine.add(text, Star::Any, false);
    // Patterns that no valid value matches.
    let refusing = match parameter.kind() {
        Kind::Package => PACKAGE_RULES.map(&mut apart).to_vec(),
        Kind::Unit => UNIT_RULES.map(&mut apart).to_vec(),
        _ => ["-*", "@*", "+*"].map(&mut apart).to_vec(),
    };
    if parameter.kind() == Kind::Unit {
        for suffix in UNIT_SUFFIXES {
            apart(&format!("*{suffix}"));
            apart(&format!("*@{suffix}"));
        }
    }
    let mut found = Vec::new();
    // Patterns of which it is open whether a value like them is admitted.
    let mut open = BTreeSet::new();
    machine.explore(&VALUE, budget, |value, matched| {
        let is_none_of_all_like_it = matched.iter().any(|id| refusing.contains(id))
            || (has_patterns && !matched.iter().any(|id| admitting.contains(id)));
        if !is_none_of_all_like_it && !is_value(value) {
            open.extend(matched.iter().copied());
        }
        found.push(value.to_owned());
    })?;
    let paths = parameter.directories.iter().flat_map(|directory| {
        parameter.files.iter().map(move |file| format!("{directory}/{}", file.replace('*', "x")))
    });
    let numbers = [parameter.min, parameter.max].map(|number| number.to_string());
    let networks = parameter
        .within
        .iter()
        .flat_map(|network| [network.clone(), network.split('/').next().unwrap_or_default().to_owned()]);
    let listed = parameter.values.iter().cloned().chain(numbers).chain(paths).chain(networks);
    found.extend(listed.chain(SAMPLES.iter().map(|text| (*text).to_owned())));
    found.retain(|value| is_value(value));
    // One value for each set of grants is enough.
    let mut sets = BTreeMap::new();
    for value in found {
        let set = grants.iter().map(|grant| grant.is_none_or(|texts| matches_one(texts, &value)));
        sets.entry(set.collect::<Vec<_>>()).or_insert(value);
    }
    let is_proven = match parameter.kind() {
        Kind::Enum | Kind::Text | Kind::Package | Kind::Unit | Kind::Secret => true,
        // Whether a value of such a kind matches just these patterns is not worked out: they must not differ.
        Kind::Int
        | Kind::Size
        | Kind::Name
        | Kind::User
        | Kind::Group
        | Kind::Hostname
        | Kind::Domain
        | Kind::Ip
        | Kind::Cidr
        | Kind::Port
        | Kind::Timezone
        | Kind::Path
        | Kind::Unspecified => grants.iter().all(|grant| *grant == grants[0]),
    };
    // A grant without a value leaves its rule out of every class: it must be one that admits nothing.
    let is_found = |place: usize| sets.keys().any(|set: &Vec<bool>| set[place]);
    let is_empty =
        |place: usize| parameter.kind() == Kind::Enum || !granting[place].iter().any(|id| open.contains(id));
    let is_proven = is_proven && (0..grants.len()).all(|place| is_found(place) || is_empty(place));
    if is_proven { Ok(sets.into_values().collect()) } else { Err(Exhausted) }
}

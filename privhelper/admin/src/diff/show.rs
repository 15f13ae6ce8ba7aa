//! The difference for people.

use super::effect::{Effect, EffectChange};
use super::evaluate::{Outcome, Verdict};
use super::probe::Probe;
use super::report::Report;
use super::side::{Identity, Principal, Side, Which};
use crate::text::escape;
use postern_proto::root::v1 as root;

/// The difference as lines, and a last line that says whether there is one.
#[must_use]
pub fn text(report: &Report, old: Side<'_>, new: Side<'_>) -> String {
    let mut lines = report.written.iter().map(ToString::to_string).collect::<Vec<_>>();
    for (which, who) in &report.clients {
        lines.push(match which {
            Which::New => format!("+ {who} is a client now"),
            Which::Old => format!("- {who} is not a client any more"),
        });
    }
    lines.extend(report.effects.iter().flat_map(|effect| entry(effect, old, new)));
    let is_table = |text: &&String| text.contains(" [");
    lines.extend(report.general.iter().filter(|text| !is_table(text)).cloned());
    for unproven in &report.unproven {
        lines.push(format!("! {}: {}; there may be more than is shown", unproven.verb.name(), unproven.why));
    }
    lines.push(summary(report));
    lines.iter().map(|line| escape(line) + "\n").collect()
}

/// One line that says how much differs.
#[must_use]
pub fn summary(report: &Report) -> String {
    let number =
        |is: fn(&EffectChange) -> bool| report.effects.iter().filter(|effect| is(&effect.change)).count();
    let numbers = [
        (number(|change| matches!(change, EffectChange::Allowed)), "newly allowed"),
        (number(|change| matches!(change, EffectChange::Asks)), "newly asking"),
        (number(|change| matches!(change, EffectChange::Refused)), "newly refused"),
        (number(|change| matches!(change, EffectChange::Changed(_))), "granted otherwise"),
        (report.clients.len() + report.general.len(), "other"),
    ];
    if numbers.iter().any(|(number, _)| *number > 0) {
        let told = numbers.iter().filter(|(number, _)| *number > 0);
        return told.map(|(number, what)| format!("{number} {what}")).collect::<Vec<_>>().join(", ");
    }
    if !report.unproven.is_empty() {
        "no change found, and none ruled out".to_owned()
    } else if report.written.is_empty() {
        "no change: both policies are the same".to_owned()
    } else {
        "no change in effect: only the text differs".to_owned()
    }
}

fn entry(effect: &Effect, old: Side<'_>, new: Side<'_>) -> Vec<String> {
    let verbs = effect.verbs.iter().map(|verb| verb.name()).collect::<Vec<_>>().join(", ");
    let request = effect.examples.first().map_or_else(String::new, Probe::describe);
    let who = whom(&effect.who, old, new);
    let sign = match effect.change {
        EffectChange::Allowed => "+ allowed",
        EffectChange::Asks => "? asks   ",
        EffectChange::Refused => "- refused",
        EffectChange::Changed(_) => "~ granted",
    };
    let (before, after) = (&effect.old, &effect.new);
    let why = match &effect.change {
        EffectChange::Allowed | EffectChange::Asks => {
            format!("by rule {}{}", ruled(after, new), was(before, old))
        }
        EffectChange::Refused => {
            let now = if after.message.is_empty() {
                if after.rule.is_empty() {
                    "no rule grants it".to_owned()
                } else {
                    format!("by rule {}", ruled(after, new))
                }
            } else {
                after.message.clone()
            };
            format!("{now}{}", was(before, old))
        }
        EffectChange::Changed(keys) => {
            let other = if before.rule == after.rule {
                String::new()
            } else {
                format!(", before by {}", ruled(before, old))
            };
            format!("by rule {}{other}: {}", ruled(after, new), keys.join("; "))
        }
    };
    let space = if request.is_empty() { "" } else { " " };
    let mut lines = vec![format!("{sign}  {verbs}{space}{request} ({who})   {why}")];
    let others = effect.examples.iter().skip(1).map(Probe::describe).collect::<Vec<_>>();
    if !others.is_empty() {
        lines.push(format!("           also {}", others.join(" | ")));
    }
    lines
}

fn was(before: &Outcome, side: Side<'_>) -> String {
    match before.verdict {
        Verdict::Allowed => format!("; was allowed by rule {}", ruled(before, side)),
        Verdict::Asks => format!("; asked by rule {}", ruled(before, side)),
        Verdict::Refused if !before.rule.is_empty() => {
            format!("; was refused by rule {}", ruled(before, side))
        }
        Verdict::Refused if !before.message.is_empty() => format!("; was refused: {}", before.message),
        Verdict::Refused => String::new(),
    }
}

/// A rule's id with its file and line.
fn ruled(outcome: &Outcome, side: Side<'_>) -> String {
    match position(outcome, side) {
        Some(position) => format!("{} ({}:{})", outcome.rule, position.file, position.line),
        None => outcome.rule.clone(),
    }
}

pub(super) fn position<'a>(outcome: &Outcome, side: Side<'a>) -> Option<&'a root::Position> {
    let place = side.rules.rules.iter().position(|rule| rule.id == outcome.rule)?;
    side.positions.get(place)
}

/// The clients that someone is, by name where one of the policies names them.
pub(super) fn whom(who: &Principal, old: Side<'_>, new: Side<'_>) -> String {
    let name = |who: &Identity| {
        let clients = new.rules.clients.iter().chain(&old.rules.clients);
        let mut names = clients.filter(|client| Identity::of(client) == *who);
        names.next().map_or_else(|| who.to_string(), |client| client.name.clone())
    };
    who.iter().map(name).collect::<Vec<_>>().join(" and ")
}

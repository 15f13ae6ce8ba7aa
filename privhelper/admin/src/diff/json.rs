//! The difference for programs, with stable names.

use super::effect::EffectChange;
use super::evaluate::{Outcome, Verdict};
use super::probe::{Plan, Probe};
use super::report::Report;
use super::show::{position, summary, whom};
use super::side::{Identity, Side, Which};
use postern_policy::Object;
use serde_json::{Map, Value, json};

/// The difference as one object.
#[must_use]
pub fn json(report: &Report, old: Side<'_>, new: Side<'_>) -> Value {
    let clients = report.clients.iter().map(|(which, who)| {
        let change = if *which == Which::New { "added" } else { "removed" };
        json!({ "change": change, "client": identity(who) })
    });
    let effects = report.effects.iter().map(|effect| {
        let mut entry = Map::new();
        let (change, keys) = match &effect.change {
            EffectChange::Allowed => ("allowed", &[][..]),
            EffectChange::Asks => ("asks", &[][..]),
            EffectChange::Refused => ("refused", &[][..]),
            EffectChange::Changed(keys) => ("changed", &keys[..]),
        };
        entry.insert("change".to_owned(), change.into());
        entry.insert("verbs".to_owned(), effect.verbs.iter().map(|verb| verb.name()).collect());
        entry.insert("client".to_owned(), whom(&effect.who, old, new).into());
        entry.insert("who".to_owned(), effect.who.iter().map(identity).collect());
        entry.insert("examples".to_owned(), effect.examples.iter().map(request).collect());
        entry.insert("old".to_owned(), outcome(&effect.old, old));
        entry.insert("new".to_owned(), outcome(&effect.new, new));
        if !keys.is_empty() {
            entry.insert("keys".to_owned(), keys.into());
        }
        Value::Object(entry)
    });
    json!({
        "v": 1,
        "proven": report.unproven.is_empty(),
        "changed": report.is_change(),
        "clients": clients.collect::<Vec<_>>(),
        "effects": effects.collect::<Vec<_>>(),
        "general": report.general,
        "written": report.written.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "unproven": report.unproven.iter().map(|u| json!({ "verb": u.verb.name(), "why": u.why })).collect::<Vec<_>>(),
        "summary": summary(report),
    })
}

fn identity(who: &Identity) -> Value {
    match who {
        Identity::User(name) => json!({ "user": name }),
        Identity::Group(name) => json!({ "group": name }),
    }
}

fn outcome(outcome: &Outcome, side: Side<'_>) -> Value {
    let mut entry = Map::new();
    let mut put = |key: &str, value: Value| drop(entry.insert(key.to_owned(), value));
    put(
        "verdict",
        match outcome.verdict {
            Verdict::Refused => "refused",
            Verdict::Asks => "asks",
            Verdict::Allowed => "allowed",
        }
        .into(),
    );
    for (key, text) in [("code", outcome.code), ("message", &*outcome.message), ("rule", &*outcome.rule)] {
        if !text.is_empty() {
            put(key, text.into());
        }
    }
    if let Some(position) = position(outcome, side) {
        put("file", position.file.clone().into());
        put("line", position.line.into());
    }
    Value::Object(entry)
}

/// A request in the keys that examples in a policy have, and what it would come to.
fn request(probe: &Probe) -> Value {
    let mut entry = Map::new();
    let mut put = |key: &str, value: Value| drop(entry.insert(key.to_owned(), value));
    match &probe.object {
        Object::Nothing | Object::Reboot { .. } => {}
        Object::AllPackages => put("all", true.into()),
        Object::Undo { rule, .. } => put("undo_of_rule", rule.as_str().into()),
        Object::Command { name, arguments } => {
            put("command", name.as_str().into());
            let values = arguments.iter().map(|(name, value)| (name.to_owned(), value.into()));
            put("params", Value::Object(values.collect()));
        }
        Object::Package { name, version } => {
            put("packages", json!([name.as_str()]));
            if let Some(version) = version {
                put("version", version.as_str().into());
            }
        }
        Object::Unit { name, .. } => put("unit", name.as_str().into()),
        Object::File { path, bytes, content, mode, owner, group } => {
            put("path", path.as_str().into());
            if let Some(mode) = mode {
                put("mode", mode.to_string().into());
            }
            if let Some(owner) = owner {
                put("owner", owner.as_str().into());
            }
            if let Some(group) = group {
                put("group", group.as_str().into());
            }
            if let Some(content) = content {
                put("content", String::from_utf8_lossy(content).into());
            } else if *bytes > 0 {
                put("bytes", (*bytes).into());
            }
        }
    }
    match &probe.visible_plan() {
        Plan::Nothing => {}
        Plan::Packages { new, upgrades, removals, downgrades } => put(
            "plan",
            json!({ "new_packages": new, "upgrades": upgrades, "removals": removals, "downgrades": downgrades }),
        ),
        Plan::Unit { cascade } => put("plan", json!({ "cascade": cascade })),
        Plan::Journal { lines } => put("plan", json!({ "journal_lines": lines })),
        Plan::File { create } => put("plan", json!({ "create": create })),
    }
    Value::Object(entry)
}

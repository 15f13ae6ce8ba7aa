//! Rules as grants: what a client may do, how far, at what risk, and how often it did.

use super::idle::{is_idle, unused};
use super::model::{AcceptedRisk, Client, Command, Grant, Group, Objects, RefusalCount};
use crate::audit::uses::Uses;
use crate::host::Host;
use crate::limits::{self, duration};
use crate::loaded_policy::{LoadedPolicy, decision_of};
use postern_policy::types::TargetPath;
use postern_policy::{Decision, Object, VerbId};
use postern_proto::root::v1 as root;
use postern_record::Risk;

/// A client with all that it is granted.
pub fn client(loaded: &LoadedPolicy, host: &Host, wire: &root::Client, uses: Option<&Uses>) -> Client {
    let (kind, name) = if wire.group.is_empty() { ("user", &wire.user) } else { ("group", &wire.group) };
    let who = match LoadedPolicy::uids(host, wire) {
        None => format!("{kind} {name}, which this host does not know"),
        Some(uids) if uids.is_empty() => format!("{kind} {name}, which has no member"),
        Some(uids) if kind == "user" => {
            format!("user {name} ({})", uids.iter().map(u32::to_string).collect::<Vec<_>>().join(" "))
        }
        Some(uids) => {
            let members = uids.iter().map(|uid| format!("{} ({uid})", (host.user_name)(*uid)));
            format!("group {name}: {}", members.collect::<Vec<_>>().join(", "))
        }
    };
    let mut groups: Vec<Group> = TITLES.iter().map(|title| Group { title, grants: Vec::new() }).collect();
    for (index, rule) in loaded.rules.rules.iter().enumerate().filter(|(_, rule)| rule.client == wire.name) {
        let grant = grant(loaded, index, rule, uses);
        if let Some(group) = groups.iter_mut().find(|group| group.title == title(rule)) {
            group.grants.push(grant);
        }
    }
    groups.retain(|group| !group.grants.is_empty());
    let refused = uses.iter().flat_map(|uses| &uses.refused).filter(|(what, _)| what.client == wire.name);
    let mut refused =
        refused.map(|(what, count)| RefusalCount { what: what.clone(), count: *count }).collect::<Vec<_>>();
    refused.sort_by_key(|refusal| std::cmp::Reverse(refusal.count));
    Client { name: wire.name.clone(), who, groups, refused }
}

const TITLES: [&str; 5] = ["Packages", "Units", "Files", "Commands", "Other"];

/// A rule may also let its own decisions be undone: what it is about, its other verbs say.
fn title(rule: &root::Rule) -> &'static str {
    let mut kinds = rule.verbs.iter().filter_map(|verb| verb.split('.').next());
    match kinds.find(|kind| *kind != "request").unwrap_or_default() {
        "package" => "Packages",
        "unit" => "Units",
        "file" => "Files",
        "command" => "Commands",
        _ => "Other",
    }
}

fn grant(loaded: &LoadedPolicy, index: usize, rule: &root::Rule, uses: Option<&Uses>) -> Grant {
    let decision = decision_of(rule);
    let verbs = rule.verbs.iter().filter_map(|name| VerbId::from_name(name)).collect::<Vec<_>>();
    let risk = risk(rule, &verbs);
    let grants = decision != Decision::Deny;
    let counted = uses.map(|uses| uses.rules.get(&rule.id).cloned().unwrap_or_default());
    let people =
        if rule.approvers == 1 { "1 operator".to_owned() } else { format!("{} operators", rule.approvers) };
    let remarks = loaded.remarks(&rule.id);
    let accepted = remarks.accept_risk.into_iter().map(|(finding, reason)| AcceptedRisk { finding, reason });
    Grant {
        id: rule.id.clone(),
        place: loaded.position(index),
        decision,
        verbs: rule.verbs.clone(),
        objects: objects(rule),
        people: rule.people.clone(),
        limits: limits::limits(rule, &verbs, &loaded.rules.sources),
        risk: grants.then_some(risk.score),
        capabilities: if grants { risk.capabilities } else { Vec::new() },
        approval: (decision == Decision::Ask)
            .then(|| format!("{people} within {}", duration(rule.approval_ttl_s))),
        justification: remarks.justification,
        accepted_risks: accepted.collect(),
        unused: counted
            .as_ref()
            .zip(uses)
            .filter(|_| grants)
            .and_then(|(own, uses)| unused(own, uses, &loaded.digest.to_string())),
        idle: grants && counted.as_ref().zip(uses).is_some_and(|(own, uses)| is_idle(own, uses)),
        uses: counted,
    }
}

/// The helper's own measure, of the most that the rule lets through.
fn risk(rule: &root::Rule, verbs: &[VerbId]) -> Risk {
    let file = |directory: &String| TargetPath::new(&format!("{directory}/x")).ok().map(Object::read);
    let mut objects = rule.directories.iter().filter_map(file).collect::<Vec<_>>();
    if objects.is_empty() {
        objects.push(Object::Nothing);
    }
    let each = verbs.iter().flat_map(|verb| objects.iter().map(|object| (*verb, object.clone())));
    Risk::of(&each.collect::<Vec<_>>())
}

fn objects(rule: &root::Rule) -> Vec<Objects> {
    let levels = match rule.depth {
        0 | 1 => "in",
        _ => "below",
    };
    let in_depth = |directory: &String| match rule.depth {
        0 | 1 => directory.clone(),
        depth => format!("{directory} (up to {depth} levels)"),
    };
    let directories = rule.directories.iter().map(in_depth).collect();
    let parameters = rule.parameters.iter().map(|p| format!("{}={}", p.name, p.patterns.join("|"))).collect();
    let all = [
        ("packages", rule.packages.clone()),
        ("units", rule.units.clone()),
        ("files", rule.files.clone()),
        (levels, directories),
        ("commands", rule.commands.clone()),
        ("with", parameters),
    ];
    let some = all.into_iter().filter(|(_, patterns)| !patterns.is_empty());
    some.map(|(label, patterns)| Objects { label, patterns }).collect()
}

/// A program that rules grant by name.
pub fn command(command: &root::Command) -> Command {
    let sandbox = match command.sandbox() {
        root::Sandbox::Strict => "in the strict sandbox",
        root::Sandbox::Validator => "in the sandbox of validators, everything read-only",
        root::Sandbox::None | root::Sandbox::Unspecified => "WITHOUT a sandbox",
    };
    let network = if command.network { ", with network" } else { "" };
    let reverse =
        if command.reverse.is_empty() { String::new() } else { format!(", undone by {}", command.reverse) };
    let sockets = match command.sockets.as_slice() {
        [] => String::new(),
        sockets => format!(", may connect to {}", sockets.join(", ")),
    };
    let loads = match command.loads.as_slice() {
        [] => String::new(),
        loads => format!(", loads {}", loads.join(", ")),
    };
    let described = match command.description.as_str() {
        "" => String::new(),
        description => format!("{description}; "),
    };
    let effect = if command.no_effect { ", changes nothing by the policy's word" } else { "" };
    let runs = format!(
        "{described}as {} {sandbox}{network}{sockets}{loads}, at most {}{reverse}{effect}",
        command.user,
        duration(command.timeout_s)
    );
    Command { name: command.name.clone(), argv: command.argv.clone(), runs }
}

//! From the policy, the log and the host to a report.

use super::model::{
    AcceptedRisk, Attention, Client, Command, Decision, Grant, Group, Log, Objects, PolicyFacts, Report,
    Standing, Summary, Times,
};
use super::people;
use crate::audit::uses::{self, InForce, Uses};
use crate::audit::{self, chain};
use crate::host::Host;
use crate::law::{Law, Origin};
use crate::policy::finding::Severity;
use crate::text::{count, time};
use crate::words::{self, Reach, duration};
use postern_helper::policy::{Object, Risk};
use postern_helper::types::TargetPath;
use postern_helper::verb_id::VerbId;
use postern_proto::root::v1 as root;
use std::time::{SystemTime, UNIX_EPOCH};

/// From which score on a grant is named among what to look at first: effects that do not simply come back.
const HIGH: u32 = 65;

/// Everything that there is to say.
pub fn build(law: &Law, host: &Host, name: String) -> Report {
    let (log, uses) = read_log(law, host);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let clients =
        law.rules.clients.iter().map(|wire| client(law, host, wire, uses.as_ref())).collect::<Vec<_>>();
    let uids = law.rules.clients.iter().flat_map(|client| law.uids(host, client).unwrap_or_default());
    let mut report = Report {
        v: 1,
        host: name,
        written: time(now),
        policy: policy(law, host, uses.as_ref().and_then(|uses| uses.in_force.as_ref())),
        summary: summary(&clients),
        attention: Vec::new(),
        clients,
        commands: law.rules.commands.iter().map(command).collect(),
        people: people::people(host, &uids.collect::<Vec<_>>()),
        log,
        findings: law.findings.clone(),
    };
    report.attention = attention(&report);
    report
}

fn read_log(law: &Law, host: &Host) -> (Log, Option<Uses>) {
    let unread = |why: String| (Log::Unread { why }, None);
    let files = match audit::chosen(host, &[]) {
        Ok(files) => files,
        Err(why) => return unread(why),
    };
    let clients = law.rules.clients.iter().map(|client| client.name.clone()).collect::<Vec<_>>();
    let rules = law.rules.rules.iter().map(|rule| rule.id.clone()).collect::<Vec<_>>();
    let failed = |(file, error): (std::path::PathBuf, std::io::Error)| format!("{}: {error}", file.display());
    let uses = match uses::count(&files, &clients, &rules) {
        Ok(uses) => uses,
        Err(error) => return unread(failed(error)),
    };
    let Some((head_seq, last)) = uses.head.clone() else {
        return unread("the audit log holds no record yet".to_owned());
    };
    let (valid, chain) = match chain::verify(&files) {
        Ok(chain::Verdict { bad: None, records, .. }) => {
            let records = count(usize::try_from(records).unwrap_or(usize::MAX), "record");
            (true, format!("the chain of {records} holds"))
        }
        Ok(chain::Verdict { bad: Some(bad), .. }) => {
            (false, format!("THE CHAIN IS BROKEN at {}:{}: {}", bad.file.display(), bad.line, bad.reason))
        }
        Err(error) => return unread(failed(error)),
    };
    let log = Log::Read {
        records: uses.records,
        unreadable: uses.unreadable,
        first: clock(uses.first.as_deref().unwrap_or_default()),
        last: clock(&last),
        head_seq,
        chain,
        valid,
        in_force: uses.in_force.clone(),
    };
    (log, Some(uses))
}

/// A record's time as people read it.
pub fn clock(rfc3339: &str) -> String {
    let seconds = rfc3339.split('.').next().unwrap_or_default();
    format!("{} UTC", seconds.replacen('T', " ", 1))
}

fn policy(law: &Law, host: &Host, recorded: Option<&InForce>) -> PolicyFacts {
    let digest = law.digest.to_string();
    let same = recorded.filter(|recorded| recorded.policy == digest);
    let (standing, from, applied, by) = match &law.origin {
        Origin::Accepted { unix_s, uid } => {
            (Standing::Accepted, "what was accepted".to_owned(), Some(time(*unix_s)), Some(*uid))
        }
        Origin::Files(path) => {
            let standing = match (recorded, same) {
                (_, Some(_)) => Standing::Recorded,
                (Some(_), None) => Standing::Another,
                (None, None) => Standing::Unknown,
            };
            let applied = same.filter(|recorded| recorded.by_uid.is_some());
            let (time, by) =
                (applied.map(|recorded| clock(&recorded.time)), applied.and_then(|recorded| recorded.by_uid));
            (standing, path.display().to_string(), time, by)
        }
    };
    let applied_by = by.map(|uid| people::person(host, uid));
    PolicyFacts { digest, standing, from, applied, applied_by, notes: law.notes.clone() }
}

fn client(law: &Law, host: &Host, wire: &root::Client, uses: Option<&Uses>) -> Client {
    let (kind, name) = if wire.group.is_empty() { ("user", &wire.user) } else { ("group", &wire.group) };
    let who = match law.uids(host, wire) {
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
    for (index, rule) in law.rules.rules.iter().enumerate().filter(|(_, rule)| rule.client == wire.name) {
        let grant = grant(law, index, rule, uses);
        if let Some(group) = groups.iter_mut().find(|group| group.title == title(rule)) {
            group.grants.push(grant);
        }
    }
    groups.retain(|group| !group.grants.is_empty());
    let refused = uses.iter().flat_map(|uses| &uses.refused).filter(|(what, _)| what.client == wire.name);
    let mut refused =
        refused.map(|(what, count)| Times { what: what.clone(), count: *count }).collect::<Vec<_>>();
    refused.sort_by_key(|times| std::cmp::Reverse(times.count));
    Client { name: wire.name.clone(), who, groups, refused }
}

const TITLES: [&str; 5] = ["Packages", "Units", "Files", "Commands", "Other"];

/// A rule may also let its own decisions be undone: what it is about, its other verbs say.
fn title(rule: &root::Rule) -> &'static str {
    let kinds = rule.verbs.iter().filter_map(|verb| verb.split('.').next());
    match kinds.filter(|kind| *kind != "request").next().unwrap_or_default() {
        "package" => "Packages",
        "unit" => "Units",
        "file" => "Files",
        "command" => "Commands",
        _ => "Other",
    }
}

fn grant(law: &Law, index: usize, rule: &root::Rule, uses: Option<&Uses>) -> Grant {
    let decision = match rule.decision() {
        root::Decision::Allow => Decision::Allow,
        root::Decision::Ask => Decision::Ask,
        root::Decision::Deny | root::Decision::Unspecified => Decision::Deny,
    };
    let verbs = rule.verbs.iter().filter_map(|name| VerbId::from_name(name)).collect::<Vec<_>>();
    let risk = risk(rule, &verbs);
    let grants = decision != Decision::Deny;
    let people =
        if rule.approvers == 1 { "1 operator".to_owned() } else { format!("{} operators", rule.approvers) };
    let remarks = law.remarks(&rule.id);
    let accepted = remarks.accept_risk.into_iter().map(|(finding, reason)| AcceptedRisk { finding, reason });
    Grant {
        id: rule.id.clone(),
        place: law.place(index),
        decision,
        verbs: rule.verbs.clone(),
        objects: objects(rule),
        limits: words::limits(rule, &verbs, &law.rules.sources),
        risk: grants.then_some(risk.score),
        capabilities: if grants { risk.capabilities } else { Vec::new() },
        approval: (decision == Decision::Ask)
            .then(|| format!("{people} within {}", duration(rule.approval_ttl_s))),
        justification: remarks.justification,
        accepted_risks: accepted.collect(),
        uses: uses.map(|uses| uses.rules.get(&rule.id).cloned().unwrap_or_default()),
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

fn command(command: &root::Command) -> Command {
    let sandbox = match command.sandbox() {
        root::Sandbox::Strict => "in the strict sandbox",
        root::Sandbox::Validator => "as a validator: everything read-only",
        root::Sandbox::None | root::Sandbox::Unspecified => "WITHOUT a sandbox",
    };
    let network = if command.network { ", with network" } else { "" };
    let reverse =
        if command.reverse.is_empty() { String::new() } else { format!(", undone by {}", command.reverse) };
    let runs =
        format!("as {} {sandbox}{network}, at most {}{reverse}", command.user, duration(command.timeout_s));
    Command { name: command.name.clone(), argv: command.argv.clone(), runs }
}

fn summary(clients: &[Client]) -> Summary {
    let grants = || clients.iter().flat_map(|client| &client.groups).flat_map(|group| &group.grants);
    let number = |decision| grants().filter(|grant| grant.decision == decision).count();
    let granting = || grants().filter(|grant| grant.decision != Decision::Deny);
    let has_log = grants().any(|grant| grant.uses.is_some());
    Summary {
        allow: number(Decision::Allow),
        ask: number(Decision::Ask),
        deny: number(Decision::Deny),
        highest_risk: granting().filter_map(|grant| grant.risk).max().unwrap_or_default(),
        never_used: has_log.then(|| granting().filter(|grant| is_unused(grant)).count()),
    }
}

/// Granted, and never used.
pub fn is_unused(grant: &Grant) -> bool {
    let never = |uses: &uses::RuleUse| uses.used == 0 && uses.previewed == 0;
    grant.decision != Decision::Deny && grant.uses.as_ref().is_some_and(never)
}

/// What a reviewer looks at first, the gravest first.
fn attention(report: &Report) -> Vec<Attention> {
    let mut list = Vec::new();
    let mut say = |rule: Option<&Grant>, words: String| {
        list.push(Attention { rule: rule.map(|grant| grant.id.clone()), words });
    };
    match &report.log {
        Log::Read { valid: false, chain, .. } => say(None, format!("Audit log: {chain}.")),
        Log::Unread { why } => say(None, format!("No use of any rule is known: {why}.")),
        Log::Read { .. } => {}
    }
    if matches!(report.policy.standing, Standing::Another | Standing::Unknown) {
        say(None, format!("This policy is {}.", report.policy.standing.words()));
    }
    for person in &report.people.barred {
        let who = format!("{} ({})", person.name, person.uid);
        say(
            None,
            format!(
                "{who} is in postern-operators and cannot approve, being a client of the policy: take them out."
            ),
        );
    }
    if report.summary.ask > 0 && report.people.operators.as_ref().is_none_or(Vec::is_empty) {
        say(
            None,
            "Rules ask a person, and nobody but root may approve: postern-operators has no member."
                .to_owned(),
        );
    }
    for finding in report.findings.iter().filter(|finding| finding.severity != Severity::Note) {
        let severity = finding.severity.as_str();
        say(None, format!("{severity} at {}:{}: {}", finding.file, finding.line, finding.message));
    }
    let mut grants =
        report.clients.iter().flat_map(|c| &c.groups).flat_map(|g| &g.grants).collect::<Vec<_>>();
    grants.retain(|grant| grant.decision != Decision::Deny);
    // Equal risks stay in the policy's order.
    grants.sort_by_key(|grant| std::cmp::Reverse(grant.risk));
    for grant in grants {
        let mut why = Vec::new();
        let risk = grant.risk.unwrap_or_default();
        if grant.decision == Decision::Allow && risk >= HIGH {
            why.push(format!("risk {risk} without asking anybody"));
        }
        for accepted in &grant.accepted_risks {
            why.push(format!("accepts {}", accepted.finding));
        }
        let wide = grant.limits.iter().filter(|limit| limit.reach == Reach::Wide);
        why.extend(wide.map(|limit| limit.words.clone()));
        if is_unused(grant) {
            why.push("granted, never used".to_owned());
        }
        if !why.is_empty() {
            say(Some(grant), format!("{}.", why.join("; ")));
        }
    }
    list
}

//! From the policy, the log and the host to a report.

use super::attention::attention;
use super::grants::{client, command};
use super::model::{Client, Grant, Log, PolicyFacts, PolicyStatus, Report, Summary};
use super::overview::overview;
use super::people;
use crate::audit::uses::{self, RecordedPolicy, RuleUse, Uses};
use crate::audit::{self, Extent, Proof, chain};
use crate::host::Host;
use crate::loaded_policy::{LoadedPolicy, Origin};
use crate::text::{count, time};
use postern_policy::Decision;

/// Everything that there is to say.
pub fn build(loaded: &LoadedPolicy, host: &Host, name: String) -> Report {
    let (log, uses) = read_log(loaded, host);
    let now = crate::text::now();
    let clients =
        loaded.rules.clients.iter().map(|wire| client(loaded, host, wire, uses.as_ref())).collect::<Vec<_>>();
    let uids =
        loaded.rules.clients.iter().flat_map(|client| LoadedPolicy::uids(host, client).unwrap_or_default());
    let mut report = Report {
        v: 1,
        host: name,
        written: time(now),
        policy: policy(loaded, host, uses.as_ref().and_then(|uses| uses.in_force.as_ref())),
        summary: summary(&clients),
        overview: Vec::new(),
        attention: Vec::new(),
        clients,
        commands: loaded.rules.commands.iter().map(command).collect(),
        people: people::people(host, &uids.collect::<Vec<_>>()),
        log,
        findings: loaded.findings.clone(),
    };
    report.overview = overview(&report);
    report.attention = attention(&report);
    report
}

fn read_log(loaded: &LoadedPolicy, host: &Host) -> (Log, Option<Uses>) {
    let unread = |why: String| (Log::Unread { why }, None);
    let files = match audit::chosen(host, &[]) {
        Ok(files) => files,
        Err(why) => return unread(why),
    };
    let clients = loaded.rules.clients.iter().map(|client| client.name.clone()).collect::<Vec<_>>();
    let rules = loaded.rules.rules.iter().map(|rule| rule.id.clone()).collect::<Vec<_>>();
    let failed = |(file, error): (std::path::PathBuf, std::io::Error)| format!("{}: {error}", file.display());
    let uses = match uses::count(&files, &clients, &rules) {
        Ok(uses) => uses,
        Err(error) => return unread(failed(error)),
    };
    let Some((head_seq, last)) = uses.head.clone() else {
        return unread("the audit log holds no record yet".to_owned());
    };
    let (valid, chain) = match chain::verify(&files, Extent::Installed, &Proof::default()) {
        Ok(chain::Verdict { bad: None, records, state, .. }) => {
            let records = count(usize::try_from(records).unwrap_or(usize::MAX), "record");
            let seals = if state.sealed_from.is_some() { "sealed, seals not checked" } else { "unsealed" };
            (true, format!("the chain of {records} holds, {seals}"))
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

fn policy(loaded: &LoadedPolicy, host: &Host, recorded: Option<&RecordedPolicy>) -> PolicyFacts {
    let digest = loaded.digest.to_string();
    let same = recorded.filter(|recorded| recorded.policy == digest);
    let (standing, from, applied, by) = match &loaded.origin {
        Origin::Accepted { unix_s, uid } => {
            let is_taken = recorded.is_none() || same.is_some();
            let standing = if is_taken { PolicyStatus::Accepted } else { PolicyStatus::Unrecorded };
            (standing, "what was accepted".to_owned(), Some(time(*unix_s)), Some(*uid))
        }
        Origin::Files(path) => {
            let standing = match (recorded, same) {
                (_, Some(_)) => PolicyStatus::Recorded,
                (Some(_), None) => PolicyStatus::Another,
                (None, None) => PolicyStatus::Unknown,
            };
            let applied = same.filter(|recorded| recorded.by_uid.is_some());
            let (time, by) =
                (applied.map(|recorded| clock(&recorded.time)), applied.and_then(|recorded| recorded.by_uid));
            (standing, path.display().to_string(), time, by)
        }
    };
    let applied_by = by.map(|uid| people::person(host, uid));
    PolicyFacts { digest, standing, from, applied, applied_by, notes: loaded.notes.clone() }
}

fn summary(clients: &[Client]) -> Summary {
    let grants = || clients.iter().flat_map(|client| &client.groups).flat_map(|group| &group.grants);
    let number = |decision| grants().filter(|grant| grant.decision == decision).count();
    let granting = || grants().filter(|grant| grant.decision != Decision::Deny);
    let has_log = grants().any(|grant| grant.uses.is_some());
    let is_long = |grant: &&Grant| grant.unused.as_ref().is_some_and(|unused| unused.is_long);
    // Of a rule that was used for the first time yesterday the log knows enough, too.
    let knows = granting().all(|grant| grant.uses.as_ref().is_some_and(RuleUse::is_used) || is_long(&grant));
    Summary {
        allow: number(Decision::Allow),
        ask: number(Decision::Ask),
        deny: number(Decision::Deny),
        highest_risk: granting().filter_map(|grant| grant.risk).max().unwrap_or_default(),
        never_used: (has_log && knows).then(|| granting().filter(is_long).count()),
        idle: has_log.then(|| granting().filter(|grant| grant.idle).count()),
    }
}

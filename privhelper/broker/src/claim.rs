//! Claims: the broker's description of a request, for the audit log and for people. Texts are bounded and hold no
//! control characters.

use crate::error::Error;
use crate::meta::Meta;
use crate::order::Order;
use crate::plan::Plan;
use postern_policy::request::{FileChange, NamedPackage, NewState, PackagesRequest, Statement};
use postern_policy::types::{Digest, Expect, PackageName, PackageVersion, RequestId};
use postern_policy::{Code, Facts, Grant, Policy, Request, RequiredGrant, VerbId};
use postern_proto::root::v1::{Claim, Content};
use postern_proto::v1 as wire;
use postern_record::{Json, Risk};
use std::collections::BTreeSet;

/// Most bytes of a text. The recorder refuses a longer one.
pub const TEXT_MAX: usize = 500;
/// Most bytes of the texts that name the object of a request, or the reason of a failure.
const LONG_MAX: usize = 4096;

/// Removes control characters and bidirectional marks, and cuts the text to `most` bytes.
#[must_use]
pub fn text(text: &str, most: usize) -> String {
    let mut bounded = String::new();
    for c in text.chars() {
        let turns = matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        if bounded.len().saturating_add(c.len_utf8()) > most {
            break;
        }
        bounded.push(if c.is_control() || turns { '?' } else { c });
    }
    bounded
}

/// An object with braces; empty if it has no members.
fn object(json: Json) -> String {
    if json.members().is_empty() { String::new() } else { json.shortened().to_string() }
}

/// Adds the request's id, if valid: also to the claim of a refused request.
pub fn of_meta(claim: &mut Claim, meta: Option<&wire::Meta>) {
    let id = meta.and_then(|meta| RequestId::new(&meta.request_id).ok());
    claim.request_id = id.map(|id| id.to_string()).unwrap_or_default();
}

/// Adds the client's own statements: reason, task, and the arguments by their wire names, content as size and digest.
pub fn of_request(claim: &mut Claim, meta: &Meta, order: &Order) {
    claim.request_id = meta.request_id.to_string();
    meta.trace_id.as_str().clone_into(&mut claim.trace_id);
    meta.task.as_str().clone_into(&mut claim.task);
    claim.claimed_uid = meta.claimed_uid;
    meta.session.as_str().clone_into(&mut claim.session);
    // Has no control characters; the log escapes bidirectional marks.
    meta.reason.as_str().clone_into(&mut claim.reason);
    of_args(claim, order);
    if let Request::Undo(of) = &order.request {
        claim.undo_of = of.to_string();
    }
}

/// Adds the arguments.
pub fn of_args(claim: &mut Claim, order: &Order) {
    claim.args_json = object(args(order));
}

/// Adds the object and the risk.
pub fn of_grants(claim: &mut Claim, grants: &[RequiredGrant]) {
    let mut targets = Vec::new();
    for (verb, object) in grants {
        if *verb != VerbId::RequestUndo && targets.last() != Some(&object.name()) {
            targets.push(object.name());
        }
    }
    claim.target = text(&targets.join(" "), LONG_MAX);
    let risk = Risk::of(grants);
    claim.risk_score = risk.score;
    claim.capabilities = risk.capabilities.iter().map(ToString::to_string).collect();
}

/// Adds the decision and its rule.
pub fn of_grant(claim: &mut Claim, grant: &Grant) {
    grant.rule_id().clone_into(&mut claim.rule);
    grant.decision().as_str().clone_into(&mut claim.decision);
    claim.approvers = grant.approvers().max(1);
    claim.excludes_asker = grant.excludes_asker();
}

/// Adds the plan, and the objects whose effects run one after the other.
pub fn of_plan(claim: &mut Claim, order: &Order, grant: &Grant, facts: &Facts, plan: &Plan) {
    claim.plan_json = object(plan.json.clone());
    claim.objects = objects(order, grant, facts).into_iter().collect();
}

/// The unit and all that its change affects; PID 1, where it reads its units anew; each directory in which an entry
/// changes, and those that a validator sees; the package database.
fn objects(order: &Order, grant: &Grant, facts: &Facts) -> BTreeSet<String> {
    let mut objects = BTreeSet::new();
    for (change, _) in order.changes() {
        objects.insert(format!("dir:{}", change.path.split().0));
        let rules = grant.rules().filter(|rule| !rule.validate.is_empty());
        let granted = rules.filter_map(|rule| rule.selector.directory_of(order.verb, &change.path));
        objects.extend(granted.map(|directory| format!("dir:{directory}")));
    }
    if let Facts::Unit(unit) = facts {
        let others = unit.affected.iter().map(|other| &other.state.id);
        objects.extend(others.chain([&unit.state.id]).map(|id| format!("unit:{id}")));
    }
    let reloads = [
        VerbId::UnitEnable,
        VerbId::UnitDisable,
        VerbId::UnitMask,
        VerbId::UnitUnmask,
        VerbId::UnitDaemonReload,
    ];
    if reloads.contains(&order.verb) {
        objects.insert("units".to_owned());
    }
    let is_reboot = matches!(order.request, Request::Reboot(_));
    if is_reboot || (matches!(order.request, Request::Packages(_)) && order.verb.is_effect()) {
        objects.insert("packages".to_owned());
    }
    if is_reboot {
        objects.insert("host".to_owned());
    }
    objects
}

/// Adds how long the change may stay unless it is kept, and what it touches: a change that would touch the same meanwhile is
/// refused. Commands are the same if one takes the other back, whatever their values.
pub fn of_keep(claim: &mut Claim, order: &Order, grant: &Grant, policy: &Policy) {
    claim.keep_within_s = grant.keep_within_s();
    claim.touches = order.changes().map(|(change, _)| change.path.to_string()).collect();
    let is_in = |directory: &String, path: &String| {
        path.strip_prefix(directory).is_some_and(|rest| rest.starts_with('/'))
    };
    let is_loaded = |directory| claim.touches.iter().any(|path| is_in(directory, path));
    let loads = policy.commands().iter().filter(|command| command.wire.loads.iter().any(is_loaded));
    claim.loaded_by = loads.map(|command| command.name.to_string()).collect();
    if let Request::Command(command) = &order.request {
        let row = policy.command(command.name.as_str());
        let reverse = row.map(|row| row.wire.reverse.clone()).filter(|name| !name.is_empty());
        claim.touches = std::iter::once(command.name.to_string()).chain(reverse).collect();
    }
}

/// Adds the outcome of a request that the broker records.
pub fn of_outcome(claim: &mut Claim, event: &str, completed: &wire::Completed) {
    event.clone_into(&mut claim.event);
    if event == "served" {
        let status = completed.status().as_str_name().trim_start_matches("STATUS_").to_ascii_lowercase();
        claim.status = status;
        claim.code = text(&completed.code, TEXT_MAX);
    }
}

/// Adds the error of a request that ended without an outcome.
pub fn of_error(claim: &mut Claim, error: &Error) {
    let (denied, detail) = match error {
        Error::Denied(denied) | Error::Recorded(denied) => (denied.clone(), denied.message.clone()),
        Error::Failed(fault) => (fault.denied(), fault.to_string()),
        Error::Malformed => return,
    };
    if denied.code == Code::Denied {
        "deny".clone_into(&mut claim.decision);
    }
    "refused".clone_into(&mut claim.event);
    "refused".clone_into(&mut claim.status);
    denied.code.as_str().clone_into(&mut claim.code);
    claim.detail = text(&detail, LONG_MAX);
    claim.missing = text(&denied.missing, TEXT_MAX);
}

fn args(order: &Order) -> Json {
    match &order.request {
        Request::Packages(packages) => packages_args(packages),
        Request::Unit(unit) => Json::new().text("unit", unit.unit.as_str()).flag("now", unit.now),
        Request::UnitStatus(status) => {
            let json = Json::new().text("unit", status.unit.as_str());
            if status.journal_lines == 0 {
                return json;
            }
            let since = status.since.as_secs();
            json.number("journal_lines", status.journal_lines).number("since_unix_s", since)
        }
        Request::FileRead(read) => {
            let json = Json::new().text("path", read.path.as_str());
            json.number("offset", read.offset).number("limit", read.limit)
        }
        Request::FileList(path) => Json::new().text("path", path.as_str()),
        Request::Files(files) => match files.changes.as_slice() {
            [_] => order.changes().map(change_args).next().unwrap_or_default(),
            _ => Json::new().objects("changes", order.changes().map(change_args)),
        },
        // Names alone: only the policy knows which value is a secret. The values are in the plan.
        Request::Command(command) => {
            let names = command.arguments.iter().map(|(name, _)| name);
            Json::new().text("name", command.name.as_str()).texts("parameters", names)
        }
        Request::Result(of) | Request::Undo(of) | Request::Own(Statement::Keep(of)) => {
            Json::new().text("of", of.as_str())
        }
        Request::Own(Statement::Note(seq, tip)) => {
            Json::new().number("seq", *seq).text("tip", &tip.to_string())
        }
        Request::Reboot(minutes) => match minutes {
            Some(minutes) => Json::new().number("delay_s", minutes.saturating_mul(60)),
            None => Json::new().flag("cancel", true),
        },
        Request::DaemonReload | Request::Describe => Json::new(),
    }
}

fn packages_args(request: &PackagesRequest) -> Json {
    if request.verb == VerbId::PackageInstall {
        let package = |package: &NamedPackage| {
            let version = package.version.as_ref().map(PackageVersion::as_str).unwrap_or_default();
            Json::new().text("name", package.name.as_str()).text("version", version)
        };
        return Json::new().objects("packages", request.packages.iter().map(package));
    }
    let names = request.packages.iter().map(|package| &package.name).map(PackageName::as_str);
    let all = request.verb == VerbId::PackageUpgrade && request.packages.is_empty();
    Json::new().texts("names", names).flag("all", all)
}

fn change_args((change, content): (&FileChange, Option<&Content>)) -> Json {
    let mut json = Json::new().text("path", change.path.as_str());
    if let Some(content) = content {
        let sha256 = Digest::from_bytes(&content.sha256).unwrap_or_default();
        json = json.number("size", content.size).text("sha256", &sha256.to_string());
    }
    let expect = match change.expect {
        Expect::Any => "any".to_owned(),
        Expect::Absent => "absent".to_owned(),
        Expect::Content(sha256) => sha256.to_string(),
    };
    json = match &change.to {
        NewState::Content(_) => json.text("expect", &expect),
        NewState::Removed => json.text("kind", "remove").text("expect", &expect),
        NewState::Directory | NewState::Attributes => json,
    };
    let or_empty = |name: Option<String>| name.unwrap_or_default();
    json.text("mode", &or_empty(change.mode.map(|mode| mode.to_string())))
        .text("owner", &or_empty(change.owner.as_ref().map(ToString::to_string)))
        .text("group", &or_empty(change.group.as_ref().map(ToString::to_string)))
}

//! Explains a request: the decision by the helper's own code, and each rule's part in it.

use super::mismatch;
use super::model::{
    CheckedLimit, Explanation, LimitState, OtherRule, Outcome, PolicyOrigin, RiskFacts, RuleRef, Verdict,
};
use super::request::{Element, FileTarget, Target};
use crate::limits::{self, Limit, Stage};
use crate::loaded_policy::{LoadedPolicy, Origin, decision_of};
use postern_policy::{Code, Decision, Denied, Grant, Identity, Object, Policy, Rule, VerbId};
use postern_proto::root::v1 as root;
use postern_record::Risk;

/// Explains the decision of `policy` about a request of these clients.
pub(super) fn explain(
    loaded: &LoadedPolicy,
    policy: &Policy,
    (clients, who): (Vec<String>, &Identity),
    verb: VerbId,
    elements: &[Element],
) -> Explanation {
    let objects = elements.iter().map(|e| e.target.object().map(|object| (e.verb, object)));
    let required_grants = objects.collect::<Result<Vec<(VerbId, Object)>, _>>();
    let said = required_grants
        .clone()
        .map_err(Denied::from)
        .and_then(|required_grants| policy.decide(who, &required_grants));
    let patched = elements.iter().filter(|element| element.verb == VerbId::FilePatch).count();
    let verdicts =
        elements.iter().map(|element| verdict(loaded, policy, (&clients, who), element, patched)).collect();
    let risk = Risk::of(&required_grants.unwrap_or_default());
    let (decision, refusal) = outcome(said.as_ref().map(Grant::decision));
    let asked = said.as_ref().ok().filter(|by| by.decision() == Decision::Ask);
    let (from, in_force) = match &loaded.origin {
        Origin::Accepted { unix_s, uid } => {
            (format!("accepted {} by uid {uid}", crate::text::time(*unix_s)), true)
        }
        Origin::Files(path) => (path.display().to_string(), false),
    };
    let mut notes = loaded.notes.clone();
    notes.dedup();
    Explanation {
        v: 1,
        decision,
        code: refusal.map(|refusal| refusal.code),
        message: refusal.map(|refusal| refusal.message.clone()),
        verb: verb.name(),
        clients,
        policy: PolicyOrigin { digest: loaded.digest.to_string(), in_force, from, notes },
        risk: RiskFacts { score: risk.score, capabilities: risk.capabilities },
        approvers: asked.map(Grant::approvers),
        approval_ttl_s: asked.map(|by| by.approval_ttl().as_secs()),
        elements: verdicts,
    }
}

fn outcome(said: Result<Decision, &Denied>) -> (Outcome, Option<&Denied>) {
    match said {
        Ok(Decision::Allow) => (Outcome::Allow, None),
        Ok(Decision::Ask) => (Outcome::Ask, None),
        Ok(Decision::Deny) => (Outcome::Refuse, None),
        Err(refusal) => (Outcome::Refuse, Some(refusal)),
    }
}

/// Explains one element: the decision, and each rule's part in it.
fn verdict(
    loaded: &LoadedPolicy,
    policy: &Policy,
    (clients, who): (&[String], &Identity),
    element: &Element,
    patched: usize,
) -> Verdict {
    let verb = element.verb;
    let object = element.target.object();
    let said = match &object {
        Ok(object) => policy.decide(who, &[(verb, object.clone())]),
        Err(invalid) => Err(Denied::from(invalid.clone())),
    };
    let (decision, refusal) = outcome(said.as_ref().map(Grant::decision));
    let mut verdict = Verdict {
        verb: verb.name(),
        object: element.target.words(),
        about: about(loaded, &element.target),
        decision,
        code: refusal.map(|refusal| refusal.code),
        message: refusal.map(|refusal| refusal.message.clone()),
        rule: None,
        limits: Vec::new(),
        also: Vec::new(),
        near: Vec::new(),
    };
    // Of what is open or protected no rule is asked.
    let asks_no_rule = |code| matches!(code, Code::Protected | Code::UnknownClient);
    if verb.is_open() || refusal.is_some_and(|refusal| asks_no_rule(refusal.code)) {
        return verdict;
    }
    let Ok(object) = object else {
        return verdict;
    };
    let selects =
        |rule: &Rule| clients.contains(&rule.client) && rule.selects(verb, &object) && rule.is_for(who);
    let strictest = policy.rules().iter().filter(|rule| selects(rule)).map(|rule| rule.decision).max();
    let deciding = said.as_ref().ok().map(|by| by.rule_id().to_owned());
    for (index, (rule, wire)) in policy.rules().iter().zip(&loaded.rules.rules).enumerate() {
        let named = || named(loaded, index, wire);
        if selects(rule) {
            let is_strictest = Some(rule.decision) == strictest;
            let decides = match &deciding {
                Some(id) => *id == rule.id,
                None => is_strictest,
            };
            if decides && verdict.rule.is_none() {
                verdict.limits = checked(loaded, rule, wire, element, patched);
                verdict.rule = Some(named());
                continue;
            }
            verdict.also.push(OtherRule { rule: named(), why: vec![role(rule, strictest, &object)] });
        } else {
            let mismatch = mismatch::mismatch(wire, clients, (verb, &element.target), rule.is_for(who));
            if mismatch.distance() == 1 {
                verdict.near.push(OtherRule { rule: named(), why: mismatch.words() });
            }
        }
    }
    verdict
}

/// Returns the command's description from the policy, and whether it changes nothing.
fn about(loaded: &LoadedPolicy, target: &Target) -> Option<String> {
    let Target::Command(name, _) = target else { return None };
    let row = loaded.rules.commands.iter().find(|command| command.name == *name)?;
    let words = [row.description.as_str(), if row.no_effect { "changes nothing" } else { "" }];
    let words = words.into_iter().filter(|words| !words.is_empty()).collect::<Vec<_>>().join("; ");
    (!words.is_empty()).then_some(words)
}

/// Why a rule that matches the object is not the one that decides.
fn role(rule: &Rule, strictest: Option<Decision>, object: &Object) -> String {
    if let Some(strictest) = strictest.filter(|strictest| *strictest != rule.decision) {
        return format!(
            "matches too, and {} is stricter than {}",
            strictest.as_str(),
            rule.decision.as_str()
        );
    }
    match (rule.decision, rule.holds(object)) {
        (Decision::Deny, _) => "denies it too".to_owned(),
        (Decision::Allow | Decision::Ask, Ok(())) => {
            "allows it too, but comes later in the policy".to_owned()
        }
        (Decision::Allow | Decision::Ask, Err(refusal)) => {
            format!("matches too, but {}", refusal.message)
        }
    }
}

fn named(loaded: &LoadedPolicy, index: usize, rule: &root::Rule) -> RuleRef {
    let justification = loaded.remarks(&rule.id).justification;
    RuleRef { id: rule.id.clone(), place: loaded.position(index), decision: decision_of(rule), justification }
}

/// The limits of the deciding rule, each of the request's own checked by itself.
fn checked(
    loaded: &LoadedPolicy,
    rule: &Rule,
    wire: &root::Rule,
    element: &Element,
    patched: usize,
) -> Vec<CheckedLimit> {
    let mut limits = limits::limits(wire, &[element.verb], &loaded.rules.sources);
    limits.extend(on_this_host(&element.target));
    let of = |holds: Result<(), Denied>| if holds.is_ok() { LimitState::Holds } else { LimitState::Fails };
    let state = |limit: &Limit| match (limit.when, facet(&element.target, limit.key)) {
        // Content that is not at hand, and a mode that is not asked for, are judged when they are there.
        (Stage::Request, Some(Object::File { content: None, .. })) if limit.key == "lines" => {
            LimitState::Later
        }
        (Stage::Request, Some(Object::File { mode: None, .. })) if limit.key == "modes" => LimitState::Later,
        (Stage::Request, _) if limit.key == "max_files" => of(rule.holds_verb(element.verb, patched)),
        (Stage::Request, Some(alone)) => of(rule.holds(&alone)),
        (Stage::Request, None) => LimitState::Holds,
        (Stage::Plan | Stage::Run, _) => LimitState::Later,
    };
    limits.into_iter().map(|limit| CheckedLimit { state: state(&limit), limit }).collect()
}

/// The condition that every request of this kind must meet on the host, whatever its rule.
fn on_this_host(target: &Target) -> Option<Limit> {
    let (key, words) = match target {
        Target::Unit(_) => (
            "units",
            "if it is an alias, the unit's own name must be granted as well, and no rule may deny another of its names",
        ),
        Target::File(_) => {
            ("directories", "every directory on the way must be root's, and none a symbolic link")
        }
        Target::Undo(_) => ("verbs", "it is decided by the verb of its inverse"),
        Target::Nothing | Target::Package(..) | Target::AllPackages | Target::Command(..) => return None,
    };
    Some(Limit { key, words: words.to_owned(), when: Stage::Plan, reach: limits::Breadth::Narrow })
}

/// The target with nothing asked for but what this limit is about; none if the limit is not about the request.
fn facet(target: &Target, key: &str) -> Option<Object> {
    let Target::File(file) = target else {
        return target.object().ok();
    };
    let mut alone = FileTarget { path: file.path.clone(), ..FileTarget::default() };
    match key {
        "max_bytes" => alone.bytes = file.bytes,
        "lines" => alone.content.clone_from(&file.content),
        "modes" => alone.mode.clone_from(&file.mode),
        "owners" => alone.owner.clone_from(&file.owner),
        "groups" => alone.group.clone_from(&file.group),
        _ => return None,
    }
    Target::File(alone).object().ok()
}

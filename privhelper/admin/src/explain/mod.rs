//! `policy explain`: what the helper would decide about a request, by which rule, and what the nearest others lack.
//!
//! The decision is the helper's own code on the same policy. Nothing is asked of the helper, nothing is done, and
//! no id or rate is used up.

mod near;
mod render;
pub mod request;

use crate::host::Host;
use crate::io::{Exit, Io};
use crate::law::{ASKER, Law, NoLaw, Origin};
use crate::policy::apply::Format;
use crate::text::{did_you_mean, escape, escape_json};
use crate::words::{self, Limit, When};
use clap::Args;
use postern_helper::error::{Code, Refusal};
use postern_helper::policy::{Decision, Object, Policy, Risk, Rule};
use postern_helper::verb_id::VerbId;
use postern_proto::root::v1 as root;
use request::{Details, Element, Target};
use serde::Serialize;
use std::io;
use std::path::PathBuf;

/// `policy explain VERB ARGS…`.
#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// The request, as for postern: unit.restart nginx, package install hello, command NAME KEY=VALUE
    #[arg(required = true, value_name = "VERB ARGS")]
    words: Vec<String>,
    /// Who asks [default: the only client, or the one of user postern]
    #[arg(long, value_name = "NAME")]
    client: Option<String>,
    /// A policy.toml, or a directory laid out like /etc/postern [default: what is in force]
    #[arg(long, value_name = "PATH")]
    policy: Option<PathBuf>,
    /// Bytes of new content
    #[arg(long, value_name = "N", default_value_t = 0)]
    bytes: u64,
    /// Mode asked for, such as 0644
    #[arg(long, value_name = "M")]
    mode: Option<String>,
    /// Owner asked for
    #[arg(long, value_name = "U")]
    owner: Option<String>,
    /// Group asked for
    #[arg(long, value_name = "G")]
    group: Option<String>,
    /// With unit.enable, disable and mask: at once as well
    #[arg(long)]
    now: bool,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

/// What the policy says of one request.
#[derive(Debug, Serialize)]
pub struct Explanation {
    v: u32,
    /// `allow`, `ask` or `refuse`.
    decision: &'static str,
    /// The stable code of a refusal.
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<&'static str>,
    /// The helper's words for a refusal.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    verb: &'static str,
    /// The clients that the asker is.
    clients: Vec<String>,
    policy: Whence,
    risk: Stake,
    /// For `ask`: how many people must agree, and for how long the request waits for them.
    #[serde(skip_serializing_if = "Option::is_none")]
    approvers: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    approval_ttl_s: Option<u64>,
    elements: Vec<Verdict>,
}

/// Which policy was asked.
#[derive(Debug, Serialize)]
struct Whence {
    digest: String,
    in_force: bool,
    from: String,
    notes: Vec<String>,
}

/// What is at stake.
#[derive(Debug, Serialize)]
struct Stake {
    score: u32,
    capabilities: Vec<&'static str>,
}

/// What the policy says of one element.
#[derive(Debug, Serialize)]
struct Verdict {
    verb: &'static str,
    object: String,
    decision: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    /// The rule that decides.
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<Named>,
    limits: Vec<Checked>,
    /// Other rules that speak of it, in the policy's order.
    also: Vec<Near>,
    /// Rules that differ in one of client, verb and object, in the policy's order.
    near: Vec<Near>,
}

/// A rule, and where to find it.
#[derive(Debug, Serialize)]
struct Named {
    id: String,
    place: String,
    decision: &'static str,
    justification: String,
}

/// A limit of the deciding rule.
#[derive(Debug, Serialize)]
struct Checked {
    #[serde(flatten)]
    limit: Limit,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum State {
    Holds,
    Fails,
    Later,
}

/// A rule that does not decide, and why not.
#[derive(Debug, Serialize)]
struct Near {
    #[serde(flatten)]
    rule: Named,
    why: Vec<String>,
}

/// `policy explain`. Exit 0 allowed, 4 asks, 3 refused, 2 not a request.
///
/// # Errors
/// The result cannot be written.
pub fn run(host: &Host, args: &ExplainArgs, io: &mut Io<'_>) -> io::Result<Exit> {
    let details = Details {
        bytes: args.bytes,
        mode: args.mode.clone(),
        owner: args.owner.clone(),
        group: args.group.clone(),
        now: args.now,
    };
    let usage = |io: &mut Io<'_>, why: String| writeln!(io.err, "{}", escape(&why)).map(|()| Exit::Usage);
    let (verb, elements) = match request::parse(&args.words, &details) {
        Ok(parsed) => parsed,
        Err(why) => return usage(io, why),
    };
    let law = match Law::load(host, args.policy.as_deref()) {
        Ok(law) => law,
        Err(no_law) => return no_law.tell(io),
    };
    let clients = match asker(&law, host, args.client.as_deref()) {
        Ok(clients) => clients,
        Err(why) => return usage(io, why),
    };
    let policy = match law.for_clients(&clients) {
        Ok(policy) => policy,
        Err(why) => return usage(io, format!("the helper refuses the policy: {why}")),
    };
    let explained = explain(&law, &policy, clients, verb, &elements);
    let format = if args.json { Format::Json } else { Format::Text };
    match format {
        Format::Json => writeln!(io.out, "{}", escape_json(&serde_json::to_string(&explained)?))?,
        Format::Text => render::text(&explained, io.out)?,
    }
    Ok(match (explained.decision, explained.code) {
        ("allow", _) => Exit::Done,
        ("ask", _) => Exit::NotApproved,
        (_, Some("invalid_argument")) => Exit::Usage,
        (_, _) => Exit::Refused,
    })
}

impl NoLaw {
    /// Tells why there is nothing to ask.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn tell(&self, io: &mut Io<'_>) -> io::Result<Exit> {
        for finding in &self.findings {
            writeln!(io.err, "{finding}")?;
        }
        writeln!(io.err, "{}", escape(&self.why))?;
        Ok(Exit::Failed)
    }
}

/// All clients that the asker is.
fn asker(law: &Law, host: &Host, named: Option<&str>) -> Result<Vec<String>, String> {
    let all = &law.rules.clients;
    let names = || all.iter().map(|client| client.name.as_str());
    let name = match (named, all.as_slice()) {
        (Some(named), _) if names().any(|name| name == named) => named,
        (Some(named), _) => {
            return Err(format!("no client is named {named:?}{}", did_you_mean(named, names())));
        }
        (None, []) => return Err("the policy has no client: it refuses everybody".to_owned()),
        (None, [only]) => &only.name,
        (None, _) => {
            let agent = all.iter().find(|client| client.user == "postern");
            let list = names().collect::<Vec<_>>().join(", ");
            let why = format!("say who asks with --client: {list}");
            agent.map(|client| client.name.as_str()).ok_or(why)?
        }
    };
    Ok(law.also(host, name))
}

fn explain(
    law: &Law,
    policy: &Policy,
    clients: Vec<String>,
    verb: VerbId,
    elements: &[Element],
) -> Explanation {
    let objects = elements.iter().map(|e| e.target.object().map(|object| (e.verb, object)));
    let wishes = objects.collect::<Result<Vec<(VerbId, Object)>, _>>();
    let said = wishes.clone().map_err(Refusal::from).and_then(|wishes| policy.decide::<()>(ASKER, &wishes));
    let verdicts = elements.iter().map(|element| verdict(law, policy, &clients, element)).collect();
    let risk = Risk::of(&wishes.unwrap_or_default());
    let (decision, refusal) = outcome(said.as_ref().map(|by| by.decision()));
    let asked = said.as_ref().ok().filter(|by| by.decision() == Decision::Ask);
    let (from, in_force) = match &law.origin {
        Origin::Accepted { unix_s, uid } => {
            (format!("accepted {} by uid {uid}", crate::text::time(*unix_s)), true)
        }
        Origin::Files(path) => (path.display().to_string(), false),
    };
    Explanation {
        v: 1,
        decision,
        code: refusal.map(|refusal| refusal.code.as_str()),
        message: refusal.map(|refusal| refusal.message.clone()),
        verb: verb.name(),
        clients,
        policy: Whence { digest: law.digest.to_string(), in_force, from, notes: law.notes.clone() },
        risk: Stake { score: risk.score, capabilities: risk.capabilities },
        approvers: asked.map(|by| by.approvers()),
        approval_ttl_s: asked.map(|by| by.approval_ttl().as_secs()),
        elements: verdicts,
    }
}

fn outcome(said: Result<Decision, &Refusal>) -> (&'static str, Option<&Refusal>) {
    match said {
        Ok(Decision::Allow) => ("allow", None),
        Ok(Decision::Ask) => ("ask", None),
        Ok(Decision::Deny) => ("refuse", None),
        Err(refusal) => ("refuse", Some(refusal)),
    }
}

/// One element: what the helper says, and each rule's part in it.
fn verdict(law: &Law, policy: &Policy, clients: &[String], element: &Element) -> Verdict {
    let verb = element.verb;
    let object = element.target.object();
    let said = match &object {
        Ok(object) => policy.decide::<()>(ASKER, &[(verb, object.clone())]),
        Err(invalid) => Err(Refusal::from(invalid.clone())),
    };
    let (decision, refusal) = outcome(said.as_ref().map(|by| by.decision()));
    let mut verdict = Verdict {
        verb: verb.name(),
        object: element.target.words(),
        decision,
        code: refusal.map(|refusal| refusal.code.as_str()),
        message: refusal.map(|refusal| refusal.message.clone()),
        rule: None,
        limits: Vec::new(),
        also: Vec::new(),
        near: Vec::new(),
    };
    // Of what is open, protected or no request at all no rule is asked.
    let asks_no_rule = |code| matches!(code, Code::Protected | Code::InvalidArgument | Code::UnknownClient);
    if verb.is_open() || refusal.is_some_and(|refusal| asks_no_rule(refusal.code)) {
        return verdict;
    }
    let Ok(object) = object else {
        return verdict;
    };
    let selects = |rule: &Rule| clients.contains(&rule.client) && rule.selects(verb, &object);
    let strictest = policy.rules().iter().filter(|rule| selects(rule)).map(|rule| rule.decision).max();
    let deciding = said.as_ref().ok().map(|by| by.rule_id().to_owned());
    for (index, (rule, wire)) in policy.rules().iter().zip(&law.rules.rules).enumerate() {
        let named = || named(law, index, wire);
        if selects(rule) {
            let is_strictest = Some(rule.decision) == strictest;
            let decides = match &deciding {
                Some(id) => *id == rule.id,
                None => is_strictest,
            };
            if decides && verdict.rule.is_none() {
                verdict.limits = checked(law, rule, wire, element, &object);
                verdict.rule = Some(named());
                continue;
            }
            verdict.also.push(Near { rule: named(), why: vec![role(rule, strictest, &object)] });
        } else {
            let missing = near::missing(wire, clients, verb, &element.target);
            if missing.distance() == 1 {
                verdict.near.push(Near { rule: named(), why: missing.words() });
            }
        }
    }
    verdict
}

/// Why a rule that speaks of the object is not the one that decides.
fn role(rule: &Rule, strictest: Option<Decision>, object: &Object) -> String {
    if let Some(strictest) = strictest.filter(|strictest| *strictest != rule.decision) {
        return format!(
            "speaks of it too, and {} is stricter than {}",
            strictest.as_str(),
            rule.decision.as_str()
        );
    }
    match (rule.decision, rule.holds(object)) {
        (Decision::Deny, _) => "denies it too".to_owned(),
        (Decision::Allow | Decision::Ask, Ok(())) => "lets it through too, and stands later".to_owned(),
        (Decision::Allow | Decision::Ask, Err(refusal)) => {
            format!("speaks of it too, but {}", refusal.message)
        }
    }
}

fn named(law: &Law, index: usize, rule: &root::Rule) -> Named {
    let decision = match rule.decision() {
        root::Decision::Allow => "allow",
        root::Decision::Ask => "ask",
        root::Decision::Deny | root::Decision::Unspecified => "deny",
    };
    let justification = law.remarks(&rule.id).justification;
    Named { id: rule.id.clone(), place: law.place(index), decision, justification }
}

/// The limits of the deciding rule, each of the request's own checked by itself.
fn checked(law: &Law, rule: &Rule, wire: &root::Rule, element: &Element, object: &Object) -> Vec<Checked> {
    let mut limits = words::limits(wire, &[element.verb], &law.rules.sources);
    limits.extend(on_this_host(&element.target));
    let state = |limit: &Limit| match limit.when {
        When::Request => {
            let alone = facet(&element.target, limit.key).map_or_else(|| object.clone(), |object| object);
            if rule.holds(&alone).is_ok() { State::Holds } else { State::Fails }
        }
        When::Plan | When::Run => State::Later,
    };
    limits.into_iter().map(|limit| Checked { state: state(&limit), limit }).collect()
}

/// What no rule says and every request of the kind must keep, once this host is looked at.
fn on_this_host(target: &Target) -> Option<Limit> {
    let (key, words) = match target {
        Target::Unit(_) => ("units", "the unit's canonical name and every alias must be granted as well"),
        Target::File(_) => {
            ("directories", "every directory on the way must be root's, and none a symbolic link")
        }
        Target::Nothing | Target::Package(..) | Target::Command(..) | Target::Request(_) => return None,
    };
    Some(Limit { key, words: words.to_owned(), when: When::Plan, reach: words::Reach::Narrow })
}

/// The target with nothing asked for but what this limit is about.
fn facet(target: &Target, key: &str) -> Option<Object> {
    let Target::File(file) = target else {
        return None;
    };
    let mut alone = request::FileTarget { path: file.path.clone(), ..request::FileTarget::default() };
    match key {
        "max_bytes" => alone.bytes = file.bytes,
        "modes" => alone.mode.clone_from(&file.mode),
        "owners" => alone.owner.clone_from(&file.owner),
        "groups" => alone.group.clone_from(&file.group),
        _ => return None,
    }
    Target::File(alone).object().ok()
}

//! Pending orders: decoded from exactly the bytes that an answer names, and checked for consistency.
//!
//! The recorder does not read orders, and the broker's claim about one is no proof. The text that a person sees is
//! computed here from the order alone, and the digest from the same bytes.

use super::plan;
use postern_policy::types::Digest;
use postern_policy::{Request, RequiredGrant, VerbId};
use postern_proto::link::{approval_digest, strict};
use postern_proto::root::v1::{Claim, Order};
use postern_proto::v1::{Approval, Meta, OperatorShown};
use postern_record::{Risk, rfc3339};
use std::sync::Arc;
use std::time::Duration;

/// An order with all that a person must know of it.
pub(super) struct Decoded {
    /// As the order says it, whatever the broker claims; who has agreed and until when is the recorder's word.
    pub approval: Approval,
    /// The text for people.
    pub text: Vec<u8>,
    /// The approval digest.
    pub digest: Digest,
    /// The command that would run, and the digest of the policy that it was decided under.
    pub command: Option<(String, Digest)>,
}

/// Puts the replies to `Show` together: the order, and the content in parts.
///
/// # Errors
/// It is no order, the content is not the announced one, or this program does not know the verb.
pub(super) fn decode(replies: &[OperatorShown]) -> Result<Decoded, String> {
    let [first, parts @ ..] = replies else { return Err("an answer without an order".to_owned()) };
    let order: Order = strict(&first.order).ok_or("bytes that are no order")?;
    let claim: Claim = strict(&first.claim).ok_or("bytes that are no claim")?;
    let approval = first.approval.clone().ok_or("an order without its approval")?;
    let contents = contents(&order, &parts.iter().flat_map(|part| part.content.clone()).collect::<Vec<_>>())?;
    let unknown = || format!("the verb {:?}, which this program does not know", order.verb);
    let verb = VerbId::from_name(&order.verb).ok_or_else(unknown)?;
    let (meta, _) = Request::decode(verb, &order.body).ok_or("a malformed request")?;
    let meta = meta.unwrap_or_default();
    let request = match &order.inverse {
        None => Request::decode_order(verb, &order.body, contents).ok_or("a request without its content")?,
        Some(inverse) => {
            let unknown = || format!("an undo by {:?}, which this program does not know", inverse.verb);
            let verb = VerbId::from_name(&inverse.verb).ok_or_else(unknown)?;
            Request::decode(verb, &inverse.body).ok_or("a malformed inverse")?.1
        }
    };
    let request = request.map_err(|invalid| invalid.to_string())?;
    let grants = request.required_grants();
    let risk = Risk::of(&grants);
    let approval = Approval {
        uid: order.uid,
        request_id: meta.request_id.clone(),
        task: meta.task.clone(),
        claimed_uid: meta.claimed_uid,
        verb: order.verb.clone(),
        target: target(&grants, &request),
        rule: order.rule.clone(),
        risk_score: risk.score,
        capabilities: risk.capabilities.iter().map(ToString::to_string).collect(),
        ..approval
    };
    let digest = approval_digest(&first.boot_id, &order.policy_digest, &first.order);
    let digest = Digest::from_bytes(&digest).unwrap_or_default();
    let text = text(&order, &claim, &approval, &request, &meta);
    let policy = Digest::from_bytes(&order.policy_digest).unwrap_or_default();
    let command = match &request {
        Request::Command(command) => Some((command.name.to_string(), policy)),
        _ => None,
    };
    Ok(Decoded { approval, text, digest, command })
}

/// The announced contents, each of its size and digest.
fn contents(order: &Order, mut bytes: &[u8]) -> Result<Vec<Arc<[u8]>>, String> {
    let mut contents = Vec::new();
    for announced in &order.contents {
        let size = usize::try_from(announced.size).unwrap_or(usize::MAX);
        let (content, rest) = bytes.split_at_checked(size).ok_or("an order without its content")?;
        if Digest::of(&[content]).as_bytes() != announced.sha256 {
            return Err("content that is not the order's".to_owned());
        }
        contents.push(content.into());
        bytes = rest;
    }
    if bytes.is_empty() { Ok(contents) } else { Err("more content than the order's".to_owned()) }
}

/// Returns the names of its objects, each once, and the values of a command.
fn target(grants: &[RequiredGrant], request: &Request) -> String {
    let mut targets = grants.iter().map(|(_, object)| object.name().to_owned()).collect::<Vec<_>>();
    targets.dedup();
    if let Request::Command(command) = request {
        targets.extend(command.arguments.iter().map(|(name, value)| format!("{name}={value:?}")));
    }
    targets.join(" ")
}

/// Writes the text. Every line names in its first word what it is; lines of a file's content begin with `+`, `-` or a
/// blank. Nothing is escaped for a terminal: who shows it must.
fn text(order: &Order, claim: &Claim, approval: &Approval, request: &Request, meta: &Meta) -> Vec<u8> {
    let hex = |bytes: &[u8]| Digest::from_bytes(bytes).unwrap_or_default().to_string();
    let Approval { verb, target, client, uid, rule, approvers, .. } = approval;
    let expires = rfc3339(Duration::from_secs(approval.expires_unix_s));
    let mut lines = vec![
        "postern approval 2".to_owned(),
        format!("verb {verb}"),
        format!("target {target}"),
        format!("client uid {uid}, which the broker names {client:?}"),
        format!("rule {rule}"),
        format!("risk {} of 100: {}", approval.risk_score, approval.capabilities.join(", ")),
        format!("expires {expires}"),
        format!("approvers {approvers}"),
        format!("policy {}", hex(&order.policy_digest)),
    ];
    if !meta.task.is_empty() || meta.claimed_uid != 0 {
        lines.push(format!("claims task {:?} of uid {}", meta.task, meta.claimed_uid));
    }
    if approval.asked_by != 0 {
        lines.push(format!("a session of uid {} was open and was quoted when this came", approval.asked_by));
        if approval.excludes_asker {
            lines.push(format!("uid {} cannot approve this", approval.asked_by));
        }
    }
    // A broker that shows one thing in lists and sends another is not to be trusted with anything.
    if (claim.uid, &claim.verb, &claim.rule) != (order.uid, &order.verb, &order.rule) {
        let (uid, verb, rule) = (claim.uid, &claim.verb, &claim.rule);
        lines.push(format!("WARNING the broker claims another order: {verb} by uid {uid} under rule {rule}"));
    }
    lines.push(String::new());
    lines.push("plan".to_owned());
    if let Some(inverse) = &order.inverse {
        lines.push(format!("undo of order {}, by {}", hex(&inverse.order_id), inverse.verb));
    }
    let mut text = lines.join("\n").into_bytes();
    text.push(b'\n');
    text.extend(plan::of(order, request));
    let reason = if meta.reason.is_empty() { "none".to_owned() } else { format!("{:?}", meta.reason) };
    text.extend_from_slice(format!("\nthe client's reason, in its own words: {reason}\n").as_bytes());
    text
}

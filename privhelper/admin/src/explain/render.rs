//! An explanation for a terminal.

use super::model::{Explanation, LimitState, OtherRule, Outcome, Verdict};
use crate::limits::{Breadth, duration};
use crate::policy::apply::short;
use crate::text::{count, escape};
use postern_policy::{Code, Decision};
use std::io::{self, Write};

/// Most near rules that are shown; `--json` has all.
const NEAR: usize = 12;

/// Writes it: the answer first, then each element, then which policy said so.
pub fn text(explained: &Explanation, out: &mut dyn Write) -> io::Result<()> {
    let many = explained.elements.len() > 1;
    for (index, verdict) in explained.elements.iter().enumerate() {
        if index > 0 {
            writeln!(out)?;
        }
        element(explained, verdict, out)?;
    }
    writeln!(out)?;
    if many {
        let code = explained.code.map_or_else(String::new, |code| format!(" ({})", code.as_str()));
        let why = explained.message.as_deref().unwrap_or("each is decided for itself, the strictest counts");
        line(out, "together", &format!("{}{code}: {why}", explained.decision.words()))?;
    }
    line(
        out,
        "risk",
        &format!("{} of 100: {}", explained.risk.score, explained.risk.capabilities.join(", ")),
    )?;
    if let (Some(approvers), Some(ttl)) = (explained.approvers, explained.approval_ttl_s) {
        let people = if approvers == 1 { "1 operator".to_owned() } else { format!("{approvers} operators") };
        line(out, "approval", &format!("{people} within {}", duration(ttl)))?;
    }
    let policy = &explained.policy;
    line(out, "policy", &format!("{}, {}", short(&policy.digest), policy.from))?;
    policy.notes.iter().try_for_each(|note| line(out, "note", note))?;
    line(out, "", "nothing was done, and nothing was asked of the helper")
}

fn line(out: &mut dyn Write, name: &str, words: &str) -> io::Result<()> {
    writeln!(out, "{name:<10} {}", escape(words))
}

fn element(explained: &Explanation, verdict: &Verdict, out: &mut dyn Write) -> io::Result<()> {
    let code = verdict.code.map_or_else(String::new, |code| format!(" ({})", code.as_str()));
    let object = escape(&verdict.object);
    let of = if object.is_empty() { String::new() } else { format!(" {object}") };
    let clients = escape(&explained.clients.join("+"));
    let answer = verdict.decision.words().to_uppercase();
    writeln!(out, "{answer}{code}: {}{of} for client {clients}", verdict.verb)?;
    if let Some(about) = &verdict.about {
        line(out, "what", about)?;
    }
    if let Some(message) = &verdict.message {
        line(out, "because", message)?;
    }
    if let Some(rule) = &verdict.rule {
        line(out, "rule", &format!("{}, {} ({})", rule.id, rule.place, rule.decision.as_str()))?;
        if !rule.justification.is_empty() {
            line(out, "", &format!("\"{}\"", rule.justification))?;
        }
    } else if verdict.code.is_none() {
        line(out, "rule", "none: every client may ask this about its own requests")?;
    }
    for (name, state) in
        [("fails", LimitState::Fails), ("holds", LimitState::Holds), ("later", LimitState::Later)]
    {
        for (index, checked) in verdict.limits.iter().filter(|limit| limit.state == state).enumerate() {
            let wide = if checked.limit.reach == Breadth::Wide { " [wide]" } else { "" };
            let name = if index == 0 { name } else { "" };
            line(out, name, &format!("{} (`{}`){wide}", checked.limit.words, checked.limit.key))?;
        }
    }
    let also = verdict.also.iter().collect::<Vec<_>>();
    rules(out, "other rules that match it, in the policy's order:", &also)?;
    // Of what is allowed only a rule that would have been stricter is of interest.
    let is_allowed = verdict.decision == Outcome::Allow;
    let near = verdict.near.iter().filter(|near| !is_allowed || near.rule.decision != Decision::Allow);
    let title = "rules that nearly match, in the policy's order, and what is missing:";
    rules(out, title, &near.collect::<Vec<_>>())?;
    if verdict.code == Some(Code::NoGrant) && verdict.near.is_empty() {
        line(out, "near", "no rule comes near: each differs in more than one of client, verb and object")?;
    }
    Ok(())
}

fn rules(out: &mut dyn Write, title: &str, rules: &[&OtherRule]) -> io::Result<()> {
    if rules.is_empty() {
        return Ok(());
    }
    writeln!(out, "{title}")?;
    for near in rules.iter().take(NEAR) {
        let rule = &near.rule;
        writeln!(out, "  {}, {} ({})", escape(&rule.id), escape(&rule.place), rule.decision.as_str())?;
        for why in &near.why {
            writeln!(out, "    {}", escape(why))?;
        }
    }
    if rules.len() > NEAR {
        writeln!(out, "  and {} (--json has them all)", count(rules.len() - NEAR, "rule"))?;
    }
    Ok(())
}

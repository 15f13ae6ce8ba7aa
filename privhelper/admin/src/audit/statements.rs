//! The broker's claims against root's statements: `begin` holds the former, `end` the latter, and they must agree.
//!
//! A difference means that one of the two programs said something untrue, such as a captured broker that has an effect
//! recorded under another user's name. Only bytes are compared; memory grows with what has begun and not ended.

use memchr::memmem::find;
use std::collections::HashMap;

/// Most differences that are kept.
const FOUND_MAX: usize = 100;

/// A `begin` and its `end` that differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// Number of the `begin`.
    pub begin: u64,
    /// Number of the `end`.
    pub end: u64,
    /// Which members, with both values.
    pub what: String,
}

/// The statement of a `begin` or `end` about its request.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Members<'a> {
    /// The request's id.
    pub request_id: &'a str,
    /// The client's uid.
    pub uid: &'a str,
    /// The verb.
    pub verb: &'a str,
    /// The rule; empty = none is named.
    pub rule: &'a str,
    /// The decision; empty = none is named.
    pub decision: &'a str,
}

/// The effects that have begun and not ended, and the differences found.
#[derive(Debug, Default)]
pub struct Statements {
    /// By request id and uid: number and line of the `begin`.
    begun: HashMap<(String, String), (u64, [String; 3])>,
    /// The members that differ.
    pub found: Vec<Difference>,
}

impl Statements {
    /// Takes a record that the chain has taken.
    pub fn take(&mut self, seq: u64, event: &[u8], line: &[u8]) {
        if !matches!(event, b"begin" | b"end" | b"interrupted") {
            return;
        }
        let Some(members) = members(line) else { return };
        let key = (members.request_id.to_owned(), members.uid.to_owned());
        let said = [members.verb, members.rule, members.decision].map(str::to_owned);
        if event == b"begin" {
            self.begun.insert(key, (seq, said));
            return;
        }
        // Under another uid too: that is the worst of differences.
        let other = || self.begun.keys().find(|(id, _)| *id == key.0).cloned();
        let Some(known) = self.begun.contains_key(&key).then(|| key.clone()).or_else(other) else { return };
        let Some((begin, claimed)) = self.begun.remove(&known) else { return };
        let names = ["uid", "verb", "rule", "decision"];
        let claimed = std::iter::once(known.1).chain(claimed);
        let stated = std::iter::once(key.1).chain(said);
        let pairs = names.into_iter().zip(claimed.zip(stated));
        // An operator's undo names no rule, and an `interrupted` states nothing.
        let differs = pairs
            .filter(|(_, (claimed, stated))| !claimed.is_empty() && !stated.is_empty() && claimed != stated);
        let what = differs
            .map(|(name, (claimed, stated))| format!("{name} {claimed} was claimed, {stated} is stated"));
        let what = what.collect::<Vec<_>>().join(", ");
        if !what.is_empty() && self.found.len() < FOUND_MAX {
            self.found.push(Difference { begin, end: seq, what });
        }
    }
}

/// Reads the members of a record of an effect; none if it is of no client's request.
#[must_use]
fn members(line: &[u8]) -> Option<Members<'_>> {
    let line = std::str::from_utf8(line).ok()?;
    let (request_id, rest) = value(line, ",\"request_id\":\"", '"')?;
    let at = find(rest.as_bytes(), b",\"client\":{")?;
    let rest = rest.get(at..)?;
    let (uid, rest) = value(rest, "\"uid\":", ',')?;
    let (verb, rest) = value(rest, ",\"verb\":\"", '"')?;
    let rule = value(rest, ",\"rule\":\"", '"').map_or("", |(rule, _)| rule);
    let decision = value(rest, ",\"decision\":\"", '"').map_or("", |(decision, _)| decision);
    Some(Members { request_id, uid, verb, rule, decision })
}

/// The text between `before` and `end`, and what follows it. Quotes inside of texts are escaped, so `before` is no text.
fn value<'a>(text: &'a str, before: &str, end: char) -> Option<(&'a str, &'a str)> {
    let at = find(text.as_bytes(), before.as_bytes())? + before.len();
    text.get(at..)?.split_once(end)
}

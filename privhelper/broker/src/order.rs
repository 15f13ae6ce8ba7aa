//! Orders: a client's own bytes and what was decided about them, for the recorder and root.

use crate::error::Error;
use crate::recorder::{Known, Recorder};
use crate::request::{Change, NewContent, Request, To, decode_order};
use crate::sys::store;
use postern_policy::types::Digest;
use postern_policy::{Code, Decision, Denied, Grant, Object, Policy, RequiredGrant, VerbId};
use postern_proto::link;
use postern_proto::root::v1::{self as root, Content, Facts, SecretValue, SecretValues};
use postern_proto::v1 as wire;
use prost::Message;
use std::sync::Arc;

/// An order with what travels beside it.
#[derive(Debug)]
pub struct Order {
    /// The order. Facts and decision are set once they are known.
    pub wire: root::Order,
    /// The verb that has the effect: of an undo that of its inverse.
    pub verb: VerbId,
    /// Whose programs it is for: `files`, `units`, `packages` or `commands`.
    pub family: String,
    /// The arguments of that verb.
    pub request: Request,
    /// Values of secret parameters.
    secrets: Vec<SecretValue>,
}

impl Order {
    /// An order of a request of `uid`. `of` is the verb, its family, the arguments, and the message without content.
    #[must_use]
    pub fn new(uid: u32, request_id: &str, of: (VerbId, &'static str, Request, Vec<u8>)) -> Self {
        let (verb, family, request, body) = of;
        let wire = root::Order {
            order_id: link::order_id(uid, request_id).to_vec(),
            uid,
            verb: verb.name().to_owned(),
            body,
            contents: contents(request.changes()),
            ..root::Order::default()
        };
        Self { wire, verb, family: family.to_owned(), request, secrets: Vec::new() }
    }

    /// Takes the inverse that root issued, if the request is an undo: that is what is decided and done.
    ///
    /// # Errors
    /// `unknown_request`, `undo_gone`, or the recorder does not answer.
    pub fn with_inverse(mut self, recorder: &Recorder) -> Result<Self, Error> {
        let Request::Undo(of) = &self.request else { return Ok(self) };
        let gone = |why: &str| Error::from(Denied::new(Code::UndoGone, why));
        let recalled = match recorder.recall(self.wire.uid, of.as_str(), None)? {
            Known::Ended(recalled) => *recalled,
            Known::Running => return Err(Denied::new(Code::Busy, "this request has not ended yet").into()),
            Known::New => return Err(gone("no request of yours has this id")),
        };
        if recalled.undone {
            return Err(gone("this request was undone already, or its undo has begun"));
        }
        let Some(inverse) = recalled.inverse else {
            return Err(gone("this request changed nothing that can be undone"));
        };
        let damaged = || gone("how to undo this request is not known any more");
        self.verb = VerbId::from_name(&inverse.verb).ok_or_else(damaged)?;
        let content = |content: &Content| {
            let sha256 = Digest::from_bytes(&content.sha256)?;
            Some(NewContent { size: content.size, sha256, bytes: None })
        };
        let contents = inverse.contents.iter().map(content).collect::<Option<Vec<_>>>();
        let decoded = contents.and_then(|contents| decode_order(self.verb, &inverse.body, contents));
        self.request = decoded.and_then(|decoded| decoded.request.ok()).ok_or_else(damaged)?;
        self.family.clone_from(&inverse.family);
        self.wire.inverse = Some(inverse);
        Ok(self)
    }

    /// Returns what must be granted. An undo must be granted as its inverse, and each rule that let the undone request
    /// through must let its undo be asked for. What a person approved is asked again.
    #[must_use]
    pub fn required_grants(&self) -> Vec<RequiredGrant> {
        let request = self.request.required_grants(self.verb);
        let Some(inverse) = &self.wire.inverse else { return request };
        let least = if inverse.needs_person { Decision::Ask } else { Decision::Allow };
        let rule = |rule: &String| (VerbId::RequestUndo, Object::Undo { rule: rule.clone(), least });
        inverse.rules.iter().map(rule).chain(request).collect()
    }

    /// Replaces the values of secret parameters by commitments, so that no digest of the order tells a guess.
    ///
    /// # Errors
    /// The kernel has no random numbers.
    pub fn commit_secrets(&mut self, policy: &Policy) -> Result<(), Error> {
        let Request::Command(command) = &mut self.request else { return Ok(()) };
        let row = policy.command(command.name.as_str()).filter(|_| self.wire.inverse.is_none());
        let mut message: wire::CommandRunRequest = link::strict(&self.wire.body).ok_or(Error::Malformed)?;
        for parameter in &mut message.parameters {
            if !row.is_some_and(|row| row.is_secret(&parameter.name)) {
                continue;
            }
            let random = store::random()?;
            let commitment = Digest::of(&[&random, parameter.value.as_bytes()]).to_string();
            let value = std::mem::replace(&mut parameter.value, commitment).into_bytes();
            let (parameter, random) = (parameter.name.clone(), random.to_vec());
            self.secrets.push(SecretValue { parameter, random, value });
        }
        self.wire.body = message.encode_to_vec();
        Ok(())
    }

    /// Sets what was decided, and about which facts.
    pub fn decided(&mut self, policy: &Policy, grant: &Grant, facts: Facts) {
        self.wire.decision = grant.decision().wire().into();
        grant.rule_id().clone_into(&mut self.wire.rule);
        self.wire.policy_digest = policy.digest().as_bytes().to_vec();
        self.wire.facts = Some(facts);
    }

    /// Returns the content that follows the order. That of an undo is root's already.
    #[must_use]
    pub fn content(&self) -> Vec<Arc<[u8]>> {
        let contents = self.request.changes().iter().filter_map(|change| match &change.to {
            To::Content(content) => content.bytes.clone(),
            To::Removed | To::Directory | To::Attributes => None,
        });
        contents.collect()
    }

    /// Returns the frame of secrets; none if the verb has none. `command.run` always has one.
    #[must_use]
    pub fn secrets(&self) -> Option<SecretValues> {
        let has = self.verb == VerbId::CommandRun && self.wire.inverse.is_none();
        has.then(|| SecretValues { values: self.secrets.clone() })
    }
}

fn contents(changes: &[Change]) -> Vec<Content> {
    let content = |change: &Change| match &change.to {
        To::Content(content) => {
            Some(Content { size: content.size, sha256: content.sha256.as_bytes().to_vec() })
        }
        To::Removed | To::Directory | To::Attributes => None,
    };
    changes.iter().filter_map(content).collect()
}

//! Orders: a client's own bytes and the decision about them, for the recorder and root.

use crate::body::split_secrets;
use crate::error::{Error, Fault};
use crate::recorder::{Known, Recorder};
use postern_peers::files::random;
use postern_policy::request::{FileChange, NewState, undo_grants};
use postern_policy::types::Digest;
use postern_policy::{Code, Decision, Denied, Grant, Policy, Request, RequiredGrant, VerbId};
use postern_proto::link;
use postern_proto::root::v1::{self as root, Content, SecretValue, SecretValues};
use std::sync::Arc;

/// An order with the content and secrets that are sent beside it.
#[derive(Debug)]
pub struct Order {
    /// The order. Facts and decision are set once they are known.
    pub wire: root::Order,
    /// The verb that has the effect: of an undo that of its inverse.
    pub verb: VerbId,
    /// The family of programs that it is for: `files`, `units`, `packages`, `commands`, or `users` for files of a rule with `as`.
    pub family: String,
    /// The arguments of that verb.
    pub request: Request,
    /// Values of secret parameters.
    secrets: Vec<SecretValue>,
    /// Why the undo cannot begin.
    too_late: Option<Denied>,
}

impl Order {
    /// An order of a request of `uid`, whose message without content is `body`.
    #[must_use]
    pub fn new(uid: u32, request_id: &str, family: &str, request: Request, body: Vec<u8>) -> Self {
        let verb = request.verb();
        let wire = root::Order {
            order_id: link::order_id(uid, request_id).to_vec(),
            uid,
            verb: verb.name().to_owned(),
            body,
            contents: contents(&request),
            ..root::Order::default()
        };
        Self { wire, verb, family: family.to_owned(), request, secrets: Vec::new(), too_late: None }
    }

    /// Replaces an undo by the inverse that root issued: the inverse is decided and performed.
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
            let why = "this request was undone already, or its undo has begun";
            self.too_late = Some(Denied::new(Code::UndoGone, why));
        } else if !recalled.later.is_empty() {
            let why = format!("request {} changed the same later; undo that one first", recalled.later);
            self.too_late = Some(Denied::new(Code::UndoConflict, why));
        }
        let Some(inverse) = recalled.inverse else {
            return Err(gone("this request changed nothing that can be undone"));
        };
        let damaged = || gone("how to undo this request is not known any more");
        self.verb = VerbId::from_name(&inverse.verb).ok_or_else(damaged)?;
        // Root has its content and decides it; here only size and digest are known.
        let contents = inverse.contents.iter().map(|_| Arc::default()).collect();
        let decoded = Request::decode_order(self.verb, &inverse.body, contents);
        self.request = decoded.and_then(Result::ok).ok_or_else(damaged)?;
        self.family.clone_from(&inverse.family);
        self.wire.inverse = Some(inverse);
        Ok(self)
    }

    /// Checks that an undo may begin. One that has ended is answered before this.
    ///
    /// # Errors
    /// `undo_gone` or `undo_conflict`.
    pub fn check_undo(&self) -> Result<(), Denied> {
        self.too_late.clone().map_or(Ok(()), Err)
    }

    /// Returns the grants that the request needs. An undo needs those of its inverse, and `request.undo` in each rule that
    /// granted the undone request. An undo of an approved request needs approval again.
    #[must_use]
    pub fn required_grants(&self) -> Vec<RequiredGrant> {
        let request = self.request.required_grants();
        let Some(inverse) = &self.wire.inverse else { return request };
        let least = if inverse.needs_person { Decision::Ask } else { Decision::Allow };
        undo_grants(&inverse.rules, least).into_iter().chain(request).collect()
    }

    /// Replaces the values of secret parameters by commitments, so that no digest of the order can test a guess.
    ///
    /// # Errors
    /// The kernel has no random numbers.
    pub fn commit_secrets(&mut self, policy: &Policy) -> Result<(), Error> {
        let Request::Command(command) = &self.request else { return Ok(()) };
        if self.wire.inverse.is_some() {
            return Ok(());
        }
        if let Some(row) = policy.command(command.name.as_str()) {
            let split =
                split_secrets(row, &self.wire.body, || random().map_err(Fault::io("read random bytes")))?;
            (self.wire.body, self.secrets) = split.ok_or(Error::Malformed)?;
        }
        Ok(())
    }

    /// Sets the decision and the policy that it was made under.
    pub fn decided(&mut self, policy: &Policy, grant: &Grant) {
        self.wire.decision = grant.decision().wire().into();
        grant.rule_id().clone_into(&mut self.wire.rule);
        if grant.rules().any(|rule| !rule.as_user.is_empty()) {
            "users".clone_into(&mut self.family);
        }
        self.wire.policy_digest = policy.digest().as_bytes().to_vec();
    }

    /// Returns the changes of files, each with the size and digest of its new content. Empty for other verbs.
    pub fn changes(&self) -> impl Iterator<Item = (&FileChange, Option<&Content>)> {
        let changes = if let Request::Files(files) = &self.request { files.changes.as_slice() } else { &[] };
        let inverse = self.wire.inverse.as_ref();
        let mut contents = inverse.map_or(&self.wire.contents, |inverse| &inverse.contents).iter();
        changes.iter().map(move |change| {
            let is_content = matches!(change.to, NewState::Content(_));
            (change, if is_content { contents.next() } else { None })
        })
    }

    /// Returns the content that follows the order; none for an undo, since root has it.
    #[must_use]
    pub fn content(&self) -> Vec<Arc<[u8]>> {
        let Request::Files(files) = &self.request else { return Vec::new() };
        let contents = files.contents().filter(|_| self.wire.inverse.is_none());
        contents.cloned().collect()
    }

    /// Returns the frame of secrets; none if the verb has none. `command.run` always has one.
    #[must_use]
    pub fn secrets(&self) -> Option<SecretValues> {
        let has = self.verb == VerbId::CommandRun && self.wire.inverse.is_none();
        has.then(|| SecretValues { values: self.secrets.clone() })
    }
}

/// Sizes and digests of new content.
fn contents(request: &Request) -> Vec<Content> {
    let Request::Files(files) = request else { return Vec::new() };
    let content = |bytes: &Arc<[u8]>| Content {
        size: u64::try_from(bytes.len()).unwrap_or(u64::MAX),
        sha256: Digest::of(&[bytes]).as_bytes().to_vec(),
    };
    files.contents().map(content).collect()
}

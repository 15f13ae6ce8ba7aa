//! One request of a client: the caller's identity, the claim for the record, and the answer.

use crate::body::without_contents;
use crate::claim;
use crate::client::Client;
use crate::describe;
use crate::error::Error;
use crate::events::{EventSender, Grpc};
use crate::history::Question;
use crate::meta::{Meta, split, without_session};
use crate::order::Order;
use crate::state::{State, of};
use postern_peers::{Peer, Permit, locked};
use postern_policy::types::Digest;
use postern_policy::{Code, Decision, Denied, Grant, Policy, Request, VerbId};
use postern_proto::root::v1::Claim;
use postern_proto::v1::{self as wire, event};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Shortest time to approve: shorter ones would let a client ask people again and again.
const APPROVAL_MIN: Duration = Duration::from_secs(60);

/// The longest wait for a turn that the recorder takes, in milliseconds.
const WAIT_MAX_MS: u64 = 60 * 60 * 1000;

/// How a request ends.
#[derive(Debug)]
pub enum Outcome {
    /// The recorder has written it.
    Recorded(Box<wire::Completed>),
    /// The broker records it, as this event.
    Noted(&'static str, Box<wire::Completed>),
}

/// A request under way.
#[derive(Debug)]
pub struct Call {
    /// The state that all connections share.
    pub state: Arc<State>,
    /// The caller, from `SO_PEERCRED`.
    pub peer: Peer,
    /// Sends events to the client.
    pub sender: EventSender,
    /// The claim that is recorded about it.
    pub claim: Claim,
    /// The keyed digest of the request.
    pub digest: Digest,
    /// The same digest without `meta`: a new try of the same request has the same.
    pub canonical: Digest,
    /// Whether the recorder was asked to take the request's id.
    pub takes_id: bool,
    /// The part of the plan that the client may see.
    pub plan: wire::Plan,
    /// How long the client waits for locks and jobs.
    pub limit: Duration,
    /// Whether people were asked.
    pub was_asked: bool,
    started: Instant,
    /// The permit of a running request, given back while people are asked.
    running: Option<Permit>,
    /// Memory of the message.
    memory: Option<Permit>,
    /// The request as denials are remembered, while people are asked.
    parked: Option<String>,
    attached: bool,
}

impl Call {
    /// A request of `method`, whose message takes this memory.
    #[must_use]
    pub fn new(
        state: &Arc<State>,
        peer: Peer,
        sender: EventSender,
        method: &str,
        memory: Option<Permit>,
    ) -> Self {
        Self {
            state: Arc::clone(state),
            peer,
            sender,
            claim: Claim { verb: method.to_owned(), ..of(peer) },
            digest: Digest::default(),
            canonical: Digest::default(),
            takes_id: false,
            plan: wire::Plan::default(),
            limit: Duration::ZERO,
            was_asked: false,
            started: Instant::now(),
            running: None,
            memory,
            parked: None,
            attached: false,
        }
    }

    /// Decodes the message strictly, and makes the order of it.
    ///
    /// # Errors
    /// It is malformed, or an argument is invalid.
    pub fn decode(&mut self, verb: VerbId, family: &str, bytes: Vec<u8>) -> Result<(Meta, Order), Error> {
        let decoded = Request::decode(verb, &bytes).zip(without_contents(verb, &bytes));
        let Some(((wire, request), body)) = decoded else {
            self.state.note_malformed(self.peer, &self.claim.verb, &bytes);
            return Err(Error::Malformed);
        };
        drop(bytes);
        claim::of_meta(&mut self.claim, wire.as_ref());
        let head = wire.clone().map(without_session);
        let meta = Meta::new(wire)?;
        let (head, rest) = (head.unwrap_or_default(), split(&body).1.to_vec());
        let body = [head.as_slice(), &rest].concat();
        let order = Order::new(self.peer.uid, meta.request_id.as_str(), family, request?, body);
        // Content counts by its digest, which is known.
        let contents = order.wire.contents.iter().flat_map(|content| content.sha256.clone());
        let contents = contents.collect::<Vec<_>>();
        self.canonical = self.state.digest(&[verb.name().as_bytes(), &[0], &rest, &contents]);
        self.digest = self.state.digest(&[self.canonical.as_bytes(), &head]);
        claim::of_request(&mut self.claim, &meta, &order);
        Ok((meta, order))
    }

    /// Identifies the client, under the policy and the account files as they are now.
    ///
    /// # Errors
    /// `unknown_client`.
    pub fn client(&mut self) -> Result<Client, Error> {
        let policy = self.state.policy()?;
        let identity = self.state.identity(self.peer.uid)?;
        self.claim.policy = policy.digest().to_string();
        let client = policy.clients_of(&identity).join("+");
        self.claim.client = claim::text(&client, claim::TEXT_MAX);
        if client.is_empty() {
            let why = format!("uid {} is no client of the policy", self.peer.uid);
            return Err(Denied::new(Code::UnknownClient, why).into());
        }
        Ok(Client { policy, identity })
    }

    /// Adds the person whose session the client quotes, where a rule wants to know.
    ///
    /// # Errors
    /// The recorder does not answer, or the account files cannot be read.
    pub fn asked_by(&self, client: Client) -> Result<Client, Error> {
        if self.claim.session.is_empty() || !client.policy.names_people() {
            return Ok(client);
        }
        let person = self.state.identity(self.state.recorder.person(&self.claim)?)?;
        let identity = client.policy.asked_by(client.identity, person);
        Ok(Client { identity, ..client })
    }

    /// Stores the decision: the rule, and the time limits of the client's waiting and of approval.
    pub fn decided(&mut self, meta: &Meta, grant: &Grant) {
        claim::of_grant(&mut self.claim, grant);
        self.limit = meta.wait.map_or(grant.timeout(), |wait| wait.min(grant.timeout()));
        let wait_ms = u64::try_from(self.limit.as_millis()).unwrap_or(u64::MAX);
        self.claim.wait_ms = wait_ms.clamp(1, WAIT_MAX_MS);
        let ttl = grant.approval_ttl();
        let ttl = meta.wait.map_or(ttl, |wait| wait.max(APPROVAL_MIN).min(ttl));
        self.claim.approval_ttl_s = ttl.as_secs();
    }

    /// Returns the question for people, if the request needs approval and may be asked.
    ///
    /// # Errors
    /// `denied_recently`, with the operator's words.
    pub fn may_ask(&self, grant: &Grant) -> Result<Question, Denied> {
        let question = Question::new(self.peer.uid, self.canonical, grant.elements());
        if grant.decision() == Decision::Ask {
            self.state.history.may_ask(&question, self.state.host.unix().as_secs())?;
        }
        Ok(question)
    }

    /// Tells the client that the policy lets its request through, and whether a command has no effect by the operator's
    /// word. No check depends on that word.
    pub fn accepted(&mut self, grant: &Grant, policy: &Policy) {
        let (decision, rule) = (grant.decision().wire().into(), grant.rule_id().to_owned());
        let runs = grant.elements().iter().filter(|element| element.verb == VerbId::CommandRun);
        let mut rows = runs.filter_map(|element| policy.command(element.object.name()));
        let no_effect = rows.any(|row| row.wire.no_effect);
        let accepted = wire::Accepted { decision, rule, attached: false, no_effect };
        self.sender.event(event::Kind::Accepted(accepted));
    }

    /// Tells the client that its id is under way already.
    pub fn attach(&mut self) {
        self.attached = true;
        let accepted = wire::Accepted { attached: true, ..wire::Accepted::default() };
        self.sender.event(event::Kind::Accepted(accepted));
    }

    /// Whether another call made the request.
    #[must_use]
    pub const fn is_attached(&self) -> bool {
        self.attached
    }

    /// Takes the permit of a running request; false if its uid or all uids have too many.
    pub fn begin(&mut self) -> bool {
        self.running = self.state.running.take(self.peer.uid, 1);
        self.running.is_some()
    }

    /// Gives the permit back while people are asked, and tells the client.
    pub fn park(&mut self, approval_id: String, expires_unix_s: u64) {
        (self.running, self.memory) = (None, None);
        let mut waiting = locked(&self.state.waiting);
        if self.attached {
            self.plan = waiting.get(&approval_id).cloned().unwrap_or_default();
        } else {
            waiting.insert(approval_id.clone(), self.plan.clone());
        }
        drop(waiting);
        (self.parked, self.was_asked) = (Some(approval_id.clone()), true);
        let plan = Some(self.plan.clone());
        self.sender.event(event::Kind::Waiting(wire::Waiting { approval_id, expires_unix_s, plan }));
    }

    /// Takes the permit again: people have approved.
    pub fn resume(&mut self) {
        self.forget_question();
        self.running = Some(self.state.running.force(self.peer.uid, 1));
    }

    fn forget_question(&mut self) {
        if let Some(id) = self.parked.take().filter(|_| !self.attached) {
            locked(&self.state.waiting).remove(&id);
        }
    }

    /// Answers that there is no such verb.
    pub fn unimplemented(mut self) {
        let unsupported = Denied::new(Code::Unsupported, "this helper has no such verb");
        claim::of_error(&mut self.claim, &Error::Denied(unsupported));
        // It is refused whether or not the log can take it.
        drop(self.state.note(self.claim.clone()));
        self.sender.end(None, Grpc::Unimplemented, "unsupported: this helper has no such verb");
    }

    /// Answers the client in every case. An outcome that the recorder has not written is recorded first.
    pub fn answer(mut self, result: Result<Outcome, Error>) {
        self.forget_question();
        self.claim.duration_us = u64::try_from(self.started.elapsed().as_micros()).unwrap_or(u64::MAX);
        match result {
            Ok(Outcome::Recorded(completed)) => self.sender.finish(event::Kind::Completed(*completed)),
            Ok(Outcome::Noted(event, mut completed)) => {
                if !completed.replayed {
                    completed.duration_us = self.claim.duration_us;
                }
                claim::of_outcome(&mut self.claim, event, &completed);
                match self.state.note(self.claim.clone()) {
                    Ok(()) => self.sender.finish(event::Kind::Completed(*completed)),
                    Err(error) => self.refuse(error),
                }
            }
            Err(error @ Error::Recorded(_)) => self.refuse(error),
            Err(Error::Malformed) => {
                self.sender.end(None, Grpc::InvalidArgument, "malformed request");
                self.sender.close();
            }
            Err(error @ (Error::Denied(_) | Error::Failed(_))) => {
                claim::of_error(&mut self.claim, &error);
                let noted = self.state.note(self.claim.clone());
                self.refuse(noted.err().unwrap_or(error));
            }
        }
    }

    fn refuse(&self, error: Error) {
        let denied = match error {
            Error::Denied(denied) | Error::Recorded(denied) => denied,
            Error::Failed(fault) => fault.denied(),
            Error::Malformed => Denied::new(Code::Interrupted, "malformed"),
        };
        let granted_nearby = self.nearby(&denied.missing);
        self.sender.finish(event::Kind::Refused(wire::Refused {
            code: denied.code.as_str().to_owned(),
            message: denied.message,
            missing: denied.missing,
            retry_after_s: denied.retry_after_s,
            plan: None,
            granted_nearby,
        }));
    }

    /// Returns what the client is granted of the verb whose grant is missing.
    fn nearby(&self, missing: &str) -> Vec<String> {
        let verb = missing.split(' ').next().and_then(VerbId::from_name);
        let known = self.state.policy().ok().zip(self.state.identity(self.peer.uid).ok());
        let known = verb.zip(known);
        known.map_or_else(Vec::new, |(verb, (policy, who))| describe::nearby(&policy, &who, verb))
    }
}

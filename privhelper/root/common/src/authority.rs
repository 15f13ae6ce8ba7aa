//! Decides an order under the accepted policy: for its uid, with consent where a rule marks it `ask`.
//!
//! The broker decided the same before. Its decision is not used: a captured broker can drop orders, not add rights.

use crate::error::{Error, Fault};
use crate::host::{Accounts, ActivePolicy, Host};
use crate::mac::Key;
use crate::receive::Ordered;
use postern_policy::request::undo_grants;
use postern_policy::{
    Code, Decision, Denied, Facts, Grant, Identity, Policy, Request, RequiredGrant, VerbId,
};
use postern_proto::link::approval_digest;
use postern_proto::root::v1::{Content, Envelope, Inverse, Outcome, UndoLimits};
use postern_proto::v1::Completed;
use std::collections::BTreeSet;
use std::io::Write;
use std::sync::Arc;

/// The input of a decision.
#[derive(Debug)]
pub struct Authority<'a> {
    /// This host.
    pub host: &'a Host,
    /// The accepted policy, as it was loaded.
    active: &'a ActivePolicy,
    /// Its rules.
    pub policy: &'a Policy,
    /// The accounts as they are now.
    pub accounts: &'a Accounts,
    /// The order.
    pub ordered: &'a Ordered,
    /// The client.
    pub who: Identity,
    /// Of `request.undo`: the inverse that this program issued.
    pub inverse: Option<&'a Inverse>,
    /// Whether this is an operator's undo, which needs no rule.
    pub by_operator: bool,
    /// The key of inverses.
    key: Option<&'a Key>,
    /// None for the facts of a change.
    envelope: Option<&'a Envelope>,
}

impl<'a> Authority<'a> {
    /// Checks every order: it names the accepted policy, and an undo has an inverse that this program issued for the client.
    /// A program without `key` issues no inverses and undoes nothing.
    ///
    /// # Errors
    /// `plan_changed`, `undo_gone`, `no_grant`, `invalid_argument`.
    pub fn new(
        host: &'a Host,
        active: &'a ActivePolicy,
        accounts: &'a Accounts,
        key: impl Into<Option<&'a Key>>,
        ordered: &'a Ordered,
    ) -> Result<Self, Denied> {
        let person_uid = ordered.envelope.as_ref().map_or(0, |envelope| envelope.person_uid);
        let envelope = ordered.envelope.as_ref().filter(|_| !ordered.is_question());
        let (order, policy) = (&ordered.order, &active.policy);
        if order.policy_digest != policy.digest().as_bytes() {
            return Err(replaced());
        }
        let key = key.into();
        let is_undo = ordered.verb == VerbId::RequestUndo;
        let inverse = order.inverse.as_ref();
        if inverse.is_some() != is_undo {
            let why = "an undo comes with its inverse, and nothing else does";
            return Err(Denied::new(Code::InvalidArgument, why));
        }
        let by_operator = envelope.is_some_and(|envelope| envelope.by_operator);
        if let Some(inverse) = inverse {
            if inverse.family != host.family || !key.is_some_and(|key| key.verifies(inverse)) {
                return Err(Denied::new(Code::UndoGone, "root did not issue this inverse"));
            }
            if inverse.uid != order.uid && !by_operator {
                return Err(Denied::new(Code::UnknownRequest, "the request is another client's"));
            }
        } else if by_operator {
            return Err(Denied::new(Code::NoGrant, "an operator may only undo"));
        }
        let who = Identity { unix_s: host.unix().as_secs(), ..accounts.identity(order.uid) };
        let has_asker_left = envelope.is_some_and(|envelope| envelope.has_person_left);
        let who = Identity { has_asker_left, ..policy.asked_by(who, accounts.identity(person_uid)) };
        let authority =
            Self { host, active, policy, accounts, ordered, who, inverse, by_operator, key, envelope };
        if by_operator && let Some(envelope) = envelope {
            authority.check_person(envelope.operator_uid)?;
        }
        Ok(authority)
    }

    /// The limits of the copy for undo. An operator's undo must not fail for want of room.
    #[must_use]
    pub fn undo_limits(&self) -> UndoLimits {
        let unbounded = UndoLimits { max_bytes: u64::MAX, max_count: u32::MAX, max_age_s: u64::MAX };
        if self.by_operator { unbounded } else { self.policy.undo() }
    }

    /// Decides the request that takes effect: the order's with this content, or that of the inverse. Without content, as long as
    /// that is not here: the `Execute` is decided again with it.
    ///
    /// # Errors
    /// As [`Self::decide`]; `invalid_argument`: it is no request of its verb, or has not one content for each change
    /// that writes.
    pub fn decide_request(&self, contents: Option<Vec<Arc<[u8]>>>) -> Result<(Request, Grant), Denied> {
        let malformed = || Denied::new(Code::InvalidArgument, "the order is no request of its verb");
        let order = &self.ordered.order;
        let (verb, body) = match self.inverse {
            Some(inverse) => (VerbId::from_name(&inverse.verb).ok_or_else(malformed)?, &inverse.body),
            None => (self.ordered.verb, &order.body),
        };
        let contents = contents.unwrap_or_else(|| vec![Arc::default(); self.contents().len()]);
        let request = Request::decode_order(verb, body, contents).ok_or_else(malformed)??;
        let grant = self.decide(&request.required_grants())?;
        Ok((request, grant))
    }

    /// The announced content of that request.
    #[must_use]
    pub fn contents(&self) -> &'a [Content] {
        self.inverse.map_or(&self.ordered.order.contents, |inverse| &inverse.contents)
    }

    /// Decides the request, before anything that it names is touched. An undo also requires that each rule which
    /// granted the undone request lists `request.undo`.
    ///
    /// # Errors
    /// As [`Policy::decide`]; `protected`; `not_approved`.
    pub fn decide(&self, required: &[RequiredGrant]) -> Result<Grant, Denied> {
        if self.by_operator {
            self.policy.check_protected(required)?;
            return Ok(Grant::of_operator());
        }
        let undo = |inverse: &Inverse| {
            let least = if inverse.needs_person { Decision::Ask } else { Decision::Allow };
            undo_grants(&inverse.rules, least)
        };
        let mut all = self.inverse.map(undo).unwrap_or_default();
        all.extend_from_slice(required);
        let grant = self.policy.decide(&self.who, &all)?;
        self.check_consent(&grant)?;
        Ok(grant)
    }

    /// Decides the facts that root gathered itself, right before the effect.
    ///
    /// # Errors
    /// As [`Policy::decide_facts`]; `not_approved`.
    pub fn decide_facts(&self, grant: Grant, facts: &Facts) -> Result<Grant, Denied> {
        let grant = self.policy.decide_facts(grant, &self.who, facts)?;
        self.check_consent(&grant)?;
        Ok(grant)
    }

    /// Checks an order that a rule marks `ask`: enough people approved exactly these bytes, under this policy and in this boot.
    fn check_consent(&self, grant: &Grant) -> Result<(), Denied> {
        if grant.decision() != Decision::Ask || self.ordered.is_question() {
            return Ok(());
        }
        let denied = |why: &str| Err(Denied::new(Code::NotApproved, why));
        let Some(envelope) = self.envelope else { return denied("nobody has approved this") };
        let digest = self.policy.digest();
        let wanted = approval_digest(&self.host.boot_id, digest.as_bytes(), &self.ordered.bytes);
        if envelope.approved != wanted {
            return denied("what was approved is not this order");
        }
        let asker = self.who.asker.as_ref().filter(|_| grant.excludes_asker()).map(|asker| asker.uid);
        let may_agree = |uid: &u32| Some(*uid) != asker;
        let approvers = envelope.approvers.iter().copied().filter(may_agree).collect::<BTreeSet<_>>();
        approvers.iter().try_for_each(|uid| self.check_person(*uid))?;
        if u32::try_from(approvers.len()).unwrap_or(u32::MAX) < grant.approvers() {
            return denied("not all required approvers have approved");
        }
        Ok(())
    }

    /// Checks that an approver or operator is not a client of the policy.
    fn check_person(&self, uid: u32) -> Result<(), Denied> {
        let is_client = !self.policy.clients_of(&self.accounts.identity(uid)).is_empty();
        if is_client || (uid == self.ordered.order.uid && !self.by_operator) {
            return Err(Denied::new(Code::NotApproved, format!("uid {uid} is a client and no operator")));
        }
        Ok(())
    }

    /// Writes the witness line to the journal, right before the first effect. The recorder cannot write such a line.
    ///
    /// # Errors
    /// It cannot be written, or the policy was replaced; then there is no effect.
    pub fn witness(&self, grant: &Grant) -> Result<(), Error> {
        // Since it was decided, root may have waited for a lock, for systemd, or for a process of the rule's user.
        if !self.active.is_current() {
            return Err(replaced().into());
        }
        let order = &self.ordered.order;
        let (id, digest, decision) = (self.ordered.id, self.ordered.digest(), grant.decision().as_str());
        // <5>: notice, sd-daemon(3).
        let line = format!("<5>postern-act v1 {id} {digest} {} {} {decision}\n", order.uid, order.verb);
        Ok(std::io::stderr().write_all(line.as_bytes()).map_err(Fault::io("write to the journal"))?)
    }

    /// The ids of the rules that grant the order, each once.
    #[must_use]
    pub fn rules(grant: &Grant) -> Vec<String> {
        let ids = grant.rules().map(|rule| rule.id.clone()).collect::<BTreeSet<_>>();
        ids.into_iter().collect()
    }

    /// Whether this undoes a change that had to be kept. Such an undo is final: the undo of an undo would be that change
    /// again, without its deadline.
    fn is_final(&self) -> bool {
        self.inverse.is_some_and(|undone| undone.keep_within_s > 0)
    }

    /// Checks, before the effect, that a change which is taken back unless it is kept has an inverse.
    ///
    /// # Errors
    /// `plan_refused`.
    pub fn check_inverse(&self, grant: &Grant, inverse: Option<&Inverse>) -> Result<(), Denied> {
        if inverse.is_some() || self.is_final() || grant.keep_within_s() == 0 {
            return Ok(());
        }
        let why = "a rule takes this back unless it is kept (`keep_within`), and nothing could take it back: the old \
                   content or owner cannot be kept, or the command has no `reverse` for these values";
        Err(Denied::new(Code::PlanRefused, why))
    }

    /// The inverse of this order, not signed, as an ordinary request; none if it is a final undo. The undo of an approved
    /// order needs approval again.
    #[must_use]
    pub fn inverse_of(&self, grant: &Grant, verb: VerbId, body: Vec<u8>) -> Option<Inverse> {
        (!self.is_final()).then(|| Inverse {
            family: self.host.family.to_owned(),
            order_id: self.ordered.id.as_bytes().to_vec(),
            uid: self.ordered.order.uid,
            rules: Self::rules(grant),
            verb: verb.name().to_owned(),
            body,
            needs_person: grant.decision() == Decision::Ask,
            keep_within_s: grant.keep_within_s(),
            ..Inverse::default()
        })
    }

    /// Root's own statement of what it did, with the inverse, which is signed here.
    #[must_use]
    pub fn outcome(
        &self,
        grant: &Grant,
        objects: Vec<String>,
        completed: Completed,
        inverse: Option<Inverse>,
    ) -> Outcome {
        let (rule, decision) = (grant.rule_id().to_owned(), grant.decision().wire().into());
        let inverse = inverse.zip(self.key).map(|(inverse, key)| key.sign(inverse));
        let undoable = inverse.is_some();
        Outcome {
            verb: self.ordered.order.verb.clone(),
            uid: self.ordered.order.uid,
            objects,
            rule: rule.clone(),
            decision,
            completed: Some(Completed { rule, decision, undoable, ..completed }),
            inverse,
            ..Outcome::default()
        }
    }
}

fn replaced() -> Denied {
    Denied::new(Code::PlanChanged, "the policy was replaced after this request was decided; send it again")
}

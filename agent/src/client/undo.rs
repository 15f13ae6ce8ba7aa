//! Decides which changes can be undone: those with a state before them to return to, whose undo the policy grants.

use super::pending_request::{Outcome, PendingRequest, new_id};
use super::transport::Transport;
use crate::protocol::args::{Nothing, Of};
use crate::protocol::event::{Completed, Decision, Description, Event, Status, UnitInfo};
use crate::protocol::mode::Mode;
use crate::protocol::request::Request;
use serde::{Deserialize, Serialize};

/// Why the helper is asked, for its log.
const REASON: &str = "whether the change can be taken back";

/// The verb that takes a request back.
const UNDO: &str = "request.undo";

/// Verbs that leave what they found: there is nothing to return to, whatever the helper says.
const WITHOUT_INVERSE: &[&str] = &[
    "package.repair",
    "package.update",
    "unit.daemon-reload",
    "unit.reload",
    "unit.reset-failed",
    "unit.restart",
    "unit.try-restart",
];

/// Verbs by which a unit takes up changed files.
const TAKES_UP: &[&str] = &["unit.reload", "unit.restart", "unit.try-restart"];

/// A unit that was reloaded or restarted after a change of files: it runs with them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Follower {
    /// How it took the change up.
    pub verb: String,
    /// The unit.
    pub target: String,
}

/// A request that is to be taken back.
#[derive(Clone, Debug)]
pub struct Earlier {
    /// Its whole id.
    pub id: String,
    /// The units that run with it.
    pub followers: Vec<Follower>,
}

impl Follower {
    /// Advises to restart or reload the unit after the undo.
    #[must_use]
    pub fn advice(&self) -> String {
        let action = self.action();
        format!(
            "{0} still runs with what was taken back: {action} it (postern service {action} {0})",
            self.target
        )
    }

    /// How it takes the earlier files up again.
    #[must_use]
    pub fn action(&self) -> &'static str {
        if self.verb == "unit.reload" { "reload" } else { "restart" }
    }
}

/// Whether a request left something to take back. A unit that is as it was, such as one that ran once and ended, has not.
#[must_use]
pub fn has_inverse(verb: &str, done: &Completed) -> bool {
    let is_other =
        |unit: &UnitInfo| is_up(&unit.was_active) != is_up(&unit.active) || unit.was_enabled != unit.enabled;
    // Without the state before, the helper knows better.
    let is_known = |unit: &&UnitInfo| !unit.was_active.is_empty();
    done.undoable
        && !WITHOUT_INVERSE.contains(&verb)
        && done.unit.as_ref().filter(is_known).is_none_or(is_other)
}

fn is_up(active: &str) -> bool {
    matches!(active, "active" | "activating" | "reloading" | "refreshing")
}

/// The units that took a change of files up: of the requests after it, oldest first, the last one for each unit.
#[must_use]
pub fn followers<'r>(verb: &str, later: impl Iterator<Item = (&'r str, &'r str)>) -> Vec<Follower> {
    let mut followers: Vec<Follower> = Vec::new();
    if !verb.starts_with("file.") {
        return followers;
    }
    for (verb, target) in later.filter(|(verb, _)| TAKES_UP.contains(verb)) {
        followers.retain(|follower| follower.target != target);
        followers.push(Follower { verb: verb.to_owned(), target: target.to_owned() });
    }
    followers
}

/// The verbs whose rules let their undo be asked for; not known before the policy was asked.
#[derive(Clone, Debug, Default)]
pub struct UndoGrants(Option<Vec<String>>);

impl UndoGrants {
    /// As the policy describes itself.
    #[must_use]
    pub fn of(description: &Description) -> Self {
        let lists_undo = description
            .grants
            .iter()
            .filter(|grant| grant.decision != Decision::Deny && grant.verbs.iter().any(|verb| verb == UNDO));
        Self(Some(lists_undo.flat_map(|grant| grant.verbs.clone()).collect()))
    }

    fn may_include(&self, verb: &str) -> bool {
        self.0.iter().flatten().any(|known| known == verb || verb == UNDO)
    }

    /// Leaves `undoable` to an outcome only if its inverse exists and is granted: the helper says so of this very
    /// request. It is not asked where no rule grants any undo of the verb.
    pub async fn settle(&mut self, transport: &Transport, ask: &PendingRequest, outcome: &mut Outcome) {
        let Event::Completed(done) = &mut outcome.end else { return };
        let may_be = ask.mode == Mode::Execute
            && matches!(done.status, Status::Done | Status::Partly)
            && has_inverse(outcome.verb, done);
        done.undoable = may_be && self.is_granted(transport, ask, outcome.verb, &outcome.id).await;
    }

    /// Whether this request may be taken back.
    pub async fn is_granted(
        &mut self,
        transport: &Transport,
        ask: &PendingRequest,
        verb: &str,
        id: &str,
    ) -> bool {
        let look = |request, mode| PendingRequest {
            request,
            id: new_id(),
            mode,
            reason: REASON.to_owned(),
            wait_ms: 0,
            ..ask.clone()
        };
        if self.0.is_none() {
            let described =
                transport.ask(&look(Request::PolicyDescribe(Nothing {}), Mode::Execute), &mut |_| {}).await;
            if let Event::Completed(done) = &described.end
                && let Some(description) = &done.description
            {
                *self = Self::of(description);
            }
        }
        if !self.may_include(verb) {
            return false;
        }
        let undo = Request::RequestUndo(Of { of: id.to_owned() });
        let checked = transport.ask(&look(undo, Mode::Check), &mut |_| {}).await;
        matches!(&checked.end, Event::Completed(done) if done.status == Status::Previewed)
    }
}

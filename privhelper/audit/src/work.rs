//! One order under way: claim, record, request state, and subscribers.

use crate::log::Record;
use crate::requests::bounded;
use crate::state::State;
use crate::subscribers::Subscribers;
use crate::turns::Turn;
use postern_policy::VerbId;
use postern_proto::link::order_id;
use postern_proto::root::v1::{Envelope, RequestState};
use postern_proto::v1::{Completed, Status};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Longest wait for a turn.
const TURN_MAX: Duration = Duration::from_secs(60 * 60);
/// How far the order's request id is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Id {
    /// Nothing: a read.
    None,
    /// It is taken in memory.
    Taken,
    /// A record has taken it.
    Recorded,
}

/// One order under way.
pub struct Work {
    /// The record under construction, with the broker's claim.
    pub record: Record,
    /// Its state for a restart.
    pub state: RequestState,
    /// The encoded order, which is not read.
    pub order: Vec<u8>,
    /// Content frames as they came.
    pub content: Arc<Vec<Vec<u8>>>,
    /// The frame of secret values.
    pub secrets: Option<Vec<u8>>,
    /// Its subscribers.
    pub subscribers: Arc<Subscribers>,
    /// When it was received.
    pub started: Instant,
    /// How far its id is taken.
    pub id: Id,
    /// People's agreement: who approved which digest.
    pub consent: Envelope,
    /// Whether it takes back a change that nobody kept.
    pub is_take_back: bool,
}

impl Work {
    /// Begins the work of an order that has just come.
    pub fn new(record: Record, state: RequestState, order: Vec<u8>) -> Self {
        Self {
            record,
            state,
            order,
            content: Arc::default(),
            secrets: None,
            subscribers: Arc::default(),
            started: Instant::now(),
            id: Id::None,
            consent: Envelope::default(),
            is_take_back: false,
        }
    }

    /// Returns the id of the order.
    pub fn order_id(&self) -> [u8; 32] {
        order_id(self.state.uid, &self.state.request_id)
    }

    /// Waits for a turn with its objects.
    pub fn turn<'a>(&self, state: &'a State, is_wanted: impl Fn() -> bool) -> Option<Turn<'a>> {
        let limit = Duration::from_millis(self.record.claim.wait_ms).min(TURN_MAX);
        let who = (self.state.uid, self.state.by_operator);
        state.turns.take(who, &self.state.objects, limit, is_wanted)
    }

    /// Returns the envelope of the order.
    pub fn envelope(&self, seq: u64) -> Envelope {
        Envelope {
            seq,
            person_uid: self.record.person_uid(),
            has_person_left: self.record.asked_by.as_ref().is_some_and(|asker| !asker.open),
            by_operator: self.state.by_operator,
            operator_uid: if self.state.by_operator { self.state.uid } else { 0 },
            ..self.consent.clone()
        }
    }

    pub(crate) fn failed(code: &str, message: &str) -> Completed {
        let (code, message) = (code.to_owned(), message.to_owned());
        Completed { status: Status::Failed.into(), code, message, ..Completed::default() }
    }

    pub(crate) fn ended(&self, completed: &Completed, inverse: Vec<u8>) -> RequestState {
        let (uid, request_id) = (self.state.uid, self.state.request_id.clone());
        let completed = Some(bounded(completed));
        RequestState { uid, request_id, completed, inverse, ..RequestState::default() }
    }

    /// Returns the state of an effect that has ended, with its deadline if it must be kept.
    pub(crate) fn ended_with_deadline(
        &self,
        state: &State,
        mut completed: Completed,
        inverse: Vec<u8>,
        keep_within_s: u64,
    ) -> RequestState {
        let audit = &state.host.audit;
        let mut not_taken_back = String::new();
        if keep_within_s > 0 && !inverse.is_empty() {
            completed.keep_until_unix_s = audit.unix().as_secs().saturating_add(keep_within_s);
            completed.loaded_by.clone_from(&self.state.loaded_by);
        } else if self.state.keep_within_s > 0
            && self.state.undoes.is_empty()
            && matches!(completed.status(), Status::Done | Status::Partly | Status::Interrupted)
        {
            completed.message.push_str("; nothing takes this back (`keep_within`)");
            not_taken_back.clone_from(&completed.message);
        }
        let ended = RequestState { not_taken_back, ..self.ended(&completed, inverse) };
        if completed.keep_until_unix_s == 0 && self.state.verb != VerbId::HostReboot.name() {
            return ended;
        }
        RequestState { boot_id: audit.boot_id.clone(), ended_us: audit.boot_us(), keep_within_s, ..ended }
    }
}

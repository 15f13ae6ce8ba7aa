//! Changes that must be kept (`keep_within`): their deadlines, `request.keep`, and the take-back at the deadline.
//!
//! Deadlines are in the states that the log holds, so they survive a restart. In the boot of the change the clock since boot
//! counts, after another boot the wall clock. A pause does not hold a take-back: it undoes what an agent did, and whoever
//! cannot log in any more could not resume.

use crate::claims::with_state;
use crate::log::{Event, Payer, Record};
use crate::requests::{keep_until, loads, settled};
use crate::state::State;
use crate::undo::take_back;
use nix::unistd::{Gid, Uid};
use postern_peers::{Peer, locked};
use postern_policy::{Code, Denied};
use postern_proto::root::v1::{Claim, RequestState};
use postern_proto::v1::Unkept;
use postern_record::Json;
use std::sync::Arc;

/// Reasons that do not pass. All others are tried again: a program that is away, a lock that a reverse needs.
const FINAL: [Code; 4] = [Code::UndoConflict, Code::UndoGone, Code::Protected, Code::InvalidArgument];
/// Reasons that no time ends: nobody gets rid of a deadline by many changes, or by keeping its objects busy.
const ENDLESS: [Code; 2] = [Code::Busy, Code::RateLimited];
/// The reason in the records of a take-back.
const REASON: &str = "keep_within: nobody kept the change in time";

/// Returns the changes that wait to be kept, and those that nobody kept and that could not be taken back.
pub fn listed(state: &State) -> Vec<Unkept> {
    let listed = state.requests.unkept().into_iter().chain(state.requests.not_taken_back());
    let listed = listed.map(|one| Unkept {
        keep_until_unix_s: keep_until(&one),
        not_taken_back: state.attempts.why(&one).unwrap_or_else(|| one.not_taken_back.clone()),
        loaded_by: one.loaded_by,
        request_id: one.request_id,
        uid: one.uid,
        client: one.client,
        verb: one.verb,
        target: one.target,
    });
    listed.collect()
}

/// Records that a client keeps a change of its own. That shows that a process of its uid could connect after the change.
///
/// # Errors
/// `unknown_request`; `denied`: its connection was there before the change; `undo_gone`. The refusal is recorded.
pub fn keep(state: &State, record: &Record) -> Result<(), Denied> {
    // No undo of it begins meanwhile.
    let _one_at_a_time = locked(&state.begins);
    let claim = &record.claim;
    let mut unkept = state.requests.unkept().into_iter();
    let change = unkept.find(|one| one.uid == claim.uid && one.request_id == claim.undo_of);
    let kept = change
        .ok_or_else(|| Denied::new(Code::UnknownRequest, "no change of yours with this id waits to be kept"))
        .and_then(|change| {
            if !change.loaded_by.is_empty() {
                let by = change.loaded_by.join(" and ");
                let why = format!("keep a run of {by} that was made after it: that keeps this too");
                return Err(Denied::new(Code::Denied, why));
            }
            if change.boot_id == state.host.audit.boot_id && claim.connected_us <= change.ended_us {
                let why = "keep it over a new connection: this one was there before the change";
                return Err(Denied::new(Code::Denied, why));
            }
            // Files that it has put in force may be back already.
            if change.family == "commands" && is_over(state, &change) {
                return Err(Denied::new(Code::UndoGone, "its time is over: it is being taken back"));
            }
            let (undoes_uid, undoes) = (change.uid, change.request_id.clone());
            state.requests.check_undo(&RequestState { undoes_uid, undoes, ..RequestState::default() })?;
            Ok(settled(&change, ""))
        });
    let kept = kept.inspect_err(|denied| {
        let outcome = Json::new().text("status", "refused").text("code", denied.code.as_str());
        // It is refused whether or not the log can take it.
        drop(state.log.note(Event::Refused, &Record { outcome, ..record.clone() }));
    })?;
    state.log.durable(Event::Served, &Record { own: with_state(Json::new(), &kept), ..record.clone() })?;
    state.requests.restore(kept);
    Ok(())
}

impl State {
    /// Takes back each change that was due to be kept, in threads of their own.
    pub fn take_back_due(self: &Arc<Self>) {
        let (now, unkept) = ((self.host.audit.since_boot)(), self.requests.unkept());
        self.attempts.retain(&unkept);
        let due = unkept.iter().filter(|one| is_due(self, one, &unkept) && self.attempts.begin(one, now));
        for change in due {
            let (shared, of) = (Arc::clone(self), change.clone());
            let thread = std::thread::Builder::new().name("take-back".to_owned());
            if thread.spawn(move || try_once(&shared, &of)).is_err() {
                self.attempts.again(change, now, "no thread");
            }
        }
    }
}

/// Whether a change is due. What a command has put in force is taken back with its run, and before it: the reverse of the run
/// loads what is there then.
fn is_due(state: &State, change: &RequestState, unkept: &[RequestState]) -> bool {
    let mut runs = unkept.iter().filter(|one| loads(one, change)).peekable();
    let is_over =
        if runs.peek().is_some() { runs.all(|run| is_over(state, run)) } else { is_over(state, change) };
    is_over && !unkept.iter().any(|one| loads(change, one))
}

fn is_over(state: &State, change: &RequestState) -> bool {
    let audit = &state.host.audit;
    if change.boot_id != audit.boot_id {
        return keep_until(change) <= audit.unix().as_secs();
    }
    let within_us = change.keep_within_s.saturating_mul(1_000_000);
    change.ended_us.saturating_add(within_us) <= audit.boot_us()
}

fn try_once(state: &State, change: &RequestState) {
    let (uid, gid) = (Uid::effective().as_raw(), Gid::effective().as_raw());
    let peer = Peer { uid, gid, pid: i32::try_from(std::process::id()).unwrap_or_default() };
    let nothing = Denied::new(Code::UndoGone, "there was nothing left to take back");
    let denied = take_back(state, peer, change, REASON).err().unwrap_or(nothing);
    // It is taken back, or somebody else has undone or kept it; or the next recorder tries again.
    if state.is_stopping() || !state.requests.is_unkept(change.uid, &change.request_id) {
        return;
    }
    let why = format!("{}: {}", denied.code.as_str(), denied.message);
    let is_in_time = state.attempts.again(change, (state.host.audit.since_boot)(), &why);
    if ENDLESS.contains(&denied.code) || (is_in_time && !FINAL.contains(&denied.code)) {
        return;
    }
    give_up(state, change, &denied, &why);
}

/// Records, also in the journal, that the change stays though nobody kept it. A person has to look.
fn give_up(state: &State, change: &RequestState, denied: &Denied, why: &str) {
    let given_up = settled(change, why);
    let outcome = Json::new().text("status", "failed").text("code", denied.code.as_str());
    let claim = Claim {
        request_id: change.request_id.clone(),
        task: change.task.clone(),
        client: change.client.clone(),
        verb: change.verb.clone(),
        ..Claim::default()
    };
    let record = Record {
        own: with_state(Json::new(), &given_up),
        origin: Payer::Recorder,
        claim,
        outcome: outcome.text("detail", &denied.message),
        ..Record::default()
    };
    let _freed = state.reserve.free();
    if state.log.durable(Event::NotTakenBack, &record).is_ok() {
        state.requests.restore(given_up);
    } else {
        state.attempts.again(change, (state.host.audit.since_boot)(), why);
    }
}

//! A conversation that has grown too long for its model: shortened so far that the model can still say where it stands.

use crate::inspect::UNREAD;
use crate::llm::conversation::{CallResult, Turn};
use serde_json::json;

/// Brings a conversation to about half its length: the oldest results go first, then the oldest turns. The person's words
/// stay, and so do the last results, unless nothing else can go. False where nothing is left that could go.
pub fn halve(turns: &mut Vec<Turn>) -> bool {
    let before = length(turns);
    let target = before / 2;
    if let Some((last, earlier)) = turns.split_last_mut() {
        let left = leave_out(earlier, before, target);
        if left == before {
            leave_out(std::slice::from_mut(last), before, target);
        }
    }
    // The answer of a call goes with it.
    while length(turns) > target && turns.len() > 3 {
        turns.remove(1);
        while turns.len() > 2 && matches!(turns.get(1), Some(Turn::Results(_))) {
            turns.remove(1);
        }
    }
    length(turns) < before
}

/// Replaces results by a note, the oldest first, until the conversation has this length in bytes; its length then.
fn leave_out(turns: &mut [Turn], mut total: usize, target: usize) -> usize {
    let note = json!({ "status": "truncated", "error": format!("this result is left out for want of room. {UNREAD}") });
    let note = note.to_string();
    for turn in turns {
        let Turn::Results(results) = turn else { continue };
        for CallResult { text, .. } in results.iter_mut().filter(|result| result.text.len() > note.len()) {
            if total > target {
                total -= text.len() - note.len();
                text.clone_from(&note);
            }
        }
    }
    total
}

/// In bytes.
fn length(turns: &[Turn]) -> usize {
    let of = |turn: &Turn| match turn {
        Turn::User(text) => text.len(),
        Turn::Model(reply) => {
            let calls = reply.calls.iter().map(|call| call.name.len() + call.arguments.len());
            reply.text.len() + calls.sum::<usize>()
        }
        Turn::Results(results) => results.iter().map(|result| result.text.len()).sum(),
    };
    turns.iter().map(of).sum()
}

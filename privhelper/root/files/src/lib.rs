//! `postern-files`: reads and changes files for clients, with three capabilities, below the granted directories only.
//!
//! It takes orders from the recorder alone, decides each again under the accepted policy, and acts.

pub mod as_user;
mod change;
pub mod confine;
mod effect;
mod order;
pub mod path;
mod read;
pub mod recover;
mod stage;
mod state;
pub mod swap;
pub mod target;
mod tree;
pub mod xattr;

pub use state::State;

use postern_proto::root::v1::Step;
use postern_root::{Answer, Connection, Error, Received};
use std::io::{Read, Write};

impl State {
    /// Serves one connection of the recorder: one order. The thread must end with it, since a read drops its write access.
    pub fn serve<S: Read + Write>(&self, stream: S) {
        let mut connection = Connection::new(stream);
        let Some(received) = connection.receive() else { return };
        let answer = match received {
            Received::Order(ordered) if ordered.is_execute => {
                let outcome = order::execute(self, &ordered).map_err(|error| self.or_not_started(error));
                if ordered.step() == Step::Commit && !matches!(outcome, Err(Error::NotStarted(_))) {
                    self.stages.discard(&ordered);
                }
                outcome.map(Answer::Outcome)
            }
            Received::Order(ordered) if ordered.is_question() => {
                order::inspect(self, &ordered).map(Answer::Facts)
            }
            Received::Order(ordered) => read::read(self, &ordered, &mut connection).map(Answer::Outcome),
            Received::Outcomes(id) => recover::state_of(self, id).map(Answer::State).map_err(Error::from),
            Received::Acknowledge(id) => {
                self.outcomes.acknowledge(id).map(|()| Answer::Acknowledged).map_err(Error::from)
            }
        };
        connection.answer(answer.map_err(|error| self.or_not_started(error)));
    }
}

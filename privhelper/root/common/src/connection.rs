//! The answering side of one connection: events while the order runs, then exactly one last frame.

use postern_proto::link::{self, Kind};
use postern_proto::root::v1::{Close, CloseReason, Facts, Outcome, OutcomesReply};
use postern_proto::v1 as wire;
use prost::Message;
use std::io::{self, Read, Write};

use crate::error::Error;
use crate::outcomes::OutcomeState;
use crate::receive::{self, Received};

/// One connection of the recorder's.
#[derive(Debug)]
pub struct Connection<S>(S);

impl<S: Read + Write> Connection<S> {
    /// Wraps an accepted socket.
    pub const fn new(stream: S) -> Self {
        Self(stream)
    }

    /// Receives the order. None: it was refused, and the reason was sent.
    pub fn receive(&mut self) -> Option<Received> {
        match receive::receive(&mut self.0) {
            Ok(received) => Some(received),
            Err(reason) => {
                self.close(&Close { reason: reason.into(), ..Close::default() });
                None
            }
        }
    }

    /// Sends an event on its way to the client.
    ///
    /// # Errors
    /// The recorder is gone. An effect continues; a read ends.
    pub fn event(&mut self, kind: wire::event::Kind) -> io::Result<()> {
        link::send(&mut self.0, Kind::Event, &wire::Event { seq: 0, kind: Some(kind) })
    }

    /// Sends the last frame of an order that was begun.
    pub fn outcome(&mut self, outcome: &Outcome) {
        self.last(Kind::Outcome, outcome);
    }

    /// Sends the facts of a change, as the last frame.
    pub fn facts(&mut self, facts: &Facts) {
        self.last(Kind::Facts, facts);
    }

    /// Sends the state of an order, as the last frame.
    pub fn state(&mut self, state: &OutcomeState) {
        let (state, outcome) = match state {
            OutcomeState::Unknown => ("unknown", Vec::new()),
            OutcomeState::Running => ("running", Vec::new()),
            OutcomeState::Ended(outcome) => ("ended", outcome.encode_to_vec()),
        };
        self.last(Kind::OutcomesReply, &OutcomesReply { state: state.to_owned(), outcome });
    }

    /// Sends the last frame of a connection on which nothing was done.
    pub fn close(&mut self, close: &Close) {
        self.last(Kind::Close, close);
    }

    /// Ends the connection with an error: without a last frame if an effect may have begun, so that the recorder asks.
    pub fn fail(&mut self, error: &Error) {
        match error.close() {
            Some(close) => self.close(&close),
            // Without a journal nobody reads it.
            None => drop(writeln!(io::stderr(), "{}", error.detail())),
        }
    }

    /// Confirms an acknowledgement.
    pub fn acknowledged(&mut self) {
        self.close(&Close { reason: CloseReason::Unspecified.into(), ..Close::default() });
    }

    /// If the recorder is gone the frame is lost; it asks for the outcome by its id later.
    fn last(&mut self, kind: Kind, message: &impl Message) {
        drop(link::send(&mut self.0, kind, message));
    }
}

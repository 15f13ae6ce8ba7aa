//! The answering side of one connection: events while the order runs, then exactly one last frame.

use postern_proto::link::{self, Kind};
use postern_proto::root::v1::{Close, Facts, Outcome, OutcomesReply};
use postern_proto::v1 as wire;
use prost::Message;
use std::io::{self, Read, Write};

use crate::error::Error;
use crate::receive::{self, Received};

/// Content of the last frame of a connection. A refusal is a `Close` instead.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "one a connection, sent at once")]
pub enum Answer {
    /// The end of an order that was begun, or of a read.
    Outcome(Outcome),
    /// The facts of a change.
    Facts(Facts),
    /// The state of an order.
    State(OutcomesReply),
    /// The outcome is forgotten.
    Acknowledged,
}

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

    /// Sends the last frame. After an error there is none if an effect may have begun, so that the recorder asks.
    pub fn answer(&mut self, answer: Result<Answer, Error>) {
        match answer {
            Ok(Answer::Outcome(outcome)) => self.last(Kind::Outcome, &outcome),
            Ok(Answer::Facts(facts)) => self.last(Kind::Facts, &facts),
            Ok(Answer::State(state)) => self.last(Kind::OutcomesReply, &state),
            Ok(Answer::Acknowledged) => self.close(&Close::default()),
            Err(error) => match error.close() {
                Some(close) => self.close(&close),
                // Without a journal nobody reads it.
                None => drop(writeln!(io::stderr(), "{}", error.detail())),
            },
        }
    }

    /// Sends the last frame of a connection on which nothing was done.
    pub fn close(&mut self, close: &Close) {
        self.last(Kind::Close, close);
    }

    /// If the recorder is gone the frame is lost; it asks for the outcome by its id later.
    fn last(&mut self, kind: Kind, message: &impl Message) {
        drop(link::send(&mut self.0, kind, message));
    }
}

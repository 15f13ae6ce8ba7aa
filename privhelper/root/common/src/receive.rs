//! One connection of the recorder: receives one order, by strict decode, with limits before memory is taken and every content hashed
//! once; and answers it, by events while the order runs, then exactly one last frame.

use crate::error::Error;
use postern_policy::VerbId;
use postern_policy::types::Digest;
use postern_proto::link::{self, Kind};
use postern_proto::root::v1::{
    Acknowledge, Close, CloseReason, Content, Envelope, Facts, Hello, Order, Outcome, Outcomes,
    OutcomesReply, RootExecute, RootInspect, SecretValue, SecretValues, Step,
};
use postern_proto::v1 as wire;
use prost::Message;
use std::io::{self, Read, Write};
use std::sync::Arc;

/// Most bytes of all content of one order: a `file.patch`.
const CONTENT_TOTAL: u64 = 8 * 1024 * 1024;

/// The id of an order.
pub type OrderId = Digest;

/// An order with the content and secrets that follow it.
#[derive(Debug)]
pub struct Ordered {
    /// The order.
    pub order: Order,
    /// Its bytes: people approve their digest, and the witness line holds it.
    pub bytes: Vec<u8>,
    /// Its id.
    pub id: OrderId,
    /// Its verb.
    pub verb: VerbId,
    /// The content that `Order.contents` announced, each of that size and digest. Only with the step WHOLE.
    pub contents: Vec<Arc<[u8]>>,
    /// Values of secret parameters.
    pub secrets: Vec<SecretValue>,
    /// The recorder's envelope: always of an `Execute`, else of a read that a rule marks `ask` and of one that a person asked for.
    pub envelope: Option<Envelope>,
    /// An `Execute`: an effect, or one step of a validated effect. Else an `Inspect`: a read, or the facts of a change.
    pub is_execute: bool,
}

impl Ordered {
    /// Decodes an order, without content and secrets.
    ///
    /// # Errors
    /// It is malformed.
    pub fn new(bytes: Vec<u8>, envelope: Option<Envelope>, is_execute: bool) -> Result<Self, CloseReason> {
        let order: Order = strict(&bytes)?;
        let id = OrderId::from_bytes(&order.order_id).ok_or(CloseReason::Malformed)?;
        let verb = VerbId::from_name(&order.verb).ok_or(CloseReason::Malformed)?;
        let (contents, secrets) = (Vec::new(), Vec::new());
        Ok(Self { order, bytes, id, verb, contents, secrets, envelope, is_execute })
    }

    /// Whether the facts of a change are asked for, before people are: `ask` counts as `allow`.
    #[must_use]
    pub fn is_question(&self) -> bool {
        !self.is_execute && self.verb.is_effect()
    }

    /// The part of an effect that is asked for.
    #[must_use]
    pub fn step(&self) -> Step {
        self.envelope.as_ref().filter(|_| self.is_execute).map_or(Step::Unspecified, Envelope::step)
    }

    /// SHA-256 of the order's bytes.
    #[must_use]
    pub fn digest(&self) -> Digest {
        Digest::of(&[&self.bytes])
    }
}

/// A request of the recorder.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "one a connection, used at once")]
pub enum Received {
    /// An effect, a read, or the facts of a change.
    Order(Ordered),
    /// A question for the outcome of an order.
    Outcomes(OrderId),
    /// The recorder has written the order's outcome.
    Acknowledge(OrderId),
}

/// Receives the greeting and one request.
///
/// # Errors
/// `WrongBuild`, except for `Outcomes`; `Malformed` for everything else, a closed connection included.
pub fn receive(from: &mut impl Read) -> Result<Received, CloseReason> {
    let hello: Hello = message(from, Kind::Hello)?;
    let (kind, payload) = frame(from)?;
    let id = |order_id: &[u8]| OrderId::from_bytes(order_id).ok_or(CloseReason::Malformed);
    if kind == Kind::Outcomes {
        return Ok(Received::Outcomes(id(&strict::<Outcomes>(&payload)?.order_id)?));
    }
    if hello.build != link::build() {
        return Err(CloseReason::WrongBuild);
    }
    if kind == Kind::Acknowledge {
        return Ok(Received::Acknowledge(id(&strict::<Acknowledge>(&payload)?.order_id)?));
    }
    if kind == Kind::RootInspect {
        let RootInspect { order, envelope } = strict(&payload)?;
        return Ok(Received::Order(Ordered::new(order, envelope, false)?));
    }
    let execute = (kind == Kind::RootExecute).then(|| strict(&payload));
    let RootExecute { envelope, order, secrets, .. } = execute.ok_or(CloseReason::Malformed)??;
    let mut ordered = Ordered::new(order, envelope, true)?;
    match ordered.step() {
        Step::Whole => {
            let announced = &ordered.order.contents;
            let total = announced.iter().fold(0_u64, |sum, content| sum.saturating_add(content.size));
            if total > CONTENT_TOTAL {
                return Err(CloseReason::Malformed);
            }
            let contents = announced.iter().map(|announced| content(from, announced));
            ordered.contents = contents.collect::<Result<_, _>>()?;
            if secrets {
                ordered.secrets = message::<SecretValues>(from, Kind::Secrets)?.values;
            }
        }
        Step::Validate | Step::Commit => {}
        Step::Unspecified => return Err(CloseReason::Malformed),
    }
    Ok(Received::Order(ordered))
}

/// Reads one content to its announced size.
///
/// # Errors
/// It is cut off, longer, or of another digest.
pub fn content(from: &mut impl Read, announced: &Content) -> Result<Arc<[u8]>, CloseReason> {
    let size = usize::try_from(announced.size).map_err(|_| CloseReason::Malformed)?;
    let mut content = Vec::with_capacity(size);
    while content.len() < size {
        let (kind, part) = frame(from)?;
        if kind != Kind::Content || part.is_empty() || part.len() > size.saturating_sub(content.len()) {
            return Err(CloseReason::Malformed);
        }
        content.extend_from_slice(&part);
    }
    if Digest::of(&[&content]).as_bytes() != announced.sha256 {
        return Err(CloseReason::Malformed);
    }
    Ok(content.into())
}

fn frame(from: &mut impl Read) -> Result<(Kind, Vec<u8>), CloseReason> {
    link::read(from).ok().flatten().ok_or(CloseReason::Malformed)
}

/// Reads one message of a kind.
///
/// # Errors
/// There is none, or another.
pub fn message<M: Message + Default>(from: &mut impl Read, wanted: Kind) -> Result<M, CloseReason> {
    let (kind, payload) = frame(from)?;
    if kind == wanted { strict(&payload) } else { Err(CloseReason::Malformed) }
}

fn strict<M: Message + Default>(bytes: &[u8]) -> Result<M, CloseReason> {
    link::strict(bytes).ok_or(CloseReason::Malformed)
}

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
        match receive(&mut self.0) {
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

//! Sends orders to the recorder, each on a connection of its own.

use crate::call::Call;
use crate::error::{Error, Fault};
use crate::order::Order;
use crate::sys::socket;
use postern_proto::link::{self, Kind};
use postern_proto::root::v1::{Claim, RecorderOrder};
use prost::Message;
use std::io;
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// Sends a read, or with an empty `event` asks for facts. No content follows: facts do not depend on it.
///
/// # Errors
/// The recorder does not listen.
pub fn send_inspect(call: &Call, order: &Order, event: &str) -> Result<UnixStream, Error> {
    let claim = Claim { event: event.to_owned(), family: order.family.clone(), ..call.claim.clone() };
    let inspect = RecorderOrder {
        claim: Some(claim),
        order: order.wire.encode_to_vec(),
        body_sha256: call.digest.as_bytes().to_vec(),
        ..RecorderOrder::default()
    };
    let send = |stream: &mut UnixStream| link::send(stream, Kind::RecorderInspect, &inspect);
    send_order(call, send)
}

/// Sends an effect, then its content and secrets.
///
/// # Errors
/// The recorder does not listen.
pub fn send_execute(call: &Call, order: &Order) -> Result<UnixStream, Error> {
    let (contents, secrets) = (order.content(), order.secrets());
    let claim = Claim { event: "begin".to_owned(), family: order.family.clone(), ..call.claim.clone() };
    let bytes = contents.iter().map(|content| content.len()).sum::<usize>();
    let execute = RecorderOrder {
        claim: Some(claim),
        order: order.wire.encode_to_vec(),
        body_sha256: call.digest.as_bytes().to_vec(),
        content_bytes: u64::try_from(bytes).unwrap_or(u64::MAX),
        secrets: secrets.is_some(),
    };
    let send = |stream: &mut UnixStream| {
        link::send(stream, Kind::RecorderExecute, &execute)?;
        contents.iter().try_for_each(|content| link::send_content(stream, content))?;
        secrets.iter().try_for_each(|secrets| link::send(stream, Kind::Secrets, secrets))
    };
    send_order(call, send)
}

/// Opens a connection and sends an order. A recorder that refuses early reads no content: its answer can be read even if
/// sending fails.
fn send_order(
    call: &Call,
    send: impl FnOnce(&mut UnixStream) -> io::Result<()>,
) -> Result<UnixStream, Error> {
    let mut stream = call.state.recorder.open().map_err(unreachable)?;
    match send(&mut stream) {
        Err(error) if !socket::readable(&stream, Duration::ZERO) => Err(unreachable(error)),
        Ok(()) | Err(_) => Ok(stream),
    }
}

/// The order was not sent completely, so nothing began.
fn unreachable(error: io::Error) -> Error {
    Error::Denied(Fault::recorder(error).denied())
}

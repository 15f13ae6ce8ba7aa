//! The probe's client: facts about units and packages.

use crate::error::{Error, Fault};
use crate::recorder::{closed, decode};
use postern_policy::Code;
use postern_proto::link::{self, Kind};
use postern_proto::root::v1::Facts;
use prost::Message;
use std::io;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// How long a simulation of apt may take.
const ANSWER_TIME: Duration = Duration::from_secs(180);

/// Asks for facts.
///
/// # Errors
/// The probe refuses or does not answer.
pub fn ask(socket: &Path, kind: Kind, question: &impl Message) -> Result<Facts, Error> {
    let (kind, payload) = exchange(socket, kind, question)
        .map_err(|error| Fault::new(Code::Interrupted, format!("probe: {error}")))?;
    if kind == Kind::Facts {
        return decode(&payload);
    }
    // The recorder does not see it: the broker records it.
    Err(closed(kind, &payload).unrecorded())
}

fn exchange(socket: &Path, kind: Kind, question: &impl Message) -> io::Result<(Kind, Vec<u8>)> {
    let mut stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(ANSWER_TIME))?;
    link::open(&mut stream, kind, question)?;
    link::read(&mut stream)?.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
}

//! Messages between a shim and the agent over the descriptor that a call inherits.
//!
//! The shim translates, inside the sandbox; the agent takes one typed request and answers with its end. So the
//! agent reads no shell text of anybody's here, and a program that speaks on the descriptor without being a shim
//! gets what the task's own typed tools would get, and nothing more.

use super::unit_query::State;
use crate::protocol::args::base64_bytes;
use crate::protocol::request::Request;
use serde::{Deserialize, Serialize};

/// The variable that holds the descriptor's number.
pub const VARIABLE: &str = "POSTERN_SHIM_FD";
/// The most bytes of a request: a `file.patch` in base64, and some.
pub const LONGEST: usize = 12 << 20;
/// The most bytes of one packet, its mark included.
pub const PACKET: usize = 64 << 10;
/// The most bytes of an answer: one packet.
pub const ANSWER: usize = 16 << 10;

/// Bytes before a packet's part: its mark, and the sender's tag. A killed shim's reply is left in the socket for
/// the next one, which must not take it for its own.
const HEAD: usize = 5;
/// The first packet of a request.
const FIRST: u8 = 1;
/// The last one.
const LAST: u8 = 2;

/// How a request ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShimReply {
    /// Empty if it was done.
    pub code: String,
    /// Why not.
    pub message: String,
    /// Of whoever asked.
    pub tag: u32,
    /// Standard output of the replaced program.
    #[serde(default, with = "base64_bytes", skip_serializing_if = "Vec::is_empty")]
    pub output: Vec<u8>,
    /// The unit that was asked about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<State>,
}

impl ShimReply {
    /// It was not done.
    #[must_use]
    pub fn no(code: &str, message: impl Into<String>) -> Self {
        Self { code: code.to_owned(), message: message.into(), ..Self::default() }
    }
}

/// The packets of a request.
///
/// # Errors
/// It is too large.
pub fn packets(request: &Request, tag: u32) -> Result<Vec<Vec<u8>>, String> {
    let text = serde_json::to_vec(request).map_err(|error| error.to_string())?;
    if text.len() > LONGEST {
        return Err("the request is too large".to_owned());
    }
    let parts: Vec<&[u8]> = text.chunks(PACKET - HEAD).collect();
    let last = parts.len().saturating_sub(1);
    let mark = |at: usize| if at == 0 { FIRST } else { 0 } | if at == last { LAST } else { 0 };
    Ok(parts
        .iter()
        .enumerate()
        .map(|(at, part)| [&[mark(at)], &tag.to_le_bytes()[..], *part].concat())
        .collect())
}

/// Requests as they come in, packet by packet.
#[derive(Debug, Default)]
pub struct Inbox(Vec<u8>);

impl Inbox {
    /// Takes a packet; a request with its tag once it is whole. One that was begun and left is forgotten.
    pub fn take(&mut self, packet: &[u8]) -> Option<(u32, Result<Request, String>)> {
        let ([mark, tag @ ..], part) = packet.split_first_chunk::<HEAD>()?;
        self.part(*mark, part).map(|request| (u32::from_le_bytes(*tag), request))
    }

    fn part(&mut self, mark: u8, part: &[u8]) -> Option<Result<Request, String>> {
        if mark & FIRST != 0 {
            self.0.clear();
        }
        if self.0.len() + part.len() > LONGEST {
            self.0 = Vec::new();
            return Some(Err("the request is too large".to_owned()));
        }
        self.0.extend_from_slice(part);
        if mark & LAST == 0 {
            return None;
        }
        let text = std::mem::take(&mut self.0);
        let request = serde_json::from_slice(&text).map_err(|error| format!("no request: {error}"));
        Some(request.and_then(|request| {
            // Only new content may be long; names and paths are stored and shown.
            let content: usize = contents(&request).map(|content| content.len().div_ceil(3) * 4).sum();
            if text.len().saturating_sub(content) > PACKET {
                return Err("the request is too large".to_owned());
            }
            Ok(request)
        }))
    }
}

/// Returns the new contents of a request's files.
fn contents(request: &Request) -> impl Iterator<Item = &Vec<u8>> {
    let one = if let Request::FileWrite(write) = request { Some(&write.change.0) } else { None };
    let several = if let Request::FilePatch(patch) = request { Some(&patch.changes) } else { None };
    one.into_iter().chain(several.into_iter().flatten()).map(|change| &change.content)
}

/// Whether a shim can have made such a request. The other verbs have tools of their own.
#[must_use]
pub fn is_of_a_shim(request: &Request) -> bool {
    if let Request::UnitStatus(look) = request {
        return look.journal_lines == 0;
    }
    !matches!(
        request,
        Request::PackageShow(_)
            | Request::FileRead(_)
            | Request::FileList(_)
            | Request::CommandRun(_)
            | Request::PolicyDescribe(_)
            | Request::RequestResult(_)
            | Request::RequestKeep(_)
            | Request::RequestUndo(_)
    )
}

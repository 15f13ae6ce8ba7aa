//! The sandbox's wire protocol: a first byte, with which a descriptor may come, then a frame each way. A frame
//! is a length of four bytes and that much JSON.

use super::job::{Program, Record, Unenforced};
use super::quota::TOTAL;
use crate::protocol::confinement::Profile;
use crate::protocol::event::AgentError;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::PathBuf;

/// The first byte.
pub const FIRST: u8 = b'1';
/// The longest frame: two outputs of the most that is kept, in base64.
const MOST: usize = 4 * 1024 * 1024;

/// A call as it is asked for.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SandboxRequest {
    pub program: Program,
    pub profile: Profile,
    pub task: String,
    pub time_ms: u64,
    pub output: usize,
    pub ports: Vec<u16>,
    pub read_roots: Vec<PathBuf>,
    pub unenforced: Unenforced,
    #[serde(default = "total")]
    pub total: u64,
}

fn total() -> u64 {
    TOTAL
}

/// Reply to a call.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SandboxReply {
    Record(Record),
    /// Nothing was run.
    AgentError(AgentError),
}

/// Job of the child process.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SandboxJob {
    pub ask: SandboxRequest,
    pub workspace: PathBuf,
    /// The number under which both have the workspace's descriptor.
    pub directory: i32,
    /// `/tmp` and `/var/tmp` are this call's own.
    pub own_tmp: bool,
    /// The Landlock ABI whose rights are all in force, or nothing is run.
    pub abi: i32,
    /// The directory of the shims.
    pub shims: PathBuf,
    /// The number under which the child has the shims' descriptor.
    pub shim: Option<i32>,
}

/// A frame's bytes.
///
/// # Errors
/// It would be too long.
pub fn frame(value: &impl Serialize) -> io::Result<Vec<u8>> {
    let body = serde_json::to_vec(value)?;
    let length = u32::try_from(body.len()).ok().filter(|_| body.len() <= MOST);
    let length = length.ok_or_else(|| too_long(body.len()))?;
    Ok([&length.to_le_bytes(), body.as_slice()].concat())
}

/// How long a frame's body is.
///
/// # Errors
/// Longer than any may be.
pub fn length(bytes: [u8; 4]) -> io::Result<usize> {
    let length = usize::try_from(u32::from_le_bytes(bytes)).unwrap_or(usize::MAX);
    if length > MOST { Err(too_long(length)) } else { Ok(length) }
}

/// A frame's body.
///
/// # Errors
/// It is not what it should be.
pub fn read<T: DeserializeOwned>(body: &[u8]) -> io::Result<T> {
    Ok(serde_json::from_slice(body)?)
}

/// A whole frame.
///
/// # Errors
/// The stream ends before, or holds something else.
pub fn receive<T: DeserializeOwned>(from: &mut impl io::Read) -> io::Result<T> {
    let mut bytes = [0; 4];
    from.read_exact(&mut bytes)?;
    let mut body = vec![0; length(bytes)?];
    from.read_exact(&mut body)?;
    read(&body)
}

fn too_long(length: usize) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("a frame of {length} bytes; {MOST} are the most"))
}

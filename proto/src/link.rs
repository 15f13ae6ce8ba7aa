//! Frames of the internal sockets: broker, recorder, probe, and root's programs postern-files and postern-units.
//!
//! A frame is `u32` little-endian length, `u8` kind and that many bytes. The end that connects sends [`Kind::Hello`]
//! first, then one order; the other end answers and closes. Only the broker keeps one connection to the recorder, on
//! which each `Note` and each `Recall` without `attach` is answered by one frame. Limits are per kind and checked
//! before memory is taken.

use prost::Message;
use sha2::{Digest, Sha256};
use std::io::{self, Read, Write};

/// Largest encoded order, claim, outcome or facts, in bytes.
pub const ORDER_MAX: usize = 2 * 1024 * 1024;
/// Largest part of a file's content in one frame, in bytes.
pub const CONTENT_MAX: usize = 256 * 1024;
/// Largest encoded event, in bytes: 64 KiB of output and its fields.
const EVENT_MAX: usize = 128 * 1024;
/// Largest frame of every other kind, in bytes.
const SMALL_MAX: usize = 64 * 1024;
/// Largest encoded inverse that the recorder keeps, in bytes. Root says before it acts that an effect with a larger one
/// cannot be undone.
pub const INVERSE_MAX: usize = 256 * 1024;

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident = $number:literal, $max:expr;)*) => {
        /// Kinds of frames, with the message that each carries.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Kind { $($(#[$doc])* $name),* }

        impl Kind {
            /// Returns the number on the wire.
            #[must_use]
            pub const fn number(self) -> u8 {
                match self { $(Self::$name => $number),* }
            }

            /// Returns the kind of this number, or none.
            #[must_use]
            pub const fn from_number(number: u8) -> Option<Self> {
                match number { $($number => Some(Self::$name),)* _ => None }
            }

            /// Returns the largest payload of this kind, in bytes.
            #[must_use]
            pub const fn max(self) -> usize {
                match self { $(Self::$name => $max),* }
            }
        }
    };
}

kinds! {
    /// `Hello`, from the end that connects.
    Hello = 1, SMALL_MAX;
    /// `Recall`, to the recorder.
    Recall = 2, SMALL_MAX;
    /// `Note`, to the recorder.
    Note = 3, ORDER_MAX;
    /// `RecorderOrder`, to the recorder. No content follows: facts do not depend on the new content.
    RecorderInspect = 4, ORDER_MAX;
    /// `RecorderOrder`, to the recorder; content and secrets follow as it says.
    RecorderExecute = 5, ORDER_MAX;
    /// `RootInspect`, to postern-files or, for units and packages, the probe. No content follows. Also `AsUser`, from
    /// postern-units to a process of a rule's user.
    RootInspect = 6, ORDER_MAX;
    /// `RootExecute`, to postern-files or postern-units; content and secrets follow if the step is `STEP_WHOLE`.
    RootExecute = 7, ORDER_MAX;
    /// `Outcomes`, to postern-files or postern-units.
    Outcomes = 8, SMALL_MAX;
    /// `Acknowledge`, to postern-files or postern-units.
    Acknowledge = 9, SMALL_MAX;
    /// Bytes of the content that `Order.contents` announced, in order.
    Content = 10, CONTENT_MAX;
    /// `SecretValues`, after the content.
    Secrets = 11, SMALL_MAX;
    /// `ProbeUnit`, to the probe.
    ProbeUnit = 12, SMALL_MAX;
    /// `ProbePackages`, to the probe.
    ProbePackages = 13, SMALL_MAX;
    /// `Recalled`, from the recorder.
    Recalled = 32, ORDER_MAX;
    /// `Parked`, from the recorder.
    Parked = 33, SMALL_MAX;
    /// `postern.v1.Event` without a sequence number, on its way to the client.
    Event = 34, EVENT_MAX;
    /// `Outcome`, from root's programs or the probe: the last frame.
    Outcome = 35, ORDER_MAX;
    /// `Recorded`, from the recorder: the last frame.
    Recorded = 36, ORDER_MAX;
    /// `Close`: the last frame of a connection without an outcome.
    Close = 37, SMALL_MAX;
    /// `OutcomesReply`, from root's programs: the last frame.
    OutcomesReply = 38, ORDER_MAX;
    /// `Facts`, from the probe or from postern-files for the `Inspect` of a change: the last frame.
    Facts = 39, ORDER_MAX;
}

/// Returns the build that both ends must share: SHA-256 over version and protocol sources.
#[must_use]
pub fn build() -> [u8; 32] {
    let sources = [
        env!("CARGO_PKG_VERSION"),
        include_str!("../postern/root/v1/order.proto"),
        include_str!("../postern/root/v1/policy.proto"),
        include_str!("../postern/root/v1/job.proto"),
        include_str!("../postern/v1/helper.proto"),
    ];
    let add = |hash: Sha256, source: &&str| hash.chain_update(source).chain_update([0]);
    sources.iter().fold(Sha256::new(), add).finalize().into()
}

/// Writes one frame.
///
/// # Errors
/// The payload is larger than its kind allows (`InvalidInput`), or the other end is gone.
pub fn write(to: &mut impl Write, kind: Kind, payload: &[u8]) -> io::Result<()> {
    let len = u32::try_from(payload.len()).ok().filter(|_| payload.len() <= kind.max());
    let len =
        len.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "frame larger than its kind allows"))?;
    let [a, b, c, d] = len.to_le_bytes();
    to.write_all(&[&[a, b, c, d, kind.number()], payload].concat())
}

/// Writes one message as a frame.
///
/// # Errors
/// As [`write`].
pub fn send(to: &mut impl Write, kind: Kind, message: &impl Message) -> io::Result<()> {
    write(to, kind, &message.encode_to_vec())
}

/// Writes content in parts of at most [`CONTENT_MAX`] bytes; nothing for empty content.
///
/// # Errors
/// As [`write`].
pub fn send_content(to: &mut impl Write, content: &[u8]) -> io::Result<()> {
    content.chunks(CONTENT_MAX).try_for_each(|part| write(to, Kind::Content, part))
}

/// Reads one frame; none where the other end closed between two frames.
///
/// # Errors
/// `InvalidData` for an unknown kind or a payload larger than its kind allows; `UnexpectedEof` inside a frame.
pub fn read(from: &mut impl Read) -> io::Result<Option<(Kind, Vec<u8>)>> {
    let mut head = Vec::new();
    from.by_ref().take(5).read_to_end(&mut head)?;
    let (number, len) = match *head.as_slice() {
        [] => return Ok(None),
        [a, b, c, d, number] => (number, u32::from_le_bytes([a, b, c, d])),
        _ => return Err(io::ErrorKind::UnexpectedEof.into()),
    };
    let invalid = |what| io::Error::new(io::ErrorKind::InvalidData, what);
    let kind = Kind::from_number(number).ok_or_else(|| invalid("unknown kind of frame"))?;
    let len = usize::try_from(len).ok().filter(|len| *len <= kind.max());
    let len = len.ok_or_else(|| invalid("frame larger than its kind allows"))?;
    let mut payload = vec![0_u8; len];
    from.read_exact(&mut payload)?;
    Ok(Some((kind, payload)))
}

/// Decodes a message only if encoding it again yields the same bytes: no unknown field, duplicate or other form passes.
#[must_use]
pub fn strict<M: Message + Default>(bytes: &[u8]) -> Option<M> {
    M::decode(bytes).ok().filter(|message| message.encode_to_vec() == bytes)
}

/// Sends the build and then the order's first frame.
///
/// # Errors
/// As [`write`].
pub fn open(to: &mut impl Write, kind: Kind, message: &impl Message) -> io::Result<()> {
    send(to, Kind::Hello, &crate::root::v1::Hello { build: build().to_vec() })?;
    send(to, kind, message)
}

/// Returns the id of an order: SHA-256("postern order 1\n" | uid, little-endian | request id).
#[must_use]
pub fn order_id(uid: u32, request_id: &str) -> [u8; 32] {
    digest(&[b"postern order 1\n", &uid.to_le_bytes(), request_id.as_bytes()])
}

/// Returns the digest that people approve: SHA-256("postern approval 2\n" | boot id | policy digest | encoded order).
///
/// `boot_id` is the text of `/proc/sys/kernel/random/boot_id` without its line feed.
#[must_use]
pub fn approval_digest(boot_id: &str, policy_digest: &[u8], order: &[u8]) -> [u8; 32] {
    digest(&[b"postern approval 2\n", boot_id.as_bytes(), policy_digest, order])
}

fn digest(parts: &[&[u8]]) -> [u8; 32] {
    parts.iter().fold(Sha256::new(), Digest::chain_update).finalize().into()
}

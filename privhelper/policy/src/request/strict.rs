//! Strict decoding.

use prost::Message;

/// The message that these bytes encode canonically. None: unknown fields, duplicates, another order, default values.
#[must_use]
pub fn strict<M: Message + Default>(body: &[u8]) -> Option<M> {
    M::decode(body).ok().filter(|message| message.encode_to_vec() == body)
}

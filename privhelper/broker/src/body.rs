//! Bodies of orders: a client's own message without new content and secret values, which travel beside the order.

use postern_policy::types::Digest;
use postern_policy::{Command, VerbId};
use postern_proto::link::strict;
use postern_proto::root::v1::SecretValue;
use postern_proto::v1 as wire;
use prost::Message;

/// Returns the client's message without the content of its WRITE changes; none if it is malformed.
#[must_use]
pub fn without_contents(verb: VerbId, body: &[u8]) -> Option<Vec<u8>> {
    let clear = |change: &mut wire::FileChange| {
        if change.kind() == wire::ChangeKind::Write {
            change.content.clear();
        }
    };
    if verb == VerbId::FileWrite {
        let mut wire = strict::<wire::FileWriteRequest>(body)?;
        wire.change.iter_mut().for_each(clear);
        Some(wire.encode_to_vec())
    } else if verb == VerbId::FilePatch {
        let mut wire = strict::<wire::FilePatchRequest>(body)?;
        wire.changes.iter_mut().for_each(clear);
        Some(wire.encode_to_vec())
    } else {
        Some(body.to_vec())
    }
}

/// A body without secret values, and the values.
pub type SplitSecrets = (Vec<u8>, Vec<SecretValue>);

/// Replaces each secret value in the body of a `command.run` by its commitment. None: the body is malformed.
///
/// # Errors
/// As `random`.
pub fn split_secrets<E>(
    row: &Command,
    body: &[u8],
    mut random: impl FnMut() -> Result<[u8; 32], E>,
) -> Result<Option<SplitSecrets>, E> {
    let Some(mut wire) = strict::<wire::CommandRunRequest>(body) else { return Ok(None) };
    let mut secrets = Vec::new();
    for parameter in wire.parameters.iter_mut().filter(|parameter| row.is_secret(&parameter.name)) {
        let value = std::mem::take(&mut parameter.value).into_bytes();
        let secret = SecretValue { parameter: parameter.name.clone(), random: random()?.to_vec(), value };
        parameter.value = Digest::of(&[&secret.random, &secret.value]).to_string();
        secrets.push(secret);
    }
    Ok(Some((wire.encode_to_vec(), secrets)))
}

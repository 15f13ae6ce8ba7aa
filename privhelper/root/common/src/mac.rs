//! Message authentication: HMAC-SHA-256 (RFC 2104) for messages that root issues and later accepts again.

use crate::error::Fault;
use crate::store::{self, Durability};
use hmac::{Hmac, KeyInit, Mac};
use postern_policy::Policy;
use postern_proto::root::v1::{Agreement, Inverse, RequiredValidator, Staged};
use prost::Message;
use rustix::rand::{GetRandomFlags, getrandom};
use sha2::Sha256;
use std::fmt;
use std::path::Path;

/// A key of 32 random bytes.
#[derive(Clone)]
pub struct Key(Hmac<Sha256>);

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key")
    }
}

/// A message with a field `mac`. The name keeps messages under one key apart.
pub trait Authenticated: Message + Clone {
    /// The message's name.
    const NAME: &'static str;
    /// The field.
    fn mac(&mut self) -> &mut Vec<u8>;
}

macro_rules! authenticated {
    ($($message:ident)*) => {
        $(impl Authenticated for $message {
            const NAME: &'static str = stringify!($message);
            fn mac(&mut self) -> &mut Vec<u8> { &mut self.mac }
        })*
    };
}

authenticated! { Inverse Staged Agreement }

/// The agreement of a required validator to a stage under this policy, not signed.
#[must_use]
pub fn agreement(policy: &Policy, staged: &Staged, required: &RequiredValidator) -> Agreement {
    Agreement {
        policy_digest: policy.digest().as_bytes().to_vec(),
        validator: required.name.clone(),
        live: required.live.clone(),
        stage_id: staged.stage_id.clone(),
        stage_digest: staged.digest.clone(),
        mac: Vec::new(),
    }
}

/// 32 random bytes of the kernel.
///
/// # Errors
/// The kernel gives none.
pub fn random() -> Result<[u8; 32], Fault> {
    let mut bytes = [0; 32];
    let count = getrandom(&mut bytes, GetRandomFlags::empty()).map_err(Fault::io("get random bytes"))?;
    if count == bytes.len() { Ok(bytes) } else { Err(Fault::corrupt("the kernel's random bytes")) }
}

impl Key {
    /// Reads a key; none if there is no file.
    ///
    /// # Errors
    /// It cannot be read, or is not 32 bytes long.
    pub fn read(path: &Path) -> Result<Option<Self>, Fault> {
        let bytes = store::read(path, 32)?;
        bytes.map(|bytes| Self::new(&bytes)).transpose()
    }

    /// Reads the program's own key, or makes it at the first start.
    ///
    /// # Errors
    /// It cannot be read or made.
    pub fn open(path: &Path) -> Result<Self, Fault> {
        if let Some(key) = Self::read(path)? {
            return Ok(key);
        }
        let bytes = random()?;
        store::replace(path, &[&bytes], Durability::Synced)?;
        Self::new(&bytes)
    }

    fn new(bytes: &[u8]) -> Result<Self, Fault> {
        let hmac = Hmac::new_from_slice(bytes).ok().filter(|_| bytes.len() == 32);
        hmac.map(Self).ok_or_else(|| Fault::corrupt("a key"))
    }

    /// Sets the message's MAC.
    #[must_use]
    pub fn sign<M: Authenticated>(&self, mut message: M) -> M {
        message.mac().clear();
        *message.mac() = self.over(M::NAME, &message).finalize().into_bytes().to_vec();
        message
    }

    /// Whether the message's MAC is of this key. Compared in constant time.
    #[must_use]
    pub fn verifies<M: Authenticated>(&self, message: &M) -> bool {
        let mut message = message.clone();
        let mac = std::mem::take(message.mac());
        self.over(M::NAME, &message).verify_slice(&mac).is_ok()
    }

    fn over(&self, name: &str, message: &impl Message) -> Hmac<Sha256> {
        let mut hmac = self.0.clone();
        hmac.update(b"postern mac 1\n");
        hmac.update(name.as_bytes());
        hmac.update(b"\n");
        hmac.update(&message.encode_to_vec());
        hmac
    }
}

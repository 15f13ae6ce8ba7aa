//! Message authentication: HMAC-SHA-256 (RFC 2104) over what root issues and takes back later.

use crate::error::Fault;
use crate::store::{self, Durability};
use hmac::{Hmac, KeyInit, Mac};
use postern_proto::root::v1::{Agreement, Inverse, Staged};
use prost::Message;
use rustix::rand::{GetRandomFlags, getrandom};
use sha2::Sha256;
use std::fmt;
use std::path::Path;

/// A key of 32 random bytes.
#[derive(Clone)]
pub struct Key([u8; 32]);

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

/// 32 random bytes of the kernel.
///
/// # Errors
/// The kernel gives none.
pub fn random() -> Result<[u8; 32], Fault> {
    let mut bytes = [0; 32];
    let count = getrandom(&mut bytes, GetRandomFlags::empty()).map_err(Fault::io("get random bytes"))?;
    if count == bytes.len() { Ok(bytes) } else { Err(Fault::Corrupt { what: "the kernel's random bytes" }) }
}

impl Key {
    /// Reads a key; none if there is no file.
    ///
    /// # Errors
    /// It cannot be read, or is not 32 bytes long.
    pub fn read(path: &Path) -> Result<Option<Self>, Fault> {
        let Some(bytes) = store::read(path, 32)? else { return Ok(None) };
        let bytes = bytes.try_into().map_err(|_| Fault::Corrupt { what: "a key" })?;
        Ok(Some(Self(bytes)))
    }

    /// Reads the program's own key, or makes it at the first start.
    ///
    /// # Errors
    /// It cannot be read or made.
    pub fn open(path: &Path) -> Result<Self, Fault> {
        if let Some(key) = Self::read(path)? {
            return Ok(key);
        }
        let key = Self(random()?);
        store::replace(path, &[&key.0], Durability::Synced)?;
        Ok(key)
    }

    /// Sets the message's MAC.
    ///
    /// # Errors
    /// The key is not one (its length is fixed, so this does not happen).
    pub fn sign<M: Authenticated>(&self, mut message: M) -> Result<M, Fault> {
        message.mac().clear();
        let mac = self.over(M::NAME, &message)?.finalize().into_bytes();
        *message.mac() = mac.to_vec();
        Ok(message)
    }

    /// Whether the message's MAC is of this key. Compared in constant time.
    #[must_use]
    pub fn verifies<M: Authenticated>(&self, message: &M) -> bool {
        let mut message = message.clone();
        let mac = std::mem::take(message.mac());
        self.over(M::NAME, &message).is_ok_and(|hmac| hmac.verify_slice(&mac).is_ok())
    }

    fn over(&self, name: &str, message: &impl Message) -> Result<Hmac<Sha256>, Fault> {
        let hmac = Hmac::<Sha256>::new_from_slice(&self.0);
        let mut hmac = hmac.map_err(|_| Fault::Corrupt { what: "a key" })?;
        hmac.update(b"postern mac 1\n");
        hmac.update(name.as_bytes());
        hmac.update(b"\n");
        hmac.update(&message.encode_to_vec());
        Ok(hmac)
    }
}

//! The accepted policy and the names of its clients, read anew when a file was replaced.

use crate::files::read;
use crate::lock::locked;
use nix::errno::Errno;
use postern_policy::{Identity, Policy};
use std::collections::HashMap;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// Most bytes of an accepted policy, and of an account file.
const FILE_MAX: u64 = 16 * 1024 * 1024;

/// Tells one version of a file from another: device, inode, size, and when it was written. None: it does not exist.
type Version = Option<(u64, u64, u64, i64, i64)>;

/// Whether a uid is a client, and whether it is a person.
type Kinds = HashMap<u32, (bool, bool)>;

/// The accepted policy and the account files of this host.
#[derive(Debug)]
pub struct Accepted {
    policy: PathBuf,
    passwd: PathBuf,
    group: PathBuf,
    known: Mutex<Option<(Version, Arc<Policy>)>>,
    /// Which uids are clients, and which are people, for as long as the three files stay the same.
    known_uids: Mutex<([Version; 3], Kinds)>,
}

impl Accepted {
    /// Reads the policy from here, and names from passwd(5) and group(5).
    pub fn new(policy: &Path, passwd: &Path, group: &Path) -> Self {
        let [policy, passwd, group] = [policy, passwd, group].map(Path::to_owned);
        Self { policy, passwd, group, known: Mutex::default(), known_uids: Mutex::default() }
    }

    /// Returns the accepted policy. Calls `changed` if it is another one than before.
    ///
    /// # Errors
    /// None is accepted (`NotFound`), or it is damaged: nobody is a client.
    pub fn policy(&self, changed: impl FnOnce(&Policy)) -> io::Result<Arc<Policy>> {
        let now = version(&self.policy);
        let mut known = locked(&self.known);
        if let Some((_, policy)) = known.as_ref().filter(|(of, _)| *of == now) {
            return Ok(Arc::clone(policy));
        }
        *known = None;
        let bytes = read(&self.policy, FILE_MAX)?.ok_or(Errno::ENOENT)?;
        let policy = Policy::load(&bytes).map_err(|why| io::Error::new(io::ErrorKind::InvalidData, why))?;
        changed(&policy);
        Ok(Arc::clone(&known.insert((now, Arc::new(policy))).1))
    }

    /// Returns the names of a uid, from the account files as they are now.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn identity(&self, uid: u32) -> io::Result<Identity> {
        let text = |path: &Path| {
            let bytes = read(path, FILE_MAX)?.ok_or(Errno::ENOENT)?;
            Ok::<_, io::Error>(String::from_utf8_lossy(&bytes).into_owned())
        };
        Ok(Identity::parse(uid, &text(&self.passwd)?, &text(&self.group)?))
    }

    /// Returns whether `policy`, the accepted one, names this uid as a client. If the account files cannot be read, it does.
    pub fn is_client(&self, policy: &Policy, uid: u32) -> bool {
        self.kinds(policy, uid).0
    }

    /// Returns whether this uid is a person to `policy`, the accepted one. If the account files cannot be read, it is not.
    pub fn is_person(&self, policy: &Policy, uid: u32) -> bool {
        self.kinds(policy, uid).1
    }

    fn kinds(&self, policy: &Policy, uid: u32) -> (bool, bool) {
        let now = [&self.policy, &self.passwd, &self.group].map(|path| version(path));
        let mut known = locked(&self.known_uids);
        if known.0 != now {
            *known = (now, Kinds::new());
        }
        let kinds = |who| (!policy.clients_of(&who).is_empty(), policy.is_person(&who));
        *known.1.entry(uid).or_insert_with(|| self.identity(uid).map_or((true, false), kinds))
    }
}

fn version(path: &Path) -> Version {
    let of = |file: std::fs::Metadata| (file.dev(), file.ino(), file.size(), file.mtime(), file.mtime_nsec());
    std::fs::metadata(path).ok().map(of)
}

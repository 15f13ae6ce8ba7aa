//! The accepted policy and the uids of its clients, read again when a file was replaced.

use crate::fault::Fault;
use crate::host::Host;
use crate::sys::files::{self, FileFacts};
use postern_peers::locked;
use postern_policy::Policy;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// Most bytes of an accepted policy.
const POLICY_MAX: u64 = 16 * 1024 * 1024;

/// The policy as it was last read.
#[derive(Default)]
pub struct AcceptedPolicy {
    policy: Mutex<Option<(FileFacts, Arc<Policy>)>>,
    clients: Mutex<Clients>,
}

/// Which uids are clients, for as long as policy and account files stay the same.
#[derive(Default)]
struct Clients {
    of: Vec<Option<FileFacts>>,
    known: HashMap<u32, bool>,
}

impl AcceptedPolicy {
    /// Returns the policy. Calls `changed` if it is another one than before.
    ///
    /// # Errors
    /// There is none, or it is damaged: nothing is permitted.
    pub fn current(&self, host: &Host, changed: impl FnOnce(&Policy)) -> Result<Arc<Policy>, Fault> {
        let mut known = locked(&self.policy);
        let doing = "read the accepted policy";
        let facts = files::facts_at(&host.accepted).map_err(Fault::io(doing))?;
        let facts = facts.ok_or_else(|| Fault::io(doing)(nix::errno::Errno::ENOENT))?;
        if let Some((_, policy)) = known.as_ref().filter(|(of, _)| *of == facts) {
            return Ok(Arc::clone(policy));
        }
        *known = None;
        let bytes = files::read(&host.accepted, POLICY_MAX).map_err(Fault::io(doing))?.unwrap_or_default();
        let policy = Policy::load(&bytes).map_err(|_| Fault::Corrupt("the accepted policy"))?;
        changed(&policy);
        Ok(Arc::clone(&known.insert((facts, Arc::new(policy))).1))
    }

    /// Returns whether `policy` names this uid as a client. If the account files cannot be read, it does.
    pub fn is_client(&self, host: &Host, policy: &Policy, uid: u32) -> bool {
        let of = [&host.accepted, &host.passwd, &host.group].map(|path| files::facts_at(path).ok().flatten());
        let mut clients = locked(&self.clients);
        if clients.of != of {
            *clients = Clients { of: of.to_vec(), known: HashMap::new() };
        }
        let is = || host.identity(uid).map_or(true, |who| !policy.clients_of(&who).is_empty());
        *clients.known.entry(uid).or_insert_with(is)
    }
}

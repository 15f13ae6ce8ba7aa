//! A host in a temporary directory, and orders.

use postern_policy::types::Digest;
use postern_proto::link;
use postern_proto::root::v1::{AcceptedPolicy, Client, Content, Decision, Inverse, Order, Rule, Rules};
use postern_root::receive::receive;
use postern_root::{Accounts, ActivePolicy, Host, Key, Ordered};
use prost::Message;
use std::path::Path;
use std::time::SystemTime;
use tempfile::TempDir;

/// A client by its own entry; one by a group; a person who is neither.
pub const AGENT: u32 = 2001;
pub const MEMBER: u32 = 2002;
pub const OPERATOR: u32 = 2003;
pub const SECOND: u32 = 2004;
pub const ANN: u32 = 2005;
pub const BOB: u32 = 2006;

pub const PASSWD: &str = "root:x:0:0:root:/root:/bin/bash\nagent:x:2001:2001::/:/bin/sh\nmember:x:2002:2002::/:/bin/sh\noperator:x:2003:2003::/:/bin/sh\nsecond:x:2004:2004::/:/bin/sh\nann:x:2005:2005::/:/bin/sh\nbob:x:2006:2006::/:/bin/sh\n";
pub const GROUP: &str = "root:x:0:\nadmins:x:3000:member\npostern-users:x:3001:ann,bob,agent\n";

pub struct World {
    /// Removed when this is dropped.
    _directory: TempDir,
    pub host: Host,
    pub key: Key,
    pub active: ActivePolicy,
    pub accounts: Accounts,
}

pub fn rule(id: &str, decision: Decision, verbs: &[&str]) -> Rule {
    Rule {
        id: id.to_owned(),
        client: "agent".to_owned(),
        verbs: verbs.iter().map(|verb| (*verb).to_owned()).collect(),
        decision: decision.into(),
        approvers: 1,
        units: if verbs.iter().any(|verb| verb.starts_with("unit.")) {
            vec!["*".to_owned()]
        } else {
            Vec::new()
        },
        ..Rule::default()
    }
}

/// Writes the accepted policy.
pub fn accept(path: &Path, rules: Vec<Rule>) {
    let client = |name: &str, user: &str, group: &str| Client {
        name: name.to_owned(),
        user: user.to_owned(),
        group: group.to_owned(),
    };
    let clients = vec![client("agent", "agent", ""), client("admins", "", "admins")];
    let rules = Rules { version: 1, clients, rules, ..Rules::default() }.encode_to_vec();
    let digest = Digest::of(&[&rules]).as_bytes().to_vec();
    std::fs::write(path, AcceptedPolicy { rules, digest, ..AcceptedPolicy::default() }.encode_to_vec())
        .unwrap();
}

impl World {
    pub fn new(rules: Vec<Rule>) -> Self {
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let at = |name: &str| directory.path().join(name);
        std::fs::write(at("passwd"), PASSWD).unwrap();
        std::fs::write(at("group"), GROUP).unwrap();
        accept(&at("accepted.pb"), rules);
        let uid = nix::unistd::Uid::effective().as_raw();
        let host = Host {
            family: "files",
            accepted: at("accepted.pb"),
            validator_key: at("validator.key"),
            state: at("state"),
            passwd: at("passwd"),
            group: at("group"),
            boot_id: "this boot".to_owned(),
            root_uid: uid,
            peer_uid: uid,
            now: SystemTime::now,
        };
        std::fs::create_dir(&host.state).unwrap();
        let key = Key::open(&host.state.join("key")).unwrap();
        let (active, accounts) = (ActivePolicy::load(&host).unwrap(), host.accounts().unwrap());
        Self { _directory: directory, host, key, active, accounts }
    }

    pub fn order(&self, uid: u32, verb: &str, inverse: Option<Inverse>) -> Ordered {
        let order = Order {
            order_id: link::order_id(uid, "id").to_vec(),
            uid,
            verb: verb.to_owned(),
            policy_digest: self.active.policy.digest().as_bytes().to_vec(),
            inverse,
            ..Order::default()
        };
        Ordered::new(order.encode_to_vec(), None, true).unwrap()
    }
}

/// The announcement of content.
pub fn content(bytes: &[u8]) -> Content {
    Content { size: u64::try_from(bytes.len()).unwrap(), sha256: Digest::of(&[bytes]).as_bytes().to_vec() }
}

/// The kind of order that these frames are, or why none.
pub fn received(frames: &[u8]) -> Result<postern_root::Received, postern_proto::root::v1::CloseReason> {
    receive(&mut &*frames)
}

//! A rule with the defaults of `policy apply`, and identities of clients.

use postern_policy::Identity;
use postern_proto::root::v1 as root;
use postern_proto::v1 as wire;

/// Client `agent` by its user, client `group` by its group.
pub fn agent() -> Identity {
    Identity {
        uid: 990,
        users: strings(&["postern"]),
        groups: strings(&["postern", "helpers"]),
        ..Identity::default()
    }
}

pub fn stranger() -> Identity {
    Identity { uid: 5, users: strings(&["games"]), groups: strings(&["games"]), ..Identity::default() }
}

pub fn rule(id: &str, verbs: &[&str]) -> root::Rule {
    root::Rule {
        id: id.to_owned(),
        client: "agent".to_owned(),
        verbs: strings(verbs),
        decision: root::Decision::Allow.into(),
        timeout_s: 20,
        max_new_packages: 50,
        depth: 1,
        max_bytes: 1_048_576,
        modes: strings(&["0644"]),
        owners: strings(&["root"]),
        groups: strings(&["root"]),
        max_files: 20,
        allow_create: true,
        ..root::Rule::default()
    }
}

pub fn strings(texts: &[&str]) -> Vec<String> {
    texts.iter().map(ToString::to_string).collect()
}

pub fn meta() -> wire::Meta {
    let request_id = "019d0000-0000-7000-8000-000000000000".to_owned();
    wire::Meta { request_id, mode: wire::Mode::Execute.into(), ..wire::Meta::default() }
}

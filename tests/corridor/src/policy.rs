//! Accepted policies.

use postern_policy::types::Digest;
use postern_proto::root::v1 as root;
use prost::Message;
use std::path::Path;

/// A rule of the client `agent` with the defaults of `policy apply`.
pub fn rule(id: &str, verbs: &[&str]) -> root::Rule {
    root::Rule {
        id: id.to_owned(),
        client: "agent".to_owned(),
        verbs: strings(verbs),
        decision: root::Decision::Allow.into(),
        timeout_s: 20,
        approval_ttl_s: 900,
        approvers: 1,
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

/// Owned copies of these texts.
pub fn strings(texts: &[&str]) -> Vec<String> {
    texts.iter().map(ToString::to_string).collect()
}

/// The accepted form of these rules.
pub fn accepted(rules: Vec<root::Rule>) -> Vec<u8> {
    accepted_whole(root::Rules { rules, ..root::Rules::default() })
}

/// As [`accepted`], with what a policy says besides rules.
pub fn accepted_whole(mut rules: root::Rules) -> Vec<u8> {
    rules.version = 1;
    let client = root::Client { name: "agent".to_owned(), user: "postern".to_owned(), group: String::new() };
    rules.clients.push(client);
    // Far more than any test asks for; the tests of budgets set their own.
    let plenty = root::AuditLimits {
        records_per_minute: 100_000,
        records_per_hour: 100_000,
        max_bytes: 1 << 30,
        ..root::AuditLimits::default()
    };
    rules.audit.get_or_insert(plenty);
    let rules = rules.encode_to_vec();
    let digest = Digest::of(&[&rules]).as_bytes().to_vec();
    root::AcceptedPolicy { rules, digest, ..root::AcceptedPolicy::default() }.encode_to_vec()
}

/// Rules for pages in the directory `site`.
pub fn site_rules(at: &Path) -> Vec<root::Rule> {
    let site = at.join("site").to_str().unwrap().to_owned();
    vec![root::Rule {
        directories: vec![site],
        files: strings(&["*.html"]),
        ..rule("site", &["file.read", "file.write"])
    }]
}

/// A rule that grants every change of files in `site` and below, and its undo.
pub fn changing(at: &Path) -> root::Rule {
    let verbs = [
        "file.read",
        "file.list",
        "file.write",
        "file.patch",
        "file.remove",
        "file.mkdir",
        "file.set-mode",
        "file.set-owner",
        "request.undo",
    ];
    root::Rule {
        directories: vec![at.join("site").to_str().unwrap().to_owned()],
        files: strings(&["*"]),
        depth: 3,
        modes: strings(&["0644", "0600", "0755"]),
        ..rule("site", &verbs)
    }
}

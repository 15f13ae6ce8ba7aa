//! Measures a decision of the policy: `cargo bench -p postern-tests --bench decision --profile hardened`.
//!
//! The worst case of a policy: a thousand rules of one client and verb, each
//! with `*`, of which only the last selects the object.

use criterion::{Criterion, criterion_group, criterion_main};
use postern_policy::types::{Digest, TargetPath, UnitName};
use postern_policy::{Identity, Object, Policy, VerbId};
use postern_proto::root::v1 as root;
use std::hint::black_box;

const RULES: usize = 1000;
const CLIENT: &str = "postern";

fn policy(verb: &str, narrow: impl Fn(usize, &mut root::Rule)) -> Policy {
    let client = root::Client { name: "agent".to_owned(), user: CLIENT.to_owned(), group: String::new() };
    let rule = |number: usize| {
        let mut rule = root::Rule {
            id: format!("rule-{number}"),
            client: "agent".to_owned(),
            verbs: vec![verb.to_owned()],
            decision: root::Decision::Allow.into(),
            timeout_s: 600,
            ..root::Rule::default()
        };
        narrow(number, &mut rule);
        rule
    };
    let rules = root::Rules {
        version: 1,
        clients: vec![client],
        rules: (0..RULES).map(rule).collect(),
        ..root::Rules::default()
    };
    Policy::compile(&rules, Digest::ZERO).expect("the rules are rules")
}

fn units(pattern: impl Fn(usize) -> String) -> Policy {
    policy("unit.restart", |number, rule| rule.units = vec![pattern(number)])
}

fn measure(criterion: &mut Criterion, name: &str, policy: &Policy, verb: VerbId, object: Object) {
    let who = Identity { uid: 990, users: vec![CLIENT.to_owned()], ..Identity::default() };
    let required_grants = [(verb, object)];
    let by = policy.decide(&who, &required_grants).expect("the last rule selects it");
    assert_eq!(by.rule_id(), format!("rule-{}", RULES - 1));
    criterion.bench_function(name, |bench| {
        bench.iter(|| policy.decide(black_box(&who), black_box(&required_grants)));
    });
}

fn decisions(criterion: &mut Criterion) {
    let unit = |name: &str| Object::unit(UnitName::new(name).expect("a unit"));
    let restart = VerbId::UnitRestart;
    let ends = units(|number| format!("app-{number:04}-*.service"));
    measure(criterion, "1000 unit rules, star at the end", &ends, restart, unit("app-0999-web.service"));
    let begins = units(|number| format!("*-app-{number:04}.service"));
    measure(
        criterion,
        "1000 unit rules, star at the beginning",
        &begins,
        restart,
        unit("web-app-0999.service"),
    );
    let both = units(|number| format!("*-app-{number:04}-*.service"));
    measure(criterion, "1000 unit rules, two stars", &both, restart, unit("blue-web-app-0999-a.service"));
    let files = policy("file.read", |number, rule| {
        rule.directories = vec![format!("/srv/site-{number:04}")];
        rule.files = vec!["*.html".to_owned()];
        rule.depth = 3;
        rule.max_bytes = 1024;
    });
    let path = TargetPath::new("/srv/site-0999/a/b/index.html").expect("a path");
    measure(criterion, "1000 file rules", &files, VerbId::FileRead, Object::read(path));
}

criterion_group!(benches, decisions);
criterion_main!(benches);

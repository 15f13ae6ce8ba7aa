//! The difference against trying every request: small policies at random over a small alphabet.
//!
//! The same policies at every run, so that a change that breaks nothing fails nothing. To look further:
//! `PROPTEST_RNG_SEED=7 PROPTEST_CASES=20000 cargo test -p postern-admin --release diff_every`.

use postern_admin::diff::{self, Effect, Identity, Plan, Report, Side, Verdict};
use postern_policy::facts::{
    Action, AffectedUnit, FileFacts, PackageStep, PackageTransaction, UnitFacts, UnitState,
};
use postern_policy::types::{
    Arguments, CommandName, Digest, FileMode, PackageName, PackageVersion, TargetPath, UnitName, UserName,
};
use postern_policy::{Decision, Facts, Object, Policy, VerbId};
use postern_proto::root::v1 as root;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use std::collections::BTreeSet;
use std::sync::LazyLock;

/// Everyone there is: user, group, and what the difference calls them. The third has no user's name in any policy.
const PEERS: [(Peer, &[&str]); 3] =
    [(("a", "g"), &["user a", "group g"]), (("b", "b"), &["user b"]), (("c", "g"), &["group g"])];

/// A user and its group.
type Peer = (&'static str, &'static str);

const VERBS: [VerbId; 11] = [
    VerbId::PackageUpgrade,
    VerbId::FileList,
    VerbId::FileSetMode,
    VerbId::CommandRun,
    VerbId::RequestUndo,
    VerbId::PackageInstall,
    VerbId::UnitStart,
    VerbId::UnitStatus,
    VerbId::FileRead,
    VerbId::FileWrite,
    VerbId::PackageUpdate,
];

/// A request with what it would come to.
#[derive(Debug, Clone)]
struct Request {
    verb: VerbId,
    object: Object,
    plan: Plan,
}

/// Everything that can be asked for over the alphabet: names up to a length, with the limits that rules may have.
static REQUESTS: LazyLock<Vec<Request>> = LazyLock::new(|| {
    let mut requests =
        vec![Request { verb: VerbId::PackageUpdate, object: Object::Nothing, plan: Plan::Nothing }];
    requests.extend(words("ab1", 3).iter().filter_map(|value| command(value)));
    requests.extend(["r0", "r1", "r2", "r3", "r4", "n0", "n1"].map(|id| {
        let object = Object::Undo { rule: id.to_owned(), least: Decision::Allow };
        Request { verb: VerbId::RequestUndo, object, plan: Plan::Nothing }
    }));
    for (new, removals) in [(0, false), (0, true), (1, false), (2, false)] {
        let plan = Plan::Packages { new, upgrades: false, removals, downgrades: false };
        requests.push(Request { verb: VerbId::PackageUpgrade, object: Object::AllPackages, plan });
    }
    for name in words("ab.", 4) {
        if let Ok(name) = PackageName::new(&name) {
            package(&name, &mut requests);
        }
    }
    for stem in words("ab.@", 4) {
        for suffix in [".swap", ".path"] {
            if let Ok(name) = UnitName::new(&format!("{stem}{suffix}")) {
                unit(&name, &mut requests);
            }
        }
    }
    for path in words("ab./", 4) {
        if let Ok(path) = TargetPath::new(&format!("/{path}")) {
            file(&path, &mut requests);
        }
    }
    requests
});

/// A command's call with this value, if it can be one.
fn command(value: &str) -> Option<Request> {
    let arguments = Arguments::new(vec![("p".to_owned(), value.to_owned())]).ok()?;
    let object = Object::Command { name: CommandName::new("run").ok()?, arguments };
    Some(Request { verb: VerbId::CommandRun, object, plan: Plan::Nothing })
}

fn package(name: &PackageName, requests: &mut Vec<Request>) {
    for (new, removals) in [(0, false), (0, true), (1, false), (2, false)] {
        let object = Object::Package { name: name.clone(), version: None };
        let plan = Plan::Packages { new, upgrades: false, removals, downgrades: false };
        requests.push(Request { verb: VerbId::PackageUpgrade, object, plan });
    }
    for version in [None, Some("1"), Some("1a"), Some("2")] {
        let version = version.map(|text| PackageVersion::new(text).unwrap());
        for new in 0..4 {
            for removals in [false, true] {
                let object = Object::Package { name: name.clone(), version: version.clone() };
                let plan = Plan::Packages { new, upgrades: false, removals, downgrades: false };
                requests.push(Request { verb: VerbId::PackageInstall, object, plan });
            }
        }
    }
}

fn unit(name: &UnitName, requests: &mut Vec<Request>) {
    let object = Object::unit(name.clone());
    for lines in [0, 1, 3] {
        let plan = Plan::Journal { lines };
        requests.push(Request { verb: VerbId::UnitStatus, object: object.clone(), plan });
    }
    for cascade in [false, true] {
        let plan = Plan::Unit { cascade };
        requests.push(Request { verb: VerbId::UnitStart, object: object.clone(), plan });
    }
}

fn file(path: &TargetPath, requests: &mut Vec<Request>) {
    let read = Object::read(path.clone());
    for verb in [VerbId::FileRead, VerbId::FileList] {
        requests.push(Request { verb, object: read.clone(), plan: Plan::Nothing });
    }
    for mode in ["0644", "0600"] {
        let mut object = read.clone();
        if let Object::File { mode: asked, .. } = &mut object {
            *asked = Some(FileMode::new(mode).unwrap());
        }
        requests.push(Request { verb: VerbId::FileSetMode, object, plan: Plan::Nothing });
    }
    for text in ["a", "b", "aa", "ab", "ba", "a\nb", "aa\nb", "b\nba", "a\nab\nb"] {
        let mut object = read.clone();
        if let Object::File { content, .. } = &mut object {
            *content = Some(text.as_bytes().into());
        }
        requests.push(Request { verb: VerbId::FileWrite, object, plan: Plan::File { create: false } });
    }
    for mode in [None, Some("0644"), Some("0600")] {
        for owner in [None, Some("root"), Some("w")] {
            for bytes in [0, 6] {
                for create in [false, true] {
                    let object = Object::File {
                        path: path.clone(),
                        bytes,
                        content: None,
                        mode: mode.map(|text| FileMode::new(text).unwrap()),
                        owner: owner.map(|text| UserName::new("owner", text).unwrap()),
                        group: None,
                    };
                    requests.push(Request { verb: VerbId::FileWrite, object, plan: Plan::File { create } });
                }
            }
        }
    }
}

/// Every word over the letters, of 1 to `longest` of them.
fn words(letters: &str, longest: usize) -> Vec<String> {
    let mut all = vec![String::new()];
    let mut last = all.clone();
    for _ in 0..longest {
        last = last.iter().flat_map(|word| letters.chars().map(move |c| format!("{word}{c}"))).collect();
        all.extend(last.clone());
    }
    all.split_off(1)
}

/// The helper's decision, as an independent implementation from the policy crate's public functions.
fn decide(policy: &Policy, peer: Peer, request: &Request) -> (Verdict, String) {
    let object = match (&request.plan, &request.object) {
        (Plan::Journal { lines }, Object::Unit { name, .. }) => {
            Object::Unit { name: name.clone(), journal_lines: *lines }
        }
        (_, object) => object.clone(),
    };
    let required_grants = [(request.verb, object)];
    let facts = match (&request.plan, &request.object) {
        (
            Plan::Packages { new, upgrades, removals, downgrades },
            Object::Package { .. } | Object::AllPackages,
        ) => Facts::Packages(transaction(request, *new, [*upgrades, *removals, *downgrades])),
        (Plan::Unit { cascade }, Object::Unit { name, .. }) => {
            let other = UnitState { id: "c.service".to_owned(), ..UnitState::default() };
            let state = UnitState { id: name.as_str().to_owned(), ..UnitState::default() };
            let affected = if *cascade {
                vec![AffectedUnit { verb: VerbId::UnitStop, cause: String::new(), state: other }]
            } else {
                Vec::new()
            };
            Facts::Unit(Box::new(UnitFacts { state, affected }))
        }
        (Plan::File { create: true }, Object::File { path, .. }) => {
            Facts::Files(vec![FileFacts { path: path.clone(), old: None, xattrs: Vec::new() }])
        }
        _ => Facts::None,
    };
    let (user, group) = peer;
    let who = postern_policy::Identity {
        uid: 1,
        users: vec![user.to_owned()],
        groups: vec![group.to_owned()],
        ..Default::default()
    };
    let granted = policy.decide(&who, &required_grants);
    match granted.and_then(|granted| policy.decide_facts(granted, &who, &facts)) {
        Ok(granted) => {
            let rule = granted.rules().next().map_or(String::new(), |rule| {
                let has_lines = matches!(request.verb, VerbId::FileRead | VerbId::FileList);
                let bytes = if has_lines { rule.max_bytes } else { 0 };
                format!(
                    "{:?} {} {:?} {bytes}",
                    rule.timeout_s,
                    rule.approvers,
                    (rule.rate_count, rule.rate_window_s)
                )
            });
            let verdict = if granted.decision() == Decision::Ask { Verdict::Asks } else { Verdict::Allowed };
            (verdict, rule)
        }
        Err(_) => (Verdict::Refused, String::new()),
    }
}

fn transaction(request: &Request, new: u32, others: [bool; 3]) -> PackageTransaction {
    let step = |name: &PackageName, action, asked| PackageStep {
        action,
        name: name.clone(),
        arch: String::new(),
        old: String::new(),
        new: String::new(),
        sources: Vec::new(),
        asked,
    };
    let other = PackageName::new("other").unwrap();
    let installs = request.verb == VerbId::PackageInstall && new > 0;
    let mut steps = Vec::new();
    if let Object::Package { name, .. } = &request.object {
        steps.push(step(name, if installs { Action::Install } else { Action::Upgrade }, true));
    }
    steps.extend((u32::from(installs)..new).map(|_| step(&other, Action::Install, false)));
    for (is_so, action) in others.into_iter().zip([Action::Upgrade, Action::Remove, Action::Downgrade]) {
        if is_so {
            steps.push(step(&other, action, false));
        }
    }
    PackageTransaction { steps, ..PackageTransaction::default() }
}

fn pattern() -> impl Strategy<Value = String> {
    prop_oneof![4 => "[ab.*]{1,3}", 1 => Just("*".to_owned())]
}

fn rule() -> impl Strategy<Value = root::Rule> {
    let decision = prop_oneof![
        4 => Just(root::Decision::Allow),
        1 => Just(root::Decision::Ask),
        1 => Just(root::Decision::Deny)
    ];
    let client = prop_oneof![4 => Just("a"), 1 => Just("b"), 2 => Just("g")];
    (client, decision, object(), limits()).prop_map(|(client, decision, object, limits)| {
        let mut rule = root::Rule { client: client.to_owned(), ..object };
        rule.set_decision(decision);
        match decision {
            root::Decision::Deny | root::Decision::Unspecified => rule,
            root::Decision::Ask => {
                root::Rule { approvers: 1, approval_ttl_s: 900, ..limits_of(limits, rule) }
            }
            root::Decision::Allow => limits_of(limits, rule),
        }
    })
}

fn object() -> impl Strategy<Value = root::Rule> {
    let verbs = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let files = proptest::sample::subsequence(
        vec!["file.read", "file.write", "file.list", "file.set-mode", "request.undo"],
        1..=3,
    );
    let units = proptest::sample::subsequence(vec!["unit.start", "unit.status"], 1..=2);
    let directory = proptest::sample::select(vec!["/a", "/b", "/a/b", "/a/.b", "/ab"]);
    prop_oneof![
        2 => proptest::collection::vec("[a1*]{1,2}|\\*", 0..3).prop_map(move |patterns| root::Rule {
            verbs: verbs(&["command.run"]),
            commands: verbs(&["r*"]),
            parameters: if patterns.is_empty() { Vec::new() } else {
                vec![root::ParameterGrant { name: "p".to_owned(), patterns }]
            },
            ..root::Rule::default()
        }),
        1 => Just(root::Rule { verbs: verbs(&["package.update"]), ..root::Rule::default() }),
        3 => proptest::collection::vec("[ab][ab.*]{1,2}|\\*", 1..3).prop_map(move |packages| root::Rule {
            verbs: verbs(&["package.install", "package.upgrade"]), packages, ..root::Rule::default()
        }),
        4 => (units, proptest::collection::vec("[ab.@*]{1,3}(\\.swap|\\.path|\\*)", 1..3)).prop_map(move |(names, units)| root::Rule {
            verbs: verbs(&names), units, ..root::Rule::default()
        }),
        5 => (files, proptest::collection::vec(directory, 1..3), 1..4_u32, proptest::collection::vec(pattern(), 1..3)).prop_map(
            move |(names, directories, depth, files)| root::Rule {
                verbs: verbs(&names), directories: verbs(&directories), depth, files, ..root::Rule::default()
            }),
    ]
}

type Limits =
    (Vec<&'static str>, Vec<&'static str>, Vec<&'static str>, Vec<&'static str>, u32, u64, [bool; 4], u64);

fn limits() -> impl Strategy<Value = Limits> {
    let some = |of: Vec<&'static str>| {
        let all = of.len();
        proptest::sample::subsequence(of, 0..=all)
    };
    (
        some(vec!["1", "1*", "2"]),
        some(vec!["0644", "0600"]),
        some(vec!["root", "w"]),
        prop_oneof![3 => Just(Vec::new()), 2 => some(vec!["a*", "b", "*b", "aa"])],
        0..3_u32,
        prop_oneof![Just(5_u64), Just(50)],
        any::<[bool; 4]>(),
        prop_oneof![4 => Just(600_u64), 1 => Just(60)],
    )
}

fn limits_of(limits: Limits, rule: root::Rule) -> root::Rule {
    let texts = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    let (versions, modes, owners, lines, max_new_packages, max_bytes, flags, timeout_s) = limits;
    root::Rule {
        versions: texts(&versions),
        modes: texts(&modes),
        owners: texts(&owners),
        lines: texts(&lines),
        max_files: 20,
        new_packages: flags[3],
        groups: texts(&["root"]),
        max_new_packages,
        max_bytes,
        allow_removals: flags[0],
        allow_cascade: flags[1],
        journal_lines: max_new_packages,
        allow_create: flags[2],
        timeout_s,
        ..rule
    }
}

fn policy(rules: Vec<root::Rule>) -> root::Rules {
    let client = |name: &str, user: &str, group: &str| root::Client {
        name: name.to_owned(),
        user: user.to_owned(),
        group: group.to_owned(),
    };
    let parameter = root::Parameter {
        name: "p".to_owned(),
        kind: root::ParameterKind::Text.into(),
        values: vec!["a*".to_owned(), "*1".to_owned()],
        ..root::Parameter::default()
    };
    let command =
        root::Command { name: "run".to_owned(), parameters: vec![parameter], ..root::Command::default() };
    root::Rules {
        version: 1,
        clients: vec![client("a", "a", ""), client("b", "b", ""), client("g", "", "g")],
        rules,
        commands: vec![command],
        ..root::Rules::default()
    }
}

/// Two policies: one, and what a hand made of it.
fn pair() -> impl Strategy<Value = (root::Rules, root::Rules)> {
    let list = || {
        proptest::collection::vec(rule(), 1..6).prop_map(|list| {
            let named = list.into_iter().enumerate();
            named.map(|(number, rule)| root::Rule { id: format!("r{number}"), ..rule }).collect::<Vec<_>>()
        })
    };
    let edits = proptest::collection::vec((0..5_usize, any::<proptest::sample::Index>(), rule()), 0..3);
    let edited = (list(), edits).prop_map(|(old, edits): (Vec<root::Rule>, Vec<_>)| {
        let mut new = old.clone();
        for (number, (edit, at, rule)) in edits.into_iter().enumerate() {
            let at = at.index(new.len());
            let id = format!("n{number}");
            match edit {
                0 => new.insert(at, root::Rule { id, ..rule }),
                1 if new.len() > 1 => drop(new.remove(at)),
                2 => new.swap(0, at),
                3 => new[at] = limits_into(&new[at], &rule),
                _ => {
                    // Under another id it undoes other requests; that a rule has another id is told as no change.
                    let mut twin = root::Rule { id, ..new[at].clone() };
                    twin.verbs.retain(|verb| verb != "request.undo");
                    if !twin.verbs.is_empty() {
                        new.push(twin);
                    }
                }
            }
        }
        (policy(old), policy(new))
    });
    let units = proptest::sample::subsequence(vec!["ab*.swap", "a*.path"], 0..=2);
    let paths = proptest::sample::subsequence(vec!["/a/b", "/b/a"], 0..=2);
    let is_some = proptest::bool::weighted(0.2);
    let edited = (edited, units, paths, is_some).prop_map(|((old, mut new), units, paths, is_some)| {
        let texts = |list: Vec<&str>| list.into_iter().map(str::to_owned).collect::<Vec<_>>();
        let protect = root::Protect { packages: texts(vec!["ab"]), units: texts(units), paths: texts(paths) };
        new.protect = is_some.then_some(protect);
        (old, new)
    });
    prop_oneof![4 => edited, 1 => (list(), list()).prop_map(|(old, new)| (policy(old), policy(new)))]
}

/// The rule with some limits of the other.
fn limits_into(rule: &root::Rule, other: &root::Rule) -> root::Rule {
    if rule.decision() == root::Decision::Deny || other.decision() == root::Decision::Deny {
        return root::Rule { depth: rule.depth.max(1), ..rule.clone() };
    }
    root::Rule {
        modes: other.modes.clone(),
        lines: other.lines.clone(),
        versions: other.versions.clone(),
        max_new_packages: other.max_new_packages,
        allow_create: other.allow_create,
        timeout_s: other.timeout_s,
        ..rule.clone()
    }
}

fn compile(rules: &root::Rules) -> Policy {
    Policy::compile(rules, Digest::of(&[])).unwrap()
}

fn report(old: &root::Rules, new: &root::Rules) -> Report {
    let side = |rules| Side { rules, positions: &[] };
    let report = diff::between(side(old), side(new)).unwrap();
    assert!(report.unproven.is_empty(), "{:?}", report.unproven);
    report
}

/// The kinds of change of one peer's requests: the verb and what is said before and after.
type Kinds = BTreeSet<(VerbId, Verdict, Verdict)>;

/// Tries every request of one peer and returns the differences.
fn every(old: &Policy, new: &Policy, peer: Peer) -> Kinds {
    let mut kinds = Kinds::new();
    // Both policies refuse a verb that no rule names.
    let is_spoken_of =
        |verb| [old, new].iter().any(|policy| policy.rules().iter().any(|rule| rule.verbs.contains(&verb)));
    for request in REQUESTS.iter().filter(|request| is_spoken_of(request.verb)) {
        let (before, after) = (decide(old, peer, request), decide(new, peer, request));
        if before != after {
            kinds.insert((request.verb, before.0, after.0));
        }
    }
    kinds
}

/// Returns the reported differences for a peer with all these identities.
fn told(report: &Report, is: &[&str]) -> Kinds {
    let concerns = |effect: &&Effect| effect.who.iter().all(|who: &Identity| is.contains(&&*who.to_string()));
    let concerning = report.effects.iter().filter(concerns);
    concerning
        .flat_map(|effect| effect.verbs.iter().map(|verb| (*verb, effect.old.verdict, effect.new.verdict)))
        .collect()
}

fn config() -> ProptestConfig {
    let default = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    match (std::env::var_os("PROPTEST_RNG_SEED"), std::env::var_os("PROPTEST_CASES")) {
        (None, None) => ProptestConfig { cases: 96, rng_seed: RngSeed::Fixed(0), ..default },
        _ => default,
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn the_difference_is_exactly_what_trying_every_request_finds((old, new) in pair()) {
        let report = report(&old, &new);
        let (before, after) = (compile(&old), compile(&new));
        for (peer, is) in PEERS {
            let (found, told) = (every(&before, &after, peer), told(&report, is));
            for kind in &found {
                prop_assert!(told.contains(kind), "{kind:?} of {is:?} is not told: {:#?}", report.effects);
            }
        }
        // Each example has the reported decisions for the identity that it is reported for.
        for effect in &report.effects {
            let who = effect.who.iter().map(ToString::to_string).collect::<Vec<_>>();
            let Some((peer, _)) = PEERS.iter().find(|(_, is)| **is == *who || (who == ["user a"] && is[0] == "user a")) else {
                continue;
            };
            if who == ["user a"] {
                continue;
            }
            for (verb, example) in effect.verbs.iter().flat_map(|verb| effect.examples.iter().map(move |e| (verb, e))) {
                let request = Request { verb: *verb, object: example.object.clone(), plan: example.plan.clone() };
                let (old, new) = (decide(&before, *peer, &request), decide(&after, *peer, &request));
                prop_assert_ne!(&old, &new, "{:?}", &request);
                prop_assert_eq!((old.0, new.0), (effect.old.verdict, effect.new.verdict));
            }
        }
    }

    #[test]
    fn a_policy_does_not_differ_from_itself_under_other_names((old, _) in pair()) {
        let mut new = old.clone();
        new.rules.iter_mut().for_each(|rule| rule.id.insert_str(0, "other-"));
        let report = report(&old, &new);
        prop_assert!(!report.is_change(), "{:#?}", report);
        prop_assert!(!report.written.is_empty());
    }
}

#[test]
fn the_tried_requests_cover_every_verb() {
    assert!(REQUESTS.len() > 5_000, "{}", REQUESTS.len());
    for verb in VERBS {
        assert!(REQUESTS.iter().any(|request| request.verb == verb), "{verb:?}");
    }
}

//! Limits that only a plan can break.

use crate::common::{agent, rule, strings};
use crate::rules::{decide, decided, file, package, policy, policy_with, said, site};
use postern_policy::facts::{Action, Origin, PackageStep, PackageTransaction};
use postern_policy::types::PackageName;
use postern_policy::{Code, Denied, Facts, Object, Policy, VerbId};
use postern_proto::root::v1 as root;
use root::Decision::{Allow, Deny};

pub fn step(action: Action, name: &str, asked: bool) -> PackageStep {
    PackageStep {
        action,
        name: PackageName::new(name).unwrap(),
        arch: "amd64".to_owned(),
        old: String::new(),
        new: "1".to_owned(),
        sources: Vec::new(),
        asked,
    }
}

pub fn plan(policy: &Policy, verb: VerbId, objects: &[Object], steps: &[PackageStep]) -> Result<(), Denied> {
    let required_grants = objects.iter().map(|object| (verb, object.clone())).collect::<Vec<_>>();
    let by = decide(policy, &required_grants)?;
    let plan = PackageTransaction { steps: steps.to_vec(), ..PackageTransaction::default() };
    policy.decide_facts(by, &agent(), &Facts::Packages(plan)).map(drop)
}

fn from(step: PackageStep, origins: &[&str]) -> PackageStep {
    let sources = origins.iter().map(|text| Origin::new(text).unwrap()).collect();
    PackageStep { sources, ..step }
}

const DEBIAN: &str =
    "/etc/apt/sources.list.d/debian.sources:2 https://deb.example.org/debian /usr/share/keyrings/d.gpg";

/// A policy whose only rule grants packages from its only source.
fn from_source(source: root::Source, verb: &str) -> Policy {
    let rule = root::Rule {
        packages: strings(&["*"]),
        sources: vec![source.name.clone()],
        allow_downgrades: true,
        allow_removals: true,
        ..rule("r", &[verb])
    };
    let other = root::Source {
        name: "other".to_owned(),
        entries: strings(&["/etc/apt/sources.list.d/other.list"]),
        ..root::Source::default()
    };
    policy_with(root::Rules { rules: vec![rule], sources: vec![other, source], ..root::Rules::default() })
}

fn debian() -> root::Source {
    let entries = strings(&["/etc/apt/sources.list.d/debian.sources"]);
    root::Source { name: "debian".to_owned(), entries, ..root::Source::default() }
}

#[test]
fn a_package_comes_from_the_granted_entries_host_and_keys_or_not_at_all() {
    let entry = |entry: &str| root::Source { entries: strings(&[entry]), ..debian() };
    let host = |host: &str| root::Source { hosts: strings(&[host]), ..debian() };
    let keys = |keys: &[&str]| root::Source { signed_by: strings(keys), ..debian() };
    let two_keys = format!("{DEBIAN},/x.gpg");
    let no_keys = DEBIAN.replace("/usr/share/keyrings/d.gpg", "-");
    let other_host = DEBIAN.replace("deb.example.org", "deb.example.org.evil.example");
    let user = DEBIAN.replace("https://", "https://deb.example.org@evil.example:443/");
    let file = DEBIAN.replace("https://deb.example.org/debian", "file:/srv/deb.example.org");
    let mirror = DEBIAN.replace("https://", "mirror+http://");
    let port = DEBIAN.replace("deb.example.org/", "deb.example.org:8443/");
    for (source, origin, is_granted) in [
        (debian(), DEBIAN, true),
        (entry("/etc/apt/sources.list.d/debian.sources:2"), DEBIAN, true),
        (entry("/etc/apt/sources.list.d/debian.sources:1"), DEBIAN, false),
        (entry("/etc/apt/sources.list.d/debian.source"), DEBIAN, false),
        (entry("/etc/apt/sources.list"), DEBIAN, false),
        (host("deb.example.org"), DEBIAN, true),
        (host("deb.example.org"), &port, true),
        (host("deb.example.org"), &other_host, false),
        (host("deb.example.org"), &user, false),
        (host("deb.example.org"), &file, false),
        (host("deb.example.org"), &mirror, false),
        (debian(), &file, true),
        (keys(&["/usr/share/keyrings/d.gpg"]), DEBIAN, true),
        (keys(&["/usr/share/keyrings/d.gpg", "/x.gpg"]), &two_keys, true),
        (keys(&["/usr/share/keyrings/d.gpg"]), &two_keys, false),
        (keys(&["/usr/share/keyrings/d.gpg"]), &no_keys, false),
        (keys(&["-"]), &no_keys, false),
        (keys(&["/x.gpg"]), DEBIAN, false),
    ] {
        let shown = format!("{source:?} {origin}");
        let policy = from_source(source, "package.install");
        for action in [Action::Install, Action::Upgrade, Action::Downgrade, Action::Reinstall] {
            let steps = [from(step(action, "a0", true), &[origin])];
            let answer = plan(&policy, VerbId::PackageInstall, &[package("a0")], &steps);
            assert_eq!(answer.map_err(|refusal| refusal.code).is_ok(), is_granted, "{shown}");
        }
    }
}

#[test]
fn every_source_of_every_fetched_package_must_be_granted() {
    let other =
        "/etc/apt/sources.list.d/evil.sources:1 https://deb.example.org/debian /usr/share/keyrings/d.gpg";
    let policy = from_source(debian(), "package.install");
    let asked = || from(step(Action::Install, "a0", true), &[DEBIAN]);
    let along = |origins: &[&str]| from(step(Action::Install, "b0", false), origins);
    for (origins, is_granted) in
        [(&[DEBIAN] as &[&str], true), (&[other], false), (&[DEBIAN, other], false), (&[], false)]
    {
        let refusal = plan(&policy, VerbId::PackageInstall, &[package("a0")], &[asked(), along(origins)]);
        assert_eq!(refusal.is_ok(), is_granted, "{origins:?}");
        if let Err(refusal) = refusal {
            assert_eq!(refusal.code, Code::PlanRefused);
            assert!(refusal.message.starts_with("b0 1 would come from "), "{}", refusal.message);
            assert!(refusal.message.ends_with("from debian only (`sources`)"), "{}", refusal.message);
        }
    }
    // Steps without a download have no source.
    let gone = [asked(), step(Action::Remove, "b0", false), step(Action::Configure, "c0", false)];
    assert!(plan(&policy, VerbId::PackageInstall, &[package("a0")], &gone).is_ok());
    // A source that the policy does not have grants nothing.
    let unknown = root::Rule {
        packages: strings(&["*"]),
        sources: strings(&["debian"]),
        ..rule("r", &["package.install"])
    };
    assert!(
        plan(&crate::rules::policy(vec![unknown]), VerbId::PackageInstall, &[package("a0")], &[asked()])
            .is_err()
    );
}

#[test]
fn packages_that_the_helper_depends_on_are_only_upgraded() {
    let verbs = [
        "package.install",
        "package.remove",
        "package.purge",
        "package.upgrade",
        "package.hold",
        "package.unhold",
    ];
    let all = root::Rule {
        packages: strings(&["*"]),
        max_new_packages: 5,
        allow_upgrades: true,
        allow_removals: true,
        allow_downgrades: true,
        new_packages: true,
        ..rule("all", &verbs)
    };
    let policy = policy(vec![all]);
    let code = |verb, action, name: &str| {
        plan(&policy, verb, &[package("a0")], &[step(action, name, false)]).map_err(|refusal| refusal.code)
    };
    for name in ["libc6", "systemd", "dpkg", "apt"] {
        for action in [Action::Remove, Action::Purge, Action::Downgrade] {
            assert_eq!(code(VerbId::PackageInstall, action, name), Err(Code::Protected), "{name} {action:?}");
        }
        assert_eq!(code(VerbId::PackageUpgrade, Action::Upgrade, name), Ok(()), "{name}");
        for verb in [VerbId::PackageRemove, VerbId::PackagePurge, VerbId::PackageHold, VerbId::PackageUnhold]
        {
            assert_eq!(said(&policy, verb, &package(name)), Err(Code::Protected), "{name} {verb:?}");
        }
        assert!(said(&policy, VerbId::PackageUpgrade, &package(name)).is_ok());
    }
    for action in [Action::Install, Action::Upgrade, Action::Downgrade, Action::Reinstall, Action::Remove] {
        assert_eq!(code(VerbId::PackageInstall, action, "postern"), Err(Code::Protected), "{action:?}");
    }
    for verb in [VerbId::PackageInstall, VerbId::PackageUpgrade, VerbId::PackageHold] {
        assert_eq!(said(&policy, verb, &package("postern")), Err(Code::Protected), "{verb:?}");
    }
}

#[test]
fn a_repair_installs_missing_packages_and_removes_none() {
    let policy = policy(vec![root::Rule { max_new_packages: 0, ..rule("repair", &["package.repair"]) }]);
    let code = |action| {
        let steps = [step(Action::Configure, "b0", false), step(action, "a0", false)];
        plan(&policy, VerbId::PackageRepair, &[Object::Nothing], &steps).map_err(|refusal| refusal.code)
    };
    for action in [Action::Configure, Action::Install, Action::Upgrade, Action::Reinstall] {
        assert_eq!(code(action), Ok(()), "{action:?}");
    }
    for action in [Action::Remove, Action::Purge, Action::Downgrade] {
        assert_eq!(code(action), Err(Code::PlanRefused), "{action:?}");
    }
}

#[test]
fn a_transaction_does_what_its_verb_says_and_what_the_rule_adds() {
    let packages =
        |id, verbs: &[&str]| root::Rule { packages: strings(&["*"]), max_new_packages: 5, ..rule(id, verbs) };
    let all = ["package.install", "package.remove", "package.purge", "package.upgrade"];
    let plain = policy(vec![packages("plain", &all)]);
    let more = root::Rule {
        allow_removals: true,
        new_packages: true,
        allow_upgrades: true,
        ..packages("more", &all)
    };
    let more = policy(vec![more]);
    let code = |policy, verb, steps: &[PackageStep]| {
        plan(policy, verb, &[package("a0")], steps).map_err(|refusal| refusal.code)
    };
    let refused = Err(Code::PlanRefused);
    for (verb, steps, by_plain, by_more) in [
        (VerbId::PackageRemove, vec![step(Action::Remove, "a0", true)], Ok(()), Ok(())),
        (VerbId::PackageRemove, vec![step(Action::Remove, "b0", false)], refused, Ok(())),
        (VerbId::PackageRemove, vec![step(Action::Purge, "a0", true)], refused, refused),
        (VerbId::PackagePurge, vec![step(Action::Purge, "a0", true)], Ok(()), Ok(())),
        (VerbId::PackageInstall, vec![step(Action::Remove, "a0", true)], refused, Ok(())),
        (VerbId::PackageInstall, vec![step(Action::Upgrade, "a0", true)], Ok(()), Ok(())),
        (VerbId::PackageInstall, vec![step(Action::Upgrade, "b0", false)], refused, Ok(())),
        (VerbId::PackageUpgrade, vec![step(Action::Upgrade, "a0", true)], Ok(()), Ok(())),
        (VerbId::PackageUpgrade, vec![step(Action::Install, "b0", false)], refused, Ok(())),
        (VerbId::PackageInstall, vec![step(Action::Install, "b0", false)], Ok(()), Ok(())),
    ] {
        assert_eq!(code(&plain, verb, &steps), by_plain, "{verb:?} {steps:?}");
        assert_eq!(code(&more, verb, &steps), by_more, "{verb:?} {steps:?}");
    }
    // A grant of autoremove needs no `allow_removals`.
    let auto = policy(vec![rule("auto", &["package.autoremove"])]);
    let steps = [step(Action::Remove, "lib0", false)];
    assert!(plan(&auto, VerbId::PackageAutoremove, &[Object::Nothing], &steps).is_ok());
}

#[test]
fn an_upgrade_of_all_is_decided_package_by_package() {
    let upgrade = |id, patterns: &[&str], decision| {
        let packages = strings(patterns);
        decided(root::Rule { packages, allow_upgrades: true, ..rule(id, &["package.upgrade"]) }, decision)
    };
    let some = policy(vec![upgrade("some", &["nginx*", "**"], Allow)]);
    assert_eq!(said(&some, VerbId::PackageUpgrade, &Object::AllPackages), Err(Code::NoGrant));
    let all = policy(vec![upgrade("all", &["*"], Allow), upgrade("kernel", &["linux-*"], Deny)]);
    let steps = |name| [step(Action::Upgrade, name, false)];
    assert!(plan(&all, VerbId::PackageUpgrade, &[Object::AllPackages], &steps("curl")).is_ok());
    let refusal =
        plan(&all, VerbId::PackageUpgrade, &[Object::AllPackages], &steps("linux-image")).unwrap_err();
    assert_eq!(refusal.code, Code::Denied);
}

#[test]
fn a_denied_package_is_not_installed_as_a_dependency() {
    let install = |id, patterns: &[&str], decision| {
        let packages = strings(patterns);
        decided(root::Rule { packages, max_new_packages: 5, ..rule(id, &["package.install"]) }, decision)
    };
    let rules = policy(vec![install("all", &["*"], Allow), install("never", &["docker.io"], Deny)]);
    assert_eq!(said(&rules, VerbId::PackageInstall, &package("docker.io")), Err(Code::Denied));
    let steps = [step(Action::Install, "docker-compose", true), step(Action::Install, "docker.io", false)];
    let refusal = plan(&rules, VerbId::PackageInstall, &[package("docker-compose")], &steps);
    assert_eq!(refusal.map_err(|r| r.code), Err(Code::Denied));
}

#[test]
fn a_package_denied_for_install_or_upgrade_does_not_change_under_another_verb() {
    for (denied, verb, object, action) in [
        ("package.install", VerbId::PackageUpgrade, Object::AllPackages, Action::Install),
        ("package.install", VerbId::PackageRemove, package("curl"), Action::Install),
        ("package.upgrade", VerbId::PackageInstall, package("curl"), Action::Upgrade),
        ("package.purge", VerbId::PackageInstall, package("curl"), Action::Purge),
    ] {
        let all = root::Rule {
            packages: strings(&["*"]),
            max_new_packages: 5,
            new_packages: true,
            allow_upgrades: true,
            allow_removals: true,
            ..rule("all", &["package.install", "package.upgrade", "package.remove"])
        };
        let never = root::Rule { packages: strings(&["docker.io"]), ..rule("never", &[denied]) };
        let rules = policy(vec![all, decided(never, Deny)]);
        let along = |name| plan(&rules, verb, std::slice::from_ref(&object), &[step(action, name, false)]);
        assert_eq!(along("docker.io").map_err(|r| r.code), Err(Code::Denied), "{denied} by {}", verb.name());
        assert!(along("other").is_ok(), "{denied} by {}", verb.name());
    }
}

#[test]
fn the_named_rule_is_the_ask_rule() {
    use crate::rules::unit;
    let r =
        |id, verb: &str, d| decided(root::Rule { units: strings(&["a.service"]), ..rule(id, &[verb]) }, d);
    let policy =
        policy(vec![r("may-enable", "unit.enable", Allow), r("must-ask", "unit.start", root::Decision::Ask)]);
    let by =
        decide(&policy, &[(VerbId::UnitEnable, unit("a.service")), (VerbId::UnitStart, unit("a.service"))])
            .unwrap();
    assert_eq!(by.rule_id(), "must-ask");
}

#[test]
fn a_verb_that_needs_approval_does_not_count_as_granted() {
    let read = decided(site("r", &["file.read"], 1, &["*"]), root::Decision::Ask);
    let rules = policy(vec![read, site("w", &["file.write"], 1, &["*"])]);
    assert!(!rules.grants(&agent(), VerbId::FileRead, &file("/srv/x/a")));
}

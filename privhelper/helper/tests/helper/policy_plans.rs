//! Limits that only a plan can break, and limits that this helper cannot check yet.

use crate::common::{CLIENT_UID, peer, rule, strings};
use crate::policy::{decide, decided, file, package, policy, said, site};
use postern_helper::error::{Code, Refusal};
use postern_helper::plan::{Action, PackagePlan, PackageStep, Subject};
use postern_helper::policy::{Object, Policy};
use postern_helper::types::PackageName;
use postern_helper::verb_id::VerbId;
use postern_proto::root::v1 as root;
use root::Decision::{Allow, Deny};

#[test]
fn what_this_helper_cannot_check_yet_refuses() {
    let sources = root::Rule {
        packages: strings(&["*"]),
        sources: strings(&["debian"]),
        ..rule("debian", &["package.install", "package.remove"])
    };
    let refusal = plan(
        &policy(vec![sources]),
        VerbId::PackageInstall,
        &[package("a0")],
        &[step(Action::Install, "a0", true)],
    );
    let refusal = refusal.unwrap_err();
    assert_eq!(refusal.code, Code::PlanRefused);
    assert!(refusal.message.contains("rule debian grants packages from debian only"), "{}", refusal.message);
}

pub fn step(action: Action, name: &str, asked: bool) -> PackageStep {
    PackageStep {
        action,
        name: PackageName::new(name).unwrap(),
        arch: "amd64".to_owned(),
        old: String::new(),
        new: "1".to_owned(),
        asked,
    }
}

pub fn plan(policy: &Policy, verb: VerbId, objects: &[Object], steps: &[PackageStep]) -> Result<(), Refusal> {
    let wishes = objects.iter().map(|object| (verb, object.clone())).collect::<Vec<_>>();
    let by = decide(policy, &wishes)?;
    let plan = PackagePlan { steps: steps.to_vec(), ..PackagePlan::default() };
    policy.decide_plan(peer(CLIENT_UID), by, &wishes, &Subject::Packages(&plan)).map(drop)
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
    // What autoremove is for, its rule need not say.
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
fn what_a_rule_denies_does_not_come_along_as_a_dependency() {
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
fn the_rule_that_is_named_is_the_one_that_asks() {
    use crate::policy::unit;
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
fn what_must_be_asked_for_is_not_told_before() {
    let read = decided(site("r", &["file.read"], 1, &["*"]), root::Decision::Ask);
    let rules = policy(vec![read, site("w", &["file.write"], 1, &["*"])]);
    assert!(!rules.grants(peer(CLIENT_UID), VerbId::FileRead, &file("/srv/x/a")));
}

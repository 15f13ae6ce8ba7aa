//! Flags of apt: computed once, alike for simulation and run.

use crate::common::{agent, rule, strings};
use crate::plans::step;
use crate::rules::{decide, file, package, policy, site};
use postern_policy::facts::{Action, PackageStep, PackageTransaction};
use postern_policy::{Code, Facts, Policy, VerbId};
use postern_proto::root::v1::{self as root, PackageFlags};

fn grants(id: &str, packages: &[&str]) -> root::Rule {
    let verbs = ["package.install", "package.upgrade", "package.autoremove"];
    root::Rule { packages: strings(packages), ..rule(id, &verbs) }
}

/// The flags before and after the decision about the steps, and the rule that lets them through.
fn both(policy: &Policy, steps: &[PackageStep]) -> Result<(PackageFlags, PackageFlags, String), Code> {
    let grant = decide(policy, &[(VerbId::PackageInstall, package("a0"))]).unwrap();
    let before = grant.package_flags();
    let facts =
        Facts::Packages(PackageTransaction { steps: steps.to_vec(), ..PackageTransaction::default() });
    let grant = policy.decide_facts(grant, &agent(), &facts).map_err(|denied| denied.code)?;
    Ok((before, grant.package_flags(), grant.rule_id().to_owned()))
}

fn new(names: &[&str]) -> Vec<PackageStep> {
    names.iter().map(|name| step(Action::Install, name, false)).collect()
}

/// Row 10: the first rule let the simulation bring recommended packages, the second one the run go on without them.
#[test]
fn simulation_and_run_have_the_same_flags_under_two_rules() {
    let few = root::Rule { recommends: true, max_new_packages: 1, ..grants("few", &["*"]) };
    let many = root::Rule { recommends: false, max_new_packages: 9, ..grants("many", &["*"]) };
    let (one, three) = (new(&["a0"]), new(&["a0", "b0", "c0"]));
    let rules = policy(vec![few.clone(), many.clone()]);
    let (before, after, by) = both(&rules, &one).unwrap();
    assert!(before.recommends);
    assert_eq!((before, by.as_str()), (after, "few"));
    // A rule without recommended packages lets no transaction through that was simulated with them.
    assert_eq!(both(&rules, &three).unwrap_err(), Code::PlanRefused);
    // The other way round both rules may let it through: neither is exceeded.
    let rules = policy(vec![many, few]);
    for (steps, by) in [(&one, "many"), (&three, "many")] {
        let (before, after, named) = both(&rules, steps).unwrap();
        assert!(!before.recommends);
        assert_eq!((before, named.as_str()), (after, by));
    }
}

#[test]
fn recommends_needs_a_grant_for_every_element() {
    let with = root::Rule { recommends: true, ..grants("with", &["a*"]) };
    let without = grants("without", &["b*"]);
    let policy = policy(vec![with, without]);
    let flags = |names: &[&str]| {
        let all = names.iter().map(|name| (VerbId::PackageInstall, package(name))).collect::<Vec<_>>();
        decide(&policy, &all).unwrap().package_flags().recommends
    };
    assert!(flags(&["a0", "a1"]));
    assert!(!flags(&["a0", "b0"]) && !flags(&["b0"]));
}

#[test]
fn a_flag_other_than_recommends_needs_one_granting_rule_for_each_element() {
    let removals = root::Rule { allow_removals: true, ..grants("removals", &["a*"]) };
    let downgrades =
        root::Rule { allow_downgrades: true, max_new_packages: 3, ..grants("downgrades", &["a*"]) };
    let other = root::Rule { allow_removals: true, max_new_packages: 7, ..grants("other", &["b*"]) };
    let policy = policy(vec![removals, downgrades, other]);
    let flags = |names: &[&str]| {
        let all = names.iter().map(|name| (VerbId::PackageInstall, package(name))).collect::<Vec<_>>();
        decide(&policy, &all).unwrap().package_flags()
    };
    let alone = flags(&["a0"]);
    assert!(alone.allow_removals && alone.allow_downgrades && !alone.allow_upgrades && !alone.new_packages);
    assert_eq!(alone.max_new_packages, 50);
    let both = flags(&["a0", "b0"]);
    assert!(both.allow_removals && !both.allow_downgrades);
    assert_eq!(both.max_new_packages, 7);
}

#[test]
fn a_request_about_something_else_has_no_flags() {
    let policy = policy(vec![site("r", &["file.read"], 1, &["*"])]);
    let flags = decide(&policy, &[(VerbId::FileRead, file("/srv/x/a"))]).unwrap().package_flags();
    assert_eq!(flags, PackageFlags::default());
}

#[test]
fn the_request_says_which_steps_it_names_and_not_the_simulation() {
    let rules = policy(vec![grants("r", &["a0"])]);
    let upgrade = |name, asked| [step(Action::Upgrade, name, asked)];
    assert!(both(&rules, &upgrade("a0", false)).is_ok());
    assert_eq!(both(&rules, &upgrade("b0", true)).unwrap_err(), Code::PlanRefused);
    let grant = decide(&rules, &[(VerbId::PackageInstall, package("a0"))]).unwrap();
    assert!(grant.asks_for(&upgrade("a0", false)[0]) && !grant.asks_for(&upgrade("b0", true)[0]));
}

//! How a change of packages is taken back.

use postern_helper::plan::inverse::{Inverse, Recorded, of};
use postern_policy::facts::{Action, PackageStep, PackageTransaction};
use postern_policy::types::PackageName;
use postern_policy::{Code, VerbId};
use postern_proto::v1::{self as wire, Status};

fn step(action: wire::Action, name: &str, old: &str, new: &str) -> wire::PackageStep {
    let [name, old, new] = [name, old, new].map(str::to_owned);
    wire::PackageStep { action: action.into(), name, arch: "all".to_owned(), old, new, ..Default::default() }
}

/// What a transaction has left: two new packages, one that was upgraded, and one of each kind of removal.
fn done() -> wire::Completed {
    let packages = vec![
        step(wire::Action::Install, "new-a", "", "1"),
        step(wire::Action::Install, "new-b", "", "2"),
        step(wire::Action::Upgrade, "up", "3", "4"),
        step(wire::Action::Remove, "gone", "5", ""),
        step(wire::Action::Purge, "purged", "6", ""),
    ];
    let plan = Some(wire::Plan { packages, ..wire::Plan::default() });
    let held = wire::PackageInfo {
        name: "held".to_owned(),
        arch: "all".to_owned(),
        installed: "7".to_owned(),
        ..Default::default()
    };
    wire::Completed { status: Status::Done.into(), plan, packages: vec![held], ..wire::Completed::default() }
}

fn packages(names: &[(&str, &str)]) -> Vec<Recorded> {
    let package = |(name, version): &(&str, &str)| Recorded {
        name: (*name).to_owned(),
        arch: "all".to_owned(),
        version: (*version).to_owned(),
    };
    names.iter().map(package).collect()
}

fn planned(steps: &[(Action, &str, &str, &str)]) -> PackageTransaction {
    let step = |(action, name, old, new): &(Action, &str, &str, &str)| PackageStep {
        action: *action,
        name: PackageName::new(name).unwrap(),
        arch: "all".to_owned(),
        old: (*old).to_owned(),
        new: (*new).to_owned(),
        sources: Vec::new(),
        asked: true,
    };
    PackageTransaction { steps: steps.iter().map(step).collect(), ..PackageTransaction::default() }
}

#[test]
fn each_verb_is_taken_back_by_another_with_the_recorded_versions() {
    for (verb, inverse, names) in [
        (VerbId::PackageInstall, VerbId::PackageRemove, vec![("new-a", "1"), ("new-b", "2")]),
        (VerbId::PackageRemove, VerbId::PackageInstall, vec![("gone", "5")]),
        (VerbId::PackageAutoremove, VerbId::PackageInstall, vec![("gone", "5")]),
        (VerbId::PackagePurge, VerbId::PackageInstall, vec![("purged", "6")]),
        (VerbId::PackageUpgrade, VerbId::PackageInstall, vec![("up", "3")]),
        (VerbId::PackageHold, VerbId::PackageUnhold, vec![("held", "")]),
        (VerbId::PackageUnhold, VerbId::PackageHold, vec![("held", "")]),
    ] {
        let downgrades = verb == VerbId::PackageUpgrade;
        let wanted = Inverse { verb: inverse, packages: packages(&names), downgrades };
        assert_eq!(of(verb, &done()).unwrap(), wanted);
    }
}

#[test]
fn what_left_nothing_to_take_back_is_gone() {
    let code = |verb, completed: &wire::Completed| of(verb, completed).unwrap_err().code;
    for status in [Status::Unchanged, Status::Failed, Status::Interrupted] {
        let completed = wire::Completed { status: status.into(), ..done() };
        assert_eq!(code(VerbId::PackageInstall, &completed), Code::UndoGone);
    }
    let forgotten = wire::Completed { plan: None, packages: Vec::new(), ..done() };
    for verb in [VerbId::PackageInstall, VerbId::PackageRemove, VerbId::PackageHold] {
        assert_eq!(code(verb, &forgotten), Code::UndoGone);
    }
    for verb in [VerbId::PackageUpdate, VerbId::PackageRepair, VerbId::PackageShow] {
        assert_eq!(code(verb, &done()), Code::Unsupported);
    }
    let mut twice = done();
    twice.plan.as_mut().unwrap().packages[1] =
        wire::PackageStep { arch: "i386".to_owned(), ..step(wire::Action::Install, "new-a", "", "1") };
    assert_eq!(code(VerbId::PackageInstall, &twice), Code::Unsupported);
}

#[test]
fn an_undo_touches_no_other_package_and_none_that_has_changed_since() {
    let remove = of(VerbId::PackageInstall, &done()).unwrap();
    let conflict = |inverse: &Inverse, steps: &[(Action, &str, &str, &str)]| {
        inverse.conflict(&planned(steps)).map_err(|refusal| refusal.code)
    };
    let refused = Err(Code::UndoConflict);
    assert_eq!(
        conflict(&remove, &[(Action::Remove, "new-a", "1", ""), (Action::Remove, "new-b", "2", "")]),
        Ok(())
    );
    for steps in [
        [(Action::Remove, "new-a", "1", ""), (Action::Remove, "needs-a", "1", "")],
        [(Action::Remove, "new-a", "1", ""), (Action::Remove, "new-b", "3", "")],
        [(Action::Remove, "new-a", "1", ""), (Action::Purge, "new-b", "2", "")],
        [(Action::Remove, "new-a", "1", ""), (Action::Install, "other", "", "1")],
    ] {
        assert_eq!(conflict(&remove, &steps), refused, "{steps:?}");
    }
    let install = of(VerbId::PackageRemove, &done()).unwrap();
    assert_eq!(conflict(&install, &[(Action::Install, "gone", "", "5")]), Ok(()));
    for step in [
        (Action::Upgrade, "gone", "4", "5"),
        (Action::Downgrade, "gone", "6", "5"),
        (Action::Install, "more", "", "5"),
    ] {
        assert_eq!(conflict(&install, &[step]), refused, "{step:?}");
    }
    let another_version = (Action::Install, "gone", "", "6");
    assert_eq!(conflict(&install, &[another_version]), Err(Code::UndoGone));
    let back = of(VerbId::PackageUpgrade, &done()).unwrap();
    assert_eq!(conflict(&back, &[(Action::Downgrade, "up", "4", "3")]), Ok(()));
    assert_eq!(conflict(&back, &[(Action::Install, "up", "", "3")]), refused);
}

#[test]
fn an_undo_does_not_take_a_package_for_that_of_another_architecture() {
    let foreign = |action, old: &str, new: &str| {
        let step = wire::PackageStep { arch: "i386".to_owned(), ..step(action, "lib", old, new) };
        let plan = Some(wire::Plan { packages: vec![step], ..wire::Plan::default() });
        wire::Completed { plan, ..done() }
    };
    let remove = of(VerbId::PackageInstall, &foreign(wire::Action::Install, "", "1")).unwrap();
    let native = planned(&[(Action::Remove, "lib", "1", "")]);
    assert_eq!(remove.conflict(&native).map_err(|refusal| refusal.code), Err(Code::UndoConflict));
    let install = of(VerbId::PackageRemove, &foreign(wire::Action::Remove, "1", "")).unwrap();
    let native = planned(&[(Action::Install, "lib", "", "1")]);
    assert!(install.conflict(&native).is_err());
}

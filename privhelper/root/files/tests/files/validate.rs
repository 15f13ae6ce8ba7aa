//! Validated writes: what is staged, and that the commit takes that and nothing else.

use crate::support::{
    Answer, CLIENT, Request, VALIDATOR_KEY, World, all_verbs, away, names, patch, remove, rule, set_mode,
    strings, to, whole, write,
};
use postern_proto::root::v1::{self as root, Agreement, Envelope, Staged, Step};
use postern_proto::v1::Status;
use postern_root::Key;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::PathBuf;

/// A world whose client may change `site` if `agrees` does.
fn world() -> World {
    World::new(|at| vec![root::Rule { validate: "agrees".to_owned(), ..all_verbs(at) }])
}

fn validator_key(world: &World) -> Key {
    Key::read(&world.host.validator_key).unwrap().unwrap()
}

/// An order with facts, its content, and what was staged for it.
pub fn staged<R: Request>(world: &World, request: &R) -> (root::Order, Staged) {
    let (mut order, contents) = world.order(CLIENT, request);
    order.facts = world.inspect(&order, None).facts;
    let answer = world.execute(&order, &contents, whole());
    let outcome = answer.outcome.unwrap_or_else(|| panic!("{:?}", answer.close));
    (order, outcome.staged.unwrap())
}

/// Signs the agreement of every required validator, in the place of `postern-units`.
pub fn agreements(world: &World, staged: &Staged) -> Vec<Agreement> {
    let policy_digest = world.policy_digest();
    let sign = |required: &root::RequiredValidator| {
        let agreement = Agreement {
            policy_digest: policy_digest.clone(),
            validator: required.name.clone(),
            stage_id: staged.stage_id.clone(),
            stage_digest: staged.digest.clone(),
            live: required.live.clone(),
            mac: Vec::new(),
        };
        validator_key(world).sign(agreement)
    };
    staged.validators.iter().map(sign).collect()
}

pub fn commit(world: &World, order: &root::Order, staged: &Staged, agreements: Vec<Agreement>) -> Answer {
    let envelope = Envelope {
        step: Step::Commit.into(),
        stage_id: staged.stage_id.clone(),
        stage_digest: staged.digest.clone(),
        agreements,
        ..Envelope::default()
    };
    world.execute(order, &[], envelope)
}

/// The copy of a live directory.
fn copy(world: &World, staged: &Staged, live: &str) -> PathBuf {
    assert!(staged.lives.iter().any(|known| known == live), "{live} is not in {:?}", staged.lives);
    let id = postern_policy::types::Digest::from_bytes(&staged.stage_id).unwrap().to_string();
    let name = postern_policy::types::Digest::of(&[live.as_bytes()]).to_string();
    world.path("state/stage").join(id).join(name.get(..16).unwrap())
}

#[test]
fn stages_the_whole_directory_and_commits_that_copy_once_the_validator_agrees() {
    let world = world();
    let path = world.text("site/a");
    fs::write(&path, "old").unwrap();
    fs::write(world.path("site/b"), "beside").unwrap();
    let (order, staged) = staged(&world, &write(&path, b"new"));
    assert_eq!(fs::read(&path).unwrap(), b"old", "nothing changes before the commit");
    assert_eq!(names(&world.path("site")), ["a", "b"], "nothing is beside the live file");
    assert!(validator_key(&world).verifies(&staged));
    assert_eq!(staged.lives, [world.text("site")]);
    let at = copy(&world, &staged, &world.text("site"));
    assert_eq!(
        (fs::read(at.join("a")).unwrap(), fs::read(at.join("b")).unwrap()),
        (b"new".to_vec(), b"beside".to_vec())
    );
    assert_eq!(fs::metadata(world.path("state/stage")).unwrap().mode() & 0o7777, 0o700);
    assert_eq!(world.outcomes(&order.order_id).0, "unknown", "a stage is no effect");
    let answer = commit(&world, &order, &staged, agreements(&world, &staged));
    assert_eq!((answer.status(), answer.done().undoable), (Status::Done, true));
    assert_eq!(fs::read(&path).unwrap(), b"new");
    assert!(names(&world.path("state/stage")).is_empty(), "the stage is gone");
}

#[test]
fn a_commit_needs_every_validator_signature_for_this_stage_and_policy() {
    let world = world();
    let path = world.text("site/a");
    let fails = |change: &dyn Fn(&mut Agreement)| {
        let (order, staged) = staged(&world, &write(&path, b"new"));
        let agreements = agreements(&world, &staged).into_iter().map(|mut agreement| {
            change(&mut agreement);
            agreement
        });
        let answer = commit(&world, &order, &staged, agreements.collect());
        assert_eq!(answer.code(), "validation_failed");
    };
    fails(&|agreement| agreement.mac = vec![0; 32]);
    fails(&|agreement| agreement.live = "/elsewhere".to_owned());
    let key = validator_key(&world);
    let signed = |agreement: Agreement| key.sign(agreement);
    fails(&|agreement| *agreement = signed(Agreement { policy_digest: vec![1; 32], ..agreement.clone() }));
    fails(&|agreement| *agreement = signed(Agreement { validator: "other".to_owned(), ..agreement.clone() }));
    fails(&|agreement| *agreement = signed(Agreement { stage_id: vec![1; 32], ..agreement.clone() }));
    fails(&|agreement| *agreement = signed(Agreement { stage_digest: vec![1; 32], ..agreement.clone() }));
    let (order, staged) = staged(&world, &write(&path, b"new"));
    assert_eq!(commit(&world, &order, &staged, Vec::new()).code(), "validation_failed");
    assert!(!world.path("site/a").exists());
    assert!(names(&world.path("state/stage")).is_empty(), "a refused commit removes the copy");
}

#[test]
fn a_stage_is_good_for_its_own_order_alone_and_once() {
    let world = world();
    let path = world.text("site/a");
    let (order, good) = staged(&world, &write(&path, b"good"));
    let (other, _) = staged(&world, &write(&path, b"evil"));
    let agreed = agreements(&world, &good);
    assert_eq!(commit(&world, &other, &good, agreed.clone()).code(), "plan_changed", "another order");
    assert_eq!(
        commit(&world, &order, &good, agreed.clone()).code(),
        "plan_changed",
        "its stage is gone by that"
    );
    let (order, good) = staged(&world, &write(&path, b"good"));
    let agreed = agreements(&world, &good);
    assert_eq!(commit(&world, &order, &good, agreed.clone()).status(), Status::Done);
    assert_eq!(commit(&world, &order, &good, agreed).code(), "plan_changed", "a replay");
    let forged = Staged { stage_id: vec![3; 32], ..good };
    assert_eq!(commit(&world, &order, &forged, Vec::new()).code(), "plan_changed");
}

#[test]
fn a_stage_that_is_changed_or_older_than_ten_minutes_is_not_committed() {
    let mut world = world();
    let path = world.text("site/a");
    let (order, first) = staged(&world, &write(&path, b"good"));
    fs::write(copy(&world, &first, &world.text("site")).join("a"), "evil").unwrap();
    let agreed = agreements(&world, &first);
    assert_eq!(commit(&world, &order, &first, agreed).code(), "plan_changed");
    let (order, second) = staged(&world, &write(&path, b"good"));
    fs::set_permissions(
        copy(&world, &second, &world.text("site")).join("a"),
        fs::Permissions::from_mode(0o666),
    )
    .unwrap();
    let agreed = agreements(&world, &second);
    assert_eq!(commit(&world, &order, &second, agreed).code(), "plan_changed");
    let (order, third) = staged(&world, &write(&path, b"good"));
    let stage = copy(&world, &third, &world.text("site")).parent().unwrap().to_owned();
    let age = |seconds: u64| {
        let old = std::time::SystemTime::now() - std::time::Duration::from_secs(seconds);
        fs::File::open(&stage).unwrap().set_modified(old).unwrap();
    };
    age(9 * 60);
    world.restart();
    assert!(stage.exists(), "a validator may take its time");
    age(11 * 60);
    world.restart();
    assert!(!stage.exists());
    assert_eq!(commit(&world, &order, &third, agreements(&world, &third)).code(), "plan_changed");
    assert!(!world.path("site/a").exists());
}

#[test]
fn a_live_file_that_changes_while_validators_run_is_not_replaced() {
    let world = world();
    let path = world.text("site/a");
    fs::write(&path, "old").unwrap();
    let (order, staged) = staged(&world, &write(&path, b"new"));
    fs::write(&path, "a person's work").unwrap();
    let agreed = agreements(&world, &staged);
    assert_eq!(commit(&world, &order, &staged, agreed).code(), "precondition_failed");
    assert_eq!(fs::read(&path).unwrap(), b"a person's work");
}

#[test]
fn the_stage_keeps_symlinks_owners_and_modes_and_no_special_files() {
    let world = world();
    let site = world.path("site");
    fs::write(world.path("secret"), "not to be copied").unwrap();
    fs::set_permissions(&site, fs::Permissions::from_mode(0o750)).unwrap();
    symlink(world.path("secret"), site.join("link")).unwrap();
    symlink("nowhere", site.join("dangling")).unwrap();
    nix::unistd::mkfifo(&site.join("fifo"), nix::sys::stat::Mode::S_IRUSR).unwrap();
    fs::create_dir(site.join("inner")).unwrap();
    fs::write(site.join("inner/key.pem"), "key").unwrap();
    fs::set_permissions(site.join("inner/key.pem"), fs::Permissions::from_mode(0o4640)).unwrap();
    fs::write(site.join("a"), "old").unwrap();
    fs::set_permissions(site.join("a"), fs::Permissions::from_mode(0o600)).unwrap();
    let mut world = world;
    world.restart();
    let (_, staged) = staged(&world, &write(&world.text("site/a"), b"new"));
    let at = copy(&world, &staged, &world.text("site"));
    let mode = |path: &str| fs::symlink_metadata(at.join(path)).unwrap().mode() & 0o7777;
    assert_eq!((mode(""), mode("a"), mode("inner/key.pem")), (0o750, 0o600, 0o640));
    assert_eq!(fs::read_link(at.join("link")).unwrap(), world.path("secret"));
    assert_eq!(fs::read_link(at.join("dangling")).unwrap(), std::path::Path::new("nowhere"));
    assert_eq!(
        (fs::read(at.join("inner/key.pem")).unwrap(), fs::read(at.join("a")).unwrap()),
        (b"key".to_vec(), b"new".to_vec())
    );
    assert!(!at.join("fifo").exists(), "a FIFO is left out");
}

#[test]
fn a_directory_that_is_too_large_is_not_staged() {
    let world = world();
    let large = world.path("site/large");
    let asked = || world.ask(&write(&world.text("site/a"), b"new"));
    fs::File::create(&large).unwrap().set_len(64 * 1024 * 1024 + 1).unwrap();
    assert_eq!(asked().code(), "too_large");
    fs::remove_file(&large).unwrap();
    fs::create_dir(&large).unwrap();
    for number in 0..10_000 {
        symlink("x", large.join(number.to_string())).unwrap();
    }
    assert_eq!(asked().code(), "too_large");
    fs::remove_dir_all(&large).unwrap();
    let deep = (0..17).fold(world.path("site"), |path, _| path.join("d"));
    fs::create_dir_all(&deep).unwrap();
    assert_eq!(asked().code(), "too_large");
    fs::remove_dir(&deep).unwrap();
    assert!(names(&world.path("state/stage")).is_empty() && !world.path("site/a").exists());
    assert!(asked().outcome.unwrap().staged.is_some());
}

#[test]
fn stages_are_few_and_a_torn_one_goes_at_the_next_start() {
    let mut world = world();
    let stage = |world: &World| world.ask(&write(&world.text("site/a"), b"new"));
    for _ in 0..16 {
        assert!(stage(&world).outcome.unwrap().staged.is_some());
    }
    assert_eq!(stage(&world).code(), "busy");
    fs::create_dir_all(world.path("state/stage/0123/copy")).unwrap();
    world.restart();
    assert_eq!(names(&world.path("state/stage")).len(), 16);
}

#[test]
fn a_patch_over_two_directories_is_staged_as_a_whole_and_removals_too() {
    let world = World::new(|at| {
        let of = |id: &str, dir: &str, validate: &str| root::Rule {
            directories: vec![at.join(dir).to_str().unwrap().to_owned()],
            files: strings(&["*"]),
            validate: validate.to_owned(),
            ..rule(id, &["file.write", "file.patch", "file.remove", "request.undo"])
        };
        fs::create_dir(at.join("more")).unwrap();
        vec![of("site", "site", "agrees"), of("more", "more", "other")]
    });
    for name in ["site/a", "site/b", "more/c"] {
        fs::write(world.path(name), "old").unwrap();
    }
    let changes = vec![
        to(&world.text("site/a"), b"new"),
        away(&world.text("site/b")),
        to(&world.text("more/c"), b"new"),
    ];
    let (order, both) = staged(&world, &patch(changes));
    let required = both.validators.iter().map(|one| (one.name.as_str(), one.live.clone()));
    assert_eq!(required.collect::<Vec<_>>(), [("agrees", world.text("site")), ("other", world.text("more"))]);
    assert_eq!(names(&copy(&world, &both, &world.text("site"))), ["a"]);
    let agreed = agreements(&world, &both);
    assert_eq!(commit(&world, &order, &both, agreed[..1].to_vec()).code(), "validation_failed");
    let (order, both) = staged(
        &world,
        &patch(vec![
            to(&world.text("site/a"), b"new"),
            away(&world.text("site/b")),
            to(&world.text("more/c"), b"new"),
        ]),
    );
    let done = commit(&world, &order, &both, agreements(&world, &both));
    assert_eq!(done.status(), Status::Done);
    assert!(!world.path("site/b").exists());
    // A client's own undo is a change by the same rules: it is validated too. An operator's must work when that is broken.
    let mut undo = world.undo_order(CLIENT, done.inverse());
    undo.facts = world.inspect(&undo, None).facts;
    let staged = world.execute(&undo, &[], whole()).outcome.unwrap().staged.unwrap();
    assert_eq!(fs::read(copy(&world, &staged, &world.text("site")).join("b")).unwrap(), b"old");
    assert_eq!(commit(&world, &undo, &staged, agreements(&world, &staged)).status(), Status::Done);
    assert_eq!(fs::read(world.path("site/b")).unwrap(), b"old");
    let removed = world.ask(&remove(&world.text("site/b")));
    assert_eq!(removed.outcome.unwrap().staged.unwrap().validators.len(), 1);
}

/// A removal by a patch is granted by two rules; each may name a validator, over its own directory.
#[test]
fn the_validator_of_every_rule_that_grants_a_path_must_agree() {
    let world = World::new(|at| {
        let site = at.join("site").to_str().unwrap().to_owned();
        let inner = format!("{site}/inner");
        fs::create_dir(&inner).unwrap();
        let of = |id: &str, directory: String, verb: &str| root::Rule {
            directories: vec![directory],
            files: strings(&["*"]),
            depth: 2,
            ..rule(id, &[verb])
        };
        let validate = "agrees".to_owned();
        vec![of("patch", inner, "file.patch"), root::Rule { validate, ..of("remove", site, "file.remove") }]
    });
    fs::write(world.path("site/inner/a"), "old").unwrap();
    let (order, staged) = staged(&world, &patch(vec![away(&world.text("site/inner/a"))]));
    let required = &staged.validators[0];
    assert_eq!((staged.validators.len(), required.name.as_str()), (1, "agrees"));
    assert_eq!(required.live, world.text("site"));
    assert!(names(&copy(&world, &staged, &required.live).join("inner")).is_empty());
    assert_eq!(commit(&world, &order, &staged, Vec::new()).code(), "validation_failed");
    assert!(world.path("site/inner/a").exists());
}

#[test]
fn a_change_without_new_content_runs_no_validator() {
    let world = world();
    let path = world.text("site/a");
    fs::write(&path, "new").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(world.ask(&write(&path, b"new")).status(), Status::Unchanged);
    assert_eq!(world.ask(&set_mode(&path, "0600")).status(), Status::Done);
    assert_eq!(world.ask(&crate::support::mkdir(&world.text("site/d"))).status(), Status::Done);
    assert!(names(&world.path("state/stage")).is_empty());
}

#[test]
fn without_a_validator_key_nothing_is_staged() {
    let mut world = world();
    assert_eq!(VALIDATOR_KEY.len(), 32);
    fs::remove_file(&world.host.validator_key).unwrap();
    world.restart();
    assert_eq!(world.ask(&write(&world.text("site/a"), b"new")).code(), "unsupported");
    assert!(names(&world.path("state/stage")).is_empty());
}

//! Others who change the same files and directories while a change is made.

use crate::support::{World, all_verbs, names, read, write, write_expecting};
use nix::fcntl::{AT_FDCWD, RenameFlags, renameat2};
use postern_files::path::open_granted;
use postern_files::recover::complete_or_revert;
use postern_files::swap::{self, Step};
use postern_files::target::{OpenTarget, open_target};
use postern_policy::request::NewState;
use postern_policy::types::{Attributes, FileKind, FileMode, TargetPath};
use postern_proto::root::v1 as root;
use postern_root::Error;
use std::fs;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

const WRITES: u32 = 100_000;
const KINDS: &[FileKind] = &[FileKind::File];

/// Everything below a directory, links not followed: paths, and what files hold.
fn tree(directory: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut all = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.is_symlink() {
            all.extend(tree(&path));
        }
        let content = if path.is_file() { fs::read(&path).unwrap() } else { Vec::new() };
        all.push((path, content));
    }
    all.sort();
    all
}

fn written(content: &[u8]) -> NewState {
    NewState::Content(content.into())
}

/// One write as an order makes it, without Landlock: that would hide what the path code lets out.
fn write_once(base: &TargetPath, content: &[u8]) -> Result<(), Error> {
    let own = nix::unistd::Uid::effective().as_raw();
    let directory = open_granted(base, own)?;
    let parent = directory.open_parent("a/b/file", own)?;
    let old = open_target(&parent, "file", KINDS)?;
    let attributes =
        Attributes { mode: FileMode::DEFAULT, uid: own, gid: nix::unistd::Gid::effective().as_raw() };
    let (name, temporary, old) = ("file", ".temporary", old.as_ref());
    let step =
        Step { parent: &parent, name, temporary, old, to: &written(content), attributes, extended: None };
    let done = swap::stage(&[step]).and_then(|()| step.swap());
    swap::clear(&[step]).unwrap();
    done
}

#[test]
fn no_write_leaves_the_grant_while_path_components_are_swapped_for_links() {
    // Syncs are free there.
    let place = tempfile::tempdir_in("/dev/shm").unwrap();
    let at = |name: &str| place.path().join(name);
    for directory in ["base", "outside"] {
        fs::create_dir_all(at(directory).join("a/b")).unwrap();
        fs::write(at(directory).join("a/b/file"), "as it was").unwrap();
    }
    let outside = at("outside");
    let before = tree(&outside);
    // Beside each component a link to where the same path goes on outside.
    let swaps = [("base", "link", ""), ("base/a", "base/link", "a"), ("base/a/b", "base/a/link", "a/b")];
    for (_, link, to) in swaps {
        symlink(outside.join(to), at(link)).unwrap();
    }
    symlink(outside.join("a/b/file"), at("base/a/b/link")).unwrap();
    let base = TargetPath::new(at("base").to_str().unwrap()).unwrap();
    let stop = AtomicBool::new(false);
    let (mut written, mut refused) = (0_u32, 0_u32);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let swap = |name: &str, link: &str| {
                // One that hides another fails for a moment, and so may its way back.
                renameat2(AT_FDCWD, &at(name), AT_FDCWD, &at(link), RenameFlags::RENAME_EXCHANGE).is_ok()
            };
            while !stop.load(Ordering::Relaxed) {
                let all = swaps.iter().map(|(name, link, _)| (*name, *link));
                for (name, link) in all.chain([("base/a/b/file", "base/a/b/link")]) {
                    if swap(name, link) {
                        assert!(swap(name, link), "{name} does not come back");
                    }
                }
            }
        });
        for number in 0..WRITES {
            match write_once(&base, number.to_string().as_bytes()) {
                Ok(()) => written += 1,
                Err(_) => refused += 1,
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert_eq!(tree(&outside), before, "something was changed outside");
    assert!(written > 0 && refused > 0, "{written} written, {refused} refused: no race was run");
}

#[test]
fn no_order_leaves_the_grant_while_a_directory_is_swapped_for_a_link() {
    let world = World::new(|at| vec![all_verbs(at)]);
    let (inside, outside) = (world.path("site/sub"), world.path("outside"));
    fs::create_dir(&inside).unwrap();
    fs::create_dir(&outside).unwrap();
    symlink(&outside, world.path("site/evil")).unwrap();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let flags = RenameFlags::RENAME_EXCHANGE;
            while !stop.load(Ordering::Relaxed) {
                renameat2(AT_FDCWD, &inside, AT_FDCWD, &world.path("site/evil"), flags).unwrap();
            }
        });
        let mut written = 0;
        for round in 0..300 {
            let answer = world.ask(&write(&world.text("site/sub/a.html"), format!("{round}").as_bytes()));
            written += usize::from(answer.outcome.is_some());
        }
        stop.store(true, Ordering::Relaxed);
        assert!(written > 0, "no write ever found the directory");
    });
    assert!(names(&outside).is_empty());
}

#[test]
fn two_writers_that_expect_what_they_have_read_lose_no_update() {
    const EACH: u32 = 10;
    let world = World::new(|at| vec![all_verbs(at)]);
    let path = world.text("site/count");
    fs::write(&path, "0").unwrap();
    std::thread::scope(|scope| {
        let writer = || {
            let mut left = EACH;
            while left > 0 {
                let seen = world.ask(&read(&path));
                let count: u32 = String::from_utf8(seen.content()).unwrap().parse().unwrap();
                let expect = seen.done().files[0].sha256.clone();
                let answer = world.ask(&write_expecting(&path, (count + 1).to_string().as_bytes(), &expect));
                match &answer.close {
                    None => left -= 1,
                    Some(close) => assert_eq!(close.code, "precondition_failed"),
                }
            }
        };
        scope.spawn(writer);
        scope.spawn(writer);
    });
    assert_eq!(fs::read_to_string(&path).unwrap(), (2 * EACH).to_string());
}

/// Another writer changes the last of three files; all three keep their content.
#[test]
fn a_patch_that_fails_at_its_last_file_is_taken_back() {
    let world = World::new(|at| vec![all_verbs(at)]);
    let site = TargetPath::new(&world.text("site")).unwrap();
    let site = open_granted(&site, world.host.root_uid).unwrap();
    for name in ["b", "c"] {
        fs::write(world.path(&format!("site/{name}")), name).unwrap();
    }
    let inode = fs::metadata(world.path("site/b")).unwrap().ino();
    let look = |name| open_target(&site, name, KINDS).unwrap();
    let (b, c) = (look("b").unwrap(), look("c").unwrap());
    // Another writer, meanwhile.
    fs::write(world.path("site/other"), "theirs").unwrap();
    fs::rename(world.path("site/other"), world.path("site/c")).unwrap();
    let step = |name, temporary, old, to| Step {
        parent: &site,
        name,
        temporary,
        old,
        to,
        attributes: b.attributes,
        extended: None,
    };
    let file = &written(b"new");
    let facts = |name: &str, exists| root::FileFacts {
        path: world.text(&format!("site/{name}")),
        exists,
        mode: 0o644,
        uid: b.attributes.uid,
        gid: b.attributes.gid,
        sha256: postern_policy::types::Digest::of(&[b"new"]).as_bytes().to_vec(),
        ..root::FileFacts::default()
    };
    let entry = |name, temporary: &str, old: Option<&OpenTarget>, stays| root::JournalEntry {
        before: Some(facts(name, old.is_some())),
        after: Some(facts(name, stays)),
        inode: old.map_or(0, |old| old.facts.id.2),
        temporary: temporary.to_owned(),
        ..root::JournalEntry::default()
    };
    for (last, stays) in [(file, true), (&NewState::Removed, false)] {
        let steps =
            [step("a", ".1", None, file), step("b", ".2", Some(&b), file), step("c", ".3", Some(&c), last)];
        let entries = [
            entry("a", ".1", None, true),
            entry("b", ".2", Some(&b), true),
            entry("c", ".3", Some(&c), stays),
        ];
        swap::stage(&steps).unwrap();
        let error = steps.iter().try_for_each(Step::swap).unwrap_err();
        assert_eq!(error.close().unwrap().code, "precondition_failed");
        assert!(!complete_or_revert(&entries, [&site; 3].into_iter()).unwrap());
        assert_eq!(names(&world.path("site")), ["b", "c"], "nothing new and nothing temporary is left");
        let content = |name: &str| fs::read_to_string(world.path(&format!("site/{name}"))).unwrap();
        assert_eq!((content("b"), content("c")), ("b".to_owned(), "theirs".to_owned()));
        assert_eq!(fs::metadata(world.path("site/b")).unwrap().ino(), inode, "the very file is back");
    }
}

/// As after a kill between an exchange that met another's file and the look at it.
#[test]
fn recovery_restores_a_foreign_file_that_was_exchanged() {
    let world = World::new(|at| vec![all_verbs(at)]);
    let site = TargetPath::new(&world.text("site")).unwrap();
    let site = open_granted(&site, world.host.root_uid).unwrap();
    let path = |name: &str| world.path(&format!("site/{name}"));
    for stays in [true, false] {
        fs::write(path("a"), "old").unwrap();
        let old = open_target(&site, "a", KINDS).unwrap().unwrap();
        fs::write(path("theirs"), "theirs").unwrap();
        fs::rename(path("theirs"), path("a")).unwrap();
        let facts = |exists, content: &[u8]| root::FileFacts {
            path: world.text("site/a"),
            exists,
            mode: old.attributes.mode.bits(),
            uid: old.attributes.uid,
            gid: old.attributes.gid,
            sha256: postern_policy::types::Digest::of(&[content]).as_bytes().to_vec(),
            ..root::FileFacts::default()
        };
        let entry = root::JournalEntry {
            before: Some(facts(true, b"old")),
            after: Some(facts(stays, b"new")),
            inode: old.facts.id.2,
            temporary: ".1".to_owned(),
            ..root::JournalEntry::default()
        };
        if stays {
            fs::write(path(".1"), "new").unwrap();
            renameat2(AT_FDCWD, &path(".1"), AT_FDCWD, &path("a"), RenameFlags::RENAME_EXCHANGE).unwrap();
        } else {
            fs::rename(path("a"), path(".1")).unwrap();
        }
        assert!(!complete_or_revert(&[entry], [&site].into_iter()).unwrap());
        assert_eq!(
            (names(&world.path("site")), fs::read(path("a")).unwrap()),
            (vec!["a".to_owned()], b"theirs".to_vec())
        );
    }
}

#[test]
fn a_concurrent_append_is_not_lost() {
    let world = World::new(|at| vec![all_verbs(at)]);
    let site = TargetPath::new(&world.text("site")).unwrap();
    let site = open_granted(&site, world.host.root_uid).unwrap();
    fs::write(world.path("site/log"), "one\n").unwrap();
    let seen = open_target(&site, "log", KINDS).unwrap().unwrap();
    fs::OpenOptions::new().append(true).open(world.path("site/log")).unwrap().write_all(b"two\n").unwrap();
    let (to, attributes) = (&written(b"new"), seen.attributes);
    let steps = [Step {
        parent: &site,
        name: "log",
        temporary: ".1",
        old: Some(&seen),
        to,
        attributes,
        extended: None,
    }];
    swap::stage(&steps).unwrap();
    assert!(steps.iter().try_for_each(Step::swap).is_err());
    swap::remove(&site, ".1").unwrap();
    assert_eq!(
        (names(&world.path("site")), fs::read(world.path("site/log")).unwrap()),
        (vec!["log".to_owned()], b"one\ntwo\n".to_vec())
    );
}

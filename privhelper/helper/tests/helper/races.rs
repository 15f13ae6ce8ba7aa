//! Others who change the same files and directories while a change is made.

use crate::common::{CLIENT_UID, World, meta, open_audit, site_rules, write_request};
use nix::fcntl::{AT_FDCWD, RenameFlags, renameat2};
use postern_helper::audit::{Event, Record};
use postern_helper::error::Stop;
use postern_helper::sys::files::{self, New, Step};
use postern_policy::types::{Attributes, FileKind, FileMode, TargetPath};
use postern_proto::v1::{self as wire, Mode, Status};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

const WRITES: u32 = 100_000;

/// Everything that stands below a directory, links not followed: paths, and what files hold.
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

/// One write as a request makes it, without Landlock: that would hide what the path code lets out.
fn write(ticket: &postern_helper::audit::Ticket, base: &TargetPath, content: &[u8]) -> Result<(), Stop> {
    let own = nix::unistd::Uid::effective().as_raw();
    let directory = files::open_directory(base, own)?;
    let parent = files::open_parent(&directory, "a/b/file", own)?;
    let old = files::look(&parent, "file", &[FileKind::File])?;
    let attributes =
        Attributes { mode: FileMode::DEFAULT, uid: own, gid: nix::unistd::Gid::effective().as_raw() };
    let new = New::File(content, attributes);
    let (name, temporary, old) = ("file", ".temporary", old.as_ref());
    let step = Step { parent: &parent, name, temporary, old, new, xattrs: None };
    files::stage(ticket, &[step])?;
    files::swap(ticket, &[step])
}

#[test]
fn a_hundred_thousand_writes_while_every_component_is_swapped_for_a_link_let_no_byte_out() {
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
    let audit = open_audit(&at("log"));
    let ticket = audit.begin(&Record::default()).unwrap();
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
            match write(&ticket, &base, number.to_string().as_bytes()) {
                Ok(()) => written += 1,
                Err(_) => refused += 1,
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert_eq!(tree(&outside), before, "something was changed outside");
    assert!(written > 0 && refused > 0, "{written} written, {refused} refused: no race was run");
    audit.end(ticket, Event::End, &Record::default()).unwrap();
}

#[test]
fn two_writers_that_expect_what_they_have_read_lose_no_update() {
    const EACH: u32 = 10;
    let world = World::new(site_rules);
    let path = world.text("site/count.html");
    fs::write(&path, "0").unwrap();
    let refused = std::thread::scope(|scope| {
        let writer = || {
            let (mut channel, mut left, mut refused) = (world.connect(CLIENT_UID), EACH, 0_u32);
            while left > 0 {
                let read = wire::FileReadRequest {
                    path: path.clone(),
                    meta: meta(Mode::Execute),
                    ..Default::default()
                };
                let seen = channel.ask("Helper/FileRead", &read);
                let count: u32 = String::from_utf8(seen.content()).unwrap().parse().unwrap();
                let expect = seen.completed().files[0].sha256.clone();
                let request = write_request(&path, (count + 1).to_string().as_bytes(), &expect);
                let answer = channel.ask("Helper/FileWrite", &request);
                match answer.events.last().and_then(|event| event.kind.as_ref()) {
                    Some(wire::event::Kind::Completed(done)) if done.status() == Status::Done => left -= 1,
                    Some(wire::event::Kind::Completed(done)) => {
                        assert_eq!(done.code, "precondition_failed");
                        refused += 1;
                    }
                    _ => {
                        assert_eq!(answer.refused().code, "precondition_failed");
                        refused += 1;
                    }
                }
            }
            refused
        };
        let writers = [scope.spawn(writer), scope.spawn(writer)];
        writers.map(|writer| writer.join().unwrap()).iter().sum::<u32>()
    });
    assert_eq!(fs::read_to_string(&path).unwrap(), (2 * EACH).to_string());
    // Whoever came second was told so, as often as it happened.
    assert_eq!(world.count("begin"), world.count("end"));
    assert!(refused < 1000, "{refused}");
}

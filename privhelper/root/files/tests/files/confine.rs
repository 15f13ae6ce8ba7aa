//! The confinement of the process: what Landlock, the filter of system calls and the dropped capabilities leave.

use crate::support::{
    World, all_verbs, away, host, list, mkdir, names, open, patch, read, remove, set_mode, set_owner,
    strings, to, write,
};
use caps::{CapSet, Capability, CapsHashSet};
use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::sys::stat::Mode;
use postern_files::confine;
use postern_proto::root::v1 as root;
use postern_proto::v1::Status;
use postern_root::server;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Names the world of the process that confines itself.
const WORLD: &str = "POSTERN_CONFINED_IN";

/// Runs this test again in a process of its own. In that one: the world's place.
fn alone(test: &str) -> Option<PathBuf> {
    if let Some(at) = std::env::var_os(WORLD) {
        return Some(at.into());
    }
    let world = World::new(|at| {
        fs::create_dir(at.join("public")).unwrap();
        let public = root::Rule {
            directories: vec![at.join("public").to_str().unwrap().to_owned()],
            files: strings(&["*"]),
            ..crate::support::rule("public", &["file.read", "file.list"])
        };
        // Its files are another program's part.
        fs::create_dir(at.join("app")).unwrap();
        let of_app = root::Rule {
            directories: vec![at.join("app").to_str().unwrap().to_owned()],
            files: strings(&["*"]),
            as_user: "app".to_owned(),
            allow_create: false,
            modes: Vec::new(),
            owners: Vec::new(),
            groups: Vec::new(),
            ..crate::support::rule("app", &["file.write"])
        };
        vec![root::Rule { owners: strings(&["root", "postern"]), ..all_verbs(at) }, public, of_app]
    });
    let run = Command::new(std::env::current_exe().unwrap())
        .args([test, "--exact", "--include-ignored", "--nocapture", "--test-threads=1"])
        .env(WORLD, world.path(""))
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&run.stdout);
    let errors = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success() && told.contains("1 passed"), "{told}\n{errors}");
    None
}

fn kind<T>(result: std::io::Result<T>) -> Option<ErrorKind> {
    result.err().map(|error| error.kind())
}

#[test]
fn reaches_nothing_but_the_granted_directories_and_its_own_state() {
    let test = "confine::reaches_nothing_but_the_granted_directories_and_its_own_state";
    let Some(at) = alone(test) else { return };
    fs::write(at.join("outside"), "x").unwrap();
    fs::write(at.join("public/file"), "x").unwrap();
    let before = tries(&at, 0);
    assert!(before.iter().all(|(_, failed)| failed.is_none()), "the attempts are real: {before:?}");
    let _state = open(host(&at), confine::confine).unwrap();
    for (name, failed) in tries(&at, 1) {
        assert_eq!(failed, Some(ErrorKind::PermissionDenied), "{name}");
    }
    assert!(fs::read(at.join("passwd")).is_ok() && fs::File::create_new(at.join("state/own")).is_ok());
    assert!(fs::File::create_new(at.join("site/own")).is_ok() && fs::read(at.join("public/file")).is_ok());
}

/// Operations of a compromised program, each with its error. `number` keeps the created names apart.
fn tries(at: &Path, number: u32) -> Vec<(&'static str, Option<ErrorKind>)> {
    let new = |name: &str| at.join(format!("{name}{number}"));
    let mode = fs::Permissions::from_mode(0o644);
    let mut append = fs::OpenOptions::new();
    append.append(true);
    vec![
        ("read another file", kind(fs::read(at.join("outside")))),
        ("read /etc/shadow", kind(fs::read("/etc/shadow"))),
        ("list /", kind(fs::read_dir("/"))),
        ("write another file", kind(append.open(at.join("outside")))),
        ("write the policy", kind(append.open(at.join("accepted.pb")))),
        ("write where only reading is granted", kind(append.open(at.join("public/file")))),
        ("make a file there", kind(fs::File::create(new("public/new")))),
        ("make a file in a directory of a rule with `as`", kind(fs::File::create(new("app/new")))),
        ("list a directory of a rule with `as`", kind(fs::read_dir(at.join("app")))),
        (
            "remove a file there",
            kind(fs::remove_file(new("public/new")).or_else(|_| fs::remove_file(at.join("public/file")))),
        ),
        ("make a link in a granted directory", kind(symlink("/etc", new("site/link")))),
        ("make a hard link", kind(fs::hard_link(at.join("outside"), new("hard")))),
        ("set a mode by path", kind(fs::set_permissions(at.join("outside"), mode))),
        ("set an owner by path", kind(std::os::unix::fs::lchown(at.join("outside"), None, None))),
        ("make a Unix socket", kind(UnixDatagram::unbound())),
        ("make an IP socket", kind(std::net::UdpSocket::bind("127.0.0.1:0"))),
        ("run a program", kind(Command::new("/bin/true").status())),
    ]
}

#[test]
fn refuses_system_calls_that_it_has_no_use_for() {
    let Some(at) = alone("confine::refuses_system_calls_that_it_has_no_use_for") else { return };
    let file = fs::File::create(at.join("site/file")).unwrap();
    let before = unused(&file, &at);
    assert!(before.iter().all(|(_, errno)| *errno != Some(Errno::EPERM)), "{before:?}");
    let _state = open(host(&at), confine::confine).unwrap();
    for (name, errno) in unused(&file, &at) {
        assert_eq!(errno, Some(Errno::EPERM), "{name}");
    }
}

/// Calls on what Landlock lets it have, or on nothing.
fn unused(file: &fs::File, at: &Path) -> Vec<(&'static str, Option<Errno>)> {
    use nix::fcntl::{AT_FDCWD, OpenHow};
    use nix::sys::socket::{AddressFamily, SockFlag, SockType, socketpair};
    use nix::sys::stat::{FchmodatFlags, fchmodat, futimens};
    use nix::sys::time::{TimeSpec, TimeValLike};
    use nix::unistd::{LinkatFlags, chdir, dup, ftruncate, linkat, pipe, truncate};
    let path = at.join("site/file");
    let how = OpenHow::new().flags(OFlag::O_RDONLY);
    let time = TimeSpec::zero();
    let pair = socketpair(AddressFamily::Unix, SockType::Datagram, None, SockFlag::empty());
    let link = linkat(AT_FDCWD, &path, AT_FDCWD, &at.join("site/file"), LinkatFlags::empty());
    vec![
        (
            "openat with O_TRUNC",
            nix::fcntl::open(&path, OFlag::O_RDONLY | OFlag::O_TRUNC, Mode::empty()).err(),
        ),
        ("openat2", nix::fcntl::openat2(AT_FDCWD, &path, how).err()),
        ("ftruncate", ftruncate(file, 0).err()),
        ("truncate", truncate(&path, 0).err()),
        ("utimensat", futimens(file, &time, &time).err()),
        ("fchmodat", fchmodat(AT_FDCWD, &path, Mode::S_IRUSR, FchmodatFlags::FollowSymlink).err()),
        ("linkat", link.err()),
        ("pipe2", pipe().err()),
        ("dup", dup(file).err()),
        ("chdir", chdir("/").err()),
        ("kill", nix::sys::signal::kill(nix::unistd::Pid::this(), None).err()),
        ("socketpair", pair.err()),
    ]
}

#[test]
fn every_verb_works_in_the_confinement_without_a_capability() {
    let Some(at) = alone("confine::every_verb_works_in_the_confinement_without_a_capability") else { return };
    server::drop_power(&[]).unwrap();
    every_verb_works(&World::confined(&at), || ());
}

/// Asks for each verb; `give` is called while the file `b` is there.
fn every_verb_works(world: &World, give: impl Fn()) {
    let site = |name: &str| world.text(&format!("site/{name}"));
    assert_eq!(world.ask(&write(&site("a"), b"1")).status(), Status::Done);
    let written = world.ask(&write(&site("a"), &vec![2; 300_000]));
    assert_eq!(written.status(), Status::Done);
    assert_eq!(world.ask(&read(&site("a"))).content().len(), 300_000);
    assert_eq!(world.undo(written.inverse()).status(), Status::Done);
    assert_eq!(world.ask(&list(&world.text("site"))).done().files.len(), 1);
    assert_eq!(world.ask(&list(&world.text("public"))).status(), Status::Done);
    assert_eq!(world.ask(&patch(vec![to(&site("b"), b"1"), away(&site("a"))])).status(), Status::Done);
    let made = world.ask(&mkdir(&site("d")));
    assert_eq!(world.undo(made.inverse()).status(), Status::Done);
    assert_eq!(world.ask(&set_mode(&site("b"), "0600")).status(), Status::Done);
    give();
    assert_eq!(world.ask(&remove(&site("b"))).status(), Status::Done);
    let denied = world.ask(&write(&world.text("public/x"), b"1"));
    assert_eq!(denied.code(), "no_grant");
    assert_eq!(names(&world.path("site")), strings(&[]));
}

#[test]
fn a_validated_write_works_in_the_confinement() {
    let Some(at) = alone("confine::a_validated_write_works_in_the_confinement") else { return };
    let rule = root::Rule { validate: "agrees".to_owned(), ..all_verbs(&at) };
    let rules = root::Rules { rules: vec![rule], ..root::Rules::default() };
    fs::write(at.join("accepted.pb"), crate::support::accepted(rules)).unwrap();
    fs::create_dir(at.join("site/inner")).unwrap();
    fs::write(at.join("site/inner/file"), "x").unwrap();
    symlink("nowhere", at.join("site/link")).unwrap();
    let world = World::confined(&at);
    let (order, staged) = crate::validate::staged(&world, &write(&world.text("site/a"), b"new"));
    let agreed = crate::validate::agreements(&world, &staged);
    assert_eq!(crate::validate::commit(&world, &order, &staged, agreed).status(), Status::Done);
    assert_eq!(fs::read(at.join("site/a")).unwrap(), b"new");
    assert!(names(&at.join("state/stage")).is_empty());
}

#[test]
fn an_operators_undo_in_a_directory_that_is_no_longer_granted_says_so() {
    let test = "confine::an_operators_undo_in_a_directory_that_is_no_longer_granted_says_so";
    let Some(at) = alone(test) else { return };
    fs::write(at.join("site/a"), "old").unwrap();
    let world = World::confined(&at);
    let written = world.ask(&write(&world.text("site/a"), b"new"));
    let public = root::Rule {
        directories: vec![world.text("public")],
        files: strings(&["*"]),
        ..crate::support::rule("public", &["file.read"])
    };
    let rules = root::Rules { rules: vec![public], ..root::Rules::default() };
    fs::write(at.join("accepted.pb"), crate::support::accepted(rules)).unwrap();
    let refused = World::confined(&at).operator_undo(written.inverse());
    assert_eq!(refused.code(), "no_grant");
    assert!(refused.refused().message.contains("no longer grants"), "{}", refused.refused().message);
    assert_eq!(fs::read(at.join("site/a")).unwrap(), b"new");
}

#[test]
fn an_inspection_can_write_nothing() {
    // The thread of an inspection is restricted besides: see `postern_files::confine`.
    let Some(at) = alone("confine::an_inspection_can_write_nothing") else { return };
    let directory = postern_policy::types::TargetPath::new(at.join("site").to_str().unwrap()).unwrap();
    let open =
        || postern_files::path::open_granted(&directory, nix::unistd::Uid::effective().as_raw()).unwrap();
    fs::write(at.join("site/file"), "x").unwrap();
    let _state = crate::support::open(host(&at), confine::confine).unwrap();
    let tried = std::thread::spawn({
        let at = at.clone();
        let directories = [open()];
        move || {
            confine::give_up_writing(&directories).unwrap();
            fs::read(at.join("site/file")).unwrap();
            let mut append = fs::OpenOptions::new();
            let emptied = OFlag::O_RDONLY | OFlag::O_TRUNC;
            let written = [
                append.append(true).open(at.join("site/file")).is_ok(),
                nix::fcntl::open(&at.join("site/file"), emptied, Mode::empty()).is_ok(),
                fs::write(at.join("site/new"), "y").is_ok(),
                fs::create_dir(at.join("site/dir")).is_ok(),
                fs::remove_file(at.join("site/file")).is_ok(),
                fs::read(at.join("passwd")).is_ok(),
            ];
            (written, caps::read(None, CapSet::Permitted).unwrap())
        }
    });
    let (written, kept) = tried.join().unwrap();
    assert_eq!(written, [false; 6]);
    assert!(kept.iter().all(|capability| *capability == Capability::CAP_DAC_OVERRIDE), "{kept:?}");
    assert_eq!(fs::read(at.join("site/file")).unwrap(), b"x");
    let mut append = fs::OpenOptions::new();
    let spread = "the confinement of an inspection spread to this thread";
    assert!(append.append(true).open(at.join("site/file")).is_ok(), "{spread}");
}

/// Tests that need root: capabilities.
mod as_root {
    use super::*;

    #[test]
    #[ignore = "needs root: only root has capabilities"]
    fn every_verb_works_in_the_confinement_with_three_capabilities() {
        let test = "confine::as_root::every_verb_works_in_the_confinement_with_three_capabilities";
        let Some(at) = alone(test) else { return };
        let kept = [Capability::CAP_CHOWN, Capability::CAP_DAC_OVERRIDE, Capability::CAP_FOWNER];
        server::drop_power(&kept).unwrap();
        let world = World::confined(&at);
        every_verb_works(&world, || {
            let file = world.text("site/b");
            assert_eq!(world.ask(&set_owner(&file, "postern", "")).status(), Status::Done);
            // Another's file, which its mode hides from root's uid without the capability.
            assert_eq!(world.ask(&write(&file, b"2")).status(), Status::Done);
        });
    }

    #[test]
    #[ignore = "needs root: only root has capabilities to drop"]
    fn drops_every_other_capability_and_cannot_be_traced() {
        let Some(_) = alone("confine::as_root::drops_every_other_capability_and_cannot_be_traced") else {
            return;
        };
        let kept = [Capability::CAP_CHOWN, Capability::CAP_DAC_OVERRIDE, Capability::CAP_FOWNER];
        server::drop_power(&kept).unwrap();
        let wanted: CapsHashSet = kept.into_iter().collect();
        let has = |set| caps::read(None, set).unwrap();
        assert_eq!((has(CapSet::Permitted), has(CapSet::Effective)), (wanted.clone(), wanted));
        assert!(has(CapSet::Inheritable).is_empty() && has(CapSet::Ambient).is_empty());
        assert!(!nix::sys::prctl::get_dumpable().unwrap() && nix::sys::prctl::get_no_new_privs().unwrap());
        // Dropped capabilities cannot be raised again.
        assert!(server::drop_power(&[Capability::CAP_SYS_ADMIN]).is_err());
        assert!(caps::set(None, CapSet::Permitted, &[Capability::CAP_KILL].into()).is_err());
    }
}

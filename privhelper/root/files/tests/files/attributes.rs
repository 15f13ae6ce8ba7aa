//! Extended attributes: kept when a file is replaced, or it is not replaced.

use crate::support::{World, all_verbs, names, patch, read, remove, set_mode, to, write};
use postern_files::path::{Directory, open_granted};
use postern_files::swap::{self, Step};
use postern_files::target::open_target;
use postern_files::xattr::ExtendedAttributes;
use postern_policy::request::NewState;
use postern_policy::types::{FileKind, TargetPath};
use postern_proto::root::v1::ExtendedAttribute;
use postern_proto::v1::{self as wire, Status};
use rustix::fs::{XattrFlags, getxattr, setxattr};
use rustix::io::Errno;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

const ACL: &str = "system.posix_acl_access";
const NOTE: &str = "user.note";
/// Version 2 of the kernel's, of one capability.
const CAPABILITY: &[u8] = b"\x01\x00\x00\x02\x00\x04\0\0\0\0\0\0\0\0\0\0\0\0\0\0";

fn world() -> (World, PathBuf, String) {
    let world = World::new(|at| vec![all_verbs(at)]);
    let (path, text) = (world.path("site/a"), world.text("site/a"));
    fs::write(&path, "old").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    (world, path, text)
}

/// The owner `rw`, user 1234 `r`, the group nothing, others `r`, and this mask.
fn acl(mask: u8) -> Vec<u8> {
    let entry = |tag: u8, bits: u8, id: [u8; 4]| [&[tag, 0, bits, 0], &id[..]].concat();
    let (nobody, user) = ([0xff; 4], 1234_u32.to_le_bytes());
    let entries = [
        entry(0x01, 6, nobody),
        entry(0x02, 4, user),
        entry(0x04, 0, nobody),
        entry(0x10, mask, nobody),
        entry(0x20, 4, nobody),
    ];
    [&[2, 0, 0, 0], &entries.concat()[..]].concat()
}

fn give(path: &Path, name: &str, value: &[u8]) {
    setxattr(path, name, value, XattrFlags::empty()).unwrap();
}

fn has(path: &Path, name: &str) -> Option<Vec<u8>> {
    let mut value = vec![0; 65536];
    match getxattr(path, name, value.as_mut_slice()) {
        Ok(length) => Some(value[..length].to_vec()),
        Err(Errno::NODATA) => None,
        Err(errno) => panic!("{name}: {errno}"),
    }
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o7777
}

#[test]
fn a_replaced_file_keeps_its_acl_and_attributes() {
    let (world, path, text) = world();
    give(&path, ACL, &acl(4));
    give(&path, NOTE, b"kept");
    let inode = fs::metadata(&path).unwrap().ino();
    assert_eq!(world.ask(&write(&text, b"new")).status(), Status::Done);
    assert_ne!(fs::metadata(&path).unwrap().ino(), inode, "it is another file");
    assert_eq!((has(&path, ACL), has(&path, NOTE)), (Some(acl(4)), Some(b"kept".to_vec())));
    assert_eq!((mode(&path), fs::read(&path).unwrap()), (0o644, b"new".to_vec()));
}

/// As chmod(2) does it: the group's bits of the mode are the ACL's mask.
#[test]
fn a_mode_that_is_asked_for_bounds_the_acl_that_is_kept() {
    let (world, path, text) = world();
    give(&path, ACL, &acl(4));
    let change = wire::FileChange { mode: "0600".to_owned(), ..to(&text, b"secret") };
    assert_eq!(world.ask(&patch(vec![change])).status(), Status::Done);
    let twin = world.path("site/twin");
    fs::write(&twin, "").unwrap();
    give(&twin, ACL, &acl(4));
    fs::set_permissions(&twin, fs::Permissions::from_mode(0o600)).unwrap();
    assert_eq!((mode(&path), has(&path, ACL)), (0o600, has(&twin, ACL)));
    assert_ne!(has(&path, ACL), Some(acl(4)));
}

#[test]
fn a_replaced_file_gets_no_acl_that_it_did_not_have() {
    let (world, path, text) = world();
    give(&world.path("site"), "system.posix_acl_default", &acl(4));
    assert_eq!(world.ask(&write(&text, b"new")).status(), Status::Done);
    assert_eq!((has(&path, ACL), mode(&path)), (None, 0o644));
    assert_eq!(world.ask(&write(&world.text("site/b"), b"new")).status(), Status::Done);
    assert!(has(&world.path("site/b"), ACL).is_some(), "a new file inherits, as any other");
}

#[test]
fn a_removed_file_comes_back_with_its_acl_and_attributes() {
    let (world, path, text) = world();
    give(&path, ACL, &acl(4));
    give(&path, NOTE, b"kept");
    let removed = world.ask(&remove(&text));
    assert!(removed.status() == Status::Done && !path.exists());
    assert_eq!(world.undo(removed.inverse()).status(), Status::Done);
    assert_eq!((has(&path, ACL), has(&path, NOTE)), (Some(acl(4)), Some(b"kept".to_vec())));
    assert_eq!((mode(&path), fs::read(&path).unwrap()), (0o644, b"old".to_vec()));
}

/// Known when the new file is made, before any rename.
#[test]
fn an_attribute_that_the_kernel_refuses_leaves_the_old_file() {
    let (world, path, text) = world();
    let site = TargetPath::new(text.rsplit_once('/').unwrap().0).unwrap();
    let site: Directory = open_granted(&site, world.host.root_uid).unwrap();
    let old = open_target(&site, "a", &[FileKind::File]).unwrap().unwrap();
    let broken = ExtendedAttribute { name: ACL.as_bytes().to_vec(), value: b"no ACL at all".to_vec() };
    let attributes = ExtendedAttributes(vec![broken]);
    let to = NewState::Content(b"new".as_slice().into());
    let (name, temporary) = ("a", ".postern-1");
    let (was, attributes, extended) = (Some(&old), old.attributes, Some(&attributes));
    let step = Step { parent: &site, name, temporary, old: was, to: &to, attributes, extended };
    let error = swap::stage(&[step]).unwrap_err();
    assert_eq!(error.close().unwrap().code, "special_file");
    // The caller removes the temporary file.
    swap::remove(&site, temporary).unwrap();
    assert_eq!((fs::read(&path).unwrap(), names(&world.path("site"))), (b"old".to_vec(), vec!["a".into()]));
}

/// Tests that need root, run by `tests/run`.
mod as_root {
    use super::*;

    #[test]
    #[ignore = "needs root: nobody else can give a file capabilities"]
    fn refuses_a_file_with_capabilities() {
        let (world, path, text) = world();
        give(&path, "security.capability", CAPABILITY);
        let answers = [
            world.ask(&write(&text, b"new")),
            world.ask(&remove(&text)),
            world.ask(&set_mode(&text, "0600")),
            world.ask(&read(&text)),
        ];
        for answer in answers {
            assert_eq!(answer.code(), "special_file");
        }
        assert!(has(&path, "security.capability").is_some());
        assert_eq!((fs::read(&path).unwrap(), mode(&path)), (b"old".to_vec(), 0o644));
    }

    #[test]
    #[ignore = "needs root: nobody else can give a file such an attribute"]
    fn does_not_replace_a_file_with_an_attribute_that_cannot_be_kept() {
        let (world, path, text) = world();
        give(&path, "security.other", b"x");
        let answer = world.ask(&write(&text, b"new"));
        assert_eq!(answer.code(), "special_file");
        assert!(answer.refused().message.contains("security.other"), "{}", answer.refused().message);
        assert_eq!(world.ask(&remove(&text)).code(), "special_file");
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(
            world.ask(&set_mode(&text, "0600")).status(),
            Status::Done,
            "a file that stays loses nothing"
        );
    }

    /// Whether root may set a label without `CAP_SYS_ADMIN` depends on the kernel; the promise does not.
    #[test]
    #[ignore = "needs root: nobody else can set a label, and where SELinux is on not any"]
    fn a_label_is_kept_or_the_file_is_not_replaced() {
        // Where SELinux is on, a test cannot choose labels.
        if Path::new("/sys/fs/selinux/enforce").exists() {
            return;
        }
        let (world, path, text) = world();
        let label = b"system_u:object_r:etc_t:s0\0";
        give(&path, "security.selinux", label);
        let answer = world.ask(&write(&text, b"new"));
        let now = fs::read(&path).unwrap();
        match &answer.close {
            None => assert_eq!((answer.status(), now), (Status::Done, b"new".to_vec())),
            Some(close) => assert_eq!((close.code.as_str(), now), ("special_file", b"old".to_vec())),
        }
        assert_eq!(has(&path, "security.selinux"), Some(label.to_vec()));
        assert_eq!(names(&world.path("site")), ["a"], "nothing temporary is left");
    }
}

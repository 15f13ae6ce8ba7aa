//! What a file has besides content and mode: kept when it is replaced, or it is not replaced.

use crate::common::{
    CLIENT_UID, Channel, World, change_to, changing, meta, names, remove, set_mode, write_request,
};
use postern_helper::audit::Record;
use postern_helper::error::Stop;
use postern_helper::sys::files::{self, New, Step, Xattrs};
use postern_policy::types::{FileKind, FileMode, TargetPath};
use postern_proto::root::v1::Xattr;
use postern_proto::v1::{self as wire, Mode, Status};
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
    let world = World::new(|at| vec![changing(at)]);
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

fn write(channel: &mut Channel, text: &str, content: &[u8]) -> Status {
    channel.ask("Helper/FileWrite", &write_request(text, content, "any")).completed().status()
}

#[test]
fn a_replaced_file_keeps_its_acl_and_attributes() {
    let (world, path, text) = world();
    give(&path, ACL, &acl(4));
    give(&path, NOTE, b"kept");
    let inode = fs::metadata(&path).unwrap().ino();
    let mut channel = world.connect(CLIENT_UID);
    assert_eq!(write(&mut channel, &text, b"new"), Status::Done);
    assert_ne!(fs::metadata(&path).unwrap().ino(), inode, "it is another file");
    assert_eq!((has(&path, ACL), has(&path, NOTE)), (Some(acl(4)), Some(b"kept".to_vec())));
    assert_eq!((mode(&path), fs::read(&path).unwrap()), (0o644, b"new".to_vec()));
}

/// As chmod(2) does it: the group's bits of the mode are the ACL's mask.
#[test]
fn a_mode_that_is_asked_for_bounds_the_acl_that_is_kept() {
    let (world, path, text) = world();
    give(&path, ACL, &acl(4));
    let change = wire::FileChange { mode: "0600".to_owned(), ..change_to(&text, b"secret") };
    let request = wire::FileWriteRequest { meta: meta(Mode::Execute), change: Some(change) };
    let answer = world.connect(CLIENT_UID).ask("Helper/FileWrite", &request);
    assert_eq!(answer.completed().status(), Status::Done);
    let twin = world.path("site/twin");
    fs::write(&twin, "").unwrap();
    give(&twin, ACL, &acl(4));
    fs::set_permissions(&twin, fs::Permissions::from_mode(0o600)).unwrap();
    assert_eq!((mode(&path), has(&path, ACL)), (0o600, has(&twin, ACL)));
    assert_ne!(has(&path, ACL), Some(acl(4)));
    // Nor is it wider for a moment, while the new file waits beside its place.
    let kept = |value| vec![Xattr { name: ACL.as_bytes().to_vec(), value }];
    let bounded = Xattrs::of_kept(kept(acl(4))).with_mode(FileMode::new("0600").unwrap());
    assert_eq!(bounded.into_kept(), kept(has(&twin, ACL).unwrap()));
}

#[test]
fn a_replaced_file_gets_no_acl_that_it_did_not_have() {
    let (world, path, text) = world();
    give(&world.path("site"), "system.posix_acl_default", &acl(4));
    let mut channel = world.connect(CLIENT_UID);
    assert_eq!(write(&mut channel, &text, b"new"), Status::Done);
    assert_eq!((has(&path, ACL), mode(&path)), (None, 0o644));
    assert_eq!(write(&mut channel, &world.text("site/b"), b"new"), Status::Done);
    assert!(has(&world.path("site/b"), ACL).is_some(), "a file where none stood inherits, as any other");
}

#[test]
fn what_is_removed_and_brought_back_has_its_acl_and_attributes() {
    let (world, path, text) = world();
    let mut channel = world.connect(CLIENT_UID);
    let mut there_and_back = |asked: wire::FileRemoveRequest, path: &Path| {
        assert_eq!(channel.ask("Helper/FileRemove", &asked).completed().status(), Status::Done);
        assert!(!path.exists());
        let of = asked.meta.unwrap().request_id;
        let undo = wire::RequestUndoRequest { meta: meta(Mode::Execute), of };
        assert_eq!(channel.ask("Helper/RequestUndo", &undo).completed().status(), Status::Done);
        assert_eq!((has(path, ACL), has(path, NOTE)), (Some(acl(4)), Some(b"kept".to_vec())));
        mode(path)
    };
    give(&path, ACL, &acl(4));
    give(&path, NOTE, b"kept");
    assert_eq!(there_and_back(remove(&text), &path), 0o644);
    assert_eq!(fs::read(&path).unwrap(), b"old");
}

/// Known when the new file is made, before any rename.
#[test]
fn an_attribute_that_the_kernel_does_not_take_leaves_the_old_file() {
    let (world, path, text) = world();
    let site = TargetPath::new(text.rsplit_once('/').unwrap().0).unwrap();
    let site = files::open_directory(&site, world.host.owner_uid).unwrap();
    let old = files::look(&site, "a", &[FileKind::File]).unwrap().unwrap();
    let broken = Xattr { name: ACL.as_bytes().to_vec(), value: b"no ACL at all".to_vec() };
    let xattrs = Xattrs::of_kept(vec![broken]);
    let new = New::File(b"new", old.attributes);
    let (name, temporary) = ("a", ".postern-1");
    let step = Step { parent: &site, name, temporary, old: Some(&old), new, xattrs: Some(&xattrs) };
    let ticket = world.helper.audit.begin(&Record::default()).unwrap();
    match files::stage(&ticket, &[step]) {
        Err(Stop::Refused(refusal)) => assert_eq!(refusal.code.as_str(), "special_file"),
        other => panic!("{other:?}"),
    }
    assert_eq!((fs::read(&path).unwrap(), names(&world.path("site"))), (b"old".to_vec(), vec!["a".into()]));
}

/// Run by `tests/run`; by hand as root with `-- --ignored as_root`.
mod as_root {
    use super::*;

    #[test]
    #[ignore = "needs root: nobody else can give a file capabilities"]
    fn a_file_with_capabilities_is_no_file_of_a_clients() {
        let (world, path, text) = world();
        give(&path, "security.capability", CAPABILITY);
        let mut channel = world.connect(CLIENT_UID);
        let read =
            wire::FileReadRequest { meta: meta(Mode::Execute), path: text.clone(), offset: 0, limit: 0 };
        let answers = [
            channel.ask("Helper/FileWrite", &write_request(&text, b"new", "any")),
            channel.ask("Helper/FileRemove", &remove(&text)),
            channel.ask("Helper/FileSetMode", &set_mode(&text, "0600")),
            channel.ask("Helper/FileRead", &read),
        ];
        for answer in answers {
            assert_eq!(answer.refused().code, "special_file");
        }
        assert!(has(&path, "security.capability").is_some());
        assert_eq!(
            (fs::read(&path).unwrap(), mode(&path), world.count("begin")),
            (b"old".to_vec(), 0o644, 0)
        );
    }

    #[test]
    #[ignore = "needs root: nobody else can give a file such an attribute"]
    fn a_file_with_an_attribute_that_cannot_be_kept_is_not_replaced() {
        let (world, path, text) = world();
        give(&path, "security.other", b"x");
        let mut channel = world.connect(CLIENT_UID);
        let answer = channel.ask("Helper/FileWrite", &write_request(&text, b"new", "any"));
        assert_eq!(answer.refused().code, "special_file");
        assert!(answer.refused().message.contains("security.other"), "{}", answer.refused().message);
        assert_eq!(channel.ask("Helper/FileRemove", &remove(&text)).refused().code, "special_file");
        assert_eq!((fs::read(&path).unwrap(), world.count("begin")), (b"old".to_vec(), 0));
        let kept = channel.ask("Helper/FileSetMode", &set_mode(&text, "0600"));
        assert_eq!(kept.completed().status(), Status::Done, "what stays loses nothing");
    }

    /// Whether root may set a label without being the kernel's administrator depends on the kernel; the promise does not.
    #[test]
    #[ignore = "needs root: nobody else can set a label"]
    fn a_label_is_kept_or_the_file_is_not_replaced() {
        assert!(
            !Path::new("/sys/fs/selinux/enforce").exists(),
            "where SELinux is on, root cannot set any label"
        );
        let (world, path, text) = world();
        let label = b"system_u:object_r:etc_t:s0\0";
        give(&path, "security.selinux", label);
        let answer = world.connect(CLIENT_UID).ask("Helper/FileWrite", &write_request(&text, b"new", "any"));
        let done = answer.completed();
        let now = fs::read(&path).unwrap();
        if done.status() == Status::Done {
            assert_eq!(now, b"new");
        } else {
            assert_eq!((done.code.as_str(), now), ("special_file", b"old".to_vec()));
        }
        assert_eq!(has(&path, "security.selinux"), Some(label.to_vec()));
        assert_eq!(names(&world.path("site")), ["a"], "nothing temporary is left");
    }
}

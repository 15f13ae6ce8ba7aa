//! `policy apply` asks postern-files as the recorder, and is root again afterwards. A process of its own, since its user
//! is the whole process's.

use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};
use nix::unistd::{Gid, Uid, chown, getegid, geteuid};
use postern_admin::enforce::greet;
use postern_admin::host::{Accounts, Host};
use postern_proto::link::{self, Kind};
use postern_proto::root::v1::OutcomesReply;
use std::fs::{Permissions, set_permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;

/// Another user where the test runs as root, and otherwise the only one that it can be.
fn user() -> u32 {
    if geteuid().is_root() { 65534 } else { geteuid().as_raw() }
}

fn group() -> u32 {
    if geteuid().is_root() { 65534 } else { getegid().as_raw() }
}

#[test]
fn sends_hello_as_the_recorders_user_and_returns_to_root() {
    let directory = tempfile::tempdir().unwrap();
    set_permissions(directory.path(), Permissions::from_mode(0o711)).unwrap();
    let socket = directory.path().join("files.sock");
    let listener = UnixListener::bind(&socket).unwrap();
    // As the unit's socket: of root, for the recorder's group alone.
    chown(&socket, None, Some(Gid::from_raw(group()))).unwrap();
    set_permissions(&socket, Permissions::from_mode(0o660)).unwrap();
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let peer = getsockopt(&stream, PeerCredentials).unwrap();
        let kinds = [(); 2].map(|()| link::read(&mut stream).unwrap().unwrap().0);
        assert_eq!(kinds, [Kind::Hello, Kind::Outcomes]);
        link::send(&mut stream, Kind::OutcomesReply, &OutcomesReply::default()).unwrap();
        (peer.uid(), peer.gid())
    });
    let accounts = Accounts {
        user: |name| (name == "postern-audit").then(user),
        group: |name| (name == "postern-audit").then(|| (group(), Vec::new())),
        users: Vec::new,
        groups: Vec::new,
    };
    let before = (geteuid(), getegid());
    let host = Host { files_socket: socket, accounts, ..Host::real() };
    assert_eq!(greet(&host), Ok(()));
    assert_eq!(server.join().unwrap(), (user(), group()));
    assert_eq!((geteuid(), getegid()), before);
    // Nobody listens any more: it is root again after that too.
    assert!(greet(&host).unwrap_err().contains("files.sock"));
    assert_eq!((geteuid(), getegid()), before);
    assert_eq!(Uid::current(), before.0);
}

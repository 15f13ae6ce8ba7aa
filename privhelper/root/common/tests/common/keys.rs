//! Keys and the messages that they authenticate.

use crate::support::World;
use postern_proto::root::v1::{Agreement, Inverse, Staged};
use postern_root::Key;
use std::os::unix::fs::PermissionsExt;

#[test]
fn a_key_is_made_once_with_mode_0600_and_signs_one_kind_of_message_at_a_time() {
    let world = World::new(Vec::new());
    let path = world.host.state.join("key");
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o600);
    let again = Key::open(&path).unwrap();
    let inverse = Inverse { uid: 7, ..Inverse::default() };
    let signed = world.key.sign(inverse.clone());
    assert!(again.verifies(&signed) && signed.mac.len() == 32);
    assert!(!again.verifies(&inverse), "without a MAC");
    assert!(!again.verifies(&Inverse { uid: 8, ..signed.clone() }), "another message");
    assert!(!again.verifies(&Inverse { mac: signed.mac[..31].to_vec(), ..signed }), "a part of the MAC");
    // Messages that encode to the same bytes are told apart by their names.
    let staged = world.key.sign(Staged::default());
    assert!(!again.verifies(&Agreement { mac: staged.mac, ..Agreement::default() }));
    let other = Key::open(&world.host.state.join("other")).unwrap();
    assert!(!other.verifies(&world.key.sign(inverse)));
}

#[test]
fn a_key_of_another_length_is_refused_and_a_missing_one_is_none() {
    let world = World::new(Vec::new());
    let path = world.host.state.join("short");
    assert!(Key::read(&path).unwrap().is_none());
    for length in [0, 31, 33] {
        std::fs::write(&path, vec![1; length]).unwrap();
        assert!(Key::read(&path).is_err() && Key::open(&path).is_err(), "{length} bytes");
    }
}

//! Frames of the internal sockets.

use postern_proto::link::{self, Kind};
use postern_proto::root::v1::{Hello, Outcomes};
use std::io::ErrorKind;

#[test]
fn reads_back_each_frame_and_ends_between_two() {
    let mut bytes = Vec::new();
    link::open(&mut bytes, Kind::Outcomes, &Outcomes { order_id: vec![7; 32] }).unwrap();
    let mut from = bytes.as_slice();
    let (kind, payload) = link::read(&mut from).unwrap().unwrap();
    assert_eq!(kind, Kind::Hello);
    assert_eq!(link::strict::<Hello>(&payload).unwrap().build, link::build());
    assert_eq!(link::read(&mut from).unwrap().unwrap().0, Kind::Outcomes);
    assert!(link::read(&mut from).unwrap().is_none());
}

#[test]
fn rejects_unknown_kinds_long_payloads_and_torn_frames() {
    let invalid = |bytes: &[u8]| link::read(&mut &*bytes).unwrap_err().kind();
    assert_eq!(invalid(&[0, 0, 0, 0, 99]), ErrorKind::InvalidData);
    // 4 GiB are announced: refused before memory is taken.
    assert_eq!(invalid(&[255, 255, 255, 255, Kind::Hello.number()]), ErrorKind::InvalidData);
    assert_eq!(invalid(&[1, 0, 0]), ErrorKind::UnexpectedEof);
    assert_eq!(invalid(&[4, 0, 0, 0, Kind::Hello.number(), 1]), ErrorKind::UnexpectedEof);
    let long = vec![0; Kind::Hello.max() + 1];
    assert_eq!(link::write(&mut Vec::new(), Kind::Hello, &long).unwrap_err().kind(), ErrorKind::InvalidInput);
}

#[test]
fn strict_decode_rejects_unknown_fields_and_other_encodings() {
    // Field 15 of Hello does not exist; a length encoded in two bytes is not canonical.
    assert!(link::strict::<Hello>(&[0x7a, 1, 0]).is_none());
    assert!(link::strict::<Hello>(&[0x0a, 0x81, 0x00, 7]).is_none());
    assert!(link::strict::<Hello>(&[0x0a, 1, 7]).is_some());
}

#[test]
fn every_kind_has_its_own_number() {
    for number in 0..=255 {
        assert!(Kind::from_number(number).is_none_or(|kind| kind.number() == number));
    }
}

#[test]
fn ids_and_approvals_are_the_digests_that_order_proto_names() {
    use sha2::{Digest, Sha256};
    let id = Sha256::digest([b"postern order 1\n".as_slice(), &[1, 2, 0, 0], b"0190"].concat());
    assert_eq!(link::order_id(513, "0190"), <[u8; 32]>::from(id));
    let approved = Sha256::digest([b"postern approval 2\nboot".as_slice(), &[7; 32], b"order"].concat());
    assert_eq!(link::approval_digest("boot", &[7; 32], b"order"), <[u8; 32]>::from(approved));
}

#[test]
fn order_ids_differ_by_uid_and_approvals_by_boot_policy_and_order() {
    let id = "0190a0a0-0000-7000-8000-000000000000";
    assert_ne!(link::order_id(1000, id), link::order_id(1001, id));
    let approved = link::approval_digest("boot", &[1; 32], b"order");
    for other in [
        link::approval_digest("toob", &[1; 32], b"order"),
        link::approval_digest("boot", &[2; 32], b"order"),
        link::approval_digest("boot", &[1; 32], b"other"),
    ] {
        assert_ne!(approved, other);
    }
}

//! Assembly of frames, and what is decided about a body before it arrives.

use postern_broker::frame::{Assembler, Frame, Next, Violation};
use postern_proto::frame::{CANCEL, HEAD, Head, REQUEST, encode, encode_request};

fn request(method: &str, body: &[u8]) -> Vec<u8> {
    encode(7, REQUEST, &encode_request(method, body).unwrap()).unwrap()
}

/// Feeds bytes one by one and admits every body.
fn frames(bytes: &[u8]) -> Vec<Frame> {
    let (mut assembler, mut rest, mut frames) = (Assembler::default(), bytes, Vec::new());
    loop {
        match assembler.needs().unwrap() {
            Next::Admit { body_len, .. } => assembler.admit(body_len),
            Next::Whole(frame) => frames.push(frame),
            Next::Bytes(wanted) => {
                let Some((first, others)) = rest.split_first() else { return frames };
                assert!(wanted > 0 && wanted <= rest.len());
                assembler.push(&[*first]);
                rest = others;
            }
        }
        if rest.is_empty() && !assembler.is_unfinished() {
            return frames;
        }
    }
}

#[test]
fn assembles_frames_byte_by_byte_and_never_wants_more_than_their_own() {
    let stream =
        [request("Helper/FileRead", b"body"), encode(7, CANCEL, b"").unwrap(), request("Helper/X", b"")];
    let whole = |method: &str, body: &[u8]| Frame::Request {
        stream: 7,
        method: method.to_owned(),
        body: body.to_vec(),
    };
    let expected = [whole("Helper/FileRead", b"body"), Frame::Cancel { stream: 7 }, whole("Helper/X", b"")];
    assert_eq!(frames(&stream.concat()), expected);
}

#[test]
fn asks_before_any_byte_of_a_body_and_drops_one_that_is_not_admitted() {
    let (refused, taken) =
        (request("Helper/FilePatch", &vec![b'x'; 100_000]), request("Helper/FileRead", b"y"));
    let mut assembler = Assembler::default();
    let prefix = HEAD + 1 + "Helper/FilePatch".len();
    let mut at = 0;
    let admit = loop {
        match assembler.needs().unwrap() {
            Next::Bytes(wanted) => {
                assembler.push(&refused[at..at + wanted]);
                at += wanted;
            }
            next => break next,
        }
    };
    assert_eq!(admit, Next::Admit { stream: 7, method: "Helper/FilePatch".to_owned(), body_len: 100_000 });
    assert_eq!(at, prefix, "the head is asked about, and nothing behind it was read");
    assembler.skip(100_000);
    assert!(assembler.is_unfinished() && assembler.bytes().is_empty());
    while at < refused.len() {
        let Next::Bytes(wanted) = assembler.needs().unwrap() else { panic!("a dropped body became a frame") };
        let count = wanted.min(4096);
        assembler.push(&refused[at..at + count]);
        at += count;
    }
    assert!(!assembler.is_unfinished() && assembler.bytes().is_empty(), "nothing of it was kept");
    assembler.push(&taken[..HEAD]);
    assert_eq!(assembler.needs(), Ok(Next::Bytes(1)), "the next frame begins");
}

#[test]
fn limits_a_body_by_its_method_before_it_arrives() {
    let next = |method: &str, len: usize| {
        let mut assembler = Assembler::default();
        let prefix = 1 + method.len();
        let head = Head { stream: 1, kind: REQUEST, len: u32::try_from(prefix + len).unwrap() };
        assembler.push(&head.encode());
        assembler.push(&[u8::try_from(method.len()).unwrap()]);
        assembler.push(method.as_bytes());
        assembler.needs().map(|next| matches!(next, Next::Admit { body_len, .. } if body_len == len))
    };
    assert_eq!(next("Helper/UnitStart", 65_536), Ok(true));
    assert_eq!(next("Helper/UnitStart", 65_537), Err(Violation("body too large")));
    assert_eq!(next("Helper/FileWrite", 4 << 20), Ok(true));
    assert_eq!(next("Helper/FileWrite", (4 << 20) + 1), Err(Violation("body too large")));
    assert_eq!(next("Helper/FilePatch", 8 << 20), Ok(true));
    assert_eq!(next("Helper/FilePatch", (8 << 20) + 1), Err(Violation("body too large")));
}

#[test]
fn rejects_frames_that_no_gateway_sends() {
    let head = |kind, len| Head { stream: 1, kind, len }.encode().to_vec();
    let cases = [
        head(9, 0),
        head(CANCEL, 1),
        head(REQUEST, 0),
        [head(REQUEST, 100), vec![72]].concat(),
        [head(REQUEST, 4), vec![9]].concat(),
        [head(REQUEST, 4), vec![2, 0xff, 0xfe]].concat(),
    ];
    for bytes in cases {
        let mut assembler = Assembler::default();
        assembler.push(&bytes);
        assert!(assembler.needs().is_err(), "{bytes:?}");
    }
}

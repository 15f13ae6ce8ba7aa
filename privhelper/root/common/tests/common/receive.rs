//! Frames of an order: what is received whole and what closes the connection.

use crate::support::{content, received};
use postern_proto::link::{self, CONTENT_MAX, Kind};
use postern_proto::root::v1::{
    Acknowledge, CloseReason, Envelope, Hello, Order, Outcomes, RootExecute, RootInspect, SecretValue,
    SecretValues, Step,
};
use postern_root::Received;
use prost::Message;

fn order(contents: &[&[u8]]) -> Order {
    Order {
        order_id: vec![9; 32],
        uid: 1,
        verb: "file.write".to_owned(),
        contents: contents.iter().map(|bytes| content(bytes)).collect(),
        ..Order::default()
    }
}

fn execute(order: &Order, step: Step) -> Vec<u8> {
    let envelope = Some(Envelope { step: step.into(), ..Envelope::default() });
    let mut frames = Vec::new();
    let message = RootExecute { envelope, order: order.encode_to_vec(), ..RootExecute::default() };
    link::open(&mut frames, Kind::RootExecute, &message).unwrap();
    frames
}

fn fails(frames: &[u8]) -> CloseReason {
    received(frames).unwrap_err()
}

#[test]
fn receives_an_order_with_its_content_in_parts() {
    let large = vec![7; CONTENT_MAX + 5];
    let mut frames = execute(&order(&[b"one", b"", &large]), Step::Whole);
    link::send_content(&mut frames, b"one").unwrap();
    link::send_content(&mut frames, &large).unwrap();
    let Received::Order(ordered) = received(&frames).unwrap() else { panic!() };
    assert!(ordered.is_execute);
    assert_eq!((ordered.step(), ordered.contents.len()), (Step::Whole, 3));
    assert_eq!((&*ordered.contents[0], &*ordered.contents[1]), (&b"one"[..], &b""[..]));
    assert!(*ordered.contents[2] == large);
    // The commit of a staged change brings no content.
    let frames = execute(&order(&[b"one"]), Step::Commit);
    assert!(
        matches!(received(&frames), Ok(Received::Order(ordered)) if ordered.step() == Step::Commit && ordered.contents.is_empty())
    );
}

#[test]
fn rejects_content_that_is_not_what_was_announced() {
    let with = |announced: &[u8], parts: &[&[u8]]| {
        let mut frames = execute(&order(&[announced]), Step::Whole);
        for part in parts {
            link::write(&mut frames, Kind::Content, part).unwrap();
        }
        received(&frames).map(drop)
    };
    assert_eq!(with(b"content", &[b"con", b"tent"]), Ok(()));
    for parts in [&[&b"CONTENT"[..]][..], &[b"content!"], &[b"conten"], &[b"", b"content"], &[]] {
        assert_eq!(with(b"content", parts), Err(CloseReason::Malformed), "{parts:?}");
    }
    let mut many = order(&[]);
    many.contents = vec![content(b""); 2];
    many.contents[0].size = 8 * 1024 * 1024;
    many.contents[1].size = 1;
    // Refused by its announcement: no content follows.
    assert_eq!(fails(&execute(&many, Step::Whole)), CloseReason::Malformed);
    many.contents[1].size = u64::MAX;
    assert_eq!(fails(&execute(&many, Step::Whole)), CloseReason::Malformed);
}

#[test]
fn rejects_orders_without_id_verb_step_or_envelope() {
    let broken = [
        Order { order_id: vec![9; 31], ..order(&[]) },
        Order { verb: "file.shred".to_owned(), ..order(&[]) },
    ];
    for order in broken {
        assert_eq!(fails(&execute(&order, Step::Whole)), CloseReason::Malformed);
    }
    assert_eq!(fails(&execute(&order(&[]), Step::Unspecified)), CloseReason::Malformed);
    let mut frames = Vec::new();
    let message = RootExecute { envelope: None, order: order(&[]).encode_to_vec(), ..RootExecute::default() };
    link::open(&mut frames, Kind::RootExecute, &message).unwrap();
    assert_eq!(fails(&frames), CloseReason::Malformed);
    // An order with a field that this build does not know.
    let mut bytes = order(&[]).encode_to_vec();
    bytes.extend_from_slice(&[0xf8, 0x01, 1]);
    let mut frames = Vec::new();
    let envelope = Some(Envelope { step: Step::Whole.into(), ..Envelope::default() });
    link::open(
        &mut frames,
        Kind::RootExecute,
        &RootExecute { envelope, order: bytes, ..RootExecute::default() },
    )
    .unwrap();
    assert_eq!(fails(&frames), CloseReason::Malformed);
}

#[test]
fn secrets_come_in_a_frame_of_their_own_where_they_are_announced() {
    let run = Order { verb: "command.run".to_owned(), ..order(&[]) };
    assert!(
        matches!(received(&execute(&run, Step::Whole)), Ok(Received::Order(run)) if run.secrets.is_empty())
    );
    let envelope = Some(Envelope { step: Step::Whole.into(), ..Envelope::default() });
    let message =
        RootExecute { envelope, order: run.encode_to_vec(), secrets: true, ..RootExecute::default() };
    let mut frames = Vec::new();
    link::open(&mut frames, Kind::RootExecute, &message).unwrap();
    assert_eq!(fails(&frames), CloseReason::Malformed);
    let values = vec![SecretValue { parameter: "token".to_owned(), random: vec![1; 32], value: vec![2] }];
    link::send(&mut frames, Kind::Secrets, &SecretValues { values: values.clone() }).unwrap();
    let Received::Order(ordered) = received(&frames).unwrap() else { panic!() };
    assert_eq!(ordered.secrets, values);
}

#[test]
fn another_build_is_refused_and_may_still_ask_for_outcomes() {
    let greeted = |build: Vec<u8>, kind: Kind, payload: Vec<u8>| {
        let mut frames = Vec::new();
        link::send(&mut frames, Kind::Hello, &Hello { build }).unwrap();
        link::write(&mut frames, kind, &payload).unwrap();
        received(&frames)
    };
    let outcomes = Outcomes { order_id: vec![9; 32] }.encode_to_vec();
    let acknowledge = Acknowledge { order_id: vec![9; 32] }.encode_to_vec();
    let inspect = RootInspect { order: order(&[]).encode_to_vec(), envelope: None }.encode_to_vec();
    let ours = || link::build().to_vec();
    assert!(matches!(greeted(vec![0; 32], Kind::Outcomes, outcomes.clone()), Ok(Received::Outcomes(_))));
    assert!(matches!(greeted(ours(), Kind::Outcomes, outcomes), Ok(Received::Outcomes(_))));
    assert!(matches!(greeted(ours(), Kind::Acknowledge, acknowledge.clone()), Ok(Received::Acknowledge(_))));
    assert!(
        matches!(greeted(ours(), Kind::RootInspect, inspect.clone()), Ok(Received::Order(asked)) if !asked.is_execute && asked.envelope.is_none())
    );
    for (kind, payload) in [(Kind::Acknowledge, acknowledge), (Kind::RootInspect, inspect)] {
        assert_eq!(greeted(vec![0; 32], kind, payload).unwrap_err(), CloseReason::WrongBuild);
    }
    assert_eq!(greeted(ours(), Kind::Note, Vec::new()).unwrap_err(), CloseReason::Malformed);
    assert_eq!(fails(&[]), CloseReason::Malformed);
}

//! Bodies of orders hold no new content and no secret values.

use crate::common::{change, meta, write};
use postern_broker::body::{split_secrets, without_contents};
use postern_policy::types::Digest;
use postern_policy::{Command, VerbId};
use postern_proto::root::v1::{self as root, ParameterKind};
use postern_proto::v1::{self as wire, ChangeKind, Mode};
use prost::Message;

#[test]
fn takes_the_content_out_of_writes_alone() {
    let removal = wire::FileChange { kind: ChangeKind::Remove.into(), ..change("/a/c", b"odd", "any") };
    let patch = |first: &[u8], last: &[u8]| wire::FilePatchRequest {
        meta: None,
        changes: vec![change("/a/b", first, "any"), removal.clone(), change("/a/d", last, "any")],
    };
    // A removal with content stays what it is: root refuses it.
    let body = without_contents(VerbId::FilePatch, &patch(b"one", b"two").encode_to_vec());
    assert_eq!(body, Some(patch(b"", b"").encode_to_vec()));
    let body = write("/a/b", b"one", "any");
    let mut empty = body.clone();
    empty.change.as_mut().unwrap().content.clear();
    assert_eq!(without_contents(VerbId::FileWrite, &body.encode_to_vec()), Some(empty.encode_to_vec()));
    let update = wire::PackageUpdateRequest { meta: meta(Mode::Execute) }.encode_to_vec();
    assert_eq!(without_contents(VerbId::PackageUpdate, &update), Some(update));
    let twice = [body.encode_to_vec(), body.encode_to_vec()].concat();
    assert_eq!(without_contents(VerbId::FileWrite, &twice), None, "it is not canonical");
}

#[test]
fn replaces_the_values_of_secret_parameters_by_commitments() {
    let parameter = |name: &str, kind: ParameterKind| root::Parameter {
        name: name.to_owned(),
        kind: kind.into(),
        ..root::Parameter::default()
    };
    let parameters =
        vec![parameter("name", ParameterKind::Name), parameter("password", ParameterKind::Secret)];
    let row = root::Command { name: "set".to_owned(), parameters, ..root::Command::default() };
    let row = Command::new(&row).unwrap();
    let pair = |(name, value): &(&str, &str)| wire::Parameter {
        name: (*name).to_owned(),
        value: (*value).to_owned(),
    };
    let pairs = [("name", "alice"), ("password", "hunter2")];
    let parameters = pairs.iter().map(pair).collect();
    let body = wire::CommandRunRequest { meta: None, name: "set".to_owned(), parameters }.encode_to_vec();
    let (order, secrets) = split_secrets(&row, &body, || Ok::<_, ()>([7; 32])).unwrap().unwrap();
    assert!(!order.windows(7).any(|window| window == b"hunter2"));
    let wire = wire::CommandRunRequest::decode(order.as_slice()).unwrap();
    let commitment = Digest::of(&[&[7; 32], b"hunter2"]).to_string();
    assert_eq!((&wire.parameters[0].value, &wire.parameters[1].value), (&"alice".to_owned(), &commitment));
    let (random, value) = (vec![7; 32], b"hunter2".to_vec());
    assert_eq!(secrets, [root::SecretValue { parameter: "password".to_owned(), random, value }]);
    assert_eq!(split_secrets(&row, b"\xff", || Ok::<_, ()>([7; 32])), Ok(None));
    assert_eq!(split_secrets(&row, &body, || Err("no random bytes")), Err("no random bytes"));
}

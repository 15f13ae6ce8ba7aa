//! Every verb's message: what is decoded, what is refused as invalid, and what is malformed.

use crate::common::meta;
use postern_policy::request::{NewState, Request, undo_grants};
use postern_policy::types::{Digest, Expect};
use postern_policy::{Command, Decision, Object, VerbId};
use postern_proto::HELPER_PROTO;
use postern_proto::root::v1 as root;
use postern_proto::v1::{self as wire, ChangeKind};
use prost::Message;
use std::sync::Arc;

fn decode(verb: VerbId, message: &impl Message) -> Result<Request, &'static str> {
    let (_, request) = Request::decode(verb, &message.encode_to_vec()).expect("it is canonical");
    request.map_err(|invalid| invalid.field)
}

/// The verbs and names of what a rule must grant.
fn required(verb: VerbId, message: &impl Message) -> Vec<(VerbId, String)> {
    let grants = decode(verb, message).unwrap().required_grants();
    grants.into_iter().map(|(verb, object)| (verb, object.name().to_owned())).collect()
}

fn change(path: &str, content: &[u8]) -> wire::FileChange {
    wire::FileChange {
        path: path.to_owned(),
        kind: ChangeKind::Write.into(),
        content: content.to_vec(),
        expect: "any".to_owned(),
        ..wire::FileChange::default()
    }
}

fn removal(path: &str) -> wire::FileChange {
    wire::FileChange { kind: ChangeKind::Remove.into(), ..change(path, b"") }
}

fn write(change: wire::FileChange) -> wire::FileWriteRequest {
    wire::FileWriteRequest { meta: Some(meta()), change: Some(change) }
}

fn patch(changes: Vec<wire::FileChange>) -> wire::FilePatchRequest {
    wire::FilePatchRequest { meta: Some(meta()), changes }
}

#[test]
fn every_verb_decodes_its_own_message() {
    for verb in VerbId::ALL {
        let (meta, _) = Request::decode(*verb, &[]).expect("an empty message is canonical");
        assert_eq!(meta, None, "{}", verb.name());
        // Field 15 is in no message.
        assert!(Request::decode(*verb, &[0x78, 1]).is_none(), "{}", verb.name());
        assert!(Request::decode(*verb, &[0xff]).is_none(), "{}", verb.name());
    }
}

#[test]
fn returns_the_verb_and_whether_it_reads() {
    let unit = wire::UnitStartRequest { meta: Some(meta()), unit: "a.service".to_owned() };
    let cases = [
        (VerbId::UnitStart, unit.encode_to_vec(), false),
        (VerbId::UnitTryRestart, unit.encode_to_vec(), false),
        (VerbId::UnitStatus, unit.encode_to_vec(), true),
        (VerbId::UnitDaemonReload, Vec::new(), false),
        (VerbId::PolicyDescribe, Vec::new(), true),
        (VerbId::PackageUpdate, Vec::new(), false),
        (
            VerbId::FileRead,
            wire::FileReadRequest { path: "/a/b".to_owned(), ..Default::default() }.encode_to_vec(),
            true,
        ),
        (
            VerbId::FileList,
            wire::FileListRequest { path: "/a/b".to_owned(), ..Default::default() }.encode_to_vec(),
            true,
        ),
    ];
    for (verb, body, is_read) in cases {
        let (_, request) = Request::decode(verb, &body).unwrap();
        let request = request.unwrap();
        assert_eq!((request.verb(), request.is_read()), (verb, is_read));
    }
}

#[test]
fn refuses_bytes_that_are_not_canonical() {
    let plain = write(change("/srv/x/a", b"1")).encode_to_vec();
    assert!(Request::decode(VerbId::FileWrite, &plain).is_some());
    let twice = [plain.as_slice(), &plain].concat();
    let default = [plain.as_slice(), &[0x10, 0x00]].concat();
    // The length of the meta with a needless byte.
    let long = [&[0x0a, plain[1] | 0x80, 0x00], &plain[2..]].concat();
    let cut = &plain[..plain.len() - 1];
    for bytes in [twice.as_slice(), &default, &long, cut] {
        assert!(Request::decode(VerbId::FileWrite, bytes).is_none(), "{bytes:?}");
    }
}

#[test]
fn returns_the_meta_of_an_invalid_request() {
    let body = write(change("relative", b"")).encode_to_vec();
    let (found, request) = Request::decode(VerbId::FileWrite, &body).unwrap();
    assert_eq!((found, request.unwrap_err().field), (Some(meta()), "path"));
}

#[test]
fn reads_changes_of_files() {
    let mode = |mode: &str| wire::FileChange { mode: mode.to_owned(), ..change("/srv/x/a", b"1") };
    let expect = |expect: &str| wire::FileChange { expect: expect.to_owned(), ..change("/srv/x/a", b"1") };
    let owner = |owner: &str| wire::FileChange { owner: owner.to_owned(), ..change("/srv/x/a", b"1") };
    let kind = |kind: ChangeKind| wire::FileChange { kind: kind.into(), ..change("/srv/x/a", b"") };
    let hex = "a".repeat(64);
    for valid in [mode("0644"), mode(""), expect("absent"), expect(&hex), owner("www-data"), owner("")] {
        assert!(decode(VerbId::FileWrite, &write(valid)).is_ok());
    }
    for (invalid, field) in [
        (mode("644"), "mode"),
        (mode("4755"), "mode"),
        (expect(""), "expect"),
        (expect("ANY"), "expect"),
        (expect(&hex.to_uppercase()), "expect"),
        (owner("0"), "owner"),
        (owner("Root"), "owner"),
        (change("/srv/../etc/x", b""), "path"),
        (change("srv/x", b""), "path"),
        (change("/", b""), "path"),
        (kind(ChangeKind::Unspecified), "kind"),
        (kind(ChangeKind::Remove), "kind"),
    ] {
        assert_eq!(decode(VerbId::FileWrite, &write(invalid)).unwrap_err(), field);
    }
    let none = wire::FileWriteRequest { meta: Some(meta()), change: None };
    assert_eq!(decode(VerbId::FileWrite, &none).unwrap_err(), "change");
}

#[test]
fn reads_patches_of_up_to_64_different_paths() {
    let many = |count: usize| patch((0..count).map(|n| change(&format!("/srv/x/{n}"), b"1")).collect());
    assert!(decode(VerbId::FilePatch, &many(64)).is_ok());
    for invalid in [many(0), many(65), patch(vec![change("/a/b", b"1"), removal("/a/b")])] {
        assert_eq!(decode(VerbId::FilePatch, &invalid).unwrap_err(), "changes");
    }
    let absent = wire::FileChange { expect: "absent".to_owned(), ..removal("/a/b") };
    assert_eq!(decode(VerbId::FilePatch, &patch(vec![absent])).unwrap_err(), "expect");
    for odd in [
        wire::FileChange { mode: "0644".to_owned(), ..removal("/a/b") },
        wire::FileChange { owner: "root".to_owned(), ..removal("/a/b") },
        wire::FileChange { group: "root".to_owned(), ..removal("/a/b") },
        wire::FileChange { content: b"1".to_vec(), ..removal("/a/b") },
    ] {
        assert_eq!(decode(VerbId::FilePatch, &patch(vec![odd])).unwrap_err(), "kind");
    }
    // A removal by a patch needs a grant of its own.
    let both = patch(vec![change("/a/b", b"1"), removal("/a/c")]);
    let named = |verb, path: &str| (verb, path.to_owned());
    assert_eq!(
        required(VerbId::FilePatch, &both),
        [
            named(VerbId::FilePatch, "/a/b"),
            named(VerbId::FilePatch, "/a/c"),
            named(VerbId::FileRemove, "/a/c")
        ]
    );
}

#[test]
fn reads_the_other_verbs_of_files() {
    let remove = |expect: &str| wire::FileRemoveRequest {
        meta: Some(meta()),
        path: "/a/b".to_owned(),
        expect: expect.to_owned(),
    };
    assert!(decode(VerbId::FileRemove, &remove("any")).is_ok());
    assert_eq!(decode(VerbId::FileRemove, &remove("absent")).unwrap_err(), "expect");
    assert_eq!(decode(VerbId::FileRemove, &remove("")).unwrap_err(), "expect");
    let mkdir =
        wire::FileMkdirRequest { path: "/a/b".to_owned(), group: "web".to_owned(), ..Default::default() };
    let Request::Files(files) = decode(VerbId::FileMkdir, &mkdir).unwrap() else {
        panic!("no change of files")
    };
    assert_eq!((&files.changes[0].to, files.changes[0].expect), (&NewState::Directory, Expect::Absent));
    let set_mode = |mode: &str| wire::FileSetModeRequest {
        path: "/a/b".to_owned(),
        mode: mode.to_owned(),
        meta: Some(meta()),
    };
    assert!(decode(VerbId::FileSetMode, &set_mode("0750")).is_ok());
    for invalid in ["", "750", "2750", "0758"] {
        assert_eq!(decode(VerbId::FileSetMode, &set_mode(invalid)).unwrap_err(), "mode", "{invalid}");
    }
    let set_owner = |owner: &str, group: &str| wire::FileSetOwnerRequest {
        path: "/a/b".to_owned(),
        owner: owner.to_owned(),
        group: group.to_owned(),
        meta: Some(meta()),
    };
    assert!(decode(VerbId::FileSetOwner, &set_owner("a", "")).is_ok());
    assert!(decode(VerbId::FileSetOwner, &set_owner("", "a")).is_ok());
    assert_eq!(decode(VerbId::FileSetOwner, &set_owner("", "")).unwrap_err(), "owner");
    assert_eq!(decode(VerbId::FileSetOwner, &set_owner("a", "0")).unwrap_err(), "group");
}

#[test]
fn content_travels_beside_an_order() {
    let contents = |request: &Request| match request {
        Request::Files(files) => files.contents().map(|content| content.to_vec()).collect(),
        _ => Vec::new(),
    };
    let three = |first: &[u8], last: &[u8]| {
        patch(vec![change("/a/b", first), removal("/a/c"), change("/a/d", last)]).encode_to_vec()
    };
    let empty = write(change("/a/b", b"")).encode_to_vec();
    let update = wire::PackageUpdateRequest { meta: Some(meta()) }.encode_to_vec();
    for (verb, body, order) in [
        (VerbId::FileWrite, write(change("/a/b", b"one")).encode_to_vec(), empty.clone()),
        (VerbId::FileWrite, empty.clone(), empty),
        (VerbId::FilePatch, three(b"one", b"two"), three(b"", b"")),
        (VerbId::PackageUpdate, update.clone(), update),
    ] {
        let request = Request::decode(verb, &body).unwrap().1.unwrap();
        let parts: Vec<Vec<u8>> = contents(&request);
        let arcs = || parts.iter().map(|part| Arc::from(part.as_slice())).collect::<Vec<Arc<[u8]>>>();
        assert_eq!(Request::decode_order(verb, &order, arcs()), Some(Ok(request)));
        let more = [arcs(), vec![Arc::from(b"more".as_slice())]].concat();
        assert_eq!(Request::decode_order(verb, &order, more), None, "one content too many");
        if let Some(fewer) = arcs().get(1..) {
            assert_eq!(Request::decode_order(verb, &order, fewer.to_vec()), None, "one content too few");
        }
    }
    let body = write(change("/a/b", b"one")).encode_to_vec();
    let other: Vec<Arc<[u8]>> = vec![Arc::from(b"two".as_slice())];
    assert_eq!(
        Request::decode_order(VerbId::FileWrite, &body, other),
        None,
        "an order has no content itself"
    );
}

#[test]
fn an_invalid_removal_with_content_stays_invalid_in_an_order() {
    let odd = wire::FileChange { content: b"1".to_vec(), ..removal("/a/b") };
    let order = patch(vec![odd]).encode_to_vec();
    let refused = Request::decode_order(VerbId::FilePatch, &order, Vec::new()).unwrap();
    assert_eq!(refused.unwrap_err().field, "kind");
}

#[test]
fn reads_changes_of_units() {
    for verb in [
        VerbId::UnitStart,
        VerbId::UnitStop,
        VerbId::UnitRestart,
        VerbId::UnitReload,
        VerbId::UnitTryRestart,
        VerbId::UnitResetFailed,
        VerbId::UnitEnable,
        VerbId::UnitDisable,
        VerbId::UnitMask,
        VerbId::UnitUnmask,
    ] {
        let unit = |unit: &str| wire::UnitStartRequest { meta: Some(meta()), unit: unit.to_owned() };
        assert_eq!(required(verb, &unit("a.service")), [(verb, "a.service".to_owned())]);
        for invalid in
            ["", "a", "a.service ", "*.service", "a@.service", "-a.service", "../a.service", "a.conf"]
        {
            assert_eq!(decode(verb, &unit(invalid)).unwrap_err(), "unit", "{invalid:?}");
        }
    }
    let now = wire::UnitEnableRequest { meta: Some(meta()), unit: "a.service".to_owned(), now: true };
    let with = |verb, also| vec![(verb, "a.service".to_owned()), (also, "a.service".to_owned())];
    for (verb, also) in [
        (VerbId::UnitEnable, VerbId::UnitStart),
        (VerbId::UnitDisable, VerbId::UnitStop),
        (VerbId::UnitMask, VerbId::UnitStop),
    ] {
        assert_eq!(required(verb, &now), with(verb, also));
    }
    assert!(Request::decode(VerbId::UnitStart, &now.encode_to_vec()).is_none(), "start has no `now`");
}

#[test]
fn reads_the_status_of_a_unit() {
    let status = |unit: &str, journal_lines, since_unix_s| wire::UnitStatusRequest {
        meta: Some(meta()),
        unit: unit.to_owned(),
        journal_lines,
        since_unix_s,
    };
    for valid in [
        status("a.service", 0, 0),
        status("a.service", 9, 0),
        status("a.service", 9, 1),
        status("a.slice", 0, 0),
    ] {
        assert!(decode(VerbId::UnitStatus, &valid).is_ok());
    }
    assert_eq!(decode(VerbId::UnitStatus, &status("a.slice", 1, 0)).unwrap_err(), "journal_lines");
    assert_eq!(decode(VerbId::UnitStatus, &status("a.service", 0, 1)).unwrap_err(), "since_unix_s");
    let grants = decode(VerbId::UnitStatus, &status("a.service", 9, 0)).unwrap().required_grants();
    assert!(matches!(&grants[..], [(VerbId::UnitStatus, Object::Unit { journal_lines: 9, .. })]));
}

#[test]
fn reads_requests_about_packages() {
    let install = |packages: &[(&str, &str)]| {
        let package = |(name, version): &(&str, &str)| wire::Package {
            name: (*name).to_owned(),
            version: (*version).to_owned(),
        };
        wire::PackageInstallRequest { meta: Some(meta()), packages: packages.iter().map(package).collect() }
    };
    assert!(
        decode(VerbId::PackageInstall, &install(&[("hello", ""), ("curl", "8.5.0-2+deb13u1~1")])).is_ok()
    );
    for (invalid, field) in [
        (install(&[]), "packages"),
        (install(&[("hello", ""), ("hello", "1")]), "packages"),
        (install(&[("Hello", "")]), "packages"),
        (install(&[("hello-", "")]), "packages"),
        (install(&[("hello=1", "")]), "packages"),
        (install(&[("hello", "*")]), "version"),
        (install(&[("hello", "1\n2")]), "version"),
    ] {
        assert_eq!(decode(VerbId::PackageInstall, &invalid).unwrap_err(), field, "{invalid:?}");
    }
    let names = |count: usize| wire::PackageRemoveRequest {
        meta: Some(meta()),
        names: (0..count).map(|number| format!("p{number}")).collect(),
    };
    for verb in [
        VerbId::PackageRemove,
        VerbId::PackagePurge,
        VerbId::PackageHold,
        VerbId::PackageUnhold,
        VerbId::PackageShow,
    ] {
        assert_eq!(required(verb, &names(1)), [(verb, "p0".to_owned())]);
        assert!(decode(verb, &names(64)).is_ok());
        for count in [0, 65] {
            assert_eq!(decode(verb, &names(count)).unwrap_err(), "packages");
        }
    }
    for verb in [VerbId::PackageUpdate, VerbId::PackageAutoremove, VerbId::PackageRepair] {
        assert_eq!(
            required(verb, &wire::PackageUpdateRequest { meta: Some(meta()) }),
            [(verb, String::new())]
        );
    }
    let upgrade = |names: &[&str], all| wire::PackageUpgradeRequest {
        meta: Some(meta()),
        names: names.iter().map(ToString::to_string).collect(),
        all,
    };
    let verb = VerbId::PackageUpgrade;
    assert_eq!(required(verb, &upgrade(&[], true)), [(verb, "--all".to_owned())]);
    assert_eq!(required(verb, &upgrade(&["a0"], false)), [(verb, "a0".to_owned())]);
    assert_eq!(decode(verb, &upgrade(&[], false)).unwrap_err(), "packages");
    assert_eq!(decode(verb, &upgrade(&["a0"], true)).unwrap_err(), "all");
}

#[test]
fn reads_requests_about_own_requests() {
    let id = "019d0000-0000-7000-8000-000000000000";
    let of = |of: &str| wire::RequestResultRequest { meta: Some(meta()), of: of.to_owned() };
    assert_eq!(required(VerbId::RequestResult, &of(id)), [(VerbId::RequestResult, String::new())]);
    assert_eq!(required(VerbId::RequestUndo, &of(id)), []);
    for invalid in ["", "019D0000-0000-7000-8000-000000000000", "019d0000-0000-4000-8000-000000000000"] {
        for verb in [VerbId::RequestResult, VerbId::RequestUndo] {
            assert_eq!(decode(verb, &of(invalid)).unwrap_err(), "of", "{invalid}");
        }
    }
    let rules = ["b", "a", "b"].map(str::to_owned);
    let named =
        |rule: &str| (VerbId::RequestUndo, Object::Undo { rule: rule.to_owned(), least: Decision::Ask });
    assert_eq!(undo_grants(&rules, Decision::Ask), [named("a"), named("b")]);
}

fn row() -> Command {
    let parameter = |name: &str, kind: root::ParameterKind| root::Parameter {
        name: name.to_owned(),
        kind: kind.into(),
        ..root::Parameter::default()
    };
    let parameters = vec![
        parameter("name", root::ParameterKind::Name),
        parameter("password", root::ParameterKind::Secret),
    ];
    Command::new(&root::Command { name: "set".to_owned(), parameters, ..root::Command::default() }).unwrap()
}

fn run(pairs: &[(&str, &str)]) -> wire::CommandRunRequest {
    let parameter = |(name, value): &(&str, &str)| wire::Parameter {
        name: (*name).to_owned(),
        value: (*value).to_owned(),
    };
    let parameters = pairs.iter().map(parameter).collect();
    wire::CommandRunRequest { meta: Some(meta()), name: "set".to_owned(), parameters }
}

#[test]
fn reads_commands_with_sorted_parameters() {
    assert!(decode(VerbId::CommandRun, &run(&[("a", "1"), ("b", "2")])).is_ok());
    for invalid in [
        run(&[("b", "1"), ("a", "2")]),
        run(&[("a", "1"), ("a", "2")]),
        run(&[("a", "")]),
        run(&[("A", "1")]),
    ] {
        assert_eq!(decode(VerbId::CommandRun, &invalid).unwrap_err(), "parameters");
    }
    let named = wire::CommandRunRequest { name: "Set".to_owned(), ..run(&[]) };
    assert_eq!(decode(VerbId::CommandRun, &named).unwrap_err(), "name");
}

#[test]
fn a_secret_travels_beside_an_order_that_commits_to_it() {
    let body = run(&[("name", "alice"), ("password", "hunter2")]).encode_to_vec();
    let commitment = Digest::of(&[&[7; 32], b"hunter2"]).to_string();
    let order = run(&[("name", "alice"), ("password", &commitment)]).encode_to_vec();
    let (random, value) = (vec![7; 32], b"hunter2".to_vec());
    let secrets = [root::SecretValue { parameter: "password".to_owned(), random, value }];
    let decoded = |bytes: &[u8]| match Request::decode(VerbId::CommandRun, bytes).unwrap().1.unwrap() {
        Request::Command(command) => command,
        other => panic!("no command: {other:?}"),
    };
    let opened = decoded(&order).open_secrets(&row(), &secrets).unwrap();
    assert_eq!(opened, decoded(&body));
    let secret = secrets[0].clone();
    for wrong in [
        vec![],
        vec![secret.clone(), secret.clone()],
        vec![root::SecretValue { value: b"hunter3".to_vec(), ..secret.clone() }],
        vec![root::SecretValue { random: vec![8; 32], ..secret.clone() }],
        vec![root::SecretValue { parameter: "name".to_owned(), ..secret.clone() }],
        vec![root::SecretValue { parameter: "other".to_owned(), ..secret.clone() }],
        vec![secret.clone(), root::SecretValue { parameter: "other".to_owned(), ..secret.clone() }],
        // The digest of `random | value` is the same, but the random bytes are not 32.
        vec![root::SecretValue {
            random: vec![7; 31],
            value: [&[7], b"hunter2".as_slice()].concat(),
            ..secret.clone()
        }],
    ] {
        assert!(decoded(&order).open_secrets(&row(), &wrong).is_err(), "{wrong:?}");
    }
    // A value in clear is no commitment, and a commitment in the place of a plain parameter stays text.
    assert!(decoded(&body).open_secrets(&row(), &secrets).is_err());
    let plain = run(&[("name", &commitment)]).encode_to_vec();
    let forged = root::SecretValue { parameter: "name".to_owned(), ..secret };
    assert!(decoded(&plain).open_secrets(&row(), &[forged]).is_err());
    assert!(decoded(&plain).open_secrets(&row(), &[]).is_ok());
}

#[test]
fn hides_values_of_commands_from_debug_output() {
    let command = decode(VerbId::CommandRun, &run(&[("password", "hunter2")])).unwrap();
    assert!(!format!("{command:?}").contains("hunter2"));
}

#[test]
fn verbs_that_share_a_message_have_the_same_fields() {
    let fields = |verb: VerbId| {
        let head = format!("message {}Request {{", verb.rpc());
        let (_, rest) = HELPER_PROTO.split_once(&head).expect("a message");
        let body = rest.split_once("\n}").expect("its end").0;
        let lines = body.lines().map(str::trim);
        lines.filter(|line| line.contains(" = ")).map(str::to_owned).collect::<Vec<_>>()
    };
    for alike in [
        &[
            VerbId::UnitStart,
            VerbId::UnitStop,
            VerbId::UnitRestart,
            VerbId::UnitReload,
            VerbId::UnitTryRestart,
            VerbId::UnitResetFailed,
            VerbId::UnitUnmask,
        ][..],
        &[VerbId::UnitEnable, VerbId::UnitDisable, VerbId::UnitMask],
        &[
            VerbId::PackageRemove,
            VerbId::PackagePurge,
            VerbId::PackageHold,
            VerbId::PackageUnhold,
            VerbId::PackageShow,
        ],
        &[VerbId::PackageUpdate, VerbId::PackageAutoremove, VerbId::PackageRepair],
    ] {
        let first = fields(alike[0]);
        assert!(!first.is_empty());
        assert!(alike.iter().all(|verb| fields(*verb) == first), "{alike:?}");
    }
}

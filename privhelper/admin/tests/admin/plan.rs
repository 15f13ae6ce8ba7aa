//! The plan shown for each kind of order is computed from the order's own bytes.

use crate::approvals_support::{approval, boot_id, claim, id, sha256};
use crate::support::{GOOD, TestHost, end, event};
use postern_admin::approvals::diff;
use postern_proto::root::v1 as root;
use postern_proto::v1::{self as wire, Action, ChangeKind, FileChange, Meta, OperatorShown, PackageStep};
use prost::Message;
use serde_json::Value;
use std::fs;

/// The lines of the plan in what is shown of this order.
fn plan(order: &root::Order, content: &[u8]) -> Vec<String> {
    let host = TestHost::new(GOOD);
    let (order, content) = (order.encode_to_vec(), content.to_vec());
    let recorder = host.answering(move |_, _| {
        let approval = approval(&id("3f9a"));
        let claim = claim(&approval).encode_to_vec();
        let shown = OperatorShown {
            approval: Some(approval),
            boot_id: boot_id(),
            order: order.clone(),
            claim,
            ..OperatorShown::default()
        };
        let content = OperatorShown { content: content.clone(), ..OperatorShown::default() };
        vec![event(&shown), event(&content), end(0, "")]
    });
    let ran = host.run(&["show", &id("3f9a"), "--json"]);
    recorder.finish();
    let result: Value = serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{ran:?}"));
    let text = result["text"].as_str().unwrap().to_owned();
    let lines = text.lines().skip_while(|line| *line != "plan").skip(1);
    lines.take_while(|line| !line.is_empty()).map(str::to_owned).collect()
}

fn order(verb: &str, body: &impl Message, facts: root::Facts) -> root::Order {
    root::Order {
        uid: 990,
        verb: verb.to_owned(),
        body: body.encode_to_vec(),
        facts: Some(facts),
        rule: "web-config".to_owned(),
        ..root::Order::default()
    }
}

fn unit(id: &str, active: &str, enabled: &str) -> root::UnitState {
    root::UnitState {
        id: id.to_owned(),
        active: active.to_owned(),
        enabled: enabled.to_owned(),
        ..root::UnitState::default()
    }
}

#[test]
fn lists_every_affected_unit_with_its_action() {
    let body = wire::UnitEnableRequest { unit: "web.service".to_owned(), now: true, ..Default::default() };
    let other = root::AffectedUnit {
        unit: Some(unit("other.service", "inactive", "")),
        effect: "start".to_owned(),
        cause: "Requires= of nginx.service".to_owned(),
    };
    let nginx = Some(unit("nginx.service", "inactive", "disabled"));
    let facts = root::Facts {
        unit: Some(root::UnitFacts { unit: nginx, affected: vec![other] }),
        ..Default::default()
    };
    assert_eq!(
        plan(&order("unit.enable", &body, facts), b""),
        [
            "enable nginx.service, which is inactive and disabled",
            "asked for as web.service",
            "start nginx.service, which is inactive and disabled",
            "start other.service, which is inactive and not installed; affected by Requires= of nginx.service",
        ]
    );
}

fn steps() -> root::PackageFacts {
    let step = |name: &str, action: Action, old: &str, new: &str, asked| PackageStep {
        action: action.into(),
        name: name.to_owned(),
        arch: "amd64".to_owned(),
        old: old.to_owned(),
        new: new.to_owned(),
        sources: vec!["/etc/apt/sources.list:1 http://deb.example.org -".to_owned()],
        asked,
    };
    root::PackageFacts {
        steps: vec![
            step("nginx-light", Action::Install, "", "1.22", true),
            step("libx", Action::Downgrade, "3", "2", false),
        ],
        download_bytes: 100,
        disk_bytes: -5,
        kept_back: vec!["linux".to_owned()],
    }
}

#[test]
fn names_every_step_of_a_transaction() {
    let package = wire::Package { name: "nginx-light".to_owned(), version: String::new() };
    let body = wire::PackageInstallRequest { packages: vec![package], ..Default::default() };
    let facts = root::Facts { packages: Some(steps()), ..Default::default() };
    let lines = [
        "nginx-light (amd64) is installed: none -> 1.22, asked for, from /etc/apt/sources.list:1 http://deb.example.org -",
        "libx (amd64) is downgraded: 3 -> 2, not asked for, from /etc/apt/sources.list:1 http://deb.example.org -",
        "linux is kept back",
        "fetches 100 bytes, takes -5 bytes of disk",
    ];
    assert_eq!(plan(&order("package.install", &body, facts), b""), lines);
    // An undo says what root recorded, not what a client wrote.
    let remove = wire::PackageRemoveRequest { names: vec!["nginx-light".to_owned()], ..Default::default() };
    let inverse = root::Inverse {
        verb: "package.remove".to_owned(),
        body: remove.encode_to_vec(),
        order_id: vec![9; 32],
        steps: Some(steps()),
        ..root::Inverse::default()
    };
    let of = "019aa000-0000-7000-8000-000000000001".to_owned();
    let undo = wire::RequestUndoRequest { of, ..Default::default() };
    let undo = root::Order { inverse: Some(inverse), ..order("request.undo", &undo, root::Facts::default()) };
    let shown = plan(&undo, b"");
    assert_eq!(shown[0], format!("undo of order {}, by package.remove", "09".repeat(32)));
    assert_eq!(shown[1..], lines);
}

#[test]
fn shows_a_diff_only_against_the_file_whose_digest_is_in_the_order() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.conf");
    fs::write(&path, "one\ntwo\nthree\n").unwrap();
    let new = b"one\n2\nthree\n";
    let write = |path: &str, old: &[u8]| {
        let (path, expect) = (path.to_owned(), "any".to_owned());
        let facts = root::FileFacts {
            path: path.clone(),
            exists: true,
            size: old.len() as u64,
            sha256: sha256(old).to_vec(),
            mode: 0o640,
            attributes: vec!["user.x".to_owned()],
            ..root::FileFacts::default()
        };
        let change = FileChange {
            path,
            kind: ChangeKind::Write.into(),
            expect,
            mode: "0644".to_owned(),
            ..FileChange::default()
        };
        let body = wire::FileWriteRequest { meta: Some(Meta::default()), change: Some(change) };
        let contents = vec![root::Content { size: new.len() as u64, sha256: sha256(new).to_vec() }];
        let facts = root::Facts { files: vec![facts], ..Default::default() };
        plan(&root::Order { contents, ..order("file.write", &body, facts) }, new)
    };
    let path = path.to_str().unwrap();
    let shown = write(path, b"one\ntwo\nthree\n");
    assert!(shown[0].starts_with(&format!("file {path}: write 12 bytes, SHA-256 ")), "{shown:?}");
    assert!(shown[0].ends_with(", mode 0644"), "{shown:?}");
    assert_eq!(shown[1], "now a file of 14 bytes, mode 0640, uid 0, gid 0, with extended attributes");
    assert_eq!(shown[2..], ["at line 1", " one", "-two", "+2", " three"]);
    let whole = ["at line 1", "+one", "+2", "+three"];
    let changed = write(path, b"another");
    assert_eq!(changed[2], "the file has changed since, so root will refuse this; the whole new content:");
    assert_eq!(changed[3..], whole);
    let unreadable = write("/nonexistent/a.conf", b"another");
    assert_eq!(unreadable[2], "you cannot read the old content; the whole new one:");
    assert_eq!(unreadable[3..], whole);
}

#[test]
fn quotes_the_values_of_a_commands_parameters() {
    let parameter =
        |name: &str, value: &str| wire::Parameter { name: name.to_owned(), value: value.to_owned() };
    let parameters = vec![parameter("level", "a\"b"), parameter("zone", "Europe/Berlin")];
    let body = wire::CommandRunRequest { name: "set-zone".to_owned(), parameters, ..Default::default() };
    assert_eq!(
        plan(&order("command.run", &body, root::Facts::default()), b""),
        [
            "run the command set-zone",
            "with level = \"a\\\"b\"",
            "with zone = \"Europe/Berlin\"",
            "a value of 64 digits may stand for a secret",
        ]
    );
}

#[test]
fn a_file_diff_omits_equal_lines_and_is_truncated_at_its_limit() {
    let diff = |old: &str, new: &str| String::from_utf8(diff(old.as_bytes(), new.as_bytes())).unwrap();
    assert_eq!(diff("", "a\nb"), "at line 1\n+a\n+b\n\\ no line feed at the end\n");
    assert_eq!(diff("a\n", ""), "at line 1\n-a\n");
    assert_eq!(diff("a\na\na\n", "a\na\n"), "at line 1\n a\n a\n-a\n");
    assert_eq!(
        diff("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nx\n6\n7\n8\n9\n"),
        "at line 2\n 2\n 3\n 4\n-5\n+x\n 6\n 7\n 8\n"
    );
    assert_eq!(diff("a\nb", "a\nb\n"), "at line 1\n a\n-b\n\\ no line feed at the end\n+b\n");
    let len = diff("", &"\n".repeat(4 * 1024 * 1024)).len();
    assert!((256 * 1024..300 * 1024).contains(&len), "{len}");
}

//! An approval names exactly the order that was shown, to a person or to a script.

use crate::approvals_support::{
    Desk, Typist, approval, approve, boot_id, claim, decisions, digest, expect, hex, id, order, sha256,
};
use crate::support::{GOOD, TestHost, end, event};
use postern_admin::approvals::Selection;
use postern_admin::io::Exit;
use postern_proto::root::v1 as root;
use postern_proto::v1::{OperatorDecided, OperatorPending, OperatorShowRequest, OperatorShown, Verdict};
use prost::Message;

const TEXT: &[u8] = b"file.write /etc/nginx/conf.d/site.conf\n+server {}\n\x1b]0;x\x07 \n";

fn one(start: &str) -> Selection {
    Selection::Id(start.to_owned())
}

fn last4(bytes: &[u8]) -> String {
    hex(&digest(bytes))[60..].to_owned()
}

#[test]
fn carries_the_approval_digest_of_exactly_the_order_that_was_shown() {
    let host = TestHost::new(GOOD);
    let helper = Desk::with(&[("3f9a", TEXT), ("3f9b", b"another")]).helper(&host);
    let mut person = Typist::new(|_| last4(TEXT));
    let ran = approve(&host, &one("3F9a"), &mut person);
    expect(&ran, Exit::Done, "approved: runs now");
    let decided = decisions(&helper.finish());
    assert_eq!(decided.len(), 1);
    assert_eq!(decided[0].approval_id, id("3f9a"));
    assert_eq!(decided[0].shown_sha256, digest(TEXT));
    assert_eq!(decided[0].verdict(), Verdict::Approve);
    for line in ["| +file.write /etc/nginx/conf.d/site.conf\n", "| ++server {}\n", "| +\\x1b]0;x\\x07\\x20\n"]
    {
        assert!(person.seen.contains(line), "{}", person.seen);
    }
}

#[test]
fn sends_no_decision_unless_the_digits_are_typed() {
    let host = TestHost::new(GOOD);
    let right = last4(TEXT);
    let whole = hex(&digest(TEXT));
    let wrong = ["", "y", "yes", "0000", &right[1..], &whole, &format!("{right}0"), "approve"];
    for answer in wrong {
        let helper = Desk::with(&[("3f9a", TEXT)]).helper(&host);
        let ran = approve(&host, &one("3f9a"), &mut Typist::new(|_| answer.to_owned()));
        expect(&ran, Exit::NotApproved, "nothing was approved: the answer was not the four digits");
        assert!(decisions(&helper.finish()).is_empty(), "{answer:?}");
    }
}

#[test]
fn the_question_repeats_verb_target_client_and_digest() {
    let host = TestHost::new(GOOD);
    let long = b"x\n".repeat(1_900);
    let helper = Desk::with(&[("3f9a", &long)]).helper(&host);
    let mut asked = String::new();
    let person = |question: &str| {
        question.clone_into(&mut asked);
        String::new()
    };
    approve(&host, &one("3f9a"), &mut Typist::new(person));
    helper.finish();
    let digest = hex(&digest(&long));
    assert_eq!(
        asked,
        format!(
            "--- to agree to 1 request\n    verb | file.write\n  target | /etc/nginx/conf.d/site.conf\n  \
             client | agent (uid 990), says it asks for uid 1000\n  sha256 | {digest}\n\
             Type {}, its last digits, to agree; anything else changes nothing: ",
            &digest[60..]
        )
    );
}

#[test]
fn refuses_to_approve_a_text_that_is_too_long_to_read() {
    let host = TestHost::new(GOOD);
    let (lines, bytes) = (b"x\n".repeat(2_001), vec![b'x'; 256 * 1024 + 1]);
    let half = b"x\n".repeat(1_001);
    for (texts, which) in [
        (vec![("3f9a", lines.as_slice())], one("3f9a")),
        (vec![("3f9a", bytes.as_slice())], one("3f9a")),
        (vec![("3f9a", half.as_slice()), ("3f9b", half.as_slice())], Selection::Task("t1".to_owned())),
    ] {
        let helper = Desk::with(&texts).helper(&host);
        let ran = approve(&host, &which, &mut Typist::new(|_| panic!("it was asked")));
        expect(&ran, Exit::Refused, "plan_too_large");
        assert!(decisions(&helper.finish()).is_empty());
    }
    let most = b"x\n".repeat(1_900);
    let helper = Desk::with(&[("3f9a", &most)]).helper(&host);
    expect(&approve(&host, &one("3f9a"), &mut Typist::new(|_| last4(&most))), Exit::Done, "approved");
    assert_eq!(decisions(&helper.finish()).len(), 1);
}

#[test]
fn refuses_to_ask_on_a_terminal_that_is_too_narrow() {
    let host = TestHost::new(GOOD);
    let helper = Desk::with(&[("3f9a", TEXT)]).helper(&host);
    let mut person = Typist::new(|_| panic!("it was asked"));
    person.screen.columns = 39;
    expect(&approve(&host, &one("3f9a"), &mut person), Exit::Failed, "39 columns");
    helper.finish();
}

#[test]
fn accepts_a_unique_prefix_of_an_approval_id() {
    let host = TestHost::new(GOOD);
    for (start, exit, words) in [
        ("3f9", Exit::Usage, "4 to 32 hexadecimal digits"),
        ("", Exit::Usage, "4 to 32 hexadecimal digits"),
        ("3f9x", Exit::Usage, "`3f9x` is not a valid id"),
        ("3f9\u{202e}", Exit::Usage, "`3f9\\u{202e}` is not a valid id"),
        ("3f9a", Exit::Usage, "2 requests begin with 3f9a"),
        ("0000", Exit::Refused, "unknown_request"),
        (&"0".repeat(32), Exit::Refused, "unknown_request"),
        ("3f9a2", Exit::NotApproved, "nothing was approved"),
    ] {
        let helper = Desk::with(&[("3f9a1", TEXT), ("3f9a2", TEXT)]).helper(&host);
        let ran = approve(&host, &one(start), &mut Typist::new(|_| String::new()));
        expect(&ran, exit, words);
        assert!(decisions(&helper.finish()).is_empty());
    }
}

#[test]
fn rejects_an_answer_that_shows_another_request() {
    let host = TestHost::new(GOOD);
    let desk = Desk::with(&[("3f9a", TEXT)]);
    let other = Desk::with(&[("3f9b", TEXT)]);
    let helper = host.answering(move |method, body| match method {
        "Operator/Show" => {
            let request = OperatorShowRequest { approval_id: id("3f9b") };
            other.answer(method, &request.encode_to_vec())
        }
        _ => desk.answer(method, body),
    });
    let ran = approve(&host, &one("3f9a"), &mut Typist::new(|_| last4(TEXT)));
    expect(&ran, Exit::Failed, "another request");
    assert!(decisions(&helper.finish()).is_empty());
}

#[test]
fn a_script_approves_with_the_full_digest_of_the_order() {
    let host = TestHost::new(GOOD);
    let right = hex(&digest(TEXT)).to_uppercase();
    let other = hex(&digest(b"what was reviewed"));
    for (args, exit, words, sent) in [
        (vec!["approve", "3f9a"], Exit::Usage, "there is no terminal to ask on", 0),
        (vec!["approve", "3f9a", "--digest", &right], Exit::Done, "approved: runs now", 1),
        (vec!["approve", "3f9a", "--digest", &other], Exit::NotApproved, "another digest", 0),
        (vec!["approve", "3f9a", "--digest", &right[60..]], Exit::Usage, "64 hexadecimal digits", 0),
        (vec!["approve", "--task", "t1", "--digest", &right], Exit::NotApproved, "another digest", 0),
        (
            vec!["approve", "3f9a", "--digest", &right, "--reason", "a\x1b"],
            Exit::Usage,
            "control characters",
            0,
        ),
    ] {
        let helper = Desk::with(&[("3f9a", TEXT)]).helper(&host);
        expect(&host.run(&args), exit, words);
        let decided = decisions(&helper.finish());
        assert_eq!(decided.len(), sent, "{args:?}");
        assert!(decided.iter().all(|one| one.shown_sha256 == digest(TEXT)));
    }
}

#[test]
fn approving_a_task_covers_the_digests_of_all_orders_shown() {
    let host = TestHost::new(GOOD);
    let desk = Desk::with(&[("aaaa", b"one\n"), ("bbbb", b"two\n")]);
    let mut foreign = approval(&id("cccc"));
    foreign.task = "t2".to_owned();
    desk.add(foreign, b"three\n");
    let all = sha256(&[digest(b"one\n"), digest(b"two\n")].concat());
    let helper = desk.helper(&host);
    // While the person reads, the agent asks for more in the same task.
    let mut person = Typist::new(|_| {
        let mut late = approval(&id("dddd"));
        late.target = "/etc/nginx/conf.d/late.conf".to_owned();
        desk.add(late, b"four\n");
        hex(&all)[60..].to_owned()
    });
    let ran = approve(&host, &Selection::Task("t1".to_owned()), &mut person);
    expect(&ran, Exit::Done, "aaaa0000: approved: runs now\nbbbb0000: approved: runs now\n");
    expect(&ran, Exit::Done, "dddd0000: not approved");
    expect(&ran, Exit::Done, "late.conf");
    for text in ["--- 1 of 2\n", "| +one\n", "--- 2 of 2\n", "| +two\n", "agree to 2 requests"] {
        assert!(person.seen.contains(text), "no {text} in {}", person.seen);
    }
    for digest in [digest(b"one\n"), digest(b"two\n"), all] {
        assert!(person.seen.contains(&hex(&digest)), "{}", person.seen);
    }
    let decided = decisions(&helper.finish());
    let sent: Vec<_> =
        decided.iter().map(|one| (one.approval_id.clone(), one.shown_sha256.clone())).collect();
    assert_eq!(sent, [(id("aaaa"), digest(b"one\n").to_vec()), (id("bbbb"), digest(b"two\n").to_vec())]);
}

#[test]
fn the_digits_of_one_order_do_not_approve_its_whole_task() {
    let host = TestHost::new(GOOD);
    for which in [Selection::Task("t1".to_owned()), Selection::Task("t9".to_owned())] {
        let helper = Desk::with(&[("aaaa", b"one\n"), ("bbbb", b"two\n")]).helper(&host);
        let ran = approve(&host, &which, &mut Typist::new(|_| last4(b"two\n")));
        let exit = if which == Selection::Task("t1".to_owned()) { Exit::NotApproved } else { Exit::Refused };
        assert_eq!(ran.exit, exit);
        assert!(decisions(&helper.finish()).is_empty());
    }
}

#[test]
fn approve_exits_by_the_answer_of_the_recorder() {
    let host = TestHost::new(GOOD);
    for (answer, exit, words) in [
        (
            vec![event(&OperatorDecided { missing: 1 }), end(0, "")],
            Exit::Done,
            "approved, 1 more person must agree",
        ),
        (vec![event(&OperatorDecided { missing: 2 }), end(0, "")], Exit::Done, "2 more people must agree"),
        (vec![end(7, "denied: no uid of a client may approve")], Exit::Refused, "no uid of a client"),
        (vec![end(9, "approval_expired: it waited too long")], Exit::NotApproved, "waited too long"),
        (vec![end(9, "plan_changed: \x1b[2J")], Exit::Refused, "plan_changed: \\u{1b}[2J"),
        (vec![end(14, "stopping")], Exit::Unreachable, "stopping"),
        (vec![end(13, "out of order")], Exit::Failed, "out of order"),
        (vec![event(&OperatorDecided { missing: 0 })], Exit::Failed, "ends too early"),
    ] {
        let desk = Desk::with(&[("3f9a", TEXT)]);
        let helper = host.answering(move |method, body| match method {
            "Operator/Decide" => answer.clone(),
            _ => desk.answer(method, body),
        });
        expect(&approve(&host, &one("3f9a"), &mut Typist::new(|_| last4(TEXT))), exit, words);
        helper.finish();
    }
}

#[test]
fn approving_only_some_orders_of_a_task_exits_as_partly_done() {
    let host = TestHost::new(GOOD);
    let desk = Desk::with(&[("aaaa", b"one\n"), ("bbbb", b"two\n")]);
    let all = sha256(&[digest(b"one\n"), digest(b"two\n")].concat());
    let mut decided = 0;
    let helper = host.answering(move |method, body| match method {
        "Operator/Decide" if decided == 0 => {
            decided += 1;
            vec![end(9, "approval_expired: it waited too long")]
        }
        _ => desk.answer(method, body),
    });
    let ran =
        approve(&host, &Selection::Task("t1".to_owned()), &mut Typist::new(|_| hex(&all)[60..].to_owned()));
    expect(&ran, Exit::Partly, "bbbb0000: approved");
    expect(&ran, Exit::Partly, "aaaa0000: the recorder refused: approval_expired");
    helper.finish();
}

#[test]
fn a_denial_carries_the_reason_and_no_digest() {
    let host = TestHost::new(GOOD);
    let helper = Desk::with(&[("aaaa", TEXT), ("bbbb", TEXT)]).helper(&host);
    expect(&host.run(&["deny", "aaaa", "--reason", "use port 8080"]), Exit::Done, "denied");
    expect(&host.run(&["deny", "--task", "t1"]), Exit::Done, "aaaa0000: denied\nbbbb0000: denied\n");
    expect(&host.run(&["deny", "aaaa", "--reason", &"x".repeat(501)]), Exit::Usage, "at most 500 bytes");
    let decided = decisions(&helper.finish());
    assert_eq!(decided.len(), 3);
    assert_eq!((decided[0].reason.as_str(), decided[1].reason.as_str()), ("use port 8080", ""));
    assert!(decided.iter().all(|one| one.verdict() == Verdict::Deny && one.shown_sha256.is_empty()));
}

#[test]
fn rejects_an_order_whose_content_differs_from_its_digest() {
    type Change = fn(&mut root::Order);
    let changes: [(Change, &str); 6] = [
        (|order| order.contents.clear(), "a request without its content"),
        (|order| order.contents[0].size = 1, "content that is not the order's"),
        (|order| order.contents[0].sha256 = vec![0; 32], "content that is not the order's"),
        (|order| order.body = vec![1, 2, 3], "a malformed request"),
        (|order| order.verb = "file.burn".to_owned(), "does not know"),
        (
            |order| order.inverse = Some(root::Inverse { verb: "x".to_owned(), ..Default::default() }),
            "does not know",
        ),
    ];
    let host = TestHost::new(GOOD);
    for (change, words) in changes {
        let desk = Desk::with(&[("3f9a", TEXT)]);
        let helper = host.answering(move |method, body| match method {
            "Operator/Show" => {
                let approval = approval(&id("3f9a"));
                let mut order = root::Order::decode(order(&approval, TEXT).as_slice()).unwrap();
                change(&mut order);
                let (order, claim) = (order.encode_to_vec(), claim(&approval).encode_to_vec());
                let approval = Some(approval);
                let shown =
                    OperatorShown { approval, boot_id: boot_id(), order, claim, ..OperatorShown::default() };
                let content = OperatorShown { content: TEXT.to_vec(), ..OperatorShown::default() };
                vec![event(&shown), event(&content), end(0, "")]
            }
            _ => desk.answer(method, body),
        });
        let ran = approve(&host, &one("3f9a"), &mut Typist::new(|_| panic!("it was asked")));
        assert_eq!(ran.exit, Exit::Failed, "{words}: {ran:?}");
        assert!(decisions(&helper.finish()).is_empty());
    }
}

#[test]
fn warns_where_the_broker_claims_another_order() {
    let host = TestHost::new(GOOD);
    let helper = host.answering(|method, _| {
        if method == "Operator/Pending" {
            vec![
                event(&OperatorPending { approvals: vec![approval(&id("3f9a"))], unkept: Vec::new() }),
                end(0, ""),
            ]
        } else {
            // In lists it is harmless; the order is another.
            let listed = approval(&id("3f9a"));
            let mut real = listed.clone();
            (real.target, real.uid, real.rule) = ("/etc/cron.d/x".to_owned(), 4, "other".to_owned());
            let (order, claim) = (order(&real, TEXT), claim(&listed).encode_to_vec());
            let shown = OperatorShown {
                approval: Some(listed),
                boot_id: boot_id(),
                order,
                claim,
                ..OperatorShown::default()
            };
            let content = OperatorShown { content: TEXT.to_vec(), ..OperatorShown::default() };
            vec![event(&shown), event(&content), end(0, "")]
        }
    });
    let ran = host.run(&["show", "3f9a"]);
    helper.finish();
    assert!(
        ran.out.contains("target | /etc/cron.d/x\n") && ran.out.contains("client | agent (uid 4)"),
        "{}",
        ran.out
    );
    assert!(
        ran.out
            .contains("WARNING the broker claims another order: file.write by uid 990 under rule web-config"),
        "{}",
        ran.out
    );
}

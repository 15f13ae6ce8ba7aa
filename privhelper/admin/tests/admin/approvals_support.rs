//! Orders that wait, a recorder that shows them and takes answers, and a person at a terminal.

use crate::support::{FakeHelper, Ran, TestHost, end, event};
use postern_admin::approvals::{
    self, Agreement, Charset, CommandError, CommandResult, Console, Decision, Screen, Selection, Style,
};
use postern_admin::io::{Exit, Io};
use postern_proto::link;
use postern_proto::root::v1 as root;
use postern_proto::v1::{
    Approval, ChangeKind, CommandRunRequest, FileChange, FileWriteRequest, Meta, Mode, OperatorDecideRequest,
    OperatorDecided, OperatorPending, OperatorShowRequest, OperatorShown, Parameter,
};
use prost::Message;
use sha2::{Digest, Sha256};
use std::io;
use std::sync::{Arc, Mutex};

/// A plain terminal of 80 columns.
pub const PLAIN: Screen = Screen { columns: 80, style: Style::Plain, charset: Charset::Ascii };

/// An approval with this id, of task `t1`.
pub fn approval(id: &str) -> Approval {
    Approval {
        approval_id: id.to_owned(),
        client: "agent".to_owned(),
        uid: 990,
        request_id: "019aa000-0000-7000-8000-000000000001".to_owned(),
        task: "t1".to_owned(),
        claimed_uid: 1000,
        verb: "file.write".to_owned(),
        target: "/etc/nginx/conf.d/site.conf".to_owned(),
        rule: "web-config".to_owned(),
        risk_score: 40,
        capabilities: vec!["filesystem.config_write".to_owned()],
        since_unix_s: 1_763_700_000,
        expires_unix_s: 1_763_700_900,
        approvers: 1,
        approved_by: vec![],
        asked_by: 0,
        excludes_asker: false,
    }
}

/// This boot's id, as the recorder says it.
pub fn boot_id() -> String {
    "6b2f8a0e-0000-4000-8000-000000000000".to_owned()
}

/// The order of an approval: it writes `text`, or runs the command of its target.
pub fn order(approval: &Approval, text: &[u8]) -> Vec<u8> {
    let meta = Meta {
        request_id: approval.request_id.clone(),
        mode: Mode::Execute.into(),
        task: approval.task.clone(),
        claimed_uid: approval.claimed_uid,
        ..Meta::default()
    };
    let (path, expect) = (approval.target.clone(), "any".to_owned());
    let change =
        FileChange { path: path.clone(), kind: ChangeKind::Write.into(), expect, ..FileChange::default() };
    let facts = root::FileFacts { path, ..root::FileFacts::default() };
    let (body, contents) = if approval.verb == "command.run" {
        let (name, value) = ("database".to_owned(), "app".to_owned());
        let parameters = vec![Parameter { name, value }];
        (
            CommandRunRequest { meta: Some(meta), name: approval.target.clone(), parameters }.encode_to_vec(),
            vec![],
        )
    } else {
        let content = root::Content { size: text.len() as u64, sha256: sha256(text).to_vec() };
        (FileWriteRequest { meta: Some(meta), change: Some(change) }.encode_to_vec(), vec![content])
    };
    let order = root::Order {
        order_id: link::order_id(approval.uid, &approval.request_id).to_vec(),
        uid: approval.uid,
        verb: approval.verb.clone(),
        body,
        contents,
        facts: Some(root::Facts { files: vec![facts], ..root::Facts::default() }),
        rule: approval.rule.clone(),
        policy_digest: vec![7; 32],
        ..root::Order::default()
    };
    order.encode_to_vec()
}

/// The broker's claim about it.
pub fn claim(approval: &Approval) -> root::Claim {
    root::Claim {
        uid: approval.uid,
        verb: approval.verb.clone(),
        rule: approval.rule.clone(),
        ..root::Claim::default()
    }
}

/// Returns the approval digest of an order that writes this text.
pub fn digest(text: &[u8]) -> [u8; 32] {
    let order = order(&approval(""), text);
    link::approval_digest("6b2f8a0e-0000-4000-8000-000000000000", &[7; 32], &order)
}

/// An id that begins so.
pub fn id(start: &str) -> String {
    format!("{start:0<32}")
}

/// A fake recorder's pending requests, each with the text that it writes; tests may change it between two calls.
#[derive(Clone, Default)]
pub struct Desk(Arc<Mutex<Vec<Waiting>>>);

/// A request and the text that it writes.
type Waiting = (Approval, Vec<u8>);

impl Desk {
    /// These wait.
    pub fn with(waiting: &[(&str, &[u8])]) -> Self {
        let desk = Self::default();
        for (start, text) in waiting {
            desk.add(approval(&id(start)), text);
        }
        desk
    }

    /// One more waits.
    pub fn add(&self, approval: Approval, text: &[u8]) {
        self.0.lock().unwrap().push((approval, text.to_vec()));
    }

    /// A helper that shows what waits and takes every decision.
    pub fn helper(&self, host: &TestHost) -> FakeHelper {
        let desk = self.clone();
        host.answering(move |method, body| desk.answer(method, body))
    }

    /// Returns the fake's frames for a call.
    pub fn answer(&self, method: &str, body: &[u8]) -> Vec<Vec<u8>> {
        let waiting = self.0.lock().unwrap();
        match method {
            "Operator/Pending" => {
                let approvals = waiting.iter().map(|(approval, _)| approval.clone()).collect();
                vec![event(&OperatorPending { approvals, unkept: Vec::new() }), end(0, "")]
            }
            "Operator/Show" => {
                let wanted = OperatorShowRequest::decode(body).unwrap().approval_id;
                match waiting.iter().find(|(approval, _)| approval.approval_id == wanted) {
                    Some((approval, text)) => {
                        let shown = OperatorShown {
                            approval: Some(approval.clone()),
                            boot_id: boot_id(),
                            order: order(approval, text),
                            claim: claim(approval).encode_to_vec(),
                            ..OperatorShown::default()
                        };
                        let part = |part: &[u8]| {
                            event(&OperatorShown { content: part.to_vec(), ..OperatorShown::default() })
                        };
                        let parts = text.chunks(1000).map(part);
                        std::iter::once(event(&shown)).chain(parts).chain([end(0, "")]).collect()
                    }
                    None => vec![end(5, "unknown_request: nothing of this id waits")],
                }
            }
            "Operator/Decide" => vec![event(&OperatorDecided { missing: 0 }), end(0, "")],
            other => panic!("{other} was called"),
        }
    }
}

/// The decisions among the calls.
pub fn decisions(calls: &[(String, Vec<u8>)]) -> Vec<OperatorDecideRequest> {
    let decides = calls.iter().filter(|(method, _)| method == "Operator/Decide");
    decides.map(|(_, body)| OperatorDecideRequest::decode(body.as_slice()).unwrap()).collect()
}

/// SHA-256 of these bytes.
pub fn sha256(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

/// A digest's hexadecimal digits.
pub fn hex(digest: &[u8; 32]) -> String {
    postern_policy::types::Digest::from_bytes(digest).unwrap().to_string()
}

/// Somebody who types what `types` makes of the question.
pub struct Typist<F: FnMut(&str) -> String> {
    pub screen: Screen,
    pub seen: String,
    pub types: F,
}

impl<F: FnMut(&str) -> String> Typist<F> {
    /// At a plain terminal.
    pub fn new(types: F) -> Self {
        Self { screen: PLAIN, seen: String::new(), types }
    }
}

impl<F: FnMut(&str) -> String> Console for Typist<F> {
    fn screen(&self) -> Screen {
        self.screen
    }

    fn show(&mut self, text: &str) -> io::Result<()> {
        self.seen.push_str(text);
        Ok(())
    }

    fn ask(&mut self, question: &str) -> io::Result<String> {
        self.seen.push_str(question);
        Ok((self.types)(question))
    }
}

/// Runs a function of the library as the program does.
pub fn run(act: impl FnOnce(&mut Io<'_>) -> CommandResult) -> Ran {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let ended = act(&mut Io { out: &mut out, err: &mut err, answers: None });
    let (exit, why) = match ended {
        Ok(exit) => (exit, String::new()),
        Err(CommandError::Message(exit, why)) => (exit, why + "\n"),
        Err(CommandError::Output(error)) => panic!("{error}"),
    };
    Ran { exit, out: String::from_utf8(out).unwrap(), err: String::from_utf8(err).unwrap() + &why }
}

/// `approve`, asking this person.
pub fn approve(host: &TestHost, which: &Selection, person: &mut dyn Console) -> Ran {
    let decision = Decision { agreement: Agreement::Ask, reason: String::new() };
    run(|io| approvals::approve(&host.host, which, &decision, Some(person), io))
}

/// Fails with everything that was printed.
pub fn expect(ran: &Ran, exit: Exit, words: &str) {
    assert_eq!(ran.exit, exit, "{ran:?}");
    assert!(ran.out.contains(words) || ran.err.contains(words), "no {words:?} in {ran:?}");
}

//! A recorder and a probe that speak the real frames and do nothing. `tests/corridor` has the real programs.

use postern_proto::link::{self, Kind};
use postern_proto::root::v1::{
    Claim, Close, CloseReason, Facts, FileFacts, Hello, Note, Order, PackageFacts, Parked, ProbePackages,
    ProbeUnit, Recall, Recalled, Recorded, RecorderOrder, SecretValues, UnitFacts, UnitState,
};
use postern_proto::v1 as wire;
use prost::Message;
use std::collections::HashMap;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::{Arc, Mutex};

/// An order as it arrived.
#[derive(Debug, Clone, Default)]
pub struct Arrived {
    pub claim: Claim,
    pub order: Order,
    pub bytes: Vec<u8>,
    pub content: Vec<u8>,
    pub secrets: Option<SecretValues>,
    pub body: Vec<u8>,
}

/// Answers an order on its connection.
type Answers = Box<dyn FnMut(&Arrived, &mut UnixStream) + Send>;

pub struct FakeRecorder {
    pub notes: Mutex<Vec<Claim>>,
    pub executed: Mutex<Vec<Arrived>>,
    /// Reads, and facts that were asked for.
    pub inspected: Mutex<Vec<Arrived>>,
    /// State of the request ids.
    pub ids: Mutex<HashMap<String, Recalled>>,
    pub recalls: Mutex<Vec<Recall>>,
    pub execute: Mutex<Answers>,
    pub inspect: Mutex<Answers>,
    /// Connections that were opened.
    pub connections: Mutex<usize>,
    streams: Mutex<Vec<UnixStream>>,
}

pub fn done() -> Recorded {
    let status = wire::Status::Done.into();
    Recorded { completed: Some(wire::Completed { status, ..Default::default() }), facts: None }
}

pub fn send(stream: &mut UnixStream, kind: Kind, message: &impl Message) {
    // The broker may have left.
    drop(link::send(stream, kind, message));
}

/// Answers with facts about files.
pub fn facts(stream: &mut UnixStream, facts: Facts) {
    send(stream, Kind::Recorded, &Recorded { completed: None, facts: Some(facts) });
}

pub fn close(stream: &mut UnixStream, code: &str, message: &str) {
    let (code, message) = (code.to_owned(), message.to_owned());
    let reason = CloseReason::Refused.into();
    send(stream, Kind::Close, &Close { reason, code, message, detail: String::new() });
}

pub fn park(stream: &mut UnixStream, id: &str) {
    let expires_unix_s = if id.is_empty() { 0 } else { 2_000_000_000 };
    send(stream, Kind::Parked, &Parked { approval_id: id.to_owned(), expires_unix_s });
}

/// Facts: nothing exists at any path that the order names.
pub fn absent(arrived: &Arrived) -> Facts {
    let paths = match arrived.order.verb.as_str() {
        "file.write" => {
            let message = wire::FileWriteRequest::decode(arrived.order.body.as_slice()).unwrap();
            vec![message.change.unwrap().path]
        }
        "file.patch" => {
            let message = wire::FilePatchRequest::decode(arrived.order.body.as_slice()).unwrap();
            message.changes.into_iter().map(|change| change.path).collect()
        }
        other => panic!("no facts of {other}"),
    };
    let file = |path| FileFacts { path, ..FileFacts::default() };
    Facts { files: paths.into_iter().map(file).collect(), ..Facts::default() }
}

impl FakeRecorder {
    pub fn listen(at: &Path) -> Arc<Self> {
        let listener = UnixListener::bind(at).unwrap();
        let recorder = Arc::new(Self {
            notes: Mutex::default(),
            executed: Mutex::default(),
            inspected: Mutex::default(),
            ids: Mutex::default(),
            recalls: Mutex::default(),
            execute: Mutex::new(Box::new(|_, stream| send(stream, Kind::Recorded, &done()))),
            inspect: Mutex::new(Box::new(|arrived, stream| {
                if arrived.claim.event.is_empty() {
                    facts(stream, absent(arrived));
                } else {
                    send(stream, Kind::Recorded, &done());
                }
            })),
            connections: Mutex::default(),
            streams: Mutex::default(),
        });
        let shared = Arc::clone(&recorder);
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let shared = Arc::clone(&shared);
                *shared.connections.lock().unwrap() += 1;
                shared.streams.lock().unwrap().push(stream.try_clone().unwrap());
                std::thread::spawn(move || {
                    shared.serve(&mut stream);
                    // A copy of it is kept: only a shutdown closes it.
                    stream.shutdown(std::net::Shutdown::Both).ok();
                });
            }
        });
        recorder
    }

    /// Answers executes like this from now on.
    pub fn on_execute(&self, answers: impl FnMut(&Arrived, &mut UnixStream) + Send + 'static) {
        *self.execute.lock().unwrap() = Box::new(answers);
    }

    /// Answers facts about files like this from now on.
    pub fn on_inspect(&self, answers: impl FnMut(&Arrived, &mut UnixStream) + Send + 'static) {
        *self.inspect.lock().unwrap() = Box::new(answers);
    }

    /// Closes every connection, as a recorder that dies does.
    pub fn hang_up(&self) {
        for stream in self.streams.lock().unwrap().drain(..) {
            drop(stream.shutdown(std::net::Shutdown::Both));
        }
    }

    /// The events of all notes.
    pub fn events(&self) -> Vec<String> {
        self.notes.lock().unwrap().iter().map(|claim| claim.event.clone()).collect()
    }

    pub fn note(&self, event: &str) -> Claim {
        let notes = self.notes.lock().unwrap();
        notes
            .iter()
            .find(|claim| claim.event == event)
            .cloned()
            .unwrap_or_else(|| panic!("no {event}: {notes:?}"))
    }

    fn serve(&self, stream: &mut UnixStream) {
        let hello = link::read(stream).unwrap().expect("a hello");
        assert_eq!(link::strict::<Hello>(&hello.1).unwrap().build, link::build());
        while let Ok(Some((kind, payload))) = link::read(stream) {
            match kind {
                Kind::Note => {
                    self.notes.lock().unwrap().push(strict::<Note>(&payload).claim.unwrap());
                    send(stream, Kind::Recorded, &Recorded::default());
                }
                Kind::Recall => self.recall(stream, strict(&payload)),
                Kind::RecorderInspect => {
                    let RecorderOrder { claim, order, body_sha256, content_bytes, secrets } =
                        strict(&payload);
                    assert_eq!((content_bytes, secrets), (0, false), "no content follows an Inspect");
                    let arrived = arrived(claim, order, body_sha256);
                    self.inspected.lock().unwrap().push(arrived.clone());
                    (self.inspect.lock().unwrap())(&arrived, stream);
                    return;
                }
                Kind::RecorderExecute => {
                    let RecorderOrder { claim, order, body_sha256, content_bytes, secrets } =
                        strict(&payload);
                    let mut arrived = arrived(claim, order, body_sha256);
                    while (arrived.content.len() as u64) < content_bytes {
                        let (kind, part) = link::read(stream).unwrap().expect("content");
                        assert_eq!(kind, Kind::Content);
                        arrived.content.extend(part);
                    }
                    if secrets {
                        let (kind, payload) = link::read(stream).unwrap().expect("secrets");
                        assert_eq!(kind, Kind::Secrets);
                        arrived.secrets = Some(strict(&payload));
                    }
                    self.executed.lock().unwrap().push(arrived.clone());
                    (self.execute.lock().unwrap())(&arrived, stream);
                    return;
                }
                other => panic!("{other:?} from the broker"),
            }
        }
    }

    fn recall(&self, stream: &mut UnixStream, recall: Recall) {
        let known = self.ids.lock().unwrap().get(&recall.request_id).cloned();
        let unknown = if recall.body_sha256.is_empty() { "unknown" } else { "new" };
        let known = known.unwrap_or_else(|| Recalled { state: unknown.to_owned(), ..Recalled::default() });
        send(stream, Kind::Recalled, &known);
        let (attach, running) = (recall.attach, known.state == "running");
        self.recalls.lock().unwrap().push(recall);
        if attach && running {
            (self.execute.lock().unwrap())(&Arrived::default(), stream);
        }
    }
}

fn strict<M: Message + Default>(payload: &[u8]) -> M {
    link::strict(payload).expect("a canonical message")
}

fn arrived(claim: Option<Claim>, bytes: Vec<u8>, body: Vec<u8>) -> Arrived {
    let (claim, order) = (claim.unwrap(), strict(&bytes));
    Arrived { claim, order, bytes, body, ..Arrived::default() }
}

type ProbeAnswers = Box<dyn FnMut(Question, &mut UnixStream) + Send>;

/// A request to the probe.
#[derive(Debug, Clone)]
pub enum Question {
    Unit(ProbeUnit),
    Packages(ProbePackages),
}

pub struct FakeProbe {
    pub asked: Mutex<Vec<Question>>,
    pub answers: Mutex<ProbeAnswers>,
}

pub fn state(id: &str, active: &str) -> UnitState {
    UnitState {
        id: id.to_owned(),
        names: vec![id.to_owned()],
        load: "loaded".to_owned(),
        active: active.to_owned(),
        sub: "running".to_owned(),
        enabled: "enabled".to_owned(),
        result: "success".to_owned(),
        ..UnitState::default()
    }
}

pub fn of_unit(unit: UnitState) -> Facts {
    Facts { unit: Some(UnitFacts { unit: Some(unit), affected: Vec::new() }), ..Facts::default() }
}

impl FakeProbe {
    pub fn listen(at: &Path) -> Arc<Self> {
        let listener = UnixListener::bind(at).unwrap();
        let answers: ProbeAnswers = Box::new(|question, stream| match question {
            Question::Unit(unit) => send(stream, Kind::Facts, &of_unit(state(&unit.unit, "active"))),
            Question::Packages(_) => {
                send(
                    stream,
                    Kind::Facts,
                    &Facts { packages: Some(PackageFacts::default()), ..Facts::default() },
                );
            }
        });
        let probe = Arc::new(Self { asked: Mutex::default(), answers: Mutex::new(answers) });
        let shared = Arc::clone(&probe);
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                link::read(&mut stream).unwrap().expect("a hello");
                let (kind, payload) = link::read(&mut stream).unwrap().expect("a question");
                let question = match kind {
                    Kind::ProbeUnit => Question::Unit(strict(&payload)),
                    Kind::ProbePackages => Question::Packages(strict(&payload)),
                    other => panic!("{other:?} from the broker"),
                };
                shared.asked.lock().unwrap().push(question.clone());
                (shared.answers.lock().unwrap())(question, &mut stream);
            }
        });
        probe
    }

    /// Answers like this from now on.
    pub fn on(&self, answers: impl FnMut(Question, &mut UnixStream) + Send + 'static) {
        *self.answers.lock().unwrap() = Box::new(answers);
    }
}

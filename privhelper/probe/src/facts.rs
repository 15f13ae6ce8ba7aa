//! One connection of the broker: one question about a unit or a transaction of packages, and its facts.

use crate::apt;
use crate::simulate::simulate;
use crate::state::State;
use crate::units;
use postern_apt::Transaction;
use postern_policy::facts::{PackageTransaction, UnitFacts};
use postern_policy::request::{Request, UnitRequest};
use postern_policy::types::UnitName;
use postern_policy::{Code, Denied, Facts, VerbId};
use postern_proto::link::{self, Kind, ORDER_MAX};
use postern_proto::root::v1::{self as root, Close, CloseReason, Hello, ProbePackages, ProbeUnit};
use postern_root::{Answer, Connection, Error};
use prost::Message;
use std::io::Read;
use std::os::unix::net::UnixStream;

/// A question of the broker.
#[derive(Debug)]
enum Question {
    Unit(ProbeUnit),
    Packages(ProbePackages),
}

impl State {
    /// Serves one connection of the broker.
    pub fn serve_probe(&self, mut stream: UnixStream) {
        let question = receive(&mut stream);
        let mut connection = Connection::new(stream);
        let answer = match question {
            Ok(Question::Unit(question)) => self.unit(&question),
            Ok(Question::Packages(question)) => self.packages(&question),
            Err(reason) => return connection.close(&Close { reason: reason.into(), ..Close::default() }),
        };
        connection.answer(answer.and_then(bounded).map(Answer::Facts));
    }

    /// Returns the facts of a unit. The load state of a missing one is `not-found`.
    fn unit(&self, question: &ProbeUnit) -> Result<root::Facts, Error> {
        let unit = UnitName::new(&question.unit)?;
        if question.action.is_empty() {
            self.need_systemd()?;
            return Ok(units::checked(&UnitFacts {
                state: units::state(&self.bus, &unit)?,
                affected: Vec::new(),
            })?
            .to_wire());
        }
        let verb = VerbId::from_name(&format!("unit.{}", question.action));
        let verb = verb.filter(|verb| !matches!(verb, VerbId::UnitStatus | VerbId::UnitDaemonReload));
        let unknown = || Denied::new(Code::InvalidArgument, "this is no change of a unit");
        let request = UnitRequest { verb: verb.ok_or_else(unknown)?, unit, now: question.now };
        self.need_systemd()?;
        Ok(units::checked(&units::affected(&self.bus, &request)?)?.to_wire())
    }

    fn packages(&self, question: &ProbePackages) -> Result<root::Facts, Error> {
        let unknown = || Denied::new(Code::InvalidArgument, "this is no transaction of packages");
        let verb = VerbId::from_name(&question.verb).ok_or_else(unknown)?;
        let request = Request::decode_order(verb, &question.body, Vec::new()).ok_or_else(unknown)??;
        let Request::Packages(request) = request else { return Err(unknown().into()) };
        let flags = question.flags.unwrap_or_default();
        let transaction = Transaction::new(request, flags).ok_or_else(unknown)?;
        self.need_systemd()?;
        let _permit = self.acquire_apt()?;
        let found = apt::timed(|| simulate(&self.host.apt, &transaction))?;
        // Names and versions are text that repositories wrote.
        let checked = PackageTransaction::from_wire(&found).map_err(|invalid| {
            Denied::new(Code::PackageFailed, format!("the answer of apt cannot be used: {invalid}"))
        })?;
        Ok(Facts::Packages(checked).to_wire())
    }
}

/// Facts that fit into a frame.
fn bounded(facts: root::Facts) -> Result<root::Facts, Error> {
    if facts.encoded_len() <= ORDER_MAX {
        return Ok(facts);
    }
    Err(Denied::new(Code::PlanTooLarge, "the facts are larger than 2 MiB; ask for less at once").into())
}

/// Receives the greeting and the question.
fn receive(from: &mut impl Read) -> Result<Question, CloseReason> {
    let mut frame = || link::read(from).ok().flatten().ok_or(CloseReason::Malformed);
    let (kind, payload) = frame()?;
    let hello = link::strict::<Hello>(&payload).filter(|_| kind == Kind::Hello);
    let hello = hello.ok_or(CloseReason::Malformed)?;
    // Read completely before the answer: closing a socket with unread bytes can discard the answer.
    let (kind, payload) = frame()?;
    if hello.build != link::build() {
        return Err(CloseReason::WrongBuild);
    }
    let question = if kind == Kind::ProbeUnit {
        link::strict(&payload).map(Question::Unit)
    } else if kind == Kind::ProbePackages {
        link::strict(&payload).map(Question::Packages)
    } else {
        None
    };
    question.ok_or(CloseReason::Malformed)
}

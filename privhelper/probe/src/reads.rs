//! One connection of the recorder: one `unit.status` or `package.show`, decided here for the uid of the order.

use crate::apt;
use crate::journal::{self, Lines};
use crate::show::show;
use crate::state::State;
use crate::units;
use postern_policy::facts::{UnitFacts, is_missing, unit_info};
use postern_policy::request::{PackagesRequest, Request, UnitStatusRequest};
use postern_policy::types::UnitName;
use postern_policy::{Code, Denied, Facts, Grant, VerbId};
use postern_proto::frame::OUTPUT_MAX;
use postern_proto::root::v1::Outcome;
use postern_proto::v1::event::Kind;
use postern_proto::v1::{Completed, Output, Status, Stream};
use postern_root::{Answer, Authority, Connection, Error, Fault, Key, Ordered, Received};
use std::os::unix::net::UnixStream;

/// The result of a read.
struct Read {
    grant: Grant,
    objects: Vec<String>,
    completed: Completed,
    journal: String,
}

impl State {
    /// Serves one connection of the recorder.
    pub fn serve_asked(&self, stream: UnixStream) {
        let mut connection = Connection::new(stream);
        let Some(received) = connection.receive() else { return };
        let answer = match received {
            Received::Order(ordered) if !ordered.is_execute => self.inspect(&mut connection, &ordered),
            Received::Order(_) | Received::Outcomes(_) | Received::Acknowledge(_) => Err(reads_alone()),
        };
        connection.answer(answer.map(Answer::Outcome));
    }

    fn inspect(&self, connection: &mut Connection<UnixStream>, ordered: &Ordered) -> Result<Outcome, Error> {
        let accounts = self.host.root.accounts()?;
        let authority = Authority::new(&self.host.root, &self.policy, &accounts, None::<&Key>, ordered)?;
        let (request, grant) = authority.decide_request(None)?;
        let read = match request {
            Request::UnitStatus(status) => self.status(&authority, grant, &status)?,
            Request::Packages(show) if show.verb == VerbId::PackageShow => self.show(grant, show)?,
            Request::Packages(_)
            | Request::Unit(_)
            | Request::DaemonReload
            | Request::Reboot(_)
            | Request::Files(_)
            | Request::FileRead(_)
            | Request::FileList(_)
            | Request::Command(_)
            | Request::Describe
            | Request::Result(_)
            | Request::Undo(_)
            | Request::Own(_) => return Err(reads_alone()),
        };
        for part in read.journal.as_bytes().chunks(OUTPUT_MAX) {
            let output = Output { stream: Stream::Content.into(), data: part.to_vec(), truncated: false };
            let gone = Fault::io("pass the journal on to the recorder");
            connection.event(Kind::Output(output)).map_err(gone)?;
        }
        Ok(authority.outcome(&read.grant, read.objects, read.completed, None))
    }

    /// The unit must be granted under its canonical id too, and so must the lines of its journal.
    fn status(
        &self,
        authority: &Authority<'_>,
        grant: Grant,
        request: &UnitStatusRequest,
    ) -> Result<Read, Error> {
        self.need_systemd()?;
        let state = units::state(&self.bus, &request.unit)?;
        let facts = units::checked(&UnitFacts { state, affected: Vec::new() })?;
        let Facts::Unit(facts) = facts else { return Err(reads_alone()) };
        if is_missing(&facts.state) {
            let why = format!("{} does not exist on this host", request.unit);
            return Err(Denied::new(Code::NotFound, why).into());
        }
        let state = facts.state.clone();
        let grant = authority.decide_facts(grant, &Facts::Unit(facts))?;
        let mut journal = String::new();
        if request.journal_lines > 0 {
            // The journal has the canonical id only.
            let id = UnitName::new(&state.id)?;
            let lines = Lines { most: request.journal_lines, since: request.since };
            journal = journal::read(&self.host.journalctl, &id, lines)?;
        }
        let unit = Some(unit_info(&state));
        let completed = Completed { status: Status::Done.into(), unit, ..Completed::default() };
        Ok(Read { grant, objects: vec![state.id], completed, journal })
    }

    fn show(&self, grant: Grant, request: PackagesRequest) -> Result<Read, Error> {
        self.need_systemd()?;
        let _permit = self.acquire_apt()?;
        let names = request.packages.into_iter().map(|package| package.name).collect::<Vec<_>>();
        let packages = apt::timed(|| Ok(show(&self.host.apt, &names)?))?;
        let completed = Completed { status: Status::Done.into(), packages, ..Completed::default() };
        let objects = names.iter().map(ToString::to_string).collect();
        Ok(Read { grant, objects, completed, journal: String::new() })
    }
}

fn reads_alone() -> Error {
    Denied::new(Code::Unsupported, "the probe reads units and packages, and does nothing else").into()
}

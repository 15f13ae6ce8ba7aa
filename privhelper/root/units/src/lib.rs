//! `postern-units`: changes units, starts package transactions and named commands.
//!
//! Runs as uid 0 without a capability: PID 1 obeys uid 0. Longer work runs in a unit of its own and outlives this
//! program.

mod change;
mod command;
mod facts;
mod job;
mod packages;
mod paths;
mod reboot;
mod state;
mod systemctl;
mod validate;

pub use state::{Host, State};

use crate::state::Work;
use postern_policy::Request;
use postern_proto::root::v1::{Envelope, Outcome, Step};
use postern_root::{
    ActivePolicy, Answer, Authority, Code, Connection, Denied, Error, Ordered, OutcomeState, Purpose,
    Received,
};
use std::os::unix::net::UnixStream;

impl State {
    /// Serves one connection of the recorder: one order.
    pub fn serve(&self, stream: UnixStream) {
        let mut connection = Connection::new(stream);
        let Some(received) = connection.receive() else { return };
        // If the recorder is gone, it asks by `Outcomes` later.
        let answer = match received {
            Received::Outcomes(id) if self.running().contains(&id) => {
                Ok(Answer::State(OutcomeState::Running))
            }
            Received::Outcomes(id) => job::state(&self.host, id).map(Answer::State),
            Received::Acknowledge(id) => {
                job::forget(&self.host, id);
                Ok(Answer::Acknowledged)
            }
            Received::Inspect(..) => {
                let why = "facts about units and packages come from the probe";
                Err(Denied::new(Code::Unsupported, why).into())
            }
            Received::Execute(envelope, ordered) => {
                self.running().push(ordered.id);
                let outcome = self.execute(&mut connection, &envelope, &ordered);
                self.running().retain(|id| *id != ordered.id);
                outcome.map(Answer::Outcome)
            }
        };
        connection.answer(answer);
    }

    /// Decides the order again and carries it out.
    fn execute(
        &self,
        connection: &mut Connection<UnixStream>,
        envelope: &Envelope,
        ordered: &Ordered,
    ) -> Result<Outcome, Error> {
        if !self.host.systemd.exists() {
            let why = "this host does not run systemd; packages, units and commands need it";
            return Err(Denied::new(Code::Unsupported, why).into());
        }
        let policy = &ActivePolicy::load(&self.host.root)?.policy;
        if envelope.step() == Step::Validate {
            return validate::validate(&self.host, policy, connection, envelope, ordered);
        }
        let accounts = self.host.root.accounts()?;
        let purpose = Purpose::Act(Some(envelope));
        let authority = Authority::new(&self.host.root, policy, &accounts, &self.key, ordered, purpose)?;
        let (request, grant) = authority.decide_request(Vec::new())?;
        let mut work = Work { state: self, authority: &authority, connection };
        match request {
            Request::Unit(request) => change::change(&mut work, &request, grant),
            Request::DaemonReload => change::daemon_reload(&work, &grant),
            Request::Reboot(minutes) => reboot::reboot(&work, minutes, &grant),
            Request::Packages(_) => packages::start(&mut work, envelope, &grant),
            Request::Command(request) => command::run(&mut work, request, &grant),
            Request::UnitStatus(_)
            | Request::Files(_)
            | Request::FileRead(_)
            | Request::FileList(_)
            | Request::Describe
            | Request::Result(_)
            | Request::Undo(_)
            | Request::Own(_) => Err(Denied::new(Code::Unsupported, "this program does not do this").into()),
        }
    }
}

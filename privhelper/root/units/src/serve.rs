//! One connection of the recorder: one order, decided again and carried out.

use crate::state::{State, Work};
use crate::{change, command, job, packages, validate};
use postern_policy::{Code, Denied, Request};
use postern_proto::root::v1::{Envelope, Outcome, Step};
use postern_root::{ActivePolicy, Authority, Connection, Error, Ordered, OutcomeState, Purpose, Received};
use std::os::unix::net::UnixStream;

impl State {
    /// Serves one connection of the recorder: one order.
    pub fn serve(&self, stream: UnixStream) {
        let mut connection = Connection::new(stream);
        let Some(received) = connection.receive() else { return };
        // If the recorder is gone, it asks by `Outcomes` later.
        match received {
            Received::Outcomes(id) if self.running().contains(&id) => {
                connection.state(&OutcomeState::Running);
            }
            Received::Outcomes(id) => match job::state(&self.host, id) {
                Ok(state) => connection.state(&state),
                Err(fault) => connection.fail(&fault.into()),
            },
            Received::Acknowledge(id) => {
                job::forget(&self.host, id);
                connection.acknowledged();
            }
            Received::Inspect(..) => {
                let why = "facts about units and packages come from the probe";
                connection.fail(&Denied::new(Code::Unsupported, why).into());
            }
            Received::Execute(envelope, step, ordered) => {
                self.running().push(ordered.id);
                let outcome = self.execute(&mut connection, &envelope, step, &ordered);
                self.running().retain(|id| *id != ordered.id);
                match outcome {
                    Ok(outcome) => connection.outcome(&outcome),
                    Err(error) => connection.fail(&error),
                }
            }
        }
    }

    /// Decides the order again and carries it out.
    fn execute(
        &self,
        connection: &mut Connection<UnixStream>,
        envelope: &Envelope,
        step: Step,
        ordered: &Ordered,
    ) -> Result<Outcome, Error> {
        if !self.host.systemd.exists() {
            let why = "this host does not run systemd; packages, units and commands need it";
            return Err(Denied::new(Code::Unsupported, why).into());
        }
        let policy = &ActivePolicy::load(&self.host.root)?.policy;
        if step == Step::Validate {
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
            Request::Packages(_) => packages::start(&mut work, envelope, &grant),
            Request::Command(request) => command::run(&mut work, request, &grant),
            Request::UnitStatus(_)
            | Request::Files(_)
            | Request::FileRead(_)
            | Request::FileList(_)
            | Request::Describe
            | Request::Result(_)
            | Request::Undo(_) => Err(Denied::new(Code::Unsupported, "this program does not do this").into()),
        }
    }
}

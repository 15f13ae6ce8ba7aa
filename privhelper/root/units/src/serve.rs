//! One connection of the recorder: one order, decided again and carried out.

use crate::state::{State, Work};
use crate::{change, command, job, packages, validate};
use postern_policy::{Code, Denied, Request};
use postern_proto::root::v1::{Envelope, Outcome, Step};
use postern_root::{Accounts, Authority, Connection, Error, Ordered, Purpose, Received};
use std::os::unix::net::UnixStream;

impl State {
    /// Serves one connection of the recorder: one order.
    pub fn serve(&self, stream: UnixStream) {
        let mut connection = Connection::new(stream);
        let Some(received) = connection.receive() else { return };
        // A recorder that is gone asks again by `Outcomes`.
        match received {
            Received::Outcomes(id) => match job::state(&self.host, id) {
                Ok(state) => connection.state(&state),
                Err(fault) => connection.close(&Error::from(fault).close()),
            },
            Received::Acknowledge(id) => {
                job::forget(&self.host, id);
                connection.acknowledged();
            }
            Received::Inspect(..) => {
                let why = "facts about units and packages come from the probe";
                connection.close(&Error::from(Denied::new(Code::Unsupported, why)).close());
            }
            Received::Execute(envelope, step, ordered) => {
                match self.execute(&mut connection, &envelope, step, &ordered) {
                    Ok(outcome) => connection.outcome(&outcome),
                    Err(error) => connection.close(&error.close()),
                }
            }
        }
    }

    /// Decides the order again and does it.
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
        if step == Step::Validate {
            return validate::validate(self, connection, envelope, ordered);
        }
        let accounts = Accounts::read(&self.host.root.passwd, &self.host.root.group)?;
        let purpose = Purpose::Act(Some(envelope));
        let policy = &self.policy.policy;
        let authority = Authority::new(&self.host.root, policy, &accounts, &self.key, ordered, purpose)?;
        let request = authority.request(Vec::new())?;
        let mut work = Work { state: self, authority: &authority, connection };
        match request {
            Request::Unit(_) => change::change(&mut work, request),
            Request::DaemonReload => change::daemon_reload(&mut work),
            Request::Packages(_) => packages::start(&mut work, envelope, &request),
            Request::Command(_) => command::run(&mut work, request),
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

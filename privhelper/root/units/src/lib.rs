//! `postern-units`: changes units, starts package transactions and named commands.
//!
//! Runs as uid 0 without a capability: PID 1 obeys uid 0. Longer work runs in a unit of its own and outlives this
//! program.

mod as_user;
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
use postern_proto::root::v1::{Envelope, Step};
use postern_root::{
    ActivePolicy, Answer, Authority, Code, Connection, Denied, Error, Ordered, OutcomeState, Purpose,
    Received,
};
use std::os::unix::net::UnixStream;
use std::sync::Arc;

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
            Received::Inspect(of, ordered) => self.order(&mut connection, of.as_ref(), &ordered, false),
            Received::Execute(envelope, ordered) => {
                self.running().push(ordered.id);
                let answer = self.order(&mut connection, Some(&envelope), &ordered, true);
                self.running().retain(|id| *id != ordered.id);
                answer
            }
        };
        connection.answer(answer);
    }

    /// Decides the order again, and carries it out; or only looks, at a file that is reached as a rule's user.
    fn order(
        &self,
        connection: &mut Connection<UnixStream>,
        envelope: Option<&Envelope>,
        ordered: &Ordered,
        acts: bool,
    ) -> Result<Answer, Error> {
        if !self.host.systemd.exists() {
            let why = "this host does not run systemd; packages, units and commands need it";
            return Err(Denied::new(Code::Unsupported, why).into());
        }
        let policy = &ActivePolicy::load(&self.host.root)?.policy;
        if let Some(envelope) = envelope.filter(|envelope| acts && envelope.step() == Step::Validate) {
            let agreed = validate::validate(&self.host, policy, connection, envelope, ordered);
            return agreed.map(Answer::Outcome);
        }
        let accounts = self.host.root.accounts()?;
        let is_question = !acts && ordered.verb.is_effect();
        let person_uid = envelope.map_or(0, |envelope| envelope.person_uid);
        let purpose = if is_question { Purpose::Facts(person_uid) } else { Purpose::Act(envelope) };
        let authority = Authority::new(&self.host.root, policy, &accounts, &self.key, ordered, purpose)?;
        let mut work = Work { state: self, authority: &authority, connection };
        let unknown = || vec![Arc::default(); authority.contents().len()];
        let contents = if acts { as_user::contents(&work)? } else { unknown() };
        let (request, grant) = authority.decide_request(contents)?;
        let outcome = match (request, envelope.filter(|_| acts)) {
            (Request::Files(request), _) => return as_user::change(&work, &request, grant, acts),
            (Request::FileRead(request), None) => return as_user::read(&mut work, &request, grant),
            (Request::Unit(request), Some(_)) => change::change(&mut work, &request, grant),
            (Request::DaemonReload, Some(_)) => change::daemon_reload(&work, &grant),
            (Request::Reboot(minutes), Some(_)) => reboot::reboot(&work, minutes, &grant),
            (Request::Packages(_), Some(envelope)) => packages::start(&mut work, envelope, &grant),
            (Request::Command(request), Some(_)) => command::run(&mut work, request, &grant),
            (_, _) => Err(Denied::new(Code::Unsupported, "this program does not do this").into()),
        };
        outcome.map(Answer::Outcome)
    }
}

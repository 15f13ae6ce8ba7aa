//! `postern-units`: changes units, starts package transactions and named commands.
//!
//! Runs as uid 0 without a capability: PID 1 obeys uid 0. Longer work runs in a unit of its own and outlives this
//! program.

mod as_user;
mod change;
mod command;
mod facts;
mod job;
mod reboot;
mod state;
mod systemctl;

pub use state::{Host, State};

use crate::state::Work;
use postern_policy::Request::{
    Command, DaemonReload, Describe, FileList, FileRead, Files, Own, Packages, Reboot, Result as Results,
    Undo, Unit, UnitStatus,
};
use postern_proto::root::v1::Step;
use postern_root::{
    ActivePolicy, Answer, Authority, Code, Connection, Denied, Error, Ordered, Received, outcomes,
};
use std::os::unix::net::UnixStream;

impl State {
    /// Serves one connection of the recorder: one order.
    pub fn serve(&self, stream: UnixStream) {
        let mut connection = Connection::new(stream);
        let Some(received) = connection.receive() else { return };
        // If the recorder is gone, it asks by `Outcomes` later.
        let answer = match received {
            Received::Outcomes(id) if self.running().contains(&id) => Ok(Answer::State(outcomes::running())),
            Received::Outcomes(id) => job::state(&self.host, id).map(Answer::State),
            Received::Acknowledge(id) => {
                job::forget(&self.host, id);
                Ok(Answer::Acknowledged)
            }
            Received::Order(ordered) if !ordered.is_execute => self.order(&mut connection, &ordered),
            Received::Order(ordered) => {
                self.running().push(ordered.id);
                let answer = self.order(&mut connection, &ordered);
                self.running().retain(|id| *id != ordered.id);
                answer
            }
        };
        connection.answer(answer);
    }

    /// Decides the order again, and carries it out; or only looks, at a file that is reached as a rule's user.
    fn order(&self, connection: &mut Connection<UnixStream>, ordered: &Ordered) -> Result<Answer, Error> {
        if !self.host.systemd.exists() {
            let why = "this host does not run systemd; packages, units and commands need it";
            return Err(Denied::new(Code::Unsupported, why).into());
        }
        let active = &ActivePolicy::load(&self.host.root)?;
        if ordered.step() == Step::Validate {
            return command::validate(&self.host, &active.policy, connection, ordered).map(Answer::Outcome);
        }
        let accounts = self.host.root.accounts()?;
        let acts = ordered.is_execute;
        let authority = Authority::new(&self.host.root, active, &accounts, &self.key, ordered)?;
        let mut work = Work { state: self, authority: &authority, connection };
        let contents = if acts { Some(as_user::contents(&work)?) } else { None };
        let (request, grant) = authority.decide_request(contents)?;
        let outcome = match request {
            Files(request) => return as_user::change(&work, &request, grant),
            FileRead(request) => return as_user::read(&mut work, &request, grant),
            Unit(request) if acts => change::change(&mut work, &request, grant),
            DaemonReload if acts => change::daemon_reload(&work, &grant),
            Reboot(minutes) if acts => reboot::reboot(&work, minutes, &grant),
            Packages(_) if acts => job::start_transaction(&mut work, &grant),
            Command(request) if acts => command::run(&mut work, request, &grant),
            // Only looked at, or another program's.
            Unit(_) | DaemonReload | Reboot(_) | Packages(_) | Command(_) | UnitStatus(_) | FileList(_)
            | Describe | Results(_) | Undo(_) | Own(_) => {
                Err(Denied::new(Code::Unsupported, "this program does not do this").into())
            }
        };
        outcome.map(Answer::Outcome)
    }
}

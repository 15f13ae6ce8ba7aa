//! `agent.note`: the helper's audit log gets the end of the agent's own. No person and no model can ask for it.

use super::helper::Helper;
use super::pending_request::{AttemptError, new_id};
use crate::audit::Tip;
use crate::protocol::event::Event;
use postern_proto::v1;
use postern_proto::v1::helper_client::HelperClient;

impl Helper {
    /// Has the helper record where the agent's log ends. Asked once: the next note says more.
    ///
    /// # Errors
    /// It is not recorded, and why.
    pub async fn note(&self, tip: Tip) -> Result<(), String> {
        self.note_once(tip).await.inspect(|()| self.counts().noted())
    }

    async fn note_once(&self, tip: Tip) -> Result<(), String> {
        let lost = |lost: AttemptError| lost.why().to_owned();
        let mut client = HelperClient::new(self.connect().await.map_err(lost)?);
        let meta = v1::Meta { request_id: new_id(), mode: v1::Mode::Execute.into(), ..v1::Meta::default() };
        let note = v1::AgentNoteRequest { meta: Some(meta), seq: tip.seq, tip: tip.hash.to_vec() };
        let mut events = match client.agent_note(note).await {
            Ok(events) => events.into_inner(),
            Err(status) => return self.failed(&status).await.map_err(lost).and_then(|end| of(&end)),
        };
        loop {
            match events.message().await {
                Ok(Some(message)) => match Event::from_message(message) {
                    Some(event) if event.is_last() => return of(&event),
                    Some(_) | None => {}
                },
                Ok(None) => return Err("the answer ended without an outcome".to_owned()),
                Err(status) => return self.failed(&status).await.map_err(lost).and_then(|end| of(&end)),
            }
        }
    }
}

fn of(end: &Event) -> Result<(), String> {
    match end {
        Event::Refused(refused) => Err(format!("{}: {}", refused.code, refused.message)),
        Event::Error(fault) => Err(format!("{}: {}", fault.code, fault.message)),
        Event::Completed(_)
        | Event::Accepted(_)
        | Event::Waiting(_)
        | Event::Progress(_)
        | Event::Output(_) => Ok(()),
    }
}

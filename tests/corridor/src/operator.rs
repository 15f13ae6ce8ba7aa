//! The operator's end of operator.sock.

use crate::channel::Channel;
use crate::hosts::BOOT_ID;
use postern_proto::frame;
use postern_proto::link;
use postern_proto::root::v1 as root;
use postern_proto::v1 as wire;
use prost::Message;

/// The code where a connection ends in the middle of a call, as that of a recorder that was killed.
const ENDED: u8 = 255;

/// An operator's connection.
pub type Operator = Channel;

/// One call of an operator's: the reply, or code and text.
///
/// # Errors
/// The code and text of the call's end.
pub fn call<R: Message + Default>(
    operator: &mut Operator,
    method: &str,
    message: &impl Message,
) -> Result<R, (u8, String)> {
    operator.replies(method, message).map(|mut replies| replies.remove(0))
}

impl Channel {
    /// All replies to one call, or code and text.
    ///
    /// # Errors
    /// The code and text of the call's end.
    pub fn replies<R: Message + Default>(
        &mut self,
        method: &str,
        message: &impl Message,
    ) -> Result<Vec<R>, (u8, String)> {
        let ended = || (ENDED, "the connection ended".to_owned());
        let stream = self.try_send(method, &message.encode_to_vec()).map_err(|_| ended())?;
        let mut replies = Vec::new();
        loop {
            let (head, payload) = self.frame().ok_or_else(ended)?;
            assert_eq!(head.stream, stream);
            if head.kind == frame::END {
                let text = String::from_utf8_lossy(&payload[1..]).into_owned();
                return if payload[0] == 0 { Ok(replies) } else { Err((payload[0], text)) };
            }
            replies.push(R::decode(payload.as_slice()).unwrap());
        }
    }

    /// Fetches a pending approval, with the digest that an approval of it names.
    pub fn show(&mut self, approval_id: &str) -> (wire::OperatorShown, Vec<u8>) {
        self.look(approval_id).unwrap()
    }

    fn look(&mut self, approval_id: &str) -> Result<(wire::OperatorShown, Vec<u8>), (u8, String)> {
        let request = wire::OperatorShowRequest { approval_id: approval_id.to_owned() };
        let shown: wire::OperatorShown = call(self, "Operator/Show", &request)?;
        let order = root::Order::decode(shown.order.as_slice()).unwrap();
        let policy = <[u8; 32]>::try_from(order.policy_digest.as_slice()).unwrap();
        let digest = link::approval_digest(BOOT_ID, &policy, &shown.order).to_vec();
        Ok((shown, digest))
    }

    /// Approves what waits now.
    ///
    /// # Errors
    /// Code and text.
    pub fn approve_all(&mut self) -> Result<(), (u8, String)> {
        let pending: wire::OperatorPending =
            call(self, "Operator/Pending", &wire::OperatorPendingRequest {})?;
        for one in pending.approvals {
            self.approve(&one.approval_id)?;
        }
        Ok(())
    }

    /// Says yes or no to what was shown, and returns how many approvers are still missing.
    ///
    /// # Errors
    /// Code and text.
    pub fn decide(
        &mut self,
        approval_id: &str,
        shown_sha256: &[u8],
        verdict: wire::Verdict,
        reason: &str,
    ) -> Result<u32, (u8, String)> {
        let request = wire::OperatorDecideRequest {
            approval_id: approval_id.to_owned(),
            shown_sha256: shown_sha256.to_vec(),
            verdict: verdict.into(),
            reason: reason.to_owned(),
        };
        call::<wire::OperatorDecided>(self, "Operator/Decide", &request).map(|decided| decided.missing)
    }

    /// Reads what waits and approves it.
    ///
    /// # Errors
    /// Code and text.
    pub fn approve(&mut self, approval_id: &str) -> Result<u32, (u8, String)> {
        let (_, digest) = self.look(approval_id)?;
        self.decide(approval_id, &digest, wire::Verdict::Approve, "")
    }
}

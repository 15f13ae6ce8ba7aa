//! operator.sock: what people who watch over this host may ask. No gateway, no gRPC, the same frames.

use crate::audit::Record;
use crate::connection::Service;
use crate::dispatch::Refuse;
use crate::error::{Code, Fault};
use crate::helper::Helper;
use crate::places::Places;
use crate::policy::{Peer, Policy};
use crate::reply::{Grpc, Sink};
use crate::sys::store::{self, POLICY_MAX};
use postern_proto::v1 as wire;
use prost::Message;
use std::sync::Arc;

/// One connection of an operator's.
#[derive(Debug)]
pub struct Operator {
    /// What all connections share.
    pub helper: Arc<Helper>,
    /// Who, as the kernel says.
    pub peer: Peer,
    /// The connections of clients, for status.
    pub clients: Arc<Places>,
}

impl Service for Operator {
    fn request(&mut self, method: String, body: Vec<u8>, sink: Sink) -> Result<(), Refuse> {
        // Nobody that the policy calls a client can be an operator: asked anew each time, for the policy may change.
        let is_client = self.helper.policy().is_some_and(|policy| !policy.clients_of(self.peer).is_empty());
        if is_client {
            self.helper.note_refused(self.peer, &method, Code::Denied);
            sink.end(Grpc::PermissionDenied, "denied: a client of the policy can be no operator");
            return Ok(());
        }
        match method.as_str() {
            "Operator/Status" if wire::OperatorStatusRequest::decode(body.as_slice()).is_ok() => {
                sink.message(&self.status());
                sink.end(Grpc::Ok, "");
            }
            "Operator/Reload" if wire::OperatorReloadRequest::decode(body.as_slice()).is_ok() => {
                self.reload(&sink);
            }
            "Operator/Status" | "Operator/Reload" => {
                self.helper.note_malformed(self.peer, &method, &body);
                sink.end(Grpc::InvalidArgument, "malformed request");
                return Err(Refuse);
            }
            other => {
                self.helper.note_refused(self.peer, other, Code::Unsupported);
                sink.end(Grpc::Unimplemented, "unsupported: this helper has no such call");
            }
        }
        Ok(())
    }

    fn is_there(&self) -> bool {
        true
    }

    fn violated(&self, bytes: &[u8]) {
        self.helper.note_malformed(self.peer, "Operator", bytes);
    }
}

impl Operator {
    fn status(&self) -> wire::OperatorStatus {
        let helper = &self.helper;
        let policy = helper.policy();
        let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        let clients =
            policy.iter().flat_map(|policy| policy.clients()).map(|client| client.name.clone()).collect();
        wire::OperatorStatus {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            started_unix_s: helper.started.as_secs(),
            policy_digest: policy.as_ref().map(|policy| policy.digest().to_string()).unwrap_or_default(),
            rules: policy.as_ref().map_or(0, |policy| count(policy.rules().len())),
            clients,
            connections: count(self.clients.count()),
            running: count(helper.running.count()),
            audit_seq: helper.audit.seq(),
            audit_fault: helper.audit.sync().err().map(|fault| fault.to_string()).unwrap_or_default(),
            notes: helper.notes.clone(),
            paused: String::new(),
            pending: 0,
        }
    }

    /// Root alone: takes the accepted policy anew, all or nothing.
    fn reload(&self, sink: &Sink) {
        if self.peer.uid != self.helper.host.owner_uid {
            self.helper.note_refused(self.peer, "Operator/Reload", Code::Denied);
            return sink.end(Grpc::PermissionDenied, "denied: only root may reload the policy");
        }
        match self.take_policy() {
            Ok(reloaded) => {
                sink.message(&reloaded);
                sink.end(Grpc::Ok, "");
            }
            Err(fault) => sink.end(Grpc::Unavailable, &format!("the policy stays as it was: {fault}")),
        }
    }

    fn take_policy(&self) -> Result<wire::OperatorReloaded, Fault> {
        let helper = &self.helper;
        let bytes = store::read(&helper.host.paths.state.join("policy/accepted.pb"), POLICY_MAX)?;
        let bytes = bytes.ok_or(Fault::Corrupt { what: "the accepted policy (it is not there)" })?;
        let policy = Policy::load(&bytes, helper.host.accounts)?;
        let reloaded = wire::OperatorReloaded {
            policy_digest: policy.digest().to_string(),
            rules: u32::try_from(policy.rules().len()).unwrap_or(u32::MAX),
        };
        let record =
            Record { client: Some(self.peer), policy: reloaded.policy_digest.clone(), ..Record::default() };
        helper.apply(policy, &record)?;
        Ok(reloaded)
    }
}

//! `unit.daemon-reload`: systemd reads all its units again.

use crate::audit::{Json, Ticket};
use crate::context::{Context, too_late};
use crate::error::{Code, Fault, Invalid, Refusal, Stop};
use crate::helper::{Helper, wait_for};
use crate::leave::Done;
use crate::policy::{Authorized, Object};
use crate::sys::process;
use crate::verb::{NoPlan, Verb, Wish};
use crate::verb_id::VerbId;
use postern_proto::v1 as wire;

/// No arguments.
#[derive(Debug)]
pub struct DaemonReload;

impl Verb for DaemonReload {
    type Wire = wire::UnitDaemonReloadRequest;
    type Plan = NoPlan;
    type Leave = Ticket;
    const ID: VerbId = VerbId::UnitDaemonReload;

    fn parse(wire: Self::Wire) -> (Option<wire::Meta>, Result<Self, Invalid>) {
        (wire.meta, Ok(Self))
    }

    fn wishes(&self, _: &Helper, _: u32) -> Result<Vec<Wish>, Refusal> {
        Ok(vec![(Self::ID, Object::Nothing)])
    }

    fn args(&self) -> Json {
        Json::new()
    }

    fn plan(&self, cx: &Context, _: &Authorized<Self>) -> Result<NoPlan, Stop> {
        if cx.helper.host.paths.systemd.exists() {
            return Ok(NoPlan);
        }
        Err(Refusal::new(Code::Unsupported, "this host does not run systemd").into())
    }

    fn act(&self, cx: &Context, by: &Authorized<Self>, _: &NoPlan, leave: &Ticket) -> Result<Done, Stop> {
        let wait = cx.limit(by);
        let _one_at_a_time = wait_for(&cx.helper.units, wait)?;
        let finished = process::daemon_reload(&cx.helper.host, leave, wait, &|| {
            cx.watchers.finish(&too_late());
        })?;
        if !finished.status.success() {
            return Err(Fault::Program {
                what: format!("systemctl daemon-reload: {}", finished.stderr.trim()),
            }
            .into());
        }
        let status = wire::Status::Done.into();
        Ok(Done { completed: wire::Completed { status, ..Default::default() }, undo: Json::new() })
    }
}

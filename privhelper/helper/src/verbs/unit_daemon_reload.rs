//! `unit.daemon-reload`: systemd reads all its units again.

use crate::audit::{Json, Ticket};
use crate::context::{Context, too_late};
use crate::error::{Fault, Stop};
use crate::helper::{Helper, wait_for};
use crate::leave::Done;
use crate::sys::process;
use crate::verb::{NoPlan, Verb};
use postern_policy::{Code, Denied, Grant, Invalid, Object, RequiredGrant, VerbId};
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

    fn required_grants(&self, _: &Helper, _: u32) -> Result<Vec<RequiredGrant>, Denied> {
        Ok(vec![(Self::ID, Object::Nothing)])
    }

    fn args(&self) -> Json {
        Json::new()
    }

    fn plan(&self, cx: &Context, _: &Grant) -> Result<NoPlan, Stop> {
        if cx.helper.host.paths.systemd.exists() {
            return Ok(NoPlan);
        }
        Err(Denied::new(Code::Unsupported, "this host does not run systemd").into())
    }

    fn act(&self, cx: &Context, by: &Grant, _: &NoPlan, leave: &Ticket) -> Result<Done, Stop> {
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

//! Runs one validator over one copy that postern-files staged, and signs that it agrees.
//!
//! `policy apply` wrote the unit of (validator, directory); it mounts the stage of its instance's name over the live
//! directory. Only the exit status leaves it: sizes and text of the output could reveal secrets.

use crate::state::Host;
use crate::systemctl;
use postern_policy::Policy;
use postern_proto::root::v1::{Outcome, RequiredValidator, Sandbox};
use postern_proto::v1::event::Kind;
use postern_proto::v1::{Completed, Phase, Progress, Status};
use postern_root::{Code, Connection, Denied, Error, Fault, Key, OrderId, Ordered, mac};
use std::os::unix::net::UnixStream;

/// Runs the validator's unit.
///
/// # Errors
/// `validation_failed`; `plan_changed` under another policy; or the stage is not one of postern-files.
pub fn validate(
    host: &Host,
    policy: &Policy,
    connection: &mut Connection<UnixStream>,
    ordered: &Ordered,
) -> Result<Outcome, Error> {
    let key = Key::read(&host.root.validator_key)?;
    let key = key.ok_or_else(|| Fault::corrupt("the key of validators (run: postern-admin policy apply)"))?;
    if ordered.order.policy_digest != policy.digest().as_bytes() {
        return Err(Denied::new(Code::PlanChanged, "the policy was replaced; send the request again").into());
    }
    let forged = || Denied::new(Code::InvalidArgument, "postern-files did not make this stage");
    let envelope = ordered.envelope.as_ref().ok_or_else(forged)?;
    let staged = envelope.staged.as_ref().filter(|staged| key.verifies(*staged)).ok_or_else(forged)?;
    let is_asked = |one: &&RequiredValidator| one.name == envelope.validator && one.live == envelope.live;
    let required = staged.validators.iter().find(is_asked).ok_or_else(forged)?;
    let row = policy.command(&envelope.validator).filter(|row| row.wire.sandbox() == Sandbox::Validator);
    let unknown = || Denied::new(Code::Unsupported, "the policy has no validator of this name");
    let row = row.ok_or_else(unknown)?;
    let stage = OrderId::from_bytes(&staged.stage_id).ok_or_else(forged)?;
    let progress =
        Progress { phase: Phase::Validate.into(), item: row.name.to_string(), ..Progress::default() };
    drop(connection.event(Kind::Progress(progress)));
    let unit = format!("{}@{stage}.service", row.validator_unit(&required.live));
    let mut child = systemctl::start(host, &unit)?;
    let ended = child.wait().map_err(Fault::io("wait for systemctl"))?;
    if !ended.success() {
        let why = format!("validator {} rejects the change; nothing was changed", row.name);
        return Err(Denied::new(Code::ValidationFailed, why).into());
    }
    let completed = Completed { status: Status::Done.into(), ..Completed::default() };
    let (verb, uid) = (ordered.order.verb.clone(), ordered.order.uid);
    let agreement = Some(key.sign(mac::agreement(policy, staged, required)));
    Ok(Outcome { verb, uid, completed: Some(completed), agreement, ..Outcome::default() })
}

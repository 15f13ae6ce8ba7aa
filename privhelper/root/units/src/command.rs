//! `command.run`: a command that the policy names, in the unit that `policy apply` wrote for its row. Likewise a validator.
//!
//! The unit's name has the digest of the row, so a changed row has another unit. PID 1 gets no value of a client: the
//! arguments are in the record that it passes on as a credential.

use crate::state::{Host, Work};
use crate::{job, systemctl};
use postern_policy::request::CommandRequest;
use postern_policy::types::{Arguments, UnitName};
use postern_policy::{Command, Grant, Policy, VerbId};
use postern_proto::root::v1::{CommandJob, Inverse, Outcome, RequiredValidator, Sandbox};
use postern_proto::v1::event::Kind;
use postern_proto::v1::{CommandRunRequest, Completed, Parameter, Phase, Progress, Status};
use postern_root::store::{self, Durability};
use postern_root::{Accounts, Code, Connection, Denied, Error, Fault, Key, OrderId, Ordered, mac};
use prost::Message;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::Path;

/// Most bytes of a script's first line that the kernel reads.
const LINE_MAX: u64 = 256;
/// Write permission for anybody but the owner.
const OTHERS: u32 = 0o022;

/// Starts the unit, and follows it.
pub fn run(work: &mut Work<'_>, request: CommandRequest, grant: &Grant) -> Result<Outcome, Error> {
    let (authority, host) = (work.authority, &work.state.host);
    let row = authority.policy.command(request.name.as_str());
    let row = row.ok_or_else(|| Denied::new(Code::NotFound, "the policy has no command of this name"))?;
    if row.wire.sandbox() == Sandbox::Validator {
        return Err(Denied::new(Code::Unsupported, "a validator only judges changes of files").into());
    }
    let committed = request.arguments.clone();
    let arguments = request.open_secrets(row, &authority.ordered.secrets)?.arguments;
    row.check(&arguments)?;
    let argv = row.argv(&arguments)?;
    let owner = host.root.root_uid;
    argv.first().map_or(Ok(()), |program| check_program(program, owner))?;
    let owner = path_owner(row, authority.accounts).unwrap_or(owner);
    let parent = |path| Path::new(path).parent().unwrap_or(Path::new("/"));
    row.paths(&arguments).try_for_each(|path| check(parent(path), owner))?;
    let id = authority.ordered.id;
    let unit = UnitName::new(&format!("{}@{id}.service", row.unit()))?;
    let objects = vec![row.name.to_string()];
    let inverse = inverse(work, grant, row, &committed);
    authority.check_inverse(grant, inverse.as_ref())?;
    let completed = Completed { no_effect: row.wire.no_effect, ..Completed::default() };
    let statement = authority.outcome(grant, objects, completed, inverse);
    let path = job::begin(host, id, &unit, &statement)?;
    let record = CommandJob {
        argv,
        env: row.wire.env.clone(),
        output_bytes: row.wire.output_bytes,
        cwd: row.wire.cwd.clone(),
        secrets: row.secrets(&arguments),
    };
    let directory = job::record(host, id);
    store::make_directory(&directory)?;
    store::replace(&directory.join("job"), &[&record.encode_to_vec()], Durability::Cached)?;
    authority.witness(grant).inspect_err(|_| job::forget(host, id))?;
    let outcome = job::run(work, &unit, &path)?;
    // The record has the secrets, and nothing reads it any more. `Acknowledge` removes it too.
    drop(store::remove(&directory.join("job")));
    Ok(outcome)
}

/// The user of the row, to whom directories of its paths may belong besides root: without capabilities the command can
/// do no more there than its user. Nobody is other services' user as well.
fn path_owner(row: &Command, accounts: &Accounts) -> Option<u32> {
    let is_own = row.wire.capabilities.is_empty() && row.wire.user != "nobody";
    accounts.user(&row.wire.user).filter(|uid| is_own && *uid != 0)
}

/// Returns the inverse of a command: the `reverse` of its row, with the same values except secrets; none if the row has
/// none, or it needs other values.
fn inverse(work: &Work<'_>, grant: &Grant, row: &Command, arguments: &Arguments) -> Option<Inverse> {
    let reverse = work.authority.policy.command(&row.wire.reverse)?;
    let is_taken =
        |name: &str| reverse.parameters.iter().any(|(known, _)| known == name) && !row.is_secret(name);
    let taken = arguments.iter().filter(|(name, _)| is_taken(name));
    let parameters = taken.map(|(name, value)| Parameter { name: name.to_owned(), value: value.to_owned() });
    let parameters = parameters.collect::<Vec<_>>();
    if parameters.len() != reverse.parameters.len() {
        return None;
    }
    let body = CommandRunRequest { meta: None, name: reverse.name.to_string(), parameters };
    work.authority.inverse_of(grant, VerbId::CommandRun, body.encode_to_vec())
}

/// Whether only `owner` can change which program this path runs: the program, its interpreter, every directory and
/// every symbolic link on the way.
///
/// # Errors
/// `unsafe_path`; `not_found`; or it cannot be found out.
fn check_program(path: &str, owner: u32) -> Result<(), Error> {
    let first = start(path, owner)?;
    let Some(line) = first.strip_prefix(b"#!") else { return Ok(()) };
    let line = String::from_utf8_lossy(line);
    let interpreter = line.lines().next().and_then(|line| line.split_ascii_whitespace().next());
    // The kernel accepts an interpreter that is a script, to some depth; here it is refused.
    match interpreter.filter(|interpreter| interpreter.starts_with('/')) {
        Some(interpreter) if !start(interpreter, owner)?.starts_with(b"#!") => Ok(()),
        Some(_) | None => {
            let why = "has an interpreter that is a script or has no absolute path";
            Err(unsafe_path(Path::new(path), why))
        }
    }
}

/// Checks a program, and returns its first bytes.
fn start(path: &str, owner: u32) -> Result<Vec<u8>, Error> {
    check(Path::new(path), owner)?;
    if !std::fs::metadata(path).map_err(Fault::io("stat a program"))?.is_file() {
        return Err(unsafe_path(Path::new(path), "is no file"));
    }
    let mut start = Vec::new();
    let read = File::open(path).and_then(|file| file.take(LINE_MAX).read_to_end(&mut start));
    read.map_err(Fault::io("read a program"))?;
    Ok(start)
}

/// Checks every component of an absolute path and of every symbolic link on the way: it belongs to `owner` or root, and
/// nobody else can write it.
fn check(path: &Path, owner: u32) -> Result<(), Error> {
    let failed = |error: io::Error| {
        let is_missing = error.kind() == io::ErrorKind::NotFound;
        let missing = || Denied::new(Code::NotFound, format!("{:?} does not exist", path.to_string_lossy()));
        if is_missing { missing().into() } else { unsafe_path(path, &format!("cannot be followed: {error}")) }
    };
    // Fails in a loop of links, so that the recursion below ends.
    path.canonicalize().map_err(failed)?;
    for at in path.ancestors() {
        let metadata = at.symlink_metadata().map_err(failed)?;
        // Permission bits of a link have no meaning; those of its directory do.
        let others_write = !metadata.is_symlink() && metadata.mode() & OTHERS != 0;
        if others_write || ![0, owner].contains(&metadata.uid()) {
            let why = "can be changed by others than root; make it root's, not writable by group or others";
            return Err(unsafe_path(at, why));
        }
        if metadata.is_symlink() {
            let parent = at.parent().unwrap_or(Path::new("/")).canonicalize().map_err(failed)?;
            check(&parent.join(at.read_link().map_err(failed)?), owner)?;
        }
    }
    Ok(())
}

fn unsafe_path(path: &Path, why: &str) -> Error {
    Denied::new(Code::UnsafePath, format!("{:?} is refused: it {why}", path.to_string_lossy())).into()
}

/// Runs one validator over one copy that postern-files staged, and signs that it agrees. The unit of (validator, directory) mounts
/// the stage of its instance's name over the live directory. Only the exit status leaves it: sizes and text of the output could
/// reveal secrets.
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

//! `command.run`: a command that the policy names, in the unit that `policy apply` wrote for its row.
//!
//! The unit's name has the digest of the row, so a changed row has another unit. PID 1 gets no value of a client: the
//! arguments are in the record that it passes on as a credential.

use crate::state::Work;
use crate::{job, paths};
use postern_policy::request::CommandRequest;
use postern_policy::types::{Arguments, UnitName};
use postern_policy::{Command, Grant, VerbId};
use postern_proto::root::v1::{CommandJob, Inverse, Outcome, Sandbox};
use postern_proto::v1::{CommandRunRequest, Completed, Parameter};
use postern_root::store::{self, Durability};
use postern_root::{Accounts, Code, Denied, Error};
use prost::Message;

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
    argv.first().map_or(Ok(()), |program| paths::program(program, owner))?;
    let owner = path_owner(row, authority.accounts).unwrap_or(owner);
    row.paths(&arguments).try_for_each(|path| paths::parent(path, owner))?;
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
    authority.witness(grant)?;
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

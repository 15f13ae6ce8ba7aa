//! `policy sign-off`: a person says that they have read a policy; its digest and their name are kept.
//!
//! It decides nothing: `status` and `doctor` compare it with the policy that is active.

use super::Purpose;
use super::accepted;
use super::apply::{load, short};
use super::source::Owner;
use crate::host::Host;
use crate::io::{Exit, Io};
use crate::lint::command::log;
use crate::loaded_policy::LoadedPolicy;
use crate::own;
use crate::text::{count, escape, now, time};
use clap::Args;
use postern_proto::root::v1 as root;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::Path;

const FILE: &str = "sign-offs.json";

/// Arguments of `policy sign-off`.
#[derive(Debug, Args)]
pub struct SignOffArgs {
    /// Sign the files in /etc/postern before they are applied, instead of the accepted policy
    #[arg(long)]
    files: bool,
    /// Scope of the review, or a ticket
    #[arg(long, default_value = "", hide_default_value = true)]
    note: String,
    /// Do not ask
    #[arg(long)]
    yes: bool,
}

/// One sign-off.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignOff {
    /// SHA-256 of the compiled policy.
    pub digest: String,
    /// When, in seconds since 1970.
    pub unix_s: u64,
    /// The login uid of who signed.
    pub uid: u32,
    /// That user's name then.
    pub reviewer: String,
    /// The reviewer's note.
    pub note: String,
}

/// All sign-offs of this host, oldest first.
///
/// # Errors
/// They cannot be read.
pub fn read(directory: &Path) -> io::Result<Vec<SignOff>> {
    match std::fs::read(directory.join(FILE)) {
        Ok(bytes) => serde_json::from_slice(&bytes).map_err(io::Error::other),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// Keeps these sign-offs beside those that are there, in the order of their times.
///
/// # Errors
/// They cannot be written.
pub fn merge(directory: &Path, mut all: Vec<SignOff>, new: Vec<SignOff>) -> io::Result<()> {
    if new.is_empty() {
        return Ok(());
    }
    all.extend(new);
    all.sort_by_key(|one| one.unix_s);
    own::replace(directory, FILE, &serde_json::to_vec_pretty(&all).map_err(io::Error::other)?)
}

/// The last sign-off of a policy.
#[must_use]
pub fn of<'a>(all: &'a [SignOff], digest: &str) -> Option<&'a SignOff> {
    all.iter().rev().find(|one| one.digest == digest)
}

/// `status`'s words for the sign-off of the active policy; none where nobody uses sign-offs.
#[must_use]
pub fn words(all: &[SignOff], digest: &str) -> Option<String> {
    match of(all, digest) {
        Some(one) => Some(format!("by {}, {}", one.reviewer, time(one.unix_s))),
        None if all.is_empty() => None,
        None => Some("the active policy is not signed off: see `postern-admin policy sign-off`".to_owned()),
    }
}

/// `policy sign-off`.
///
/// # Errors
/// The output cannot be written.
pub fn run(host: &Host, args: &SignOffArgs, io: &mut Io<'_>) -> io::Result<Exit> {
    if nix::unistd::geteuid().as_raw() != host.owner_uid {
        writeln!(io.err, "only root may write a sign-off: sudo postern-admin policy sign-off")?;
        return Ok(Exit::Failed);
    }
    let (rules, digest) = match chosen(host, args.files) {
        Ok(chosen) => chosen,
        Err(why) => {
            writeln!(io.err, "not signed off: {}", escape(&why))?;
            return Ok(Exit::Failed);
        }
    };
    // Under sudo the login uid is still the person's.
    let uid = (host.login_uid)().unwrap_or_else(|| nix::unistd::getuid().as_raw());
    let is_client = |client| LoadedPolicy::uids(host, client).is_some_and(|uids| uids.contains(&uid));
    if rules.clients.iter().any(is_client) {
        writeln!(
            io.err,
            "not signed off: uid {uid} is a client of this policy, and cannot review what it may do"
        )?;
        return Ok(Exit::Refused);
    }
    let reviewer = (host.user_name)(uid);
    let size = format!("{}, {}", count(rules.clients.len(), "client"), count(rules.rules.len(), "rule"));
    let which = if args.files { format!(" --policy {}", host.etc.display()) } else { String::new() };
    writeln!(io.out, "policy {digest} ({size})\nto be read first: postern-admin policy report{which}")?;
    if !args.yes && !agrees(&reviewer, io)? {
        return Ok(Exit::NotApproved);
    }
    let one = SignOff { digest, unix_s: now(), uid, reviewer, note: args.note.clone() };
    let text = format!("policy {} signed off by {} (uid {uid})", one.digest, one.reviewer);
    let line = format!("signed off: {} by {}", short(&one.digest), one.reviewer);
    let written = read(&host.own).and_then(|all| merge(&host.own, all, vec![one]));
    if let Err(error) = written {
        writeln!(io.err, "not signed off: {}: {error}", host.own.display())?;
        return Ok(Exit::Failed);
    }
    // A second witness, on a host with a journal.
    let _ = host.probes.as_ref().map(|probes| log(&probes.log, &escape(&text)));
    writeln!(io.out, "{}", escape(&line))?;
    Ok(Exit::Done)
}

/// The policy that is to be signed.
fn chosen(host: &Host, files: bool) -> Result<(root::Rules, String), String> {
    if files {
        let (_, _, compiled) = load(&host.etc, Owner::Only(host.owner_uid), Purpose::Review, host);
        let compiled = compiled.ok_or("the files have errors: see `postern-admin policy check`")?;
        return Ok((compiled.rules, compiled.digest.to_string()));
    }
    let directory = host.accepted_dir();
    let accepted = accepted::read(&directory).map_err(|error| format!("{}: {error}", directory.display()))?;
    let accepted =
        accepted.ok_or("no policy is accepted yet: see `postern-admin policy apply`, or sign `--files`")?;
    Ok((accepted.rules, accepted.digest.to_string()))
}

fn agrees(reviewer: &str, io: &mut Io<'_>) -> io::Result<bool> {
    let Some(answers) = io.answers.as_mut() else {
        writeln!(io.err, "not signed off: there is no terminal to ask on; in a script: --yes")?;
        return Ok(false);
    };
    write!(io.err, "Sign off this policy as {}? [y/N] ", escape(reviewer))?;
    io.err.flush()?;
    answers.discard()?;
    if matches!(answers.line()?.trim(), "y" | "Y" | "yes") {
        return Ok(true);
    }
    writeln!(io.err, "not signed off")?;
    Ok(false)
}

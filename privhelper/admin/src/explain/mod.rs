//! `policy explain`: the helper's decision of a request, its rule, and what the nearest other rules lack.
//!
//! The decision is the helper's own code on the same policy. Nothing is asked of the helper, nothing is done, and
//! no id or rate is used up.

mod alias;
mod mismatch;
mod model;
mod render;
pub mod request;
mod verdict;

use crate::host::Host;
use crate::io::{Exit, Io};
use crate::loaded_policy::{LoadedPolicy, requester_for};
use crate::policy::apply::Format;
use crate::text::{escape, escape_json, unknown};
use clap::Args;
use model::Outcome;
use postern_policy::{Code, Identity};
use request::Details;
use std::io;
use std::path::PathBuf;

/// `policy explain VERB ARGS…`.
#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// The request, as for postern: unit.restart nginx, package install hello, command NAME KEY=VALUE
    #[arg(required = true, value_name = "VERB ARGS")]
    words: Vec<String>,
    /// The client that asks [default: the only client, or the one of user postern]
    #[arg(long, value_name = "NAME")]
    client: Option<String>,
    /// The person whose open session is quoted [default: nobody's]
    #[arg(long, value_name = "USER")]
    person: Option<String>,
    /// A policy.toml, or a directory laid out like /etc/postern [default: the accepted policy]
    #[arg(long, value_name = "PATH")]
    policy: Option<PathBuf>,
    /// Bytes of new content
    #[arg(long, value_name = "N", default_value_t = 0, conflicts_with = "from")]
    bytes: u64,
    /// The new content, which is read and no more
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
    /// Mode asked for, such as 0644
    #[arg(long, value_name = "M")]
    mode: Option<String>,
    /// Owner asked for
    #[arg(long, value_name = "U")]
    owner: Option<String>,
    /// Group asked for
    #[arg(long, value_name = "G")]
    group: Option<String>,
    /// With unit.enable, disable and mask: at once as well
    #[arg(long)]
    now: bool,
    /// With package.upgrade: every installed package
    #[arg(long)]
    all: bool,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

/// `policy explain`. Exit 0 allowed, 4 asks, 3 refused, 2 not a request.
///
/// # Errors
/// The result cannot be written.
pub fn run(host: &Host, args: &ExplainArgs, io: &mut Io<'_>) -> io::Result<Exit> {
    let usage = |io: &mut Io<'_>, why: String| writeln!(io.err, "{}", escape(&why)).map(|()| Exit::Usage);
    let details = match details(args) {
        Ok(details) => details,
        Err(why) => return usage(io, why),
    };
    let (verb, mut elements) = match request::parse(&args.words, &details) {
        Ok(parsed) => parsed,
        Err(why) => return usage(io, why),
    };
    let loaded = match LoadedPolicy::load(host, args.policy.as_deref()) {
        Ok(loaded) => loaded,
        Err(error) => return error.print(io),
    };
    let clients = match requester(&loaded, host, args.client.as_deref()) {
        Ok(clients) => clients,
        Err(why) => return usage(io, why),
    };
    let policy = match loaded.for_clients(&clients) {
        Ok(policy) => policy,
        Err(why) => return usage(io, format!("the helper refuses the policy: {why}")),
    };
    // Another policy than the active one may be another host's.
    let aliases = if args.policy.is_none() { alias::add(host, &mut elements) } else { Vec::new() };
    let who = requester_for(args.person.as_deref().map(|name| person(&loaded, host, name)));
    let mut explained = verdict::explain(&loaded, &policy, (clients, &who), verb, &elements);
    let notes = aliases.iter().map(|alias| alias::note(alias, &explained)).collect::<Vec<_>>();
    explained.policy.notes.extend(notes);
    let format = if args.json { Format::Json } else { Format::Text };
    match format {
        Format::Json => writeln!(io.out, "{}", escape_json(&serde_json::to_string(&explained)?))?,
        Format::Text => render::text(&explained, io.out)?,
    }
    Ok(match (explained.decision, explained.code) {
        (Outcome::Allow, _) => Exit::Done,
        (Outcome::Ask, _) => Exit::NotApproved,
        (Outcome::Refuse, Some(Code::InvalidArgument)) => Exit::Usage,
        (Outcome::Refuse, _) => Exit::Refused,
    })
}

fn details(args: &ExplainArgs) -> Result<Details, String> {
    let read = |path: &PathBuf| std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()));
    let content = args.from.as_ref().map(read).transpose()?;
    Ok(Details {
        bytes: content.as_ref().map_or(args.bytes, |content| content.len() as u64),
        content: content.map(Into::into),
        mode: args.mode.clone(),
        owner: args.owner.clone(),
        group: args.group.clone(),
        now: args.now,
        all: args.all,
    })
}

/// A person with those of the policy's groups that they are in. A name that this host does not know is in none.
fn person(loaded: &LoadedPolicy, host: &Host, name: &str) -> Identity {
    let uid = (host.accounts.user)(name);
    let named = loaded.rules.rules.iter().flat_map(|rule| &rule.people);
    let groups = named.filter_map(|name| name.strip_prefix("group:"));
    let is_member = |group: &&str| {
        (host.accounts.group)(group).zip(uid).is_some_and(|((_, uids), uid)| uids.contains(&uid))
    };
    let groups = groups.filter(is_member).map(str::to_owned).collect();
    Identity { uid: uid.unwrap_or_default(), users: vec![name.to_owned()], groups, ..Identity::default() }
}

/// The names of all clients that the requester is.
fn requester(loaded: &LoadedPolicy, host: &Host, named: Option<&str>) -> Result<Vec<String>, String> {
    let all = &loaded.rules.clients;
    let known = || all.iter().map(|client| client.name.as_str());
    let name = match (named, all.as_slice()) {
        (Some(named), _) if known().any(|name| name == named) => named,
        (Some(named), _) => {
            return Err(unknown("client", named, known()));
        }
        (None, []) => return Err("the policy has no client: it refuses everybody".to_owned()),
        (None, [only]) => &only.name,
        (None, _) => {
            let agent = all.iter().find(|client| client.user == "postern");
            let list = known().collect::<Vec<_>>().join(", ");
            let why = format!("name the client with --client: {list}");
            agent.map(|client| client.name.as_str()).ok_or(why)?
        }
    };
    Ok(loaded.names_of_same_user(host, name))
}

//! `policy rehearse "TASK"`: predicts the grants that a task needs, without doing it.
//!
//! The agent plans the task in a dry run as the person who would give it: the helper decides each request and acts
//! on none. The decisions are read from the audit log, so that they are the helper's and not the agent's claim.

use crate::audit::{chosen, view};
use crate::host::Host;
use crate::io::{Exit, Io};
use crate::programs::output;
use crate::suggest::{self, Seen};
use crate::text::{count, escape};
use clap::Args;
use serde_json::Value;
use std::io;

/// Arguments of `policy rehearse`.
#[derive(Debug, Args)]
pub struct RehearseArgs {
    /// The task in plain words, as for `postern run`
    task: String,
    /// The user who would give it [default: you]
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
}

/// The helper's decision on one request.
struct Decided {
    verb: String,
    words: String,
    exit: Exit,
}

/// `policy rehearse`. Exit 0 if each request is granted, 4 if one asks a person, 3 if one is refused.
///
/// # Errors
/// The output cannot be written.
pub fn run(host: &Host, args: &RehearseArgs, io: &mut Io<'_>) -> io::Result<Exit> {
    match rehearsed(host, args).and_then(|task| Ok((read(host, &task)?, task))) {
        Ok(((decided, seen), task)) => {
            table(&decided, &task, io)?;
            let is = |wanted: Exit| decided.iter().any(|one| one.exit == wanted);
            if is(Exit::Refused) {
                writeln!(io.out)?;
                let shown = suggest::show(host, seen, io)?;
                return Ok(if shown == Exit::Done { Exit::Refused } else { shown });
            }
            Ok(if is(Exit::NotApproved) { Exit::NotApproved } else { Exit::Done })
        }
        Err((exit, why)) => writeln!(io.err, "{}", escape(&why)).map(|()| exit),
    }
}

/// The finished task of the agent's dry run.
fn rehearsed(host: &Host, args: &RehearseArgs) -> Result<Value, (Exit, String)> {
    let postern = host.programs.postern.display().to_string();
    let words = ["--dry-run", "--json", "run", "--", args.task.as_str()];
    let said = match person(host, args)? {
        Some(name) => {
            let words = [&["--user", name.as_str(), "--", postern.as_str()][..], &words].concat();
            output(&host.programs.runuser, &words)
        }
        None => output(&host.programs.postern, &words),
    };
    let said = said.map_err(|why| (Exit::Failed, why))?;
    let task = serde_json::from_slice::<Value>(&said.stdout).unwrap_or_default();
    if task["id"].is_string() {
        return Ok(task);
    }
    let why = String::from_utf8_lossy(&said.stderr).trim().to_owned();
    Err((Exit::Failed, format!("the agent did not rehearse it; `postern doctor` may say why: {why}")))
}

/// The user to become; none: the caller. Only root can become somebody else.
fn person(host: &Host, args: &RehearseArgs) -> Result<Option<String>, (Exit, String)> {
    let uid = nix::unistd::geteuid().as_raw();
    let Some(name) = &args.user else {
        let login = (host.login_uid)().filter(|login| uid == host.owner_uid && *login != uid);
        return Ok(login.map(|login| (host.user_name)(login)));
    };
    match (host.accounts.user)(name) {
        Some(named) if named == uid => Ok(None),
        _ if uid != host.owner_uid => {
            Err((Exit::Usage, "--user: only root rehearses as somebody else".to_owned()))
        }
        Some(_) => Ok(Some(name.clone())),
        None => Err((Exit::Usage, format!("--user: {}", host.accounts.no_user(name)))),
    }
}

/// Reads the decisions on the task's requests from the log, and the refusals among them.
fn read(host: &Host, task: &Value) -> Result<(Vec<Decided>, Seen), (Exit, String)> {
    let files = chosen(host, &[]).map_err(|why| (Exit::Failed, why))?;
    let (mut decided, mut seen) = (Vec::new(), Seen::default());
    suggest::each_record(host, files, |record| {
        let is_of_it = record["task"] == task["id"];
        seen.take(record, is_of_it);
        decided.extend(Decided::of(record).filter(|_| is_of_it));
    })?;
    Ok((decided, seen))
}

impl Decided {
    /// Reads the decision from a record; `None` for events without one.
    fn of(record: &Value) -> Option<Self> {
        let exit = match (record["event"].as_str()?, record["decision"].as_str()) {
            ("refused", _) => Exit::Refused,
            ("previewed" | "served", Some("ask")) => Exit::NotApproved,
            ("previewed" | "served", _) => Exit::Done,
            _ => return None,
        };
        let verb = record["verb"].as_str().unwrap_or_default().to_owned();
        Some(Self { verb, words: view::summary(record), exit })
    }

    fn word(&self) -> &'static str {
        match self.exit {
            Exit::Refused => "refused",
            Exit::NotApproved => "asks",
            _ => "granted",
        }
    }
}

fn table(decided: &[Decided], task: &Value, io: &mut Io<'_>) -> io::Result<()> {
    let summary = task["summary"].as_str().unwrap_or_default();
    let requests = count(decided.len(), "request");
    writeln!(
        io.out,
        "# A rehearsal: nothing was changed. {requests} in the audit log, each decided by the helper:"
    )?;
    for one in decided {
        writeln!(io.out, "# {:8} {} {}", one.word(), escape(&one.verb), escape(&one.words))?;
    }
    writeln!(io.out, "#\n# The agent says:")?;
    for line in summary.lines() {
        writeln!(io.out, "#   {}", escape(line))?;
    }
    if decided.iter().any(|one| one.exit == Exit::Refused) {
        writeln!(
            io.out,
            "# After a refusal a model may plan otherwise than it would with the grant: rehearse again with it."
        )?;
    }
    Ok(())
}

//! `approve` and `deny`: the order is shown, a person agrees to exactly its bytes, the recorder gets their approval digest.

use super::arguments::{Agreement, Decision, Selection};
use super::render::{field, inline};
use super::result::{CommandError, CommandResult, Tally, call};
use super::terminal::Console;
use super::waiting::{WaitingRequest, all, resolve, short, too_long};
use crate::host::Host;
use crate::io::{Exit, Io};
use crate::operator::CallError;
use crate::text::count;
use postern_policy::types::Digest;
use postern_proto::v1::{Approval, OperatorDecideRequest, OperatorDecided, Verdict};

/// Fewest columns in which a row holds its gutter, the longest mark and something to read.
const COLUMNS_MIN: usize = 40;
/// How many digits of the digest a person types.
const TYPED: usize = 4;

/// `approve`. Shows every text before it asks; any input but the digits changes nothing.
///
/// # Errors
/// The recorder does not answer, nobody can be asked, or nobody agreed.
pub fn approve(
    host: &Host,
    which: &Selection,
    with: &Decision,
    person: Option<&mut dyn Console>,
    io: &mut Io<'_>,
) -> CommandResult {
    let shown = chosen(host, which)?
        .iter()
        .map(|id| WaitingRequest::fetch(host, id))
        .collect::<Result<Vec<_>, _>>()?;
    if let Some(why) = too_long(&shown) {
        return Err(CommandError::Message(Exit::Refused, why));
    }
    let digest = match (which, shown.as_slice()) {
        (Selection::Id(_), [one]) => one.digest,
        _ => Digest::of(&shown.iter().map(|one| one.digest.as_bytes()).collect::<Vec<_>>()),
    };
    require_agreement(with.agreement, which, &shown, digest, person)?;
    let mut tally = Tally::default();
    for one in &shown {
        let answer = decide(host, &one.approval.approval_id, Some(one.digest), &with.reason);
        let words = answer.map(|missing| match missing {
            0 => "approved: runs now".to_owned(),
            1 => "approved, 1 more person must agree".to_owned(),
            many => format!("approved, {many} more people must agree"),
        });
        print_outcome(&mut tally, which, &one.approval.approval_id, words, io)?;
    }
    if let Selection::Task(task) = which {
        print_newly_waiting(host, task, &shown, io)?;
    }
    Ok(tally.exit())
}

/// Lists requests of the task that began to wait after the texts were shown.
fn print_newly_waiting(
    host: &Host,
    task: &str,
    shown: &[WaitingRequest],
    io: &mut Io<'_>,
) -> Result<(), CommandError> {
    let waiting = match all(host) {
        Ok(waiting) => waiting,
        // The approvals were printed already and remain valid.
        Err(CommandError::Message(_, why)) => {
            return Ok(writeln!(io.err, "requests that began to wait meanwhile are unknown: {why}")?);
        }
        Err(stop @ CommandError::Output(_)) => return Err(stop),
    };
    let seen = |late: &Approval| shown.iter().any(|one| one.approval.approval_id == late.approval_id);
    for late in waiting.iter().filter(|late| late.task == task && !seen(late)) {
        let (id, verb, target) = (short(&late.approval_id, &[]), inline(&late.verb), inline(&late.target));
        writeln!(io.err, "{id}: not approved, it came to wait after the texts were shown: {verb} {target}")?;
    }
    Ok(())
}

/// `deny`.
///
/// # Errors
/// The recorder does not answer, or nothing of the kind waits.
pub fn deny(host: &Host, which: &Selection, reason: &str, io: &mut Io<'_>) -> CommandResult {
    let mut tally = Tally::default();
    for id in chosen(host, which)? {
        let words = decide(host, &id, None, reason).map(|_| "denied".to_owned());
        print_outcome(&mut tally, which, &id, words, io)?;
    }
    Ok(tally.exit())
}

/// The ids of what is meant, at least one.
fn chosen(host: &Host, which: &Selection) -> Result<Vec<String>, CommandError> {
    let task = match which {
        Selection::Id(prefix) => return Ok(vec![resolve(host, prefix)?]),
        Selection::Task(task) => task,
    };
    let ids: Vec<String> =
        all(host)?.into_iter().filter(|one| one.task == *task).map(|one| one.approval_id).collect();
    if ids.is_empty() {
        let why =
            format!("unknown_request: nothing of task `{}` waits; see `postern-admin pending`", inline(task));
        return Err(CommandError::Message(Exit::Refused, why));
    }
    Ok(ids)
}

/// Returns if somebody agreed to all of `shown`.
fn require_agreement(
    agreement: Agreement,
    which: &Selection,
    shown: &[WaitingRequest],
    digest: Digest,
    person: Option<&mut dyn Console>,
) -> Result<(), CommandError> {
    let no =
        |why: &str| Err(CommandError::Message(Exit::NotApproved, format!("nothing was approved: {why}")));
    match (agreement, person) {
        (Agreement::Digest(given), _) if given == digest => Ok(()),
        (Agreement::Digest(_), _) => no("the order now has another digest than the one that was reviewed"),
        (Agreement::Ask, Some(person)) => {
            if ask(which, shown, digest, person)? {
                Ok(())
            } else {
                no("the answer was not the four digits")
            }
        }
        (Agreement::Ask, None) => {
            let why = "not approved: there is no terminal to ask on; a script that has reviewed the order (`postern-admin show ID --json`) uses \
                       `--digest` with its digest";
            Err(CommandError::Message(Exit::Usage, why.to_owned()))
        }
    }
}

/// Shows every text, then repeats the essentials right above the question, however long the texts were.
fn ask(
    which: &Selection,
    shown: &[WaitingRequest],
    digest: Digest,
    person: &mut dyn Console,
) -> Result<bool, CommandError> {
    let screen = person.screen();
    if screen.columns < COLUMNS_MIN {
        let why =
            format!("not approved: this terminal has {} columns, {COLUMNS_MIN} are needed", screen.columns);
        return Err(CommandError::Message(Exit::Failed, why));
    }
    for (number, one) in (1_usize..).zip(shown) {
        person.show(&format!("--- {number} of {}\n", shown.len()))?;
        person.show(&one.rendered(screen))?;
    }
    let mut asked = format!("--- to agree to {}\n", count(shown.len(), "request"));
    for one in shown {
        asked += &(one.named(screen) + &field("sha256", &one.digest.to_string(), screen));
    }
    let all = digest.to_string();
    match which {
        Selection::Id(_) => {}
        Selection::Task(_) => asked += &field("of all", &all, screen),
    }
    let last = all.get(all.len() - TYPED..).unwrap_or(&all);
    let answer = person
        .ask(&format!("{asked}Type {last}, its last digits, to agree; anything else changes nothing: "))?;
    Ok(answer.eq_ignore_ascii_case(last))
}

/// Tells the recorder; returns how many more must agree. A digest is an agreement, none a denial.
fn decide(host: &Host, id: &str, agreed: Option<Digest>, reason: &str) -> Result<u32, CallError> {
    let request = OperatorDecideRequest {
        approval_id: id.to_owned(),
        shown_sha256: agreed.map(|digest| digest.as_bytes().to_vec()).unwrap_or_default(),
        verdict: if agreed.is_some() { Verdict::Approve } else { Verdict::Deny }.into(),
        reason: reason.to_owned(),
    };
    call(host, "Operator/Decide", &request).map(|decided: OperatorDecided| decided.missing)
}

/// Prints the outcome of one request.
fn print_outcome(
    tally: &mut Tally,
    which: &Selection,
    id: &str,
    words: Result<String, CallError>,
    io: &mut Io<'_>,
) -> Result<(), CommandError> {
    let name = match which {
        Selection::Id(_) => String::new(),
        Selection::Task(_) => format!("{}: ", short(id, &[])),
    };
    tally.add(words.as_ref().map(|_| ()).map_err(CallError::exit));
    match words {
        Ok(words) => writeln!(io.out, "{name}{words}")?,
        Err(error) => writeln!(io.err, "{name}{error}")?,
    }
    Ok(())
}

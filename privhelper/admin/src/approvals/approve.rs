//! `approve` and `deny`: the order is shown, a person agrees to exactly its bytes, the recorder gets their approval digest.

use super::answer::{Consent, Decision, Which};
use super::ended::{Ended, Stop, Tally, call};
use super::render::{field, inline};
use super::terminal::Person;
use super::waiting::{Shown, all, resolve, short, too_long};
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

/// `approve`. A person is shown every text before the question stands, and whatever is typed but the digits changes nothing.
///
/// # Errors
/// The recorder does not answer, nobody can be asked, or nobody agreed.
pub fn approve(
    host: &Host,
    which: &Which,
    with: &Decision,
    person: Option<&mut dyn Person>,
    io: &mut Io<'_>,
) -> Ended {
    let shown =
        chosen(host, which)?.iter().map(|id| Shown::fetch(host, id)).collect::<Result<Vec<_>, _>>()?;
    if let Some(why) = too_long(&shown) {
        return Err(Stop::Told(Exit::Refused, why));
    }
    let digest = match (which, shown.as_slice()) {
        (Which::Id(_), [one]) => one.digest,
        _ => Digest::of(&shown.iter().map(|one| one.digest.as_bytes()).collect::<Vec<_>>()),
    };
    consent(with.consent, which, &shown, digest, person)?;
    let mut tally = Tally::default();
    for one in &shown {
        let answer = decide(host, &one.approval.approval_id, Some(one.digest), &with.reason);
        let words = answer.map(|missing| match missing {
            0 => "approved: runs now".to_owned(),
            1 => "approved, 1 more person must agree".to_owned(),
            many => format!("approved, {many} more people must agree"),
        });
        tell(&mut tally, which, &one.approval.approval_id, words, io)?;
    }
    if let Which::Task(task) = which {
        late(host, task, &shown, io)?;
    }
    Ok(tally.exit())
}

/// Names what came to wait after the texts were shown.
fn late(host: &Host, task: &str, shown: &[Shown], io: &mut Io<'_>) -> Result<(), Stop> {
    let waiting = match all(host) {
        Ok(waiting) => waiting,
        // What was agreed to is told already, and stands.
        Err(Stop::Told(_, why)) => {
            return Ok(writeln!(io.err, "what came to wait meanwhile is not known: {why}")?);
        }
        Err(stop @ Stop::Output(_)) => return Err(stop),
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
pub fn deny(host: &Host, which: &Which, reason: &str, io: &mut Io<'_>) -> Ended {
    let mut tally = Tally::default();
    for id in chosen(host, which)? {
        let words = decide(host, &id, None, reason).map(|_| "denied".to_owned());
        tell(&mut tally, which, &id, words, io)?;
    }
    Ok(tally.exit())
}

/// The ids of what is meant, at least one.
fn chosen(host: &Host, which: &Which) -> Result<Vec<String>, Stop> {
    let task = match which {
        Which::Id(prefix) => return Ok(vec![resolve(host, prefix)?]),
        Which::Task(task) => task,
    };
    let ids: Vec<String> =
        all(host)?.into_iter().filter(|one| one.task == *task).map(|one| one.approval_id).collect();
    if ids.is_empty() {
        let why =
            format!("unknown_request: nothing of task `{}` waits; see `postern-admin pending`", inline(task));
        return Err(Stop::Told(Exit::Refused, why));
    }
    Ok(ids)
}

/// Returns if somebody agreed to all of `shown`.
fn consent(
    consent: Consent,
    which: &Which,
    shown: &[Shown],
    digest: Digest,
    person: Option<&mut dyn Person>,
) -> Result<(), Stop> {
    let no = |why: &str| Err(Stop::Told(Exit::NotApproved, format!("nothing was approved: {why}")));
    match (consent, person) {
        (Consent::Given(given), _) if given == digest => Ok(()),
        (Consent::Given(_), _) => no("the order now has another digest than the one that was reviewed"),
        (Consent::Ask, Some(person)) => {
            if ask(which, shown, digest, person)? {
                Ok(())
            } else {
                no("the answer was not the four digits")
            }
        }
        (Consent::Ask, None) => {
            let why = "not approved: nobody is there to answer; a script that has reviewed the order (`postern-admin show ID --json`) says \
                       `--digest` with its digest";
            Err(Stop::Told(Exit::Usage, why.to_owned()))
        }
    }
}

/// Shows everything, then asks: what is asked stands right above the question, however long the texts were.
fn ask(which: &Which, shown: &[Shown], digest: Digest, person: &mut dyn Person) -> Result<bool, Stop> {
    let look = person.look();
    if look.columns < COLUMNS_MIN {
        let why =
            format!("not approved: this terminal has {} columns, {COLUMNS_MIN} are needed", look.columns);
        return Err(Stop::Told(Exit::Failed, why));
    }
    for (number, one) in (1_usize..).zip(shown) {
        person.show(&format!("--- {number} of {}\n", shown.len()))?;
        person.show(&one.rendered(look))?;
    }
    let mut asked = format!("--- to agree to {}\n", count(shown.len(), "request"));
    for one in shown {
        asked += &(one.named(look) + &field("sha256", &one.digest.to_string(), look));
    }
    let all = digest.to_string();
    match which {
        Which::Id(_) => {}
        Which::Task(_) => asked += &field("of all", &all, look),
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

/// Tells how it went with one.
fn tell(
    tally: &mut Tally,
    which: &Which,
    id: &str,
    words: Result<String, CallError>,
    io: &mut Io<'_>,
) -> Result<(), Stop> {
    let name = match which {
        Which::Id(_) => String::new(),
        Which::Task(_) => format!("{}: ", short(id, &[])),
    };
    tally.add(words.as_ref().map(|_| ()).map_err(CallError::exit));
    match words {
        Ok(words) => writeln!(io.out, "{name}{words}")?,
        Err(error) => writeln!(io.err, "{name}{error}")?,
    }
    Ok(())
}

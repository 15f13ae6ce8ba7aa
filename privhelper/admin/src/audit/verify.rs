//! `audit verify`: what of the log is proven, by what, and what is not.

use super::agent::{self, AgentLog};
use super::chain::{self, Extent, Verdict};
use super::files::chosen;
use super::proof::Proof;
use super::statements::Difference;
use super::storage::keeps_old;
use super::tips;
use super::verified::LastVerification;
use super::witness::{self, Witness};
use crate::host::Host;
use crate::io::{Exit, Io};
use crate::text::{count, escape};
use clap::Args;
use postern_seal::{Epoch, Public};
use serde_json::{Value, json};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// `audit verify`.
#[derive(Debug, Args)]
pub struct VerifyArgs {
    /// The log's files in order, as they are or packed by gzip or zstd [default: all of /var/log/postern]
    files: Vec<PathBuf>,
    /// Check the seals with the key that `audit keygen` showed, read from this file, `-` for standard input
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    /// Check the signatures: the public key that `audit keygen` or an earlier verification printed
    #[arg(long, value_name = "KEY", value_parser = public)]
    public: Option<Public>,
    /// A tip that an earlier verification printed and that was kept elsewhere
    #[arg(long, value_name = "SEQ:HASH", value_parser = tips::parse)]
    tip: Vec<super::KnownRecord>,
    /// Compare with the lines that root writes into the journal before each effect
    #[arg(long)]
    journal: bool,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

fn public(text: &str) -> Result<Public, String> {
    Public::from_hex(text).ok_or_else(|| "a public key is 64 lower-case hex digits".to_owned())
}

/// Longest file that holds a key.
const KEY_MAX: u64 = 4096;
/// A log that changes while it is read is read again, if something seems to be wrong with it.
const TRIES: usize = 3;

/// `audit verify`.
///
/// # Errors
/// The result cannot be written.
pub fn run(host: &Host, args: &VerifyArgs, io: &mut Io<'_>) -> io::Result<Exit> {
    let epoch = match args.key.as_deref().map(key).transpose() {
        Ok(epoch) => epoch,
        Err(why) => {
            writeln!(io.err, "--key: {}", escape(&why))?;
            return Ok(Exit::Usage);
        }
    };
    let is_installed = args.files.is_empty();
    let extent = if is_installed { Extent::Installed } else { Extent::Named };
    let mut proof = Proof { epoch, public: args.public, known: args.tip.clone(), ..Proof::default() };
    let mut notes = Vec::new();
    if is_installed {
        notes.extend(add_known_records(host, &mut proof));
    }
    proof.known.sort_by_key(|known| known.seq);
    let (verdict, files) = match settled(host, &args.files, extent, &proof) {
        Ok(settled) => settled,
        Err(why) => {
            writeln!(io.err, "{}", escape(&why))?;
            return Ok(Exit::Failed);
        }
    };
    let witness = match args.journal.then(|| witness::compare(host, &files)).transpose() {
        Ok(witness) => witness,
        Err(why) => {
            writeln!(io.err, "--journal: {}", escape(&why))?;
            return Ok(Exit::Failed);
        }
    };
    let agent = if is_installed { agent::verify(host, &files) } else { Ok(None) };
    let agent = agent.unwrap_or_else(|why| {
        notes.push(format!("the agent's log is not verified: {why}"));
        None
    });
    let found =
        Verified { verdict: &verdict, witness: witness.as_ref(), agent: agent.as_ref(), files: files.len() };
    let is_root = nix::unistd::geteuid().as_raw() == host.owner_uid;
    if let Some(seq) = verdict.last_seq.filter(|_| is_installed && is_root && found.is_right())
        && let Err(error) = LastVerification::new(seq, proof.epoch.is_some()).write(&host.own)
    {
        notes.push(format!("that the log was verified is not noted for `doctor`: {error}"));
    }
    print(&found, &proof, args, &notes, io)
}

/// Verifies the log, again if it was written to or put away meanwhile.
///
/// # Errors
/// There is no log, or a file cannot be read; in words.
pub(crate) fn settled(
    host: &Host,
    named: &[PathBuf],
    extent: Extent,
    proof: &Proof,
) -> Result<(Verdict, Vec<PathBuf>), String> {
    let mut attempt = 1;
    loop {
        let files = chosen(host, named)?;
        let before = size(&files);
        let verdict = chain::verify(&files, extent, proof);
        let is_live = extent == Extent::Installed && attempt < TRIES;
        let has_moved = || before != size(&files) || chosen(host, &[]).is_ok_and(|now| now != files);
        match verdict {
            // A record that is just being written looks like a fault.
            Ok(Verdict { bad: Some(_), .. }) | Err(_) if is_live && has_moved() => attempt += 1,
            Ok(verdict) => return Ok((verdict, files)),
            Err((file, error)) => return Err(format!("{}: {error}", file.display())),
        }
    }
}

/// How long the file is that may still be written.
fn size(files: &[PathBuf]) -> Option<u64> {
    files.last()?.metadata().ok().map(|file| file.len())
}

/// Says for a page how far this host's logs are proven, and whether nothing is wrong with them.
pub(super) fn in_sentences(host: &Host) -> (Vec<String>, bool) {
    let mut proof = Proof::default();
    // `audit verify` names what is missing.
    let _ = add_known_records(host, &mut proof);
    proof.known.sort_by_key(|known| known.seq);
    let (verdict, files) = match settled(host, &[], Extent::Installed, &proof) {
        Ok(settled) => settled,
        Err(why) => return (vec![why], false),
    };
    let mut sentences = vec![match &verdict.bad {
        None => format!("recorder's log: valid, {}; {}", seals(&verdict), tail(&verdict)),
        Some(bad) => format!("recorder's log: NOT VALID: {}", bad.reason),
    }];
    let agent = agent::verify(host, &files);
    let is_agents = agent.as_ref().is_ok_and(|agent| agent.as_ref().is_none_or(AgentLog::is_right));
    match agent {
        Ok(agent) => sentences.extend(agent.map(|agent| agent.lines()).unwrap_or_default()),
        Err(why) => sentences.push(format!("agent's log: not verified: {why}")),
    }
    (sentences, verdict.bad.is_none() && verdict.differences.is_empty() && is_agents)
}

/// Adds this host's knowledge of its own log; returns notes about missing sources.
pub(crate) fn add_known_records(host: &Host, proof: &mut Proof) -> Vec<String> {
    let mut notes = Vec::new();
    match tips::journal(host) {
        Ok(tips) => proof.known.extend(tips),
        Err(why) => notes.push(format!("the journal's tips are not known: {why}")),
    }
    proof.known.extend(tips::running(host));
    if let Some(why) = keeps_old(&host.state) {
        notes.push(format!("erased seeds of the seal may remain on the disk: {why}"));
    }
    notes
}

/// The key in a file: 64 hex digits, after `N:` if it is not of epoch 0, or the form of `seal/next`.
fn key(path: &Path) -> Result<Epoch, String> {
    let path = if path == Path::new("-") { Path::new("/dev/stdin") } else { path };
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(|error| format!("{}: {error}", path.display()))?;
    file.take(KEY_MAX).read_to_end(&mut bytes).map_err(|error| format!("{}: {error}", path.display()))?;
    let epoch = Epoch::decode(&bytes).or_else(|| {
        let text = std::str::from_utf8(&bytes).ok()?.trim();
        let (number, seed) = text.split_once(':').unwrap_or(("0", text));
        Epoch::new(number.parse().ok()?, seed)
    });
    epoch.ok_or_else(|| format!("{}: there is no key as `audit keygen` shows it", path.display()))
}

/// The result, with the number of files.
struct Verified<'a> {
    verdict: &'a Verdict,
    witness: Option<&'a Witness>,
    agent: Option<&'a AgentLog>,
    files: usize,
}

impl Verified<'_> {
    /// Whether the log is whole and nobody contradicts it.
    fn is_right(&self) -> bool {
        let is_witnessed = self.witness.is_none_or(|witness| witness.wrong.is_empty());
        let is_agents = self.agent.is_none_or(AgentLog::is_right);
        self.verdict.bad.is_none() && self.verdict.differences.is_empty() && is_witnessed && is_agents
    }
}

fn print(
    found: &Verified<'_>,
    proof: &Proof,
    args: &VerifyArgs,
    notes: &[String],
    io: &mut Io<'_>,
) -> io::Result<Exit> {
    let exit = if found.is_right() { Exit::Done } else { Exit::Failed };
    if args.json {
        writeln!(io.out, "{}", as_json(found, proof, notes))?;
        return Ok(exit);
    }
    let (verdict, files) = (found.verdict, found.files);
    let number = |number: u64, noun: &str| count(usize::try_from(number).unwrap_or(usize::MAX), noun);
    let records = number(verdict.records, "record");
    let span = match (verdict.first_seq, verdict.last_seq) {
        (Some(first), Some(last)) => format!(" ({first} to {last})"),
        _ => String::new(),
    };
    match &verdict.bad {
        None => writeln!(io.out, "valid: {records}{span} in {}, {}", count(files, "file"), seals(verdict))?,
        Some(bad) => {
            let line = if bad.line == 0 { String::new() } else { format!(":{}", bad.line) };
            let place = escape(&bad.file.display().to_string());
            writeln!(io.out, "NOT VALID: {place}{line}: {}: {}", bad.kind.name(), escape(&bad.reason))?;
            writeln!(io.out, "valid before it: {records}{span}, {}", seals(verdict))?;
        }
    }
    for Difference { begin, end, what } in &verdict.differences {
        writeln!(io.out, "DIFFERENT: records {begin} and {end}: {}", escape(what))?;
    }
    if let Some(witness) = found.witness {
        let lines = number(witness.lines, "line");
        writeln!(io.out, "journal: {lines} of root's, {} as recorded", number(witness.matched, "effect"))?;
        for wrong in &witness.wrong {
            writeln!(io.out, "DIFFERENT: {}", escape(wrong))?;
        }
    }
    let state = &verdict.state;
    if let Some(to) = state.signed_to {
        writeln!(io.out, "signed up to record {to}: {} checked", number(state.signatures, "signature"))?;
    }
    if verdict.torn > 0 {
        let torn = number(verdict.torn, "torn line");
        writeln!(io.out, "{torn}, as recorded: a write was cut short there by a crash")?;
    }
    if !state.open_ends.is_empty() {
        let ends = state.open_ends.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
        writeln!(
            io.out,
            "a boot ended without `stop` after record {ends}: later records of that boot could be missing"
        )?;
    }
    writeln!(io.out, "{}", tail(verdict))?;
    if let Some(last) = verdict.last_seq {
        writeln!(io.out, "tip: {last}:{}", verdict.last_hash)?;
    }
    if let Some(key) = &state.next_public {
        writeln!(io.out, "public key of the next signature: {key}")?;
    }
    for line in found.agent.map(AgentLog::lines).unwrap_or_default() {
        writeln!(io.out, "{line}")?;
    }
    let notes = notes.iter().cloned().chain(remarks(verdict, proof));
    for note in notes {
        writeln!(io.err, "note: {}", escape(&note))?;
    }
    Ok(exit)
}

/// How far seals prove it.
fn seals(verdict: &Verdict) -> String {
    let state = &verdict.state;
    match (state.sealed_from, state.checked_from) {
        (None, _) => "unsealed".to_owned(),
        (Some(from), None) => format!("sealed from record {from}, seals not checked"),
        (Some(from), Some(checked)) if from == checked => format!("sealed from record {from}, seals checked"),
        (Some(from), Some(checked)) => {
            format!("sealed from record {from}, seals checked from record {checked}")
        }
    }
}

/// How far the end is proven: a file alone cannot show that nothing was cut off behind it.
fn tail(verdict: &Verdict) -> String {
    let Some(last) = verdict.last_seq else { return "the log is empty".to_owned() };
    match verdict.state.known_to {
        Some(known) if known == last => {
            format!("the end is proven: record {last} is known elsewhere as the last")
        }
        Some(known) => {
            format!("whole up to record {last}, tail not proven; known elsewhere up to record {known}")
        }
        None => format!("whole up to record {last}, tail not proven"),
    }
}

fn remarks(verdict: &Verdict, proof: &Proof) -> Vec<String> {
    let state = &verdict.state;
    let mut notes = Vec::new();
    if verdict.first_seq.is_some_and(|first| first > 1) {
        let kept = state.kept.zip(verdict.first_seq).filter(|(kept, first)| first <= kept);
        notes.push(match kept {
            Some((kept, _)) => format!(
                "the records before {kept} were removed by retention, as the log states, and are not verified"
            ),
            None => "the records before the first are missing and not verified".to_owned(),
        });
    }
    if verdict.bad.is_none() && state.sealed_from.is_none() {
        notes.push("unsealed, so root could have rewritten the whole log: keep the tip elsewhere and pass it with --tip, or seal the log with `audit keygen`".to_owned());
    } else if state.sealed_from.is_some() && proof.epoch.is_none() && state.signatures == 0 {
        notes.push(
            "only hashes were checked, and root could have rewritten those: use --key or --public".to_owned(),
        );
    }
    notes
}

fn as_json(found: &Verified<'_>, proof: &Proof, notes: &[String]) -> Value {
    let (verdict, files) = (found.verdict, found.files);
    let differences = verdict
        .differences
        .iter()
        .map(|Difference { begin, end, what }| json!({ "begin": begin, "end": end, "what": what }));
    let journal = found
        .witness
        .map(|witness| json!({ "lines": witness.lines, "matched": witness.matched, "wrong": witness.wrong }));
    let state = &verdict.state;
    let bad = verdict.bad.as_ref().map(|bad| {
        json!({ "file": bad.file.display().to_string(), "line": bad.line, "kind": bad.kind, "reason": bad.reason })
    });
    let agent = found.agent.map(AgentLog::json);
    let is_proven = verdict.last_seq.is_some() && state.known_to == verdict.last_seq;
    let notes = notes.iter().cloned().chain(remarks(verdict, proof)).collect::<Vec<_>>();
    json!({
        "v": 1, "valid": bad.is_none(), "files": files, "records": verdict.records,
        "first_seq": verdict.first_seq, "last_seq": verdict.last_seq, "last_hash": verdict.last_hash,
        "torn": verdict.torn, "sealed": state.sealed_from.is_some(), "sealed_from": state.sealed_from,
        "seals_checked_from": state.checked_from, "epoch": state.epoch, "signatures": state.signatures,
        "signed_to": state.signed_to, "next_public": state.next_public,
        "tail": if is_proven { "proven" } else { "not_proven" }, "known_to": state.known_to,
        "open_ends": state.open_ends, "tampered": state.tampered, "kept": state.kept,
        "differences": differences.collect::<Vec<_>>(), "journal": journal, "agent": agent, "notes": notes, "bad": bad,
    })
}

//! `backup` and `restore`: the policy's files, the agent's configuration, sign-offs, groups and the log's tip in one file that a
//! person keeps elsewhere.
//!
//! A backup holds no key. The log itself stays where it is: the tip proves later that nothing of it up to then was changed or cut off.

mod config;

use crate::audit::verify::settled;
use crate::audit::{Extent, Proof, tips};
use crate::finding::Severity;
use crate::host::Host;
use crate::init::people;
use crate::io::{Exit, Io};
use crate::policy::Purpose;
use crate::policy::accepted;
use crate::policy::apply::{self, Confirmation, load, load_edited, run_edited, short};
use crate::policy::edit::Edit;
use crate::policy::sign_off::{self, SignOff};
use crate::policy::source::Owner;
use crate::text::{count, escape, now, time};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

/// The version of the format.
const VERSION: u32 = 2;

/// Left out of a backup, and the reason.
const LEFT_OUT: &str = "not in it: the agent's tasks, schedules and knowledge base (/var/lib/postern, a database that is copied \
    while the agent is stopped), files that agent.toml names (keys), undo copies, the audit log";

/// A backup.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Backup {
    v: u32,
    host: String,
    unix_s: u64,
    /// The digest of the policy that the files are.
    digest: String,
    /// The policy's files by their path below /etc/postern.
    files: BTreeMap<String, String>,
    /// The agent's configuration by path below /etc/postern.
    config: config::Files,
    /// Members of Postern's groups, by name.
    groups: BTreeMap<String, Vec<String>>,
    /// The reason of the pause; none if requests begin.
    paused: Option<String>,
    sign_offs: Vec<SignOff>,
    /// `SEQ:HASH` of the log's last record; none without a record.
    tip: Option<String>,
}

/// `backup`: writes the file, which must not exist.
///
/// # Errors
/// The output cannot be written.
pub fn backup(host: &Host, path: &Path, io: &mut Io<'_>) -> io::Result<Exit> {
    match taken(host).and_then(|backup| write(path, &backup).map(|()| backup)) {
        Ok(backup) => {
            let files = count(backup.files.len(), "file");
            let config = count(backup.config.len(), "file");
            writeln!(
                io.out,
                "{}: {files} of policy {}, {config} of the agent's configuration, groups, sign-offs",
                escape(&path.display().to_string()),
                short(&backup.digest)
            )?;
            let accepted = accepted::read(&host.accepted_dir())?.map(|accepted| accepted.digest.to_string());
            if accepted.as_ref() != Some(&backup.digest) {
                writeln!(
                    io.out,
                    "WARNING: the files differ from the accepted policy; `restore` will accept the files"
                )?;
            }
            writeln!(io.out, "{LEFT_OUT}")?;
            if let Some(tip) = backup.tip {
                writeln!(io.out, "tip: {tip}")?;
            }
            Ok(Exit::Done)
        }
        Err(why) => fail(io, &format!("no backup: {why}")),
    }
}

fn taken(host: &Host) -> Result<Backup, String> {
    let (sources, findings, compiled) = load(&host.etc, Owner::Only(host.owner_uid), Purpose::Review, host);
    let error = findings.iter().find(|finding| finding.severity == Severity::Error);
    let compiled = compiled.ok_or_else(|| {
        error.map_or_else(
            || "the policy has errors".to_owned(),
            |error| format!("the policy has errors: {error}"),
        )
    })?;
    if let Some(source) = sources.iter().find(|source| !is_file_name(&source.relative)) {
        return Err(format!(
            "{:?} cannot be restored: its name is not UTF-8 or has a control character; rename it",
            source.name
        ));
    }
    let (verdict, _) = settled(host, &[], Extent::Installed, &Proof::default())?;
    if let Some(bad) = verdict.bad {
        return Err(format!("the audit log is not valid: {}", bad.reason));
    }
    let sign_offs = sign_off::read(&host.own).map_err(|error| format!("{}: {error}", host.own.display()))?;
    Ok(Backup {
        v: VERSION,
        host: host.name.clone(),
        unix_s: now(),
        digest: compiled.digest.to_string(),
        files: sources.into_iter().map(|source| (source.relative, source.text)).collect(),
        config: config::read(&host.etc)?,
        groups: people::all(host),
        paused: paused(host)?,
        sign_offs,
        tip: verdict.last_seq.map(|seq| format!("{seq}:{}", verdict.last_hash)),
    })
}

/// The reason that the recorder keeps for its next start.
fn paused(host: &Host) -> Result<Option<String>, String> {
    let path = host.state.join("paused");
    match fs::read(&path) {
        Ok(reason) => Ok(Some(String::from_utf8_lossy(&reason).into_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(format!("{}: {error}", path.display())),
    }
}

fn write(path: &Path, backup: &Backup) -> Result<(), String> {
    let say = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    if path.symlink_metadata().is_ok() {
        return Err(say(&"exists already"));
    }
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let bytes = serde_json::to_vec_pretty(backup).map_err(|error| say(&error))?;
    // tempfile makes it readable by its owner alone.
    let mut file = tempfile::NamedTempFile::new_in(directory).map_err(|error| say(&error))?;
    io::Write::write_all(&mut file, &bytes).map_err(|error| say(&error))?;
    file.as_file().sync_all().map_err(|error| say(&error))?;
    file.persist_noclobber(path).map(drop).map_err(|error| say(&error))
}

/// `restore`: puts the policy's files back and applies them as `policy apply` does; what is there stays if they are not accepted.
/// Then the agent's configuration. Membership and a pause are a person's acts: their commands are printed.
///
/// # Errors
/// The output cannot be written.
pub fn restore(host: &Host, path: &Path, confirmation: Confirmation, io: &mut Io<'_>) -> io::Result<Exit> {
    if nix::unistd::geteuid().as_raw() != host.owner_uid {
        return fail(io, "only root may restore a policy");
    }
    let backup = match read(path) {
        Ok(backup) => backup,
        Err(why) => return fail(io, &format!("nothing restored: {}: {why}", path.display())),
    };
    writeln!(
        io.out,
        "backup of {} on {}: policy {}",
        escape(&backup.host),
        time(backup.unix_s),
        short(&backup.digest)
    )?;
    writeln!(io.out, "{}", escape(&log_words(host, backup.tip.as_deref())))?;
    let edits = match edits(&host.etc, &backup.files) {
        Ok(edits) => edits,
        Err(error) => return fail(io, &format!("nothing restored: {}: {error}", host.etc.display())),
    };
    let as_read = (Owner::Only(host.owner_uid), Purpose::Review);
    let (_, _, compiled) = load_edited(&host.etc, &edits, as_read, host, |_| None);
    let is_same = compiled.is_some_and(|compiled| compiled.digest.to_string() == backup.digest);
    if !is_same {
        return fail(io, "nothing restored: the files of the backup are not the policy that it names");
    }
    let differing = config::differing(&host.etc, &backup.config);
    for name in &differing {
        writeln!(io.out, "the agent's configuration: {} will be as in the backup", escape(name))?;
    }
    let is_active = accepted::read(&host.accepted_dir())
        .is_ok_and(|old| old.is_some_and(|old| old.digest.to_string() == backup.digest));
    if !differing.is_empty()
        && is_active
        && let Some(exit) = apply::refused(confirmation, "Restore these files?", io)?
    {
        return Ok(exit);
    }
    // Nothing is written before the policy is found good and a person agrees.
    let exit = run_edited(host, &edits, confirmation, io)?;
    if exit != Exit::Done {
        return fail(io, "nothing restored: the files are as they were").map(|_| exit);
    }
    let mut exit = Exit::Done;
    if !differing.is_empty() {
        match config::write(host, &backup.config, &differing) {
            Ok(()) => writeln!(io.out, "the agent's configuration is restored; the agent was restarted")?,
            Err(why) => {
                writeln!(io.err, "the agent's configuration was not restored: {}", escape(&why))?;
                exit = Exit::Partly;
            }
        }
    }
    remaining(host, &backup, io)?;
    let all = sign_off::read(&host.own).unwrap_or_default();
    let new = backup.sign_offs.into_iter().filter(|one| !all.contains(one)).collect::<Vec<_>>();
    if let Err(error) = sign_off::merge(&host.own, all, new) {
        writeln!(io.err, "sign-offs were not restored: {}: {error}", host.own.display())?;
        return Ok(Exit::Partly);
    }
    Ok(exit)
}

/// Prints the commands that bring back groups and the pause, where they differ.
fn remaining(host: &Host, backup: &Backup, io: &mut Io<'_>) -> io::Result<()> {
    let here = people::all(host);
    for (group, names) in &backup.groups {
        let there = here.get(group);
        for name in names.iter().filter(|name| !there.is_some_and(|there| there.contains(name))) {
            writeln!(io.out, "next: usermod --append --groups {} {}", escape(group), escape(name))?;
        }
    }
    if let Some(reason) = &backup.paused {
        writeln!(
            io.out,
            "the host was paused ({}); next, to pause it: postern-admin pause --reason TEXT",
            escape(reason)
        )?;
    }
    Ok(())
}

fn read(path: &Path) -> Result<Backup, String> {
    let bytes = fs::read(path).map_err(|error| error.to_string())?;
    let backup: Backup =
        serde_json::from_slice(&bytes).map_err(|error| format!("this is no backup: {error}"))?;
    if backup.v != VERSION {
        return Err(format!("this backup is of version {}, this program reads version {VERSION}", backup.v));
    }
    if let Some(name) = backup.files.keys().find(|name| !is_file_name(name)) {
        return Err(format!("{name:?} is no file of a policy"));
    }
    match backup.config.keys().find(|name| !config::is_name(name)) {
        Some(name) => Err(format!("{name:?} is no file of the agent's configuration")),
        None => Ok(backup),
    }
}

/// `policy.toml`, or one name below `policy.d` as the policy's reader takes it.
fn is_file_name(relative: &str) -> bool {
    let name = relative.strip_prefix("policy.d/");
    relative == "policy.toml"
        || name.is_some_and(|name| config::is_plain(name) && name.strip_suffix(".toml").is_some())
}

/// Whether the log still has the record that the backup names.
fn log_words(host: &Host, tip: Option<&str>) -> String {
    let Some(tip) = tip else { return "the backup names no record of the log".to_owned() };
    let Ok(known) = tips::parse(tip) else {
        return "WARNING: the tip in the backup is none".to_owned();
    };
    let seq = known.seq;
    match settled(host, &[], Extent::Installed, &Proof { known: vec![known], ..Proof::default() }) {
        Ok((verdict, _)) => match verdict.bad {
            None => {
                format!("the audit log is unchanged up to record {seq}, its last at the time of the backup")
            }
            Some(bad) => format!("WARNING: the audit log is not what the backup knows of it: {}", bad.reason),
        },
        Err(why) => format!("WARNING: {why}"),
    }
}

/// Returns the edits that replace the policy's files by these; files of `policy.d` that are not among them are
/// removed.
fn edits(etc: &Path, files: &BTreeMap<String, String>) -> io::Result<Vec<Edit>> {
    let written = files.iter().map(|(name, text)| (name.clone(), Some(text.clone())));
    let mut edits = written.collect::<BTreeMap<_, _>>();
    let listing = match fs::read_dir(etc.join("policy.d")) {
        Ok(listing) => Some(listing),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    for entry in listing.into_iter().flatten() {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name.strip_suffix(".toml").is_some() && !name.starts_with('.') {
            edits.entry(format!("policy.d/{name}")).or_insert(None);
        }
    }
    let edit = |(name, text)| Edit { name, text, keeps_old: false };
    Ok(edits.into_iter().map(edit).collect())
}

fn fail(io: &mut Io<'_>, why: &str) -> io::Result<Exit> {
    writeln!(io.err, "{}", escape(why))?;
    Ok(Exit::Failed)
}

//! `pack add`, `remove` and `update`: edits of the policy's files, accepted by `policy apply`.

use super::added::{self, Added, file_name};
use super::catalog::{find, installed, not_added, read_added};
use super::error::{CommandError, failed, usage};
use super::fill::Values;
use super::options::With;
use super::pack::Pack;
use super::questions::{self, Given};
use crate::host::Host;
use crate::io::{Exit, Io};
use crate::policy::apply::run_edited;
use crate::policy::edit::Edit;
use crate::text::escape;

/// `pack add`.
///
/// # Errors
/// The output cannot be written, or why nothing was added.
pub fn add(host: &Host, names: &[String], with: &With, io: &mut Io<'_>) -> Result<Exit, CommandError> {
    let edits = edits(host, names, with, io)?;
    apply(host, &edits, with, io)
}

/// Whether there are packs of these names.
///
/// # Errors
/// The first that is none, in words.
pub fn known(host: &Host, names: &[String]) -> Result<(), String> {
    let (packs, _) = super::pack::all(host).map_err(|error| error.to_string())?;
    let unknown = names.iter().find_map(|name| find(&packs, name).err());
    match unknown {
        None => Ok(()),
        Some(CommandError::Message(_, why)) => Err(why),
        Some(CommandError::Output(error)) => Err(error.to_string()),
    }
}

/// Does what [`add`] does up to the first change.
///
/// # Errors
/// As [`add`].
pub fn prepare(host: &Host, names: &[String], with: &With, io: &mut Io<'_>) -> Result<(), CommandError> {
    let mut nothing = Vec::new();
    let mut quiet = Io { out: &mut nothing, err: &mut *io.err, answers: None };
    edits(host, names, with, &mut quiet).map(drop)
}

/// The edits that add these packs.
fn edits(host: &Host, names: &[String], with: &With, io: &mut Io<'_>) -> Result<Vec<Edit>, CommandError> {
    let packs = installed(host, io)?;
    let chosen = names.iter().map(|name| find(&packs, name)).collect::<Result<Vec<_>, _>>()?;
    let given = questions::given(&chosen, with)?;
    let mut edits = Vec::new();
    for pack in chosen {
        let before = read_added(host, &pack.about.name)?;
        tell(pack, before.as_ref(), io)?;
        let edit = edit(pack, before.as_ref(), &given, with, io)?;
        edits.extend(edit.filter(|edit| edits.iter().all(|other: &Edit| other.name != edit.name)));
    }
    Ok(edits)
}

/// `pack remove`.
///
/// # Errors
/// As [`add`].
pub fn remove(host: &Host, names: &[String], with: &With, io: &mut Io<'_>) -> Result<Exit, CommandError> {
    let mut edits = Vec::new();
    for name in names {
        let Some(before) = read_added(host, name)? else {
            return Err(failed(not_added(host, name)?));
        };
        let keeps_old = before.is_edited;
        if keeps_old && !may_discard(&before, with, io)? {
            return Err(kept(&before));
        }
        edits.push(Edit { name: format!("policy.d/{}", file_name(name)), text: None, keeps_old });
    }
    apply(host, &edits, with, io)
}

/// `pack update`.
///
/// # Errors
/// As [`add`].
pub fn update(host: &Host, names: &[String], with: &With, io: &mut Io<'_>) -> Result<Exit, CommandError> {
    let packs = installed(host, io)?;
    let all = added::all(host).map_err(|error| failed(error.to_string()))?;
    if let Some(name) = names.iter().find(|name| all.iter().all(|added| added.name != **name)) {
        return Err(usage(not_added(host, name)?));
    }
    let mut outdated = Vec::new();
    for added in all.iter().filter(|added| names.is_empty() || names.contains(&added.name)) {
        match packs.iter().find(|pack| pack.about.name == added.name) {
            Some(pack) if pack.digest.to_string() == added.digest => {}
            Some(pack) => outdated.push((pack, added)),
            None => {
                writeln!(
                    io.err,
                    "pack {} is not installed any more: its rules stay as they are",
                    added.name
                )?;
            }
        }
    }
    let given = questions::given(&outdated.iter().map(|(pack, _)| *pack).collect::<Vec<_>>(), with)?;
    let mut edits = Vec::new();
    for (pack, before) in outdated {
        writeln!(
            io.out,
            "pack {}: version {} becomes {}",
            pack.about.name, before.version, pack.about.version
        )?;
        // Only what the new version asks besides is a question.
        let known = Known { pack, before, given: &given };
        edits.extend(known.edit(with, io)?);
    }
    if edits.is_empty() {
        writeln!(io.out, "nothing to update")?;
        return Ok(Exit::Done);
    }
    apply(host, &edits, with, io)
}

/// A pack with the values that it had, for an update.
struct Known<'a> {
    pack: &'a Pack,
    before: &'a Added,
    given: &'a Given,
}

impl Known<'_> {
    fn edit(&self, with: &With, io: &mut Io<'_>) -> Result<Option<Edit>, CommandError> {
        let mut given = self.given.clone();
        for variable in &self.pack.variables {
            let key = (self.pack.about.name.clone(), variable.name.clone());
            let before = self.before.values.get(&variable.name);
            if let Some(values) = before.filter(|values| variable.check(values).is_ok()) {
                given.entry(key).or_insert_with(|| values.clone());
            }
        }
        edit(self.pack, Some(self.before), &given, with, io)
    }
}

/// Tells a person what is about to be added.
fn tell(pack: &Pack, before: Option<&Added>, io: &mut Io<'_>) -> Result<(), CommandError> {
    let again = if before.is_some() { " (added already)" } else { "" };
    writeln!(io.out, "pack {}{again}: {} ({})", pack.about.name, pack.about.summary, pack.tested())?;
    for hazard in &pack.about.hazards {
        writeln!(io.out, "  hazard: {hazard}")?;
    }
    for left_out in &pack.about.left_out {
        writeln!(io.out, "  left out: {left_out}")?;
    }
    Ok(())
}

/// The edit that writes a pack; none if its file is that already.
fn edit(
    pack: &Pack,
    before: Option<&Added>,
    given: &Given,
    with: &With,
    io: &mut Io<'_>,
) -> Result<Option<Edit>, CommandError> {
    let values: Values = questions::values(pack, given, before.map(|before| &before.values), with, io)?;
    let text =
        added::text(pack, &values).map_err(|why| failed(format!("pack {}: {why}", pack.about.name)))?;
    let is_edited = before.is_some_and(|before| before.is_edited && before.text != text);
    if let Some(before) = before.filter(|_| is_edited)
        && !may_discard(before, with, io)?
    {
        return Err(kept(before));
    }
    let is_same = before.is_some_and(|before| before.text == text);
    let name = format!("policy.d/{}", file_name(&pack.about.name));
    Ok((!is_same).then_some(Edit { name, text: Some(text), keeps_old: is_edited }))
}

/// Whether an edited file may be replaced: said on the command line, or by a person.
fn may_discard(before: &Added, with: &With, io: &mut Io<'_>) -> Result<bool, CommandError> {
    if with.discard_edits {
        return Ok(true);
    }
    let Some(answers) = io.answers.as_mut().filter(|_| !with.yes) else {
        return Ok(false);
    };
    let file = file_name(&before.name);
    write!(io.err, "policy.d/{file} was edited. Replace it? The edited file stays as {file}.before [y/N] ")?;
    io.err.flush()?;
    answers.discard()?;
    Ok(matches!(answers.line()?.trim(), "y" | "Y" | "yes"))
}

fn kept(before: &Added) -> CommandError {
    failed(format!(
        "nothing was changed: policy.d/{} was edited; see `postern-admin pack diff {}`, and --discard-edits to replace it",
        file_name(&before.name),
        before.name
    ))
}

/// Applies the policy with the edits. Edits of others that wait in /etc/postern are applied too, and shown.
fn apply(host: &Host, edits: &[Edit], with: &With, io: &mut Io<'_>) -> Result<Exit, CommandError> {
    for edit in edits {
        let path = host.etc.join(&edit.name);
        let verb = if edit.text.is_some() { "writes" } else { "removes" };
        writeln!(io.out, "{verb} {}", escape(&path.display().to_string()))?;
    }
    Ok(run_edited(host, edits, with.confirmation(), io)?)
}

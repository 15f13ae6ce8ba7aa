//! `audit keygen`: the seed that all seals come from, shown once on a terminal.
//!
//! The seed checks every seal and can forge them, so it must not stay on this host. A maintainer script's output
//! ends in a log of apt's, so none of them is given the key, although apt lends it a terminal.

use super::chain::{self, Extent};
use super::files::chosen;
use super::proof::Proof;
use super::storage::keeps_old;
use crate::approvals::Console;
use crate::host::Host;
use crate::io::{Exit, Io};
use crate::text::escape;
use nix::fcntl::{OFlag, open, openat};
use nix::sys::stat::Mode;
use nix::unistd::{UnlinkatFlags, unlinkat};
use postern_seal::Epoch;
use std::fs::{self, DirBuilder, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, fchown};
use std::path::Path;

/// How many characters of the key are typed back.
const TYPED_BACK: usize = 8;
/// How often.
const TRIES: u32 = 3;

/// `audit keygen`. `person`: who sits at the terminal; nobody does in a script.
///
/// # Errors
/// The output cannot be written.
pub fn keygen(host: &Host, person: Option<&mut dyn Console>, io: &mut Io<'_>) -> io::Result<Exit> {
    if nix::unistd::geteuid().as_raw() != host.owner_uid {
        return fail(io, Exit::Failed, "only root may make the key");
    }
    let Some(person) = person else {
        let why = "the key is shown once, on a terminal only: run this yourself, not from a script or a package's installation";
        return fail(io, Exit::Usage, why);
    };
    let next = host.seed();
    if fs::symlink_metadata(&next).is_ok() {
        let why = format!("there is a key already ({}), and it is never overwritten", next.display());
        return fail(io, Exit::Failed, &why);
    }
    let epoch = match seed().map(|seed| Epoch::new(last_epoch(host).map_or(0, |last| last + 1), &seed)) {
        Ok(Some(epoch)) => epoch,
        Ok(None) => return fail(io, Exit::Failed, "no key could be made"),
        Err(error) => return fail(io, Exit::Failed, &format!("/dev/random: {error}")),
    };
    let number = if epoch.number == 0 { String::new() } else { format!("{}:", epoch.number) };
    person.show(&format!(
        "This is the key of the audit log's seals. It is shown this once. Keep it where root of this host cannot\n\
         read it, such as on paper or in a password store: whoever has it can check every seal, and forge them.\n\n    \
         {number}{}\n\n",
        epoch.seed_hex()
    ))?;
    if !is_kept(person, &epoch.seed_hex())? {
        return fail(io, Exit::NotApproved, "nothing was written; discard that key");
    }
    if let Err(error) = write(&next, &epoch) {
        return fail(io, Exit::Failed, &format!("{}: {error}", next.display()));
    }
    if let Some(why) = keeps_old(&host.state) {
        writeln!(io.err, "note: erased seeds may remain on the disk: {why}")?;
    }
    writeln!(io.out, "public key: {}", epoch.signer().public())?;
    writeln!(
        io.err,
        "records are sealed as soon as the recorder has taken the key up, within a second if it runs\n\
         anybody may have the public key: `postern-admin audit verify --public KEY` checks signatures with it\n\
         `postern-admin audit verify --key FILE` checks every seal, best on another host and on a copy of the log\n\
         clear this terminal and its scrollback"
    )?;
    Ok(Exit::Done)
}

/// Asks for the key's last digits, which only a copy of it still shows once the terminal is cleared.
fn is_kept(person: &mut dyn Console, key: &str) -> io::Result<bool> {
    let last = key.get(key.len().saturating_sub(TYPED_BACK)..).unwrap_or(key);
    for _ in 0..TRIES {
        let question = format!(
            "Have you stored the key? Then type its last {TYPED_BACK} characters, from where you stored it [Enter: no key] "
        );
        match person.ask(&question)? {
            answer if answer.is_empty() => return Ok(false),
            answer if answer == last => return Ok(true),
            _ => person.show("The key ends otherwise.\n")?,
        }
    }
    Ok(false)
}

/// The last epoch that the log names, if it can be read.
fn last_epoch(host: &Host) -> Option<u64> {
    let files = chosen(host, &[]).ok()?;
    chain::verify(&files, Extent::Installed, &Proof::default()).ok()?.state.epoch
}

/// 64 hex digits from the kernel's generator, which waits until it is seeded (random(4)).
fn seed() -> io::Result<String> {
    let mut bytes = [0; 32];
    File::open("/dev/random")?.read_exact(&mut bytes)?;
    Ok(super::record::words(&super::record::hex(&bytes)))
}

/// Writes the seed in place, once: no other copy of it may ever be written to the disk.
fn write(path: &Path, epoch: &Epoch) -> io::Result<()> {
    let directory = path.parent().unwrap_or(Path::new("/"));
    match DirBuilder::new().mode(0o700).create(directory) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        Ok(()) | Err(_) => {}
    }
    // The directory is the recorder's: a link that it put there must not lead root elsewhere.
    let flags = OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    let directory = File::from(open(directory, flags, Mode::empty())?);
    let owner = fs::symlink_metadata(path.parent().and_then(Path::parent).unwrap_or(Path::new("/")))?;
    let name = path.file_name().unwrap_or_default();
    let flags = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    let mut file = File::from(openat(&directory, name, flags, Mode::from_bits_truncate(0o600))?);
    let written = file.write_all(epoch.encode().as_bytes());
    // The recorder overwrites it in place.
    let written = written.and_then(|()| fchown(&file, Some(owner.uid()), Some(owner.gid())));
    let written = written.and_then(|()| fchown(&directory, Some(owner.uid()), Some(owner.gid())));
    if let Err(error) = written.and_then(|()| file.sync_all()) {
        // The recorder takes half a seed for a broken one.
        unlinkat(&directory, name, UnlinkatFlags::NoRemoveDir)?;
        return Err(error);
    }
    directory.sync_all()
}

fn fail(io: &mut Io<'_>, exit: Exit, why: &str) -> io::Result<Exit> {
    writeln!(io.err, "{}", escape(why))?;
    Ok(exit)
}

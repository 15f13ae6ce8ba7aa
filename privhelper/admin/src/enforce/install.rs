//! Puts the files of a plan where PID 1 reads them, and asks PID 1 that it has them.

use super::plan::Plan;
use super::text::HEADER;
use crate::file::{self, Access};
use crate::host::Host;
use crate::lint::gather;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, symlink};
use std::path::{Path, PathBuf};

/// The unit that the drop-in belongs to, and the drop-in's name.
const FILES: &str = "postern-files.service";
const DROP_IN: &str = "50-policy.conf";
/// Links to the sockets of rules with `as`: they are started with the socket of postern-units, also at boot, so that no request
/// has to ask PID 1 for it.
const WANTS: &str = "postern-units.socket.wants";
/// Asked for to learn whether PID 1 has a unit.
const PROPERTIES: &str = "--property=Id,LoadState,FragmentPath,DropInPaths,NeedDaemonReload";

/// The replaced files, until the policy is accepted.
#[derive(Debug)]
pub struct Installed<'a> {
    host: &'a Host,
    drop_in: PathBuf,
    /// The previous drop-in, if there was one.
    before: Option<Vec<u8>>,
}

/// Writes the units that are new and the drop-in, removes units that neither this policy nor `kept` (the accepted one)
/// names, and makes PID 1 load them.
///
/// # Errors
/// Something cannot be written or is not loaded, in words. The drop-in is then as before.
pub fn install<'a>(host: &'a Host, plan: &Plan, kept: &BTreeSet<String>) -> Result<Installed<'a>, String> {
    let directory = &host.systemd_units;
    own(directory, host.owner_uid)?;
    let drop_ins = directory.join(format!("{FILES}.d"));
    match DirBuilder::new().mode(0o755).create(&drop_ins) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            return Err(io_message(&drop_ins, &error));
        }
        Ok(()) | Err(_) => own(&drop_ins, host.owner_uid)?,
    }
    for (name, text) in &plan.units {
        write(&directory.join(name), text)?;
    }
    for name in sockets(plan) {
        link(&directory.join(WANTS), name)?;
    }
    let removed = sweep(directory, |name| plan.units.contains_key(name) || kept.contains(name))?;
    // A socket without its file would be listened on until the next boot.
    jobs(host, "stop", removed.iter().map(String::as_str).filter(|name| is_socket(name)))?;
    let drop_in = drop_ins.join(DROP_IN);
    let before = fs::read(&drop_in).ok();
    write(&drop_in, &plan.drop_in)?;
    let installed = Installed { host, drop_in, before };
    let loaded = load(host, plan, &installed.drop_in);
    match loaded.and_then(|()| jobs(host, "start", sockets(plan))) {
        Ok(()) => Ok(installed),
        Err(why) => Err(match installed.revert() {
            Ok(()) => why,
            Err(error) => format!("{why}; {error}"),
        }),
    }
}

impl Installed<'_> {
    /// Restores the previous drop-in. New units stay: nothing names them, and the next apply removes them.
    ///
    /// # Errors
    /// It cannot be written, or PID 1 does not load it.
    pub fn revert(self) -> Result<(), String> {
        let failed = |error: io::Error| io_message(&self.drop_in, &error);
        match &self.before {
            Some(text) => file::replace(&self.drop_in, text, Access::own(0o644)).map_err(failed)?,
            None => fs::remove_file(&self.drop_in).map_err(failed)?,
        }
        reload(self.host)
    }
}

/// Refuses a directory that others may change.
fn own(directory: &Path, owner: u32) -> Result<(), String> {
    let facts = fs::symlink_metadata(directory).map_err(|error| io_message(directory, &error))?;
    if facts.is_dir() && facts.uid() == owner && facts.mode() & 0o022 == 0 {
        return Ok(());
    }
    Err(format!("{} is not a directory that only root can change", directory.display()))
}

/// Writes a file of ours, if it is missing or differs.
fn write(path: &Path, text: &str) -> Result<(), String> {
    match fs::read(path) {
        Ok(there) if there == text.as_bytes() => return Ok(()),
        Ok(there) if !there.starts_with(HEADER.as_bytes()) => {
            return Err(format!("{} was not written by postern-admin; remove it", path.display()));
        }
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(io_message(path, &error)),
        Ok(_) | Err(_) => {}
    }
    file::replace(path, text.as_bytes(), Access::own(0o644)).map_err(|error| io_message(path, &error))
}

/// The names of the plan's sockets.
fn sockets(plan: &Plan) -> impl Iterator<Item = &str> {
    plan.units.keys().map(String::as_str).filter(|name| is_socket(name))
}

fn is_socket(name: &str) -> bool {
    name.ends_with(".socket")
}

/// Has a unit started with another, whose `.wants` directory this is; as `systemctl enable`, which needs no systemd here.
fn link(wants: &Path, name: &str) -> Result<(), String> {
    let there =
        |error: io::Error| if error.kind() == io::ErrorKind::AlreadyExists { Ok(()) } else { Err(error) };
    let made = DirBuilder::new().mode(0o755).create(wants).or_else(there);
    let target = Path::new("..").join(name);
    let linked = made.and_then(|()| symlink(target, wants.join(name)).or_else(there));
    linked.map_err(|error| io_message(wants, &error))
}

/// Removes units of ours that no policy names any more, and returns their names.
fn sweep(directory: &Path, is_kept: impl Fn(&str) -> bool) -> Result<Vec<String>, String> {
    let failed = |error: io::Error| io_message(directory, &error);
    let mut removed = Vec::new();
    for entry in fs::read_dir(directory).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name();
        let Some(name) = name.to_str().filter(|name| is_unit(name) && !is_kept(name)) else { continue };
        let path = directory.join(name);
        if fs::read(&path).is_ok_and(|text| text.starts_with(HEADER.as_bytes())) {
            fs::remove_file(&path).map_err(|error| io_message(&path, &error))?;
            removed.push(name.to_owned());
        }
    }
    for name in removed.iter().filter(|name| is_socket(name)) {
        let link = directory.join(WANTS).join(name);
        fs::remove_file(&link).or_else(missing).map_err(|error| io_message(&link, &error))?;
    }
    Ok(removed)
}

fn missing(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) }
}

/// `postern-command-NAME-<16 hex digits>@.service`, and `postern-as-<16 hex digits>` as such a service or a socket.
fn is_unit(name: &str) -> bool {
    let is_ours = ["postern-command-", "postern-as-"].iter().any(|start| name.starts_with(start));
    let name = name.strip_suffix("@.service").or_else(|| name.strip_suffix(".socket")).filter(|_| is_ours);
    let digest = name.and_then(|name| name.rsplit_once('-')).map_or("", |(_, digest)| digest);
    digest.len() == 16 && digest.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

fn reload(host: &Host) -> Result<(), String> {
    let arguments = ["daemon-reload".to_owned(), "--no-ask-password".to_owned()];
    host.running_systemctl().map_or(Ok(()), |systemctl| gather::run(systemctl, &arguments).map(drop))
}

/// Has PID 1 start or stop units.
fn jobs<'a>(host: &Host, job: &str, units: impl Iterator<Item = &'a str>) -> Result<(), String> {
    let mut arguments = [job, "--no-ask-password", "--"].map(str::to_owned).to_vec();
    arguments.extend(units.map(str::to_owned));
    let systemctl = host.running_systemctl().filter(|_| arguments.len() > 3);
    systemctl.map_or(Ok(()), |systemctl| gather::run(systemctl, &arguments).map(drop))
}

/// Has PID 1 read its units again, and asks it for each one.
fn load(host: &Host, plan: &Plan, drop_in: &Path) -> Result<(), String> {
    let Some(systemctl) = host.running_systemctl() else { return Ok(()) };
    reload(host)?;
    let mut wanted = vec![(FILES.to_owned(), String::new())];
    for name in plan.units.keys() {
        // systemd is asked about any one instance of a template.
        let path = host.systemd_units.join(name).display().to_string();
        wanted.push((name.replacen("@.", "@0.", 1), path));
    }
    let mut arguments = ["show", "--no-pager", PROPERTIES, "--"].map(str::to_owned).to_vec();
    arguments.extend(wanted.iter().map(|(name, _)| name.clone()));
    let shown = gather::run(systemctl, &arguments)?;
    let units = shown.split("\n\n").map(|unit| unit.lines().filter_map(|line| line.split_once('=')));
    let units = units.map(Iterator::collect::<BTreeMap<_, _>>);
    let units = units.map(|unit| (unit.get("Id").copied().unwrap_or_default(), unit));
    let units = units.collect::<BTreeMap<_, _>>();
    let drop_in = drop_in.display().to_string();
    for (name, path) in wanted {
        let none = BTreeMap::new();
        let unit = units.get(name.as_str()).unwrap_or(&none);
        let is = |property: &str, value: &str| unit.get(property) == Some(&value);
        let is_here = if path.is_empty() {
            unit.get("DropInPaths").is_some_and(|paths| paths.split(' ').any(|path| path == drop_in))
        } else {
            is("FragmentPath", &path)
        };
        if !(is("LoadState", "loaded") && is("NeedDaemonReload", "no") && is_here) {
            let state = unit.get("LoadState").copied().unwrap_or("unknown");
            return Err(format!("systemd has not loaded {name} as it was written (LoadState={state})"));
        }
    }
    Ok(())
}

fn io_message(path: &Path, error: &io::Error) -> String {
    format!("{}: {error}", path.display())
}

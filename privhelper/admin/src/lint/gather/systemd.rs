//! Units, from `systemctl show`.

use super::run::run;
use crate::lint::facts::{ANY_INSTANCE, Command, Unit};
use postern_proto::root::v1 as root;
use std::collections::BTreeSet;
use std::path::Path;

/// The units that are asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnitScope {
    /// All that are installed: PID 1 reads every unit file for it.
    All,
    /// Those that are loaded, and those that a rule names in full: a tenth of the time, for apt's hook.
    Loaded,
}

/// The properties that each unit is asked for.
const PROPERTIES: &str = "Id,Names,FragmentPath,DropInPaths,User,DynamicUser,RootDirectory,WorkingDirectory,EnvironmentFiles,\
                          LoadCredential,LoadCredentialEncrypted,Triggers,ActiveState,UnitFileState,ExecConditionEx,\
                          ExecStartPreEx,ExecStartEx,ExecStartPostEx,ExecReloadEx,ExecStopEx,ExecStopPostEx";
/// Names in one call: its arguments stay far below what the kernel takes.
const AT_ONCE: usize = 500;

/// All services of this host and what starts them, loaded or only installed.
pub fn gather(rules: &root::Rules, scope: UnitScope, systemctl: &Path, notes: &mut Vec<String>) -> Vec<Unit> {
    let mut names: BTreeSet<String> = BTreeSet::new();
    let lists: &[&str] = match scope {
        UnitScope::All => &["list-unit-files", "list-units"],
        UnitScope::Loaded => {
            let granted = rules.rules.iter().flat_map(|rule| &rule.units).filter(|unit| !unit.contains('*'));
            names.extend(granted.cloned());
            &["list-units"]
        }
    };
    match try_gather(systemctl, lists, names) {
        Ok(units) => units,
        Err(why) => {
            notes.push(format!("no units: {why}"));
            Vec::new()
        }
    }
}

fn try_gather(systemctl: &Path, lists: &[&str], mut names: BTreeSet<String>) -> Result<Vec<Unit>, String> {
    for list in lists {
        let fixed =
            [list, "--type=service,timer,socket,path", "--all", "--no-legend", "--plain", "--no-pager"];
        let listing = run(systemctl, &fixed.map(str::to_owned))?;
        names.extend(listing.lines().filter_map(|line| line.split_whitespace().next()).map(instance));
    }
    let names: Vec<_> = names.into_iter().collect();
    let mut units: Vec<Unit> = Vec::new();
    for some in names.chunks(AT_ONCE) {
        let fixed = ["show", "--no-pager", "--property", PROPERTIES, "--"];
        let arguments: Vec<_> = fixed.into_iter().map(str::to_owned).chain(some.iter().cloned()).collect();
        units.extend(self::units(&run(systemctl, &arguments)?));
    }
    // systemctl shows an alias as its unit.
    units.sort_by(|a, b| a.id.cmp(&b.id));
    units.dedup_by(|a, b| a.id == b.id);
    Ok(units)
}

/// A template has no properties; an instance of it has.
fn instance(name: &str) -> String {
    name.replacen("@.", &format!("@{ANY_INSTANCE}."), 1)
}

/// The units in what `systemctl show` prints. Units without a file say nothing and are left out.
#[must_use]
pub fn units(text: &str) -> Vec<Unit> {
    let each = |paragraph: &str| {
        let mut unit = Unit::default();
        for (key, value) in paragraph.lines().filter_map(|line| line.split_once('=')) {
            set(&mut unit, key, value);
        }
        unit
    };
    text.split("\n\n").map(each).filter(|unit| !unit.id.is_empty() && !unit.fragment.is_empty()).collect()
}

fn set(unit: &mut Unit, key: &str, value: &str) {
    let words = || value.split_whitespace().map(str::to_owned);
    match key {
        "Id" => value.clone_into(&mut unit.id),
        "Names" => unit.names = words().collect(),
        "FragmentPath" => value.clone_into(&mut unit.fragment),
        "DropInPaths" => unit.drop_ins = words().collect(),
        "User" if !value.is_empty() => value.clone_into(&mut unit.user),
        // A user of its own that systemd makes up: whoever it is, it is not root.
        "DynamicUser" if value == "yes" && unit.user.is_empty() => "(dynamic)".clone_into(&mut unit.user),
        "RootDirectory" => value.clone_into(&mut unit.root_directory),
        "WorkingDirectory" => value.clone_into(&mut unit.working_directory),
        // `/etc/default/x (ignore_errors=yes)`
        "EnvironmentFiles" => unit.environment_files.extend(words().next()),
        "LoadCredential" | "LoadCredentialEncrypted" => {
            unit.credentials.extend(value.split_once(':').map(|(_, path)| path.trim().to_owned()));
        }
        "Triggers" => unit.triggers = words().collect(),
        "ActiveState" => value.clone_into(&mut unit.active),
        "UnitFileState" => value.clone_into(&mut unit.enabled),
        exec if exec.starts_with("Exec") => unit.commands.extend(command(value)),
        _ => {}
    }
}

/// `{ path=/bin/x ; argv[]=/bin/x -a ; flags=privileged ; start_time=… }`: arguments may hold `;` themselves.
fn command(value: &str) -> Option<Command> {
    let rest = value.strip_prefix("{ path=")?;
    let (path, rest) = rest.split_once(" ; argv[]=")?;
    let (argv, rest) = rest.rsplit_once(" ; flags=").or_else(|| rest.rsplit_once(" ; ignore_errors="))?;
    let flags = rest.split(" ; ").next().unwrap_or_default();
    let is_privileged =
        flags.split_whitespace().any(|flag| matches!(flag, "privileged" | "no-setuid" | "ambient"));
    Some(Command { path: path.to_owned(), argv: argv.to_owned(), is_privileged })
}

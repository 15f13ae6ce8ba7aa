//! apt's hooks and sources.

use super::run::run;
use crate::lint::facts::Hook;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Options that name commands; each may also be a list below it.
const HOOKS: [&str; 8] = [
    "DPkg::Pre-Invoke",
    "DPkg::Post-Invoke",
    "DPkg::Post-Invoke-Success",
    "DPkg::Pre-Install-Pkgs",
    "APT::Update::Pre-Invoke",
    "APT::Update::Post-Invoke",
    "APT::Update::Post-Invoke-Success",
    "APT::Update::Post-Invoke-Stats",
];

/// The commands that apt and dpkg run as root.
pub fn gather(apt_config: &Path, notes: &mut Vec<String>) -> Vec<Hook> {
    let mut found = match run(apt_config, &["dump".to_owned()]) {
        Ok(text) => hooks(&text),
        Err(why) => {
            notes.push(format!("no hooks of apt: {why}"));
            Vec::new()
        }
    };
    let drop_ins = fs::read_dir("/etc/dpkg/dpkg.cfg.d").into_iter().flatten().flatten();
    for path in drop_ins.map(|entry| entry.path()).chain(["/etc/dpkg/dpkg.cfg".into()]) {
        found.extend(dpkg_hooks(&fs::read_to_string(path).unwrap_or_default()));
    }
    found
}

/// The commands in a configuration file of dpkg: lines such as `post-invoke = "command"`.
#[must_use]
pub fn dpkg_hooks(text: &str) -> Vec<Hook> {
    const OPTIONS: [&str; 3] = ["pre-invoke", "post-invoke", "status-logger"];
    let hook = |line: &str| {
        let (key, command) = line.split_once(['=', ' '])?;
        let key = OPTIONS.into_iter().find(|option| *option == key.trim())?;
        let command = command.trim().trim_start_matches('=').trim().trim_matches('"');
        Some(Hook { key: format!("dpkg {key}"), command: command.to_owned() })
    };
    text.lines().map(str::trim).filter_map(hook).collect()
}

/// The commands in what `apt-config dump` prints: lines such as `DPkg::Post-Invoke:: "command";`.
#[must_use]
pub fn hooks(text: &str) -> Vec<Hook> {
    let hook = |line: &str| {
        let (key, value) = line.split_once(" \"")?;
        let key = key.trim_end_matches(':');
        let command = value.strip_suffix("\";")?;
        // An entry of a list may have a name of its own.
        let name = HOOKS.into_iter().find(|hook| {
            key.get(..hook.len()).is_some_and(|start| start.eq_ignore_ascii_case(hook))
                && (key.len() == hook.len() || key[hook.len()..].starts_with("::"))
        })?;
        (!command.is_empty()).then(|| Hook { key: name.to_owned(), command: command.to_owned() })
    };
    text.lines().filter_map(hook).collect()
}

/// The hosts of all configured sources that this user can read.
pub fn gather_hosts() -> Vec<String> {
    let mut hosts = BTreeSet::new();
    let mut take = |path: &Path| {
        if let Ok(text) = fs::read_to_string(path) {
            hosts.extend(package_hosts(&text));
        }
    };
    take(Path::new("/etc/apt/sources.list"));
    for entry in fs::read_dir("/etc/apt/sources.list.d").into_iter().flatten().flatten() {
        let path = entry.path();
        if path.extension().is_some_and(|extension| extension == "list" || extension == "sources") {
            take(&path);
        }
    }
    hosts.into_iter().collect()
}

/// The hosts in a file of sources, of either style. Users and passwords in an address are left out.
#[must_use]
pub fn package_hosts(text: &str) -> BTreeSet<String> {
    let lines = text.lines().filter(|line| !line.trim_start().starts_with('#'));
    lines.flat_map(str::split_whitespace).filter_map(host).collect()
}

fn host(word: &str) -> Option<String> {
    let (scheme, rest) = word.split_once(":/")?;
    let authority = rest.strip_prefix('/').unwrap_or_default().split('/').next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    Some(if host.is_empty() { scheme.to_owned() } else { host.to_ascii_lowercase() })
}

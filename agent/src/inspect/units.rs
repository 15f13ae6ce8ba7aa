//! Units, timers and processes, as systemd tells them over the system bus.

use super::bus::Bus;
use super::list::List;
use super::read_error::ReadError;
use super::read_result::{HostPaths, ReadResult};
use crate::redaction::redact::{self, MARK};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The system bus, below the root directory.
pub(super) const BUS: &str = "run/dbus/system_bus_socket";
/// All that begin with it are the host's.
const ALL: &str = "-.slice";
/// Parts of the names of options whose value is a secret.
const SECRET_OPTIONS: &[&str] = &["pass", "secret", "token", "-key", "credential", "-user"];
/// Programs, by how their names begin, and their option of one letter for a secret.
const SHORT_OPTIONS: &[(&str, &str)] =
    &[("mysql", "-p"), ("mariadb", "-p"), ("sshpass", "-p"), ("redis-cli", "-a"), ("curl", "-u")];
/// The most characters of a command line.
const COMMAND_LIMIT: usize = 300;
const TIMERS_LIMIT: usize = 200;

/// The loaded units whose name contains a text and that are in a state, as systemctl's `--state` takes it, with how many
/// there are in which state: that none is listed says nothing of the others. With a state also those that only have a
/// unit file in it: systemd unloads a masked or disabled unit that nothing uses.
pub fn units(
    places: &HostPaths,
    contains: Option<&str>,
    state: Option<&str>,
) -> Result<ReadResult, ReadError> {
    let bus = Bus::connect(&places.base.join(BUS))?;
    let mut units = bus.units()?;
    let files = bus.unit_files()?.into_iter().filter_map(|(path, state)| {
        let name = path.rsplit('/').next()?.to_owned();
        Some((name, state))
    });
    let files: BTreeMap<String, String> = files.collect();
    units.sort_by(|one, other| {
        // Failed units come first, so that a limit never cuts them off.
        (one.active != "failed", &one.name).cmp(&(other.active != "failed", &other.name))
    });
    let (mut list, mut states) = (List::default(), BTreeMap::from([("failed", 0_u64)]));
    for unit in &units {
        *states.entry(unit.active.as_str()).or_default() += 1;
        let enabled = files.get(&unit.name);
        let of_it = [&unit.load, &unit.active, &unit.sub].into_iter().chain(enabled);
        if !holds(&unit.name, contains) || state.is_some_and(|state| of_it.clone().all(|word| word != state))
        {
            continue;
        }
        // Without a filter, what is merely there says little: devices and mounts of the kernel's.
        if contains.is_none() && state.is_none() && unit.name.strip_suffix(".device").is_some() {
            continue;
        }
        let mut entry = json!({
            "name": unit.name, "description": unit.description,
            "load": unit.load, "active": unit.active, "sub": unit.sub,
        });
        if let Some(enabled) = enabled {
            entry["enabled"] = json!(enabled);
        }
        list.push(entry);
    }
    if let Some(state) = state {
        let loaded: BTreeSet<&str> = units.iter().map(|unit| unit.name.as_str()).collect();
        for (name, enabled) in &files {
            if enabled == state && holds(name, contains) && !loaded.contains(name.as_str()) {
                list.push(json!({ "name": name, "load": "not loaded", "enabled": enabled }));
            }
        }
    }
    let mut content = json!({ "states": states });
    list.put("units", &mut content);
    Ok(ReadResult::seen(content))
}

/// The timers, the next one first.
pub fn timers(places: &HostPaths) -> Result<ReadResult, ReadError> {
    let bus = Bus::connect(&places.base.join(BUS))?;
    let mut timers = bus.units()?;
    timers.retain(|unit| unit.name.strip_suffix(".timer").is_some() && unit.load == "loaded");
    let mut entries = Vec::new();
    for timer in timers.iter().take(TIMERS_LIMIT) {
        let mut one = json!({ "name": timer.name, "active": timer.active });
        one["starts"] = json!(bus.timer_unit(&timer.object)?);
        let last = bus.timer_number(&timer.object, "LastTriggerUSec")?;
        let next = next(
            bus.timer_number(&timer.object, "NextElapseUSecRealtime")?,
            bus.timer_number(&timer.object, "NextElapseUSecMonotonic")?,
            places,
        );
        for (name, time) in [("last_unix_s", (last > 0).then_some(last / 1_000_000)), ("next_unix_s", next)] {
            if let Some(time) = time {
                one[name] = json!(time);
            }
        }
        entries.push(one);
    }
    entries.sort_by_key(|timer| timer["next_unix_s"].as_u64().unwrap_or(u64::MAX));
    let mut list = List::default();
    list.extend(entries);
    Ok(list.found("timers"))
}

/// When a timer elapses next, in seconds since 1970, of its two clocks; none = `u64::MAX` or 0.
fn next(realtime: u64, monotonic: u64, places: &HostPaths) -> Option<u64> {
    let is_time = |time: &u64| *time > 0 && *time < u64::MAX;
    let of_clock = Some(realtime).filter(is_time).map(|time| time / 1_000_000);
    let of_boot = Some(monotonic).filter(is_time).and_then(|time| {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
        let up = super::system::uptime(places)?;
        Some((now.saturating_sub(up) + Duration::from_micros(time)).as_secs())
    });
    of_clock.into_iter().chain(of_boot).min()
}

/// The processes by unit, whose command or unit contains a text.
pub fn processes(places: &HostPaths, contains: Option<&str>) -> Result<ReadResult, ReadError> {
    let mut processes = Bus::connect(&places.base.join(BUS))?.processes(ALL)?;
    processes.sort_by_key(|process| (process.cgroup.clone(), process.pid));
    let mut list = List::default();
    for process in &processes {
        let unit = unit(&process.cgroup);
        let command = without_secrets(&process.command);
        // A search must not find redacted text either.
        if !holds(unit, contains) && !holds(&command, contains) {
            continue;
        }
        let command: String = command.chars().take(COMMAND_LIMIT).collect();
        let mut entry = json!({ "pid": process.pid, "unit": unit, "command": command });
        if let Some(memory) = memory(places, &process.cgroup) {
            entry["unit_memory_bytes"] = memory;
        }
        list.push(entry);
    }
    Ok(list.found("processes"))
}

/// A command line without the values of options for secrets: they have no shape of their own.
fn without_secrets(command: &str) -> String {
    let (mut words, mut is_secret, mut short) = (Vec::new(), false, None);
    for word in redact::text(command).0.split(' ') {
        let program = word.rsplit('/').next().unwrap_or_default();
        let known = SHORT_OPTIONS.iter().find(|(name, _)| program.starts_with(name));
        short = known.map(|(_, option)| *option).or(short);
        let (option, value) = word.split_once('=').unwrap_or((word, ""));
        let lower = option.to_ascii_lowercase();
        let is_option = lower.starts_with('-') && SECRET_OPTIONS.iter().any(|part| lower.contains(part));
        let joined = short.filter(|short| word.starts_with(short) && word != *short);
        words.push(if is_secret && !word.starts_with('-') {
            MARK.to_owned()
        } else if is_option && !value.is_empty() && (!lower.contains("-user") || value.contains(':')) {
            format!("{option}={MARK}")
        } else if let Some(short) = joined {
            format!("{short}{MARK}")
        } else {
            word.to_owned()
        });
        is_secret = is_option && value.is_empty() || short == Some(word);
    }
    words.join(" ")
}

/// The unit of a control group: the innermost part of its path that is one.
fn unit(cgroup: &str) -> &str {
    let is_unit = |part: &&str| {
        [".service", ".scope", ".slice", ".socket", ".mount"].iter().any(|kind| part.ends_with(kind))
    };
    cgroup.rsplit('/').find(is_unit).unwrap_or(cgroup)
}

fn memory(places: &HostPaths, cgroup: &str) -> Option<Value> {
    if cgroup.split('/').any(|part| part == "..") {
        return None;
    }
    let path = places.base.join("sys/fs/cgroup").join(cgroup.trim_start_matches('/')).join("memory.current");
    let text = std::fs::read_to_string(path).ok()?;
    text.trim().parse::<u64>().ok().map(Value::from)
}

fn holds(text: &str, contains: Option<&str>) -> bool {
    contains.is_none_or(|part| text.contains(part))
}

//! The host's release, load, memory and time zone.
//!
//! /proc/meminfo is read by the few keys that are wanted: the crate procfs fails where one of its keys is missing, as in a
//! container that filters the file.

use super::read_result::{HostPaths, ReadResult};
use nix::sys::utsname::uname;
use serde_json::{Map, Value, json};
use std::path::Path;
use std::time::Duration;

/// The release's keys that say something.
const RELEASE: &[&str] = &["ID", "VERSION_ID", "VERSION_CODENAME", "PRETTY_NAME"];
/// The kernel's words for memory, and ours.
const MEMORY: &[(&str, &str)] = &[
    ("MemTotal", "total_bytes"),
    ("MemAvailable", "available_bytes"),
    ("SwapTotal", "swap_total_bytes"),
    ("SwapFree", "swap_free_bytes"),
];

/// Returns host name, release, kernel and other facts of the host. Unknown ones are left out.
pub fn info(places: &HostPaths) -> ReadResult {
    let mut content = Map::new();
    if let Ok(name) = uname() {
        for (key, value) in
            [("hostname", name.nodename()), ("kernel", name.release()), ("architecture", name.machine())]
        {
            content.insert(key.to_owned(), json!(value.to_string_lossy()));
        }
    }
    let release = text(places, "etc/os-release");
    let release: Map<String, Value> = release
        .lines()
        .filter_map(|line| line.split_once('='))
        .filter(|(key, _)| RELEASE.contains(key))
        .map(|(key, value)| (key.to_ascii_lowercase(), json!(value.trim_matches('"'))))
        .collect();
    content.insert("release".to_owned(), Value::Object(release));
    if let Some(up) = uptime(places) {
        content.insert("up_s".to_owned(), json!(up.as_secs()));
    }
    let load: Vec<f64> =
        text(places, "proc/loadavg").split(' ').take(3).filter_map(|word| word.parse().ok()).collect();
    content.insert("load".to_owned(), json!(load));
    if let Ok(processors) = std::thread::available_parallelism() {
        content.insert("processors".to_owned(), json!(processors));
    }
    content.insert("memory".to_owned(), Value::Object(memory(&text(places, "proc/meminfo"))));
    let needs_reboot = places.base.join("run/reboot-required").exists();
    content.insert("needs_reboot".to_owned(), json!(needs_reboot));
    let zone = std::fs::read_link(places.base.join("etc/localtime")).unwrap_or_default();
    if let Ok(zone) = zone.strip_prefix("/usr/share/zoneinfo") {
        content.insert("timezone".to_owned(), json!(zone.to_string_lossy()));
    }
    ReadResult::seen(Value::Object(content))
}

fn memory(text: &str) -> Map<String, Value> {
    let kilobytes = |key: &str| {
        let rest = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?;
        rest.trim().strip_suffix(" kB")?.parse::<u64>().ok()
    };
    let known = MEMORY.iter().filter_map(|(key, name)| Some((*name, kilobytes(key)?)));
    known.map(|(name, size)| (name.to_owned(), json!(size * 1024))).collect()
}

/// How long the kernel is up.
pub fn uptime(places: &HostPaths) -> Option<Duration> {
    let seconds: f64 = text(places, "proc/uptime").split(' ').next()?.parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}

/// A file of the kernel's or the host's own; empty where there is none.
pub fn text(places: &HostPaths, path: impl AsRef<Path>) -> String {
    std::fs::read_to_string(places.base.join(path)).unwrap_or_default()
}

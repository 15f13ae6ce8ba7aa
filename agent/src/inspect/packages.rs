//! Lists packages from dpkg's status file.

use super::list::List;
use super::read_error::ReadError;
use super::read_result::{HostPaths, ReadResult};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// Where it is, below the root directory.
const STATUS: &str = "var/lib/dpkg/status";
/// A line as long as this is no package's.
const LINE_LIMIT: usize = 1 << 20;

/// The packages whose name contains a text, with how many are in which state. Without a text, those that need somebody's
/// attention: a host has hundreds of the others.
pub fn list(places: &HostPaths, contains: Option<&str>) -> Result<ReadResult, ReadError> {
    let path: PathBuf = places.base.join(STATUS);
    let cannot = |error: std::io::Error| {
        ReadError::Failed(format!("cannot read {}: {}", path.display(), error.kind()))
    };
    let mut file = BufReader::new(std::fs::File::open(&path).map_err(cannot)?);
    let (mut list, mut states, mut package) =
        (List::default(), BTreeMap::<String, u64>::new(), BTreeMap::new());
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = (&mut file).take(LINE_LIMIT as u64 + 1).read_until(b'\n', &mut line).map_err(cannot)?;
        if line.len() > LINE_LIMIT {
            return Err(ReadError::Failed(format!("{} is no status file of dpkg's", path.display())));
        }
        let text = String::from_utf8_lossy(&line);
        let text = text.trim_end();
        if text.is_empty() {
            if let Some((name, state, entry)) = one(&std::mem::take(&mut package)) {
                *states.entry(state.clone()).or_default() += 1;
                let is_plain = state == "installed" && entry.get("held").is_none();
                if contains.map_or(!is_plain, |part| name.contains(part)) {
                    list.push(entry);
                }
            }
        } else if let Some((key, value)) = text.split_once(": ").filter(|(key, _)| !key.starts_with(' ')) {
            package.insert(key.to_owned(), value.to_owned());
        }
        if read == 0 {
            break;
        }
    }
    // dpkg's journal: there is one only while it works, or after it was stopped at work.
    let updates = std::fs::read_dir(places.base.join("var/lib/dpkg/updates")).into_iter().flatten();
    let mut content = json!({ "states": states, "interrupted": updates.count() > 0 });
    if contains.is_none() {
        content["note"] =
            json!("packages that are installed and not held are only counted: name a part in contains");
    }
    list.put("packages", &mut content);
    Ok(ReadResult::seen(content))
}

/// The names of the packages that are installed; none where dpkg's status file cannot be read.
#[must_use]
pub fn installed_packages(root: &Path) -> BTreeSet<String> {
    let (mut names, mut package) = (BTreeSet::new(), String::new());
    let Ok(file) = std::fs::File::open(root.join(STATUS)) else { return names };
    let mut file = BufReader::new(file);
    let mut line = Vec::new();
    while (&mut file).take(LINE_LIMIT as u64).read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
        let text = String::from_utf8_lossy(&line);
        if let Some(name) = text.strip_prefix("Package: ") {
            name.trim_end().clone_into(&mut package);
        } else if text
            .strip_prefix("Status: ")
            .is_some_and(|status| status.trim_end().ends_with(" installed"))
        {
            names.insert(std::mem::take(&mut package));
        }
        line.clear();
    }
    names
}

/// Name, state and what is told of a package.
fn one(package: &BTreeMap<String, String>) -> Option<(String, String, Value)> {
    let get = |key: &str| package.get(key).map(String::as_str);
    let name = get("Package")?;
    let mut status = get("Status")?.split(' ');
    let (want, state) = (status.next()?, status.nth(1)?);
    let mut entry = json!({ "name": name, "state": state });
    for (key, member) in [("Version", "version"), ("Architecture", "arch"), ("Description", "summary")] {
        if let Some(value) = get(key) {
            entry[member] = json!(value);
        }
    }
    if want == "hold" {
        entry["held"] = json!(true);
    }
    Some((name.to_owned(), state.to_owned(), entry))
}

//! The files that a word may mean.

use serde::{Deserialize, Serialize};

/// Where a relative name may be looked up: the directories that a script changes to, and the one where it
/// starts, which is `.`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Directories(Vec<String>);

/// So many directories are kept in mind.
const LIMIT: usize = 8;

impl Default for Directories {
    fn default() -> Self {
        Self(vec![".".to_owned()])
    }
}

impl Directories {
    /// The script changes its directory. False if there are too many to follow.
    pub fn change(&mut self, to: &str) -> bool {
        let new: Vec<String> = self.0.iter().map(|place| join(place, to)).collect();
        for place in new {
            if !self.0.contains(&place) {
                self.0.push(place);
            }
        }
        self.0.len() <= LIMIT
    }

    /// Every file that a word may mean, or that stands in it: `--file=/x`, `if=/x`, `host:/x`, `open('/x')`.
    pub fn paths(&self, text: &str) -> Vec<String> {
        let mut paths = Vec::new();
        let is_path = |c: char| c.is_alphanumeric() || "._/~+%@*?[]-".contains(c);
        // An unknown part may be empty, or a part of the path.
        let parts = text.split(|c: char| !is_path(c)).chain(text.split(|c: char| !is_path(c) && c != '$'));
        for token in parts.filter(|token| !token.is_empty()) {
            let token = match token.find('/') {
                Some(at) if token.starts_with(['-', '@']) => token.get(at..).unwrap_or(token),
                Some(_) | None => token.strip_prefix('@').unwrap_or(token),
            };
            for place in &self.0 {
                let path = join(place, token);
                // How far up the start is, nobody knows here: far enough for any of these.
                if path.starts_with("..") {
                    paths.push(format!("/{}", path.trim_start_matches("../").trim_start_matches("..")));
                }
                if !paths.contains(&path) {
                    paths.push(path);
                }
            }
        }
        paths
    }
}

fn join(place: &str, name: &str) -> String {
    if name.starts_with(['/', '~']) { normal(name) } else { normal(&format!("{place}/{name}")) }
}

/// A path without `.`, `..` and doubled slashes. One that starts at `.` keeps it, or climbs with `..`.
fn normal(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    let is_absolute = path.starts_with('/');
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != ".." && !last.starts_with('~')) => {
                parts.pop();
            }
            ".." if is_absolute => {}
            part => parts.push(part),
        }
    }
    let joined = parts.join("/");
    if is_absolute {
        format!("/{joined}")
    } else if joined.starts_with(['~', '.']) && (joined.starts_with("..") || joined.starts_with('~')) {
        joined
    } else if joined.is_empty() {
        ".".to_owned()
    } else {
        format!("./{joined}")
    }
}

//! The requests that `postern insights --json` names. The agent wrote that file, so that it only chooses among the records of
//! the helper's own log: nothing else of it is read.

use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Most bytes of the file.
const FILE_LIMIT: u64 = 4 << 20;
/// Ids that a note names.
const NAMED: usize = 5;

/// The parts of the file that are read.
#[derive(Deserialize)]
struct Insights {
    #[serde(default)]
    missing_grants: Vec<Requests>,
    #[serde(default)]
    repeated_approvals: Vec<Requests>,
}

#[derive(Deserialize)]
struct Requests {
    request_ids: Vec<String>,
}

/// Ids of requests, and which of them the log has.
#[derive(Debug)]
pub struct Claims {
    ids: BTreeSet<String>,
    found: BTreeSet<String>,
}

impl Claims {
    /// Reads the ids of refused requests, or of approved ones; `-` is standard input.
    ///
    /// # Errors
    /// It cannot be read, or is no such file.
    pub fn read(path: &Path, is_approved: bool) -> Result<Self, String> {
        let cannot = |why: &dyn std::fmt::Display| format!("{}: {why}", path.display());
        let input = if path == Path::new("-") { Path::new("/dev/stdin") } else { path };
        let mut bytes = Vec::new();
        let file = File::open(input).map_err(|error| cannot(&error))?;
        file.take(FILE_LIMIT + 1).read_to_end(&mut bytes).map_err(|error| cannot(&error))?;
        if bytes.len() as u64 > FILE_LIMIT {
            return Err(cannot(&"it is larger than a report of `postern insights --json`"));
        }
        let Insights { missing_grants, repeated_approvals } = serde_json::from_slice(&bytes)
            .map_err(|error| cannot(&format!("it is not what `postern insights --json` prints: {error}")))?;
        let chosen = if is_approved { repeated_approvals } else { missing_grants };
        let ids = chosen.into_iter().flat_map(|one| one.request_ids);
        Ok(Self { ids: ids.filter(|id| is_id(id)).collect(), found: BTreeSet::new() })
    }

    /// Whether a record is of one of these requests.
    pub fn has(&self, record: &Value) -> bool {
        record["request_id"].as_str().is_some_and(|id| self.ids.contains(id))
    }

    /// Notes that the log has the refusal or the approval of this record's request.
    pub fn found(&mut self, record: &Value) {
        self.found
            .extend(record["request_id"].as_str().filter(|id| self.ids.contains(*id)).map(str::to_owned));
    }

    /// Says which requests the log has not.
    pub fn note(&self, what: &str) -> Option<String> {
        let lacking = self.ids.difference(&self.found).collect::<Vec<_>>();
        let named = lacking.iter().take(NAMED).map(|id| id.as_str()).collect::<Vec<_>>().join(", ");
        let more = if lacking.len() > NAMED { ", …" } else { "" };
        (!lacking.is_empty()).then(|| {
            let (lacking, all) = (lacking.len(), self.ids.len());
            format!("{lacking} of {all} requests that the agent names: this log has no {what} of them: {named}{more}")
        })
    }
}

/// A UUID as the helper takes it.
fn is_id(text: &str) -> bool {
    text.len() == 36 && text.bytes().all(|byte| byte == b'-' || matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

//! Findings as SARIF 2.1.0 (OASIS), which code review tools read.

use super::catalog::kinds;
use crate::finding::{Class, Severity};
use crate::policy::finding::Finding;
use crate::text::escape;
use serde_json::{Value, json};
use std::fmt::Write;

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

/// One log with one run.
pub(super) fn log(findings: &[Finding]) -> Value {
    let mut ids: Vec<&str> = findings.iter().map(|finding| finding.id).collect();
    ids.sort_unstable();
    ids.dedup();
    let index = |id: &str| ids.binary_search(&id).unwrap_or_default();
    let results: Vec<_> = findings.iter().map(|finding| result(finding, index(finding.id))).collect();
    json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "postern-admin",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": ids.iter().map(|id| descriptor(id)).collect::<Vec<_>>(),
            }},
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    })
}

fn descriptor(id: &str) -> Value {
    let kind = kinds().find(|kind| kind.id == id);
    let (class, help) = kind.map_or((None, "no description"), |kind| (kind.class, kind.help));
    let severity = class.map_or(Severity::Error, Class::severity);
    let how = match class {
        Some(_) => format!(
            "{help}. If the grant is meant, say why beside the rule: accept_risk = {{ {id} = \"REASON\" }}"
        ),
        None => help.to_owned(),
    };
    let mut rule = json!({
        "id": id,
        "shortDescription": { "text": help },
        "help": { "text": how },
        "defaultConfiguration": { "level": severity.as_str() },
    });
    if let Some(class) = class {
        rule["properties"] = json!({ "class": class.letter(), "tags": ["security"] });
    }
    rule
}

fn result(finding: &Finding, index: usize) -> Value {
    let mut result = json!({
        "ruleId": finding.id,
        "ruleIndex": index,
        "level": finding.severity.as_str(),
        "message": { "text": escape(&finding.message) },
        "locations": [{ "physicalLocation": {
            "artifactLocation": { "uri": uri(&finding.file) },
            "region": { "startLine": finding.line, "startColumn": finding.column },
        }}],
    });
    if !finding.rules.is_empty() {
        result["properties"] = json!({ "rules": finding.rules });
    }
    if let Some(reason) = &finding.accepted {
        result["suppressions"] =
            json!([{ "kind": "inSource", "status": "accepted", "justification": escape(reason) }]);
    }
    result
}

/// A path as a URI: absolute ones as `file:`, everything but unreserved characters as `%xx`.
fn uri(path: &str) -> String {
    let mut uri = String::from(if path.starts_with('/') { "file://" } else { "" });
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            // Writing to a String cannot fail.
            let _ = write!(uri, "%{byte:02X}");
        }
    }
    uri
}

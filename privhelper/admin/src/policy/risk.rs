//! Findings that a rule must accept by name before it is accepted itself.

use super::finding::Severity;
use super::keys::is_effect;
use super::table::Table;
use super::values;
use postern_helper::verb_id::VerbId;

/// The finding of a rule that writes where it may matter to the whole host.
pub const WRITE_OUTSIDE_HARMLESS: &str = "write-outside-harmless";
/// Directories that nothing runs from and nothing of the system reads.
const HARMLESS: [&str; 5] = ["/srv", "/var/www", "/home", "/data", "/mnt"];
/// What the helper's unit may write to (`ReadWritePaths`); anything else needs a drop-in.
const WRITABLE: [&str; 5] = ["/etc", "/var", "/srv", "/opt", "/usr/local"];

/// Checks what an allow rule grants against what it accepts.
pub fn check(table: Table<'_>, verbs: &[VerbId]) {
    let accepted = table.pairs("accept_risk");
    let accepts = |finding: &str| accepted.iter().any(|(name, _)| name.value == finding || name.value == "*");
    let writes = verbs.iter().any(|verb| is_effect(*verb));
    let directories = table.texts("directories").filter(|_| writes).unwrap_or_default();
    let mut found = false;
    // A text that is no directory is reported where it is read.
    for directory in directories.iter().filter(|directory| values::directory(directory.value).is_ok()) {
        if !is_below(directory.value, &HARMLESS) {
            found = true;
            if !accepts(WRITE_OUTSIDE_HARMLESS) {
                let why = format!(
                    "the rule writes below {:?}, outside {}: if that is meant, say why with accept_risk = {{ {WRITE_OUTSIDE_HARMLESS} = \"REASON\" }}",
                    directory.value,
                    HARMLESS.join(" ")
                );
                table.error(directory.at, why);
            }
        }
        if !is_below(directory.value, &WRITABLE) {
            let why = format!(
                "the helper's unit cannot write below {:?}: add a drop-in for postern-helper.service with ReadWritePaths= of its parent",
                directory.value
            );
            table.findings().borrow_mut().add(Severity::Note, table.source, directory.at, why);
        }
    }
    for (name, _) in accepted.iter().filter(|(name, _)| name.value != "*") {
        if name.value != WRITE_OUTSIDE_HARMLESS || !found {
            let why = format!("`accept_risk` names {:?}, which is no finding of this rule", name.value);
            table.findings().borrow_mut().add(Severity::Warning, table.source, name.at, why);
        }
    }
}

fn is_below(path: &str, parents: &[&str]) -> bool {
    parents
        .iter()
        .any(|parent| path.strip_prefix(parent).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')))
}

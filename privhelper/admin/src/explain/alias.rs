//! Units that a request names by an alias: the helper decides the unit's own name too, so it is explained as well.

use super::request::{Element, Target};
use crate::host::Host;
use crate::lint::gather;
use postern_policy::types::UnitName;

/// Adds the unit behind each alias of this host, and returns a note for each. Without systemd nothing is known of aliases.
pub(super) fn add(host: &Host, elements: &mut Vec<Element>) -> Vec<String> {
    let Some(systemctl) = host.systemctl.as_deref().filter(|_| host.systemd.exists()) else {
        return Vec::new();
    };
    let mut notes = Vec::new();
    for Element { verb, target } in elements.clone() {
        let Target::Unit(name) = target else { continue };
        if UnitName::new(&name).is_err() {
            continue;
        }
        let arguments = ["show", "--no-pager", "--property=Id", "--", &name].map(str::to_owned);
        let shown = gather::run(systemctl, &arguments).unwrap_or_default();
        let id = shown.lines().find_map(|line| line.strip_prefix("Id="));
        if let Some(id) = id.filter(|id| *id != name && UnitName::new(id).is_ok()) {
            notes.push(format!("on this host {name} is an alias of {id}, which must be granted too"));
            elements.push(Element { verb, target: Target::Unit(id.to_owned()) });
        }
    }
    notes
}

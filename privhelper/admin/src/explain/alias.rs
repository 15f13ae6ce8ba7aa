//! Units that a request names by an alias: the helper decides the unit's own name too, so it is explained as well.

use super::model::{Explanation, Outcome};
use super::request::{Element, Target};
use crate::host::Host;
use crate::lint::gather;
use postern_policy::types::UnitName;

/// A name in a request that is an alias on this host.
pub(super) struct Alias {
    name: String,
    /// The unit's own name.
    id: String,
}

/// Adds the unit behind each alias of this host, and returns the aliases. Without systemd nothing is known of them.
pub(super) fn add(host: &Host, elements: &mut Vec<Element>) -> Vec<Alias> {
    let Some(systemctl) = host.running_systemctl() else {
        return Vec::new();
    };
    let mut aliases = Vec::new();
    for Element { verb, target } in elements.clone() {
        let Target::Unit(name) = target else { continue };
        if UnitName::new(&name).is_err() {
            continue;
        }
        let arguments = ["show", "--no-pager", "--property=Id", "--", &name].map(str::to_owned);
        let shown = gather::run(systemctl, &arguments).unwrap_or_default();
        let id = shown.lines().find_map(|line| line.strip_prefix("Id="));
        if let Some(id) = id.filter(|id| *id != name && UnitName::new(id).is_ok()) {
            elements.push(Element { verb, target: Target::Unit(id.to_owned()) });
            aliases.push(Alias { name, id: id.to_owned() });
        }
    }
    aliases
}

/// Says of an alias which of the two names lacks a grant.
pub(super) fn note(Alias { name, id }: &Alias, explained: &Explanation) -> String {
    let is_refused = |object: &str| {
        let of_it = explained.elements.iter().filter(|element| element.object == object);
        of_it.into_iter().any(|element| element.decision == Outcome::Refuse)
    };
    let rest = match (is_refused(name), is_refused(id)) {
        (true, false) => format!("which is granted: request {id}"),
        (true, true) => format!("which must be granted: then request {id}"),
        (false, true) => "which must be granted too".to_owned(),
        (false, false) => "which is granted too".to_owned(),
    };
    format!("on this host {name} is an alias of {id}, {rest}")
}

//! The agent's rooms, the modules at the top of its crate: each uses only rooms above it.

use crate::source::Source;
use crate::workspace::root;
use std::collections::BTreeSet;
use std::path::Path;

/// The rooms of the agent from the top: a room uses those before it, and none after it.
const ROOMS: &[&[&str]] = &[
    &["protocol"],
    &["config", "redaction", "telemetry", "audit"],
    &["client", "render"],
    &["shell_parser", "shims", "shell_policy", "sandbox"],
    &["inspect", "plan", "runbooks", "offline_planner"],
    &["llm", "knowledge", "agent_loop"],
    &["store", "executor", "insights", "service"],
    &["mcp", "cli"],
];

/// The room of a module; nothing for the root of the crate.
fn room_of(module: &str) -> Option<&str> {
    module.strip_prefix("crate::").and_then(|path| path.split("::").next())
}

/// Returns the faults of a package's rooms: imports of a room below, and rooms that are not those of the table.
fn faults(package: &Path, rooms: &[&[&str]]) -> Vec<String> {
    let source = Source::read(package);
    let order: Vec<&str> = rooms.concat();
    let place = |room: &str| order.iter().position(|known| *known == room);
    let name = |module: usize| source.modules[module].name.as_str();
    let mut faults = Vec::new();
    let found: BTreeSet<&str> = source.modules.iter().filter_map(|module| room_of(&module.name)).collect();
    faults.extend(found.iter().filter(|room| place(room).is_none()).map(|room| format!("{room} is no room")));
    faults.extend(order.iter().filter(|room| !found.contains(*room)).map(|room| format!("no room {room}")));
    for (from, uses) in source.uses() {
        let Some(own) = room_of(name(from)) else { continue };
        for to in uses {
            // An item of the root belongs to no room, so that none may use it.
            let is_above = room_of(name(to)).is_some_and(|used| place(used) <= place(own));
            if !is_above {
                faults.push(format!("{} uses {}", name(from), name(to)));
            }
        }
    }
    faults
}

#[test]
fn rooms_of_the_agent_use_only_rooms_above_them() {
    let faults = faults(&root().join("agent"), ROOMS);
    assert!(faults.is_empty(), "the order of rooms does not hold:\n{}", faults.join("\n"));
}

#[test]
fn finds_a_room_that_uses_one_below_it() {
    let rooms: &[&[&str]] = &[&["records"], &["store", "cli"]];
    let of = |lib: &str, records: &str, store: &str| {
        let package = tempfile::tempdir().expect("a directory");
        std::fs::create_dir_all(package.path().join("src/cli")).expect("a directory");
        let files = [
            ("lib.rs", lib),
            ("records.rs", records),
            ("store.rs", store),
            ("cli/mod.rs", "mod verbs; pub struct Cli;"),
            ("cli/verbs.rs", "use crate::store::Store; use crate::records::Record; use super::Cli;"),
        ];
        for (path, text) in files {
            std::fs::write(package.path().join("src").join(path), text).expect("a file");
        }
        faults(package.path(), rooms)
    };
    let lib = "mod cli; mod records; mod store; pub struct Item; pub use store::Store;";
    let records = "pub struct Record;";
    let store = "use crate::records::Record; pub struct Store;";
    assert!(of(lib, records, store).is_empty());
    let below = "pub struct Record(crate::store::Store);";
    assert_eq!(of(lib, below, store), ["crate::records uses crate::store"]);
    // A re-export at the crate's root belongs to its room.
    assert_eq!(of(lib, "use crate::Store as Record;", store), ["crate::records uses crate::store"]);
    assert_eq!(of(lib, "fn f() { super::Item }", store), ["crate::records uses crate"]);
    let sibling = "use crate::cli::Cli; pub struct Store;";
    assert_eq!(of(lib, records, sibling), ["crate::store uses crate::cli"]);
    assert_eq!(of(&lib.replace("mod store;", ""), records, store).first().expect("a fault"), "no room store");
    let more = format!("{lib} mod extra {{}}");
    assert_eq!(of(&more, records, store), ["extra is no room"]);
}

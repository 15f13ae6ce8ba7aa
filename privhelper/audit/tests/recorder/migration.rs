//! Migration: log and seal of the single helper before the separation (`tests/old-helper`), given to the recorder as postinst does.

use crate::common::{CLIENT, Root, World, eventually, furnish, new_id};
use crate::reader::verified;
use std::path::Path;

const OLD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/old-helper");

/// A recorder that continues what this directory holds.
fn continued(old: &Path) -> World {
    let directory = tempfile::Builder::new().prefix("old").tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    furnish(directory.path());
    for (from, to) in
        [("audit.jsonl", "log/audit.jsonl"), ("next", "state/seal/next"), ("running", "run/seal")]
    {
        std::fs::copy(old.join(from), directory.path().join(to)).unwrap();
    }
    World::at(directory)
}

fn lines(old: &Path) -> usize {
    std::fs::read_to_string(old.join("audit.jsonl")).unwrap().lines().count()
}

#[test]
fn chain_seal_and_signatures_go_on_across_the_migration() {
    let old = Path::new(OLD);
    let world = continued(old);
    Root::willing(&world.host.files);
    world.run(world.claim(&new_id())).completed();
    world.state.log.stop().unwrap();
    let log = world.log();
    let reader = verified(&log);
    // start, its signature, begin, end, stop and its signature; in the second epoch still.
    assert_eq!((log.len(), reader.key.unwrap().0), (lines(old) + 6, 1));
    assert_eq!((world.count("tampered"), world.count("torn"), world.count("interrupted")), (0, 0, 0));
    assert!(world.state.log.notes().is_empty(), "{:?}", world.state.log.notes());
}

#[test]
fn migration_ends_each_open_request_of_the_old_helper_once() {
    let old = &Path::new(OLD).join("killed");
    let id = |number: u32| format!("019aaa62-0b3c-7000-8000-{number:012}");
    let mut world = continued(old);
    // No program of root's listens: none is asked about requests that it cannot know.
    world.state.recover();
    eventually("what was left open has ended", || world.log().len() == lines(old) + 5);
    let mut ended = ["interrupted", "refused"].map(|event| {
        let own = world.records(event).into_iter().filter(|record| record["seq"].as_u64() > Some(12));
        own.map(|record| {
            (record["request_id"].clone(), record["verb"].clone(), record["outcome"]["code"].clone())
        })
        .collect::<Vec<_>>()
    });
    ended[0].sort_by_key(|(id, ..)| id.to_string());
    let record = |number, verb: &str, code: &str| (id(number).into(), verb.into(), code.into());
    assert_eq!(
        ended[0],
        [record(2, "package.install", "interrupted"), record(4, "unit.restart", "interrupted")]
    );
    assert_eq!(ended[1], [record(3, "file.remove", "approval_expired")]);
    let client = &world.records("interrupted")[0]["client"]["uid"];
    assert_eq!(client.as_u64(), Some(CLIENT.into()));
    // A replay does nothing; what had ended is not known any more.
    eventually("it has ended", || world.recall(&id(2)).state == "ended");
    assert_eq!(world.recall(&id(1)).state, "unknown");
    world.restart();
    world.state.log.stop().unwrap();
    // start and stop, each with its signature.
    assert_eq!(world.log().len(), lines(old) + 5 + 4);
    verified(&world.log());
    assert_eq!((world.count("tampered"), world.count("torn")), (0, 0));
}

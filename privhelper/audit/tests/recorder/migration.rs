//! The log and the seal of an installed helper of before the rebuild (`tests/old-helper`), given to the recorder as postinst does.

use crate::common::{Root, World, furnish, new_id};
use crate::reader::verified;
use std::path::Path;

const OLD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/old-helper");

#[test]
fn chain_seal_and_signatures_go_on_across_the_migration() {
    let directory = tempfile::Builder::new().prefix("old").tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    furnish(directory.path());
    for (from, to) in
        [("audit.jsonl", "log/audit.jsonl"), ("next", "state/seal/next"), ("running", "run/seal")]
    {
        std::fs::copy(Path::new(OLD).join(from), directory.path().join(to)).unwrap();
    }
    let old = std::fs::read_to_string(directory.path().join("log/audit.jsonl")).unwrap().lines().count();
    let world = World::at(directory);
    Root::willing(&world.host.files);
    world.run(world.claim(&new_id())).completed();
    world.state.log.stop().unwrap();
    let log = world.log();
    let reader = verified(&log);
    // start, its signature, begin, end, stop and its signature; in the second epoch still.
    assert_eq!((log.len(), reader.key.unwrap().0), (old + 6, 1));
    assert_eq!((world.count("tampered"), world.count("torn"), world.count("interrupted")), (0, 0, 0));
    assert!(world.state.log.notes().is_empty(), "{:?}", world.state.log.notes());
}

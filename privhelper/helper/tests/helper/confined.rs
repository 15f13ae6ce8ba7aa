//! Landlock, without the path code in the way.

use postern_helper::error::{Fault, Stop};
use postern_helper::sys::confined::{self, Need};
use postern_helper::sys::files;

#[test]
fn a_confined_thread_reaches_nothing_else() {
    assert!(confined::available(), "this kernel has no Landlock");
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let (inside, outside) = (directory.path().join("in"), directory.path().join("out"));
    for path in [&inside, &outside] {
        std::fs::create_dir(path).unwrap();
        std::fs::write(path.join("file"), "x").unwrap();
    }
    let granted = files::open_own(&inside).unwrap();
    let tries = |enforce| {
        confined::run(enforce, Need::Change, &[&granted], || -> Result<Vec<bool>, Stop> {
            let fault = |error| Stop::from(Fault::Io { doing: "read inside", error });
            std::fs::read(inside.join("file")).map_err(fault)?;
            std::fs::write(inside.join("new"), "y").map_err(fault)?;
            Ok(vec![
                std::fs::read(outside.join("file")).is_ok(),
                std::fs::write(outside.join("file"), "evil").is_ok(),
                std::fs::write(outside.join("new"), "evil").is_ok(),
                std::fs::remove_file(outside.join("new")).is_ok(),
                std::fs::read("/etc/passwd").is_ok(),
                std::os::unix::fs::symlink("/etc", inside.join(format!("link-{enforce}"))).is_ok(),
            ])
        })
    };
    assert_eq!(tries(true).unwrap(), [false; 6]);
    assert_eq!(std::fs::read(outside.join("file")).unwrap(), b"x");
    // Without Landlock every one of them works: the attempts are real.
    assert_eq!(tries(false).unwrap(), [true; 6]);
    assert!(std::fs::read("/etc/passwd").is_ok(), "the confinement spread to this thread");
}

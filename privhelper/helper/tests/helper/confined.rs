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

#[test]
fn a_thread_that_only_looks_can_change_nothing_and_keeps_one_capability() {
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let at = directory.path();
    std::fs::write(at.join("file"), "x").unwrap();
    let granted = files::open_own(at).unwrap();
    let tries = |enforce, need| {
        confined::run(enforce, need, &[&granted], || -> Result<_, Stop> {
            let read = std::fs::read(at.join("file")).map_err(|error| Fault::Io { doing: "read", error })?;
            assert_eq!(read, b"x");
            let written = [
                std::fs::write(at.join("file"), "x").is_ok(),
                std::fs::write(at.join("new"), "x").is_ok(),
                std::fs::create_dir(at.join("dir")).is_ok(),
                std::fs::remove_dir(at.join("dir")).is_ok(),
                std::fs::remove_file(at.join("new")).is_ok(),
            ];
            Ok((written, caps::read(None, caps::CapSet::Permitted).unwrap()))
        })
    };
    let had = caps::read(None, caps::CapSet::Permitted).unwrap();
    let (written, kept) = tries(true, Need::Look).unwrap();
    assert_eq!(written, [false; 5]);
    assert!(kept.iter().all(|capability| *capability == caps::Capability::CAP_DAC_OVERRIDE), "{kept:?}");
    let (written, kept) = tries(true, Need::Change).unwrap();
    assert_eq!(written, [true; 5], "the attempts are real");
    assert!(kept.len() <= 3 && kept.is_subset(&had), "{kept:?}");
    assert_eq!(caps::read(None, caps::CapSet::Permitted).unwrap(), had, "other threads keep theirs");
}

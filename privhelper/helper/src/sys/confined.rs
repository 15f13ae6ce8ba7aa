//! Threads that have Landlocked themselves before their first path.
//!
//! It guards against mistakes in path code: descriptors and memory are shared,
//! so programs are never started from such a thread, and it is not used again.

use crate::error::{Fault, Stop};
use landlock::{
    ABI, Access, AccessFs, BitFlags, CompatLevel, Compatible, PathBeneath, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetError,
};
use std::os::fd::{AsFd, OwnedFd};

/// Runs `work` on a thread of its own that can reach nothing but what is below these directories.
/// Where the kernel lacks Landlock (`enforce` false, said at start and in status) on a thread without it.
///
/// # Errors
/// What `work` returns; a fault if the thread or its confinement can't be had.
pub fn run<T: Send>(
    enforce: bool,
    directories: &[&OwnedFd],
    work: impl FnOnce() -> Result<T, Stop> + Send,
) -> Result<T, Stop> {
    let granted = AccessFs::ReadFile
        | AccessFs::ReadDir
        | AccessFs::WriteFile
        | AccessFs::MakeReg
        | AccessFs::RemoveFile;
    let directories = directories.iter().map(|directory| (*directory, granted)).collect::<Vec<_>>();
    within(enforce, &directories, work)
}

/// As [`run`], to copy what stands in one directory, which stays as it is, to another, links and directories too.
///
/// # Errors
/// As [`run`].
pub fn run_copy<T: Send>(
    enforce: bool,
    from: &OwnedFd,
    to: &OwnedFd,
    work: impl FnOnce() -> Result<T, Stop> + Send,
) -> Result<T, Stop> {
    let look = AccessFs::ReadFile | AccessFs::ReadDir;
    let make = AccessFs::WriteFile | AccessFs::MakeReg | AccessFs::MakeDir | AccessFs::MakeSym;
    within(enforce, &[(from, look), (to, look | make)], work)
}

/// A directory and what may be done below it.
type Granted<'a> = (&'a OwnedFd, BitFlags<AccessFs>);

fn within<T: Send>(
    enforce: bool,
    directories: &[Granted<'_>],
    work: impl FnOnce() -> Result<T, Stop> + Send,
) -> Result<T, Stop> {
    std::thread::scope(|scope| {
        let confined = move || {
            if enforce {
                restrict(directories)
                    .map_err(|error| Fault::Program { what: format!("Landlock: {error}") })?;
            }
            work()
        };
        let thread = std::thread::Builder::new().name("file".to_owned()).spawn_scoped(scope, confined);
        let thread = thread.map_err(Fault::io("start a thread"))?;
        thread
            .join()
            .unwrap_or_else(|_| Err(Fault::Program { what: "a file thread ended".to_owned() }.into()))
    })
}

/// Whether this kernel can confine a thread as [`run`] does.
#[must_use]
pub fn available() -> bool {
    std::thread::spawn(|| restrict(&[]).is_ok()).join().unwrap_or(false)
}

/// Everything of ABI 1 is handled, and required: best effort would report success with nothing enforced.
fn restrict(directories: &[Granted<'_>]) -> Result<(), RulesetError> {
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(ABI::V1))?
        .create()?;
    for (directory, granted) in directories {
        rules = rules.add_rule(PathBeneath::new(directory.as_fd(), *granted))?;
    }
    rules.restrict_self().map(drop)
}

//! Threads that have given up paths and power before their first path.
//!
//! It guards against mistakes in path code: descriptors and memory are shared,
//! so programs are never started from such a thread, and it is not used again.

use crate::error::{Fault, Stop};
use caps::{CapSet, Capability, CapsHashSet};
use landlock::{
    ABI, Access, AccessFs, BitFlags, CompatLevel, Compatible, PathBeneath, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetError,
};
use std::os::fd::{AsFd, OwnedFd};

/// What a thread does with files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// It only looks.
    Look,
    /// It changes them.
    Change,
}

impl Need {
    fn access(self) -> BitFlags<AccessFs> {
        let look = AccessFs::ReadFile | AccessFs::ReadDir;
        let change = AccessFs::WriteFile
            | AccessFs::MakeReg
            | AccessFs::MakeDir
            | AccessFs::RemoveFile
            | AccessFs::RemoveDir;
        match self {
            Self::Look => look,
            Self::Change => look | change,
        }
    }

    /// To look takes the right to pass by modes, to change all that the helper has.
    fn capabilities(self) -> CapsHashSet {
        match self {
            Self::Look => [Capability::CAP_DAC_OVERRIDE].into(),
            Self::Change => {
                [Capability::CAP_DAC_OVERRIDE, Capability::CAP_CHOWN, Capability::CAP_FOWNER].into()
            }
        }
    }
}

/// Runs `work` on a thread of its own that can reach nothing but what is below these directories, with no capability
/// beyond its need. Where the kernel lacks Landlock (`enforce` false, said at start and in status) paths are not
/// confined.
///
/// # Errors
/// What `work` returns; a fault if the thread or its confinement can't be had.
pub fn run<T: Send>(
    enforce: bool,
    need: Need,
    directories: &[&OwnedFd],
    work: impl FnOnce() -> Result<T, Stop> + Send,
) -> Result<T, Stop> {
    let directories = directories.iter().map(|directory| (*directory, need.access())).collect::<Vec<_>>();
    within(enforce, need, &directories, work)
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
    let make = Need::Change.access() | AccessFs::MakeSym;
    within(enforce, Need::Change, &[(from, Need::Look.access()), (to, make)], work)
}

/// A directory and what may be done below it.
type Granted<'a> = (&'a OwnedFd, BitFlags<AccessFs>);

fn within<T: Send>(
    enforce: bool,
    need: Need,
    directories: &[Granted<'_>],
    work: impl FnOnce() -> Result<T, Stop> + Send,
) -> Result<T, Stop> {
    std::thread::scope(|scope| {
        let confined = move || {
            let failed = |what: String| Fault::Program { what };
            if enforce {
                restrict(directories).map_err(|error| failed(format!("Landlock: {error}")))?;
            }
            drop_capabilities(need).map_err(|error| failed(format!("capabilities: {error}")))?;
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

/// Capabilities are a thread's own (capabilities(7)).
fn drop_capabilities(need: Need) -> Result<(), caps::errors::CapsError> {
    let had = caps::read(None, CapSet::Permitted)?;
    let kept = had.intersection(&need.capabilities()).copied().collect::<CapsHashSet>();
    caps::set(None, CapSet::Effective, &kept)?;
    caps::set(None, CapSet::Permitted, &kept)
}

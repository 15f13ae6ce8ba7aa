//! A thread that has given up writing: Landlock lets it read below some directories, and one capability is left.

use crate::path::Directory;
use caps::{CapSet, Capability, CapsHashSet};
use landlock::{
    ABI, Access, AccessFs, BitFlags, CompatLevel, Compatible, PathBeneath, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetError,
};
use postern_root::{Error, Fault};
use std::os::fd::AsFd;

/// The rights to read files and directories.
pub fn read_rights() -> BitFlags<AccessFs> {
    AccessFs::ReadFile | AccessFs::ReadDir
}

/// Lets the calling thread, and every thread that it starts, reach nothing but what is below these directories.
///
/// # Errors
/// The kernel cannot enforce all of it. Best effort would report success with nothing enforced.
pub fn restrict<'a>(
    granted: impl IntoIterator<Item = (&'a (impl AsFd + 'a), BitFlags<AccessFs>)>,
) -> Result<(), RulesetError> {
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(ABI::V1))?
        .create()?;
    for (directory, rights) in granted {
        rules = rules.add_rule(PathBeneath::new(directory.as_fd(), rights))?;
    }
    rules.restrict_self().map(drop)
}

/// Runs `work` on a thread of its own that can only read, and only below these directories.
///
/// # Errors
/// The error of `work`; a fault if the thread or its confinement cannot be had.
pub fn reading<T: Send>(
    directories: &[Directory],
    work: impl FnOnce() -> Result<T, Error> + Send,
) -> Result<T, Error> {
    std::thread::scope(|scope| {
        let confined = move || {
            let failed = |what: String| Fault::Program { what };
            restrict(directories.iter().map(|directory| (directory, read_rights())))
                .map_err(|error| failed(format!("Landlock: {error}")))?;
            drop_capabilities().map_err(|error| failed(format!("capabilities: {error}")))?;
            work()
        };
        let thread = std::thread::Builder::new().name("inspect".to_owned()).spawn_scoped(scope, confined);
        let thread = thread.map_err(Fault::io("start a thread"))?;
        let ended = || Err(Fault::Program { what: "a thread that reads ended".to_owned() }.into());
        thread.join().unwrap_or_else(|_| ended())
    })
}

/// Capabilities are a thread's own (capabilities(7)). Reading takes the one that passes by modes.
fn drop_capabilities() -> Result<(), caps::errors::CapsError> {
    let had = caps::read(None, CapSet::Permitted)?;
    let kept = had.into_iter().filter(|one| *one == Capability::CAP_DAC_OVERRIDE).collect::<CapsHashSet>();
    caps::set(None, CapSet::Effective, &kept)?;
    caps::set(None, CapSet::Permitted, &kept)
}

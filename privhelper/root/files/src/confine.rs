//! Confines the process before its first order: Landlock to the policy's directories and its own state, and a filter of
//! system calls. A thread that inspects gives up writing besides.
//!
//! Landlock knows no chmod or chown: the filter has only the calls on descriptors, and Landlock decides which can be had.

use crate::path::{Directory, open_granted};
use caps::{CapSet, Capability, CapsHashSet};
use landlock::{
    ABI, Access, AccessFs, BitFlags, CompatLevel, Compatible, PathBeneath, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetError,
};
use nix::fcntl::OFlag;
use nix::libc;
use nix::sys::stat::Mode;
use postern_policy::{Decision, Policy, Selector, VerbId};
use postern_root::{Fault, Host};
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, apply_filter};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

macro_rules! calls {
    ($($call:ident)*) => { &[$(libc::$call),*] };
}

/// The system calls of this program: those that its own code makes on files, its socket and threads, and those of Rust's
/// and C's libraries for memory, threads and the end. `tests/files/confine.rs` holds that others are refused.
const CALLS: &[libc::c_long] = calls! {
    SYS_openat SYS_close SYS_read SYS_pread64 SYS_write SYS_lseek SYS_statx SYS_fstat SYS_newfstatat SYS_fstatfs
    SYS_getdents64 SYS_readlinkat SYS_fchown SYS_fchmod SYS_fgetxattr SYS_flistxattr SYS_fsetxattr SYS_fremovexattr
    SYS_fsync SYS_mkdirat SYS_symlinkat SYS_unlinkat SYS_renameat SYS_renameat2 SYS_fcntl
    SYS_accept4 SYS_getsockopt SYS_setsockopt SYS_recvfrom SYS_sendto SYS_ppoll
    SYS_clone3 SYS_set_robust_list SYS_rseq SYS_futex SYS_prctl SYS_capget SYS_capset
    SYS_landlock_create_ruleset SYS_landlock_add_rule SYS_landlock_restrict_self
    SYS_mmap SYS_munmap SYS_mremap SYS_mprotect SYS_madvise SYS_brk SYS_sigaltstack SYS_rt_sigaction
    SYS_rt_sigprocmask SYS_rt_sigreturn SYS_restart_syscall SYS_clock_gettime SYS_getrandom SYS_getpid
    SYS_gettid SYS_tgkill SYS_exit SYS_exit_group
};
/// Older calls that C's library still makes there.
#[cfg(target_arch = "x86_64")]
const OLDER: &[libc::c_long] = calls! { SYS_poll SYS_mkdir };
#[cfg(not(target_arch = "x86_64"))]
const OLDER: &[libc::c_long] = &[];

/// Confines the process. Directories that are missing or unsafe now are not granted: when they change, it ends.
///
/// # Errors
/// The kernel cannot enforce all of it.
pub fn confine(host: &Host, policy: &Policy) -> Result<(), Fault> {
    let mut granted: Vec<(OwnedFd, BitFlags<AccessFs>)> = Vec::new();
    for rule in policy.rules().iter().filter(|rule| rule.decision != Decision::Deny) {
        let Selector::Files { directories, .. } = &rule.selector else { continue };
        let changes = rule.verbs.iter().any(|verb| !matches!(verb, VerbId::FileRead | VerbId::FileList));
        let rights = if changes { change_rights() } else { read_rights() };
        let directories =
            directories.iter().filter_map(|directory| open_granted(directory, host.root_uid).ok());
        granted.extend(directories.map(|directory| (directory.fd, rights)));
    }
    let open = |path: &Path| {
        let opened = nix::fcntl::open(path, OFlag::O_PATH | OFlag::O_CLOEXEC, Mode::empty());
        opened.map_err(Fault::io("open what the program needs"))
    };
    granted.push((open(&host.state)?, change_rights() | AccessFs::MakeSym));
    for accounts in [&host.passwd, &host.group] {
        granted.push((open(accounts)?, AccessFs::ReadFile.into()));
    }
    let rights = granted.iter().map(|(fd, rights)| (fd, *rights));
    restrict(rights).map_err(|error| Fault::Program { what: format!("Landlock: {error}") })?;
    filter().map_err(|error| Fault::Program { what: format!("seccomp: {error}") })
}

fn change_rights() -> BitFlags<AccessFs> {
    read_rights()
        | AccessFs::WriteFile
        | AccessFs::MakeReg
        | AccessFs::MakeDir
        | AccessFs::RemoveFile
        | AccessFs::RemoveDir
}

/// Every other system call fails with EPERM.
fn filter() -> Result<(), seccompiler::Error> {
    let refuse = SeccompAction::Errno(libc::EPERM.unsigned_abs());
    let rules = CALLS.iter().chain(OLDER).map(|call| (*call, Vec::new())).collect();
    let filter = SeccompFilter::new(rules, refuse, SeccompAction::Allow, std::env::consts::ARCH.try_into()?)?;
    apply_filter(&BpfProgram::try_from(filter)?)
}

/// The rights to read files and directories.
fn read_rights() -> BitFlags<AccessFs> {
    AccessFs::ReadFile | AccessFs::ReadDir
}

/// Lets the calling thread, and every thread that it starts, reach nothing but what is below these directories. All of
/// it is required: best effort would report success with nothing enforced.
fn restrict<'a>(
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

/// Gives up writing, on the calling thread and for good: it can only read, and only below these directories.
///
/// # Errors
/// The kernel cannot enforce it.
pub fn give_up_writing(directories: &[Directory]) -> Result<(), Fault> {
    let failed = |what: String| Fault::Program { what };
    restrict(directories.iter().map(|directory| (directory, read_rights())))
        .map_err(|error| failed(format!("Landlock: {error}")))?;
    drop_capabilities().map_err(|error| failed(format!("capabilities: {error}")))
}

/// Capabilities are a thread's own (capabilities(7)). Reading takes the one that passes by modes.
fn drop_capabilities() -> Result<(), caps::errors::CapsError> {
    let had = caps::read(None, CapSet::Permitted)?;
    let kept = had.into_iter().filter(|one| *one == Capability::CAP_DAC_OVERRIDE).collect::<CapsHashSet>();
    caps::set(None, CapSet::Effective, &kept)?;
    caps::set(None, CapSet::Permitted, &kept)
}

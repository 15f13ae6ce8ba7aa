//! Confines the process before its first order: Landlock to the policy's directories and its own state, and a filter of
//! system calls. A thread that inspects also drops its write access.
//!
//! Landlock does not cover chmod and chown: the filter permits only the calls on descriptors, which Landlock limits.

use crate::path::{Directory, open_granted};
use caps::Capability;
use landlock::{
    ABI, Access, AccessFs, BitFlags, CompatLevel, Compatible, PathBeneath, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetError, make_bitflags,
};
use nix::fcntl::OFlag;
use nix::libc;
use nix::sys::stat::Mode;
use postern_policy::{Decision, Policy, Selector};
use postern_root::{Fault, Host, server};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    apply_filter,
};
use std::collections::BTreeMap;
use std::fmt::Display;
use std::os::fd::{AsFd, OwnedFd};

macro_rules! calls {
    ($($call:ident)*) => { &[$(libc::$call),*] };
}

/// The system calls of this program: those that its own code makes on files, its socket and threads, and those of Rust's
/// and C's libraries for memory, threads and the end (`RestrictNamespaces=` makes clone3(2) answer ENOSYS, then C's
/// library calls clone(2)). `tests/files/confine.rs` holds that others are refused.
const CALLS: &[libc::c_long] = calls! {
    SYS_openat SYS_close SYS_read SYS_pread64 SYS_write SYS_lseek SYS_statx SYS_fstat SYS_newfstatat SYS_fstatfs
    SYS_getdents64 SYS_readlinkat SYS_fchown SYS_fchmod SYS_fgetxattr SYS_flistxattr SYS_fsetxattr SYS_fremovexattr
    SYS_fsync SYS_mkdirat SYS_symlinkat SYS_unlinkat SYS_renameat SYS_renameat2 SYS_fcntl
    SYS_accept4 SYS_getsockopt SYS_setsockopt SYS_recvfrom SYS_sendto SYS_ppoll
    SYS_clone SYS_clone3 SYS_set_robust_list SYS_rseq SYS_futex SYS_prctl SYS_capget SYS_capset
    SYS_landlock_create_ruleset SYS_landlock_add_rule SYS_landlock_restrict_self
    SYS_mmap SYS_munmap SYS_mremap SYS_mprotect SYS_madvise SYS_brk SYS_sigaltstack SYS_rt_sigaction
    SYS_rt_sigprocmask SYS_rt_sigreturn SYS_restart_syscall SYS_clock_gettime SYS_getrandom SYS_getpid
    SYS_gettid SYS_tgkill SYS_exit SYS_exit_group
};
/// Older calls that the C library makes on this architecture.
#[cfg(target_arch = "x86_64")]
const OLDER: &[libc::c_long] = calls! { SYS_poll SYS_mkdir };
#[cfg(not(target_arch = "x86_64"))]
const OLDER: &[libc::c_long] = &[];

/// The rights to read files and directories.
const READ: BitFlags<AccessFs> = make_bitflags!(AccessFs::{ReadFile | ReadDir});
/// The rights to change them.
const CHANGE: BitFlags<AccessFs> =
    make_bitflags!(AccessFs::{ReadFile | ReadDir | WriteFile | MakeReg | MakeDir | RemoveFile | RemoveDir});

/// Confines the process. Directories that are missing now, or not safe to open, are left out; the process ends when they change.
///
/// # Errors
/// The kernel cannot enforce all of it.
pub fn confine(host: &Host, policy: &Policy) -> Result<(), Fault> {
    let mut granted: Vec<(OwnedFd, BitFlags<AccessFs>)> = Vec::new();
    let rules = policy.rules().iter().filter(|rule| rule.as_user.is_empty());
    for rule in rules.filter(|rule| rule.decision != Decision::Deny) {
        let Selector::Files { directories, .. } = &rule.selector else { continue };
        let changes = rule.verbs.iter().any(|verb| verb.is_effect());
        let rights = if changes { CHANGE } else { READ };
        let directories =
            directories.iter().filter_map(|directory| open_granted(directory, host.root_uid).ok());
        granted.extend(directories.map(|directory| (directory.fd, rights)));
    }
    let own = (&host.state, CHANGE | AccessFs::MakeSym);
    for (path, rights) in
        [own, (&host.passwd, AccessFs::ReadFile.into()), (&host.group, AccessFs::ReadFile.into())]
    {
        let opened = nix::fcntl::open(path, OFlag::O_PATH | OFlag::O_CLOEXEC, Mode::empty());
        granted.push((opened.map_err(Fault::io("open what the program needs"))?, rights));
    }
    restrict(granted.iter().map(|(fd, rights)| (fd, *rights))).map_err(failed("Landlock"))?;
    filter().map_err(failed("seccomp"))
}

/// Makes every other system call fail with EPERM, and opening with `O_TRUNC`: it empties a file that is opened for reading,
/// and Landlock covers truncation only since ABI 3 (Linux 6.2).
fn filter() -> Result<(), seccompiler::Error> {
    let refuse = SeccompAction::Errno(libc::EPERM.unsigned_abs());
    let truncates = u64::from(libc::O_TRUNC.unsigned_abs());
    let keeps = SeccompCondition::new(2, SeccompCmpArgLen::Dword, SeccompCmpOp::MaskedEq(truncates), 0)?;
    let mut rules: BTreeMap<_, _> = CALLS.iter().chain(OLDER).map(|call| (*call, Vec::new())).collect();
    rules.insert(libc::SYS_openat, vec![SeccompRule::new(vec![keeps])?]);
    let filter = SeccompFilter::new(rules, refuse, SeccompAction::Allow, std::env::consts::ARCH.try_into()?)?;
    apply_filter(&BpfProgram::try_from(filter)?)
}

/// Limits the calling thread, and every thread that it starts, to files below these directories. All rights are required:
/// best effort would report success with nothing enforced.
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

/// Confines a process of a rule's user to the rule's directory.
///
/// # Errors
/// As [`confine`].
pub fn confine_to(directory: &Directory) -> Result<(), Fault> {
    restrict([(directory, CHANGE)]).map_err(failed("Landlock"))?;
    filter().map_err(failed("seccomp"))
}

/// Drops write access of the calling thread for good: it can only read, and only below these directories.
///
/// # Errors
/// The kernel cannot enforce it.
pub fn give_up_writing(directories: &[Directory]) -> Result<(), Fault> {
    let granted = directories.iter().map(|directory| (directory, READ));
    restrict(granted).map_err(failed("Landlock"))?;
    // Reading needs it, capabilities(7).
    server::keep_only(&[Capability::CAP_DAC_OVERRIDE]).map(drop)
}

fn failed<E: Display>(what: &str) -> impl FnOnce(E) -> Fault {
    move |error| Fault::new(format!("{what}: {error}"))
}

//! Confines the process before its first order: Landlock to the policy's directories and its own state, and a filter of
//! system calls.
//!
//! Landlock knows no chmod or chown: the filter has only the calls on descriptors, and Landlock decides which can be had.

use crate::confined::{read_rights, restrict};
use crate::path::open_granted;
use crate::state::Host;
use landlock::{AccessFs, BitFlags};
use nix::fcntl::OFlag;
use nix::libc;
use nix::sys::stat::Mode;
use postern_policy::{Decision, Policy, Selector, VerbId};
use postern_root::Fault;
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, apply_filter};
use std::os::fd::OwnedFd;
use std::path::Path;

/// The system calls of this program: those that its own code makes, and those of Rust's and C's libraries for memory,
/// threads and the end. `tests/confine.rs` holds that others are refused.
const CALLS: &[libc::c_long] = &[
    // Files, by name below an open directory, and by descriptor.
    libc::SYS_openat,
    libc::SYS_close,
    libc::SYS_read,
    libc::SYS_pread64,
    libc::SYS_write,
    libc::SYS_lseek,
    libc::SYS_statx,
    libc::SYS_fstat,
    libc::SYS_newfstatat,
    libc::SYS_fstatfs,
    libc::SYS_getdents64,
    libc::SYS_readlinkat,
    libc::SYS_fchown,
    libc::SYS_fchmod,
    libc::SYS_fgetxattr,
    libc::SYS_flistxattr,
    libc::SYS_fsetxattr,
    libc::SYS_fremovexattr,
    libc::SYS_fsync,
    libc::SYS_mkdirat,
    libc::SYS_symlinkat,
    libc::SYS_unlinkat,
    libc::SYS_renameat,
    libc::SYS_renameat2,
    libc::SYS_fcntl,
    // The socket that systemd passed. None can be made.
    libc::SYS_accept4,
    libc::SYS_getsockopt,
    libc::SYS_setsockopt,
    libc::SYS_recvfrom,
    libc::SYS_sendto,
    libc::SYS_ioctl,
    libc::SYS_ppoll,
    // Threads, and less power for one that reads.
    libc::SYS_clone3,
    libc::SYS_clone,
    libc::SYS_set_robust_list,
    libc::SYS_rseq,
    libc::SYS_futex,
    libc::SYS_sched_yield,
    libc::SYS_prctl,
    libc::SYS_capget,
    libc::SYS_capset,
    libc::SYS_landlock_create_ruleset,
    libc::SYS_landlock_add_rule,
    libc::SYS_landlock_restrict_self,
    // Memory, signals, time, random bytes, the end.
    libc::SYS_mmap,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_mprotect,
    libc::SYS_madvise,
    libc::SYS_brk,
    libc::SYS_sigaltstack,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_restart_syscall,
    libc::SYS_clock_gettime,
    libc::SYS_clock_nanosleep,
    libc::SYS_getrandom,
    libc::SYS_gettid,
    libc::SYS_getpid,
    libc::SYS_tgkill,
    libc::SYS_exit,
    libc::SYS_exit_group,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_poll,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_mkdir,
];

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
    granted.push((open(&host.common.state)?, change_rights() | AccessFs::MakeSym));
    for accounts in [&host.common.passwd, &host.common.group] {
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
    let rules = CALLS.iter().map(|call| (*call, Vec::new())).collect();
    let filter = SeccompFilter::new(rules, refuse, SeccompAction::Allow, std::env::consts::ARCH.try_into()?)?;
    apply_filter(&BpfProgram::try_from(filter)?)
}

//! Seccomp filters of a tool's process: an allow list and a deny list.
//!
//! A call in neither fails with ENOSYS, as on an older kernel, so that programs fall back: new calls, those of x32,
//! and `clone3` and `openat2`, which take arguments that a filter cannot read. A call in the deny list fails with
//! EPERM. A call of another architecture ends the process.

use super::wire::SandboxRequest;
use crate::protocol::confinement::Profile;
use nix::libc;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen::Dword, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule,
};
use std::collections::BTreeMap;

type Rules = BTreeMap<i64, Vec<SeccompRule>>;
type Compiled = Result<Vec<BpfProgram>, Box<dyn std::error::Error>>;

macro_rules! numbers {
    ($($name:ident)*) => { &[$(libc::$name),*] };
}

/// Calls that programs need: files, memory, their own processes, time, and pairs of pipes.
const ALLOWED: &[libc::c_long] = numbers! {
    SYS_read SYS_write SYS_close SYS_fstat SYS_lseek SYS_mmap SYS_mprotect SYS_munmap SYS_brk SYS_mremap
    SYS_msync SYS_mincore SYS_madvise SYS_membarrier SYS_mlock SYS_munlock SYS_mlock2
    SYS_rt_sigaction SYS_rt_sigprocmask SYS_rt_sigreturn SYS_rt_sigpending SYS_rt_sigtimedwait
    SYS_rt_sigqueueinfo SYS_rt_tgsigqueueinfo SYS_rt_sigsuspend SYS_sigaltstack SYS_signalfd4
    SYS_ioctl SYS_pread64 SYS_pwrite64 SYS_readv SYS_writev SYS_preadv SYS_pwritev SYS_preadv2 SYS_pwritev2
    SYS_pselect6 SYS_ppoll SYS_epoll_create1 SYS_epoll_ctl SYS_epoll_pwait SYS_epoll_pwait2 SYS_eventfd2
    SYS_sched_yield SYS_sched_getaffinity SYS_sched_getparam SYS_sched_getscheduler
    SYS_sched_get_priority_max SYS_sched_get_priority_min SYS_sched_rr_get_interval SYS_sched_getattr
    SYS_dup SYS_dup3 SYS_pipe2 SYS_fcntl SYS_flock SYS_fsync SYS_fdatasync SYS_sync_file_range
    SYS_truncate SYS_ftruncate SYS_fallocate SYS_getdents64 SYS_getcwd SYS_chdir SYS_fchdir
    SYS_nanosleep SYS_clock_nanosleep SYS_clock_gettime SYS_clock_getres SYS_gettimeofday SYS_times
    SYS_getitimer SYS_setitimer SYS_timer_create SYS_timer_settime SYS_timer_gettime SYS_timer_getoverrun
    SYS_timer_delete SYS_timerfd_create SYS_timerfd_settime SYS_timerfd_gettime
    SYS_getpid SYS_getppid SYS_gettid SYS_getuid SYS_geteuid SYS_getgid SYS_getegid SYS_getresuid
    SYS_getresgid SYS_getgroups SYS_getpgid SYS_getsid SYS_setpgid SYS_setsid SYS_umask SYS_getcpu
    SYS_setuid SYS_setgid SYS_setreuid SYS_setregid SYS_setresuid SYS_setresgid SYS_setfsuid SYS_setfsgid
    SYS_setgroups SYS_capget SYS_capset SYS_getpriority SYS_ioprio_get
    SYS_clone SYS_execve SYS_execveat SYS_exit SYS_exit_group SYS_wait4 SYS_waitid SYS_kill SYS_tkill
    SYS_tgkill SYS_pidfd_open SYS_pidfd_send_signal SYS_set_tid_address SYS_set_robust_list
    SYS_get_robust_list SYS_rseq SYS_futex SYS_prctl SYS_prlimit64 SYS_getrlimit SYS_setrlimit SYS_getrusage
    SYS_uname SYS_sysinfo SYS_getrandom SYS_restart_syscall SYS_personality SYS_seccomp
    SYS_landlock_create_ruleset SYS_landlock_add_rule SYS_landlock_restrict_self
    SYS_socket SYS_socketpair SYS_connect SYS_sendto SYS_recvfrom SYS_sendmsg SYS_recvmsg SYS_sendmmsg
    SYS_recvmmsg SYS_shutdown SYS_getsockname SYS_getpeername SYS_getsockopt SYS_setsockopt
    SYS_sendfile SYS_splice SYS_tee SYS_vmsplice SYS_copy_file_range SYS_memfd_create
    SYS_openat SYS_newfstatat SYS_statx SYS_faccessat SYS_faccessat2 SYS_readlinkat SYS_statfs SYS_fstatfs
    SYS_mkdirat SYS_unlinkat SYS_symlinkat SYS_linkat SYS_renameat2 SYS_mknodat SYS_fchmod SYS_fchmodat
    SYS_fchown SYS_fchownat SYS_utimensat SYS_fadvise64 SYS_readahead SYS_close_range SYS_sync SYS_syncfs
    SYS_getxattr SYS_lgetxattr SYS_fgetxattr SYS_listxattr SYS_llistxattr SYS_flistxattr SYS_setxattr
    SYS_lsetxattr SYS_fsetxattr SYS_removexattr SYS_lremovexattr SYS_fremovexattr
    SYS_inotify_init1 SYS_inotify_add_watch SYS_inotify_rm_watch
};

/// The older forms that x86 has besides.
#[cfg(target_arch = "x86_64")]
const ALLOWED_HERE: &[libc::c_long] = numbers! {
    SYS_open SYS_creat SYS_stat SYS_lstat SYS_poll SYS_select SYS_access SYS_pipe SYS_dup2 SYS_pause
    SYS_alarm SYS_fork SYS_vfork SYS_getdents SYS_rename SYS_renameat SYS_mkdir SYS_rmdir SYS_link SYS_unlink
    SYS_symlink SYS_readlink SYS_chmod SYS_chown SYS_lchown SYS_utime SYS_utimes SYS_futimesat SYS_mknod
    SYS_time SYS_getpgrp SYS_epoll_create SYS_epoll_wait SYS_eventfd SYS_signalfd SYS_inotify_init
    SYS_arch_prctl
};
#[cfg(not(target_arch = "x86_64"))]
const ALLOWED_HERE: &[libc::c_long] = numbers! { SYS_renameat };

/// Calls that no program for files and text needs: others' memory, the kernel, namespaces, mounts, keys.
const REFUSED: &[libc::c_long] = numbers! {
    SYS_ptrace SYS_process_vm_readv SYS_process_vm_writev SYS_process_madvise SYS_pidfd_getfd SYS_kcmp
    SYS_unshare SYS_setns SYS_mount SYS_umount2 SYS_pivot_root SYS_chroot SYS_open_tree SYS_move_mount
    SYS_fsopen SYS_fsconfig SYS_fsmount SYS_fspick SYS_mount_setattr SYS_quotactl
    SYS_bpf SYS_perf_event_open SYS_userfaultfd SYS_io_uring_setup SYS_io_uring_enter SYS_io_uring_register
    SYS_add_key SYS_request_key SYS_keyctl SYS_kexec_load SYS_init_module SYS_finit_module SYS_delete_module
    SYS_reboot SYS_swapon SYS_swapoff SYS_acct SYS_syslog SYS_sethostname SYS_setdomainname SYS_settimeofday
    SYS_clock_settime SYS_clock_adjtime SYS_adjtimex SYS_open_by_handle_at SYS_name_to_handle_at
    SYS_fanotify_init SYS_fanotify_mark SYS_vhangup SYS_lookup_dcookie SYS_mbind SYS_set_mempolicy
    SYS_migrate_pages SYS_move_pages SYS_setpriority SYS_ioprio_set SYS_sched_setaffinity
    SYS_sched_setscheduler SYS_sched_setparam SYS_sched_setattr SYS_bind SYS_listen SYS_accept SYS_accept4
    SYS_shmget SYS_shmat SYS_shmctl SYS_shmdt SYS_semget SYS_semop SYS_semctl SYS_semtimedop SYS_msgget
    SYS_msgsnd SYS_msgrcv SYS_msgctl SYS_mq_open SYS_mq_unlink SYS_mlockall SYS_munlockall
};
#[cfg(target_arch = "x86_64")]
const REFUSED_HERE: &[libc::c_long] =
    numbers! { SYS_iopl SYS_ioperm SYS_modify_ldt SYS_uselib SYS_ustat SYS_sysfs SYS_kexec_file_load };
#[cfg(not(target_arch = "x86_64"))]
const REFUSED_HERE: &[libc::c_long] = &[];

/// Changes of what is known of a file, which Landlock does not see.
const METADATA: &[libc::c_long] = numbers! {
    SYS_fchmod SYS_fchmodat SYS_fchown SYS_fchownat SYS_utimensat SYS_setxattr SYS_lsetxattr SYS_fsetxattr
    SYS_removexattr SYS_lremovexattr SYS_fremovexattr
};
#[cfg(target_arch = "x86_64")]
const METADATA_HERE: &[libc::c_long] =
    numbers! { SYS_chmod SYS_chown SYS_lchown SYS_utime SYS_utimes SYS_futimesat };
#[cfg(not(target_arch = "x86_64"))]
const METADATA_HERE: &[libc::c_long] = &[];

/// The namespaces that `clone` makes by a flag.
const NAMESPACES: &[libc::c_int] = &[
    libc::CLONE_NEWNS,
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
];
/// The bits of a socket's type that are not flags.
const TYPE: u64 = 0xf;
/// Asks for what the personality is.
const ASK: u64 = 0xffff_ffff;
/// Pushes a byte into a terminal's input; the console's commands; takes the console's output.
const IOCTLS: &[u64] = &[0x5412, 0x541c, 0x541d];

/// The filters of a call, to be put in force in this order: of two that answer with an error the later one's
/// is seen.
///
/// # Errors
/// They do not compile, or not for this architecture.
pub fn filters(ask: &SandboxRequest, abi: i32) -> Compiled {
    let known = [ALLOWED, ALLOWED_HERE, REFUSED, REFUSED_HERE].concat();
    let known = known.into_iter().map(|call| (call, Vec::new())).collect();
    let error = |errno: libc::c_int| SeccompAction::Errno(errno.cast_unsigned());
    let first = compiled(known, error(libc::ENOSYS), SeccompAction::Allow)?;
    let second = compiled(refused(ask, abi)?, SeccompAction::Allow, error(libc::EPERM))?;
    Ok(vec![first, second])
}

fn compiled(
    rules: Rules,
    otherwise: SeccompAction,
    matched: SeccompAction,
) -> Result<BpfProgram, Box<dyn std::error::Error>> {
    let filter = SeccompFilter::new(rules, otherwise, matched, std::env::consts::ARCH.try_into()?)?;
    Ok(filter.try_into()?)
}

type Made = Result<SeccompRule, seccompiler::BackendError>;

/// All conditions of a rule must hold.
fn rule(conditions: &[(u8, SeccompCmpOp, u64)]) -> Made {
    let made = conditions.iter().map(|(argument, op, value)| {
        // The kernel reads these arguments as 32 bits.
        SeccompCondition::new(*argument, Dword, op.clone(), *value)
    });
    SeccompRule::new(made.collect::<Result<_, _>>()?)
}

fn is(argument: u8, value: u64) -> Made {
    rule(&[(argument, SeccompCmpOp::Eq, value)])
}

fn masked(argument: u8, mask: u64, value: u64) -> Made {
    rule(&[(argument, SeccompCmpOp::MaskedEq(mask), value)])
}

/// The argument is none of these.
fn none_of(argument: u8, values: &[u64]) -> Made {
    let conditions: Vec<_> = values.iter().map(|value| (argument, SeccompCmpOp::Ne, *value)).collect();
    rule(&conditions)
}

/// The type of a socket is none of these.
fn types_but(allowed: &[libc::c_int]) -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
    let allowed: Vec<u64> = allowed.iter().map(|kind| word(*kind)).collect();
    (0..=TYPE).filter(|kind| !allowed.contains(kind)).map(|kind| masked(1, TYPE, kind)).collect()
}

fn word(value: libc::c_int) -> u64 {
    u64::from(value.cast_unsigned())
}

fn refused(ask: &SandboxRequest, abi: i32) -> Result<Rules, seccompiler::BackendError> {
    let mut rules: Rules =
        [REFUSED, REFUSED_HERE].concat().into_iter().map(|call| (call, Vec::new())).collect();
    if ask.profile != Profile::WorkspaceWrite {
        rules.extend([METADATA, METADATA_HERE].concat().into_iter().map(|call| (call, Vec::new())));
    }
    let namespaces = NAMESPACES.iter().map(|flag| masked(0, word(*flag), word(*flag)));
    rules.insert(libc::SYS_clone, namespaces.collect::<Result<_, _>>()?);
    rules.insert(libc::SYS_ioctl, IOCTLS.iter().map(|request| is(1, *request)).collect::<Result<_, _>>()?);
    rules.insert(libc::SYS_personality, vec![none_of(0, &[0, ASK])?]);
    // Limits of another process of the same user.
    rules.insert(libc::SYS_prlimit64, vec![none_of(0, &[0])?]);
    // A datagram socket of a pair can speak to any other by its name; a connected one cannot.
    let mut pairs = types_but(&[libc::SOCK_STREAM, libc::SOCK_SEQPACKET])?;
    pairs.push(none_of(0, &[word(libc::AF_UNIX)])?);
    rules.insert(libc::SYS_socketpair, pairs);
    if ask.ports.is_empty() {
        rules.insert(libc::SYS_socket, Vec::new());
        rules.insert(libc::SYS_connect, Vec::new());
    } else {
        tcp(&mut rules)?;
    }
    if abi < TRUNCATE {
        truncate(&mut rules)?;
    }
    Ok(rules)
}

/// TCP and nothing else: Landlock knows the ports of no other, neither MPTCP's, nor those of a connection that
/// is opened by sending.
fn tcp(rules: &mut Rules) -> Result<(), seccompiler::BackendError> {
    let mut sockets = types_but(&[libc::SOCK_STREAM])?;
    sockets.push(none_of(0, &[word(libc::AF_INET), word(libc::AF_INET6)])?);
    sockets.push(none_of(2, &[0, word(libc::IPPROTO_TCP)])?);
    rules.insert(libc::SYS_socket, sockets);
    let fast = word(libc::MSG_FASTOPEN);
    for (call, argument) in [(libc::SYS_sendto, 3), (libc::SYS_sendmsg, 2), (libc::SYS_sendmmsg, 3)] {
        rules.insert(call, vec![masked(argument, fast, fast)?]);
    }
    Ok(())
}

/// The first Landlock ABI that knows of truncation.
const TRUNCATE: i32 = 3;

/// Where Landlock does not see truncation: by path, and by opening for reading only.
fn truncate(rules: &mut Rules) -> Result<(), seccompiler::BackendError> {
    rules.insert(libc::SYS_truncate, Vec::new());
    let mask = word(libc::O_ACCMODE | libc::O_TRUNC);
    let cut = |argument: u8| {
        let reading = masked(argument, mask, word(libc::O_TRUNC))?;
        let neither = masked(argument, mask, word(libc::O_ACCMODE | libc::O_TRUNC))?;
        Ok::<_, seccompiler::BackendError>(vec![reading, neither])
    };
    rules.insert(libc::SYS_openat, cut(2)?);
    #[cfg(target_arch = "x86_64")]
    rules.insert(libc::SYS_open, cut(1)?);
    Ok(())
}

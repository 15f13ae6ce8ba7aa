//! Stops a process at its n-th system call after it has said that it is ready, by ptrace(2): to kill it there, or to have
//! the call fail.
//!
//! Only calls that may change a file count: before any other the disk is as it is before the next that does.

use nix::errno::Errno;
use nix::sys::ptrace::{self, Options};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

/// Line that the traced process prints when it waits for a byte on stdin.
pub const READY: &str = "ready to be killed";

/// System calls that may change a file, and those that end the process.
const CALLS: &[nix::libc::c_long] = &[
    nix::libc::SYS_write,
    nix::libc::SYS_pwrite64,
    nix::libc::SYS_writev,
    nix::libc::SYS_copy_file_range,
    nix::libc::SYS_sendfile,
    nix::libc::SYS_openat,
    nix::libc::SYS_openat2,
    nix::libc::SYS_ftruncate,
    nix::libc::SYS_fsync,
    nix::libc::SYS_fdatasync,
    nix::libc::SYS_fchmod,
    nix::libc::SYS_fchmodat,
    nix::libc::SYS_fchown,
    nix::libc::SYS_fchownat,
    nix::libc::SYS_fsetxattr,
    nix::libc::SYS_fremovexattr,
    nix::libc::SYS_mkdirat,
    nix::libc::SYS_linkat,
    nix::libc::SYS_symlinkat,
    nix::libc::SYS_unlinkat,
    nix::libc::SYS_renameat,
    nix::libc::SYS_renameat2,
    nix::libc::SYS_exit_group,
    #[cfg(target_arch = "x86_64")]
    nix::libc::SYS_open,
    #[cfg(target_arch = "x86_64")]
    nix::libc::SYS_rename,
    #[cfg(target_arch = "x86_64")]
    nix::libc::SYS_unlink,
    #[cfg(target_arch = "x86_64")]
    nix::libc::SYS_rmdir,
    #[cfg(target_arch = "x86_64")]
    nix::libc::SYS_mkdir,
];

/// Of `ptrace_syscall_info.op`: `PTRACE_SYSCALL_INFO_ENTRY` of <linux/ptrace.h>.
const ENTRY: u8 = 1;

/// Action at the chosen call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum At {
    /// SIGKILL, before the call.
    Kill,
    /// The call is not made, and answers EIO.
    Fail,
}

/// Result of a traced run.
#[derive(Debug, PartialEq, Eq)]
pub enum End {
    /// It came to that call.
    Stopped,
    /// It made fewer calls and ended by itself.
    Ended,
}

/// Runs this test program again for one test with `variable` set to `directory`, up to its n-th call of these, over all
/// its threads.
pub fn stop_at(test: &str, (variable, directory): (&str, &Path), n: usize, at: At) -> End {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([test, "--exact", "--nocapture", "--test-threads=1"]).env(variable, directory);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    #[expect(clippy::zombie_processes, reason = "the tracer waits for it")]
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains(READY)), "it ended before it was ready");
    let leader = Pid::from_raw(i32::try_from(child.id()).unwrap());
    // All threads that it has, and by the option those that it will have.
    for task in std::fs::read_dir(format!("/proc/{leader}/task")).unwrap() {
        let thread = Pid::from_raw(task.unwrap().file_name().to_str().unwrap().parse().unwrap());
        let options =
            Options::PTRACE_O_TRACECLONE | Options::PTRACE_O_TRACESYSGOOD | Options::PTRACE_O_EXITKILL;
        ptrace::seize(thread, options).unwrap();
        ptrace::interrupt(thread).unwrap();
    }
    child.stdin.take().unwrap().write_all(b"\n").unwrap();
    // An unread pipe would block the process.
    let reader = std::thread::spawn(move || lines.map_while(Result::ok).count());
    let end = trace(leader, n, at);
    reader.join().unwrap();
    end
}

fn trace(leader: Pid, n: usize, at: At) -> End {
    let mut calls = 0;
    let mut end = End::Ended;
    loop {
        // Children of this thread alone: other tests wait for theirs.
        let status = waitpid(None, Some(WaitPidFlag::__WALL | WaitPidFlag::__WNOTHREAD)).unwrap();
        match status {
            WaitStatus::PtraceSyscall(thread) => {
                let is_entry = ptrace::syscall_info(thread).is_ok_and(|info| info.op == ENTRY);
                let is_counted = is_entry && CALLS.contains(&number(thread));
                calls += usize::from(is_counted);
                if !(is_counted && calls == n) {
                    resume(thread, None);
                    continue;
                }
                end = End::Stopped;
                match at {
                    At::Kill => kill(leader, Signal::SIGKILL).unwrap(),
                    At::Fail => fail(thread),
                }
            }
            WaitStatus::PtraceEvent(thread, ..) => resume(thread, None),
            WaitStatus::Stopped(thread, signal) => resume(thread, Some(signal)),
            WaitStatus::Exited(process, code) if process == leader => {
                assert!(code == 0 || at == At::Fail, "the process failed by itself: {code}");
                return end;
            }
            WaitStatus::Signaled(process, ..) if process == leader => {
                assert_eq!((&end, at), (&End::Stopped, At::Kill), "something else killed it");
                return end;
            }
            WaitStatus::Exited(..)
            | WaitStatus::Signaled(..)
            | WaitStatus::Continued(_)
            | WaitStatus::StillAlive => {}
        }
    }
}

/// The number of the call that a stopped thread is about to make, proc(5).
fn number(thread: Pid) -> nix::libc::c_long {
    let line = std::fs::read_to_string(format!("/proc/{thread}/syscall")).unwrap_or_default();
    line.split(' ').next().and_then(|number| number.parse().ok()).unwrap_or(-1)
}

/// Has the call that a thread is about to make answer EIO instead.
#[cfg(target_arch = "x86_64")]
fn fail(thread: Pid) {
    let mut registers = ptrace::getregs(thread).unwrap();
    registers.orig_rax = u64::MAX;
    ptrace::setregs(thread, registers).unwrap();
    ptrace::syscall(thread, None).unwrap();
    let left = waitpid(thread, Some(WaitPidFlag::__WALL)).unwrap();
    assert!(matches!(left, WaitStatus::PtraceSyscall(_)), "{left:?}");
    let mut registers = ptrace::getregs(thread).unwrap();
    registers.rax = (-i64::from(nix::libc::EIO)).cast_unsigned();
    ptrace::setregs(thread, registers).unwrap();
    resume(thread, None);
}

#[cfg(not(target_arch = "x86_64"))]
fn fail(_: Pid) {
    unimplemented!("the registers of this architecture");
}

/// A thread that is gone meanwhile needs no help.
fn resume(thread: Pid, signal: Option<Signal>) {
    assert!(matches!(ptrace::syscall(thread, signal), Ok(()) | Err(Errno::ESRCH)));
}

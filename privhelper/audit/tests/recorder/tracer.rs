//! Kills a process of its own at the n-th system call after it has said that it is ready, from outside, by ptrace(2).
//!
//! Only calls that change a file or reach another process count: before any other all is as before the next of these.

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

/// System calls that may change a file or another process's state, and those that end the process.
const CALLS: &[nix::libc::c_long] = &[
    nix::libc::SYS_connect,
    nix::libc::SYS_sendto,
    nix::libc::SYS_sendmsg,
    nix::libc::SYS_fallocate,
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

/// Result of a traced run.
#[derive(Debug, PartialEq, Eq)]
pub enum End {
    /// It did not get to make that call.
    Killed,
    /// It made fewer calls and ended by itself.
    Ended,
}

/// Runs this test program again for one test with `variable` set to `directory`, and kills it in the place of its
/// n-th call of these, over all its threads.
pub fn kill_at(test: &str, (variable, directory): (&str, &Path), n: usize) -> End {
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
    let end = trace(leader, n);
    reader.join().unwrap();
    end
}

fn trace(leader: Pid, n: usize) -> End {
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
                if is_counted && calls == n {
                    end = End::Killed;
                    kill(leader, Signal::SIGKILL).unwrap();
                } else {
                    resume(thread, None);
                }
            }
            WaitStatus::PtraceEvent(thread, ..) => resume(thread, None),
            WaitStatus::Stopped(thread, signal) => resume(thread, Some(signal)),
            WaitStatus::Exited(process, code) if process == leader => {
                assert_eq!((code, &end), (0, &End::Ended), "the process failed by itself");
                return end;
            }
            WaitStatus::Signaled(process, ..) if process == leader => {
                assert_eq!(end, End::Killed, "something else killed it");
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

/// A thread that is gone meanwhile needs no help.
fn resume(thread: Pid, signal: Option<Signal>) {
    assert!(matches!(ptrace::syscall(thread, signal), Ok(()) | Err(Errno::ESRCH)));
}

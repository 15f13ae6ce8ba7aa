//! Processes that are killed while they run.

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The processes of one program. They are reaped under the lock: nobody kills a process that has got its number since.
#[derive(Debug, Clone, Default)]
pub struct Running(Arc<Mutex<Vec<Child>>>);

impl Running {
    /// Runs a process to its end, and then ends what it has left behind, as PID 1 does in a unit.
    pub fn run(&self, command: &mut Command) -> ExitStatus {
        let child = command.process_group(0).spawn().unwrap();
        let id = child.id();
        self.0.lock().unwrap().push(child);
        loop {
            let mut children = self.0.lock().unwrap();
            let at = children.iter().position(|child| child.id() == id).unwrap();
            if let Some(status) = children[at].try_wait().unwrap() {
                match killpg(pid(id), Signal::SIGKILL) {
                    Ok(()) | Err(Errno::ESRCH) => {}
                    Err(errno) => panic!("its children cannot be killed: {errno}"),
                }
                drop(children.remove(at).wait());
                return status;
            }
            drop(children);
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Kills one of them of which this is so while it is stopped. False: it is so of none.
    pub fn kill(&self, is_due: impl Fn(u32) -> bool) -> bool {
        let children = self.0.lock().unwrap();
        for child in children.iter() {
            let id = child.id();
            // Not reaped: the number is still its own.
            kill(pid(id), Signal::SIGSTOP).unwrap();
            if is_stopped(id) && is_due(id) {
                kill(pid(id), Signal::SIGKILL).unwrap();
                return true;
            }
            kill(pid(id), Signal::SIGCONT).unwrap();
        }
        false
    }

    /// The number of the first.
    pub fn pid(&self) -> Option<u32> {
        self.0.lock().unwrap().first().map(Child::id)
    }
}

fn pid(id: u32) -> Pid {
    Pid::from_raw(i32::try_from(id).unwrap())
}

/// Waits until a stopped process is so; false if it has ended.
fn is_stopped(id: u32) -> bool {
    loop {
        let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap();
        // The state follows the name, which may hold anything (proc(5)).
        match stat.rsplit_once(") ").unwrap().1.chars().next() {
            Some('T' | 't') => return true,
            Some('Z' | 'X') => return false,
            _ => std::thread::sleep(Duration::from_micros(20)),
        }
    }
}

/// Whether a process has accepted a connection at this socket and not closed it: accepted sockets have its name.
pub fn serves(id: u32, socket: &Path) -> bool {
    let table = std::fs::read_to_string("/proc/net/unix").unwrap();
    let connected = table.lines().filter_map(|line| {
        // Num RefCount Protocol Flags Type St Inode Path; state 03 is connected (proc(5)).
        let words = line.split_whitespace().collect::<Vec<_>>();
        let [_, _, _, _, _, "03", inode, path] = *words.as_slice() else { return None };
        (Path::new(path) == socket).then(|| format!("socket:[{inode}]"))
    });
    let connected = connected.collect::<Vec<_>>();
    let open = std::fs::read_dir(format!("/proc/{id}/fd")).unwrap();
    let mut open = open.filter_map(|fd| std::fs::read_link(fd.ok()?.path()).ok());
    open.any(|link| link.to_str().is_some_and(|link| connected.iter().any(|socket| socket == link)))
}

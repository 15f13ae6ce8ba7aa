//! dpkg's state and the holder of its lock; needrestart; a restart of the host that packages ask for.

use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;
use postern_doctor::{Check, Dpkg};
use std::fs::File;
use std::path::Path;

const DPKG: &str = "dpkg";
const LOCK: &str = "dpkg lock";
const NEEDRESTART: &str = "needrestart";
const REBOOT: &str = "reboot";
/// apt takes the first and keeps it while it runs dpkg, which takes the second.
const LOCKS: [&str; 2] = ["var/lib/dpkg/lock-frontend", "var/lib/dpkg/lock"];

pub(super) fn checks(root: &Path) -> Vec<Check> {
    vec![state(root), lock(root), needrestart(root), reboot(root)]
}

/// A transaction that was broken off, or packages that are not whole.
fn state(root: &Path) -> Check {
    const MEND: &str = "dpkg --configure -a && apt-get -f install";
    match postern_doctor::dpkg(root) {
        Dpkg::Interrupted => Check::wrong(DPKG, "it was interrupted", MEND),
        Dpkg::Unreadable(error) => Check::unknown(DPKG, format!("its status cannot be read: {error}")),
        Dpkg::Broken(names) => Check::wrong(DPKG, format!("not wholly installed: {names}"), MEND),
        Dpkg::Whole => Check::ok(DPKG, "every package is whole"),
    }
}

/// Reports the process that holds one of dpkg's locks.
fn lock(root: &Path) -> Check {
    for path in LOCKS.map(|name| root.join(name)) {
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            Err(error) => return Check::unknown(LOCK, format!("{}: {error}", path.display())),
        };
        match holder(&file) {
            Ok(None) => {}
            Ok(Some(pid)) => {
                let name = std::fs::read_to_string(root.join(format!("proc/{pid}/comm"))).unwrap_or_default();
                let name = if name.is_empty() { "a process" } else { name.trim() };
                return Check::ok(LOCK, format!("held by {name} (pid {pid}): package requests wait for it"));
            }
            Err(error) => return Check::unknown(LOCK, format!("{}: {error}", path.display())),
        }
    }
    Check::ok(LOCK, "free")
}

/// The process that has locked a file for writing (`F_GETLK` of fcntl(2)).
fn holder(file: &File) -> nix::Result<Option<i32>> {
    let lock_type = |kind: i32| i16::try_from(kind).map_err(|_| nix::Error::EINVAL);
    let mut asked = libc::flock {
        l_type: lock_type(libc::F_WRLCK)?,
        l_whence: lock_type(libc::SEEK_SET)?,
        l_start: 0,
        l_len: 0,
        l_pid: 0,
    };
    fcntl(file, FcntlArg::F_GETLK(&mut asked))?;
    Ok((asked.l_type != lock_type(libc::F_UNLCK)?).then_some(asked.l_pid))
}

/// Postern suspends needrestart in its own transactions; apt's other callers run it, and it may restart what it likes.
fn needrestart(root: &Path) -> Check {
    if !root.join("usr/sbin/needrestart").exists() {
        return Check::ok(
            NEEDRESTART,
            "not installed: nothing tells which services still run replaced libraries",
        );
    }
    let main = root.join("etc/needrestart/needrestart.conf");
    let parts = std::fs::read_dir(root.join("etc/needrestart/conf.d"));
    let mut files = parts.into_iter().flatten().flatten().map(|entry| entry.path()).collect::<Vec<_>>();
    files.sort();
    files.insert(0, main);
    let texts = files.iter().filter_map(|file| std::fs::read_to_string(file).ok());
    // The last assignment counts, as in the Perl that it is.
    let mode = texts.flat_map(|text| text.lines().filter_map(mode).collect::<Vec<_>>()).last();
    if mode == Some('a') {
        let why = "outside Postern it restarts services by itself, Postern's too: no record tells of that";
        let mend = "echo \"\\$nrconf{restart} = 'l';\" > /etc/needrestart/conf.d/postern.conf";
        return Check::wrong(NEEDRESTART, why, mend);
    }
    Check::ok(NEEDRESTART, "asks or lists; suspended in Postern's own transactions")
}

/// The value in `$nrconf{restart} = 'a';`.
fn mode(line: &str) -> Option<char> {
    let value = line.trim().strip_prefix("$nrconf{restart}")?.trim_start().strip_prefix('=')?;
    value.trim_start().trim_start_matches(['\'', '"']).chars().next()
}

fn reboot(root: &Path) -> Check {
    if !root.join("run/reboot-required").exists() {
        return Check::ok(REBOOT, "no package asks for one");
    }
    let packages = std::fs::read_to_string(root.join("run/reboot-required.pkgs")).unwrap_or_default();
    let mut packages = packages.lines().map(str::to_owned).collect::<Vec<_>>();
    packages.sort();
    packages.dedup();
    let by = if packages.is_empty() { String::new() } else { format!(" (by {})", packages.join(", ")) };
    Check::wrong(REBOOT, format!("packages ask for one{by}"), "systemctl reboot")
}

//! Checks of the host itself: dpkg, the kernel, the clock, the directory of the audit log.

use super::Check;
use crate::sandbox::landlock_abi;
use nix::sys::statvfs::statvfs;
use postern_doctor::Dpkg;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// Landlock ABI that restricts truncation; on older kernels seccomp does.
const TRUNCATION_ABI: i32 = 3;
/// Less free space, and records may soon not fit.
const FREE_MIB: u64 = 64;
/// A file from so far in the future: the clock is behind.
const FUTURE: Duration = Duration::from_secs(300);

/// All checks of a host, whose root directory is `root`.
#[must_use]
pub fn checks(root: &Path) -> Vec<Check> {
    vec![audit(root), dpkg(root), landlock(), clock(root)]
}

/// Checks the directory of the audit log; its content is for auditors.
fn audit(root: &Path) -> Check {
    const NAME: &str = "audit";
    let directory = root.join("var/log/postern");
    let mend = "systemd-tmpfiles --create postern.conf";
    let facts = match directory.metadata() {
        Ok(facts) if facts.is_dir() => facts,
        Ok(_) | Err(_) => {
            return Check::wrong(NAME, format!("there is no directory {}", directory.display()), mend);
        }
    };
    if facts.mode() & 0o022 != 0 {
        let detail = format!("others than root may write in {}", directory.display());
        return Check::wrong(NAME, detail, mend);
    }
    if let Ok(facts) = statvfs(&directory) {
        // Widths differ between architectures.
        #[expect(clippy::useless_conversion, reason = "it is one where the type is narrower")]
        let free = u64::from(facts.blocks_available()).saturating_mul(u64::from(facts.fragment_size())) >> 20;
        if free < FREE_MIB {
            let detail = format!(
                "{free} MiB are free for {}: what cannot be recorded is not done",
                directory.display()
            );
            return Check::wrong(NAME, detail, format!("df {}", directory.display()));
        }
    }
    Check::ok(NAME, "its directory is root's, with room; its chain: postern-admin audit verify")
}

/// A transaction that was broken off, or packages that are not whole.
fn dpkg(root: &Path) -> Check {
    const NAME: &str = "dpkg";
    let mend = "postern package repair";
    match postern_doctor::dpkg(root) {
        Dpkg::Interrupted => Check::wrong(NAME, "dpkg was interrupted", mend),
        Dpkg::Unreadable(_) => Check::unknown(NAME, "its status cannot be read"),
        Dpkg::Broken(names) => Check::wrong(NAME, format!("not wholly installed: {names}"), mend),
        Dpkg::Whole => Check::ok(NAME, "no transaction is open, every package is whole"),
    }
}

/// The kernel's part in confining who writes files, and the agent's own commands.
fn landlock() -> Check {
    const NAME: &str = "landlock";
    match landlock_abi() {
        ..=0 => Check::wrong(
            NAME,
            "this kernel has no Landlock: files cannot be changed, and no commands run",
            "add lsm=landlock,… to the kernel's command line, with what /sys/kernel/security/lsm has",
        ),
        abi if abi < TRUNCATION_ABI => {
            Check::ok(NAME, format!("ABI {abi}; below {TRUNCATION_ABI} seccomp keeps truncation away"))
        }
        abi => Check::ok(NAME, format!("ABI {abi}")),
    }
}

/// Ids of requests, rates and approvals go by it.
fn clock(root: &Path) -> Check {
    const NAME: &str = "clock";
    let status = root.join("var/lib/dpkg/status");
    let written = status.metadata().and_then(|facts| facts.modified());
    if written.is_ok_and(|at| at > SystemTime::now() + FUTURE) {
        let detail = format!("it is behind: {} was written later than now", status.display());
        return Check::wrong(NAME, detail, "timedatectl set-ntp true");
    }
    if root.join("run/systemd/timesync/synchronized").exists() {
        return Check::ok(NAME, "systemd-timesyncd keeps it");
    }
    Check::ok(NAME, "plausible; whether something keeps it: timedatectl")
}

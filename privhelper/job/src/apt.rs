//! What apt-get is told. Does no I/O.

use std::path::Path;

use postern_proto::root::v1::{JobKind, Transaction};

use crate::record::{Record, Target};

/// What dpkg does with a configuration file that was changed here: a question would meet the end of stdin and leave
/// the package half done.
pub const CONFFILES: [&str; 2] = ["--force-confdef", "--force-confold"];

/// The arguments of a real transaction. `status_fd` is where apt-get writes progress, `job` is this program, which
/// apt-get starts again for the check.
pub fn transaction(record: &Record, status_fd: i32, job: &Path) -> Vec<String> {
    let job = job.display();
    let mut argv = vec!["-q".to_owned(), "-y".to_owned()];
    let mut option = |text: String| argv.extend(["-o".to_owned(), text]);
    option("APT::Cmd::Pattern-Only=true".to_owned());
    option(format!("APT::Status-Fd={status_fd}"));
    option("Dpkg::Use-Pty=0".to_owned());
    option(format!("DPkg::Lock::Timeout={}", record.lock_timeout_s));
    for force in CONFFILES {
        option(format!("Dpkg::Options::={force}"));
    }
    option(format!("DPkg::Pre-Install-Pkgs::={job} check {}", record.id.as_str()));
    // apt-get finds the protocol's version by the first word of the hook's line.
    option(format!("DPkg::Tools::Options::{job}::Version=3"));
    argv.extend(request(record));
    argv
}

/// The arguments of the simulation: the same request, nothing that takes effect.
pub fn simulate(record: &Record) -> Vec<String> {
    let mut argv = ["-s", "-q", "-y", "-o", "APT::Cmd::Pattern-Only=true"].map(String::from).to_vec();
    argv.extend(request(record));
    argv
}

/// What decides which packages: alike in simulation and run, or they would differ.
fn request(record: &Record) -> Vec<String> {
    let mut argv = Vec::new();
    // What nothing needs any more goes by its own verb, and not along with another.
    if record.transaction != Transaction::Autoremove {
        argv.extend(["-o", "APT::Get::AutomaticRemove=false"].map(str::to_owned));
    }
    argv.extend(["-o".to_owned(), format!("APT::Install-Recommends={}", record.recommends)]);
    let removes = match record.transaction {
        Transaction::Remove | Transaction::Purge | Transaction::Autoremove => true,
        Transaction::Unspecified | Transaction::Install | Transaction::Upgrade | Transaction::Repair => {
            record.allow_removals
        }
    };
    if !removes {
        argv.push("--no-remove".to_owned());
    }
    if record.allow_downgrades {
        argv.push("--allow-downgrades".to_owned());
    }
    let words: &[&str] = match record.transaction {
        Transaction::Unspecified | Transaction::Install => &["install"],
        Transaction::Remove => &["remove"],
        Transaction::Purge => &["purge"],
        Transaction::Autoremove => &["autoremove"],
        // `upgrade` takes no names, and keeps back what would bring new packages.
        Transaction::Upgrade if !record.targets.is_empty() => &["--only-upgrade", "install"],
        Transaction::Upgrade if record.new_packages => &["--with-new-pkgs", "upgrade"],
        Transaction::Upgrade => &["upgrade"],
        Transaction::Repair => &["--fix-broken", "install"],
    };
    argv.extend(words.iter().map(|word| (*word).to_owned()));
    argv.push("--".to_owned());
    argv.extend(record.targets.iter().map(Target::operand));
    argv
}

/// The arguments of `apt-get update`. Without the error mode it ends with 0 although sources failed.
pub fn update(status_fd: i32) -> Vec<String> {
    let status = format!("APT::Status-Fd={status_fd}");
    ["-q", "-y", "-o", &status, "-o", "APT::Update::Error-Mode=any", "update"].map(String::from).to_vec()
}

/// The arguments of apt-mark for these packages.
pub fn mark(kind: JobKind, targets: &[&Target]) -> Vec<String> {
    let word = if kind == JobKind::Unhold { "unhold" } else { "hold" };
    let mut argv = ["-o", "APT::Cmd::Pattern-Only=true", word, "--"].map(String::from).to_vec();
    argv.extend(targets.iter().map(|target| target.exact()));
    argv
}

/// The arguments of dpkg for finishing what an interrupted run left.
pub fn configure(status_fd: i32) -> Vec<String> {
    let mut argv = vec![format!("--status-fd={status_fd}")];
    argv.extend(CONFFILES.map(str::to_owned));
    argv.extend(["--configure".to_owned(), "--pending".to_owned()]);
    argv
}

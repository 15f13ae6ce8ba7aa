//! Transactions that apt-get is asked for, and the arguments for apt-get, apt-mark and dpkg. Does no I/O.

use postern_policy::VerbId;
use postern_policy::request::PackagesRequest;
use postern_policy::types::PackageName;
use postern_proto::root::v1::PackageFlags;
use std::path::Path;

/// The verbs that are transactions: the words for apt-get, and those for a client where there is nothing to do.
const TRANSACTIONS: [(VerbId, &[&str], &str); 6] = [
    (VerbId::PackageInstall, &["install"], "installed already"),
    (VerbId::PackageRemove, &["remove"], "not installed"),
    (VerbId::PackagePurge, &["purge"], "nothing of it is left"),
    (VerbId::PackageAutoremove, &["autoremove"], "nothing to do"),
    (VerbId::PackageUpgrade, &["upgrade"], "nothing newer is offered"),
    (VerbId::PackageRepair, &["--fix-broken", "install"], "nothing is left half done"),
];
/// Those that remove packages by themselves.
const REMOVING: [VerbId; 3] = [VerbId::PackageRemove, VerbId::PackagePurge, VerbId::PackageAutoremove];

/// One transaction. Simulation and run are made from the same value.
#[derive(Debug, Clone)]
pub struct Transaction {
    /// The change, and the packages that it names; a version only where one is installed.
    pub request: PackagesRequest,
    /// Further changes that apt may make.
    pub flags: PackageFlags,
    /// The message for a client where there is nothing to do.
    pub nothing_to_do: &'static str,
    words: &'static [&'static str],
}

impl Transaction {
    /// The transaction of a request; none for verbs that are none.
    #[must_use]
    pub fn new(request: PackagesRequest, flags: PackageFlags) -> Option<Self> {
        let (_, words, nothing_to_do) = TRANSACTIONS.into_iter().find(|row| row.0 == request.verb)?;
        Some(Self { request, flags, nothing_to_do, words })
    }
}

/// Keeps configuration files that were changed here: without this dpkg asks, reads the end of stdin, and leaves the
/// package half-configured.
pub const CONFFILES: [&str; 2] = ["--force-confdef", "--force-confold"];

/// Returns the operand that apt, with Pattern-Only, reads as this package and nothing else: without `:native`, `curl-`
/// removes curl and `x.deb` is a regular expression.
#[must_use]
pub fn exact(name: &PackageName) -> String {
    format!("{name}:native")
}

/// The arguments of a real transaction: with the descriptor that apt-get writes progress to, the program that it starts for the
/// check, without blanks, with its last argument, and how long it waits for dpkg's lock, in seconds.
#[must_use]
pub fn transaction(
    transaction: &Transaction,
    status_fd: i32,
    check: (&Path, &str),
    lock_timeout_s: u64,
) -> Vec<String> {
    let (program, id) = (check.0.display(), check.1);
    let mut argv = vec!["-q".to_owned(), "-y".to_owned()];
    let mut option = |text: String| argv.extend(["-o".to_owned(), text]);
    option("APT::Cmd::Pattern-Only=true".to_owned());
    option(format!("APT::Status-Fd={status_fd}"));
    option("Dpkg::Use-Pty=0".to_owned());
    option(format!("DPkg::Lock::Timeout={lock_timeout_s}"));
    for force in CONFFILES {
        option(format!("Dpkg::Options::={force}"));
    }
    option(format!("DPkg::Pre-Install-Pkgs::={program} check {id}"));
    // apt-get finds the protocol's version by the first word of the hook's line.
    option(format!("DPkg::Tools::Options::{program}::Version=3"));
    argv.extend(request(transaction));
    argv
}

/// The arguments that select packages: the same in the probe's simulation and in the run.
#[must_use]
pub fn request(transaction: &Transaction) -> Vec<String> {
    let mut argv = Vec::new();
    // Packages that nothing needs any more are removed by `package.autoremove` alone.
    let Transaction { request: PackagesRequest { verb, packages }, flags, words, .. } = transaction;
    if *verb != VerbId::PackageAutoremove {
        argv.extend(["-o", "APT::Get::AutomaticRemove=false"].map(str::to_owned));
    }
    argv.extend(["-o".to_owned(), format!("APT::Install-Recommends={}", flags.recommends)]);
    if !(flags.allow_removals || REMOVING.contains(verb)) {
        argv.push("--no-remove".to_owned());
    }
    if flags.allow_downgrades {
        argv.push("--allow-downgrades".to_owned());
    }
    // `upgrade` takes no names, and keeps back what would bring new packages.
    let words = match (*verb == VerbId::PackageUpgrade, packages.is_empty()) {
        (true, false) => &["--only-upgrade", "install"],
        (true, true) if flags.new_packages => &["--with-new-pkgs", "upgrade"],
        (true | false, _) => *words,
    };
    argv.extend(words.iter().map(|word| (*word).to_owned()));
    argv.push("--".to_owned());
    argv.extend(packages.iter().map(|package| match &package.version {
        Some(version) => format!("{}={}", exact(&package.name), version.as_str()),
        None => exact(&package.name),
    }));
    argv
}

/// The arguments of `apt-get update`. Without the error mode it ends with 0 although sources failed.
#[must_use]
pub fn update(status_fd: i32) -> Vec<String> {
    let status = format!("APT::Status-Fd={status_fd}");
    ["-q", "-y", "-o", &status, "-o", "APT::Update::Error-Mode=any", "update"].map(String::from).to_vec()
}

/// The arguments of apt-mark that hold these packages, or no longer.
#[must_use]
pub fn mark(holds: bool, names: &[PackageName]) -> Vec<String> {
    let word = if holds { "hold" } else { "unhold" };
    let mut argv = ["-o", "APT::Cmd::Pattern-Only=true", word, "--"].map(String::from).to_vec();
    argv.extend(names.iter().map(exact));
    argv
}

/// The arguments of dpkg for finishing what an interrupted run left.
#[must_use]
pub fn configure(status_fd: i32) -> Vec<String> {
    let mut argv = vec![format!("--status-fd={status_fd}")];
    argv.extend(CONFFILES.map(str::to_owned));
    argv.extend(["--configure".to_owned(), "--pending".to_owned()]);
    argv
}

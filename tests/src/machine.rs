//! A throwaway Debian, a thin wrapper of `deploy/machine`.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{self, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::{Output, Package};

/// The Debian in the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Release {
    /// Debian 12.
    Bookworm,
    /// Debian 13.
    Trixie,
}

impl Release {
    /// Its name as apt knows it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Bookworm => "bookworm",
            Self::Trixie => "trixie",
        }
    }
}

/// A running machine of this process. It is stopped and removed when dropped; if the process is
/// killed first, the next boot of any machine removes it.
#[derive(Debug)]
pub struct Machine {
    name: String,
    release: Release,
}

/// Tells the machines of one process apart.
static COUNT: AtomicU32 = AtomicU32::new(0);

fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/machine")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Runs `deploy/machine` to its end.
fn call<I, S>(arguments: I) -> Output
where
    I: IntoIterator<Item = S>,
    S: AsRef<OsStr>,
{
    let mut command = Command::new(script());
    command.args(arguments).stdin(Stdio::null());
    let shown = format!("{command:?}");
    let done = command.output().expect("deploy/machine starts");
    Output {
        command: shown,
        code: done.status.code().unwrap_or(255),
        stdout: text(&done.stdout),
        stderr: text(&done.stderr),
    }
}

impl Machine {
    /// Boots a machine and waits until its systemd is up.
    ///
    /// # Panics
    /// When that fails, for instance for want of root.
    #[must_use]
    pub fn boot(release: Release) -> Self {
        Self::boot_offering(release, &[])
    }

    /// The same with these packages of Debian's in the machine's repository.
    ///
    /// # Panics
    /// When that fails, for instance where this host's sources have no such package.
    #[must_use]
    pub fn boot_offering(release: Release, packages: &[&str]) -> Self {
        Self::boot_with(release, packages, None)
    }

    /// Boots one in which docker and podman can run containers.
    ///
    /// # Panics
    /// As [`Self::boot_offering`].
    #[must_use]
    pub fn boot_for_containers(release: Release, packages: &[&str]) -> Self {
        Self::boot_with(release, packages, Some("--containers"))
    }

    fn boot_with(release: Release, packages: &[&str], option: Option<&str>) -> Self {
        let name = format!("test-{}-{}", process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let owner = process::id().to_string();
        let machine = Self { name, release };
        let wanted: Vec<String> = packages.iter().map(|package| format!("--want={package}")).collect();
        let boot = ["boot", &machine.name, "--release", release.name(), "--owner", &owner];
        let _ = call(boot.into_iter().chain(option).chain(wanted.iter().map(String::as_str))).ok();
        machine
    }

    /// Its name, as `deploy/machine` knows it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The Debian in it.
    #[must_use]
    pub fn release(&self) -> Release {
        self.release
    }

    /// Runs a command in a transient unit of its own, as that user, with an empty standard input.
    #[must_use]
    pub fn run(&self, user: &str, argv: &[&str]) -> Output {
        self.run_with(&[&format!("User={user}")], argv)
    }

    /// Runs a command in a transient unit with these properties of systemd (`User=`, `NoNewPrivileges=`).
    #[must_use]
    pub fn run_with(&self, properties: &[&str], argv: &[&str]) -> Output {
        let mut arguments = vec!["run", &self.name];
        for property in properties {
            arguments.extend(["--property", property]);
        }
        arguments.push("--");
        arguments.extend(argv);
        call(arguments)
    }

    /// Runs a command as root.
    #[must_use]
    pub fn root(&self, argv: &[&str]) -> Output {
        self.run_with(&[], argv)
    }

    /// Runs a script of `sh` as root; for a test's own looks around, never for the product's work.
    #[must_use]
    pub fn shell(&self, script: &str) -> Output {
        self.root(&["sh", "-ec", script])
    }

    /// Copies one file of this host into the machine, mode kept.
    ///
    /// # Panics
    /// When that fails.
    pub fn copy_in(&self, from: &Path, to: &str) {
        let from = from.to_str().expect("a path in UTF-8");
        let _ = call(["copy", &self.name, from, to]).ok();
    }

    /// Runs a command at a terminal of root's where a person answers: a list of `[TEXT, ANSWER]`, each typed when its text
    /// stands there (`tests/models/person.py`).
    ///
    /// # Panics
    /// When the person cannot be copied into the machine.
    #[must_use]
    pub fn at_a_terminal(&self, answers: &serde_json::Value, command: &str) -> Output {
        let person = Path::new(env!("CARGO_MANIFEST_DIR")).join("models/person.py");
        self.copy_in(&person, "/var/tmp/person.py");
        let script = format!(
            "cat > /var/tmp/answers.json <<'END'\n{answers}\nEND\n\
             exec python3 /var/tmp/person.py /var/tmp/answers.json sh -c '{}'",
            command.replace('\'', "'\\''")
        );
        self.root(&["sh", "-ec", &script])
    }

    /// Sends a signal to the main processes of a unit or of all that a glob names.
    pub fn kill(&self, unit: &str, signal: &str) {
        let _ = self.root(&["systemctl", "kill", "--signal", signal, "--", unit]);
    }

    /// The journal of this boot, of one unit.
    ///
    /// # Panics
    /// When it cannot be read.
    #[must_use]
    pub fn journal(&self, unit: &str) -> String {
        call(["journal", &self.name, unit]).ok()
    }

    /// One property of a unit, as `systemctl show` prints it.
    ///
    /// # Panics
    /// When systemd does not answer.
    #[must_use]
    pub fn property(&self, unit: &str, name: &str) -> String {
        let shown = self.root(&["systemctl", "show", "--value", "--property", name, "--", unit]);
        shown.ok().trim().to_owned()
    }

    /// Installs a Debian package of this host, with its dependencies from the machine's repository.
    #[must_use]
    pub fn install_deb(&self, deb: &Path) -> Output {
        self.copy_in(deb, "/var/tmp/test.deb");
        // A configuration file that was changed stays.
        self.shell(
            "DEBIAN_FRONTEND=noninteractive apt-get -q -y -o Dpkg::Options::=--force-confold --reinstall install \
             /var/tmp/test.deb",
        )
    }

    /// Makes a small package of that name in the machine's repository, so that a test chooses what its
    /// maintainer script does. Call `apt-get update` (or `package.update`) before using it.
    ///
    /// # Panics
    /// When it cannot be built.
    pub fn publish(&self, package: &str, version: &str, postinst: &str) {
        self.publish_all(&[Package::new(package, version).script("postinst", postinst)]);
    }

    /// The same for several packages at once.
    ///
    /// # Panics
    /// When one cannot be built.
    pub fn publish_all(&self, packages: &[Package]) {
        let stage = self.stage("published");
        let debs: Vec<PathBuf> = packages.iter().map(|package| package.build(&stage)).collect();
        let mut arguments = vec![OsStr::new("publish"), OsStr::new(&self.name)];
        arguments.extend(debs.iter().map(|deb| deb.as_os_str()));
        let _ = call(arguments).ok();
        std::fs::remove_dir_all(&stage).expect("the packages' directory");
    }

    /// A new directory of this host for building.
    pub(crate) fn stage(&self, what: &str) -> PathBuf {
        let stage = std::env::temp_dir().join(format!("{}-{what}", self.name));
        std::fs::create_dir_all(&stage).expect("a directory for packages");
        stage
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        // A failed test says why; a machine that does not stop must not hide it.
        let stopped = call(["stop", &self.name]);
        if stopped.code != 0 {
            eprintln!("{stopped}");
        }
    }
}

//! A machine with Postern in it and a person to use it.

use std::env;
use std::ops::Deref;
use std::path::{Path, PathBuf};

use crate::{Machine, Output, Release};

/// The ordinary user that gives the agent tasks.
const VISITOR: &str = "visitor";

/// A budget of records that no test uses up by accident.
const PLENTY: &str = "[audit]\nrecords_per_minute = 100000\nrecords_per_hour = 100000\n";

/// A machine with the Debian package installed, the demonstration's policy in force and one user in
/// `postern-users`.
#[derive(Debug)]
pub struct Installed {
    machine: Machine,
}

impl Deref for Installed {
    type Target = Machine;

    fn deref(&self) -> &Machine {
        &self.machine
    }
}

/// The package that `tests/run` has built once for all tests.
///
/// # Panics
/// When `POSTERN_DEB` does not name it.
#[must_use]
pub fn deb() -> PathBuf {
    env::var_os("POSTERN_DEB")
        .map(PathBuf::from)
        .expect("POSTERN_DEB names the package: POSTERN_DEB=$(deploy/package) cargo test …, or tests/run")
}

impl Installed {
    /// Boots a machine, installs Postern and puts the demonstration's policy in force.
    ///
    /// # Panics
    /// When any of it fails.
    #[must_use]
    pub fn on(release: Release) -> Self {
        Self::as_shipped(release).with_demo()
    }

    /// The same with these packages of Debian's in the machine's repository.
    ///
    /// # Panics
    /// When any of it fails.
    #[must_use]
    pub fn on_offering(release: Release, packages: &[&str]) -> Self {
        Self::in_machine(Machine::boot_offering(release, packages), &deb()).with_demo()
    }

    /// Boots a machine with the package of `deploy/package` at an earlier commit, and the demonstration's policy.
    ///
    /// # Panics
    /// When any of it fails.
    #[must_use]
    pub fn of_before(release: Release, deb: &Path) -> Self {
        Self::in_machine(Machine::boot(release), deb).with_demo()
    }

    fn with_demo(self) -> Self {
        self.accept_demo();
        self
    }

    /// Accepts the demonstration's policy.
    ///
    /// # Panics
    /// When the policy is refused.
    pub fn accept_demo(&self) {
        let demo = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/policy/demo.toml");
        self.write_policy(&demo, "/etc/postern/policy.toml");
        // Tests ask faster than people do.
        let _ = self
            .shell(&format!("install -m 0640 /dev/stdin /etc/postern/policy.d/10-test.toml <<'E'\n{PLENTY}E"))
            .ok();
        let _ = self.root(&["postern-admin", "policy", "apply", "--yes"]).ok();
    }

    /// The same with the policy that the package brings: looking only.
    ///
    /// # Panics
    /// When the package does not install.
    #[must_use]
    pub fn as_shipped(release: Release) -> Self {
        Self::in_machine(Machine::boot(release), &deb())
    }

    /// The same in a machine that is running, from this package.
    ///
    /// # Panics
    /// When the package does not install.
    #[must_use]
    pub fn in_machine(machine: Machine, deb: &Path) -> Self {
        let _ = machine.install_deb(deb).ok();
        let _ = machine.root(&["useradd", "--create-home", "--groups", "postern-users", VISITOR]).ok();
        Self { machine }
    }

    /// Runs a command as the ordinary user.
    #[must_use]
    pub fn visitor(&self, argv: &[&str]) -> Output {
        self.run(VISITOR, argv)
    }

    /// Copies a policy file. A checkout's modes depend on a umask; a policy that others may write is refused.
    fn write_policy(&self, from: &Path, to: &str) {
        self.copy_in(from, to);
        let _ = self.root(&["chmod", "0640", to]).ok();
    }

    /// Adds a file of rules to the policy and puts it in force.
    ///
    /// # Panics
    /// When the policy is refused.
    pub fn grant(&self, rules: &str) {
        let file = env::temp_dir().join(format!(
            "postern-rules-{}-{:?}",
            std::process::id(),
            std::thread::current().id()
        ));
        std::fs::write(&file, rules).expect("a file for the rules");
        self.write_policy(&file, "/etc/postern/policy.d/50-test.toml");
        std::fs::remove_file(&file).expect("the file of rules");
        let _ = self.root(&["postern-admin", "policy", "apply", "--yes"]).ok();
    }

    /// Starts a model on loopback that gives these replies, with `more` in the agent's configuration, and restarts
    /// the agent. Requests to it are written to `/var/tmp/model/seen`. An earlier model is stopped.
    ///
    /// # Panics
    /// When it does not start.
    pub fn with_model(&self, replies: &serde_json::Value, more: &str) {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("models/scripted.py");
        self.copy_in(&script, "/var/tmp/scripted.py");
        let setup = format!(
            "systemctl stop model.service 2>/dev/null || true
            systemctl reset-failed model.service 2>/dev/null || true
            rm -rf /var/tmp/model
            install -d -m 1777 /var/tmp/model
            cat > /var/tmp/replies.json <<'END'
{replies}
END
            systemd-run --quiet --unit=model python3 /var/tmp/scripted.py 8080 /var/tmp/replies.json /var/tmp/model/seen
            cat > /etc/postern/agent.toml <<'END'
[model]
provider = \"openai\"
base_url = \"http://127.0.0.1:8080/v1\"
{more}
END
            curl -s --retry 100 --retry-connrefused --retry-delay 1 --retry-max-time 30 -o /dev/null http://127.0.0.1:8080/
            systemctl restart postern-agent.service"
        );
        let _ = self.shell(&setup).ok();
    }

    /// The main process of a service, or nothing where it does not run.
    #[must_use]
    pub fn main_pid(&self, unit: &str) -> Option<u32> {
        self.property(unit, "MainPID").parse().ok().filter(|pid| *pid != 0)
    }
}

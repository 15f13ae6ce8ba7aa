//! Where everything stands on this host: a value, so that tests bring their own.

use crate::lint::gather::Probes;
use postern_helper::host::Accounts;
use std::path::{Path, PathBuf};

/// The places of CONTRACTS 1 that operators' commands use.
#[derive(Debug, Clone)]
pub struct Host {
    /// `policy.toml` and `policy.d`.
    pub etc: PathBuf,
    /// Root's state: `policy/accepted.pb`.
    pub state: PathBuf,
    /// The audit log's directory.
    pub log: PathBuf,
    /// The keys that the helper seals with, in memory alone.
    pub seal: PathBuf,
    /// This host's name, for records that leave it.
    pub name: String,
    /// This boot's id, as records name it.
    pub boot_id: Option<String>,
    /// `journalctl`, for the helper's tips; none in tests, which bring their own.
    pub journalctl: Option<PathBuf>,
    /// Where the helper listens to operators.
    pub operator_socket: PathBuf,
    /// Who must own the policy and who may apply it: 0 but in tests.
    pub owner_uid: u32,
    /// How names become numbers.
    pub accounts: Accounts,
    /// How the numbers of users become names.
    pub user_name: fn(u32) -> String,
    /// Who logged in to the session of this process; none where nobody did, such as for a service.
    pub login_uid: fn() -> Option<u32>,
    /// The users whose primary group this is: a group does not list them.
    pub primary: fn(u32) -> Vec<u32>,
    /// How facts about this host are gathered; none in tests, which bring their own.
    pub probes: Option<Probes>,
}

impl Host {
    /// The host as an installed Postern finds it.
    #[must_use]
    pub fn real() -> Self {
        let helper = postern_helper::host::Host::real(String::new(), false);
        Self {
            etc: "/etc/postern".into(),
            seal: helper.paths.run.join("seal"),
            name: kernel("hostname").unwrap_or_default(),
            boot_id: kernel("random/boot_id"),
            journalctl: Some(helper.programs.journalctl),
            state: helper.paths.state,
            log: helper.paths.log,
            operator_socket: helper.paths.operator_socket,
            owner_uid: helper.owner_uid,
            accounts: helper.accounts,
            user_name: helper.user_name,
            login_uid,
            primary,
            probes: Some(Probes::default()),
        }
    }

    /// The seed of the seal's next epoch.
    #[must_use]
    pub fn seed(&self) -> PathBuf {
        self.state.join("seal/next")
    }

    /// The directory of the accepted policy.
    #[must_use]
    pub fn accepted_dir(&self) -> PathBuf {
        self.state.join("policy")
    }
}

/// The uid that `pam_loginuid(8)` set and that no program changes without the right to control the audit.
fn login_uid() -> Option<u32> {
    let uid = std::fs::read_to_string("/proc/self/loginuid").ok()?.trim().parse().ok()?;
    // Unset is (uid_t) -1.
    (uid != u32::MAX).then_some(uid)
}

/// What the kernel says of itself.
fn kernel(name: &str) -> Option<String> {
    let text = std::fs::read_to_string(Path::new("/proc/sys/kernel").join(name)).ok()?;
    Some(text.trim().to_owned())
}

/// From the local accounts alone: nothing lists those of a directory service by their group.
fn primary(gid: u32) -> Vec<u32> {
    let passwd = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let ids = passwd.lines().filter_map(|line| {
        let mut fields = line.split(':').skip(2).map(str::parse::<u32>);
        Some((fields.next()?.ok()?, fields.next()?.ok()?))
    });
    ids.filter(|(_, primary)| *primary == gid).map(|(uid, _)| uid).collect()
}

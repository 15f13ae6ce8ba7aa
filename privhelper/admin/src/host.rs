//! Paths and accounts of this host, as a value that tests replace.

use crate::lint::gather::Probes;
use crate::programs::Programs;
use crate::text::did_you_mean;
use nix::unistd::{Uid, User};
use std::path::{Path, PathBuf};

/// How names of users and groups become numbers.
#[derive(Debug, Clone, Copy)]
pub struct Accounts {
    /// The uid of a user.
    pub user: fn(&str) -> Option<u32>,
    /// The gid of a group and the uids of its members.
    pub group: fn(&str) -> Option<Group>,
    /// The names of all local users, and the uid of each: for errors about a name that is nobody's.
    pub users: fn() -> Vec<(String, u32)>,
    /// The names of all local groups.
    pub groups: fn() -> Vec<String>,
}

impl Accounts {
    /// The error for a user whom this host does not have: with the nearest name.
    #[must_use]
    pub fn no_user(&self, name: &str) -> String {
        let users = (self.users)();
        let hint = did_you_mean(name, users.iter().map(|(user, _)| user.as_str()));
        format!("there is no user {name:?} on this host{hint}")
    }

    /// The error for a group that this host does not have: with the nearest name.
    #[must_use]
    pub fn no_group(&self, name: &str) -> String {
        let groups = (self.groups)();
        let hint = did_you_mean(name, groups.iter().map(String::as_str));
        format!("there is no group {name:?} on this host{hint}")
    }
}

/// A gid, and the uids of members.
pub type Group = (u32, Vec<u32>);

/// Ports on loopback where programs that run models answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModelPorts {
    /// Ollama's.
    pub ollama: u16,
    /// That of llama.cpp's server.
    pub llama_cpp: u16,
}

/// Paths and accounts of the host that operators' commands use.
#[derive(Debug, Clone)]
pub struct Host {
    /// `policy.toml` and `policy.d`.
    pub etc: PathBuf,
    /// The directory of `accepted.pb`.
    pub accepted: PathBuf,
    /// State of this program: sign-offs, and the last verification of the log.
    pub own: PathBuf,
    /// The policy packs that the package brings.
    pub packs: PathBuf,
    /// The recorder's state: the seed of its seal.
    pub state: PathBuf,
    /// The audit log's directory.
    pub log: PathBuf,
    /// The directory of the agent's own log.
    pub agent_log: PathBuf,
    /// The keys that the recorder seals with, in memory alone.
    pub seal: PathBuf,
    /// This host's name, for records that leave it.
    pub name: String,
    /// This boot's id, as records name it.
    pub boot_id: Option<String>,
    /// `journalctl`, for the recorder's tips and root's lines; none in tests, which bring their own.
    pub journalctl: Option<PathBuf>,
    /// Where the recorder listens to operators.
    pub operator_socket: PathBuf,
    /// Where `postern-files` listens to the recorder.
    pub files_socket: PathBuf,
    /// The user and group that `postern-files` serves; none in tests: this process's own.
    pub greets_as: Option<&'static str>,
    /// Where units are written for PID 1.
    pub systemd_units: PathBuf,
    /// Exists where systemd is PID 1 (`sd_booted(3)`).
    pub systemd: PathBuf,
    /// `systemctl`; none in tests, which bring their own.
    pub systemctl: Option<PathBuf>,
    /// The time zone, localtime(5).
    pub localtime: PathBuf,
    /// Where the granted directories are looked for: `/` but in tests.
    pub root: PathBuf,
    /// The uid that must own the policy and may apply it: 0 except in tests.
    pub owner_uid: u32,
    /// How names become numbers.
    pub accounts: Accounts,
    /// How the numbers of users become names.
    pub user_name: fn(u32) -> String,
    /// Where `init` looks for a model.
    pub model_ports: ModelPorts,
    /// The login uid of this process; none for a service.
    pub login_uid: fn() -> Option<u32>,
    /// The users whose primary group this is: a group does not list them.
    pub primary: fn(u32) -> Vec<u32>,
    /// Programs that `init` and `doctor` run.
    pub programs: Programs,
    /// How facts about this host are gathered; none in tests, which bring their own.
    pub probes: Option<Probes>,
}

impl Host {
    /// The program that talks to PID 1; none where systemd does not run, such as while an image is built: it reads the files
    /// at the next boot.
    #[must_use]
    pub fn running_systemctl(&self) -> Option<&Path> {
        self.systemctl.as_deref().filter(|_| self.systemd.exists())
    }

    /// A group's id and the uids of all its members, each once; none if there is no such group.
    #[must_use]
    pub fn group(&self, name: &str) -> Option<(u32, Vec<u32>)> {
        let (gid, mut uids) = (self.accounts.group)(name)?;
        uids.extend((self.primary)(gid));
        uids.sort_unstable();
        uids.dedup();
        Some((gid, uids))
    }

    /// The host as an installed Postern finds it.
    #[must_use]
    pub fn real() -> Self {
        Self {
            etc: "/etc/postern".into(),
            accepted: "/var/lib/postern-policy".into(),
            own: "/var/lib/postern-admin".into(),
            packs: "/usr/share/postern/packs".into(),
            seal: "/run/postern-audit/seal".into(),
            name: kernel("hostname").unwrap_or_default(),
            boot_id: kernel("random/boot_id"),
            journalctl: Some("/usr/bin/journalctl".into()),
            state: "/var/lib/postern-audit".into(),
            log: "/var/log/postern".into(),
            agent_log: "/var/lib/postern/audit".into(),
            operator_socket: "/run/postern/operator.sock".into(),
            files_socket: "/run/postern/internal/files.sock".into(),
            greets_as: Some("postern-audit"),
            systemd_units: "/etc/systemd/system".into(),
            systemd: "/run/systemd/system".into(),
            systemctl: Some("/usr/bin/systemctl".into()),
            localtime: "/etc/localtime".into(),
            root: "/".into(),
            owner_uid: 0,
            accounts: Accounts { user, group, users, groups },
            user_name: |uid| {
                let user = User::from_uid(Uid::from_raw(uid)).ok().flatten();
                user.map_or_else(|| uid.to_string(), |user| user.name)
            },
            model_ports: ModelPorts { ollama: 11434, llama_cpp: 8080 },
            login_uid,
            primary,
            programs: Programs::real(),
            probes: Some(Probes::default()),
        }
    }

    /// The seed of the seal's next epoch.
    #[must_use]
    pub fn seed(&self) -> PathBuf {
        self.state.join("seal/next")
    }

    /// Whether a recorder has ever started here: before its first record it reserves disk space in its state. A log may be
    /// older, of an installation that was removed.
    #[must_use]
    pub fn had_recorder(&self) -> bool {
        self.state.join("reserve").exists()
    }

    /// The directory of the accepted policy.
    #[must_use]
    pub fn accepted_dir(&self) -> PathBuf {
        self.accepted.clone()
    }
}

fn user(name: &str) -> Option<u32> {
    User::from_name(name).ok().flatten().map(|user| user.uid.as_raw())
}

fn group(name: &str) -> Option<Group> {
    let group = nix::unistd::Group::from_name(name).ok().flatten()?;
    Some((group.gid.as_raw(), group.mem.iter().filter_map(|member| user(member)).collect()))
}

/// The uid that `pam_loginuid(8)` set and that no program changes without the right to control the audit.
fn login_uid() -> Option<u32> {
    let uid = std::fs::read_to_string("/proc/self/loginuid").ok()?.trim().parse().ok()?;
    // Unset is (uid_t) -1.
    (uid != u32::MAX).then_some(uid)
}

/// A value in `/proc/sys/kernel`.
fn kernel(name: &str) -> Option<String> {
    let text = std::fs::read_to_string(Path::new("/proc/sys/kernel").join(name)).ok()?;
    Some(text.trim().to_owned())
}

/// From the local accounts alone: nothing lists those of a directory service by their group.
fn primary(gid: u32) -> Vec<u32> {
    let passwd = local("/etc/passwd");
    let ids = passwd.lines().filter_map(|line| {
        let mut fields = line.split(':').skip(2).map(str::parse::<u32>);
        Some((fields.next()?.ok()?, fields.next()?.ok()?))
    });
    ids.filter(|(_, primary)| *primary == gid).map(|(uid, _)| uid).collect()
}

/// The local users, by name.
fn users() -> Vec<(String, u32)> {
    let user = |line: &str| {
        let mut fields = line.split(':');
        Some((fields.next()?.to_owned(), fields.nth(1)?.parse().ok()?))
    };
    local("/etc/passwd").lines().filter_map(user).collect()
}

/// The local groups, by name.
fn groups() -> Vec<String> {
    let name = |line: &str| line.split(':').next().filter(|name| !name.is_empty()).map(str::to_owned);
    local("/etc/group").lines().filter_map(name).collect()
}

/// A file of local accounts; empty if it cannot be read.
fn local(path: &str) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

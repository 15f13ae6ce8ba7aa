//! Facts about a host: plain data, made by `policy facts` on the host and read anywhere.
//!
//! A fact that could not be learned is missing, and `notes` says why.

use serde::{Deserialize, Serialize};

/// The only version there is.
pub const VERSION: u32 = 1;
/// The instance that represents all instances of a unit template.
pub const ANY_INSTANCE: &str = "any";

/// Everything that the lint wants to know of a host.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    /// [`VERSION`].
    pub version: u32,
    /// The host's name, for people.
    pub host: String,
    /// Direction, in seconds since 1970.
    pub collected_unix_s: u64,
    /// Facts that could not be gathered, and why.
    pub notes: Vec<String>,
    /// Services, timers, sockets and path units that are loaded or installed.
    pub units: Vec<Unit>,
    /// Commands that apt and dpkg run as root.
    pub hooks: Vec<Hook>,
    /// Hosts that packages come from, as the configured sources name them.
    pub package_hosts: Vec<String>,
    /// Paths that are, or lead through, symbolic links.
    pub links: Vec<Link>,
    /// Directories above what rules write, Postern's own files, and sockets that are as good as root.
    pub inodes: Vec<Inode>,
    /// Programs of the policy's commands that are not there.
    #[serde(default)]
    pub missing: Vec<String>,
    /// Users of the policy's commands that this host does not have.
    #[serde(default)]
    pub unknown_users: Vec<String>,
    /// The users that clients are.
    pub users: Vec<User>,
    /// Users and `%groups` that sudoers names; none if it could not be read, which only root can.
    pub sudoers: Option<Vec<String>>,
}

/// A unit, as `systemctl show` describes it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Unit {
    /// Its canonical name.
    pub id: String,
    /// All its names.
    pub names: Vec<String>,
    /// Its file.
    pub fragment: String,
    /// Its drop-ins.
    pub drop_ins: Vec<String>,
    /// Its `Exec…=` lines.
    pub commands: Vec<Command>,
    /// Its environment files, without the leading `-`.
    pub environment_files: Vec<String>,
    /// Files that it takes credentials from.
    pub credentials: Vec<String>,
    /// `User=`; empty is root.
    pub user: String,
    /// `RootDirectory=`.
    pub root_directory: String,
    /// `WorkingDirectory=`.
    pub working_directory: String,
    /// The units that it starts, if it is a timer, socket or path unit.
    pub triggers: Vec<String>,
    /// Such as `active`.
    pub active: String,
    /// Such as `enabled`.
    pub enabled: String,
}

/// One `Exec…=` line.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Command {
    /// The program.
    pub path: String,
    /// Program name and arguments as one text.
    pub argv: String,
    /// Whether it runs as root whatever `User=` says (`+` and `!`).
    pub is_privileged: bool,
}

/// A command of `apt-config dump`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hook {
    /// Such as `DPkg::Post-Invoke`.
    pub key: String,
    /// The command, which a shell runs.
    pub command: String,
}

/// A path that is not what it seems.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// The path.
    pub path: String,
    /// Where it leads in the end.
    pub target: String,
}

/// A file or directory, by owner and mode. An ACL that lets others write shows in the group's bits.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inode {
    /// Its path.
    pub path: String,
    /// `file`, `directory`, `symlink`, `socket` or `other`.
    pub kind: String,
    /// Its owner.
    pub uid: u32,
    /// Its group.
    pub gid: u32,
    /// Permission bits, octal with four digits.
    pub mode: String,
}

impl Inode {
    /// The permission bits; all of them if the text is no mode, which is the careful reading.
    #[must_use]
    pub fn bits(&self) -> u32 {
        u32::from_str_radix(&self.mode, 8).unwrap_or(0o7777)
    }
}

/// A user that a client is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct User {
    /// The client.
    pub client: String,
    /// The user's name.
    pub name: String,
    /// Its uid.
    pub uid: u32,
    /// Its groups, the primary one too.
    pub groups: Vec<Group>,
}

/// A group of a user.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Group {
    /// Its name.
    pub name: String,
    /// Its gid.
    pub gid: u32,
}

/// Reads facts.
///
/// # Errors
/// It is no JSON, or of another version, in words.
pub fn read(text: &str) -> Result<Facts, String> {
    let facts: Facts = serde_json::from_str(text).map_err(|error| format!("these are no facts: {error}"))?;
    if facts.version == VERSION {
        Ok(facts)
    } else {
        Err(format!("these facts are of version {}, this program reads version {VERSION}", facts.version))
    }
}

//! A request as people write it in a command, and what it is about.

use super::args::FileChange;
use super::request::Request;
use std::fmt::Write;

impl Request {
    /// Returns the objects of a request: its packages, unit or path.
    #[must_use]
    pub fn target(&self) -> String {
        self.objects().join(" ")
    }

    /// The command with which an operator sees what the policy says of it, safe to paste into a shell.
    #[must_use]
    pub fn explain(&self) -> String {
        let mut text = format!("postern-admin policy explain {}", self.verb());
        for word in self.objects().into_iter().chain(self.limits()) {
            let _ = write!(text, " {}", quoted(&word));
        }
        text
    }

    /// The packages, the unit, the paths or the command that it names.
    #[must_use]
    pub fn objects(&self) -> Vec<String> {
        let paths = |changes: &[FileChange]| changes.iter().map(|change| change.path.clone()).collect();
        match self {
            Self::PackageInstall(args) => {
                let version = |v: &str| if v.is_empty() { String::new() } else { format!("={v}") };
                args.packages.iter().map(|p| format!("{}{}", p.name, version(&p.version))).collect()
            }
            Self::PackageRemove(args)
            | Self::PackagePurge(args)
            | Self::PackageHold(args)
            | Self::PackageUnhold(args)
            | Self::PackageShow(args) => args.names.clone(),
            Self::PackageUpgrade(args) if args.all => vec!["--all".to_owned()],
            Self::PackageUpgrade(args) => args.names.clone(),
            Self::UnitStatus(args) => vec![args.unit.clone()],
            Self::UnitStart(args)
            | Self::UnitStop(args)
            | Self::UnitRestart(args)
            | Self::UnitReload(args)
            | Self::UnitTryRestart(args)
            | Self::UnitResetFailed(args)
            | Self::UnitUnmask(args) => vec![args.unit.clone()],
            Self::UnitEnable(args) | Self::UnitDisable(args) | Self::UnitMask(args) => {
                vec![args.unit.clone()]
            }
            Self::FileRead(args) => vec![args.path.clone()],
            Self::FileList(args) => vec![args.path.clone()],
            Self::FileWrite(args) => paths(std::slice::from_ref(&args.change.0)),
            Self::FilePatch(args) => paths(&args.changes),
            Self::FileRemove(args) => vec![args.path.clone()],
            Self::FileMkdir(args) => vec![args.path.clone()],
            Self::FileSetMode(args) => vec![args.path.clone()],
            Self::FileSetOwner(args) => vec![args.path.clone()],
            // Without its parameters, one of which may be a secret.
            Self::CommandRun(args) => vec![args.name.clone()],
            Self::RequestResult(args) | Self::RequestUndo(args) | Self::RequestKeep(args) => {
                vec![args.of.clone()]
            }
            Self::PackageAutoremove(_)
            | Self::PackageUpdate(_)
            | Self::PackageRepair(_)
            | Self::UnitDaemonReload(_)
            | Self::HostReboot(_)
            | Self::PolicyDescribe(_) => Vec::new(),
        }
    }

    /// The parameters of a command with their values, each `NAME=VALUE`. One may be a secret.
    #[must_use]
    pub fn parameters(&self) -> Vec<String> {
        match self {
            Self::CommandRun(args) => {
                args.parameters.iter().map(|one| format!("{}={}", one.name, one.value)).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Returns the arguments besides objects that the policy limits.
    fn limits(&self) -> Vec<String> {
        let (bytes, mode, owner, group) = match self {
            Self::FileWrite(args) => {
                let change = &args.change.0;
                (change.content.len().to_string(), change.mode.as_str(), &*change.owner, &*change.group)
            }
            Self::FileMkdir(args) => (String::new(), &*args.mode, &*args.owner, &*args.group),
            Self::FileSetOwner(args) => (String::new(), "", &*args.owner, &*args.group),
            Self::FileSetMode(args) => (String::new(), &*args.mode, "", ""),
            _ => return Vec::new(),
        };
        let flags = [("--bytes", bytes.as_str()), ("--mode", mode), ("--owner", owner), ("--group", group)];
        let given = flags.into_iter().filter(|(_, value)| !value.is_empty());
        given.flat_map(|(flag, value)| [flag.to_owned(), value.to_owned()]).collect()
    }
}

/// A word as a shell takes it for one.
fn quoted(word: &str) -> String {
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || b"/._-+=:@,%~".contains(&b);
    if !word.is_empty() && word.bytes().all(is_plain) && !word.starts_with('~') {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

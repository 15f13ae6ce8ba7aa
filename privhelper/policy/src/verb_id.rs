//! The names of all verbs: what a policy may say and what the service offers.
//!
//! The programs that serve requests have a table with a row for each.

macro_rules! verbs {
    ($($variant:ident = $name:literal),* $(,)?) => {
        /// One verb. The variant is the rpc's name.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum VerbId { $(#[doc = concat!("`", $name, "`")] $variant),* }

        impl VerbId {
            /// Every verb, in the order of the service's rpcs.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// The name in policies, records and commands.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),* }
            }

            /// The rpc of `postern.v1.Helper`.
            pub const fn rpc(self) -> &'static str {
                match self { $(Self::$variant => stringify!($variant)),* }
            }
        }
    };
}

verbs! {
    PackageInstall = "package.install",
    PackageRemove = "package.remove",
    PackagePurge = "package.purge",
    PackageAutoremove = "package.autoremove",
    PackageUpdate = "package.update",
    PackageUpgrade = "package.upgrade",
    PackageHold = "package.hold",
    PackageUnhold = "package.unhold",
    PackageRepair = "package.repair",
    PackageShow = "package.show",
    UnitStatus = "unit.status",
    UnitStart = "unit.start",
    UnitStop = "unit.stop",
    UnitRestart = "unit.restart",
    UnitReload = "unit.reload",
    UnitTryRestart = "unit.try-restart",
    UnitResetFailed = "unit.reset-failed",
    UnitEnable = "unit.enable",
    UnitDisable = "unit.disable",
    UnitMask = "unit.mask",
    UnitUnmask = "unit.unmask",
    UnitDaemonReload = "unit.daemon-reload",
    HostReboot = "host.reboot",
    FileRead = "file.read",
    FileList = "file.list",
    FileWrite = "file.write",
    FilePatch = "file.patch",
    FileRemove = "file.remove",
    FileMkdir = "file.mkdir",
    FileSetMode = "file.set-mode",
    FileSetOwner = "file.set-owner",
    CommandRun = "command.run",
    PolicyDescribe = "policy.describe",
    RequestResult = "request.result",
    RequestUndo = "request.undo",
    RequestKeep = "request.keep",
    AgentNote = "agent.note",
}

impl VerbId {
    /// The verb of this name, if there is one.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|verb| verb.name() == name)
    }

    /// Whether it acts, rather than only looks. Each verb's row in the table says the same.
    pub const fn is_effect(self) -> bool {
        !matches!(
            self,
            Self::PackageShow
                | Self::UnitStatus
                | Self::FileRead
                | Self::FileList
                | Self::PolicyDescribe
                | Self::RequestResult
                | Self::RequestKeep
                | Self::AgentNote
        )
    }

    /// Whether one request takes back each change by it: where a rule has `keep_within`, root refuses the changes that have no
    /// inverse.
    pub const fn has_inverse(self) -> bool {
        matches!(
            self,
            Self::FileWrite
                | Self::FilePatch
                | Self::FileRemove
                | Self::FileMkdir
                | Self::FileSetMode
                | Self::FileSetOwner
                | Self::CommandRun
        )
    }

    /// Whether every listed client may call it for what is its own, without a rule.
    pub const fn is_open(self) -> bool {
        matches!(self, Self::PolicyDescribe | Self::RequestResult | Self::RequestKeep | Self::AgentNote)
    }
}

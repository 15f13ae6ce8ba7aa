//! Danger levels of a command's text, and the sandbox profiles.

use serde::{Deserialize, Serialize};

/// Level of a command; the strictest of all that apply wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Every part is proven to read or compute only.
    Safe,
    /// A person is asked first. All that no rule knows ends here.
    Confirm,
    /// Not run at all, whoever says yes.
    Block,
}

impl Level {
    /// The word that people, the trace and the audit see.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Safe => "SAFE",
            Self::Confirm => "CONFIRM",
            Self::Block => "BLOCK",
        }
    }
}

macro_rules! capabilities {
    ($($variant:ident $name:literal,)*) => {
        /// Capability of a command on the host, under its name in the trace and the audit.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum Capability {
            $(#[doc = concat!("`", $name, "`")] #[serde(rename = $name)] $variant,)*
        }

        impl Capability {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// The stable name.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }
    };
}

capabilities! {
    BlockDeviceMutate "block_device.mutate",
    BlockDevicePartition "block_device.partition",
    ContainerMutate "container.mutate",
    CronMutate "cron.mutate",
    EnvironmentMutate "environment.mutate",
    ConfigWrite "filesystem.config_write",
    Delete "filesystem.delete",
    Mutate "filesystem.mutate",
    Permission "filesystem.permission",
    SensitiveRead "filesystem.sensitive_read",
    SensitiveWrite "filesystem.sensitive_write",
    Truncate "filesystem.truncate",
    Write "filesystem.write",
    GitMutate "git.mutate",
    IdentityMutate "identity.mutate",
    InputValidation "input.validation",
    InterpreterEscape "interpreter.escape",
    Helm "kubernetes.helm",
    KubernetesMutate "kubernetes.mutate",
    LlmGenerated "llm.generated",
    FindExec "lolbin.find_exec",
    InteractiveEscape "lolbin.interactive_escape",
    TextExec "lolbin.text_exec",
    XargsExec "lolbin.xargs_exec",
    Firewall "network.firewall",
    PackageInstall "package.install",
    PackageRemove "package.remove",
    Sudo "privilege.sudo",
    PrivilegedRunner "process.privileged_runner",
    ServiceMutate "service.mutate",
    ShellControl "shell.control",
    ShellEmpty "shell.empty",
    ShellInjection "shell.injection",
    ShellParse "shell.parse",
    RemoteExecute "shell.remote_execute",
    Interactive "terminal.interactive",
}

impl Capability {
    /// Whether a person's yes counts for this one time only.
    #[must_use]
    pub fn is_destructive(self) -> bool {
        match self {
            Self::BlockDeviceMutate
            | Self::BlockDevicePartition
            | Self::ContainerMutate
            | Self::CronMutate
            | Self::ConfigWrite
            | Self::Delete
            | Self::Permission
            | Self::SensitiveRead
            | Self::SensitiveWrite
            | Self::Truncate
            | Self::IdentityMutate
            | Self::InputValidation
            | Self::InterpreterEscape
            | Self::Helm
            | Self::KubernetesMutate
            | Self::FindExec
            | Self::InteractiveEscape
            | Self::TextExec
            | Self::XargsExec
            | Self::Firewall
            | Self::PackageRemove
            | Self::PrivilegedRunner
            | Self::ShellInjection
            | Self::ShellParse
            | Self::RemoteExecute => true,
            Self::EnvironmentMutate
            | Self::Mutate
            | Self::Write
            | Self::GitMutate
            | Self::LlmGenerated
            | Self::PackageInstall
            | Self::Sudo
            | Self::ServiceMutate
            | Self::ShellControl
            | Self::ShellEmpty
            | Self::Interactive => false,
        }
    }
}

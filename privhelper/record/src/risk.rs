//! The risk of a request, computed from its grants. For records and for people; it does not affect a decision.

use postern_policy::{Object, RequiredGrant, VerbId};

/// The risk of one request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Risk {
    /// 0 (nothing) to 100 (the host).
    pub score: u32,
    /// Its capabilities, such as `service.mutate`. Sorted.
    pub capabilities: Vec<&'static str>,
}

impl Risk {
    /// The most that any element of a request puts at stake.
    #[must_use]
    pub fn of(grants: &[RequiredGrant]) -> Self {
        let mut risk = Self::default();
        for (verb, object) in grants {
            let (score, capability) = element(*verb, object);
            risk.score = risk.score.max(score);
            risk.capabilities.push(capability);
        }
        risk.capabilities.sort_unstable();
        risk.capabilities.dedup();
        risk
    }
}

/// Scores as administrators' tools use them: to look 5 to 15, to change what comes back 40 to 70, what may not 75 up.
fn element(verb: VerbId, object: &Object) -> (u32, &'static str) {
    match verb {
        VerbId::PolicyDescribe | VerbId::RequestResult | VerbId::RequestKeep | VerbId::AgentNote => {
            (0, "policy.read")
        }
        VerbId::PackageShow => (5, "package.read"),
        VerbId::UnitStatus => (5, "service.read"),
        VerbId::FileRead | VerbId::FileList => (15, "filesystem.read"),
        VerbId::PackageUpdate => (20, "package.update"),
        VerbId::PackageHold | VerbId::PackageUnhold => (40, "package.hold"),
        // Maintainer scripts run as root.
        VerbId::PackageInstall => (65, "package.install"),
        VerbId::PackageUpgrade | VerbId::PackageRepair => (70, "package.upgrade"),
        VerbId::PackageRemove | VerbId::PackagePurge | VerbId::PackageAutoremove => (75, "package.remove"),
        VerbId::UnitResetFailed | VerbId::UnitReload => (40, "service.mutate"),
        VerbId::UnitStart | VerbId::UnitRestart | VerbId::UnitTryRestart => (50, "service.mutate"),
        VerbId::UnitStop | VerbId::UnitEnable | VerbId::UnitDisable | VerbId::UnitDaemonReload => {
            (60, "service.mutate")
        }
        VerbId::UnitMask | VerbId::UnitUnmask => (70, "service.mutate"),
        VerbId::FileWrite | VerbId::FilePatch | VerbId::FileMkdir if is_configuration(object) => {
            (80, "filesystem.config_write")
        }
        VerbId::FileWrite | VerbId::FilePatch | VerbId::FileMkdir => (40, "filesystem.write"),
        VerbId::FileSetMode | VerbId::FileSetOwner => (70, "filesystem.permission"),
        VerbId::FileRemove => (85, "filesystem.delete"),
        VerbId::HostReboot => (80, "host.reboot"),
        VerbId::CommandRun => (75, "process.privileged_runner"),
        VerbId::RequestUndo => (50, "request.undo"),
    }
}

/// Below /etc, /usr, /opt or /var/lib, where programs look for what they are to do.
fn is_configuration(object: &Object) -> bool {
    const PLACES: [&str; 5] = ["/etc/", "/usr/", "/opt/", "/var/lib/", "/root/"];
    object.path().is_some_and(|path| PLACES.iter().any(|place| path.as_str().starts_with(place)))
}

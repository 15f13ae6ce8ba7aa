//! Requests to the helper: one row a verb, the arguments under their wire names.
//!
//! A request travels as JSON between the command line and `postern serve`, and as a message to the
//! helper. Checking arguments is the helper's: here they only get their shape.

use super::args::{
    All, Change, Changes, Command, Names, NewDirectory, Nothing, Of, Ownership, Packages, PathOnly,
    Permissions, ReadRange, Reboot, RemoveFile, ToWire, Unit, UnitLook, UnitNow,
};
use postern_proto::v1;
use postern_proto::v1::helper_client::HelperClient;
use serde::de::Error;
use serde::ser::SerializeStruct;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use std::borrow::Cow;
use tonic::codec::Streaming;
use tonic::transport::Channel;
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

macro_rules! requests {
    ($($name:literal $variant:ident $rpc:ident $wire:ident $args:ident { $($field:ident),* };)*) => {
        /// One request with its arguments.
        #[expect(clippy::enum_variant_names, reason = "the variants have the names of the rpcs")]
        #[derive(Clone, Debug, PartialEq)]
        pub enum Request {
            $(#[doc = concat!("`", $name, "`")] $variant($args),)*
        }

        impl Request {
            /// Every verb's name, in the order of the service.
            pub const VERBS: &'static [&'static str] = &[$($name),*];

            /// The verb's name, such as `unit.status`.
            #[must_use]
            pub fn verb(&self) -> &'static str {
                match self { $(Self::$variant(_) => $name,)* }
            }

            /// The arguments under their wire names.
            #[must_use]
            pub fn args(&self) -> Value {
                match self { $(Self::$variant(args) => serde_json::to_value(args),)* }.unwrap_or_default()
            }

            /// Reads a request that came as JSON.
            ///
            /// # Errors
            /// An unknown verb, or arguments that are not exactly its own.
            pub fn from_json(verb: &str, args: Value) -> Result<Self, String> {
                match verb {
                    $($name => serde_json::from_value(args).map(Self::$variant),)*
                    other => return Err(postern_text::unknown("verb", other, Self::VERBS.iter().copied())),
                }
                .map_err(|e| format!("arguments of {verb}: {}", postern_text::with_nearest(&e.to_string())))
            }

            /// Sends the request and returns the stream of its events.
            ///
            /// # Errors
            /// The helper's status, or the transport's.
            pub async fn send(
                &self,
                client: &mut HelperClient<Channel>,
                meta: v1::Meta,
            ) -> Result<Streaming<v1::Event>, tonic::Status> {
                let meta = Some(meta);
                let answer = match self.clone() {
                    $(Self::$variant($args { $($field),* }) => {
                        client.$rpc(v1::$wire { meta, $($field: $field.to_wire()),* }).await
                    })*
                };
                Ok(answer?.into_inner())
            }
        }
    };
}

requests! {
    "package.install"     PackageInstall    package_install    PackageInstallRequest    Packages { packages };
    "package.remove"      PackageRemove     package_remove     PackageRemoveRequest     Names { names };
    "package.purge"       PackagePurge      package_purge      PackagePurgeRequest      Names { names };
    "package.autoremove"  PackageAutoremove package_autoremove PackageAutoremoveRequest Nothing {};
    "package.update"      PackageUpdate     package_update     PackageUpdateRequest     Nothing {};
    "package.upgrade"     PackageUpgrade    package_upgrade    PackageUpgradeRequest    All { names, all };
    "package.hold"        PackageHold       package_hold       PackageHoldRequest       Names { names };
    "package.unhold"      PackageUnhold     package_unhold     PackageUnholdRequest     Names { names };
    "package.repair"      PackageRepair     package_repair     PackageRepairRequest     Nothing {};
    "package.show"        PackageShow       package_show       PackageShowRequest       Names { names };
    "unit.status"         UnitStatus        unit_status        UnitStatusRequest        UnitLook { unit, journal_lines, since_unix_s };
    "unit.start"          UnitStart         unit_start         UnitStartRequest         Unit { unit };
    "unit.stop"           UnitStop          unit_stop          UnitStopRequest          Unit { unit };
    "unit.restart"        UnitRestart       unit_restart       UnitRestartRequest       Unit { unit };
    "unit.reload"         UnitReload        unit_reload        UnitReloadRequest        Unit { unit };
    "unit.try-restart"    UnitTryRestart    unit_try_restart   UnitTryRestartRequest    Unit { unit };
    "unit.reset-failed"   UnitResetFailed   unit_reset_failed  UnitResetFailedRequest   Unit { unit };
    "unit.enable"         UnitEnable        unit_enable        UnitEnableRequest        UnitNow { unit, now };
    "unit.disable"        UnitDisable       unit_disable       UnitDisableRequest       UnitNow { unit, now };
    "unit.mask"           UnitMask          unit_mask          UnitMaskRequest          UnitNow { unit, now };
    "unit.unmask"         UnitUnmask        unit_unmask        UnitUnmaskRequest        Unit { unit };
    "unit.daemon-reload"  UnitDaemonReload  unit_daemon_reload UnitDaemonReloadRequest  Nothing {};
    "host.reboot"         HostReboot        host_reboot        HostRebootRequest        Reboot { delay_s, cancel };
    "file.read"           FileRead          file_read          FileReadRequest          ReadRange { path, offset, limit };
    "file.list"           FileList          file_list          FileListRequest          PathOnly { path };
    "file.write"          FileWrite         file_write         FileWriteRequest         Change { change };
    "file.patch"          FilePatch         file_patch         FilePatchRequest         Changes { changes };
    "file.remove"         FileRemove        file_remove        FileRemoveRequest        RemoveFile { path, expect };
    "file.mkdir"          FileMkdir         file_mkdir         FileMkdirRequest         NewDirectory { path, mode, owner, group };
    "file.set-mode"       FileSetMode       file_set_mode      FileSetModeRequest       Permissions { path, mode };
    "file.set-owner"      FileSetOwner      file_set_owner     FileSetOwnerRequest      Ownership { path, owner, group };
    "command.run"         CommandRun        command_run        CommandRunRequest        Command { name, parameters };
    "policy.describe"     PolicyDescribe    policy_describe    PolicyDescribeRequest    Nothing {};
    "request.result"      RequestResult     request_result     RequestResultRequest     Of { of };
    "request.undo"        RequestUndo       request_undo       RequestUndoRequest       Of { of };
    "request.keep"        RequestKeep       request_keep       RequestKeepRequest       Of { of };
}

impl Request {
    /// Whether the verb changes the host or asks to.
    #[must_use]
    pub fn is_effect(&self) -> bool {
        !matches!(
            self,
            Self::PackageShow(_)
                | Self::UnitStatus(_)
                | Self::FileRead(_)
                | Self::FileList(_)
                | Self::PolicyDescribe(_)
                | Self::RequestResult(_)
                | Self::RequestKeep(_)
        )
    }

    /// The unit that it names, to name another.
    pub fn unit_mut(&mut self) -> Option<&mut String> {
        match self {
            Self::UnitStatus(args) => Some(&mut args.unit),
            Self::UnitStart(args)
            | Self::UnitStop(args)
            | Self::UnitRestart(args)
            | Self::UnitReload(args)
            | Self::UnitTryRestart(args)
            | Self::UnitResetFailed(args)
            | Self::UnitUnmask(args) => Some(&mut args.unit),
            Self::UnitEnable(args) | Self::UnitDisable(args) | Self::UnitMask(args) => Some(&mut args.unit),
            _ => None,
        }
    }

    /// The request that this one takes back.
    #[must_use]
    pub fn undoes(&self) -> Option<&str> {
        match self {
            Self::RequestUndo(of) => Some(&of.of),
            _ => None,
        }
    }

    /// The request whose recorded outcome this one asks for.
    #[must_use]
    pub fn recalls(&self) -> Option<&str> {
        match self {
            Self::RequestResult(of) => Some(&of.of),
            _ => None,
        }
    }

    /// Whether asking a second time after an unknown outcome leads where asking once does.
    #[must_use]
    pub fn is_repeatable(&self) -> bool {
        match self {
            Self::FileWrite(Change { change }) => change.expects_anything(),
            other => !matches!(
                other,
                Self::FilePatch(_) | Self::FileRemove(_) | Self::CommandRun(_) | Self::RequestUndo(_)
            ),
        }
    }
}

impl Serialize for Request {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut members = serializer.serialize_struct("Request", 2)?;
        members.serialize_field("verb", self.verb())?;
        members.serialize_field("args", &self.args())?;
        members.end()
    }
}

/// A request as it is written down.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Written {
    verb: String,
    #[serde(default = "nothing")]
    #[schema(value_type = Object)]
    args: Value,
}

fn nothing() -> Value {
    Value::Object(serde_json::Map::new())
}

impl<'de> Deserialize<'de> for Request {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Written { verb, args } = Written::deserialize(deserializer)?;
        Self::from_json(&verb, args).map_err(D::Error::custom)
    }
}

impl PartialSchema for Request {
    fn schema() -> RefOr<Schema> {
        Written::schema()
    }
}

impl ToSchema for Request {
    fn name() -> Cow<'static, str> {
        "OneRequest".into()
    }
}

/// Whether two objects of requests are the same, or one is within the other.
pub(crate) fn overlap(a: &str, b: &str) -> bool {
    let is_within =
        |a: &str, b: &str| a.strip_prefix(b).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    is_within(a, b) || is_within(b, a)
}

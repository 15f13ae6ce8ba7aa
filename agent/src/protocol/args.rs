//! The arguments of requests, with the names and shapes of the wire.

use postern_proto::v1;
use serde::{Deserialize, Serialize};

/// Turns an argument into its place in a message.
pub trait ToWire {
    /// The message's type.
    type Wire;
    /// Converts.
    fn to_wire(self) -> Self::Wire;
}

macro_rules! as_is {
    ($($t:ty)*) => { $(impl ToWire for $t { type Wire = $t; fn to_wire(self) -> $t { self } })* };
}
as_is!(String bool u32 u64 i64);

impl<T: ToWire> ToWire for Vec<T> {
    type Wire = Vec<T::Wire>;
    fn to_wire(self) -> Self::Wire {
        self.into_iter().map(ToWire::to_wire).collect()
    }
}

macro_rules! arguments {
    ($($(#[$doc:meta])* $name:ident { $($(#[$serde:meta])* $field:ident: $type:ty),* })*) => {
        $($(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct $name { $($(#[$serde])* #[doc = concat!("`", stringify!($field), "`")] pub $field: $type),* })*
    };
}

arguments! {
    /// No arguments.
    Nothing {}
    /// Packages to install.
    Packages { packages: Vec<Package> }
    /// Packages by name.
    Names { names: Vec<String> }
    /// Packages by name, or all.
    All { #[serde(default)] names: Vec<String>, #[serde(default)] all: bool }
    /// A unit.
    Unit { unit: String }
    /// A unit, at boot and at once.
    UnitNow { unit: String, #[serde(default)] now: bool }
    /// When to reboot, or that it is not to.
    Reboot { #[serde(default)] delay_s: u32, #[serde(default)] cancel: bool }
    /// A unit and how much of its journal.
    UnitLook { unit: String, #[serde(default)] journal_lines: u32, #[serde(default)] since_unix_s: u64 }
    /// A part of a file.
    ReadRange { path: String, #[serde(default)] offset: i64, #[serde(default)] limit: u32 }
    /// A path.
    PathOnly { path: String }
    /// One file's new state.
    Change { change: OneChange }
    /// Several files' new states.
    Changes { changes: Vec<FileChange> }
    /// A file to remove.
    RemoveFile { path: String, #[serde(default = "any")] expect: String }
    /// A directory to make.
    NewDirectory {
        path: String,
        #[serde(default)] mode: String,
        #[serde(default)] owner: String,
        #[serde(default)] group: String
    }
    /// A file's mode.
    Permissions { path: String, mode: String }
    /// A file's owner and group.
    Ownership { path: String, #[serde(default)] owner: String, #[serde(default)] group: String }
    /// A command that the policy names.
    Command { name: String, #[serde(default)] parameters: Vec<Parameter> }
    /// An earlier request.
    Of { of: String }
    /// A package, with a version or the candidate.
    Package { name: String, #[serde(default, skip_serializing_if = "String::is_empty")] version: String }
    /// A parameter of a command.
    Parameter { name: String, value: String }
    /// New content and attributes of a file.
    FileChange {
        path: String,
        #[serde(default)] kind: ChangeKind,
        #[serde(default, with = "base64_bytes")] content: Vec<u8>,
        #[serde(default = "any")] expect: String,
        #[serde(default)] mode: String,
        #[serde(default)] owner: String,
        #[serde(default)] group: String
    }
}

/// `any`: whatever the file holds now.
pub fn any() -> String {
    "any".to_owned()
}

impl FileChange {
    /// A content for a file whose mode and owner stay, or are the policy's where it is new.
    #[must_use]
    pub fn write(path: String, content: Vec<u8>, expect: String) -> Self {
        let [mode, owner, group] = Default::default();
        Self { path, kind: ChangeKind::Write, content, expect, mode, owner, group }
    }

    /// A file's end.
    #[must_use]
    pub fn remove(path: String, expect: String) -> Self {
        Self { kind: ChangeKind::Remove, ..Self::write(path, Vec::new(), expect) }
    }
}

impl Ownership {
    /// From `USER`, `USER:GROUP` or `:GROUP`.
    #[must_use]
    pub fn of(path: String, owner: &str) -> Self {
        let (owner, group) = owner.split_once(':').unwrap_or((owner, ""));
        Self { path, owner: owner.to_owned(), group: group.to_owned() }
    }
}

/// The one change of a `file.write`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct OneChange(pub FileChange);

impl OneChange {
    /// Whether the write holds whatever the file holds now.
    #[must_use]
    pub fn expects_anything(&self) -> bool {
        self.0.expect == "any"
    }
}

/// Write or remove.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    /// The file holds `content` afterwards.
    #[default]
    Write,
    /// The file is gone afterwards.
    Remove,
}

impl ToWire for FileChange {
    type Wire = v1::FileChange;
    fn to_wire(self) -> v1::FileChange {
        let kind = match self.kind {
            ChangeKind::Write => v1::ChangeKind::Write,
            ChangeKind::Remove => v1::ChangeKind::Remove,
        };
        v1::FileChange {
            path: self.path,
            kind: kind.into(),
            content: self.content,
            expect: self.expect,
            mode: self.mode,
            owner: self.owner,
            group: self.group,
        }
    }
}

impl ToWire for OneChange {
    type Wire = Option<v1::FileChange>;
    fn to_wire(self) -> Self::Wire {
        Some(self.0.to_wire())
    }
}

impl ToWire for Package {
    type Wire = v1::Package;
    fn to_wire(self) -> v1::Package {
        v1::Package { name: self.name, version: self.version }
    }
}

impl ToWire for Parameter {
    type Wire = v1::Parameter;
    fn to_wire(self) -> v1::Parameter {
        v1::Parameter { name: self.name, value: self.value }
    }
}

/// Bytes as base64 text: JSON has no bytes, and a file need not be text.
pub mod base64_bytes {
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    /// Writes base64.
    ///
    /// # Errors
    /// The serializer's.
    pub fn serialize<S: Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&STANDARD.encode(bytes))
    }

    /// Reads base64.
    ///
    /// # Errors
    /// Text that is not base64.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u8>, D::Error> {
        let text = String::deserialize(from)?;
        STANDARD.decode(text).map_err(|e| D::Error::custom(format!("not base64: {e}")))
    }
}

//! Validated arguments: each a newtype with a private field and one constructor.
//!
//! Nothing here does I/O. After validation no wire type is used.

/// Gives a validated text its readers.
macro_rules! readers {
    ($name:ident, $text:tt) => {
        impl $name {
            /// The text.
            pub fn as_str(&self) -> &str {
                &self.$text
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.$text)
            }
        }
    };
}

mod arguments;
mod digest;
mod expect;
mod mode;
mod package;
mod parameter;
mod path;
mod pattern;
mod request_id;
mod unit;
mod user;

pub use arguments::{Arguments, CommandName};
pub use digest::{Digest, hex, unhex};
pub use expect::Expect;
pub use mode::{Attributes, FileKind, FileMode};
pub use package::{PackageName, PackageVersion};
pub use parameter::{ParameterKind, bytes_of, is_hostname};
pub use path::TargetPath;
pub use pattern::Pattern;
pub use request_id::RequestId;
pub use unit::{UNIT_SUFFIXES, UnitName};
pub use user::UserName;

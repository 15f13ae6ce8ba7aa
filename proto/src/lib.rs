//! The messages that Postern's programs speak.
//!
//! The code under `generated/` is committed, so that a build needs no protoc;
//! a test generates it anew from the `.proto` files and compares.

pub mod code;
pub mod frame;
pub mod link;

/// What clients, gateways and operators say to the helper: `postern/v1/*.proto`.
pub mod v1 {
    #![expect(
        missing_docs,
        clippy::pedantic,
        clippy::large_enum_variant,
        reason = "generated; the documentation stands in the .proto files"
    )]
    include!("generated/postern.v1.rs");
}

/// What root's own programs keep and say to each other: `postern/root/v1/*.proto`.
pub mod root {
    /// Version 1.
    pub mod v1 {
        #![expect(
            missing_docs,
            clippy::pedantic,
            reason = "generated; the documentation stands in the .proto files"
        )]
        include!("generated/postern.root.v1.rs");
    }
}

/// What stands for a value that is shown nowhere: in a plan, and in a job's `argv` where its descriptor will stand.
pub const SECRET: &str = "(secret)";

/// The `.proto` source of the service, for tests that compare lists.
pub const HELPER_PROTO: &str = include_str!("../postern/v1/helper.proto");

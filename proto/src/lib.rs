//! The messages between Postern's programs.
//!
//! The code under `generated/` is committed, so that a build needs no protoc;
//! a test generates it again from the `.proto` files and compares.

pub mod code;
pub mod frame;
pub mod link;

/// Messages of clients to the broker and of operators to the recorder: `postern/v1/*.proto`.
pub mod v1 {
    #![expect(
        missing_docs,
        clippy::pedantic,
        clippy::large_enum_variant,
        reason = "generated; the documentation stands in the .proto files"
    )]
    include!("generated/postern.v1.rs");
}

/// Messages inside the helper, and its state files: `postern/root/v1/*.proto`.
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

/// Placeholder for a secret value, in plans and in the `argv` of a job, where the descriptor's path replaces it.
pub const SECRET: &str = "(secret)";

/// The `.proto` source of the service, for tests that compare lists.
pub const HELPER_PROTO: &str = include_str!("../postern/v1/helper.proto");

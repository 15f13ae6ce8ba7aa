//! The committed code is what the `.proto` files say.

use std::path::{Path, PathBuf};

/// The service on helper.sock, which the package installs.
const CLIENTS: &str = "postern/v1/helper.proto";
const FILES: [&str; 7] = [
    CLIENTS,
    "postern/v1/operator.proto",
    "postern/root/v1/policy.proto",
    "postern/root/v1/job.proto",
    "postern/root/v1/order.proto",
    "postern/root/v1/recorder.proto",
    "postern/root/v1/files.proto",
];

const PROTOSET: &str = "postern.protoset";

fn generate(out: &Path) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let set = protox::compile(FILES, [root]).expect("the .proto files compile");
    tonic_prost_build::configure()
        .build_server(false)
        .client_mod_attribute(".", "#[cfg(feature = \"client\")]")
        .disable_comments(["."])
        .out_dir(out)
        .compile_fds(set)
        .expect("code is generated");
}

/// The clients' service, for tools that read a descriptor set (`grpcurl -protoset`).
fn descriptor_set() -> Vec<u8> {
    let mut compiler = protox::Compiler::new([env!("CARGO_MANIFEST_DIR")]).expect("the directory is there");
    // Comments too: `grpcurl describe` prints them.
    compiler.include_source_info(true);
    compiler.open_files([CLIENTS]).expect("the .proto files compile");
    compiler.encode_file_descriptor_set()
}

fn committed() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/generated")
}

#[test]
fn committed_code_is_what_the_proto_files_say() {
    // `POSTERN_GENERATE=1 cargo test -p postern-proto` writes the code instead of comparing it.
    if std::env::var_os("POSTERN_GENERATE").is_some() {
        generate(&committed());
        std::fs::write(committed().join(PROTOSET), descriptor_set()).expect("the descriptor set is written");
        return;
    }
    let fresh = tempfile::tempdir().expect("a directory");
    generate(fresh.path());
    for name in ["postern.v1.rs", "postern.root.v1.rs"] {
        let want = std::fs::read_to_string(fresh.path().join(name)).expect("generated");
        let have = std::fs::read_to_string(committed().join(name)).expect("committed");
        assert!(have == want, "{name} is stale: run POSTERN_GENERATE=1 cargo test -p postern-proto");
    }
    let have = std::fs::read(committed().join(PROTOSET)).expect("committed");
    assert!(
        have == descriptor_set(),
        "{PROTOSET} is stale: run POSTERN_GENERATE=1 cargo test -p postern-proto"
    );
}

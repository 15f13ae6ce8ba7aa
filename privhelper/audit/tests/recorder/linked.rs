//! What the recorder links: `deps.txt`, which a reviewer can read.

#[test]
fn links_exactly_the_crates_of_deps_txt() {
    let arguments =
        ["tree", "--offline", "--locked", "--edges", "normal,no-proc-macro", "--prefix", "none", "--package"];
    let tree = std::process::Command::new(env!("CARGO"))
        .args(arguments)
        .arg("postern-audit")
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    let text = String::from_utf8(tree.stdout).unwrap();
    let mut linked: Vec<&str> = text.lines().filter_map(|line| line.split(' ').next()).collect();
    linked.sort_unstable();
    linked.dedup();
    let listed = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/deps.txt")).unwrap();
    assert_eq!(linked, listed.lines().collect::<Vec<_>>(), "what it links differs from deps.txt");
    for bad in ["tokio", "tonic", "hyper", "http", "toml", "regex", "clap", "serde", "futures-core", "caps"] {
        assert!(!linked.contains(&bad), "it links {bad}");
    }
}

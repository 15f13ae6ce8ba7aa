//! Each program of the helper links the crates that its list names, and no others.

use std::fs;
use std::path::{Path, PathBuf};

use crate::workspace::{Package, cargo, packages, root, workspace};

/// Crates that only the gateway (HTTP/2), the probe (D-Bus) and the operators' commands may link.
const FOREIGN: [&str; 12] = [
    "async-trait",
    "clap",
    "futures-core",
    "h2",
    "http",
    "hyper",
    "regex",
    "serde",
    "tokio",
    "toml",
    "tonic",
    "tracing-subscriber",
];

/// Programs that may link [`FOREIGN`] crates.
const MAY_LINK_FOREIGN: [&str; 3] = ["postern-admin", "postern-gateway", "postern-probe"];

fn list_of(package: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/structure/linked/{package}.txt"))
}

/// Each crate that a package links, sorted, with the shortest chain of crates through which it comes.
fn linked(package: &str) -> Vec<(String, Vec<String>)> {
    let edges = "--edges=normal,no-proc-macro";
    let tree = cargo(&["tree", "--package", package, edges, "--prefix=depth", "--no-dedupe"]);
    let mut found: Vec<(String, Vec<String>)> = Vec::new();
    let mut chain: Vec<String> = Vec::new();
    for line in tree.lines() {
        let digits = line.bytes().take_while(u8::is_ascii_digit).count();
        let (depth, rest) = line.split_at(digits);
        let name = rest.split(' ').next().expect("a name").to_owned();
        chain.truncate(depth.parse().expect("a depth"));
        chain.push(name.clone());
        match found.iter_mut().find(|(other, _)| *other == name) {
            None => found.push((name, chain.clone())),
            Some((_, through)) if through.len() > chain.len() => through.clone_from(&chain),
            Some(_) => {}
        }
    }
    found.sort();
    found
}

/// How what is linked differs from a list, one line each.
fn differences(package: &str, linked: &[(String, Vec<String>)], list: &str) -> Vec<String> {
    let new =
        linked.iter().filter(|(name, _)| !list.lines().any(|line| line == name)).map(|(name, chain)| {
            format!("{package} links {name}, which its list lacks; it comes through {}", chain.join(" -> "))
        });
    let gone = list
        .lines()
        .filter(|line| !linked.iter().any(|(name, _)| name == line))
        .map(|line| format!("{package} does not link {line:?}: remove it from the list"));
    new.chain(gone).collect()
}

#[test]
fn every_program_links_the_crates_of_its_list() {
    let mut wrong = Vec::new();
    for Package { name, .. } in packages() {
        let list = list_of(&name);
        let text = fs::read_to_string(&list).unwrap_or_default();
        let found = differences(&name, &linked(&name), &text);
        if !found.is_empty() {
            wrong.extend(found);
            wrong.push(format!("the list is {}", list.strip_prefix(root()).expect("in the tree").display()));
        }
    }
    assert!(
        wrong.is_empty(),
        "{}\nA new crate is added to the list by the commit that says why.",
        wrong.join("\n")
    );
}

#[test]
fn no_list_is_of_a_package_that_is_gone() {
    let known = packages();
    for entry in fs::read_dir(list_of("x").parent().expect("a directory")).expect("the lists") {
        let file = entry.expect("an entry").file_name();
        let name = file.to_str().and_then(|name| name.strip_suffix(".txt")).expect("a list");
        assert!(known.iter().any(|package| package.name == name), "there is no package {name}");
    }
}

#[test]
fn programs_behind_the_gateway_link_no_async_http_toml_or_regex() {
    for Package { name, .. } in packages() {
        if MAY_LINK_FOREIGN.contains(&name.as_str()) {
            continue;
        }
        for (linked, chain) in linked(&name) {
            assert!(!FOREIGN.contains(&linked.as_str()), "{name} links {linked}: {}", chain.join(" -> "));
        }
    }
}

#[test]
fn every_crate_of_ours_that_a_program_links_is_counted_by_trust() {
    let trust = fs::read_to_string(root().join("privhelper/TRUST")).expect("privhelper/TRUST");
    let rows = trust.lines().filter(|line| !line.starts_with('#'));
    let counted: Vec<PathBuf> =
        rows.flat_map(|row| row.split_whitespace().skip(2)).map(|path| root().join(path)).collect();
    let ours = workspace();
    for Package { name, .. } in packages().iter().filter(|package| package.name != "postern-admin") {
        for (linked, _) in linked(name) {
            if let Some(package) = ours.iter().find(|package| package.name == linked) {
                let source = package.directory.join("src");
                let is_counted = counted.iter().any(|path| source.starts_with(path));
                assert!(is_counted, "{name} links {linked}: add a class for it to privhelper/TRUST");
            }
        }
    }
}

/// Programs share libraries; nobody's code is in another's process.
#[test]
fn no_program_of_the_helper_links_another_programs_crate() {
    let programs: Vec<String> =
        workspace().into_iter().filter(|package| package.is_program).map(|package| package.name).collect();
    for name in ["postern-broker", "postern-audit", "postern-files", "postern-agent"] {
        assert!(programs.iter().any(|program| program == name), "the control: {name} is a program");
    }
    for Package { name, .. } in packages() {
        for (other, chain) in linked(&name) {
            assert!(
                other == name || !programs.contains(&other),
                "{name} links {other}: {}",
                chain.join(" -> ")
            );
        }
    }
}

#[test]
fn names_new_and_gone_crates_and_what_brings_them() {
    let chain = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let linked = [("a".to_owned(), chain(&["a"])), ("c".to_owned(), chain(&["a", "b", "c"]))];
    assert!(differences("a", &linked, "a\nc\n").is_empty());
    let found = differences("a", &linked, "a\nd\n");
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[0].contains("links c") && found[0].ends_with("a -> b -> c"), "{found:?}");
    assert!(found[1].contains("\"d\""), "{found:?}");
}

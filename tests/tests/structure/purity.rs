//! The policy library decides without files, network, processes, clock or threads: what it needs is passed in.

use std::fs;

use crate::source::Source;
use crate::workspace::packages;

/// Modules of `std` that the library must not name.
const CLOSED: [&str; 7] = ["env", "fs", "net", "os", "process", "thread", "time"];

/// A length of time, as limits of rules have it: a number with a unit, which asks no clock.
const DURATION: [&str; 3] = ["std", "time", "Duration"];

/// Each name of a closed part of `std`, with the module that has it. `core` and `alloc` have values alone: addresses in
/// `core::net`, no clock in `core::time`.
fn impure(source: &Source) -> Vec<String> {
    let is_closed = |path: &[String]| match path {
        // All of it by another name, or by none.
        [first] => first == "std",
        [first, second, ..] if first == "std" => CLOSED.contains(&second.as_str()) || second == "*",
        _ => false,
    };
    let is_duration = |path: &[String]| path.iter().zip(DURATION).all(|(a, b)| a == b) && path.len() >= 3;
    let named = source.foreign().into_iter().filter(|(_, path)| is_closed(path) && !is_duration(path));
    named.map(|(module, path)| format!("{module} names {}", path.join("::"))).collect()
}

#[test]
fn policy_names_no_file_network_process_clock_or_thread() {
    for name in ["postern-policy", "postern-affected"] {
        let library = packages().into_iter().find(|package| package.name == name);
        let found = impure(&Source::read(&library.expect("the library").directory));
        assert!(found.is_empty(), "{name}: {}", found.join("\n"));
    }
}

/// Checks a library of this one file.
fn impure_in(text: &str) -> Vec<String> {
    let package = tempfile::tempdir().expect("a directory");
    fs::create_dir(package.path().join("src")).expect("a directory");
    fs::write(package.path().join("src/lib.rs"), text).expect("a file");
    impure(&Source::read(package.path()))
}

#[test]
fn finds_every_way_to_name_a_closed_part_of_std() {
    for text in [
        "use std::fs;",
        "use std::{fmt, fs::File};",
        "use std::{self as s};",
        "use std as s; fn f() { s::fs::read(\"\"); }",
        "use std::*;",
        "use ::std::net::TcpStream;",
        "use std::net::IpAddr;",
        "use std::time::{Duration, SystemTime};",
        "use std::time::{self, Duration};",
        "use std::time::*;",
        "fn f() { std::thread::spawn(g); }",
        "fn f() { vec![std::process::id()]; }",
        "fn f() { ::std::env::var(\"HOME\"); }",
        "mod inner { use std::os::fd::AsFd; }",
        "use std::time::Duration; fn f() { std::time::Instant::now(); }",
        "extern crate std as s;",
    ] {
        assert!(!impure_in(text).is_empty(), "{text}");
    }
}

#[test]
fn finds_nothing_in_values_and_words() {
    for text in [
        "use std::time::Duration; fn f(d: Duration) -> std::time::Duration { Duration::from_secs(1) }",
        "use core::net::IpAddr; fn f(d: core::time::Duration) {}",
        "use std::{collections::BTreeMap, fmt::{self, Display}};",
        "//! Not `std::fs`.\n// std::fs\nconst A: &str = \"std::fs::read\";",
        "mod time { pub struct Instant; } use time::Instant; fn f() -> crate::time::Instant { Instant }",
    ] {
        assert!(impure_in(text).is_empty(), "{text}: {:?}", impure_in(text));
    }
}

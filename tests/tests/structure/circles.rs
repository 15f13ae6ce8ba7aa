//! No crate has an import circle between its modules.

use crate::source::Source;
use crate::workspace::{root, workspace};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// The modules that import themselves by way of others, each with its imports that are part of a circle.
fn circles(source: &Source) -> Vec<(String, Vec<String>)> {
    let uses = source.uses();
    let next = |module: usize| uses.get(&module).into_iter().flatten().copied();
    let reached = |from: usize| {
        let mut seen = BTreeSet::new();
        let mut open: Vec<usize> = next(from).collect();
        while let Some(module) = open.pop() {
            if seen.insert(module) {
                open.extend(next(module));
            }
        }
        seen
    };
    let all: Vec<BTreeSet<usize>> = (0..source.modules.len()).map(reached).collect();
    let name = |module: usize| source.modules[module].name.clone();
    (0..source.modules.len())
        .filter(|module| all[*module].contains(module))
        .map(|module| {
            let back = next(module).filter(|other| all[*other].contains(&module));
            (name(module), back.map(name).collect())
        })
        .collect()
}

#[test]
fn no_crate_has_an_import_circle() {
    let mut wrong = Vec::new();
    let of_the_product = |directory: &Path| {
        ["agent", "privhelper", "proto"].iter().any(|part| directory.starts_with(root().join(part)))
    };
    for package in workspace().iter().filter(|package| of_the_product(&package.directory)) {
        let found = circles(&Source::read(&package.directory));
        wrong.extend(
            found.iter().map(|(from, to)| format!("{from} imports {} ({})", to.join(", "), package.name)),
        );
    }
    assert!(wrong.is_empty(), "these modules import each other in a circle:\n{}", wrong.join("\n"));
}

/// The circles of a crate with these files.
fn circles_of(files: &[(&str, &str)]) -> Vec<String> {
    let package = tempfile::tempdir().expect("a directory");
    for (path, text) in files {
        let path = package.path().join("src").join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        fs::write(path, text).expect("a file");
    }
    circles(&Source::read(package.path())).into_iter().map(|(module, _)| module).collect()
}

#[test]
fn finds_circles_however_an_import_is_written() {
    let lib = ("lib.rs", "mod a; mod b;");
    let b = ("b.rs", "use crate::a::A; pub struct B;");
    for a in [
        "use crate::b::B; pub struct A;",
        "use super::b::B; pub struct A;",
        "use crate::{b::{B as C}}; pub struct A;",
        "use crate::b; pub struct A(b::B);",
        "use crate::b as c; fn f() { c::g(); }",
        "use crate::b::*; pub struct A;",
        "use {super::b::{self, B}, std::fmt};",
        "pub struct A { b: Vec<crate::b::B> }",
        "fn f() { assert!(matches!(x, super::b::B { .. })); }",
        "fn f() { use crate::b::g; g() }",
        "mod inner { fn f() -> super::super::b::B { B } }",
        "impl crate::b::Trait for A {}",
    ] {
        assert_eq!(circles_of(&[lib, ("a.rs", a), b]), ["crate::a", "crate::b"], "{a}");
    }
    let three =
        [("lib.rs", "mod a; mod b; mod c;"), ("a.rs", "use crate::b::B;"), ("b/mod.rs", "use crate::c::C;")];
    let three = [three.as_slice(), &[("c.rs", "use super::a::A;")]].concat();
    assert_eq!(circles_of(&three), ["crate::a", "crate::b", "crate::c"]);
}

#[test]
fn finds_a_circle_between_a_module_and_its_child() {
    let lib = ("lib.rs", "pub mod a;");
    let child = ("a/child.rs", "use super::Item; pub fn act() {}");
    let parent = "mod child; pub struct Item; fn f() { child::act() }";
    assert_eq!(circles_of(&[lib, ("a/mod.rs", parent), child]), ["crate::a", "crate::a::child"]);
    assert_eq!(circles_of(&[lib, ("a.rs", parent), child]), ["crate::a", "crate::a::child"]);
}

#[test]
fn finds_no_circle_where_imports_have_one_direction() {
    let lib = ("lib.rs", "pub mod a; pub mod b;");
    for (a, b) in [
        ("use crate::b::B;", "pub struct B;"),
        (
            "use crate::b::B;",
            "//! See [`crate::a::A`].\n// use crate::a::A;\nconst A: &str = \"crate::a::A\";",
        ),
        ("use crate::b::B;", "use std::a::A; pub(in crate::a) struct B; impl B { fn a() { Self::a() } }"),
        // A module that passes on what its children have takes no part.
        ("mod c; mod d; pub use c::C; pub use d::D;", "use crate::a::{C, D};"),
        ("use crate::b::a::A;", "pub mod a { pub struct A; }"),
    ] {
        let files = [lib, ("a.rs", a), ("b.rs", b), ("a/c.rs", "use super::D;"), ("a/d.rs", "pub struct D;")];
        assert!(circles_of(&files).is_empty(), "{a} {b}: {:?}", circles_of(&files));
    }
}

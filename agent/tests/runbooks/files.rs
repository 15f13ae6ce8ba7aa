//! Whose files count: what root alone can write.

use crate::RESTART;
use crate::common::Place;
use postern_agent::runbooks::{FILE_LIMIT, Loaded, Origin, load};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

pub fn write(directory: &Path, name: &str, title: &str, rest: &str) {
    std::fs::create_dir_all(directory).unwrap();
    let path = directory.join(format!("{name}.yaml"));
    std::fs::write(&path, format!("name: {name}\ntitle: {title}\n{rest}")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
    std::fs::set_permissions(directory, std::fs::Permissions::from_mode(0o755)).unwrap();
}

fn why(loaded: &[Loaded], name: &str) -> String {
    let found = loaded.iter().find(|one| one.name == name).unwrap_or_else(|| panic!("{name}: {loaded:?}"));
    found.runbook.as_ref().expect_err(name).why.clone()
}

#[test]
fn a_file_of_the_site_replaces_the_packages_also_where_it_is_faulty() {
    let place = Place::new();
    let (package, site) = (place.host.runbooks.clone(), place.host.site_runbooks());
    assert!(load(&place.host).is_empty());
    for name in ["one", "two", "three"] {
        write(&package, name, "of the package", RESTART);
    }
    write(&site, "two", "of the site", RESTART);
    write(&site, "three", "of the site", "steps: 5\n");
    let all = load(&place.host);
    let origins: Vec<_> =
        all.iter().map(|one| (one.name.as_str(), one.origin, one.runbook.is_ok())).collect();
    let expected =
        [("one", Origin::Package, true), ("three", Origin::Site, false), ("two", Origin::Site, true)];
    assert_eq!(origins, expected);
}

#[test]
fn files_that_others_could_have_written_are_refused() {
    let place = Place::new();
    let site = place.host.site_runbooks();
    for name in ["shared", "open", "good"] {
        write(&site, name, "A try", RESTART);
    }
    std::fs::set_permissions(site.join("shared.yaml"), std::fs::Permissions::from_mode(0o664)).unwrap();
    std::fs::set_permissions(site.join("open.yaml"), std::fs::Permissions::from_mode(0o646)).unwrap();
    symlink(site.join("good.yaml"), site.join("linked.yaml")).unwrap();
    nix::unistd::mkfifo(&site.join("pipe.yaml"), nix::sys::stat::Mode::from_bits_truncate(0o644)).unwrap();
    std::fs::write(site.join("large.yaml"), "#".repeat(usize::try_from(FILE_LIMIT).unwrap() + 1)).unwrap();
    std::fs::create_dir(site.join("directory.yaml")).unwrap();
    let all = load(&place.host);
    assert!(why(&all, "shared").contains("others than its owner can write it"));
    assert!(why(&all, "open").contains("others than its owner can write it"));
    assert!(why(&all, "linked").contains("symbolic link"));
    assert!(why(&all, "pipe").contains("no regular file"));
    assert!(why(&all, "large").contains("larger than 64 KiB"));
    assert!(why(&all, "directory").contains("no regular file"));
    assert!(all.iter().any(|one| one.name == "good" && one.runbook.is_ok()));
    let mut host = place.host.clone();
    host.runbook_owner += 1;
    let all = load(&host);
    assert!(all.len() == 1 && why(&all, "runbooks.d").contains("does not belong to root"), "{all:?}");
    std::fs::set_permissions(&site, std::fs::Permissions::from_mode(0o777)).unwrap();
    assert!(why(&load(&place.host), "runbooks.d").contains("others than its owner can write it"));
}

#[test]
fn a_file_of_another_name_is_named_and_not_in_use() {
    let place = Place::new();
    let site = place.host.site_runbooks();
    write(&site, "good", "A try", RESTART);
    let copy = |name: &std::ffi::OsStr| std::fs::copy(site.join("good.yaml"), site.join(name)).unwrap();
    for name in ["good.yml", "good.yaml~", ".good.yaml", "good.yaml.dpkg-old", "a\u{1b}[2J.yaml", "README"] {
        copy(name.as_ref());
    }
    copy(std::os::unix::ffi::OsStrExt::from_bytes(b"\xff.yaml"));
    let all = load(&place.host);
    let faulty: Vec<_> = all.iter().filter(|one| one.runbook.is_err()).map(|one| one.name.clone()).collect();
    assert_eq!(all.len(), 4, "{faulty:?}");
    assert!(why(&all, "good.yml").contains("its name is not NAME.yaml"));
    assert!(faulty.iter().all(|name| !name.contains('\u{1b}')), "{faulty:?}");
}

#[test]
fn too_many_files_and_a_linked_directory_are_refused() {
    let place = Place::new();
    let site = place.host.site_runbooks();
    for number in 0..201 {
        write(&site, &format!("r{number}"), "A try", RESTART);
    }
    assert!(why(&load(&place.host), "runbooks.d").contains("more than 200 files"));
    std::fs::rename(&site, place.path("elsewhere")).unwrap();
    symlink(place.path("elsewhere"), &site).unwrap();
    assert!(why(&load(&place.host), "runbooks.d").contains("cannot be read"));
}

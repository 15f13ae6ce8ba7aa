//! file.write, patch, remove, mkdir, set-mode and set-owner: what each does, and what is refused.

use crate::support::{
    Answer, CLIENT, UndoCopy, World, all_verbs, away, mkdir, names, patch, read, remove, rule, set_mode,
    set_owner, strings, to, write, write_expecting,
};
use postern_proto::root::v1 as root;
use postern_proto::v1::{self as wire, FileType, Status};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

fn world() -> World {
    World::new(|at| vec![all_verbs(at)])
}

fn content(world: &World, name: &str) -> Option<String> {
    fs::read_to_string(world.path(&format!("site/{name}"))).ok()
}

fn three(world: &World) -> Vec<wire::FileChange> {
    vec![
        to(&world.text("site/a"), b"new a"),
        to(&world.text("site/b"), b"new b"),
        away(&world.text("site/c")),
    ]
}

#[test]
fn writes_a_new_file_with_the_default_mode_and_leaves_nothing_else() {
    let world = world();
    let path = world.text("site/index.html");
    let answer = world.ask(&write_expecting(&path, b"hello\n", "absent"));
    let outcome = answer.outcome.as_ref().unwrap();
    assert_eq!((answer.status(), outcome.rule.as_str(), outcome.uid), (Status::Done, "site", CLIENT));
    assert_eq!((outcome.verb.as_str(), &outcome.objects), ("file.write", &vec![path.clone()]));
    assert_eq!(fs::read(&path).unwrap(), b"hello\n");
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o644);
    assert_eq!(
        (names(&world.path("site")), names(&world.path("state/undo"))),
        (strings(&["index.html"]), vec![])
    );
}

#[test]
fn keeps_owner_and_mode_of_a_replaced_file_and_its_content_for_undo() {
    let world = world();
    let path = world.text("site/a");
    fs::write(&path, "old").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    let answer = world.ask(&write(&path, b"new"));
    assert_eq!((answer.status(), answer.done().undoable), (Status::Done, true));
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o600);
    let kept = names(&world.path("state/undo"));
    let copy = fs::read(world.path("state/undo").join(&kept[0])).unwrap();
    let has_content = copy.windows(3).any(|part| part == b"old");
    assert!(kept.len() == 1 && has_content, "the old content is not kept");
}

#[test]
fn writes_nothing_where_nothing_changes() {
    let world = world();
    let path = world.text("site/a");
    world.ask(&write(&path, b"same"));
    let inode = fs::metadata(&path).unwrap().ino();
    let answer = world.ask(&write(&path, b"same"));
    assert_eq!(
        (answer.status(), answer.outcome.as_ref().unwrap().inverse.is_none()),
        (Status::Unchanged, true)
    );
    assert_eq!(fs::metadata(&path).unwrap().ino(), inode);
    assert_eq!(world.outcomes(&world.order(CLIENT, &write(&path, b"same")).0.order_id).0, "unknown");
}

#[test]
fn a_write_happens_only_if_the_file_is_the_expected_one() {
    let world = world();
    let path = world.text("site/a");
    let wrong = "0".repeat(64);
    assert_eq!(world.ask(&write_expecting(&path, b"x", &wrong)).code(), "precondition_failed");
    assert_eq!(world.ask(&write_expecting(&path, b"x", "absent")).status(), Status::Done);
    assert_eq!(world.ask(&write_expecting(&path, b"y", "absent")).code(), "already_exists");
    let refused = world.ask(&write_expecting(&path, b"y", &wrong));
    let sha256 = world.ask(&read(&path)).done().files[0].sha256.clone();
    assert_eq!(refused.code(), "precondition_failed");
    assert_eq!(world.ask(&write_expecting(&path, b"y", &sha256)).status(), Status::Done);
}

#[test]
fn a_patch_changes_all_named_files() {
    let world = world();
    fs::write(world.path("site/b"), "old b").unwrap();
    fs::write(world.path("site/c"), "old c").unwrap();
    let answer = world.ask(&patch(three(&world)));
    assert_eq!((answer.status(), answer.done().undoable, answer.done().files.len()), (Status::Done, true, 3));
    assert_eq!(answer.done().files[2].r#type(), FileType::Unspecified, "nothing is there any more");
    assert_eq!(answer.outcome.as_ref().unwrap().objects.len(), 3);
    assert_eq!(
        (content(&world, "a").unwrap(), content(&world, "b").unwrap()),
        ("new a".into(), "new b".into())
    );
    assert_eq!(names(&world.path("site")), ["a", "b"], "nothing temporary is left");
    assert_eq!(world.ask(&patch(three(&world)[..2].to_vec())).status(), Status::Unchanged);
}

#[test]
fn a_patch_of_which_one_file_is_refused_changes_none() {
    let world = world();
    fs::write(world.path("site/b"), "old b").unwrap();
    let refused = |changes, code: &str| {
        assert_eq!(world.ask(&patch(changes)).code(), code);
        assert_eq!(
            (names(&world.path("site")), content(&world, "b").unwrap()),
            (strings(&["b"]), "old b".into())
        );
    };
    refused(three(&world), "not_found");
    let mut wrong = three(&world)[..2].to_vec();
    wrong[1].expect = "absent".to_owned();
    refused(wrong, "already_exists");
    let mut outside = three(&world)[..2].to_vec();
    outside.push(to("/srv/elsewhere", b"x"));
    refused(outside, "no_grant");
    refused(vec![to(&world.text("site/a"), b"1"), to(&world.text("site/a"), b"2")], "invalid_argument");
    refused(Vec::new(), "invalid_argument");
    refused((0..65).map(|n| to(&world.text(&format!("site/{n}")), b"x")).collect(), "invalid_argument");
    let mut filled = away(&world.text("site/b"));
    filled.mode = "0644".to_owned();
    refused(vec![filled], "invalid_argument");
    assert!(names(&world.path("state/outcomes")).is_empty() && names(&world.path("state/undo")).is_empty());
}

#[test]
fn a_patch_removes_only_what_file_remove_grants() {
    let world = World::new(|at| vec![root::Rule { verbs: strings(&["file.patch"]), ..all_verbs(at) }]);
    fs::write(world.path("site/c"), "old c").unwrap();
    assert_eq!(world.ask(&patch(vec![away(&world.text("site/c"))])).code(), "no_grant");
    assert_eq!(world.ask(&patch(vec![to(&world.text("site/c"), b"x")])).status(), Status::Done);
}

#[test]
fn the_limits_of_the_rule_hold_for_each_file_of_a_patch() {
    let world = World::new(|at| {
        vec![root::Rule {
            max_files: 2,
            max_bytes: 20,
            allow_create: false,
            modes: strings(&["0644"]),
            lines: strings(&["vm.* = *"]),
            ..all_verbs(at)
        }]
    });
    for name in ["a", "b", "c"] {
        fs::write(world.path(&format!("site/{name}")), "").unwrap();
    }
    let of = |name: &str, content: &str| to(&world.text(&format!("site/{name}")), content.as_bytes());
    let says = |changes| {
        let answer = world.ask(&patch(changes));
        answer.close.map_or_else(|| "done".to_owned(), |close| close.message)
    };
    let fine = || of("a", "vm.swap = 1\n");
    assert!(says(vec![fine(), of("b", "vm.a = 1\n"), of("c", "vm.a = 1\n")]).contains("`max_files`"));
    assert!(says(vec![fine(), of("b", "vm.a = 1234567890123\n")]).contains("`max_bytes`"));
    assert!(says(vec![fine(), of("b", "kernel.x = 1\n")]).contains("`lines`"));
    assert!(says(vec![fine(), of("new", "vm.a = 1\n")]).contains("`allow_create`"));
    let executable = wire::FileChange { mode: "0755".to_owned(), ..of("b", "vm.a = 1\n") };
    assert!(says(vec![fine(), executable]).contains("modes"));
    let foreign = wire::FileChange { owner: "postern".to_owned(), ..of("b", "vm.a = 1\n") };
    assert!(says(vec![fine(), foreign]).contains("owners"));
    assert_eq!(content(&world, "a").unwrap(), "", "a limit that one file breaks refuses all");
    assert_eq!(says(vec![fine(), of("b", "vm.a = 1\n")]), "done");
}

#[test]
fn removes_a_file_if_it_is_the_expected_one() {
    let world = world();
    fs::write(world.path("site/a"), "old").unwrap();
    let path = world.text("site/a");
    let wrong = wire::FileRemoveRequest { expect: "0".repeat(64), ..remove(&path) };
    assert_eq!(world.ask(&wrong).code(), "precondition_failed");
    let absent = wire::FileRemoveRequest { expect: "absent".to_owned(), ..remove(&path) };
    assert_eq!(world.ask(&absent).code(), "invalid_argument");
    assert_eq!(world.ask(&remove(&path)).status(), Status::Done);
    assert!(names(&world.path("site")).is_empty());
    assert_eq!(world.ask(&remove(&path)).code(), "not_found");
    fs::create_dir(world.path("site/d")).unwrap();
    assert_eq!(world.ask(&remove(&world.text("site/d"))).code(), "special_file");
    assert!(world.path("site/d").is_dir());
}

#[test]
fn makes_a_directory_with_its_mode_and_only_where_nothing_is() {
    let world = world();
    let path = world.text("site/sub");
    assert_eq!(world.ask(&mkdir(&path)).done().files[0].r#type(), FileType::Directory);
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o755);
    assert_eq!(world.ask(&mkdir(&path)).code(), "already_exists");
    let wide = wire::FileMkdirRequest { mode: "0777".to_owned(), ..mkdir(&world.text("site/wide")) };
    assert_eq!(world.ask(&wide).code(), "limit_exceeded");
    assert_eq!(world.ask(&mkdir(&world.text("site/x/y"))).code(), "directory_missing", "one level");
    assert_eq!(world.ask(&mkdir(&world.text("site/sub/y"))).status(), Status::Done);
    assert_eq!(names(&world.path("site")), ["sub"]);
}

#[test]
fn sets_a_mode_and_keeps_inode_and_content() {
    let world = world();
    fs::write(world.path("site/a"), "content").unwrap();
    let path = world.text("site/a");
    let inode = fs::metadata(&path).unwrap().ino();
    let set = |mode: &str| world.ask(&set_mode(&path, mode));
    assert_eq!(set("0600").status(), Status::Done);
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o600);
    assert_eq!(set("0600").status(), Status::Unchanged);
    assert_eq!(set("0666").code(), "limit_exceeded");
    assert_eq!(set("4755").code(), "invalid_argument");
    assert_eq!(set("").code(), "invalid_argument");
    assert_eq!(
        (fs::metadata(&path).unwrap().ino(), content(&world, "a").unwrap()),
        (inode, "content".into())
    );
    fs::create_dir(world.path("site/d")).unwrap();
    let directory = world.ask(&set_mode(&world.text("site/d"), "0700"));
    assert_eq!(directory.done().files[0].r#type(), FileType::Directory);
    assert_eq!(world.ask(&set_mode(&world.text("site/none"), "0644")).code(), "not_found");
}

#[test]
fn refuses_setuid_and_setgid_files_and_setgid_directories() {
    let world = world();
    fs::create_dir(world.path("site/d")).unwrap();
    for (name, mode) in [("suid", 0o4755), ("sgid", 0o2755), ("sticky", 0o1644)] {
        fs::write(world.path(&format!("site/{name}")), "x").unwrap();
        fs::set_permissions(world.path(&format!("site/{name}")), fs::Permissions::from_mode(mode)).unwrap();
        let path = world.text(&format!("site/{name}"));
        assert_eq!(world.ask(&set_mode(&path, "0644")).code(), "special_file", "{name}");
        assert_eq!(world.ask(&write(&path, b"x")).code(), "special_file", "{name}");
    }
    fs::set_permissions(world.path("site/d"), fs::Permissions::from_mode(0o2755)).unwrap();
    assert_eq!(world.ask(&set_mode(&world.text("site/d"), "0755")).code(), "special_file");
}

#[test]
fn sets_an_owner_only_if_the_rule_lists_it_and_it_exists() {
    let world = World::new(|at| {
        let owners = strings(&["root", "postern", "ghost"]);
        vec![root::Rule { owners, groups: strings(&["root", "helpers"]), ..all_verbs(at) }]
    });
    fs::write(world.path("site/a"), "content").unwrap();
    let path = world.text("site/a");
    let set = |owner: &str, group: &str| world.ask(&set_owner(&path, owner, group));
    assert_eq!(set("root", "").status(), Status::Unchanged);
    assert_eq!(set("", "").code(), "invalid_argument");
    assert_eq!(set("0", "").code(), "invalid_argument");
    assert_eq!(set("daemon", "").code(), "limit_exceeded");
    assert_eq!(set("ghost", "").code(), "invalid_argument", "it does not exist on this host");
}

#[test]
fn refuses_links_and_special_files() {
    let world = world();
    let (outside, site) = (world.path("outside"), world.path("site"));
    fs::write(&outside, "secret").unwrap();
    symlink(&outside, site.join("link")).unwrap();
    fs::hard_link(&outside, site.join("hard")).unwrap();
    fs::create_dir(site.join("dir")).unwrap();
    nix::unistd::mkfifo(&site.join("fifo"), nix::sys::stat::Mode::S_IRUSR).unwrap();
    for name in ["link", "hard", "dir", "fifo"] {
        let path = world.text(&format!("site/{name}"));
        assert_eq!(world.ask(&write(&path, b"evil")).code(), "special_file", "{name}");
        assert_eq!(world.ask(&read(&path)).code(), "special_file", "{name}");
    }
    assert_eq!(fs::read(&outside).unwrap(), b"secret");
}

#[test]
fn reports_a_symlink_inside_a_granted_directory() {
    let world = world();
    fs::create_dir(world.path("site/real")).unwrap();
    symlink("/etc/hosts", world.path("site/file")).unwrap();
    symlink("real", world.path("site/dir")).unwrap();
    for (name, code, to) in [("file", "special_file", "/etc/hosts"), ("dir/x", "unsafe_path", "real")] {
        let path = world.text(&format!("site/{name}"));
        let link = name.split('/').next().unwrap();
        for answer in
            [world.ask(&write(&path, b"x")), world.ask(&remove(&path)), world.ask(&set_mode(&path, "0644"))]
        {
            assert_eq!(answer.code(), code);
            let message = &answer.refused().message;
            assert!(message.contains(&format!("{link:?} is a link to {to:?}")), "{message}");
        }
    }
    assert!(names(&world.path("site/real")).is_empty());
}

#[test]
fn rejects_symlink_in_parent_directory_and_directories_that_others_can_write() {
    let mut world = World::new(|at| {
        let of = |id: &str, dir: &str| root::Rule {
            directories: vec![at.join(dir).to_str().unwrap().to_owned()],
            files: strings(&["*"]),
            depth: 3,
            ..rule(id, &["file.write"])
        };
        vec![
            of("a", "swapped"),
            of("b", "open"),
            of("c", "missing"),
            of("d", "site"),
            of("e", "swapped/deep"),
        ]
    });
    symlink(world.path("site"), world.path("swapped")).unwrap();
    fs::create_dir(world.path("open")).unwrap();
    fs::set_permissions(world.path("open"), fs::Permissions::from_mode(0o777)).unwrap();
    fs::create_dir(world.path("site/shared")).unwrap();
    fs::set_permissions(world.path("site/shared"), fs::Permissions::from_mode(0o775)).unwrap();
    fs::create_dir(world.path("site/deep")).unwrap();
    symlink("/etc", world.path("site/sub")).unwrap();
    // They are not the directories that the program was confined to: the next process decides.
    let answer = world.ask(&write(&world.text("open/a"), b"x"));
    assert_eq!(answer.refused().reason(), root::CloseReason::NotStarted);
    world.restart();
    for (path, code) in [
        ("swapped/a", "unsafe_path"),
        ("swapped/deep/a", "unsafe_path"),
        ("open/a", "unsafe_path"),
        ("missing/a", "directory_missing"),
        ("site/sub/hosts", "unsafe_path"),
        ("site/shared/a", "unsafe_path"),
        ("site/none/a", "directory_missing"),
    ] {
        let answer = world.ask(&write(&world.text(path), b"x"));
        assert_eq!((answer.code(), answer.refused().reason()), (code, root::CloseReason::Refused), "{path}");
    }
}

#[test]
fn refuses_a_file_system_that_is_not_known_to_be_local() {
    let proc = postern_policy::types::TargetPath::new("/proc/sys/kernel").unwrap();
    let error = postern_files::path::open_granted(&proc, 0).unwrap_err();
    let refused = error.close().unwrap();
    assert_eq!(refused.code, "unsafe_path");
    assert!(refused.message.contains("file system"), "{}", refused.message);
}

#[test]
fn refuses_paths_outside_the_grant_with_the_same_bytes() {
    let world = World::new(|at| vec![root::Rule { files: strings(&["*.html"]), depth: 1, ..all_verbs(at) }]);
    fs::create_dir(world.path("aside")).unwrap();
    fs::write(world.path("aside/there"), "secret").unwrap();
    fs::write(world.path("aside/shut"), "secret").unwrap();
    fs::set_permissions(world.path("aside/shut"), fs::Permissions::from_mode(0o0)).unwrap();
    fs::create_dir(world.path("aside/folder")).unwrap();
    symlink("there", world.path("aside/alias")).unwrap();
    let says = |name: &str| {
        let path = world.text(&format!("aside/{name}"));
        let said = |answer: &Answer| format!("{:?}", answer.refused()).replace(name, "NAME");
        [
            said(&world.ask(&read(&path))),
            said(&world.ask(&crate::support::list(&path))),
            said(&world.ask(&write(&path, b"x"))),
            said(&world.ask(&patch(vec![to(&path, b"x"), away(&world.text("site/a.html"))]))),
            said(&world.ask(&remove(&path))),
            said(&world.ask(&mkdir(&path))),
            said(&world.ask(&set_mode(&path, "0644"))),
            said(&world.ask(&set_owner(&path, "root", ""))),
        ]
    };
    let missing = says("none");
    assert!(missing.iter().all(|text| text.contains("no_grant")), "{missing:?}");
    for name in ["there", "shut", "folder", "alias"] {
        assert_eq!(says(name), missing, "{name}");
    }
    for name in ["x.htm", ".hidden.html", "sub/a.html"] {
        assert_eq!(
            world.ask(&write(&world.text(&format!("site/{name}")), b"x")).code(),
            "no_grant",
            "{name}"
        );
    }
    for path in ["/etc/passwd", "/etc/shadow", "/etc/postern/policy.toml", "/var/log/postern/audit.jsonl"] {
        let answer = world.ask(&write(path, b"x"));
        assert!(["no_grant", "protected"].contains(&answer.code()), "{path}");
    }
}

#[test]
fn tells_a_client_nothing_of_content_that_it_may_not_read() {
    let world = World::new(|at| {
        let verbs = strings(&["file.write", "file.patch", "file.remove", "file.set-mode", "request.undo"]);
        vec![root::Rule { verbs, ..all_verbs(at) }]
    });
    for name in ["a", "b"] {
        fs::write(world.path(&format!("site/{name}")), "a secret").unwrap();
    }
    let digest = postern_policy::types::Digest::of(&[b"a secret"]).to_string();
    let (a, b) = (world.text("site/a"), world.text("site/b"));
    let set = world.ask(&set_mode(&a, "0600"));
    let patched = world.ask(&patch(vec![to(&a, b"new"), away(&b)]));
    let undone = world.undo(patched.inverse());
    let refused = world.ask(&write_expecting(&a, b"x", &"0".repeat(64)));
    assert_eq!((undone.status(), refused.code()), (Status::Done, "precondition_failed"));
    for completed in [set.done(), patched.done(), undone.done()] {
        let told = format!("{completed:?}");
        assert!(!told.contains(&digest) && !told.contains("secret"), "{told}");
    }
    assert!(!refused.refused().message.contains(&digest));
    assert_eq!(undone.done().files.iter().map(|file| file.size).max(), Some(0));
}

#[test]
fn a_file_too_large_to_keep_is_removed_only_without_an_undo_copy() {
    let kept = |undo_copy: UndoCopy| {
        let world = World::new(|at| {
            let mut rule = all_verbs(at);
            rule.no_undo_copy = undo_copy == UndoCopy::Discard;
            vec![rule]
        });
        let path = world.text("site/log");
        fs::File::create(&path).unwrap().set_len(16 * 1024 * 1024 + 1).unwrap();
        let answer = world.ask(&remove(&path));
        (world, answer)
    };
    let (world, answer) = kept(UndoCopy::Keep);
    assert_eq!(answer.code(), "too_large");
    assert!(answer.refused().message.contains("keep_for_undo"), "{}", answer.refused().message);
    assert_eq!(names(&world.path("site")), ["log"]);
    assert!(names(&world.path("state/outcomes")).is_empty() && names(&world.path("state/undo")).is_empty());
    let (world, answer) = kept(UndoCopy::Discard);
    assert_eq!((answer.status(), answer.done().undoable), (Status::Done, false));
    assert!(names(&world.path("site")).is_empty() && names(&world.path("state/undo")).is_empty());
}

/// Tests that need root: mounts and other owners.
mod as_root {
    use super::*;

    #[test]
    #[ignore = "needs root: nobody else can give a file away"]
    fn sets_owner_and_group_that_the_rule_lists() {
        let world = World::new(|at| {
            let owners = strings(&["root", "postern"]);
            vec![root::Rule { owners, groups: strings(&["root", "helpers"]), ..all_verbs(at) }]
        });
        fs::write(world.path("site/a"), "content").unwrap();
        let path = world.text("site/a");
        assert_eq!(world.ask(&set_owner(&path, "postern", "helpers")).status(), Status::Done);
        let facts = fs::metadata(&path).unwrap();
        assert_eq!((facts.uid(), facts.gid(), facts.mode() & 0o7777), (CLIENT, 4_000_100, 0o644));
        assert_eq!(world.ask(&set_owner(&path, "daemon", "")).code(), "limit_exceeded");
    }

    #[test]
    #[ignore = "needs root: nobody else can mount"]
    fn refuses_another_file_system_below_a_granted_directory() {
        let world = world();
        fs::create_dir(world.path("site/mounted")).unwrap();
        fs::write(world.path("other"), "x").unwrap();
        fs::write(world.path("site/file"), "x").unwrap();
        let script = format!(
            "mount --bind {0}/state {0}/site/mounted && mount --bind {0}/other {0}/site/file && echo ready && read line",
            world.text("")
        );
        let mut mounted = std::process::Command::new("unshare")
            .args(["--mount", "sh", "-c", &script])
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let out = mounted.stdout.as_mut().unwrap();
        std::io::BufRead::read_line(&mut std::io::BufReader::new(out), &mut line).unwrap();
        assert_eq!(line, "ready\n");
        // Through that namespace a bind mount of the very same file system is seen.
        let base = format!("/proc/{}/root{}", mounted.id(), world.text("site"));
        let directory =
            nix::fcntl::open(base.as_str(), nix::fcntl::OFlag::O_DIRECTORY, nix::sys::stat::Mode::empty())
                .unwrap();
        let mount = postern_files::path::facts(&directory).unwrap().mount;
        let directory = postern_files::path::Directory { fd: directory, mount };
        let code = |error: postern_root::Error| error.close().unwrap().code;
        let own = world.host.root_uid;
        assert_eq!(
            directory.open_below("mounted", own).map(drop).map_err(code),
            Err("unsafe_path".to_owned())
        );
        let kinds = &[postern_policy::types::FileKind::File];
        let file = postern_files::target::open_target(&directory, "file", kinds);
        assert_eq!(file.map(drop).map_err(code), Err("special_file".to_owned()));
        drop(mounted.stdin.take());
        mounted.wait().unwrap();
    }
}

//! `file.patch`, `remove`, `mkdir`, `set-mode`, `set-owner` and `list`: each does all or nothing.

use postern_corridor::{
    CLIENT_UID, World, change_away, change_to, changing, meta, mkdir, names, patch, remove, set_mode,
    strings, write_request,
};
use postern_proto::root::v1 as root;
use postern_proto::v1::{self as wire, FileType, Mode, Status};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

fn world() -> World {
    World::new(|at| vec![changing(at)])
}

fn read(world: &World, name: &str) -> Option<String> {
    fs::read_to_string(world.path(&format!("site/{name}"))).ok()
}

fn list(path: &str) -> wire::FileListRequest {
    wire::FileListRequest { meta: meta(Mode::Execute), path: path.to_owned() }
}

fn three(world: &World) -> Vec<wire::FileChange> {
    vec![
        change_to(&world.text("site/a"), b"new a"),
        change_to(&world.text("site/b"), b"new b"),
        change_away(&world.text("site/c")),
    ]
}

#[test]
fn a_patch_writes_and_removes_all_that_it_names() {
    let world = world();
    fs::write(world.path("site/b"), "old b").unwrap();
    fs::write(world.path("site/c"), "old c").unwrap();
    let answer = world.connect(CLIENT_UID).ask("Helper/FilePatch", &patch(three(&world)));
    let done = answer.completed();
    assert_eq!((done.status(), done.undoable, done.files.len()), (Status::Done, true, 3));
    assert_eq!(done.files[2].r#type(), FileType::Unspecified, "nothing stands there any more");
    let plan = done.plan.as_ref().unwrap();
    assert_eq!((plan.files[1].old_size, plan.files[2].kind()), (5, wire::ChangeKind::Remove));
    assert_eq!((read(&world, "a").unwrap(), read(&world, "b").unwrap()), ("new a".into(), "new b".into()));
    assert_eq!(names(&world.path("site")), ["a", "b"], "nothing temporary is left");
    let again = world.connect(CLIENT_UID).ask("Helper/FilePatch", &patch(three(&world)[..2].to_vec()));
    assert_eq!((again.completed().status(), again.completed().undoable), (Status::Unchanged, false));
}

#[test]
fn a_patch_with_one_refused_file_changes_none() {
    let world = world();
    fs::write(world.path("site/b"), "old b").unwrap();
    let mut channel = world.connect(CLIENT_UID);
    let mut refused = |changes, code: &str| {
        let answer = channel.ask("Helper/FilePatch", &patch(changes));
        assert_eq!(answer.refused().code, code);
        assert_eq!(
            (names(&world.path("site")), read(&world, "b").unwrap()),
            (strings(&["b"]), "old b".into())
        );
    };
    refused(three(&world), "not_found");
    let mut wrong = three(&world)[..2].to_vec();
    wrong[1].expect = "absent".to_owned();
    refused(wrong, "already_exists");
    let mut outside = three(&world)[..2].to_vec();
    outside.push(change_to("/srv/elsewhere", b"x"));
    refused(outside, "no_grant");
    let twice = vec![change_to(&world.text("site/a"), b"1"), change_to(&world.text("site/a"), b"2")];
    refused(twice, "invalid_argument");
    refused(Vec::new(), "invalid_argument");
    refused(
        (0..65).map(|n| change_to(&world.text(&format!("site/{n}")), b"x")).collect(),
        "invalid_argument",
    );
    let mut filled = change_away(&world.text("site/b"));
    filled.mode = "0644".to_owned();
    refused(vec![filled], "invalid_argument");
    assert_eq!(world.count("begin"), 0);
}

#[test]
fn a_patch_removes_only_what_file_remove_grants() {
    let world = World::new(|at| {
        let verbs = strings(&["file.patch"]);
        vec![root::Rule { verbs, ..changing(at) }]
    });
    fs::write(world.path("site/c"), "old c").unwrap();
    let mut channel = world.connect(CLIENT_UID);
    let answer = channel.ask("Helper/FilePatch", &patch(vec![change_away(&world.text("site/c"))]));
    assert_eq!(answer.refused().missing, format!("file.remove {}", world.text("site/c")));
    let answer = channel.ask("Helper/FilePatch", &patch(vec![change_to(&world.text("site/c"), b"x")]));
    assert_eq!(answer.completed().status(), Status::Done);
}

#[test]
fn the_limits_of_the_rule_hold_for_each_file_of_a_patch() {
    let world = World::new(|at| {
        let limits = root::Rule {
            max_files: 2,
            max_bytes: 20,
            allow_create: false,
            modes: strings(&["0644"]),
            lines: strings(&["vm.* = *"]),
            ..changing(at)
        };
        vec![limits]
    });
    for name in ["a", "b", "c"] {
        fs::write(world.path(&format!("site/{name}")), "").unwrap();
    }
    let mut channel = world.connect(CLIENT_UID);
    let of = |name: &str, content: &str| change_to(&world.text(&format!("site/{name}")), content.as_bytes());
    let mut tell = |changes| {
        let answer = channel.ask("Helper/FilePatch", &patch(changes));
        if let Some(wire::event::Kind::Refused(refused)) = &answer.events.last().unwrap().kind {
            return refused.message.clone();
        }
        assert_eq!(answer.completed().status(), Status::Done);
        "done".to_owned()
    };
    let fine = || of("a", "vm.swap = 1\n");
    assert!(tell(vec![fine(), of("b", "vm.a = 1\n"), of("c", "vm.a = 1\n")]).contains("`max_files`"));
    assert!(tell(vec![fine(), of("b", "vm.a = 1234567890123\n")]).contains("`max_bytes`"));
    assert!(tell(vec![fine(), of("b", "kernel.x = 1\n")]).contains("`lines`"));
    assert!(tell(vec![fine(), of("new", "vm.a = 1\n")]).contains("`allow_create`"));
    let executable = wire::FileChange { mode: "0755".to_owned(), ..of("b", "vm.a = 1\n") };
    assert!(tell(vec![fine(), executable]).contains("modes"));
    let foreign = wire::FileChange { owner: "postern".to_owned(), ..of("b", "vm.a = 1\n") };
    assert!(tell(vec![fine(), foreign]).contains("owners"));
    assert_eq!(read(&world, "a").unwrap(), "", "a limit that one file breaks refuses all");
    assert_eq!(tell(vec![fine(), of("b", "vm.a = 1\n")]), "done");
}

#[test]
fn decides_each_file_by_the_rule_that_selects_it() {
    let world = World::new(|at| {
        let of = |id: &str, files: &str, mode: &str| root::Rule {
            id: id.to_owned(),
            files: strings(&[files]),
            modes: strings(&[mode]),
            ..changing(at)
        };
        vec![of("pages", "*.html", "0644"), of("keys", "*.key", "0600")]
    });
    let new = |name: &str, mode: &str| wire::FileChange {
        mode: mode.to_owned(),
        ..change_to(&world.text(&format!("site/{name}")), b"x")
    };
    let mut channel = world.connect(CLIENT_UID);
    let wrong = patch(vec![new("a.html", "0600"), new("b.key", "0600")]);
    assert_eq!(channel.ask("Helper/FilePatch", &wrong).refused().code, "limit_exceeded");
    let right = patch(vec![new("a.html", "0644"), new("b.key", "0600")]);
    assert_eq!(channel.ask("Helper/FilePatch", &right).completed().status(), Status::Done);
    // A new file's default mode is checked against the limit of its own rule.
    let kept = patch(vec![new("c.html", ""), new("d.key", "")]);
    assert!(channel.ask("Helper/FilePatch", &kept).refused().message.contains("rule keys"));
}

#[test]
fn removes_a_file_only_if_it_is_the_expected_one() {
    let world = world();
    fs::write(world.path("site/a"), "old").unwrap();
    let path = world.text("site/a");
    let mut channel = world.connect(CLIENT_UID);
    let wrong = wire::FileRemoveRequest { expect: "0".repeat(64), ..remove(&path) };
    assert_eq!(channel.ask("Helper/FileRemove", &wrong).refused().code, "precondition_failed");
    let absent = wire::FileRemoveRequest { expect: "absent".to_owned(), ..remove(&path) };
    assert_eq!(channel.ask("Helper/FileRemove", &absent).refused().code, "invalid_argument");
    assert_eq!(channel.ask("Helper/FileRemove", &remove(&path)).completed().status(), Status::Done);
    assert_eq!(names(&world.path("site")), strings(&[]));
    assert_eq!(channel.ask("Helper/FileRemove", &remove(&path)).refused().code, "not_found");
    fs::create_dir(world.path("site/d")).unwrap();
    let directory = channel.ask("Helper/FileRemove", &remove(&world.text("site/d")));
    assert_eq!((directory.refused().code.as_str(), world.path("site/d").is_dir()), ("special_file", true));
}

#[test]
fn makes_a_directory_with_its_mode_and_only_where_nothing_is() {
    let world = world();
    let mut channel = world.connect(CLIENT_UID);
    let path = world.text("site/sub");
    let answer = channel.ask("Helper/FileMkdir", &mkdir(&path));
    assert_eq!(answer.completed().files[0].r#type(), FileType::Directory);
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o755);
    assert_eq!(channel.ask("Helper/FileMkdir", &mkdir(&path)).refused().code, "already_exists");
    let wide = wire::FileMkdirRequest { mode: "0777".to_owned(), ..mkdir(&world.text("site/wide")) };
    assert_eq!(channel.ask("Helper/FileMkdir", &wide).refused().code, "limit_exceeded");
    let deep = channel.ask("Helper/FileMkdir", &mkdir(&world.text("site/x/y")));
    assert_eq!(deep.refused().code, "directory_missing", "one level");
    assert_eq!(
        channel.ask("Helper/FileMkdir", &mkdir(&world.text("site/sub/y"))).completed().status(),
        Status::Done
    );
    assert_eq!(names(&world.path("site")), ["sub"]);
}

#[test]
fn sets_a_mode_and_keeps_inode_and_content() {
    let world = world();
    fs::write(world.path("site/a"), "content").unwrap();
    let path = world.text("site/a");
    let inode = fs::metadata(&path).unwrap().ino();
    let mut channel = world.connect(CLIENT_UID);
    let mut set = |mode: &str| channel.ask("Helper/FileSetMode", &set_mode(&path, mode));
    assert_eq!(set("0600").completed().status(), Status::Done);
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o600);
    assert_eq!(set("0600").completed().status(), Status::Unchanged);
    assert_eq!(set("0666").refused().code, "limit_exceeded");
    assert_eq!(set("4755").refused().code, "invalid_argument");
    assert_eq!(set("").refused().code, "invalid_argument");
    assert_eq!((fs::metadata(&path).unwrap().ino(), read(&world, "a").unwrap()), (inode, "content".into()));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o4755)).unwrap();
    assert_eq!(set("0644").refused().code, "special_file", "a setuid file is no file of an agent's");
    fs::create_dir(world.path("site/d")).unwrap();
    let directory = channel.ask("Helper/FileSetMode", &set_mode(&world.text("site/d"), "0755"));
    assert_eq!(directory.completed().files[0].r#type(), FileType::Directory);
    let missing = channel.ask("Helper/FileSetMode", &set_mode(&world.text("site/none"), "0644"));
    assert_eq!(missing.refused().code, "not_found");
}

#[test]
fn sets_an_owner_only_if_the_rule_lists_it_and_it_exists() {
    let world = World::new(|at| {
        let owners = strings(&["root", "postern", "ghost"]);
        vec![root::Rule { owners, groups: strings(&["root", "helpers"]), ..changing(at) }]
    });
    fs::write(world.path("site/a"), "content").unwrap();
    let path = world.text("site/a");
    let mut channel = world.connect(CLIENT_UID);
    let mut set = |owner: &str, group: &str| {
        let (owner, group) = (owner.to_owned(), group.to_owned());
        let request =
            wire::FileSetOwnerRequest { meta: meta(Mode::Execute), path: path.clone(), owner, group };
        channel.ask("Helper/FileSetOwner", &request)
    };
    assert_eq!(set("root", "").completed().status(), Status::Unchanged);
    assert_eq!(set("", "").refused().code, "invalid_argument");
    assert_eq!(set("0", "").refused().code, "invalid_argument");
    assert_eq!(set("daemon", "").refused().code, "limit_exceeded");
    assert_eq!(set("ghost", "").refused().code, "invalid_argument", "it does not exist on this host");
}

/// Tests that need root: other owners.
mod as_root {
    use super::*;

    #[test]
    #[ignore = "needs root: nobody else can give a file away"]
    fn sets_owner_and_group_that_the_rule_lists() {
        let world = World::new(|at| {
            let owners = strings(&["root", "postern"]);
            vec![root::Rule { owners, groups: strings(&["root", "helpers"]), ..changing(at) }]
        });
        fs::write(world.path("site/a"), "content").unwrap();
        let path = world.text("site/a");
        let (owner, group) = ("postern".to_owned(), "helpers".to_owned());
        let given = wire::FileSetOwnerRequest { meta: meta(Mode::Execute), path: path.clone(), owner, group };
        let given = world.ask("Helper/FileSetOwner", &given);
        assert_eq!(given.completed().status(), Status::Done);
        let facts = fs::metadata(&path).unwrap();
        assert_eq!((facts.uid(), facts.gid(), facts.mode() & 0o7777), (CLIENT_UID, 4_000_100, 0o644));
    }
}

#[test]
fn a_list_is_sorted_and_opens_and_follows_nothing() {
    let world = world();
    let site = world.path("site");
    fs::write(site.join("b"), "12345").unwrap();
    fs::set_permissions(site.join("b"), fs::Permissions::from_mode(0o640)).unwrap();
    fs::create_dir(site.join("a")).unwrap();
    symlink("/etc/shadow", site.join("c")).unwrap();
    nix::unistd::mkfifo(&site.join("d"), nix::sys::stat::Mode::S_IRUSR).unwrap();
    let mut channel = world.connect(CLIENT_UID);
    let answer = channel.ask("Helper/FileList", &list(&world.text("site")));
    let told = answer.completed().files.iter().map(|file| {
        (file.path.rsplit_once('/').unwrap().1.to_owned(), file.r#type(), file.size, file.sha256.clone())
    });
    let of = |name: &str, kind, size| (name.to_owned(), kind, size, String::new());
    assert_eq!(
        told.collect::<Vec<_>>(),
        [
            of("a", FileType::Directory, 0),
            of("b", FileType::File, 5),
            of("c", FileType::Symlink, 0),
            of("d", FileType::Other, 0)
        ]
    );
    assert_eq!((answer.completed().files[1].mode.as_str(), world.count("begin")), ("0640", 0));
    assert_eq!(channel.ask("Helper/FileList", &list(&world.text("site/a"))).completed().files.len(), 0);
    for (path, code) in
        [("site/c", "unsafe_path"), ("site/none", "directory_missing"), ("outside", "no_grant")]
    {
        assert_eq!(channel.ask("Helper/FileList", &list(&world.text(path))).refused().code, code, "{path}");
    }
}

#[test]
fn a_long_list_is_cut_and_says_so() {
    let world = world();
    for number in 0..1200 {
        fs::write(world.path(&format!("site/{number:04}")), "").unwrap();
    }
    let answer = world.connect(CLIENT_UID).ask("Helper/FileList", &list(&world.text("site")));
    let done = answer.completed();
    assert_eq!((done.status(), done.code.as_str()), (Status::Partly, "too_large"));
    let told = done.files.len();
    assert!((500..=1000).contains(&told), "{told}");
    assert_eq!(done.message, format!("these are the first {told} of 1200 names"));
    assert!(
        done.files[0].path.ends_with("/0000")
            && done.files[told - 1].path.ends_with(&format!("{:04}", told - 1))
    );
}

#[test]
fn no_change_tells_content_that_the_client_may_not_read() {
    let world = World::new(|at| {
        let verbs = strings(&["file.patch", "file.remove", "file.set-mode"]);
        vec![root::Rule { verbs, ..changing(at) }]
    });
    for name in ["a", "b"] {
        fs::write(world.path(&format!("site/{name}")), "a secret").unwrap();
    }
    let digest = postern_policy::types::Digest::of(&[b"a secret"]).to_string();
    let (a, b) = (world.text("site/a"), world.text("site/b"));
    let mut channel = world.connect(CLIENT_UID);
    let wrong = wire::FileRemoveRequest { expect: "0".repeat(64), ..remove(&a) };
    let answers = [
        channel.ask("Helper/FileSetMode", &set_mode(&a, "0600")),
        channel.ask("Helper/FilePatch", &patch(vec![change_to(&a, b"new"), change_away(&b)])),
        channel.ask("Helper/FileRemove", &wrong),
    ];
    for answer in &answers {
        let told = format!("{:?}", answer.events);
        assert!(!told.contains(&digest) && !told.contains("secret"), "{told}");
    }
    let step = &answers[1].completed().plan.as_ref().unwrap().files[0];
    assert_eq!((step.old_size, answers[0].completed().files[0].size), (0, 0));
}

#[test]
fn a_refusal_names_a_link_inside_a_granted_directory() {
    let world = world();
    fs::create_dir(world.path("site/real")).unwrap();
    symlink("/etc/hosts", world.path("site/file")).unwrap();
    symlink("real", world.path("site/dir")).unwrap();
    let mut channel = world.connect(CLIENT_UID);
    for (name, code, to) in [("file", "special_file", "/etc/hosts"), ("dir/x", "unsafe_path", "real")] {
        let path = world.text(&format!("site/{name}"));
        let link = name.split('/').next().unwrap();
        for answer in [
            channel.ask("Helper/FileWrite", &write_request(&path, b"x", "any")),
            channel.ask("Helper/FileRemove", &remove(&path)),
            channel.ask("Helper/FileSetMode", &set_mode(&path, "0644")),
        ] {
            let refused = answer.refused();
            assert_eq!(refused.code, code);
            assert!(
                refused.message.contains(&format!("{link:?} is a link to {to:?}")),
                "{}",
                refused.message
            );
        }
    }
    assert_eq!(names(&world.path("site/real")), strings(&[]));
}

#[test]
fn outside_the_grant_existing_and_missing_files_are_answered_alike() {
    let world = world();
    fs::create_dir(world.path("aside")).unwrap();
    fs::write(world.path("aside/there"), "secret").unwrap();
    fs::write(world.path("aside/shut"), "secret").unwrap();
    fs::set_permissions(world.path("aside/shut"), fs::Permissions::from_mode(0o0)).unwrap();
    fs::create_dir(world.path("aside/folder")).unwrap();
    symlink("there", world.path("aside/alias")).unwrap();
    let mut channel = world.connect(CLIENT_UID);
    let mut told = |name: &str| {
        let path = world.text(&format!("aside/{name}"));
        let read =
            wire::FileReadRequest { meta: meta(Mode::Execute), path: path.clone(), offset: 0, limit: 0 };
        let owner = wire::FileSetOwnerRequest {
            meta: meta(Mode::Execute),
            path: path.clone(),
            owner: "root".to_owned(),
            group: String::new(),
        };
        let answers = [
            channel.ask("Helper/FileRead", &read),
            channel.ask("Helper/FileList", &list(&path)),
            channel.ask("Helper/FileWrite", &write_request(&path, b"x", "any")),
            channel.ask(
                "Helper/FilePatch",
                &patch(vec![change_to(&path, b"x"), change_away(&world.text("site/a"))]),
            ),
            channel.ask("Helper/FileRemove", &remove(&path)),
            channel.ask("Helper/FileMkdir", &mkdir(&path)),
            channel.ask("Helper/FileSetMode", &set_mode(&path, "0644")),
            channel.ask("Helper/FileSetOwner", &owner),
        ];
        answers.map(|answer| format!("{:?}", answer.refused()).replace(name, "NAME"))
    };
    let missing = told("none");
    assert!(missing.iter().all(|text| text.contains("no_grant")), "{missing:?}");
    for name in ["there", "shut", "folder", "alias"] {
        assert_eq!(told(name), missing, "{name}");
    }
    assert_eq!(world.count("begin"), 0);
}

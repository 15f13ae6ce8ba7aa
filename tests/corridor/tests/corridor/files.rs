//! `file.write` and `file.read`: promises and refusals.

use postern_corridor::{
    CLIENT_UID, World, id_at, meta, meta_with, names, new_id, rule, site_rules, strings, write_request,
};
use postern_proto::v1::{self as wire, Mode, Status};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

fn read_request(path: &str) -> wire::FileReadRequest {
    wire::FileReadRequest { meta: meta(Mode::Execute), path: path.to_owned(), offset: 0, limit: 0 }
}

#[test]
fn writes_a_new_file_with_mode_and_record() {
    let world = World::new(site_rules);
    let mut channel = world.connect(CLIENT_UID);
    let path = world.text("site/index.html");
    let answer = channel.ask("Helper/FileWrite", &write_request(&path, b"hello\n", "absent"));
    let completed = answer.completed();
    assert_eq!((completed.status(), answer.code, completed.rule.as_str()), (Status::Done, 0, "site"));
    assert_eq!(std::fs::read(&path).unwrap(), b"hello\n");
    assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o7777, 0o644);
    assert_eq!((world.count("begin"), world.count("end")), (1, 1));
    assert!(!world.log().join("\n").contains("hello"), "content stands in the log");
    assert_eq!(std::fs::read_dir(world.path("site")).unwrap().count(), 1, "a temporary file is left");
}

#[test]
fn keeps_owner_and_mode_and_a_copy_of_the_old_content() {
    let world = World::new(site_rules);
    let path = world.text("site/index.html");
    std::fs::write(&path, "old").unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    let request = write_request(&path, b"new", "any");
    let answer = world.connect(CLIENT_UID).ask("Helper/FileWrite", &request);
    assert_eq!(answer.completed().status(), Status::Done);
    assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o7777, 0o600);
    let copies = names(&world.path("files/undo")).into_iter();
    let mut copies =
        copies.map(|name| std::fs::read(world.path("files/undo").join(name)).unwrap_or_default());
    assert!(copies.any(|copy| copy.windows(3).any(|part| part == b"old")), "the old content is not kept");
}

#[test]
fn unchanged_content_writes_nothing() {
    let world = World::new(site_rules);
    let path = world.text("site/index.html");
    let mut channel = world.connect(CLIENT_UID);
    channel.ask("Helper/FileWrite", &write_request(&path, b"same", "any"));
    let inode = std::fs::metadata(&path).unwrap().ino();
    let answer = channel.ask("Helper/FileWrite", &write_request(&path, b"same", "any"));
    assert_eq!(answer.completed().status(), Status::Unchanged);
    assert_eq!(std::fs::metadata(&path).unwrap().ino(), inode);
}

#[test]
fn writes_only_if_the_file_is_the_expected_one() {
    let world = World::new(site_rules);
    let path = world.text("site/a.html");
    let mut channel = world.connect(CLIENT_UID);
    let wrong = "0".repeat(64);
    let code = |answer: &postern_corridor::Answer| answer.refused().code.clone();
    assert_eq!(
        code(&channel.ask("Helper/FileWrite", &write_request(&path, b"x", &wrong))),
        "precondition_failed"
    );
    channel.ask("Helper/FileWrite", &write_request(&path, b"x", "absent"));
    assert_eq!(
        code(&channel.ask("Helper/FileWrite", &write_request(&path, b"y", "absent"))),
        "already_exists"
    );
    let refused = channel.ask("Helper/FileWrite", &write_request(&path, b"y", &wrong));
    assert_eq!(code(&refused), "precondition_failed");
    let read = channel.ask("Helper/FileRead", &read_request(&path));
    let sha256 = read.completed().files[0].sha256.clone();
    assert!(refused.refused().message.contains(&sha256), "a reader learns the digest");
    let answer = channel.ask("Helper/FileWrite", &write_request(&path, b"y", &sha256));
    assert_eq!(answer.completed().status(), Status::Done);
}

#[test]
fn refuses_paths_outside_the_grant_with_the_same_bytes() {
    let world = World::new(site_rules);
    std::fs::write(world.path("there.html"), "secret").unwrap();
    let mut channel = world.connect(CLIENT_UID);
    let mut texts = Vec::new();
    for name in ["there.html", "none1.html"] {
        let answer = channel.ask("Helper/FileWrite", &write_request(&world.text(name), b"x", "any"));
        let refused = answer.refused();
        assert_eq!(refused.code, "no_grant");
        texts.push(format!("{refused:?}").replace("there", "").replace("none1", ""));
    }
    assert_eq!(texts[0], texts[1]);
    for path in ["/etc/passwd", "/etc/shadow", "/etc/postern/policy.toml", "/var/log/postern/audit.jsonl"] {
        let answer = channel.ask("Helper/FileWrite", &write_request(path, b"x", "any"));
        assert!(["no_grant", "protected"].contains(&answer.refused().code.as_str()), "{path}");
    }
    assert_eq!(world.count("begin"), 0);
}

#[test]
fn refuses_paths_that_are_not_plain() {
    let world = World::new(site_rules);
    let site = world.text("site");
    let mut channel = world.connect(CLIENT_UID);
    let long = format!("{site}/{}.html", "a".repeat(300));
    let bad = [
        "index.html",
        "./index.html",
        "",
        "/",
        &format!("{site}/../there.html"),
        &format!("{site}//a.html"),
        &format!("{site}/./a.html"),
        &format!("{site}/a.html/"),
        &format!("{site}/a\n.html"),
        &format!("{site}/\u{1b}.html"),
        &long,
    ];
    for path in bad {
        let answer = channel.ask("Helper/FileWrite", &write_request(path, b"x", "any"));
        assert_eq!(answer.refused().code, "invalid_argument", "{path:?}");
    }
    for name in ["x.htm", ".hidden.html", "sub/a.html"] {
        let answer = channel.ask("Helper/FileWrite", &write_request(&format!("{site}/{name}"), b"x", "any"));
        assert_eq!(answer.refused().code, "no_grant", "{name}");
    }
    assert_eq!(std::fs::read_dir(&site).unwrap().count(), 0);
}

#[test]
fn refuses_links_and_special_files() {
    let world = World::new(site_rules);
    let (outside, site) = (world.path("outside"), world.path("site"));
    std::fs::write(&outside, "secret").unwrap();
    symlink(&outside, site.join("link.html")).unwrap();
    std::fs::hard_link(&outside, site.join("hard.html")).unwrap();
    std::fs::create_dir(site.join("dir.html")).unwrap();
    nix::unistd::mkfifo(&site.join("fifo.html"), nix::sys::stat::Mode::S_IRUSR).unwrap();
    std::fs::write(site.join("suid.html"), "x").unwrap();
    std::fs::set_permissions(site.join("suid.html"), std::fs::Permissions::from_mode(0o4755)).unwrap();
    let mut channel = world.connect(CLIENT_UID);
    for name in ["link.html", "hard.html", "dir.html", "fifo.html", "suid.html"] {
        let path = world.text(&format!("site/{name}"));
        for answer in [
            channel.ask("Helper/FileWrite", &write_request(&path, b"evil", "any")),
            channel.ask("Helper/FileRead", &read_request(&path)),
        ] {
            assert_eq!(answer.refused().code, "special_file", "{name}");
        }
    }
    assert_eq!(std::fs::read(&outside).unwrap(), b"secret");
}

#[test]
fn refuses_symlinked_parent_and_directories_of_others() {
    let world = World::new(|at| {
        let of = |id: &str, dir: &str| postern_proto::root::v1::Rule {
            directories: vec![at.join(dir).to_str().unwrap().to_owned()],
            files: strings(&["*"]),
            depth: 3,
            ..rule(id, &["file.write"])
        };
        vec![of("a", "swapped"), of("b", "open"), of("c", "missing"), of("d", "site")]
    });
    symlink(world.path("site"), world.path("swapped")).unwrap();
    std::fs::create_dir(world.path("open")).unwrap();
    std::fs::set_permissions(world.path("open"), std::fs::Permissions::from_mode(0o777)).unwrap();
    symlink("/etc", world.path("site/sub")).unwrap();
    let mut channel = world.connect(CLIENT_UID);
    for (path, code) in [
        ("swapped/a", "unsafe_path"),
        ("open/a", "unsafe_path"),
        ("missing/a", "directory_missing"),
        ("site/sub/hosts", "unsafe_path"),
        ("site/none/a", "directory_missing"),
    ] {
        let answer = channel.ask("Helper/FileWrite", &write_request(&world.text(path), b"x", "any"));
        assert_eq!(answer.refused().code, code, "{path}");
    }
}

#[test]
fn writes_nothing_outside_while_a_directory_is_swapped_for_a_link() {
    let world = World::new(|at| {
        let mut rules = site_rules(at);
        rules[0].depth = 2;
        rules
    });
    let (inside, outside) = (world.path("site/sub"), world.path("outside"));
    std::fs::create_dir(&inside).unwrap();
    std::fs::create_dir(&outside).unwrap();
    symlink(&outside, world.path("site/evil")).unwrap();
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let flags = nix::fcntl::RenameFlags::RENAME_EXCHANGE;
            let cwd = nix::fcntl::AT_FDCWD;
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                nix::fcntl::renameat2(cwd, &inside, cwd, &world.path("site/evil"), flags).unwrap();
            }
        });
        let mut channel = world.connect(CLIENT_UID);
        let mut written = 0;
        for round in 0..100 {
            let request = write_request(&world.text("site/sub/a.html"), format!("{round}").as_bytes(), "any");
            let answer = channel.ask("Helper/FileWrite", &request);
            assert_eq!(answer.code, 0);
            written += usize::from(matches!(
                answer.events.last().unwrap().kind,
                Some(wire::event::Kind::Completed(_))
            ));
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        assert!(written > 0, "no write ever found the directory");
    });
    assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 0);
}

#[test]
fn refuses_what_exceeds_the_limits_of_the_rule() {
    let world = World::new(|at| {
        let mut rules = site_rules(at);
        rules[0].max_bytes = 4;
        rules[0].allow_create = false;
        rules
    });
    let path = world.text("site/a.html");
    let mut channel = world.connect(CLIENT_UID);
    let code = |answer: &postern_corridor::Answer| answer.refused().code.clone();
    assert_eq!(
        code(&channel.ask("Helper/FileWrite", &write_request(&path, b"12345", "any"))),
        "limit_exceeded"
    );
    assert_eq!(
        code(&channel.ask("Helper/FileWrite", &write_request(&path, b"1234", "any"))),
        "limit_exceeded"
    );
    std::fs::write(&path, "0123456789").unwrap();
    let mut mode = write_request(&path, b"1", "any");
    mode.change.as_mut().unwrap().mode = "0755".to_owned();
    assert_eq!(code(&channel.ask("Helper/FileWrite", &mode)), "limit_exceeded");
    mode.change.as_mut().unwrap().mode = "4755".to_owned();
    assert_eq!(code(&channel.ask("Helper/FileWrite", &mode)), "invalid_argument");
    let mut owner = write_request(&path, b"1", "any");
    owner.change.as_mut().unwrap().owner = "daemon".to_owned();
    assert_eq!(code(&channel.ask("Helper/FileWrite", &owner)), "limit_exceeded");
    let read = channel.ask("Helper/FileRead", &read_request(&path));
    assert_eq!(read.content(), b"0123");
    assert!(matches!(&read.events[1].kind, Some(wire::event::Kind::Output(output)) if output.truncated));
    let mut tail = read_request(&path);
    tail.offset = -3;
    assert_eq!(channel.ask("Helper/FileRead", &tail).content(), b"789");
}

#[test]
fn a_read_of_more_than_one_frame_arrives_whole() {
    let world = World::new(site_rules);
    let path = world.text("site/a.html");
    let content: Vec<u8> = (0..1_048_576_u32).map(|n| n.to_le_bytes()[n as usize % 4]).collect();
    std::fs::write(&path, &content).unwrap();
    let answer = world.connect(CLIENT_UID).ask("Helper/FileRead", &read_request(&path));
    assert!(answer.content() == content);
}

#[test]
fn preview_and_check_touch_nothing_and_take_no_id() {
    let world = World::new(site_rules);
    let path = world.text("site/a.html");
    let mut channel = world.connect(CLIENT_UID);
    let id = new_id();
    for mode in [Mode::Check, Mode::Preview] {
        let request =
            wire::FileWriteRequest { meta: meta_with(&id, mode), ..write_request(&path, b"x", "any") };
        let answer = channel.ask("Helper/FileWrite", &request);
        assert_eq!(answer.completed().status(), Status::Previewed);
        assert_eq!(answer.completed().plan.is_some(), mode == Mode::Preview);
    }
    assert!(!std::path::Path::new(&path).exists());
    assert_eq!((world.count("begin"), world.count("previewed")), (0, 2));
    let request =
        wire::FileWriteRequest { meta: meta_with(&id, Mode::Execute), ..write_request(&path, b"x", "any") };
    assert_eq!(channel.ask("Helper/FileWrite", &request).completed().status(), Status::Done);
}

#[test]
fn a_plan_shows_old_content_only_to_who_may_read_it() {
    let world = World::new(|at| {
        let mut rules = site_rules(at);
        rules[0].verbs = strings(&["file.write"]);
        rules
    });
    let path = world.text("site/a.html");
    std::fs::write(&path, "old").unwrap();
    let mut channel = world.connect(CLIENT_UID);
    let request = wire::FileWriteRequest { meta: meta(Mode::Preview), ..write_request(&path, b"x", "any") };
    let answer = channel.ask("Helper/FileWrite", &request);
    let step = &answer.completed().plan.as_ref().unwrap().files[0];
    assert_eq!((step.old_sha256.as_str(), step.old_size, step.new_size), ("", 0, 1));
    let refused = channel.ask("Helper/FileWrite", &write_request(&path, b"x", &"0".repeat(64)));
    assert!(!refused.refused().message.contains("content is"));
}

#[test]
fn refuses_request_ids_that_are_too_old_or_ahead_or_malformed() {
    let world = World::new(site_rules);
    let now = u64::try_from(world.hosts.files.unix().as_millis()).unwrap();
    let mut channel = world.connect(CLIENT_UID);
    for (ms, code) in [(now - 25 * 3_600_000, "request_id_expired"), (now + 400_000, "request_id_expired")] {
        let request = wire::FileWriteRequest {
            meta: meta_with(&id_at(ms, 1), Mode::Execute),
            ..write_request(&world.text("site/a.html"), b"x", "any")
        };
        assert_eq!(channel.ask("Helper/FileWrite", &request).refused().code, code);
    }
    for id in ["", "x", "0190a0a0-0000-4000-8000-000000000000", "0190A0A0-0000-7000-8000-000000000000"] {
        let request = wire::FileWriteRequest {
            meta: meta_with(id, Mode::Execute),
            ..write_request(&world.text("site/a.html"), b"x", "any")
        };
        assert_eq!(channel.ask("Helper/FileWrite", &request).refused().code, "invalid_argument", "{id}");
    }
}

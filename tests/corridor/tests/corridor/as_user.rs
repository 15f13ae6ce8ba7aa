//! Files of a rule with `as`: a process of the rule's user does it, and can lie about that user's own files alone.

use postern_corridor::{
    CLIENT_UID, Listener, OPERATOR, World, call, changing, eventually, meta, rule, strings, write_request,
};
use postern_policy::Rule;
use postern_policy::types::{Digest, TargetPath};
use postern_proto::link::{self, Kind};
use postern_proto::root::v1::{self as root, AsUser, Content, FileFacts};
use postern_proto::v1::{self as wire, Mode, Status};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const USER: &str = "app";
const UID: u32 = 4_000_400;

fn granted(at: &Path, user: &str) -> root::Rule {
    let none = Vec::new;
    root::Rule {
        directories: vec![at.join("site").to_str().unwrap().to_owned()],
        files: strings(&["*.conf"]),
        as_user: user.to_owned(),
        allow_create: false,
        modes: none(),
        owners: none(),
        groups: none(),
        ..rule("conf", &["file.read", "file.write", "request.undo"])
    }
}

/// A world with one file, and PID 1's socket, whose connections `serve` answers.
fn world(serve: impl Fn(UnixStream) + Send + Sync + 'static) -> (World, Listener) {
    let world = World::new(|at| vec![granted(at, USER)]);
    world.add_user(USER, UID);
    fs::write(world.path("site/a.conf"), "old").unwrap();
    let listener = Listener::bind(&socket(&world, USER), serve);
    (world, listener)
}

fn socket(world: &World, user: &str) -> std::path::PathBuf {
    let rule = Rule::new(&granted(&world.path(""), user)).unwrap();
    let directory = TargetPath::new(&world.text("site")).unwrap();
    world.path(&format!("jobs/{}.sock", rule.as_unit(&directory)))
}

/// The real process, but for its user and its confinement.
fn honest(stream: UnixStream) {
    drop(postern_files::as_user::serve(stream, |_| Ok(())));
}

fn write(world: &World, content: &[u8]) -> wire::FileWriteRequest {
    write_request(&world.text("site/a.conf"), content, "any")
}

fn read(world: &World) -> wire::FileReadRequest {
    let path = world.text("site/a.conf");
    wire::FileReadRequest { meta: meta(Mode::Execute), path, offset: 0, limit: 0 }
}

fn undo(of: Option<&wire::Meta>) -> wire::RequestUndoRequest {
    wire::RequestUndoRequest { meta: meta(Mode::Execute), of: of.unwrap().request_id.clone() }
}

fn content(world: &World) -> String {
    fs::read_to_string(world.path("site/a.conf")).unwrap()
}

#[test]
fn a_process_of_the_rules_user_reads_and_writes_and_the_undo_can_be_undone() {
    let (world, _socket) = world(honest);
    let mut channel = world.connect(CLIENT_UID);
    let previewed = wire::FileWriteRequest { meta: meta(Mode::Preview), ..write(&world, b"new") };
    assert_eq!(channel.ask("Helper/FileWrite", &previewed).completed().status(), Status::Previewed);
    assert_eq!(content(&world), "old");
    let request = write(&world, b"new");
    let answer = channel.ask("Helper/FileWrite", &request);
    assert_eq!((answer.completed().status(), answer.completed().undoable), (Status::Done, true));
    assert_eq!(content(&world), "new");
    let unchanged = channel.ask("Helper/FileWrite", &write(&world, b"new"));
    assert_eq!(unchanged.completed().status(), Status::Unchanged);
    let back = undo(request.meta.as_ref());
    assert_eq!(channel.ask("Helper/RequestUndo", &back).completed().status(), Status::Done);
    assert_eq!(content(&world), "old");
    let again = channel.ask("Helper/RequestUndo", &undo(back.meta.as_ref()));
    assert_eq!(again.completed().status(), Status::Done);
    assert_eq!(content(&world), "new");
    let seen = channel.ask("Helper/FileRead", &read(&world));
    assert_eq!(seen.completed().status(), Status::Done);
    assert_eq!(seen.completed().files[0].sha256, Digest::of(&[b"new"]).to_string());
    let names = postern_corridor::names(&world.path("site"));
    assert_eq!(names, ["a.conf"], "no temporary file stays");
}

#[test]
fn a_link_to_a_secret_is_neither_read_nor_previewed_nor_written() {
    let (world, _socket) = world(honest);
    fs::write(world.path("secret"), "hunter2").unwrap();
    fs::remove_file(world.path("site/a.conf")).unwrap();
    std::os::unix::fs::symlink(world.path("secret"), world.path("site/a.conf")).unwrap();
    let mut channel = world.connect(CLIENT_UID);
    assert_eq!(channel.ask("Helper/FileRead", &read(&world)).refused().code, "special_file");
    let previewed = wire::FileWriteRequest { meta: meta(Mode::Preview), ..write(&world, b"new") };
    assert_eq!(channel.ask("Helper/FileWrite", &previewed).refused().code, "special_file");
    assert_eq!(channel.ask("Helper/FileWrite", &write(&world, b"new")).refused().code, "special_file");
    assert_eq!(fs::read_to_string(world.path("secret")).unwrap(), "hunter2");
}

#[test]
fn of_a_larger_file_no_copy_is_kept_and_the_preview_says_so() {
    let (world, _socket) = world(honest);
    let mut channel = world.connect(CLIENT_UID);
    for (size, is_kept) in [(1024 * 1024, true), (1024 * 1024 + 1, false)] {
        fs::write(world.path("site/a.conf"), vec![b'x'; size]).unwrap();
        let previewed = wire::FileWriteRequest { meta: meta(Mode::Preview), ..write(&world, b"new") };
        let previewed = channel.ask("Helper/FileWrite", &previewed);
        let plan = previewed.completed().plan.clone().unwrap();
        assert_eq!(plan.files[0].not_kept, !is_kept, "{size}");
        let answer = channel.ask("Helper/FileWrite", &write(&world, b"new"));
        assert_eq!((answer.completed().status(), answer.completed().undoable), (Status::Done, is_kept));
        assert_eq!(content(&world), "new");
    }
    // Nor is so much read.
    fs::write(world.path("site/a.conf"), vec![b'x'; 1024 * 1024 + 1]).unwrap();
    assert_eq!(channel.ask("Helper/FileRead", &read(&world)).refused().code, "too_large");
}

#[test]
fn an_undo_acts_as_no_other_user_and_only_where_a_rule_still_reaches_the_file() {
    let (world, _socket) = world(honest);
    world.add_user("other", UID + 1);
    let _other = Listener::bind(&socket(&world, "other"), honest);
    let request = write(&world, b"new");
    let answer = world.connect(CLIENT_UID).ask("Helper/FileWrite", &request);
    assert_eq!(answer.completed().status(), Status::Done);
    let operator = || {
        let request_id = request.meta.as_ref().unwrap().request_id.clone();
        let asked = wire::OperatorUndoRequest { request_id, ..wire::OperatorUndoRequest::default() };
        let undone: wire::OperatorUndone =
            call(&mut world.operator(OPERATOR), "Operator/Undo", &asked).unwrap();
        undone.code
    };
    for rules in [vec![granted(&world.path(""), "other")], vec![changing(&world.path(""))]] {
        world.apply(rules);
        let refused = world.connect(CLIENT_UID).ask("Helper/RequestUndo", &undo(request.meta.as_ref()));
        assert!(!refused.refused().code.is_empty());
        assert_eq!(operator(), "no_grant");
        assert_eq!(content(&world), "new");
    }
    world.apply(vec![granted(&world.path(""), USER)]);
    assert_eq!(operator(), "");
    assert_eq!(content(&world), "old");
}

#[test]
fn nothing_is_done_as_a_user_whose_power_is_not_over_its_own_files_alone() {
    let (world, _socket) = world(honest);
    let group = fs::read_to_string(world.path("group")).unwrap();
    for (name, gid) in [("sudo", 27), ("docker", 99), ("shadow", 42), ("postern-operators", 98)] {
        fs::write(world.path("group"), format!("{group}{name}:x:{gid}:{USER}\n")).unwrap();
        let refused = world.connect(CLIENT_UID).ask("Helper/FileWrite", &write(&world, b"new"));
        assert_eq!(refused.refused().code, "unsupported", "{name}");
        // The primary group, which does not list its user.
        fs::write(world.path("group"), format!("{group}{name}:x:{UID}:\n")).unwrap();
        let refused = world.connect(CLIENT_UID).ask("Helper/FileWrite", &write(&world, b"new"));
        assert_eq!(refused.refused().code, "unsupported", "{name}");
    }
    fs::write(world.path("group"), group).unwrap();
    assert_eq!(content(&world), "old");
    let answer = world.connect(CLIENT_UID).ask("Helper/FileWrite", &write(&world, b"new"));
    assert_eq!(answer.completed().status(), Status::Done);
}

/// The file of a captured process.
fn told(path: &str, content: &[u8]) -> AsUser {
    let file = FileFacts {
        path: path.to_owned(),
        exists: true,
        size: content.len() as u64,
        sha256: Digest::of(&[content]).as_bytes().to_vec(),
        mode: 0o644,
        ..FileFacts::default()
    };
    AsUser { file: Some(file), ..AsUser::default() }
}

fn say(stream: &mut UnixStream, message: &AsUser) {
    drop(link::send(stream, Kind::RootInspect, message));
}

/// A captured process that answers each request by this.
fn lying(answer: impl Fn(&str, &mut UnixStream) + Send + Sync + 'static) -> (World, Listener) {
    world(move |mut stream| {
        let Ok(Some((_, asked))) = link::read(&mut stream) else { return };
        let path = link::strict::<AsUser>(&asked).unwrap().path;
        answer(&path, &mut stream);
        drop(link::read(&mut stream));
    })
}

type Lie = fn(&str, &mut UnixStream);

#[test]
fn a_captured_process_that_lies_or_floods_has_nothing_done_and_passes_no_word_on() {
    let lies: [(&str, Lie); 7] = [
        ("interrupted", |_, stream| {
            say(stream, &AsUser { code: "EVIL\u{1b}[2J".to_owned(), ..AsUser::default() });
        }),
        ("interrupted", |_, stream| {
            say(stream, &AsUser { code: "not_approved".to_owned(), ..AsUser::default() });
        }),
        ("unsafe_path", |_, stream| {
            say(stream, &AsUser { code: "unsafe_path".to_owned(), ..AsUser::default() });
        }),
        ("interrupted", |path, stream| {
            say(stream, &told(path, b"old"));
            drop(link::send_content(stream, b"another"));
        }),
        ("invalid_argument", |path, stream| {
            let mut lie = told(path, b"old");
            lie.file.as_mut().unwrap().mode = u32::MAX;
            say(stream, &lie);
            drop(link::send_content(stream, b"old"));
        }),
        ("interrupted", |path, stream| {
            say(stream, &told(path, &vec![0; 1024 * 1024]));
            while link::send_content(stream, &vec![1; 1024 * 1024]).is_ok() {}
        }),
        ("interrupted", |_, stream| drop(std::io::Write::write_all(stream, &[0xff; 4096]))),
    ];
    for (code, lie) in lies {
        let (world, _socket) = lying(lie);
        let refused = world.connect(CLIENT_UID).ask("Helper/FileWrite", &write(&world, b"new"));
        assert_eq!(refused.refused().code, code);
        assert_eq!(world.count("begin"), 0, "facts are gathered before anything begins");
        assert!(!world.log().join("\n").contains("EVIL"));
    }
}

#[test]
fn a_captured_process_does_not_say_which_file_it_is_nor_of_whom() {
    let (world, _socket) = lying(|_, stream| {
        let mut lie = told("/etc/shadow", b"old");
        let file = lie.file.as_mut().unwrap();
        (file.attributes, file.directory, file.uid) = (strings(&["EVIL"]), true, 0);
        say(stream, &lie);
        drop(link::send_content(stream, b"old"));
    });
    let previewed = wire::FileWriteRequest { meta: meta(Mode::Preview), ..write(&world, b"new") };
    let answer = world.connect(CLIENT_UID).ask("Helper/FileWrite", &previewed);
    let step = &answer.completed().plan.as_ref().unwrap().files[0];
    assert_eq!((step.path.clone(), step.old_size), (world.text("site/a.conf"), 3));
    let answer = world.connect(CLIENT_UID).ask("Helper/FileRead", &read(&world));
    assert_eq!(answer.completed().files[0].owner, USER);
    let log = world.log().join("\n");
    assert!(!log.contains("EVIL") && !log.contains("/etc/shadow"), "{log}");
}

/// A first process that does so with the file when it has the new content, and is killed; the next one is honest.
fn killed(act: impl Fn(&Path) + Send + Sync + 'static) -> (World, Listener) {
    let is_first = AtomicBool::new(true);
    let seen = AtomicBool::new(false);
    world(move |mut stream| {
        // The first process looks for the broker, the second acts.
        if seen.swap(true, Ordering::SeqCst) && is_first.swap(false, Ordering::SeqCst) {
            let (_, asked) = link::read(&mut stream).unwrap().unwrap();
            let path = link::strict::<AsUser>(&asked).unwrap().path;
            say(&mut stream, &told(&path, b"old"));
            link::send_content(&mut stream, b"old").unwrap();
            let (_, asked) = link::read(&mut stream).unwrap().unwrap();
            let temporary = link::strict::<AsUser>(&asked).unwrap().temporary;
            fs::write(Path::new(&path).with_file_name(temporary), "half").unwrap();
            act(Path::new(&path));
        } else {
            honest(stream);
        }
    })
}

#[test]
fn a_process_that_is_killed_with_the_new_content_is_followed_by_another_that_looks_what_it_did() {
    let (world, _socket) = killed(|_| ());
    fs::set_permissions(world.path("site/a.conf"), fs::Permissions::from_mode(0o644)).unwrap();
    let answer = world.connect(CLIENT_UID).ask("Helper/FileWrite", &write(&world, b"new"));
    let completed = answer.completed();
    assert_eq!((completed.code.as_str(), completed.undoable), ("interrupted", false), "{completed:?}");
    assert!(completed.message.contains("the file is as it was"), "{}", completed.message);
    assert_eq!(content(&world), "old");
    assert_eq!(postern_corridor::names(&world.path("site")), ["a.conf"], "no temporary file stays");

    let (world, _socket) = killed(|path| fs::write(path, "new").unwrap());
    fs::set_permissions(world.path("site/a.conf"), fs::Permissions::from_mode(0o644)).unwrap();
    let request = write(&world, b"new");
    let answer = world.connect(CLIENT_UID).ask("Helper/FileWrite", &request);
    assert_eq!((answer.completed().status(), answer.completed().undoable), (Status::Done, true));
    let undone = world.connect(CLIENT_UID).ask("Helper/RequestUndo", &undo(request.meta.as_ref()));
    assert_eq!(undone.completed().status(), Status::Done);
    assert_eq!(content(&world), "old");
}

#[test]
fn a_killed_process_that_left_neither_old_nor_new_content_leaves_an_unknown_state_that_is_recorded_so() {
    let (world, _socket) = killed(|path| fs::write(path, "torn").unwrap());
    let answer = world.connect(CLIENT_UID).ask("Helper/FileWrite", &write(&world, b"new"));
    let completed = answer.completed();
    assert_eq!((completed.status(), completed.undoable), (Status::Interrupted, false));
    assert_eq!((world.count("begin"), world.count("interrupted")), (1, 1));
}

#[test]
fn a_captured_process_that_stalls_ends_the_order_after_its_time_also_byte_by_byte() {
    let (world, _socket) = lying(|_, stream| {
        // The head of a frame of 60,000 bytes.
        let mut next = [0x60, 0xea, 0, 0, Kind::RootInspect.number()].to_vec();
        while std::io::Write::write_all(stream, &next).is_ok() {
            next = vec![0];
            std::thread::sleep(std::time::Duration::from_millis(200));
        }
    });
    let begun = std::time::Instant::now();
    let patient = root::Rule { timeout_s: 60, ..granted(&world.path(""), USER) };
    world.apply(vec![patient]);
    let refused = world.connect(CLIENT_UID).ask("Helper/FileWrite", &write(&world, b"new"));
    assert_eq!(refused.refused().code, "interrupted");
    let seconds = begun.elapsed().as_secs();
    assert!((24..40).contains(&seconds), "{seconds} s");
    assert_eq!(content(&world), "old");
}

/// The process decides how long root waits for it: a policy that is replaced meanwhile counts, also where it grants the same.
#[test]
fn a_policy_that_is_replaced_while_the_process_stalls_stops_the_change() {
    let same = |at: &Path| {
        vec![granted(at, USER), root::Rule { units: strings(&["a.service"]), ..rule("a", &["unit.stop"]) }]
    };
    let revoked = |at: &Path| vec![changing(at)];
    for (name, rules) in [("same", &same as &dyn Fn(&Path) -> Vec<root::Rule>), ("revoked", &revoked)] {
        let flags: [Arc<AtomicBool>; 3] = std::array::from_fn(|_| Arc::default());
        let [stalls, goes_on, is_given] = flags.clone();
        let is_first = AtomicBool::new(true);
        let (world, _socket) = world(move |mut stream| {
            // The first process looks for the broker.
            if is_first.swap(false, Ordering::SeqCst) {
                return honest(stream);
            }
            let Ok(Some((_, asked))) = link::read(&mut stream) else { return };
            let path = link::strict::<AsUser>(&asked).unwrap().path;
            stalls.store(true, Ordering::SeqCst);
            while !goes_on.load(Ordering::SeqCst) {
                std::thread::sleep(Duration::from_millis(5));
            }
            say(&mut stream, &told(&path, b"old"));
            drop(link::send_content(&mut stream, b"old"));
            // The new content, if root still gives it.
            is_given.store(matches!(link::read(&mut stream), Ok(Some(_))), Ordering::SeqCst);
        });
        let [stalls, goes_on, is_given] = &flags;
        std::thread::scope(|scope| {
            let asked =
                scope.spawn(|| world.connect(CLIENT_UID).ask("Helper/FileWrite", &write(&world, b"new")));
            eventually("the process stalls", || stalls.load(Ordering::SeqCst));
            world.apply(rules(&world.path("")));
            goes_on.store(true, Ordering::SeqCst);
            let answer = asked.join().unwrap();
            assert_eq!(answer.completed().code, "plan_changed", "{name}: {:?}", answer.completed());
        });
        assert!(!is_given.load(Ordering::SeqCst), "{name}: the process got the new content");
        assert_eq!(
            (content(&world).as_str(), world.count("begin"), world.count("end")),
            ("old", 1, 1),
            "{name}"
        );
    }
}

#[test]
fn a_process_that_pid_1_starts_late_is_waited_for_until_pid_1_has_ended_it() {
    let is_first = AtomicBool::new(true);
    let (world, _socket) = world(move |mut stream| {
        if is_first.swap(false, Ordering::SeqCst) {
            return honest(stream);
        }
        // It runs 10 s after it was asked for, and has 20 s from then on.
        std::thread::sleep(Duration::from_secs(10));
        let (mut ours, theirs) = UnixStream::pair().unwrap();
        let process = std::thread::spawn(move || honest(theirs));
        let pass = |from: &mut UnixStream, to: &mut UnixStream| {
            let (kind, frame) = link::read(from).unwrap().unwrap();
            drop(link::write(to, kind, &frame));
        };
        pass(&mut stream, &mut ours);
        (0..2).for_each(|_| pass(&mut ours, &mut stream));
        (0..2).for_each(|_| pass(&mut stream, &mut ours));
        std::thread::sleep(Duration::from_secs(17));
        pass(&mut ours, &mut stream);
        process.join().unwrap();
    });
    world.apply(vec![root::Rule { timeout_s: 60, ..granted(&world.path(""), USER) }]);
    let answer = world.connect(CLIENT_UID).ask("Helper/FileWrite", &write(&world, b"new"));
    assert_eq!(answer.completed().status(), Status::Done, "{:?}", answer.completed());
    assert_eq!(content(&world), "new");
}

#[test]
fn an_undo_does_nothing_as_another_uid_that_has_the_users_name_by_now() {
    let (world, _socket) = world(honest);
    let request = write(&world, b"new");
    assert!(world.connect(CLIENT_UID).ask("Helper/FileWrite", &request).completed().undoable);
    let passwd = fs::read_to_string(world.path("passwd")).unwrap();
    let renamed = passwd.replace(&format!("{USER}:x:{UID}:"), &format!("{USER}:x:{}:", UID + 1));
    assert_ne!(passwd, renamed);
    fs::write(world.path("passwd"), renamed).unwrap();
    let refused = world.connect(CLIENT_UID).ask("Helper/RequestUndo", &undo(request.meta.as_ref()));
    assert_eq!(refused.refused().code, "undo_conflict");
    assert_eq!(content(&world), "new");
}

#[test]
fn an_undo_copy_that_is_damaged_is_not_written_back() {
    let (world, _socket) = world(honest);
    let request = write(&world, b"new");
    assert!(world.connect(CLIENT_UID).ask("Helper/FileWrite", &request).completed().undoable);
    let undo_copies = world.path("root/undo");
    let [copy] = &postern_corridor::names(&undo_copies)[..] else { panic!("one copy") };
    let bytes = fs::read(undo_copies.join(copy)).unwrap();
    let at = bytes.windows(3).position(|window| window == b"old").unwrap();
    let damaged = [&bytes[..at], b"0ld", &bytes[at + 3..]].concat();
    fs::write(undo_copies.join(copy), damaged).unwrap();
    let answer = world.connect(CLIENT_UID).ask("Helper/RequestUndo", &undo(request.meta.as_ref()));
    assert_eq!(answer.completed().status(), Status::Failed);
    assert_eq!(content(&world), "new");
}

#[test]
fn content_that_is_announced_is_compared_before_it_is_believed() {
    let announced = Content { size: 3, sha256: Digest::of(&[b"new"]).as_bytes().to_vec() };
    let mut bytes = Vec::new();
    link::send_content(&mut bytes, b"old").unwrap();
    assert!(postern_root::receive::content(&mut bytes.as_slice(), &announced).is_err());
}

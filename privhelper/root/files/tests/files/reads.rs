//! file.read and file.list: in bounded parts, and nothing followed.

use crate::support::{CLIENT, OPERATOR, World, all_verbs, list, names, read, strings, whole};
use postern_proto::link::approval_digest;
use postern_proto::root::v1 as root;
use postern_proto::v1::{self as wire, FileType, Status};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

fn world() -> World {
    World::new(|at| vec![all_verbs(at)])
}

#[test]
fn a_read_of_many_parts_arrives_whole_and_in_parts_of_64_kib() {
    let world = world();
    let path = world.text("site/a");
    let content: Vec<u8> =
        (0..1_048_576_u32).map(|n| n.to_le_bytes()[usize::try_from(n % 4).unwrap()]).collect();
    fs::write(&path, &content).unwrap();
    let answer = world.ask(&read(&path));
    assert!(answer.content() == content && !answer.is_truncated());
    assert_eq!(answer.events.len(), 16);
    assert_eq!(answer.done().files[0].sha256, postern_policy::types::Digest::of(&[&content]).to_string());
    assert!(names(&world.path("state/outcomes")).is_empty(), "a read leaves nothing");
}

#[test]
fn a_range_and_the_rules_limit_cut_a_read_and_say_so() {
    let world = World::new(|at| vec![root::Rule { max_bytes: 4, ..all_verbs(at) }]);
    let path = world.text("site/a");
    fs::write(&path, "0123456789").unwrap();
    let range = |offset, limit| world.ask(&wire::FileReadRequest { offset, limit, ..read(&path) });
    let told = |answer: crate::support::Answer| {
        (
            String::from_utf8(answer.content()).unwrap(),
            answer.is_truncated(),
            answer.done().files[0].sha256.is_empty(),
        )
    };
    let of = |text: &str, truncated| (text.to_owned(), truncated, true);
    assert_eq!(told(range(0, 0)), of("0123", true));
    assert_eq!(told(range(0, 2)), of("01", true));
    assert_eq!(told(range(0, 100)), of("0123", true));
    assert_eq!(told(range(6, 0)), of("6789", false));
    assert_eq!(told(range(7, 0)), of("789", false));
    assert_eq!(told(range(-3, 0)), of("789", false));
    assert_eq!(told(range(-30, 1)), of("0", true));
    assert_eq!(told(range(10, 0)), of("", false));
    fs::write(&path, "0123").unwrap();
    assert!(!range(0, 0).done().files[0].sha256.is_empty(), "what may be read whole has a digest");
    assert_eq!(range(0, 0).content(), b"0123");
    fs::write(&path, "").unwrap();
    assert_eq!(told(range(0, 0)).0, "");
}

/// Row 8: a large limit takes no memory.
#[test]
fn a_read_of_400_mib_holds_no_more_than_a_part_in_memory() {
    let world = World::new(|at| vec![root::Rule { max_bytes: 1 << 30, ..all_verbs(at) }]);
    let path = world.text("site/large");
    let size = 400 * 1024 * 1024_u64;
    fs::File::create(&path).unwrap().set_len(size).unwrap();
    let (order, _) = world.order(CLIENT, &read(&path));
    let mut frames = Vec::new();
    let message = root::RootInspect { order: prost::Message::encode_to_vec(&order), envelope: None };
    postern_proto::link::open(&mut frames, postern_proto::link::Kind::RootInspect, &message).unwrap();
    let (mut ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
    std::io::Write::write_all(&mut ours, &frames).unwrap();
    let before = resident();
    let (mut received, mut most) = (0_u64, 0_u64);
    std::thread::scope(|scope| {
        scope.spawn(|| world.state().serve(theirs));
        while let Ok(Some((_, payload))) = postern_proto::link::read(&mut ours) {
            received += u64::try_from(payload.len()).unwrap();
            most = most.max(resident());
        }
    });
    assert!(received >= size, "{received}");
    assert!(most.saturating_sub(before) < 64 * 1024 * 1024, "{before} then {most} bytes");
}

/// Resident memory of this process, in bytes (proc(5)).
fn resident() -> u64 {
    let statm = fs::read_to_string("/proc/self/statm").unwrap();
    statm.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
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
    let answer = world.ask(&list(&world.text("site")));
    let told = answer.done().files.iter().map(|file| {
        (file.path.rsplit_once('/').unwrap().1.to_owned(), file.r#type(), file.size, file.sha256.clone())
    });
    let of = |name: &str, kind, size| (name.to_owned(), kind, size, String::new());
    let expected = [
        of("a", FileType::Directory, 0),
        of("b", FileType::File, 5),
        of("c", FileType::Symlink, 0),
        of("d", FileType::Other, 0),
    ];
    assert_eq!(told.collect::<Vec<_>>(), expected);
    assert_eq!(answer.done().files[1].mode, "0640");
    assert!(world.ask(&list(&world.text("site/a"))).done().files.is_empty());
    for (path, code) in
        [("site/c", "unsafe_path"), ("site/none", "directory_missing"), ("outside", "no_grant")]
    {
        assert_eq!(world.ask(&list(&world.text(path))).code(), code, "{path}");
    }
}

#[test]
fn a_long_list_is_cut_and_says_so() {
    let world = world();
    for number in 0..1200 {
        fs::write(world.path(&format!("site/{number:04}")), "").unwrap();
    }
    let answer = world.ask(&list(&world.text("site")));
    let done = answer.done();
    assert_eq!((done.status(), done.code.as_str()), (Status::Partly, "too_large"));
    let told = done.files.len();
    assert!((500..=1000).contains(&told), "{told}");
    assert_eq!(done.message, format!("these are the first {told} of 1200 names"));
    assert!(done.files[0].path.ends_with("/0000"));
    assert!(done.files[told - 1].path.ends_with(&format!("{:04}", told - 1)));
}

#[test]
fn a_read_that_a_rule_marks_ask_needs_consent() {
    let world = World::new(|at| vec![root::Rule { decision: root::Decision::Ask.into(), ..all_verbs(at) }]);
    fs::write(world.path("site/a"), "secret").unwrap();
    for request in 0..2 {
        let (order, _) = match request {
            0 => world.order(CLIENT, &read(&world.text("site/a"))),
            _ => world.order(CLIENT, &list(&world.text("site"))),
        };
        let refused = world.inspect(&order, None);
        assert_eq!((refused.code(), refused.events.len()), ("not_approved", 0));
        let bytes = prost::Message::encode_to_vec(&order);
        let digest = world.state().active.policy.digest();
        let approved = approval_digest(&world.host.boot_id, digest.as_bytes(), &bytes).to_vec();
        let envelope = root::Envelope { approvers: vec![OPERATOR], approved, ..whole() };
        assert_eq!(world.inspect(&order, Some(envelope)).status(), Status::Done);
    }
}

#[test]
fn a_read_is_refused_as_an_effect_and_an_effect_as_a_read() {
    let world = world();
    fs::write(world.path("site/a"), "x").unwrap();
    let (order, _) = world.order(CLIENT, &read(&world.text("site/a")));
    assert_eq!(world.execute(&order, &[], whole()).code(), "unsupported");
    let (order, _) = world.order(CLIENT, &crate::support::write(&world.text("site/a"), b"y"));
    let answer = world.inspect(&order, Some(whole()));
    let facts = &answer.facts.as_ref().unwrap().files[0];
    assert_eq!((facts.exists, facts.size, facts.sha256.len(), facts.mode & 0o7000), (true, 1, 32, 0));
    assert_eq!(fs::read(world.path("site/a")).unwrap(), b"x");
    assert_eq!(names(&world.path("state/outcomes")), strings(&[]));
}

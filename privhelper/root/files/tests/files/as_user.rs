//! The process of a rule's user (`as`): given requests as postern-units gives them, and as nobody should.

use postern_files::as_user::serve;
use postern_policy::types::Digest;
use postern_proto::link::{self, Kind};
use postern_proto::root::v1::{AsUser, Content};
use postern_root::{Fault, receive};
use std::fs;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread::{self, JoinHandle};
use tempfile::TempDir;

const TEMPORARY: &str = ".postern-1";

/// A connection to a process that is this test's own user's.
fn start() -> (UnixStream, JoinHandle<Result<(), Fault>>) {
    let (ours, theirs) = UnixStream::pair().unwrap();
    (ours, thread::spawn(move || serve(theirs, |_| Ok(()))))
}

/// A directory `conf` with the file `a.conf`.
fn directory() -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    fs::create_dir(directory.path().join("conf")).unwrap();
    fs::write(directory.path().join("conf/a.conf"), "old").unwrap();
    directory
}

fn asked(at: &Path, path: &str) -> AsUser {
    let directory = at.join("conf").to_str().unwrap().to_owned();
    AsUser { path: format!("{directory}{path}"), directory, ..AsUser::default() }
}

/// The answer to a first request, and the content if it is a file.
fn look(stream: &mut UnixStream, asked: &AsUser) -> Result<Vec<u8>, String> {
    link::send(stream, Kind::RootInspect, asked).unwrap();
    let told: AsUser = receive::message(stream, Kind::RootInspect).map_err(|_| "closed".to_owned())?;
    let Some(file) = told.file else { return Err(told.code) };
    assert_eq!(file.uid, nix::unistd::Uid::effective().as_raw());
    let announced = Content { size: file.size, sha256: file.sha256 };
    if file.size > postern_policy::AS_USER_MAX {
        return Ok(Vec::new());
    }
    Ok(receive::content(stream, &announced).unwrap().to_vec())
}

fn refusal(at: &Path, path: &str) -> String {
    let (mut stream, process) = start();
    let refused = look(&mut stream, &asked(at, path)).unwrap_err();
    process.join().unwrap().unwrap();
    refused
}

fn new(content: &[u8]) -> AsUser {
    let sha256 = Digest::of(&[content]).as_bytes().to_vec();
    let content = Some(Content { size: content.len().try_into().unwrap(), sha256 });
    AsUser { content, temporary: TEMPORARY.to_owned(), ..AsUser::default() }
}

fn give(stream: &mut UnixStream, content: &[u8]) -> String {
    link::send(stream, Kind::RootInspect, &new(content)).unwrap();
    link::send_content(stream, content).unwrap();
    receive::message::<AsUser>(stream, Kind::RootInspect).unwrap().code
}

fn names(at: &Path) -> Vec<String> {
    let names = fs::read_dir(at.join("conf")).unwrap();
    let mut names = names.map(|name| name.unwrap().file_name().into_string().unwrap()).collect::<Vec<_>>();
    names.sort();
    names
}

#[test]
fn gives_a_file_new_content_and_keeps_its_mode() {
    let directory = directory();
    let path = directory.path().join("conf/a.conf");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    let (mut stream, process) = start();
    assert_eq!(look(&mut stream, &asked(directory.path(), "/a.conf")).unwrap(), b"old");
    assert_eq!(give(&mut stream, b"new"), "");
    process.join().unwrap().unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"new");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o640);
    assert_eq!(names(directory.path()), ["a.conf"]);
}

#[test]
fn reads_no_link_no_special_file_and_no_other_directory() {
    let directory = directory();
    let at = directory.path();
    let conf = at.join("conf");
    fs::write(at.join("secret"), "hunter2").unwrap();
    symlink(at.join("secret"), conf.join("link")).unwrap();
    symlink(at, conf.join("out")).unwrap();
    fs::create_dir(conf.join("directory")).unwrap();
    fs::hard_link(conf.join("a.conf"), conf.join("other")).unwrap();
    nix::unistd::mkfifo(&conf.join("fifo"), nix::sys::stat::Mode::S_IRUSR).unwrap();
    fs::create_dir(conf.join("open")).unwrap();
    fs::write(conf.join("open/a.conf"), "x").unwrap();
    fs::set_permissions(conf.join("open"), fs::Permissions::from_mode(0o777)).unwrap();
    for (path, code) in [
        ("/link", "special_file"),
        ("/directory", "special_file"),
        ("/fifo", "special_file"),
        ("/a.conf", "special_file"),
        ("/missing", "not_found"),
        ("/missing/a.conf", "directory_missing"),
        ("/out/secret", "unsafe_path"),
        ("/open/a.conf", "unsafe_path"),
        ("/../secret", "invalid_argument"),
        ("//a.conf", "invalid_argument"),
        ("/./a.conf", "invalid_argument"),
        ("", "invalid_argument"),
        ("2/secret", "invalid_argument"),
    ] {
        assert_eq!(refusal(at, path), code, "{path:?}");
    }
}

#[test]
fn a_directory_of_the_rule_that_became_a_link_is_not_entered() {
    let directory = directory();
    let at = directory.path();
    fs::rename(at.join("conf"), at.join("real")).unwrap();
    symlink(at.join("real"), at.join("conf")).unwrap();
    assert_eq!(refusal(at, "/a.conf"), "unsafe_path");
}

#[test]
fn does_nothing_without_the_whole_new_content() {
    let directory = directory();
    let at = directory.path();
    let cases: [fn(&mut UnixStream); 5] = [
        |_| (),
        |stream| link::send(stream, Kind::RootInspect, &new(b"new")).unwrap(),
        |stream| {
            link::send(stream, Kind::RootInspect, &new(b"new")).unwrap();
            link::send_content(stream, b"ne").unwrap();
        },
        |stream| {
            link::send(stream, Kind::RootInspect, &new(b"new")).unwrap();
            link::send_content(stream, b"odd").unwrap();
        },
        |stream| stream.write_all(&[0xff; 64]).unwrap(),
    ];
    for (number, case) in cases.iter().enumerate() {
        let (mut stream, process) = start();
        look(&mut stream, &asked(at, "/a.conf")).unwrap();
        case(&mut stream);
        drop(stream);
        drop(process.join().unwrap());
        assert_eq!(fs::read(at.join("conf/a.conf")).unwrap(), b"old", "{number}");
        assert_eq!(names(at), ["a.conf"], "{number}");
    }
    // Nor without a first request.
    let (mut stream, process) = start();
    stream.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    drop(stream);
    process.join().unwrap().unwrap();
}

#[test]
fn a_file_that_somebody_changes_meanwhile_keeps_that_change() {
    let directory = directory();
    let at = directory.path();
    let (mut stream, process) = start();
    look(&mut stream, &asked(at, "/a.conf")).unwrap();
    fs::write(at.join("conf/.b"), "somebody's").unwrap();
    fs::rename(at.join("conf/.b"), at.join("conf/a.conf")).unwrap();
    assert_eq!(give(&mut stream, b"new"), "precondition_failed");
    process.join().unwrap().unwrap();
    assert_eq!(fs::read(at.join("conf/a.conf")).unwrap(), b"somebody's");
    assert_eq!(names(at), ["a.conf"]);
}

#[test]
fn removes_what_a_killed_process_of_the_same_order_left_and_nothing_else() {
    let directory = directory();
    let at = directory.path();
    for name in [TEMPORARY, ".postern-2"] {
        fs::write(at.join("conf").join(name), "half").unwrap();
    }
    for (temporary, left) in
        [("", &[TEMPORARY, ".postern-2", "a.conf"][..]), (TEMPORARY, &[".postern-2", "a.conf"][..])]
    {
        let (mut stream, _process) = start();
        let asked = AsUser { temporary: temporary.to_owned(), ..asked(at, "/a.conf") };
        assert_eq!(look(&mut stream, &asked).unwrap(), b"old");
        assert_eq!(names(at), left);
    }
}

#[test]
fn sends_no_content_of_a_file_of_more_than_1_mib_and_still_replaces_it() {
    let directory = directory();
    let path = directory.path().join("conf/a.conf");
    fs::write(&path, vec![b'x'; 1024 * 1024 + 1]).unwrap();
    let (mut stream, process) = start();
    assert_eq!(look(&mut stream, &asked(directory.path(), "/a.conf")).unwrap(), b"");
    assert_eq!(give(&mut stream, b"new"), "");
    process.join().unwrap().unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"new");
}

/// Tests that need root: other owners.
mod as_root {
    use super::{directory, refusal};
    use nix::unistd::{Uid, chown};

    #[test]
    #[ignore = "needs root: nobody else can give a file away"]
    fn reads_nothing_of_another_user() {
        let directory = directory();
        let (at, other) = (directory.path(), Some(Uid::from_raw(4_000_001)));
        chown(&at.join("conf/a.conf"), other, None).unwrap();
        assert_eq!(refusal(at, "/a.conf"), "special_file");
        chown(&at.join("conf"), other, None).unwrap();
        assert_eq!(refusal(at, "/a.conf"), "unsafe_path");
    }
}

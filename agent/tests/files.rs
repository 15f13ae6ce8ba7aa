//! Files from the command line: diffs applied to what may be read, the person's editor, dry runs with a diff.

mod common;

use common::{Place, Play, Ran, completed, ended, output, refused};
use postern_agent::Exit;
use postern_proto::v1::{self, ChangeKind, Decision, Mode, Status};

const X: &[u8] = b"one\ntwo\nthree\nfour\n";
/// As sha256sum says.
const X_SHA256: &str = "c45d3a272228cc542168164ba961fa622e95260bfd107eb1276940cb5209433e";
const OLD_SHA256: &str = "01d09d19c2139a46aebfb577780d123d7396e97201bc7ead210a2ebff8239dee";
const DIFF: &[u8] = b"--- a/etc/x\n+++ b/etc/x\n@@ -2,3 +2,3 @@\n two\n-three\n+THREE\n four\n\
    --- /dev/null\n+++ b/srv/new\n@@ -0,0 +1 @@\n+new\n\
    --- a/srv/old\n+++ /dev/null\n@@ -1 +0,0 @@\n-old\n";

fn info(path: &str, size: usize) -> v1::FileInfo {
    v1::FileInfo {
        path: path.into(),
        r#type: v1::FileType::File.into(),
        size: size as u64,
        mode: "0640".into(),
        owner: "root".into(),
        group: "adm".into(),
        ..v1::FileInfo::default()
    }
}

/// A file that may be read, in two parts.
fn read(path: &str, content: &[u8]) -> Play {
    let (head, tail) = content.split_at(content.len() / 2);
    let files = vec![info(path, content.len())];
    let done = v1::Completed { status: Status::Done.into(), files, ..v1::Completed::default() };
    Play::Events(vec![output(v1::Stream::Content, head), output(v1::Stream::Content, tail), completed(done)])
}

/// The answer to the question whether a verb is granted.
fn granted(decision: Decision) -> Play {
    let status = Status::Previewed.into();
    Play::Events(vec![completed(v1::Completed {
        status,
        decision: decision.into(),
        ..v1::Completed::default()
    })])
}

fn previewed(files: Vec<v1::FileStep>) -> Play {
    let plan = Some(v1::Plan { files, ..v1::Plan::default() });
    let status = Status::Previewed.into();
    Play::Events(vec![completed(v1::Completed {
        status,
        plan,
        rule: "web".into(),
        ..v1::Completed::default()
    })])
}

fn done() -> Play {
    Play::Events(vec![ended(Status::Done, "")])
}

/// A change as it was sent: the path, write or remove, the content, what is expected.
type Change = (String, ChangeKind, String, String);

fn sent(request: &v1::FilePatchRequest) -> Vec<Change> {
    let one = |c: &v1::FileChange| {
        let content = String::from_utf8(c.content.clone()).unwrap();
        assert_eq!((&*c.mode, &*c.owner, &*c.group), ("", "", ""), "what is not asked for is kept");
        (c.path.clone(), c.kind(), content, c.expect.clone())
    };
    request.changes.iter().map(one).collect()
}

fn change(path: &str, kind: ChangeKind, content: &str, expect: &str) -> Change {
    (path.into(), kind, content.into(), expect.into())
}

#[tokio::test]
async fn a_patch_is_one_request_that_expects_what_was_read() {
    let place = Place::new();
    let helper = place.helper(vec![read("/etc/x", X), read("/srv/old", b"old\n"), done()]);
    let id = uuid::Uuid::now_v7().to_string();
    let ran =
        place.run_with(&["--direct", "file", "patch", "--request-id", &id, "--reason", "why"], DIFF).await;
    assert_eq!(ran.exit, Exit::Done, "{ran:?}");
    let seen = helper.seen();
    assert_eq!(
        seen.iter().map(|s| s.rpc.as_str()).collect::<Vec<_>>(),
        ["FileRead", "FileRead", "FilePatch"]
    );
    let request: v1::FilePatchRequest = seen[2].decode();
    let expected = [
        change("/etc/x", ChangeKind::Write, "one\ntwo\nTHREE\nfour\n", X_SHA256),
        change("/srv/new", ChangeKind::Write, "new\n", "absent"),
        change("/srv/old", ChangeKind::Remove, "", OLD_SHA256),
    ];
    assert_eq!(sent(&request), expected);
    let metas: Vec<_> = seen.iter().map(common::Seen::meta).collect();
    assert_eq!((metas[2].request_id.as_str(), metas[2].reason.as_str()), (id.as_str(), "why"));
    assert_ne!(metas[0].request_id, metas[2].request_id, "the id is the patch's own");
}

#[tokio::test]
async fn a_patch_goes_through_the_agent_too() {
    let place = Place::new();
    let helper = place.helper(vec![read("/etc/x", X), done()]);
    place.serve();
    let ran =
        place.run_with(&["file", "patch", "--exclude", "/srv/new", "--exclude", "/srv/old"], DIFF).await;
    assert_eq!(ran.exit, Exit::Done, "{ran:?}");
    let request: v1::FilePatchRequest = helper.seen()[1].decode();
    assert_eq!(sent(&request), [change("/etc/x", ChangeKind::Write, "one\ntwo\nTHREE\nfour\n", X_SHA256)]);
}

#[tokio::test]
async fn nothing_is_sent_of_a_patch_that_does_not_fit_and_every_misfit_is_named() {
    let place = Place::new();
    let helper = place.helper(vec![read("/etc/x", b"one\ntwo\ntree\n"), read("/srv/old", b"old\nmore\n")]);
    let ran = place.run_with(&["--direct", "file", "patch"], DIFF).await;
    assert_eq!((ran.exit, ran.out.as_str()), (Exit::Failed, ""), "{ran:?}");
    let said = "postern: precondition_failed: hunk 1 of \"/etc/x\" does not fit: line 3: expected \"three\", actual \
                \"tree\"; hunk 1 of \"/srv/old\" leaves 1 lines of a file that should be gone; nothing has been done\n";
    assert_eq!(ran.err, said);
    helper.add(read("/etc/x", b"two\nthree\nfour\n\n\ntwo\nthree\nfour\n"));
    let ran = place.run_with(&["--direct", "file", "patch", "--json"], &DIFF[..74]).await;
    let message = ran.json()["error"]["message"].to_string();
    assert!(message.contains("fits in several places, lines 1, 6"), "{ran:?}");
    assert!(helper.seen().iter().all(|seen| seen.rpc == "FileRead"));
}

#[tokio::test]
async fn a_patch_that_is_in_already_asks_for_nothing() {
    let place = Place::new();
    let helper = place.helper(vec![read("/etc/x", X)]);
    let same = b"--- a/etc/x\n+++ b/etc/x\n@@ -1 +1 @@\n-one\n+one\n";
    let ran = place.run_with(&["--direct", "file", "patch", "--json"], same).await;
    assert_eq!((ran.exit, ran.json()["status"].as_str()), (Exit::Done, Some("unchanged")), "{ran:?}");
    assert_eq!(helper.seen().len(), 1);
}

#[tokio::test]
async fn a_hunk_that_moved_is_told() {
    let place = Place::new();
    place.helper(vec![read("/etc/x", b"zero\none\ntwo\nthree\nfour\n"), done()]);
    let ran = place.run_with(&["--direct", "file", "patch"], &DIFF[..74]).await;
    assert!(ran.err.contains("hunk 1 of /etc/x stands at line 3, not 2\n"), "{ran:?}");
}

#[tokio::test]
async fn a_patch_of_a_file_that_may_not_be_read_is_refused_as_the_reading_is() {
    let place = Place::new();
    let helper = place.helper(vec![Play::Events(vec![refused("no_grant")])]);
    let ran = place.run_with(&["--direct", "file", "patch"], DIFF).await;
    assert_eq!(ran.exit, Exit::Refused, "{ran:?}");
    assert!(
        ran.err.starts_with("/etc/x must be read first") && ran.err.contains("refused: no_grant"),
        "{ran:?}"
    );
    helper.add(Play::Events(vec![refused("not_found")]));
    helper.add(read("/srv/old", b"old\n"));
    let ran = place.run_with(&["--direct", "file", "patch"], DIFF).await;
    assert_eq!(ran.exit, Exit::Failed);
    assert!(ran.err.contains("\"/etc/x\" does not exist; nothing has been done"), "{ran:?}");
    let cut = v1::Output { stream: v1::Stream::Content.into(), data: b"one\n".to_vec(), truncated: true };
    helper.add(Play::Events(vec![v1::event::Kind::Output(cut), ended(Status::Done, "")]));
    let ran = place.run_with(&["--direct", "file", "patch"], DIFF).await;
    assert!(ran.err.contains("too_large: \"/etc/x\" is larger than may be read"), "{ran:?}");
}

#[tokio::test]
async fn a_diff_that_is_none_is_wrong_usage() {
    let place = Place::new();
    let helper = place.helper(Vec::new());
    let rename = b"diff --git a/etc/x b/etc/y\nsimilarity index 100%\nrename from etc/x\nrename to etc/y\n";
    for (args, input, why) in [
        (&["file", "patch"][..], &b"hello\n"[..], "line 1 of the diff: there is no file in it"),
        (&["file", "patch"], rename, "line 2 of the diff: renames and copies are not patched"),
        (&["file", "patch", "--exclude", "/etc/y"], DIFF, "--exclude: \"/etc/y\" is not in the diff"),
        (&["file", "patch", "--exclude", "/etc/x"], &DIFF[..74], "no file of the diff is left"),
        (&["file", "patch", "--from", "/no/such"], b"", "cannot read /no/such"),
    ] {
        let args = [&["--direct"], args].concat();
        let ran = place.run_with(&args, input).await;
        assert_eq!(ran.exit, Exit::Usage, "{args:?}: {ran:?}");
        assert!(ran.err.contains(why), "{args:?}: {ran:?}");
    }
    assert!(helper.seen().is_empty());
}

fn step(path: &str, kind: ChangeKind, size: u64) -> v1::FileStep {
    let [mode, owner, group] = ["0644", "root", "root"].map(str::to_owned);
    let kind = kind.into();
    v1::FileStep { path: path.into(), kind, new_size: size, mode, owner, group, ..v1::FileStep::default() }
}

#[tokio::test]
async fn a_dry_run_of_a_patch_shows_modes_owners_and_the_diff() {
    let place = Place::new();
    let steps = vec![
        step("/etc/x", ChangeKind::Write, 19),
        step("/srv/new", ChangeKind::Write, 4),
        step("/srv/old", ChangeKind::Remove, 0),
    ];
    let helper = place.helper(vec![read("/etc/x", X), read("/srv/old", b"old\n"), previewed(steps)]);
    let ran = place.run_with(&["--direct", "file", "patch", "--dry-run"], DIFF).await;
    let expected = "\
would write   /etc/x    +1 -1  19 bytes  0640 -> 0644  root:adm -> root:root
would create  /srv/new  +1 -0  4 bytes   0644          root:root
would remove  /srv/old  +0 -1
--- a/etc/x
+++ b/etc/x
@@ -1,4 +1,4 @@
 one
 two
-three
+THREE
 four
--- /dev/null
+++ b/srv/new
@@ -0,0 +1 @@
+new
--- a/srv/old
+++ /dev/null
@@ -1 +0,0 @@
-old
";
    assert_eq!((ran.exit, ran.out.as_str()), (Exit::Done, expected), "{ran:?}");
    let modes: Vec<_> = helper.seen().iter().map(|seen| seen.meta().mode()).collect();
    assert_eq!(modes, [Mode::Execute, Mode::Execute, Mode::Preview], "reading changes nothing");
}

#[tokio::test]
async fn dry_run_warns_of_places_that_amount_to_root_by_the_list_of_the_policy_s_check() {
    let cron = "high risk: /etc/cron.d/x: cron and anacron run its commands, as root or as the user that a line names\n";
    let nginx = "high risk: /etc/nginx/x: load_module, user, error_log and include are taken as root when nginx starts";
    for (path, content, warning) in [
        ("/etc/cron.d/x", "a\n* * * * * root x\n", Some(cron)),
        ("/etc/nginx/x", "a\nload_module x.so;\n", Some(nginx)),
        ("/etc/nginx/x", "a\nlisten 80;\n", None),
        ("/srv/cron.d/x", "a\nx\n", None),
    ] {
        let place = Place::new();
        place.helper(vec![
            previewed(vec![step(path, ChangeKind::Write, 4)]),
            granted(Decision::Allow),
            read(path, b"a\n"),
        ]);
        let ran = place.run(&["--direct", "file", "write", path, "--content", content, "--dry-run"]).await;
        assert_eq!(ran.out.matches("high risk: ").count(), usize::from(warning.is_some()), "{ran:?}");
        assert!(ran.out.contains(warning.unwrap_or_default()), "{ran:?}");
    }
}

#[tokio::test]
async fn dry_run_of_a_removal_does_not_warn_of_what_is_not_written() {
    let place = Place::new();
    place.helper(vec![previewed(vec![step("/etc/cron.d/x", ChangeKind::Remove, 0)])]);
    let ran = place.run(&["--direct", "file", "remove", "/etc/cron.d/x", "--dry-run"]).await;
    assert_eq!(ran.out.matches("high risk: ").count(), 0, "{ran:?}");
    assert!(ran.out.contains("/etc/cron.d/x"), "{ran:?}");
}

#[tokio::test]
async fn a_dry_run_of_a_write_shows_a_diff_of_what_may_be_read_and_asks_nobody() {
    let place = Place::new();
    let write = ["--direct", "file", "write", "/srv/x", "--content", "a\nB\n", "--dry-run"];
    let helper = place.helper(vec![
        previewed(vec![step("/srv/x", ChangeKind::Write, 4)]),
        granted(Decision::Allow),
        read("/srv/x", b"a\nb\x1b[31m\n"),
    ]);
    let ran = place.run(&write).await;
    assert!(ran.out.contains("-b\\x1b[31m\n+B\n"), "control characters are escaped: {ran:?}");
    let json = [&write[..], &["--json"]].concat();
    helper.add(previewed(vec![step("/srv/x", ChangeKind::Write, 4)]));
    helper.add(granted(Decision::Allow));
    helper.add(read("/srv/x", b"a\nb\n"));
    let diff = "--- a/srv/x\n+++ b/srv/x\n@@ -1,2 +1,2 @@\n a\n-b\n+B\n";
    assert_eq!(place.run(&json).await.json()["result"]["diff"], diff);

    helper.add(previewed(vec![step("/srv/x", ChangeKind::Write, 4)]));
    helper.add(granted(Decision::Ask));
    let ran = place.run(&write).await;
    assert_eq!(ran.out, "would write  /srv/x  4 bytes  0644  root:root\n");
    assert!(ran.err.contains("no diff of /srv/x: it may not be read"), "{ran:?}");
    assert_eq!(
        helper.seen().last().unwrap().meta().mode(),
        Mode::Check,
        "a person was not asked for a dry run"
    );

    helper.add(Play::Events(vec![refused("no_grant")]));
    let asked = helper.seen().len();
    assert_eq!(place.run(&write).await.exit, Exit::Refused);
    assert_eq!(helper.seen().len(), asked + 1, "what is refused needs no diff");
}

async fn edit(place: &mut Place, script: &str, args: &[&str]) -> Ran {
    let editor = place.script("editor", script);
    place.host.editor = vec![editor.display().to_string(), "--wait".to_owned()];
    place.run(&[&["--direct", "file", "edit", "/etc/x.conf"], args].concat()).await
}

#[tokio::test]
async fn an_edit_writes_what_the_editor_left_if_nobody_else_wrote() {
    let mut place = Place::new();
    let helper = place.helper(vec![read("/etc/x.conf", X), done()]);
    // The copy is private, and has the file's name.
    let looked = place.path("looked");
    let script = format!(
        "test \"$1\" = --wait || exit 9\nstat -c '%a %n' \"$2\" \"$(dirname \"$2\")\" > {}\nsed -i s/three/3/ \"$2\"",
        looked.display()
    );
    let ran = edit(&mut place, &script, &[]).await;
    assert_eq!(ran.exit, Exit::Done, "{ran:?}");
    let change = helper.seen()[1].decode::<v1::FileWriteRequest>().change.unwrap();
    assert_eq!(
        (change.path.as_str(), change.content.as_slice()),
        ("/etc/x.conf", &b"one\ntwo\n3\nfour\n"[..])
    );
    assert_eq!((change.expect, change.mode), (X_SHA256.to_owned(), String::new()));
    let looked = std::fs::read_to_string(looked).unwrap();
    let lines: Vec<_> = looked.lines().map(|line| line.split_once(' ').unwrap()).collect();
    assert_eq!((lines[0].0, lines[1].0), ("600", "700"));
    assert!(lines[0].1.ends_with("/x.conf"), "{looked}");
    assert!(!std::path::Path::new(lines[1].1).exists(), "the copy is gone");
}

#[tokio::test]
async fn an_edit_that_changes_nothing_asks_for_nothing() {
    let mut place = Place::new();
    let helper = place.helper(vec![read("/etc/x.conf", X)]);
    let ran = edit(&mut place, "exit 0", &[]).await;
    assert_eq!((ran.exit, ran.out.as_str()), (Exit::Done, "file.write: nothing to do\n"), "{ran:?}");
    assert_eq!(helper.seen().len(), 1);
}

#[tokio::test]
async fn an_edit_of_a_file_that_is_not_there_makes_it() {
    let mut place = Place::new();
    let helper = place.helper(vec![Play::Events(vec![refused("not_found")]), done()]);
    let ran = edit(&mut place, "echo new > \"$2\"", &[]).await;
    assert_eq!(ran.exit, Exit::Done, "{ran:?}");
    let change = helper.seen()[1].decode::<v1::FileWriteRequest>().change.unwrap();
    assert_eq!((change.content.as_slice(), change.expect.as_str()), (&b"new\n"[..], "absent"));
}

#[tokio::test]
async fn the_text_of_an_edit_that_was_not_written_is_kept() {
    let mut place = Place::new();
    let helper =
        place.helper(vec![read("/etc/x.conf", X), Play::Events(vec![refused("precondition_failed")])]);
    let ran = edit(&mut place, "echo mine > \"$2\"", &[]).await;
    assert_eq!(ran.exit, Exit::Failed, "{ran:?}");
    let copy =
        ran.err.lines().find_map(|line| line.strip_prefix("your text is in ")).expect(&ran.err).to_owned();
    assert_eq!(std::fs::read_to_string(&copy).unwrap(), "mine\n");
    std::fs::remove_dir_all(std::path::Path::new(&copy).parent().unwrap()).unwrap();

    helper.add(read("/etc/x.conf", X));
    let ran = edit(&mut place, "echo mine > \"$2\"; exit 3", &[]).await;
    assert_eq!(ran.exit, Exit::Failed, "{ran:?}");
    let (said, copy) = ran.err.trim_end().split_once("; your text is in ").expect(&ran.err);
    assert_eq!(said, "postern: failed: the editor ended with exit status: 3; nothing has been written");
    std::fs::remove_dir_all(std::path::Path::new(copy).parent().unwrap()).unwrap();

    helper.add(read("/etc/x.conf", X));
    let ran = edit(&mut place, "exit 3", &[]).await;
    assert!(!ran.err.contains("your text"), "there is none: {ran:?}");
    place.host.editor = vec!["/no/such/editor".to_owned()];
    helper.add(read("/etc/x.conf", X));
    let ran = place.run(&["--direct", "file", "edit", "/etc/x.conf"]).await;
    assert!(ran.err.contains("cannot start the editor \"/no/such/editor\""), "{ran:?}");
}

#[tokio::test]
async fn a_dry_run_of_an_edit_shows_what_would_be_written() {
    let mut place = Place::new();
    place.helper(vec![read("/etc/x.conf", X), previewed(vec![step("/etc/x.conf", ChangeKind::Write, 16)])]);
    let ran = edit(&mut place, "sed -i s/three/3/ \"$2\"", &["--dry-run"]).await;
    assert!(
        ran.out.starts_with("would write  /etc/x.conf  +1 -1  16 bytes")
            && ran.out.contains("\n-three\n+3\n")
    );
}

#[tokio::test]
async fn an_owner_that_is_kept_and_a_file_that_is_gone_are_told_so() {
    let place = Place::new();
    let kept = v1::FileStep {
        owner: String::new(),
        group: String::new(),
        not_kept: true,
        ..step("/etc/x", ChangeKind::Write, 19)
    };
    let gone = v1::FileInfo { path: "/srv/old".into(), ..v1::FileInfo::default() };
    let directory = v1::FileInfo { r#type: v1::FileType::Directory.into(), ..info("/srv/d", 0) };
    let files = |files| {
        let done = v1::Completed { status: Status::Done.into(), files, ..v1::Completed::default() };
        Play::Events(vec![completed(done)])
    };
    place.helper(vec![read("/etc/x", X), previewed(vec![kept]), files(vec![gone]), files(vec![directory])]);
    let ran = place.run_with(&["--direct", "file", "patch", "--dry-run"], &DIFF[..74]).await;
    let row =
        "would write  /etc/x  +1 -1  19 bytes  0640 -> 0644  root:adm  cannot be undone: no copy is kept\n";
    assert!(ran.out.starts_with(row), "{ran:?}");
    assert_eq!(place.run(&["--direct", "file", "remove", "/srv/old"]).await.out, "/srv/old is gone\n");
    assert_eq!(place.run(&["--direct", "file", "mkdir", "/srv/d"]).await.out, "/srv/d: 0640 root:adm\n");
}

#[tokio::test]
async fn a_directory_is_listed_as_a_table() {
    let place = Place::new();
    let directory =
        v1::FileInfo { r#type: v1::FileType::Directory.into(), ..info("/srv/conf\u{1b}.d", 4096) };
    let files = vec![v1::FileInfo { mtime_unix_s: 1_700_000_000, ..info("/srv/x", 7) }, directory];
    let done = v1::Completed { status: Status::Done.into(), files, ..v1::Completed::default() };
    place.helper(vec![Play::Events(vec![completed(done)])]);
    let ran = place.run(&["--direct", "file", "list", "/srv"]).await;
    let at = jiff::Timestamp::from_second(1_700_000_000).expect("a time");
    let changed = at.to_zoned(jiff::tz::TimeZone::system()).strftime("%Y-%m-%d %H:%M:%S %Z").to_string();
    let none = " ".repeat(changed.len());
    let expected = format!(
        "file       0640  root:adm  7     {changed}  /srv/x\ndirectory  0640  root:adm  4096  {none}  /srv/conf\\x1b.d\n"
    );
    assert_eq!(ran.out, expected);
}

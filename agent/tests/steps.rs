//! Steps of a task that find out first what they ask for, and those of the verbs that came last.

mod common;

use common::{Place, Play, completed, ended, output, refused, unit};
use postern_agent::Exit;
use postern_proto::v1::{self, Mode, Status};
use serde_json::json;

const TASK: &str = "apply the patch '--- a/etc/x\n+++ b/etc/x\n@@ -1 +1 @@\n-one\n+ONE\n--- a/etc/y\n+++ /dev/null\n\
    @@ -1 +0,0 @@\n-y' and restart nginx";
/// As sha256sum says of "y\n".
const Y_SHA256: &str = "3bb2abb69ebb27fbfe63c7639624c6ec5e331b841a5bc8c3ebc10b9285e90877";

fn file(content: &[u8]) -> Play {
    Play::Events(vec![output(v1::Stream::Content, content), ended(Status::Done, "")])
}

fn done() -> Play {
    let status = Status::Done.into();
    Play::Events(vec![completed(v1::Completed { status, undoable: true, ..v1::Completed::default() })])
}

fn restarted() -> Play {
    Play::Events(vec![unit(Status::Done, "nginx.service", "active", "running")])
}

#[tokio::test]
async fn a_patch_in_a_task_reads_its_files_and_is_one_change() {
    let place = Place::new();
    let helper = place.helper(vec![file(b"one\n"), file(b"y\n"), done(), restarted()]);
    place.serve();
    let ran = place.run(&["run", TASK, "--json"]).await;
    assert_eq!(ran.exit, Exit::Done, "{ran:?}");
    let seen = helper.seen();
    let rpcs: Vec<_> = seen.iter().map(|seen| seen.rpc.as_str()).collect();
    assert_eq!(rpcs, ["FileRead", "FileRead", "FilePatch", "UnitRestart"]);
    let sent: v1::FilePatchRequest = seen[2].decode();
    assert_eq!((&*sent.changes[0].content, sent.changes[1].expect.as_str()), (&b"ONE\n"[..], Y_SHA256));
    let changes = &ran.json()["changes"];
    assert_eq!((&changes[0]["verb"], &changes[0]["target"]), (&json!("file.patch"), &json!("/etc/x /etc/y")));
    assert_eq!(changes[2], json!(null), "reading changed nothing");
}

#[tokio::test]
async fn a_patch_that_does_not_fit_ends_its_task_with_what_was_expected() {
    let place = Place::new();
    let helper = place.helper(vec![file(b"two\n"), file(b"y\n")]);
    let task = place.run(&["--direct", "run", TASK, "--json"]).await;
    assert_eq!(task.exit, Exit::Failed, "{task:?}");
    let error =
        "precondition_failed: hunk 1 of \"/etc/x\" does not fit: line 1: expected \"one\", actual \"two\"";
    assert_eq!(task.json()["results"][0]["error"], error);
    assert_eq!(helper.seen().len(), 2);
    helper.add(Play::Events(vec![refused("no_grant")]));
    let task = place.run(&["--direct", "run", TASK, "--json"]).await;
    assert_eq!((task.exit, &task.json()["results"][0]["status"]), (Exit::Refused, &json!("refused")));
    helper.add(file(b"ONE\n"));
    let same = "apply the patch '--- a/etc/x\n+++ b/etc/x\n@@ -1 +1 @@\n-ONE\n+ONE'";
    let task = place.run(&["--direct", "run", same, "--json"]).await;
    assert!(task.json()["results"][0]["error"].as_str().unwrap().contains("hold already"), "{task:?}");
}

#[tokio::test]
async fn a_dry_run_of_a_patch_in_a_task_reads_and_shows_what_would_change() {
    let place = Place::new();
    let step =
        v1::FileStep { path: "/etc/x".into(), new_size: 4, mode: "0644".into(), ..v1::FileStep::default() };
    let plan = Some(v1::Plan { files: vec![step], ..v1::Plan::default() });
    let status = Status::Previewed.into();
    let previewed = Play::Events(vec![completed(v1::Completed { status, plan, ..v1::Completed::default() })]);
    let helper = place.helper(vec![
        file(b"one\n"),
        file(b"y\n"),
        previewed,
        Play::Events(vec![ended(Status::Previewed, "")]),
    ]);
    let ran = place.run(&["--direct", "run", TASK, "--dry-run"]).await;
    assert_eq!(ran.exit, Exit::Done, "{ran:?}");
    assert!(ran.out.contains("would write  /etc/x  +1 -1  4 bytes"), "{ran:?}");
    assert!(ran.out.contains("\n-one\n+ONE\n--- a/etc/y\n+++ /dev/null\n"), "{ran:?}");
    let modes: Vec<_> = helper.seen().iter().map(|seen| seen.meta().mode()).collect();
    assert_eq!(modes, [Mode::Execute, Mode::Execute, Mode::Preview, Mode::Preview]);
}

#[tokio::test]
async fn a_change_of_a_task_that_must_be_kept_is_named_at_its_end_with_the_command_that_keeps_it() {
    let place = Place::new();
    let status = Status::Done.into();
    let keep_until_unix_s = common::in_seconds(120);
    let kept = completed(v1::Completed { status, keep_until_unix_s, ..v1::Completed::default() });
    place.helper(vec![Play::Events(vec![kept]), restarted()]);
    let ran = place.run(&["--direct", "run", "write 'x' to /etc/nftables.d/a.nft and restart nginx"]).await;
    assert_eq!(ran.exit, Exit::Done, "{ran:?}");
    let (_, warning) =
        ran.err.split_once("file.write /etc/nftables.d/a.nft: taken back at ").expect(&ran.err);
    assert!(warning.contains("; to keep it, log in anew and run: postern keep "), "{ran:?}");
    assert!(!ran.err.contains("unit.restart nginx.service: taken back"), "{ran:?}");
}

#[tokio::test]
async fn an_undo_in_a_task_takes_back_what_the_person_changed_last() {
    let place = Place::new();
    let helper = place.helper(vec![done(), done(), done()]);
    place.serve();
    let first = place.run(&["service", "stop", "nginx", "--json"]).await.json()["request_id"].clone();
    let ran = place.run(&["run", "mask bluetooth, undo the last change", "--json"]).await;
    assert_eq!(ran.exit, Exit::Done, "{ran:?}");
    let seen = helper.seen();
    assert_eq!((seen[1].rpc.as_str(), seen[2].rpc.as_str()), ("UnitMask", "RequestUndo"));
    assert_eq!(
        seen[2].decode::<v1::RequestUndoRequest>().of,
        seen[1].meta().request_id,
        "its own, not {first}"
    );
    let ran = place.run(&["run", "undo the last change"]).await;
    assert_eq!(ran.exit, Exit::Refused, "what came before that task is not meant: {ran:?}");
    assert!(ran.err.contains("unknown_request: nothing is left to take back of your last task"), "{ran:?}");
    let ran = place.run(&["--direct", "run", "undo the last change"]).await;
    assert_eq!(ran.exit, Exit::Usage, "{ran:?}");
    assert_eq!(helper.seen().len(), 3);
}

#[tokio::test]
async fn every_order_becomes_its_own_verb() {
    let orders = [
        ("remove nginx", "PackageRemove"),
        ("purge nginx", "PackagePurge"),
        ("autoremove", "PackageAutoremove"),
        ("upgrade all packages", "PackageUpgrade"),
        ("hold nginx", "PackageHold"),
        ("unhold nginx", "PackageUnhold"),
        ("repair the packages", "PackageRepair"),
        ("try-restart nginx", "UnitTryRestart"),
        ("reset-failed nginx", "UnitResetFailed"),
        ("unmask nginx", "UnitUnmask"),
        ("daemon-reload", "UnitDaemonReload"),
        ("list /srv", "FileList"),
        ("create the directory /srv/x", "FileMkdir"),
        ("set the mode of /srv/x to 0640", "FileSetMode"),
        ("set the owner of /srv/x to a:b", "FileSetOwner"),
        ("delete /srv/x", "FileRemove"),
    ];
    let place = Place::new();
    let helper = place.helper(orders.iter().map(|_| done()).collect());
    for (order, rpc) in orders {
        let ran = place.run(&["--direct", "run", order]).await;
        assert_eq!((ran.exit, helper.seen().last().unwrap().rpc.as_str()), (Exit::Done, rpc), "{ran:?}");
    }
    let seen = helper.seen();
    assert_eq!(seen[14].decode::<v1::FileSetOwnerRequest>().group, "b");
    assert!(seen[3].decode::<v1::PackageUpgradeRequest>().all);
}

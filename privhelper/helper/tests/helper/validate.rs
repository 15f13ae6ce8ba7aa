//! A rule's validator against a fake systemd-run: what it is shown, when it is asked, and what its answer does.

use crate::common::{Answer, CLIENT_UID, World, accept_whole, meta, rule, strings, write_request};
use crate::undo::{of, undo};
use postern_proto::root::v1 as root;
use postern_proto::v1::{self as wire, Mode, Status, event::Kind};
use prost::Message;
use root::Sandbox;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

fn row() -> root::Command {
    root::Command {
        name: "agrees".to_owned(),
        argv: strings(&["/usr/bin/printf", "-t"]),
        user: "nobody".to_owned(),
        sandbox: Sandbox::Validator.into(),
        scratch: strings(&["/run"]),
        capabilities: strings(&["CAP_NET_BIND_SERVICE"]),
        cwd: "/".to_owned(),
        timeout_s: 20,
        output_bytes: 65536,
        ..root::Command::default()
    }
}

/// A world whose client may write `site` if this command agrees.
fn world(verbs: &[&str], command: root::Command) -> World {
    let mut world = World::new(|_| Vec::new());
    let site = root::Rule {
        directories: vec![world.text("site")],
        files: strings(&["*.html"]),
        validate: "agrees".to_owned(),
        ..rule("site", verbs)
    };
    let accepted = root::Rules { rules: vec![site], commands: vec![command], ..root::Rules::default() };
    fs::write(world.path("state/policy/accepted.pb"), accept_whole(accepted)).unwrap();
    world.restart();
    world
}

/// What is asked: it prints this, then ends with this exit code. `look` runs in a shell before, with `$copy`, what
/// stands for the directory, and `$live`.
fn answers(world: &World, look: &str, exit_code: i32) {
    let output =
        wire::Output { stream: wire::Stream::Stderr.into(), data: b"line 1: bad".to_vec(), truncated: false };
    let event = root::JobEvent { output: Some(output), ..Default::default() }.encode_to_vec();
    let framed = [u32::try_from(event.len()).unwrap().to_le_bytes().as_slice(), &event].concat();
    let code = if exit_code == 0 { "" } else { "command_failed" };
    let outcome = root::JobOutcome { exit_code, code: code.to_owned(), ..Default::default() };
    fs::write(world.path("events"), framed).unwrap();
    fs::write(world.path("outcome"), outcome.encode_to_vec()).unwrap();
    let at = world.text("");
    world.systemctl(&format!(
        "for word in \"$@\"; do case $word in\n\
         --unit=postern-command-*) id=${{word#--unit=postern-command-}}; id=${{id%.service}};;\n\
         --property=BindReadOnlyPaths=*) pair=${{word#--property=BindReadOnlyPaths=}}; copy=${{pair%%:*}}; live=${{pair#*:}};;\n\
         esac; done\n\
         [ -n \"$id\" ] || exit 0\n\
         {look}\n\
         jobs={at}/state/jobs/$id; cp $jobs/job.pb {at}/job.pb\n\
         cp {at}/events $jobs/events; cp {at}/outcome $jobs/o; mv $jobs/o $jobs/outcome.pb"
    ));
}

fn write(world: &World, content: &[u8]) -> Answer {
    let request = write_request(&world.text("site/a.html"), content, "any");
    world.connect(CLIENT_UID).ask("Helper/FileWrite", &request)
}

fn site(world: &World) -> String {
    fs::read_to_string(world.path("site/a.html")).unwrap_or_default()
}

/// The properties of the unit that PID 1 was told to make.
fn properties(world: &World) -> Vec<String> {
    let calls = world.calls();
    let call = calls.iter().find(|call| call[0] == "--quiet").unwrap();
    let told = call.iter().take_while(|word| *word != "--");
    told.filter_map(|word| word.strip_prefix("--property=")).map(str::to_owned).collect()
}

fn is_empty(world: &World, directory: &str) -> bool {
    fs::read_dir(world.path(directory)).unwrap().count() == 0
}

#[test]
fn the_live_file_changes_only_if_the_validator_agrees_and_nobody_else_sees_the_candidate() {
    let world = world(&["file.write"], row());
    fs::write(world.path("site/a.html"), "old").unwrap();
    fs::write(world.path("site/b.html"), "beside").unwrap();
    let at = world.text("");
    let look = format!(
        "cat $live/a.html > {at}/was; ls -a $live > {at}/names; cat $copy/a.html $copy/b.html > {at}/shown"
    );
    answers(&world, &look, 1);
    let refused = write(&world, b"new");
    let completed = refused.completed();
    assert_eq!((completed.status(), completed.code.as_str()), (Status::Failed, "validation_failed"));
    assert!(
        completed
            .message
            .contains("agrees does not agree, so nothing was changed: it ended with exit code 1")
    );
    assert_eq!(site(&world), "old");
    let seen = |name: &str| fs::read_to_string(world.path(name)).unwrap();
    assert_eq!((seen("was").as_str(), seen("shown").as_str()), ("old", "newbeside"));
    assert_eq!(seen("names").lines().count(), 4, "nothing stands beside the live file: {}", seen("names"));
    assert!(
        is_empty(&world, "state/staging") && is_empty(&world, "state/jobs") && is_empty(&world, "state/undo")
    );

    answers(&world, &look, 0);
    assert_eq!(write(&world, b"new").completed().status(), Status::Done);
    assert_eq!(
        (site(&world).as_str(), seen("was").as_str()),
        ("new", "old"),
        "it was asked before the change"
    );
    assert!(is_empty(&world, "state/staging") && is_empty(&world, "state/jobs"));
    assert_eq!((world.count("begin"), world.count("end")), (2, 2));
    let job = root::Job::decode(fs::read(world.path("job.pb")).unwrap().as_slice()).unwrap();
    assert_eq!(job.command.unwrap().argv, strings(&["/usr/bin/printf", "-t"]));
}

#[test]
fn a_validator_is_shown_the_copy_read_only_in_the_place_of_the_directory_and_nothing_of_roots_state() {
    let world = world(&["file.write"], row());
    answers(&world, "", 0);
    assert_eq!(write(&world, b"new").completed().status(), Status::Done);
    let told = properties(&world);
    let has = |property: &str| told.iter().any(|one| one == property);
    let bind = told.iter().find_map(|one| one.strip_prefix("BindReadOnlyPaths=")).unwrap();
    let (copy, live) = bind.split_once(':').unwrap();
    assert_eq!(live, world.text("site"));
    assert!(copy.starts_with(&world.text("state/staging/")), "{copy}");
    for property in [
        "ProtectSystem=strict",
        "PrivateNetwork=yes",
        "DynamicUser=yes",
        "TimeoutStartSec=20s",
        "TemporaryFileSystem=/run:mode=1777,size=64M",
        "CapabilityBoundingSet=CAP_NET_BIND_SERVICE",
        "InaccessiblePaths=-/etc/shadow",
        "InaccessiblePaths=-/etc/postern",
    ] {
        assert!(has(property), "{property}: {told:#?}");
    }
    for name in ["undo", "jobs", "policy", "requests"] {
        assert!(
            has(&format!("InaccessiblePaths={}", world.text(&format!("state/{name}")))),
            "{name}: {told:#?}"
        );
    }
    assert!(!told.iter().any(|one| one.starts_with("ReadWritePaths=")));
}

#[test]
fn the_copy_has_links_as_links_owners_and_modes_and_nothing_special() {
    let world = world(&["file.write"], row());
    let site = world.path("site");
    fs::write(world.path("secret"), "not to be copied").unwrap();
    fs::set_permissions(&site, fs::Permissions::from_mode(0o750)).unwrap();
    symlink(world.path("secret"), site.join("link.html")).unwrap();
    symlink("nowhere", site.join("dangling")).unwrap();
    nix::unistd::mkfifo(&site.join("fifo"), nix::sys::stat::Mode::S_IRUSR).unwrap();
    fs::create_dir(site.join("inner")).unwrap();
    fs::write(site.join("inner/key.pem"), "key").unwrap();
    fs::set_permissions(site.join("inner/key.pem"), fs::Permissions::from_mode(0o4640)).unwrap();
    fs::write(site.join("a.html"), "old").unwrap();
    fs::set_permissions(site.join("a.html"), fs::Permissions::from_mode(0o600)).unwrap();
    let at = world.text("");
    answers(&world, &format!("cp -a $copy {at}/kept"), 0);
    assert_eq!(write(&world, b"new").completed().status(), Status::Done);
    let kept = world.path("kept");
    let mode = |path: &str| fs::symlink_metadata(kept.join(path)).unwrap().mode() & 0o7777;
    assert_eq!((mode(""), mode("a.html"), mode("inner/key.pem")), (0o750, 0o600, 0o640));
    assert_eq!(fs::read_link(kept.join("link.html")).unwrap(), world.path("secret"));
    assert_eq!(fs::read_link(kept.join("dangling")).unwrap(), std::path::Path::new("nowhere"));
    assert_eq!(fs::read(kept.join("inner/key.pem")).unwrap(), b"key");
    assert_eq!(fs::read(kept.join("a.html")).unwrap(), b"new");
    assert!(!kept.join("fifo").exists(), "a FIFO is left out");
}

#[test]
fn a_directory_that_is_too_large_is_not_copied_and_the_file_not_written() {
    let world = world(&["file.write"], row());
    answers(&world, "", 0);
    let large = world.path("site/large");
    fs::File::create(&large).unwrap().set_len(64 * 1024 * 1024 + 1).unwrap();
    let answer = write(&world, b"new");
    assert_eq!(answer.completed().code, "too_large");
    fs::remove_file(&large).unwrap();
    fs::create_dir(&large).unwrap();
    for number in 0..10_000 {
        symlink("x", large.join(number.to_string())).unwrap();
    }
    assert_eq!(write(&world, b"new").completed().code, "too_large");
    fs::remove_dir_all(&large).unwrap();
    let deep = (0..17).fold(world.path("site"), |path, _| path.join("d"));
    fs::create_dir_all(&deep).unwrap();
    assert_eq!(write(&world, b"new").completed().code, "too_large");
    fs::remove_dir(&deep).unwrap();
    assert_eq!(site(&world), "");
    assert!(world.calls().is_empty() && is_empty(&world, "state/staging"));
    assert_eq!(write(&world, b"new").completed().status(), Status::Done);
}

#[test]
fn a_patch_is_judged_as_a_whole_one_directory_for_another_and_so_is_what_is_removed() {
    let mut world = World::new(|_| Vec::new());
    world.host.group_name =
        |gid| if gid == nix::unistd::Gid::effective().as_raw() { "root".to_owned() } else { gid.to_string() };
    let directories = ["site", "more"].map(|name| world.text(name));
    fs::create_dir(&directories[1]).unwrap();
    let site = root::Rule {
        directories: directories.to_vec(),
        files: strings(&["*.html"]),
        validate: "agrees".to_owned(),
        ..rule("site", &["file.write", "file.patch", "file.remove", "request.undo"])
    };
    let accepted = root::Rules { rules: vec![site], commands: vec![row()], ..root::Rules::default() };
    fs::write(world.path("state/policy/accepted.pb"), accept_whole(accepted)).unwrap();
    world.restart();
    for name in ["site/a.html", "site/b.html", "more/c.html"] {
        fs::write(world.path(name), "old").unwrap();
    }
    let change = |name: &str, kind: wire::ChangeKind, content: &str| wire::FileChange {
        path: world.text(name),
        kind: kind.into(),
        content: content.as_bytes().to_vec(),
        expect: "any".to_owned(),
        ..wire::FileChange::default()
    };
    let patch = || wire::FilePatchRequest {
        meta: meta(Mode::Execute),
        changes: vec![
            change("site/a.html", wire::ChangeKind::Write, "new"),
            change("site/b.html", wire::ChangeKind::Remove, ""),
            change("more/c.html", wire::ChangeKind::Write, "new"),
        ],
    };
    // The last of the two is what `$copy` says; the first stands beside it.
    let at = world.text("");
    let look = format!("cp -a $(dirname $copy) {at}/kept");
    answers(&world, &look, 1);
    let mut channel = world.connect(CLIENT_UID);
    assert_eq!(channel.ask("Helper/FilePatch", &patch()).completed().code, "validation_failed");
    let read = |name: &str| fs::read_to_string(world.path(name)).ok();
    let all = |prefix: &str, names: [&str; 3]| names.map(|name| read(&format!("{prefix}{name}")));
    let live = ["site/a.html", "site/b.html", "more/c.html"];
    let old = Some("old".to_owned());
    assert_eq!(all("", live), [old.clone(), old.clone(), old.clone()]);
    let new = Some("new".to_owned());
    assert_eq!(all("kept/", ["0/a.html", "0/b.html", "1/c.html"]), [new.clone(), None, new.clone()]);
    let binds = properties(&world).into_iter().filter(|one| one.starts_with("BindReadOnlyPaths=")).count();
    assert_eq!(binds, 2);

    answers(&world, "", 0);
    let request = patch();
    assert_eq!(channel.ask("Helper/FilePatch", &request).completed().status(), Status::Done);
    assert_eq!(all("", live), [new.clone(), None, new]);
    // A client's own undo is a change by the same rule: it is judged too.
    answers(&world, "", 1);
    let of = request.meta.unwrap().request_id;
    let undo = || wire::RequestUndoRequest { meta: meta(Mode::Execute), of: of.clone() };
    assert_eq!(channel.ask("Helper/RequestUndo", &undo()).completed().code, "validation_failed");
    answers(&world, "", 0);
    assert_eq!(channel.ask("Helper/RequestUndo", &undo()).completed().status(), Status::Done);
    assert_eq!(all("", live), [old.clone(), old.clone(), old]);

    let remove = wire::FileRemoveRequest {
        meta: meta(Mode::Execute),
        path: world.text("site/a.html"),
        expect: "any".to_owned(),
    };
    answers(&world, "", 1);
    assert_eq!(channel.ask("Helper/FileRemove", &remove).completed().code, "validation_failed");
    assert!(
        read("site/a.html").is_some() && is_empty(&world, "state/staging") && is_empty(&world, "state/jobs")
    );
}

#[test]
fn a_dry_run_asks_no_validator_and_neither_does_what_changes_nothing() {
    let world = world(&["file.write"], row());
    answers(&world, "", 1);
    let mut request = write_request(&world.text("site/a.html"), b"new", "any");
    let mut channel = world.connect(CLIENT_UID);
    for mode in [Mode::Preview, Mode::Check] {
        request.meta = meta(mode);
        assert_eq!(channel.ask("Helper/FileWrite", &request).completed().status(), Status::Previewed);
    }
    fs::write(world.path("site/a.html"), "new").unwrap();
    fs::set_permissions(world.path("site/a.html"), fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(write(&world, b"new").completed().status(), Status::Unchanged);
    assert!(world.calls().is_empty());
}

/// What of the validator's words a client was told.
fn said(answer: &Answer) -> bool {
    let words = |event: &wire::Event| matches!(&event.kind, Some(Kind::Output(output)) if output.data == b"line 1: bad");
    answer.events.iter().any(words)
}

#[test]
fn what_a_validator_prints_is_told_to_nobody_who_could_not_have_read_it() {
    let reader = &["file.read", "file.write"][..];
    let strong = root::Command { capabilities: strings(&["CAP_DAC_READ_SEARCH"]), ..row() };
    let other = root::Command { user: "www-data".to_owned(), ..row() };
    for (verbs, command, is_told) in [
        (reader, row(), true),
        (&["file.write"][..], row(), false),
        (reader, strong, false),
        (reader, other, false),
    ] {
        let world = world(verbs, command);
        answers(&world, "", 3);
        let answer = write(&world, b"new");
        assert_eq!(said(&answer), is_told, "{verbs:?}");
        let message = &answer.completed().message;
        assert!(
            message.contains("exit code 3 and printed 11 bytes") && !message.contains("line 1"),
            "{message}"
        );
        assert!(!world.log().join("\n").contains("line 1"), "it stands in the log");
    }
}

#[test]
fn a_rule_whose_validator_is_none_refuses_before_anything_begins() {
    let strict = root::Command { sandbox: Sandbox::Strict.into(), ..row() };
    let unknown = root::Command { name: "other".to_owned(), ..row() };
    let open = root::Command { argv: strings(&["/tmp/x"]), ..row() };
    for (command, code) in [(strict, "unsupported"), (unknown, "unsupported"), (open, "unsafe_path")] {
        let world = world(&["file.write"], command);
        answers(&world, "", 0);
        let answer = write(&world, b"new");
        assert_eq!(answer.refused().code, code);
        assert!(world.calls().is_empty() && world.count("begin") == 0);
    }
}

#[test]
fn without_systemd_nobody_can_be_asked_and_nothing_is_written() {
    let world = world(&["file.write"], row());
    fs::remove_dir(world.path("systemd")).unwrap();
    let answer = write(&world, b"new");
    assert_eq!(answer.completed().code, "unsupported");
    assert_eq!(site(&world), "");
    assert!(is_empty(&world, "state/staging"));
}

#[test]
fn an_operators_undo_asks_no_validator_for_it_must_work_when_that_is_broken() {
    let world = world(&["file.write"], row());
    fs::write(world.path("site/a.html"), "old").unwrap();
    answers(&world, "", 0);
    let request = write_request(&world.text("site/a.html"), b"new", "any");
    let answer = world.connect(CLIENT_UID).ask("Helper/FileWrite", &request);
    assert_eq!(answer.completed().status(), Status::Done);
    answers(&world, "", 1);
    let asked = world.calls().len();
    let undone = undo(&mut world.operator(4_000_201), &of(&request.meta.unwrap().request_id)).unwrap();
    assert_eq!((undone[0].code.as_str(), site(&world).as_str()), ("", "old"));
    assert_eq!(world.calls().len(), asked);
}

#[test]
fn what_a_killed_helper_had_staged_is_gone_at_the_next_start() {
    let mut world = world(&["file.write"], row());
    fs::create_dir_all(world.path("state/staging/0123/0")).unwrap();
    fs::write(world.path("state/staging/0123/0/a.html"), "candidate").unwrap();
    world.restart();
    assert!(is_empty(&world, "state/staging"));
}

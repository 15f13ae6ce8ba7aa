//! The accepted policy is the one that the helper's programs load; acceptance is atomic and recorded before.

use crate::support::{GOOD, SITE, TestHost, agent, end, event};
use postern_admin::io::Exit;
use postern_admin::policy::Purpose;
use postern_admin::policy::accepted::{self, Store};
use postern_admin::policy::apply::load;
use postern_admin::policy::source::Owner;
use postern_policy::types::TargetPath;
use postern_policy::{Decision, Object, Policy, VerbId};
use postern_proto::v1::{OperatorApplied, OperatorApplyRequest};
use prost::Message;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

fn gid() -> u32 {
    nix::unistd::getegid().as_raw()
}

const YES: &[&str] = &["policy", "apply", "--yes"];

#[test]
fn the_accepted_policy_holds_every_default_and_loads() {
    let host = TestHost::new(&format!("{GOOD}{SITE}"));
    let ran = host.run(YES);
    assert_eq!(ran.exit, Exit::Done, "{}", ran.err);
    let policy = Policy::load(&host.accepted().unwrap()).unwrap();
    let site = &policy.rules()[1];
    assert_eq!((site.id.as_str(), site.decision, site.max_bytes), ("site", Decision::Allow, 1_048_576));
    assert_eq!(site.modes[0].to_string(), "0644");
    assert_eq!((site.owners[0].as_str(), site.groups[0].as_str(), site.allow_create), ("root", "root", true));
    assert_eq!(site.timeout_s, 600);
    let read = |path: &str| (VerbId::FileRead, Object::read(TargetPath::new(path).unwrap()));
    assert!(policy.decide(&agent(), &[read("/var/www/html/a.html")]).is_ok());
    assert!(policy.decide(&agent(), &[read("/var/www/html/a/a.html")]).is_err());
    let accepted = accepted::read(&host.host.accepted_dir()).unwrap().unwrap();
    assert_eq!(accepted.applied_by, nix::unistd::getuid().as_raw());
    assert_eq!(accepted.digest, policy.digest());
}

#[test]
fn records_the_login_uid_and_not_the_uid_under_sudo() {
    let mut host = TestHost::new(GOOD);
    host.host.login_uid = || Some(1000);
    assert_eq!(host.run(YES).exit, Exit::Done);
    let accepted = accepted::read(&host.host.accepted_dir()).unwrap().unwrap();
    assert_eq!(accepted.applied_by, 1000);
}

#[test]
fn accepted_policy_is_readable_by_the_programs_group_and_its_source_files_by_root_only() {
    let host = TestHost::new(GOOD);
    let drop_in = host.write("policy.d/a.toml", SITE);
    host.run(YES);
    let directory = host.host.accepted_dir();
    let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
    assert_eq!(mode(&directory), 0o750);
    assert_eq!(mode(&directory.join("accepted.pb")), 0o640);
    let key = directory.join("validator.key");
    assert_eq!((mode(&key), fs::read(&key).unwrap().len()), (0o640, 32));
    let files = host.state();
    assert_eq!(files.len(), 5, "{files:?}");
    // Those who read the policy cannot hold the lock of the next `apply`.
    assert_eq!(mode(&directory.join("apply.lock")), 0o600);
    let copies = files.iter().filter(|(path, _)| path.to_string_lossy().contains("/files-"));
    assert!(copies.clone().all(|(path, _)| mode(path) == 0o600 && mode(path.parent().unwrap()) == 0o700));
    let has =
        |name: &str, text: &[u8]| copies.clone().any(|(path, found)| path.ends_with(name) && found == text);
    assert!(has("policy.d/a.toml", &fs::read(&drop_in).unwrap()) && has("policy.toml", GOOD.as_bytes()));
    // The key stays, and a form that was left to root alone is shared again.
    let before = fs::read(&key).unwrap();
    fs::set_permissions(directory.join("accepted.pb"), fs::Permissions::from_mode(0o600)).unwrap();
    assert_eq!(host.run(&["policy", "apply", "--accepted"]).exit, Exit::Done);
    assert_eq!((fs::read(&key).unwrap(), mode(&directory.join("accepted.pb"))), (before, 0o640));
}

#[test]
fn a_failed_apply_leaves_the_accepted_policy_unchanged() {
    let host = TestHost::new(GOOD);
    host.run(YES);
    let before = host.state();
    for broken in
        ["", "version = 1\n[[rule]]\n", &GOOD.replace("\"postern\"", "\"nobody-here\""), "version = "]
    {
        host.write("policy.toml", broken);
        let ran = host.run(YES);
        assert_eq!(ran.exit, Exit::Failed);
        assert!(ran.err.contains("policy.toml:"), "{}", ran.err);
        assert!(ran.err.contains("the accepted policy is unchanged"), "{}", ran.err);
        assert_eq!(host.state(), before);
    }
}

#[test]
fn a_failed_write_leaves_the_accepted_policy_unchanged() {
    let host = TestHost::new(GOOD);
    host.run(YES);
    let file = host.host.accepted_dir().join("accepted.pb");
    let (_, _, good) = load(&host.host.etc, Owner::Anybody, Purpose::Review, &host.host);
    // Nothing can be renamed over a directory, so the last step fails.
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    fs::write(file.join("x"), "").unwrap();
    let before = host.state();
    host.write("policy.toml", format!("{GOOD}{SITE}"));
    let (sources, _, compiled) = load(&host.host.etc, Owner::Anybody, Purpose::Review, &host.host);
    assert_ne!(compiled, good);
    let store = Store::open(&host.host.accepted_dir(), host.host.owner_uid, gid()).unwrap();
    assert!(store.write(&compiled.unwrap(), &sources, 1, 0).is_err());
    assert_eq!(host.state(), before);
    // Nor does the command go on where it cannot read what is accepted now.
    drop(store);
    let ran = host.run(YES);
    assert_eq!(ran.exit, Exit::Failed);
    assert!(ran.err.contains("not applied"), "{}", ran.err);
    assert_eq!(host.state(), before);
}

#[test]
fn a_concurrent_apply_is_refused() {
    let host = TestHost::new(GOOD);
    let held = Store::open(&host.host.accepted_dir(), host.host.owner_uid, gid()).unwrap();
    let ran = host.run(YES);
    assert_eq!(ran.exit, Exit::Failed);
    assert!(ran.err.contains("another `policy apply` is under way"), "{}", ran.err);
    drop(held);
    assert_eq!(host.run(YES).exit, Exit::Done);
}

#[test]
fn refuses_a_state_directory_that_others_may_write() {
    let host = TestHost::new(GOOD);
    fs::create_dir(host.host.accepted_dir()).unwrap();
    fs::set_permissions(host.host.accepted_dir(), fs::Permissions::from_mode(0o777)).unwrap();
    let ran = host.run(YES);
    assert_eq!(ran.exit, Exit::Failed);
    assert!(host.accepted().is_none());
}

#[test]
fn apply_fails_for_a_client_that_does_not_exist_on_this_host() {
    let host = TestHost::new(&GOOD.replace("user = \"postern\"", "group = \"elsewhere\""));
    let ran = host.run(YES);
    assert_eq!(ran.exit, Exit::Failed);
    assert!(ran.err.contains(":5:1: error: there is no group \"elsewhere\""), "{}", ran.err);
}

#[test]
fn apply_needs_confirmation_and_changes_nothing_without_it() {
    let host = TestHost::new(GOOD);
    let ran = host.run(&["policy", "apply"]);
    assert_eq!((ran.exit, host.accepted()), (Exit::Usage, None));
    assert!(ran.err.contains("--yes"), "{}", ran.err);
    for answer in ["n\n", "\n", ""] {
        assert_eq!(host.answer(&["policy", "apply"], answer).exit, Exit::Failed);
        assert_eq!(host.accepted(), None);
    }
    assert_eq!(host.answer(&["policy", "apply"], "y\n").exit, Exit::Done);
    assert!(host.accepted().is_some());
    // Nothing changes, so there is nothing to ask.
    assert_eq!(host.run(&["policy", "apply"]).exit, Exit::Done);
}

#[test]
fn shows_the_difference_in_effect() {
    let host = TestHost::new(&format!("{GOOD}{SITE}"));
    let first = host.run(YES).out;
    assert!(first.contains("+ client agent: user postern"), "{first}");
    assert!(
        first.contains("+ rule site: decision allow; client agent; verbs file.read file.write"),
        "{first}"
    );
    let changed = SITE.replace("*.html\"", "*.html\", \"*.css\"") + "rate = \"12/1h\"\nmax_bytes = 10\n";
    let other = SITE.replace("\"site\"", "\"other\"");
    host.write(
        "policy.toml",
        format!("# a comment changes nothing\n{}{changed}{other}", &GOOD.replace("\"look\"", "\"see\"")),
    );
    let second = host.run(YES).out;
    let lines = second.lines().collect::<Vec<_>>();
    assert!(lines.iter().any(|line| line.starts_with("+ rule see: ")), "{second}");
    assert!(lines.iter().any(|line| line.starts_with("+ rule other: ")), "{second}");
    assert!(
        lines.contains(&"~ rule site: files +*.css; rate none -> 12/1h; max_bytes 1048576 -> 10"),
        "{second}"
    );
    assert!(lines.iter().any(|line| line.starts_with("- rule look: ")), "{second}");
    assert!(!second.contains("client agent:"), "{second}");
    let third = host.run(YES).out;
    assert!(third.starts_with("no difference"), "{third}");
}

#[test]
fn a_changed_order_of_rules_is_shown_as_a_difference() {
    let host = TestHost::new(&format!("{GOOD}{SITE}"));
    host.run(YES);
    let (head, look) = GOOD.split_at(GOOD.find("[[rule]]").unwrap());
    host.write("policy.toml", format!("{head}{SITE}{look}"));
    let ran = host.run(YES);
    assert!(ran.out.starts_with("~ order of the rules"), "{}", ran.out);
}

#[test]
fn a_policy_that_cannot_be_recorded_is_not_accepted() {
    let host = TestHost::new(GOOD);
    let applied = || event(&OperatorApplied {});
    let cases = [
        (vec![end(9, "audit_unavailable: no \u{1b}[2J space")], "no \\u{1b}[2J space (code 9)"),
        (vec![end(0, "")], "an end without a reply"),
        (vec![applied()], "ends too early"),
        (vec![vec![1, 0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff]], "a frame of 4294967295 bytes"),
    ];
    for (frames, words) in cases {
        let recorder = host.helper(frames);
        let ran = host.run(YES);
        assert_eq!(recorder.join().unwrap().0, "Operator/Apply");
        assert_eq!((ran.exit, host.accepted()), (Exit::Failed, None), "{words}: {}", ran.err);
        assert!(ran.err.contains("not applied, since it could not be recorded"), "{}", ran.err);
        assert!(ran.err.contains(words), "no {words:?} in {}", ran.err);
        fs::remove_file(&host.host.operator_socket).unwrap();
    }
    let recorder = host.helper(vec![applied(), end(0, "")]);
    let files = host.files(true);
    let ran = host.run(YES);
    assert_eq!(ran.exit, Exit::Done, "{}", ran.err);
    files.join().unwrap();
    let (_, body) = recorder.join().unwrap();
    let accepted = accepted::read(&host.host.accepted_dir()).unwrap().unwrap();
    let request = OperatorApplyRequest::decode(body.as_slice()).unwrap();
    assert_eq!(request.policy_digest, accepted.digest.to_string());
}

#[test]
fn apply_works_before_the_first_start_of_the_recorder_and_not_while_it_is_stopped() {
    let host = TestHost::new(GOOD);
    // Of an installation that was removed.
    fs::write(host.host.log.join("audit.jsonl"), "{}\n").unwrap();
    assert_eq!(host.run(YES).exit, Exit::Done);
    fs::write(host.host.state.join("reserve"), "").unwrap();
    host.write("policy.toml", format!("{GOOD}{SITE}"));
    let before = (host.state(), host.units());
    let ran = host.run(YES);
    assert_eq!(ran.exit, Exit::Failed);
    assert!(ran.err.contains("could not be recorded: the recorder cannot be reached"), "{}", ran.err);
    assert!(ran.err.contains("systemctl start postern-operator.socket"), "{}", ran.err);
    assert_eq!((host.state(), host.units()), before);
}

#[test]
fn rolls_back_a_policy_under_which_postern_files_does_not_start() {
    let host = TestHost::new(GOOD);
    host.run(YES);
    let (before, units) = (host.accepted(), host.units());
    let old = accepted::read(&host.host.accepted_dir()).unwrap().unwrap().digest.to_string();
    host.write("policy.toml", format!("{GOOD}{SITE}"));
    for answers in [false, true] {
        let recorder = host.answering(|_, _| vec![event(&OperatorApplied {}), end(0, "")]);
        // Without its socket, or closed without an answer.
        let files = answers.then(|| host.files(false));
        let ran = host.run(YES);
        assert_eq!(ran.exit, Exit::Failed);
        assert!(ran.err.contains("postern-files did not start under it"), "{}", ran.err);
        assert_eq!((host.accepted(), host.units()), (before.clone(), units.clone()));
        if let Some(files) = files {
            files.join().unwrap();
        }
        let digests = recorder
            .finish()
            .into_iter()
            .map(|(_, body)| OperatorApplyRequest::decode(body.as_slice()).unwrap().policy_digest);
        let digests = digests.collect::<Vec<_>>();
        assert_eq!((digests.len(), digests.last()), (2, Some(&old)), "the log ends with the accepted one");
    }
    // The copy of its files is there still.
    assert!(accepted::files(&host.host.accepted_dir()).unwrap().unwrap().join("policy.toml").exists());
}

#[test]
fn replaces_a_damaged_accepted_policy_by_a_good_one() {
    let host = TestHost::new(GOOD);
    host.run(YES);
    let mut bytes = host.accepted().unwrap();
    bytes[20] ^= 1;
    fs::write(host.host.accepted_dir().join("accepted.pb"), bytes).unwrap();
    let ran = host.run(YES);
    assert_eq!(ran.exit, Exit::Done, "{}", ran.err);
    assert!(ran.err.contains("damaged"), "{}", ran.err);
    assert!(Policy::load(&host.accepted().unwrap()).is_ok());
}

//! What is accepted is what the helper loads, all or nothing.

use crate::support::{GOOD, SITE, TestHost, agent, end, event};
use postern_admin::io::Exit;
use postern_admin::policy::Purpose;
use postern_admin::policy::accepted::{self, Store};
use postern_admin::policy::apply::load;
use postern_admin::policy::source::Owner;
use postern_policy::types::TargetPath;
use postern_policy::{Decision, Object, Policy, VerbId};
use postern_proto::v1::OperatorReloaded;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

const YES: &[&str] = &["policy", "apply", "--yes"];

#[test]
fn the_helper_loads_what_was_accepted_with_every_default() {
    let host = TestHost::new(&format!("{GOOD}{SITE}"));
    let ran = host.run(YES);
    assert_eq!(ran.exit, Exit::Done, "{}", ran.err);
    let policy = Policy::load(&host.accepted().unwrap()).unwrap();
    let site = &policy.rules()[1];
    assert_eq!((site.id.as_str(), site.decision, site.max_bytes), ("site", Decision::Allow, 1_048_576));
    assert_eq!(site.modes[0].to_string(), "0644");
    assert_eq!((site.owners[0].as_str(), site.groups[0].as_str(), site.allow_create), ("root", "root", true));
    assert_eq!(site.timeout.as_secs(), 600);
    let read = |path: &str| (VerbId::FileRead, Object::read(TargetPath::new(path).unwrap()));
    assert!(policy.decide(&agent(), &[read("/var/www/html/a.html")]).is_ok());
    assert!(policy.decide(&agent(), &[read("/var/www/html/a/a.html")]).is_err());
    let accepted = accepted::read(&host.host.accepted_dir()).unwrap().unwrap();
    assert_eq!(accepted.applied_by, nix::unistd::getuid().as_raw());
    assert_eq!(accepted.digest, policy.digest());
}

#[test]
fn records_who_logged_in_and_not_whom_sudo_made_of_them() {
    let mut host = TestHost::new(GOOD);
    host.host.login_uid = || Some(1000);
    assert_eq!(host.run(YES).exit, Exit::Done);
    let accepted = accepted::read(&host.host.accepted_dir()).unwrap().unwrap();
    assert_eq!(accepted.applied_by, 1000);
}

#[test]
fn root_alone_can_read_what_is_accepted_and_the_copy_is_whole() {
    let host = TestHost::new(GOOD);
    let drop_in = host.write("policy.d/a.toml", SITE);
    host.run(YES);
    let directory = host.host.accepted_dir();
    assert_eq!(fs::metadata(&directory).unwrap().mode() & 0o777, 0o700);
    assert_eq!(fs::metadata(directory.join("accepted.pb")).unwrap().mode() & 0o777, 0o600);
    let files = host.state();
    assert_eq!(files.len(), 3, "{files:?}");
    assert!(files.iter().all(|(path, _)| fs::metadata(path).unwrap().mode() & 0o777 == 0o600));
    assert!(
        files
            .iter()
            .any(|(path, text)| path.ends_with("policy.d/a.toml") && *text == fs::read(&drop_in).unwrap())
    );
    assert!(files.iter().any(|(path, text)| path.ends_with("policy.toml") && text == GOOD.as_bytes()));
}

#[test]
fn a_failed_apply_leaves_everything_as_it_was() {
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
        assert!(ran.err.contains("stays in force"), "{}", ran.err);
        assert_eq!(host.state(), before);
    }
}

#[test]
fn what_cannot_be_written_leaves_everything_as_it_was() {
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
    let store = Store::open(&host.host.accepted_dir(), host.host.owner_uid).unwrap();
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
fn two_applies_at_once_are_one_apply_and_one_refusal() {
    let host = TestHost::new(GOOD);
    let held = Store::open(&host.host.accepted_dir(), host.host.owner_uid).unwrap();
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
fn a_client_that_is_not_here_is_an_error() {
    let host = TestHost::new(&GOOD.replace("user = \"postern\"", "group = \"elsewhere\""));
    let ran = host.run(YES);
    assert_eq!(ran.exit, Exit::Failed);
    assert!(ran.err.contains(":5:1: error: there is no group \"elsewhere\""), "{}", ran.err);
}

#[test]
fn asks_a_person_and_does_nothing_without_one() {
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
fn the_order_of_rules_is_a_difference() {
    let host = TestHost::new(&format!("{GOOD}{SITE}"));
    host.run(YES);
    let (head, look) = GOOD.split_at(GOOD.find("[[rule]]").unwrap());
    host.write("policy.toml", format!("{head}{SITE}{look}"));
    let ran = host.run(YES);
    assert!(ran.out.starts_with("~ order of the rules"), "{}", ran.out);
}

#[test]
fn tells_the_helper_and_believes_only_the_right_answer() {
    let host = TestHost::new(GOOD);
    host.run(YES);
    let digest = accepted::read(&host.host.accepted_dir()).unwrap().unwrap().digest.to_string();
    let reloaded =
        |policy_digest: &str| event(&OperatorReloaded { policy_digest: policy_digest.to_owned(), rules: 1 });
    let cases = [
        (vec![reloaded(&digest), end(0, "")], Exit::Done, ""),
        (vec![reloaded("00"), end(0, "")], Exit::Failed, "took another policy"),
        (vec![end(14, "the policy \u{1b}[2J stays")], Exit::Failed, "the policy \\u{1b}[2J stays (code 14)"),
        (vec![end(0, "")], Exit::Failed, "an end without a reply"),
        (vec![reloaded(&digest)], Exit::Failed, "ends too early"),
        (vec![vec![1, 0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff]], Exit::Failed, "a frame of 4294967295 bytes"),
    ];
    for (frames, exit, words) in cases {
        let helper = host.helper(frames);
        let ran = host.run(YES);
        assert_eq!(helper.join().unwrap().0, "Operator/Reload");
        assert_eq!(ran.exit, exit, "{words}: {}", ran.err);
        assert!(ran.err.contains(words), "no {words:?} in {}", ran.err);
        fs::remove_file(&host.host.operator_socket).unwrap();
    }
    let ran = host.run(YES);
    assert_eq!(ran.exit, Exit::Done);
    assert!(ran.err.contains("takes the policy when it starts"), "{}", ran.err);
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

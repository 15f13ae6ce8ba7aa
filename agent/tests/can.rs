//! `postern can`: what a client may do, and yes, with approval or no to one request; refusals and what comes next.

mod common;

use common::{Place, Play, completed, ended, refused};
use postern_agent::Exit;
use postern_proto::v1::{self, Decision, Status};

fn decided(decision: Decision) -> Play {
    Play::Events(vec![completed(v1::Completed {
        status: Status::Previewed.into(),
        decision: decision.into(),
        rule: "web".into(),
        ..v1::Completed::default()
    })])
}

#[tokio::test]
async fn answers_yes_with_approval_or_no() {
    let place = Place::new();
    let helper = place.helper(vec![
        decided(Decision::Allow),
        decided(Decision::Ask),
        Play::Events(vec![refused("no_grant")]),
        Play::Events(vec![refused("invalid_argument")]),
    ]);
    let ran = place.run(&["--direct", "can", "package.install", "nginx-light"]).await;
    assert_eq!((ran.exit, ran.out.as_str()), (Exit::Done, "yes: package.install (rule web)\n"));
    let ran = place.run(&["--direct", "can", "file", "write", "/etc/nginx/conf.d/a.conf"]).await;
    let waits = "with approval: file.write waits for an operator (rule web)\n";
    assert_eq!((ran.exit, ran.out.as_str()), (Exit::NotApproved, waits));
    let ran = place.run(&["--direct", "can", "unit.stop", "nginx"]).await;
    assert_eq!(ran.exit, Exit::Refused);
    assert_eq!(
        ran.out,
        "no: no_grant: the policy grants nothing of the kind; missing: unit.stop nginx.service; granted nearby: \
         unit.status nginx.service; an operator can see why: postern-admin policy explain unit.stop nginx.service\n"
    );
    let ran = place.run(&["--direct", "can", "file.read", "relative"]).await;
    assert_eq!((ran.exit, ran.out.as_str()), (Exit::Usage, ""), "{ran:?}");
    assert!(helper.seen().iter().all(|seen| seen.meta().mode() == v1::Mode::Check));
}

#[tokio::test]
async fn says_no_to_an_alias_of_a_unit_that_no_rule_grants() {
    let place = Place::new();
    let helper = place.helper(vec![
        decided(Decision::Allow),
        Play::Events(vec![refused("no_grant")]),
        // Where the plan cannot be made, the decision stands.
        decided(Decision::Allow),
        Play::Events(vec![ended(Status::Failed, "not_found")]),
    ]);
    let ran = place.run(&["--direct", "can", "unit", "reload", "sshd"]).await;
    assert_eq!(ran.exit, Exit::Refused, "{ran:?}");
    assert!(ran.out.starts_with("no: no_grant: "), "{ran:?}");
    let ran = place.run(&["--direct", "can", "unit", "reload", "nothing"]).await;
    assert_eq!((ran.exit, ran.out.as_str()), (Exit::Done, "yes: unit.reload (rule web)\n"));
    let modes = helper.seen().iter().map(|seen| seen.meta().mode()).collect::<Vec<_>>();
    assert_eq!(modes, [v1::Mode::Check, v1::Mode::Preview].repeat(2), "nothing is done");
}

#[tokio::test]
async fn answers_as_data_too() {
    let place = Place::new();
    place.helper(vec![
        decided(Decision::Ask),
        decided(Decision::Ask),
        Play::Events(vec![refused("no_grant")]),
        Play::Events(vec![completed(v1::Completed {
            status: Status::Done.into(),
            description: Some(v1::Description { client: "agent".into(), grants: Vec::new() }),
            ..v1::Completed::default()
        })]),
    ]);
    let ran = place.run(&["--direct", "can", "unit.stop", "nginx", "--json"]).await;
    assert_eq!((ran.exit, ran.json()["decision"].as_str()), (Exit::NotApproved, Some("ask")));
    let ran = place.run(&["--direct", "can", "file", "write", "/etc/shadow", "--json"]).await;
    let report = ran.json();
    assert_eq!((ran.exit, report["code"].as_str()), (Exit::Refused, Some("no_grant")));
    assert_eq!(report["next"], "postern-admin policy explain file.write /etc/shadow --bytes 0");
    assert_eq!(report["result"]["granted_nearby"][0], "unit.status nginx.service");
    let ran = place.run(&["--direct", "can", "--json"]).await;
    assert_eq!(ran.json()["result"]["description"]["client"], "agent", "{ran:?}");
}

#[tokio::test]
async fn takes_every_verb_by_its_name() {
    let arguments = |verb: &str| match verb.split('.').next() {
        Some("package") if verb.ends_with("upgrade") => vec!["--all"],
        Some("package") if !["autoremove", "update", "repair"].iter().any(|v| verb.ends_with(v)) => {
            vec!["nginx"]
        }
        Some("unit") if !verb.ends_with("daemon-reload") => vec!["nginx"],
        Some("file") if verb.ends_with("set-mode") => vec!["/x", "0644"],
        Some("file") if verb.ends_with("set-owner") => vec!["/x", "root"],
        Some("file") => vec!["/x"],
        Some("command") => vec!["reindex", "size=3"],
        Some("request") => vec!["0190a000-0000-7000-8000-000000000000"],
        _ => vec![],
    };
    let place = Place::new();
    let helper = place.helper(Vec::new());
    // A patch has no command yet, and what a client may know of itself is never refused.
    let verbs = postern_agent::VERBS.iter().filter(|verb| !["file.patch", "policy.describe"].contains(verb));
    let mut asked = 0;
    for verb in verbs {
        let names_a_unit = verb.starts_with("unit.") && *verb != "unit.daemon-reload";
        for _ in 0..=usize::from(names_a_unit) {
            helper.add(decided(Decision::Allow));
            asked += 1;
        }
        let args = [vec!["--direct", "can", verb], arguments(verb)].concat();
        let ran = place.run(&args).await;
        assert_eq!(ran.out, format!("yes: {verb} (rule web)\n"), "{args:?}: {ran:?}");
        assert_eq!(helper.seen().len(), asked);
    }
}

#[tokio::test]
async fn describes_in_groups_that_fit_a_prompt() {
    let grant = |verb: &str, decision: Decision| v1::Grant {
        verbs: vec![verb.into()],
        decision: decision.into(),
        ..v1::Grant::default()
    };
    let grants = vec![
        v1::Grant {
            directories: vec!["/etc/nginx/conf.d".into()],
            files: vec!["*.conf".into(), "*.inc".into()],
            modes: vec!["0644".into()],
            max_bytes: 1 << 20,
            limits: vec!["depth = 1".into(), "validate = nginx-config".into()],
            ..grant("file.write", Decision::Ask)
        },
        v1::Grant {
            units: vec!["nginx.service".into()],
            rate: "12/3600s".into(),
            ..grant("unit.reload", Decision::Allow)
        },
        v1::Grant { packages: vec!["tel\u{202e}net*".into()], ..grant("package.install", Decision::Deny) },
    ];
    let place = Place::new();
    place.helper(vec![Play::Events(vec![completed(v1::Completed {
        status: Status::Done.into(),
        description: Some(v1::Description { client: "agent".into(), grants }),
        ..v1::Completed::default()
    })])]);
    let ran = place.run(&["--direct", "can"]).await;
    assert_eq!(
        ran.out,
        "agent may, without asking:\n\
         - unit.reload: nginx.service (at most 12 in 1h)\n\
         agent may, once an operator approves (the request waits for it):\n\
         - file.write: /etc/nginx/conf.d/{*.conf,*.inc} (validate = nginx-config; up to 1.00 MiB; mode 0644)\n\
         agent may not, whatever else is granted:\n\
         - package.install: tel\\u{202e}net*\n\
         everything else is refused\n"
    );
}

fn told(code: &str, message: &str, retry_after_s: u32) -> v1::event::Kind {
    let (code, message) = (code.into(), message.into());
    v1::event::Kind::Refused(v1::Refused { code, message, retry_after_s, ..v1::Refused::default() })
}

#[tokio::test]
async fn every_refusal_says_who_decided_and_what_comes_next() {
    let vectors = [
        (
            "paused",
            "backup of the disks",
            0,
            "an operator paused Postern: backup of the disks; an operator can let it go on: postern-admin resume",
        ),
        (
            "denied_recently",
            "not on a Friday",
            3000,
            "an operator said no to the same request: not on a Friday; ask again in 50m",
        ),
        ("not_approved", "not on a Friday", 0, "an operator said no: not on a Friday"),
        ("not_approved", "", 0, "an operator said no"),
        (
            "too_many_pending",
            "3 wait",
            0,
            "as many requests wait for approval as may: 3 wait; an operator can decide on them: postern-admin pending",
        ),
        (
            "approval_expired",
            "",
            0,
            "nobody approved it in time; an operator can see what comes to wait: postern-admin watch",
        ),
        (
            "plan_too_large",
            "",
            0,
            "it is too large for a person to read before approving: ask for less at a time",
        ),
        (
            "denied",
            "rule no-ssh denies it",
            0,
            "rule no-ssh denies it; an operator can see why: postern-admin policy explain file.write '/srv/it'\\''s $x' --bytes 2 --mode 0600",
        ),
    ];
    let place = Place::new();
    let helper = place.helper(Vec::new());
    for (code, message, retry, expected) in vectors {
        helper.add(Play::Events(vec![told(code, message, retry)]));
        let ran = place
            .run(&["--direct", "file", "write", "/srv/it's $x", "--content", "hi", "--mode", "0600"])
            .await;
        let exit = if ["not_approved", "approval_expired"].contains(&code) {
            Exit::NotApproved
        } else {
            Exit::Refused
        };
        assert_eq!(ran.exit, exit, "{ran:?}");
        assert!(ran.err.ends_with(&format!("{code}: {expected}\n")), "{}\nnot: {expected}", ran.err);
    }
}

#[tokio::test]
async fn a_task_s_result_has_the_facts_of_a_refusal_as_data() {
    let place = Place::new();
    place.helper(vec![
        Play::Events(vec![refused("no_grant")]),
        Play::Events(vec![told("denied_recently", "not on a Friday", 3000)]),
        Play::Events(vec![ended(Status::Failed, "not_approved")]),
    ]);
    place.serve();
    let facts = async |task: &str| {
        let ran = place.run(&["run", task, "--json"]).await;
        (ran.exit, ran.json()["results"][0]["status"].clone(), ran.json()["results"][0]["refusal"].clone())
    };
    let (exit, status, refusal) = facts("stop nginx").await;
    assert_eq!((exit, status), (Exit::Refused, "refused".into()));
    let next = "postern-admin policy explain unit.stop nginx.service";
    assert_eq!(
        refusal,
        serde_json::json!({
            "code": "no_grant", "message": "the policy grants nothing of the kind", "missing": "unit.stop nginx.service",
            "granted_nearby": ["unit.status nginx.service"], "next": next,
        })
    );
    let (_, status, refusal) = facts("stop nginx").await;
    let denied =
        serde_json::json!({ "code": "denied_recently", "message": "not on a Friday", "retry_after_s": 3000 });
    assert_eq!((status, refusal), ("refused".into(), denied));
    let (exit, status, refusal) = facts("stop nginx").await;
    let denied = serde_json::json!({ "code": "not_approved", "message": "because of not_approved" });
    assert_eq!((exit, status, refusal), (Exit::NotApproved, "denied".into(), denied));
}

/// A link of a unit file to another.
fn link(place: &Place, name: &str, target: &str) {
    let directory = place.host.system.join("etc/systemd/system");
    std::fs::create_dir_all(&directory).unwrap();
    std::os::unix::fs::symlink(target, directory.join(name)).unwrap();
}

#[tokio::test]
async fn a_refused_alias_names_the_unit_that_is_granted() {
    let place = Place::new();
    link(&place, "sshd.service", "/usr/lib/systemd/system/ssh.service");
    link(&place, "old.service", "older.service");
    link(&place, "older.service", "/usr/lib/systemd/system/app.service");
    link(&place, "masked.service", "/dev/null");
    link(&place, "linked.service", "/opt/app/linked.service");
    link(&place, "other.service", "/opt/app/another.service");
    let granted = "no_grant: sshd.service is an alias of ssh.service, which is granted: ask for that";
    for mode in [&["can"][..], &[]] {
        let helper = place.helper(vec![Play::Events(vec![refused("no_grant")]), decided(Decision::Ask)]);
        let ran = place.run(&[&["--direct"], mode, &["unit", "restart", "sshd"]].concat()).await;
        assert_eq!(ran.exit, Exit::Refused, "{ran:?}");
        assert!(format!("{}{}", ran.out, ran.err).contains(granted), "{ran:?}");
        let seen = helper.seen();
        let second = seen.last().unwrap();
        assert_eq!((seen.len(), second.meta().mode()), (2, v1::Mode::Check), "nothing is done");
        assert_eq!(second.decode::<v1::UnitRestartRequest>().unit, "ssh.service");
        assert_ne!(second.meta().request_id, seen[0].meta().request_id);
    }
    // A unit that is granted by neither name is answered as before, and a name that is no alias is not asked for twice.
    let helper = place.helper(vec![
        Play::Events(vec![refused("no_grant")]),
        Play::Events(vec![refused("no_grant")]),
        Play::Events(vec![refused("no_grant")]),
        Play::Events(vec![refused("no_grant")]),
        Play::Events(vec![refused("no_grant")]),
        Play::Events(vec![refused("no_grant")]),
        Play::Events(vec![refused("denied")]),
    ]);
    for unit in ["old", "masked", "linked", "other", "nginx", "sshd"] {
        let ran = place.run(&["--direct", "can", "unit", "stop", unit]).await;
        assert_eq!(ran.exit, Exit::Refused, "{ran:?}");
        assert!(!ran.out.contains("alias"), "{unit}: {ran:?}");
    }
    assert_eq!(helper.seen().len(), 7, "only old.service was asked for by its own name");
}

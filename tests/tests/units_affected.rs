//! Units that change along with another on a real systemd: the rule against systemd's own transactions, and what denies
//! and protection refuse.

use std::collections::BTreeSet;
use std::thread;
use std::time::Duration;

use postern_tests::{Installed, Output, Release, on_each_release};
use serde_json::Value;

on_each_release!(
    the_plan_lists_the_jobs_that_systemd_enqueues,
    real_services_affect_few_others,
    denied_and_protected_units_do_not_change_along,
    enabling_does_not_take_names_or_dependencies_of_others,
    a_state_that_a_person_must_show_is_not_in_plans,
);

const RULES: &str = r#"
[protect]
units = ["vault.service"]

[[rule]]
id = "test-units"
client = "agent"
verbs = ["unit.start", "unit.stop", "unit.restart", "unit.reload", "unit.enable", "unit.disable"]
units = ["t-*.service", "nginx.service"]
allow_cascade = true
decision = "allow"
justification = "the units of this test"
accept_risk = { "*" = "a test" }

[[rule]]
id = "test-narrow"
client = "agent"
verbs = ["unit.start", "unit.stop"]
units = ["narrow.service"]
decision = "allow"
justification = "alone"
accept_risk = { "*" = "a test" }

[[rule]]
id = "test-asked"
client = "agent"
verbs = ["unit.restart"]
units = ["asked.service"]
allow_cascade = true
decision = "ask"
justification = "a person knows"
accept_risk = { "*" = "a test" }

[[rule]]
id = "test-asked-look"
client = "agent"
verbs = ["unit.status"]
units = ["asked.service", "web.service"]
decision = "ask"
justification = "a person knows"

[[rule]]
id = "test-never"
client = "agent"
verbs = ["unit.start", "unit.stop", "unit.restart", "unit.enable"]
units = ["sshd.service", "db.service"]
decision = "deny"
justification = "nobody"
"#;

/// Units where a package would put them: `unit NAME LINES-OF-[Unit] [LINES-OF-[Install]]`.
const UNITS: &str = r#"
cd /usr/lib/systemd/system
unit() {
    printf '[Unit]\n%b\n[Service]\nExecStart=/bin/sleep infinity\nExecReload=/bin/true\n[Install]\n%b\n' "$2" "${3:-}" > "$1.service"
}
unit t-a 'Requires=t-requires.service\nWants=t-wants.service t-unmet.service t.target\nBindsTo=t-binds.service
Upholds=t-upholds.service\nConflicts=t-conflicts.service\nPropagatesReloadTo=t-reload.service
PropagatesStopTo=t-stopped.service\nOnSuccess=t-success.service\nOnFailure=t-failure.service'
unit t-wants 'Wants=t-second.service'
unit t-unmet 'ConditionPathExists=/run/missing\nWants=t-third.service'
printf '[Unit]\nWants=t-beyond.service\n' > t.target
unit t-above 'Requires=t-conflicts.service'
unit t-loser 'Conflicts=t-a.service'
unit t-part 'PartOf=t-a.service'
unit t-needs 'Requires=t-a.service'
unit t-bound 'BindsTo=t-a.service'
unit t-last 'PartOf=t-part.service'
for name in requires binds upholds conflicts reload stopped success failure second third beyond; do unit "t-$name" ''; done

unit db ''
unit ssh ''
ln -sf ssh.service sshd.service
unit secret ''
ln -sf secret.service vault.service
unit t-db 'Requires=db.service'
unit t-wishes-db 'Wants=db.service'
unit t-against-ssh 'Conflicts=ssh.service'
unit t-against-vault 'Conflicts=secret.service'
unit t-under-ssh ''
mkdir -p ssh.service.requires
ln -sf ../t-under-ssh.service ssh.service.requires/
unit narrow 'Wants=t-second.service\nConflicts=t-third.service'
unit asked ''
unit web 'PartOf=asked.service'
systemctl daemon-reload
"#;

fn host(release: Release) -> Installed {
    let host = Installed::on(release);
    let _ = host.shell(UNITS).ok();
    host.grant(RULES);
    host
}

fn service(host: &Installed, arguments: &[&str]) -> Output {
    host.visitor(&[&["postern", "--json", "service"], arguments].concat())
}

fn code(answer: &Output) -> String {
    answer.json()["code"].as_str().unwrap_or_default().to_owned()
}

/// `VERB UNIT` of each step of a plan.
fn steps(answer: &Output) -> Vec<Value> {
    answer.json()["plan"]["units"].as_array().cloned().unwrap_or_default()
}

/// `VERB UNIT` of the units that change along.
#[track_caller]
fn affected(host: &Installed, verb: &str, unit: &str) -> BTreeSet<String> {
    let answer = service(host, &[verb, unit, "--dry-run"]);
    assert_eq!(answer.json()["status"], "previewed", "{answer}");
    let told = |step: &Value| format!("{} {}", text(&step["verb"]), text(&step["id"]));
    steps(&answer).iter().filter(|step| step["cascade"] == true).map(told).collect()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// Returns the auxiliary jobs that systemd enqueues with a job.
fn enqueued(host: &Installed, verb: &str, unit: &str) -> BTreeSet<String> {
    let said = host.root(&["systemctl", "--show-transaction", verb, unit]);
    let auxiliary = |line: &str| {
        let job = line.strip_prefix("Enqueued auxiliary job ")?.split(' ').nth(1)?.trim_end_matches('.');
        job.rsplit_once('/').map(|(unit, verb)| format!("{verb} {unit}"))
    };
    format!("{}\n{}", said.stdout, said.stderr).lines().filter_map(auxiliary).collect()
}

fn set(words: &[&str]) -> BTreeSet<String> {
    words.iter().map(|word| format!("{word}.service")).collect()
}

fn the_plan_lists_the_jobs_that_systemd_enqueues(release: Release) {
    let host = host(release);
    // Jobs that systemd enqueues later, when the unit ends.
    let later = set(&["start t-success", "start t-failure"]);
    let started = set(&[
        "start t-requires",
        "start t-wants",
        "start t-second",
        "start t-unmet",
        "start t-third",
        "start t-binds",
    ]);
    let cases = [
        (
            "start",
            "systemctl start t.target; systemctl stop t-beyond; systemctl start t-above t-loser",
            [
                &started,
                &set(&["start t-upholds", "stop t-conflicts", "stop t-above", "stop t-loser"]),
                &later,
            ],
        ),
        (
            "reload",
            "systemctl start t-a t-reload t-stopped t-needs t-part t-bound t-last; systemctl stop t-wants t-second t-third",
            [&set(&["reload t-reload"]), &BTreeSet::new(), &BTreeSet::new()],
        ),
        (
            "restart",
            "true",
            [
                &set(&["start t-wants", "start t-second", "start t-unmet", "start t-third"]),
                &set(&[
                    "restart t-needs",
                    "restart t-part",
                    "restart t-bound",
                    "restart t-last",
                    "stop t-stopped",
                ]),
                &later,
            ],
        ),
        (
            "stop",
            "systemctl stop t-success t-failure; systemctl start t-a t-reload t-stopped t-needs t-part t-bound t-last",
            [
                &set(&["stop t-needs", "stop t-part", "stop t-bound", "stop t-last", "stop t-stopped"]),
                &BTreeSet::new(),
                &later,
            ],
        ),
    ];
    for (verb, before, expected) in cases {
        let _ = host.shell(&format!("{before}; sleep 0.5")).ok();
        let expected: BTreeSet<_> = expected.into_iter().flatten().cloned().collect();
        let planned = affected(&host, verb, "t-a");
        assert_eq!(planned, expected, "{verb}");
        let mut real = enqueued(&host, verb, "t-a");
        if (release, verb) == (Release::Bookworm, "restart") {
            assert!(real.insert("stop t-stopped.service".to_owned()), "252 stops it too: {real:?}");
        }
        real.extend(planned.intersection(&later).cloned());
        assert_eq!(planned, real, "{verb}");
    }
}

fn real_services_affect_few_others(release: Release) {
    let host = host(release);
    let _ = host.root(&["apt-get", "install", "-y", "nginx-light"]).ok();
    for verb in ["start", "restart", "stop", "reload", "enable", "disable"] {
        assert_eq!(affected(&host, verb, "nginx"), BTreeSet::new(), "{verb}");
    }
    assert_eq!(service(&host, &["stop", "nginx"]).code, 0);
    assert_eq!(affected(&host, "start", "nginx"), BTreeSet::new());
    assert_eq!(service(&host, &["start", "nginx"]).code, 0);
}

fn denied_and_protected_units_do_not_change_along(release: Release) {
    let host = host(release);
    let _ = host.shell("systemctl start ssh secret t-under-ssh").ok();
    let is = |unit: &str, state: &str| assert_eq!(host.property(unit, "ActiveState"), state, "{unit}");
    for (verb, unit, expected) in [
        ("start", "t-db", "denied"),
        ("start", "t-wishes-db", "denied"),
        ("start", "t-against-ssh", "denied"),
        ("stop", "t-under-ssh", "denied"),
        ("restart", "t-under-ssh", "denied"),
        ("start", "t-against-vault", "protected"),
    ] {
        let answer = service(&host, &[verb, unit]);
        assert_eq!(code(&answer), expected, "{verb} {unit}: {answer}");
    }
    is("db.service", "inactive");
    for unit in ["ssh.service", "secret.service", "t-under-ssh.service"] {
        is(unit, "active");
    }
    for unit in ["t-db.service", "t-against-ssh.service", "t-against-vault.service"] {
        is(unit, "inactive");
    }
    // An active unit does not change.
    let _ = host.shell("systemctl start db").ok();
    assert_eq!(service(&host, &["start", "t-db"]).code, 0);
    // Starting along needs no grant, stopping does.
    let started = service(&host, &["start", "narrow"]);
    assert_eq!(started.code, 0, "{started}");
    is("t-second.service", "active");
    let _ = host.shell("systemctl stop narrow; systemctl start t-third").ok();
    assert_eq!(code(&service(&host, &["start", "narrow"])), "would_cascade");
    is("t-third.service", "active");
}

fn enabling_does_not_take_names_or_dependencies_of_others(release: Release) {
    let host = host(release);
    let links = || host.shell("find /etc/systemd/system -type l | sort").ok();
    let before = links();
    for (line, expected) in [
        ("Alias=dbus.service", "protected"),
        ("Alias=vault.service", "protected"),
        ("RequiredBy=secret.service", "protected"),
        ("UpheldBy=secret.service", "protected"),
        ("WantedBy=dbus.service", "protected"),
        ("Alias=sshd.service", "denied"),
        ("RequiredBy=ssh.service", "denied"),
        ("Also=t-also.service", "protected"),
    ] {
        let units = format!(
            "cd /usr/lib/systemd/system
            printf '[Service]\\nExecStart=/bin/sleep infinity\\n[Install]\\n{line}\\n' > t-install.service
            printf '[Service]\\nExecStart=/bin/sleep infinity\\n[Install]\\nAlias=dbus.service\\n' > t-also.service
            systemctl daemon-reload"
        );
        let _ = host.shell(&units).ok();
        let answer = service(&host, &["enable", "t-install"]);
        assert_eq!(code(&answer), expected, "{line}: {answer}");
        assert_eq!(links(), before, "{line}");
    }
    let _ = host
        .shell(
            "cd /usr/lib/systemd/system
            printf '[Service]\\nExecStart=/bin/sleep infinity\\n[Install]\\nWantedBy=multi-user.target\\nAlias=t-other.service\\n' > t-install.service
            systemctl daemon-reload",
        )
        .ok();
    let enabled = service(&host, &["enable", "t-install"]);
    assert_eq!(enabled.code, 0, "{enabled}");
    // A dependency that a person made by hand goes with the links.
    let by_hand = "/etc/systemd/system/secret.service.wants";
    let _ = host
        .shell(&format!("mkdir -p {by_hand}; ln -s /usr/lib/systemd/system/t-install.service {by_hand}/; systemctl daemon-reload"))
        .ok();
    assert_eq!(code(&service(&host, &["disable", "t-install"])), "protected");
    let _ = host.shell(&format!("rm -r {by_hand}; systemctl daemon-reload")).ok();
    let disabled = service(&host, &["disable", "t-install"]);
    assert_eq!(disabled.code, 0, "{disabled}");
    assert_eq!(links(), before);
}

fn a_state_that_a_person_must_show_is_not_in_plans(release: Release) {
    let host = host(release);
    let _ = host.root(&["useradd", "--create-home", "--groups", "postern-operators", "oper"]).ok();
    let _ = host.shell("systemctl start asked web").ok();
    let hides = |answer: &Output| {
        assert!(answer.stdout.contains("asked.service"), "{answer}");
        assert!(!answer.stdout.contains("web.service"), "{answer}");
        assert!(!answer.stdout.contains("\"active\":\"active\""), "{answer}");
    };
    for verb in ["restart", "status"] {
        hides(&service(&host, &[verb, "asked", "--dry-run"]));
    }
    let answer = thread::scope(|scope| {
        let asked = scope.spawn(|| host.visitor(&["postern", "--json=lines", "service", "restart", "asked"]));
        let admin = |arguments: &[&str]| host.run("oper", &[&["postern-admin"], arguments].concat());
        let id = (0..200).find_map(|_| {
            thread::sleep(Duration::from_millis(50));
            let list = admin(&["pending", "--json"]).json();
            list["pending"][0]["approval_id"].as_str().map(str::to_owned)
        });
        let shown = id.iter().map(|id| admin(&["show", id])).next();
        let denied = id.iter().map(|id| admin(&["deny", id])).next();
        let shown = shown.expect("a request that waits").ok();
        assert!(shown.contains("restart web.service, which is active"), "{shown}");
        let _ = denied.expect("an answer").ok();
        asked.join().expect("the person's command")
    });
    hides(&answer);
}

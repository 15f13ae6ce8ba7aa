//! Which runbooks fit a task: by its words, by failed units, and only where the facts hold.

use crate::parse;
use crate::shipped::all;
use postern_agent::runbooks::{Fit, Runbook, Situation};
use std::path::Path;

fn fit(runbook: &Runbook, task: &str, failed: &[&str], root: &Path) -> Option<Fit> {
    let failed_units: Vec<String> = failed.iter().map(|unit| (*unit).to_owned()).collect();
    runbook.fits(Situation { task, failed_units: &failed_units, root })
}

/// A root directory in which these packages are installed, and one is removed.
fn root(packages: &[&str]) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    let status = |name: &str, status: &str| format!("Package: {name}\nStatus: {status}\nVersion: 1\n\n");
    let mut text = status("gone", "deinstall ok config-files");
    text.extend(packages.iter().map(|name| status(name, "install ok installed")));
    std::fs::create_dir_all(root.path().join("var/lib/dpkg")).unwrap();
    std::fs::write(root.path().join("var/lib/dpkg/status"), text).unwrap();
    root
}

const STEPS: &str = "steps:\n  - {tool: list_disks, args: {}}\n";

#[test]
fn a_failed_unit_that_a_pattern_names_fits_less_than_words_do() {
    let when = "when:\n  tasks: ['\\bstuck\\b']\n  failed_units: ['app@*.service', web.service]\n";
    let runbook = parse(&format!("{when}{STEPS}")).unwrap();
    let root = root(&[]);
    let fits = |task: &str, failed: &[&str]| fit(&runbook, task, failed, root.path());
    assert_eq!(fits("something else", &[]), None);
    assert_eq!(fits("something else", &["app@1.service"]), Some(Fit::Failed));
    assert_eq!(fits("something else", &["other.service", "web.service"]), Some(Fit::Failed));
    for other in ["app.service", "app@1.socket", "web.service.d", "myweb.service"] {
        assert_eq!(fits("something else", &[other]), None, "{other}");
    }
    assert_eq!(fits("the app is STUCK", &["web.service"]), Some(Fit::Asked));
    assert!(Fit::Asked < Fit::Failed, "what was asked for comes first");
    assert_eq!(fits(&format!("{} stuck", "x".repeat(5000)), &[]), None, "only the beginning is looked at");
}

#[test]
fn facts_must_hold_whatever_fits() {
    let when = "when:\n  tasks: [stuck]\n  failed_units: [web.service]\n  facts: {packages: [web, db], files: [/etc/web.conf]}\n";
    let runbook = parse(&format!("{when}{STEPS}")).unwrap();
    let fits = |root: &Path| fit(&runbook, "stuck", &["web.service"], root);
    for packages in [&[][..], &["web"], &["web", "gone"]] {
        let root = root(packages);
        std::fs::create_dir_all(root.path().join("etc")).unwrap();
        std::fs::write(root.path().join("etc/web.conf"), "").unwrap();
        assert_eq!(fits(root.path()), None, "{packages:?}");
    }
    let root = root(&["web", "db"]);
    assert_eq!(fits(root.path()), None, "the file is missing");
    std::fs::create_dir_all(root.path().join("etc")).unwrap();
    std::fs::write(root.path().join("etc/web.conf"), "").unwrap();
    assert_eq!(fits(root.path()), Some(Fit::Asked));
}

/// A runbook, sentences that it must fit, and a failed unit that it must fit by itself.
const FITTING: &[(&str, &[&str], &str)] = &[
    (
        "certificate-renew",
        &[
            "the certificate of shop.example.org has expired",
            "renew the TLS certificates",
            "browsers say that the ssl cert is invalid",
            "our cert expires tomorrow",
        ],
        "certbot.service",
    ),
    (
        "disk-full",
        &[
            "the disk is full",
            "no space left on device",
            "/var is out of space: the partition filled up",
            "writes fail with ENOSPC",
        ],
        "",
    ),
    (
        "dns-broken",
        &[
            "DNS does not work",
            "host names are not resolved",
            "resolving example.org fails",
            "name lookups time out",
        ],
        "systemd-resolved.service",
    ),
    (
        "kernel-update",
        &[
            "update the kernel",
            "install the kernel security update",
            "a reboot is required",
            "patch the kernel tonight",
        ],
        "",
    ),
    (
        "log-flood",
        &[
            "the journal is flooded by app",
            "app fills the logs",
            "syslog grows too fast",
            "something spams the log",
        ],
        "",
    ),
    (
        "nginx-502",
        &["the site answers 502", "users get Bad Gateway", "upstream timed out in nginx", "nginx: 504"],
        "",
    ),
    (
        "no-login",
        &[
            "alice cannot log in",
            "ssh is refused",
            "I can't ssh to this host",
            "Permission denied (publickey) for bob",
            "login fails for carol",
        ],
        "ssh.service",
    ),
    (
        "package-broken",
        &[
            "dpkg was interrupted",
            "apt is broken",
            "fix the half configured packages: apt half",
            "repair the package state",
        ],
        "",
    ),
    (
        "postgresql-connections",
        &[
            "postgres has too many connections",
            "FATAL: remaining connection slots are reserved",
            "sorry, too many clients already",
            "PostgreSQL refuses connections",
        ],
        "postgresql@17-main.service",
    ),
    (
        "slow-host",
        &[
            "the host is slow",
            "high load",
            "this server hangs",
            "the machine is overloaded",
            "swapping slows the system",
        ],
        "",
    ),
    (
        "time-drift",
        &[
            "the clock is wrong",
            "time is off by two minutes",
            "NTP does not work",
            "chrony is not running",
            "the clock drifts",
        ],
        "chrony.service",
    ),
    (
        "unit-fails",
        &[
            "the service app failed",
            "app.service won't start",
            "the unit crashed",
            "fix the failed unit",
            "web does not start",
        ],
        "app.timer",
    ),
];

#[test]
fn each_shipped_runbook_fits_the_sentences_and_failed_units_that_it_is_for() {
    let root = root(&["certbot", "postgresql-common"]);
    std::fs::create_dir_all(root.path().join("etc/nginx")).unwrap();
    std::fs::write(root.path().join("etc/nginx/nginx.conf"), "").unwrap();
    let runbooks = all();
    let mut wrong = Vec::new();
    assert_eq!(runbooks.len(), FITTING.len());
    for (name, sentences, failed) in FITTING {
        let runbook = runbooks.iter().find(|runbook| runbook.name == *name).unwrap();
        let missed = sentences.iter().filter(|task| fit(runbook, task, &[], root.path()) != Some(Fit::Asked));
        wrong.extend(missed.map(|task| format!("{name}: {task:?}")));
        if !failed.is_empty() && fit(runbook, "look around", &[failed], root.path()) != Some(Fit::Failed) {
            wrong.push(format!("{name}: {failed}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn no_shipped_runbook_fits_what_it_is_not_for() {
    let root = root(&["certbot", "postgresql-common"]);
    std::fs::create_dir_all(root.path().join("etc/nginx")).unwrap();
    std::fs::write(root.path().join("etc/nginx/nginx.conf"), "").unwrap();
    for task in [
        "install hello",
        "create the user alice",
        "restart nginx",
        "write a summary of /etc/hosts",
        "add a virtual host for shop.example.org",
        "open port 8080 for 10.0.0.0/8",
        "back up /srv/shop",
    ] {
        let fitting = all().into_iter().filter(|runbook| fit(runbook, task, &[], root.path()).is_some());
        let names: Vec<String> = fitting.map(|runbook| runbook.name).collect();
        assert!(names.is_empty(), "{task:?}: {names:?}");
    }
}

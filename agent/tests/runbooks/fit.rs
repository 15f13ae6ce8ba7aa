//! Which tasks and hosts a runbook fits: words, failed units, facts, and the patterns of those that ship.

use crate::common::Place;
use crate::parse;
use crate::shipped::all;
use postern_agent::runbooks::{Fit, Situation};
use std::path::Path;

/// Sentences of people, by the runbook that must fit: each has five of its own.
const SENTENCES: &[(&str, [&str; 5])] = &[
    (
        "certificate-renew",
        [
            "the TLS certificate of this host expires tomorrow",
            "renew the cert for example.org",
            "our ssl certs are invalid",
            "the certificate has run out",
            "certificate renewal failed, renew the certificate",
        ],
    ),
    (
        "disk-full",
        [
            "the disk is full",
            "there is no space left on /",
            "the file system fills up",
            "make room, /var is a full partition",
            "writes fail with ENOSPC",
        ],
    ),
    (
        "dns-broken",
        [
            "DNS does not work",
            "names do not resolve",
            "the hostname db.internal cannot be looked up",
            "resolving is broken since noon",
            "host names are not looked up",
        ],
    ),
    (
        "kernel-update",
        [
            "update the kernel",
            "install the new kernel and reboot",
            "there is a kernel security fix",
            "a reboot is required",
            "upgrade to the latest kernel",
        ],
    ),
    (
        "log-flood",
        [
            "something floods the journal",
            "the log grows by the minute",
            "syslog is huge",
            "app is filling the logs",
            "a unit spams the log",
        ],
    ),
    (
        "nginx-502",
        [
            "the site answers 502",
            "bad gateway on the shop",
            "nginx says 504 for /api",
            "upstream timed out in the log of nginx",
            "upstream is down",
        ],
    ),
    (
        "no-login",
        [
            "nobody can ssh: permission denied (publickey)",
            "I cannot log in",
            "ssh is refused",
            "login fails for bob",
            "we are unable to connect",
        ],
    ),
    (
        "package-broken",
        [
            "dpkg was interrupted",
            "apt is broken",
            "packages are half configured",
            "repair the package state",
            "fix dpkg",
        ],
    ),
    (
        "postgresql-connections",
        [
            "postgres has too many connections",
            "FATAL: sorry, too many clients already",
            "remaining connection slots are reserved",
            "postgresql refuses new clients",
            "PostgreSQL runs out of connections",
        ],
    ),
    (
        "slow-host",
        [
            "the host is slow",
            "this server hangs",
            "high load since an hour",
            "the machine is overloaded",
            "sluggish system, please look",
        ],
    ),
    (
        "time-drift",
        [
            "the clock is wrong",
            "time drifts on this host",
            "ntp does not work",
            "chrony lost its sources",
            "the time is five minutes behind",
        ],
    ),
    (
        "unit-fails",
        [
            "the service app failed",
            "app.service has crashed",
            "nginx does not start",
            "the backup timer is dead",
            "the daemon won't start",
        ],
    ),
];

/// Sentences that no runbook of the package is for.
const OTHERS: [&str; 6] = [
    "install nginx-light and serve a page",
    "add the user alice",
    "which packages are held",
    "write 'hello' to /srv/www/index.html",
    "open port 8080 for the shop",
    "",
];

/// A host on which every fact of the shipped runbooks holds.
fn whole(place: &Place) -> &Path {
    let root = place.host.root.as_path();
    let status = |name: &str| format!("Package: {name}\nStatus: install ok installed\n\n");
    for (path, text) in [
        ("etc/nginx/nginx.conf", String::new()),
        ("var/lib/dpkg/status", status("certbot") + &status("postgresql-common")),
    ] {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    root
}

fn asked<'s>(task: &'s str, root: &'s Path) -> Situation<'s> {
    Situation { task, failed_units: &[], root }
}

#[test]
fn sentences_of_people_find_the_runbooks_that_ship() {
    let place = Place::new();
    let root = whole(&place);
    let all = all();
    assert_eq!(SENTENCES.len(), all.len());
    let mut wrong = Vec::new();
    for (name, sentences) in SENTENCES {
        let runbook = all.iter().find(|one| one.name == *name).unwrap();
        let missed = sentences.iter().filter(|words| runbook.fits(asked(words, root)) != Some(Fit::Asked));
        wrong.extend(missed.map(|words| format!("{name} does not fit {words:?}")));
    }
    for words in OTHERS {
        let fitting = all.iter().filter(|one| one.fits(asked(words, root)).is_some());
        wrong.extend(fitting.map(|one| format!("{} fits {words:?}", one.name)));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn failed_unit_fits_by_its_glob_and_counts_less_than_words() {
    let runbook = parse(
        "when:\n  tasks: [stuck]\n  failed_units: ['postgresql@*.service', cron.service]\nsteps: ['true']\n",
    )
    .unwrap();
    let root = Path::new("/nonexistent");
    let with = |task: &str, unit: &str| {
        let failed_units = [unit.to_owned()];
        runbook.fits(Situation { task, failed_units: &failed_units, root })
    };
    assert_eq!(with("look around", "postgresql@17-main.service"), Some(Fit::Failed));
    assert_eq!(with("look around", "cron.service"), Some(Fit::Failed));
    assert_eq!(with("it is stuck", "cron.service"), Some(Fit::Asked));
    for other in ["postgresql.service", "postgresql@17-main.socket", "xcron.service", "cron.service.d"] {
        assert_eq!(with("look around", other), None, "{other}");
    }
    assert!(Fit::Asked < Fit::Failed, "runbooks are sorted by it");
}

#[test]
fn every_fact_must_hold_whatever_else_fits() {
    let place = Place::new();
    let root = whole(&place);
    let status = root.join("var/lib/dpkg/status");
    let facts = |facts: &str| {
        parse(&format!(
            "when:\n  tasks: [stuck]\n  failed_units: ['*.service']\n  facts: {{{facts}}}\nsteps: ['true']\n"
        ))
        .unwrap()
    };
    let failed_units = ["app.service".to_owned()];
    let fits = |of: &str, task: &str| facts(of).fits(Situation { task, failed_units: &failed_units, root });
    for (of, holds) in [
        ("packages: [certbot]", true),
        ("packages: [certbot, postgresql-common], files: [/etc/nginx/nginx.conf]", true),
        ("packages: [certbot, nginx-light]", false),
        ("packages: [certbo]", false),
        ("packages: [certbot], files: [/no/such]", false),
        ("files: [/etc/nginx]", true),
    ] {
        assert_eq!(fits(of, "it is stuck"), holds.then_some(Fit::Asked), "{of}");
        assert_eq!(fits(of, "look around"), holds.then_some(Fit::Failed), "{of}");
    }
    // A package of which configuration alone is left is not installed.
    std::fs::write(status, "Package: certbot\nStatus: deinstall ok config-files\n\n").unwrap();
    assert_eq!(fits("packages: [certbot]", "it is stuck"), None);
}

#[test]
fn words_beyond_what_is_looked_at_do_not_count() {
    let runbook = parse("when:\n  tasks: [stuck]\nsteps: ['true']\n").unwrap();
    let root = Path::new("/nonexistent");
    let far = format!("{} stuck", "\u{fc}".repeat(3000));
    assert_eq!(runbook.fits(asked(&far, root)), None);
    assert_eq!(runbook.fits(asked(&format!("STUCK {far}"), root)), Some(Fit::Asked));
}

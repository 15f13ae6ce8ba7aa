//! The runbooks of the package, each carried out against a helper that does what it is asked: which requests they make, and in which
//! order. `tests/tests/runbooks.rs` carries all of them out on a Debian on which the fault of each was made.

use crate::common::tool::ToolServer;
use crate::common::{Place, Play, Policy, completed, ended, unit};
use postern_agent::Exit;
use postern_agent::runbooks::Runbook;
use postern_proto::v1::{self, Decision, Mode, Status};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A runbook, its values, and the requests of its run. `slow-host` makes none, and looks on a system bus, which is not here.
const RUNS: &[(&str, &[&str], &str)] = &[
    (
        "certificate-renew",
        &[],
        "UnitStatus CommandRun CommandRun CommandRun UnitReload CommandRun UnitStatus",
    ),
    ("disk-full", &["keep=1G"], "CommandRun CommandRun CommandRun CommandRun"),
    (
        "dns-broken",
        &["host=example.org"],
        "UnitStatus UnitStatus CommandRun CommandRun CommandRun UnitStatus",
    ),
    ("kernel-update", &["minutes=9"], "PackageShow PackageUpdate PackageUpgrade HostReboot PackageShow"),
    ("log-flood", &["unit=app"], "UnitStatus UnitRestart UnitStart CommandRun CommandRun UnitStatus"),
    ("nginx-502", &["backend=app"], "UnitStatus UnitStatus UnitStatus UnitRestart UnitStatus UnitStatus"),
    ("no-login", &["user=root"], "UnitStatus UnitStatus UnitStatus"),
    ("package-broken", &["package=nginx-light"], "PackageShow PackageRepair PackageShow"),
    (
        "postgresql-connections",
        &["unit=postgresql@17-main"],
        "UnitStatus CommandRun UnitStatus UnitRestart CommandRun UnitStatus",
    ),
    ("time-drift", &[], "UnitStatus UnitRestart UnitStatus"),
    ("unit-fails", &["unit=app"], "UnitStatus UnitStatus UnitResetFailed UnitStart UnitStatus"),
];

/// A helper whose unit is failed until it is started, where that is the runbook's.
fn helper(is_failed: bool) -> Play {
    let is_up = AtomicBool::new(!is_failed);
    let policy: Policy = Arc::new(move |seen| {
        if seen.meta().mode() == Mode::Check {
            return vec![completed(v1::Completed {
                status: Status::Previewed.into(),
                decision: Decision::Allow.into(),
                ..v1::Completed::default()
            })];
        }
        match seen.rpc.as_str() {
            "UnitStatus" if is_up.load(Ordering::SeqCst) => {
                vec![unit(Status::Done, "app.service", "active", "running")]
            }
            "UnitStatus" => vec![unit(Status::Done, "app.service", "failed", "failed")],
            "UnitStart" => {
                is_up.store(true, Ordering::SeqCst);
                vec![ended(Status::Done, "")]
            }
            "PackageShow" => vec![completed(v1::Completed {
                status: Status::Done.into(),
                packages: vec![v1::PackageInfo {
                    name: "nginx-light".into(),
                    state: "installed".into(),
                    installed: "1".into(),
                    ..v1::PackageInfo::default()
                }],
                ..v1::Completed::default()
            })],
            _ => vec![ended(Status::Done, "")],
        }
    });
    Play::Decide(policy)
}

#[tokio::test]
async fn each_is_carried_out_to_its_end() {
    let mut wrong = Vec::new();
    let tools = ToolServer::start();
    for (name, values, expected) in RUNS {
        let mut place = Place::new();
        place.host.runbooks = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/runbooks");
        place.host.runbook_owner = nix::unistd::geteuid().as_raw();
        place.host.tool_socket.clone_from(&tools.socket);
        std::fs::write(&place.host.config, "[tools]\nunenforced = \"report\"\n").unwrap();
        let helper = place.helper(vec![helper(*name == "unit-fails")]);
        let ran = place.run(&[&["--direct", "runbook", "run", name], *values].concat()).await;
        let executed = helper.seen().into_iter().filter(|seen| seen.meta().mode() == Mode::Execute);
        let executed: Vec<_> = executed.map(|seen| seen.rpc).collect();
        if ran.exit != Exit::Done || executed.join(" ") != *expected {
            wrong.push(format!("{name}: {executed:?} {ran:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

pub fn all() -> Vec<Runbook> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/runbooks");
    let mut runbooks = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let stem = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let text = std::fs::read_to_string(&path).unwrap();
        let runbook = Runbook::parse(&stem, &text);
        runbooks
            .push(runbook.unwrap_or_else(|fault| panic!("{}:{}: {}", path.display(), fault.line, fault.why)));
    }
    runbooks.sort_by(|a, b| a.name.cmp(&b.name));
    runbooks
}

#[test]
fn the_twelve_are_there_and_each_is_one() {
    let names: Vec<_> = all().into_iter().map(|runbook| runbook.name).collect();
    let expected = [
        "certificate-renew",
        "disk-full",
        "dns-broken",
        "kernel-update",
        "log-flood",
        "nginx-502",
        "no-login",
        "package-broken",
        "postgresql-connections",
        "slow-host",
        "time-drift",
        "unit-fails",
    ];
    assert_eq!(names, expected);
}

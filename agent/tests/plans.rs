//! The table of a plan: what a dry run says of packages and units.

mod common;

use common::{Place, Play, Streams, completed};
use postern_agent::Exit;
use postern_proto::v1::{self, Action, Status};

fn package(action: Action, name: &str, old: &str, new: &str, source: &str) -> v1::PackageStep {
    let sources = if source.is_empty() { Vec::new() } else { vec![source.to_owned()] };
    let [name, old, new] = [name, old, new].map(str::to_owned);
    v1::PackageStep { action: action.into(), name, old, new, sources, ..v1::PackageStep::default() }
}

fn play(status: Status, message: &str, plan: v1::Plan) -> Play {
    Play::Events(vec![completed(v1::Completed {
        status: status.into(),
        message: message.into(),
        plan: Some(plan),
        ..v1::Completed::default()
    })])
}

fn upgrade() -> v1::Plan {
    let asked = v1::PackageStep {
        asked: true,
        ..package(Action::Upgrade, "nginx", "1.22.1-9", "1.24.0-1", "debian")
    };
    v1::Plan {
        packages: vec![
            package(Action::Remove, "nginx-light", "1.22.1-9", "", ""),
            asked,
            package(Action::Install, "libnginx\u{1b}[2J", "", "1.24.0-1", "debian"),
            package(Action::Downgrade, "libssl3", "3.1", "3.0", "backports"),
            package(Action::Upgrade, "nginx-common", "1.22.1-9", "1.24.0-1", "debian"),
            package(Action::Purge, "telnetd", "0.17", "", ""),
        ],
        download_bytes: 3 << 20,
        disk_bytes: -(5 << 10),
        not_undoable: true,
        ..v1::Plan::default()
    }
}

const TABLE: &str = "\
would install 1:
  libnginx\\x1b[2J  1.24.0-1  debian  (needed by it)
would upgrade 2:
  nginx         1.22.1-9 -> 1.24.0-1  debian
  nginx-common  1.22.1-9 -> 1.24.0-1  debian  (needed by it)
would downgrade 1:
  libssl3  3.1 -> 3.0  backports  (needed by it)
would remove 1:
  nginx-light  1.22.1-9  (needed by it)
would purge 1:
  telnetd  0.17  (needed by it)
this cannot be undone
to download: 3.00 MiB
on disk: 5.00 KiB less
";

#[tokio::test]
async fn packages_stand_in_groups_with_versions_sources_and_sizes() {
    let place = Place::new();
    place.helper(vec![
        play(Status::Previewed, "kept back: firefox", upgrade()),
        play(Status::Done, "", upgrade()),
    ]);
    let ran = place.run(&["--direct", "package", "upgrade", "nginx", "--dry-run"]).await;
    assert_eq!((ran.exit, ran.out.as_str()), (Exit::Done, TABLE));
    assert_eq!(ran.err, "kept back: firefox\n");
    let ran = place.run(&["--direct", "package", "upgrade", "nginx"]).await;
    assert!(ran.out.contains("upgraded nginx 1.22.1-9 -> 1.24.0-1\n"), "{ran:?}");
    assert!(ran.out.contains("removed nginx-light 1.22.1-9 (needed by it)\n"), "{ran:?}");
}

#[tokio::test]
async fn no_line_of_a_table_is_wider_than_the_terminal() {
    let place = Place::new();
    place.helper(vec![play(Status::Previewed, "", upgrade())]);
    let streams = Streams { width: Some(32), ..Streams::default() };
    let ran = place.run_on(&["--direct", "package", "upgrade", "nginx", "--dry-run"], &streams, b"").await;
    assert!(ran.out.contains("\n  nginx         1.22.1-9 -> 1.2…\n"), "{}", ran.out);
    assert!(ran.out.lines().all(|line| line.chars().count() <= 32), "{}", ran.out);
}

#[tokio::test]
async fn units_stand_with_what_they_draw_along() {
    let place = Place::new();
    let step = |id: &str, verb: &str, cascade: bool| v1::UnitStep {
        id: id.into(),
        verb: verb.into(),
        cascade,
        active: "active".into(),
        enabled: if cascade { String::new() } else { "enabled".into() },
    };
    let units = vec![step("postgresql.service", "stop", false), step("app.service", "stop", true)];
    place.helper(vec![play(Status::Previewed, "", v1::Plan { units, ..v1::Plan::default() })]);
    let ran = place.run(&["--direct", "service", "stop", "postgresql", "--dry-run"]).await;
    let expected = "would stop  postgresql.service  now active, enabled\n\
        would stop  app.service         now active           (drawn along)\n";
    assert_eq!(ran.out, expected);
}

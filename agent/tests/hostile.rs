//! Text of others in every field, and everything that prints it: no character of it drives a terminal, hides, or turns
//! text around.

mod common;

use common::{Place, Play, Streams};
use postern_proto::v1::{self, event::Kind};
use postern_text::is_hostile;
use std::sync::Arc;

/// One of each kind, between letters that have to arrive.
const HOSTILE: &str = "a\u{0}\u{7}\u{1b}[2J\r\u{7f}\u{9b}\u{ad}\u{34f}\u{61c}\u{180e}\u{200b}\u{200f}\u{2028}\u{202e}\
    \u{2066}\u{3164}\u{feff}\u{fff9}\u{fffb}\u{e0001}\u{e0041}\u{e007f}z";

fn text() -> String {
    HOSTILE.to_owned()
}

fn plan() -> v1::Plan {
    v1::Plan {
        packages: vec![v1::PackageStep {
            action: v1::Action::Install.into(),
            name: text(),
            arch: text(),
            old: text(),
            new: text(),
            sources: vec![text()],
            asked: false,
        }],
        units: vec![v1::UnitStep {
            id: text(),
            verb: text(),
            cascade: true,
            active: text(),
            enabled: text(),
        }],
        files: vec![v1::FileStep {
            not_kept: true,
            path: text(),
            mode: text(),
            owner: text(),
            group: text(),
            ..v1::FileStep::default()
        }],
        command: Some(v1::CommandStep {
            name: text(),
            argv: vec![text()],
            user: text(),
            description: text(),
        }),
        ..v1::Plan::default()
    }
}

fn completed(status: v1::Status) -> Kind {
    Kind::Completed(v1::Completed {
        status: status.into(),
        code: text(),
        message: text(),
        rule: text(),
        plan: Some(plan()),
        packages: vec![v1::PackageInfo {
            name: text(),
            arch: text(),
            state: text(),
            installed: text(),
            candidate: text(),
            sources: vec![text()],
            summary: text(),
            conffiles_kept: vec![text()],
            ..v1::PackageInfo::default()
        }],
        unit: Some(v1::UnitInfo {
            id: text(),
            load: text(),
            active: text(),
            sub: text(),
            enabled: text(),
            result: text(),
            was_active: text(),
            was_enabled: text(),
            ..v1::UnitInfo::default()
        }),
        files: vec![v1::FileInfo {
            path: text(),
            mode: text(),
            owner: text(),
            group: text(),
            sha256: text(),
            ..v1::FileInfo::default()
        }],
        description: Some(v1::Description {
            client: text(),
            grants: vec![v1::Grant {
                verbs: vec![text()],
                packages: vec![text()],
                units: vec![text()],
                directories: vec![text()],
                files: vec![text()],
                commands: vec![text()],
                modes: vec![text()],
                rate: text(),
                limits: vec![text()],
                ..v1::Grant::default()
            }],
        }),
        ..v1::Completed::default()
    })
}

fn refused() -> Kind {
    Kind::Refused(v1::Refused {
        code: "no_grant".to_owned(),
        message: text(),
        missing: text(),
        plan: Some(plan()),
        granted_nearby: vec![text()],
        ..v1::Refused::default()
    })
}

fn before() -> Vec<Kind> {
    let progress = |phase: v1::Phase| {
        Kind::Progress(v1::Progress { phase: phase.into(), item: text(), percent: 10, detail: text() })
    };
    let output = |stream: v1::Stream| {
        Kind::Output(v1::Output {
            stream: stream.into(),
            data: HOSTILE.as_bytes().to_vec(),
            truncated: false,
        })
    };
    vec![
        Kind::Accepted(v1::Accepted {
            decision: v1::Decision::Allow.into(),
            rule: text(),
            attached: false,
            no_effect: false,
        }),
        progress(v1::Phase::Unpack),
        progress(v1::Phase::Waiting),
        output(v1::Stream::Stdout),
        output(v1::Stream::Stderr),
    ]
}

#[tokio::test]
async fn nothing_that_is_printed_holds_a_hostile_character() {
    let ends = [
        completed(v1::Status::Done),
        completed(v1::Status::Failed),
        completed(v1::Status::Previewed),
        completed(v1::Status::Partly),
        refused(),
    ];
    let commands: &[&[&str]] = &[
        &["service", "restart", "nginx"],
        &["service", "status", "nginx", "--lines", "3"],
        &["package", "install", "nginx"],
        &["package", "show", "nginx"],
        &["--dry-run", "package", "upgrade", "--all"],
        &["file", "list", "/srv"],
        &["file", "set-mode", "/srv/f", "0644"],
        &["command", "reload-site", "site=x"],
        &["can"],
        &["run", "restart nginx"],
        &["--dry-run", "run", "install nginx"],
        &["service", HOSTILE, "nginx"],
        &["run", HOSTILE],
        &["tasks"],
        &["undo", "last"],
        &["health"],
    ];
    for end in ends {
        let place = Place::new();
        let events: Vec<Kind> = before().into_iter().chain([end.clone()]).collect();
        place.helper(vec![Play::Decide(Arc::new(move |_| events.clone()))]);
        place.serve();
        for args in commands {
            for json in [None, Some("--json"), Some("--json=lines")] {
                let args: Vec<&str> = args.iter().copied().chain(json).collect();
                let ran = place.run_on(&args, &Streams::default(), b"").await;
                for printed in [&ran.out, &ran.err] {
                    let found = printed.chars().find(|c| is_hostile(*c) && !matches!(c, '\n' | '\t'));
                    assert_eq!(found, None, "{args:?} {end:?}: {printed:?}");
                }
            }
        }
        let tasks = place.run(&["tasks", "--json"]).await.json();
        let id = tasks[0]["id"].as_str().unwrap().to_owned();
        let shown = place.run(&["tasks", "show", &id]).await;
        assert!(!shown.out.chars().any(|c| is_hostile(c) && !matches!(c, '\n' | '\t')), "{shown:?}");
    }
}

//! Measures checking and comparing policies of a thousand rules: `cargo bench -p postern-admin --bench policy`.

#![expect(clippy::disallowed_methods, reason = "benches make the files that they are about")]

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use postern_admin::diff::{self, Report, Side};
use postern_admin::host::Accounts;
use postern_admin::host::Host;
use postern_admin::policy::source::Owner;
use postern_admin::policy::{Compiled, Purpose, apply};
use postern_proto::root::v1 as root;
use std::fmt::Write;
use std::hint::black_box;
use std::path::Path;

const RULES: usize = 1000;

/// A policy of many services, each with its unit, its site and its packages. `edit` changes the text of a rule.
fn policy(edit: impl Fn(usize, String) -> String) -> String {
    let mut text = "version = 1\n[[client]]\nname = \"agent\"\nuser = \"postern\"\n".to_owned();
    for number in 0..RULES {
        let what = match number % 4 {
            0 => format!(
                "verbs = [\"unit.restart\", \"unit.reload\", \"unit.status\"]\nunits = [\"app{number}.service\", \"app{number}-*.service\"]\n"
            ),
            1 => format!(
                "verbs = [\"file.read\", \"file.write\"]\ndirectories = [\"/srv/app{number}/www\"]\ndepth = 3\nfiles = [\"*.html\", \"*.css\", \"robots.txt\"]\n"
            ),
            2 => format!(
                "verbs = [\"package.install\"]\npackages = [\"app{number}\", \"lib{number}-*\"]\nversions = [\"1.*\"]\n"
            ),
            _ => format!(
                "verbs = [\"unit.status\"]\nunits = [\"job{number}-*.service\", \"app{number}.timer\"]\n"
            ),
        };
        let rule = format!(
            "[[rule]]\nid = \"rule-{number}\"\nclient = \"agent\"\ndecision = \"allow\"\njustification = \"app {number}\"\n{what}"
        );
        // Writing to a String cannot fail.
        let _ = text.write_str(&edit(number, rule));
    }
    text
}

fn host() -> Host {
    Host {
        accounts: Accounts { user: |_| Some(990), group: |_| None, users: Vec::new, groups: Vec::new },
        ..Host::real()
    }
}

fn compiled(host: &Host, path: &Path) -> Compiled {
    let (_, findings, compiled) = apply::load(path, Owner::Anybody, Purpose::Review, host);
    compiled.unwrap_or_else(|| panic!("{:?}", findings.first().map(ToString::to_string)))
}

fn between(old: &root::Rules, new: &root::Rules) -> Report {
    let side = |rules| Side { rules, positions: &[] };
    let report = diff::between(side(old), side(new)).expect("both are policies");
    assert!(report.unproven.is_empty(), "{:?}", report.unproven);
    report
}

fn policies(criterion: &mut Criterion) {
    let directory = tempfile::tempdir().expect("a directory");
    let host = host();
    let read = |name: &str, text: String| {
        let path = directory.path().join(name);
        std::fs::write(&path, text).expect("a file");
        (compiled(&host, &path).rules, path)
    };
    let (whole, path) = read("whole.toml", policy(|_, rule| rule));
    let (few, _) = read(
        "few.toml",
        policy(|number, rule| if number % 100 < 4 { rule.replace("app", "app-new") } else { rule }),
    );
    let (every, _) = read(
        "every.toml",
        policy(|_, rule| rule.replace("allow", "ask").replace("app", "appl").replace("lib", "libx")),
    );
    let (moved, _) = {
        let text = policy(|_, rule| rule);
        let mut rules = text.split("[[rule]]").collect::<Vec<_>>();
        rules[1..].reverse();
        read("moved.toml", rules.join("[[rule]]"))
    };
    let none = root::Rules { version: 1, ..root::Rules::default() };
    let mut group = criterion.benchmark_group("1000 rules");
    group.sample_size(10);
    group.bench_function("check", |bench| {
        bench.iter_batched(|| path.clone(), |path| compiled(&host, &path), BatchSize::PerIteration);
    });
    for (name, old, new) in [
        ("diff, the same", &whole, &whole),
        ("diff, 40 rules edited", &whole, &few),
        ("diff, every rule edited", &whole, &every),
        ("diff, in reverse order", &whole, &moved),
        ("diff, all of it new", &none, &whole),
    ] {
        group.bench_function(name, |bench| bench.iter(|| between(black_box(old), black_box(new))));
    }
    group.finish();
}

criterion_group!(benches, policies);
criterion_main!(benches);

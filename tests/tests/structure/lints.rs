//! Red lines of the source that no compiler holds by itself: where programs start, what product code does not contain, which tests
//! boot a machine, and the floors of coverage.

use crate::workspace::root;
use std::collections::BTreeSet;
use std::fs::read_to_string;
use std::path::{Path, PathBuf};

/// The files of the agent that start or become a program, each with a reason at its module: the sandbox, and what a person or root
/// has named.
const STARTS: &[&str] = &[
    "agent/src/cli/editing.rs",
    "agent/src/cli/exec.rs",
    "agent/src/cli/pager.rs",
    "agent/src/cli/view.rs",
    "agent/src/client/hook.rs",
    "agent/src/sandbox/confined.rs",
    "agent/src/sandbox/running.rs",
    "agent/src/service/calendar.rs",
    "agent/src/shell_policy/reader.rs",
    "agent/src/shims/caller.rs",
    "agent/src/shims/client.rs",
    "agent/src/shims/real.rs",
];

/// Calls that the lint must name for that.
const CALLS: &[&str] = &[
    "std::process::Command::new",
    "tokio::process::Command::new",
    "nix::unistd::execv",
    "nix::unistd::execve",
    "nix::unistd::execvp",
];

/// What no line of the product has, beside comments: each would hide an error, a risk or a peer that nobody checked.
const NEVER: &[&str] = &[
    "unsafe {",
    "unsafe fn",
    "todo!(",
    "unimplemented!(",
    "dbg!(",
    ".unwrap_unchecked(",
    "danger_accept_invalid",
    "#[allow(",
    "#![allow(",
];

/// Errors about an unknown word without the permitted ones, each in the agent or the operators' program, and the reason.
const WITHOUT_A_LIST: &[(&str, &str)] = &[
    ("agent/src/client/operators.rs: there is no group {name}", "a group of Postern's own"),
    ("agent/src/client/pending_request.rs: there is no {socket}", "a socket of Postern's own"),
    ("agent/src/config/secret.rs: has no variable {name}", "names of the environment are not shown"),
    (
        "agent/src/config/secret.rs: there is no credential {name:?}",
        "names of credentials are systemd's to show",
    ),
    ("agent/src/inspect/doctor/groups.rs: there is no group {USERS}", "a group of Postern's own"),
    ("agent/src/inspect/doctor/host.rs: there is no directory {}", "a directory of Postern's own"),
    ("agent/src/inspect/roots.rs: there is no {text:?}", "a path: list_directory shows the others"),
    ("privhelper/admin/src/audit/tips.rs: there is no user {USER}", "a user of Postern's own"),
    ("privhelper/admin/src/doctor/session.rs: there is no group {group}", "a group of Postern's own"),
    ("privhelper/admin/src/doctor/units.rs: there is no group {group}", "a group of Postern's own"),
    ("privhelper/admin/src/enforce/greet.rs: there is no group {name}", "a group of Postern's own"),
    ("privhelper/admin/src/enforce/greet.rs: there is no user {name}", "a user of Postern's own"),
    ("privhelper/admin/src/host.rs: there is no group {name:?}", "the nearest name follows"),
    ("privhelper/admin/src/host.rs: there is no user {name:?}", "the nearest name follows"),
    ("privhelper/admin/src/init/people.rs: there is no group {group}", "a group of Postern's own"),
    (
        "privhelper/admin/src/lint/gather/accounts.rs: there is no user {name:?}",
        "`policy check` names the nearest",
    ),
    ("privhelper/admin/src/lint/never_works.rs: there is no {program}", "a path"),
    ("privhelper/admin/src/policy/apply.rs: there is no group {name}", "a group of Postern's own"),
    ("privhelper/admin/src/suggest/claims.rs: has no {what}", "a sentence about a log, not about a word"),
];

/// The Rust files below these directories, sorted.
fn sources(directories: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open: Vec<PathBuf> = directories.iter().map(|directory| root().join(directory)).collect();
    while let Some(directory) = open.pop() {
        for entry in
            std::fs::read_dir(&directory).unwrap_or_else(|why| panic!("{}: {why}", directory.display()))
        {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path);
            }
        }
    }
    found.sort();
    assert!(found.len() > 30, "{} files", found.len());
    found
}

/// The source without comment lines.
fn code(path: &Path) -> String {
    let text = read_to_string(path).expect("a source");
    text.lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .fold(String::new(), |all, line| all + line + "\n")
}

/// A path as the tree names it.
fn name(path: &Path) -> String {
    path.strip_prefix(root()).expect("a path of the tree").display().to_string()
}

/// The `src` directories of the product.
fn product() -> Vec<String> {
    let packages = crate::workspace::workspace().into_iter();
    let named = packages.map(|package| name(&package.directory.join("src")));
    named.filter(|name| ["agent", "privhelper"].iter().any(|top| name.starts_with(top))).collect()
}

#[test]
fn programs_start_where_a_reason_stands_and_nowhere_else() {
    let lint = read_to_string(root().join("agent/clippy.toml")).expect("the lint's list");
    for call in CALLS {
        assert!(lint.contains(&format!("\"{call}\"")), "agent/clippy.toml does not name {call}");
    }
    let starts = |path: &&PathBuf| {
        let code = code(path);
        ["Command::new(", "execv(", "execve(", "execvp("].iter().any(|call| code.contains(call))
    };
    let found: Vec<String> = sources(&["agent/src"]).iter().filter(starts).map(|path| name(path)).collect();
    assert_eq!(found, STARTS, "a program starts elsewhere, or no longer there");
}

#[test]
fn exceptions_to_a_lint_have_a_reason() {
    for path in sources(&product().iter().map(String::as_str).collect::<Vec<_>>()) {
        let code = code(&path);
        for part in code.split("disallowed_methods").skip(1) {
            let rest: String = part.chars().take(300).collect();
            assert!(rest.contains("reason = \""), "{}: an exception without a reason", name(&path));
        }
    }
}

#[test]
fn errors_about_an_unknown_word_list_the_permitted_ones() {
    let packages = product();
    let is_ours = |name: &&str| name.starts_with("agent/") || name.starts_with("privhelper/admin/");
    let directories = packages.iter().map(String::as_str).filter(is_ours).collect::<Vec<_>>();
    let mut found = BTreeSet::new();
    for path in sources(&directories) {
        let code = code(&path);
        for words in ["there is no ", "no such ", "is not one of ", "has no "] {
            for (at, _) in code.match_indices(words) {
                let rest = &code[at + words.len()..];
                // At most a noun before the word that was given.
                let (noun, given) = rest.split_once('{').unwrap_or((rest, "{"));
                let is_noun =
                    noun.len() <= 20 && noun.chars().all(|c| c.is_ascii_lowercase() || c == ' ' || c == '_');
                if is_noun && noun.matches(' ').count() <= 1 && !given.starts_with('{') {
                    let (given, _) = given.split_once('}').unwrap_or_default();
                    found.insert(format!("{}: {words}{noun}{{{given}}}", name(&path)));
                }
            }
        }
    }
    let known = WITHOUT_A_LIST.iter().map(|(place, _)| (*place).to_owned()).collect();
    assert_eq!(found, known, "postern_text::unknown names the permitted words");
}

#[test]
fn product_code_crosses_no_red_line() {
    let workspace = read_to_string(root().join("Cargo.toml")).expect("the workspace");
    assert!(workspace.contains("unsafe_code = \"forbid\""), "unsafe code is not forbidden");
    let mut crossed = Vec::new();
    for path in sources(&product().iter().map(String::as_str).collect::<Vec<_>>()) {
        // Messages are generated, and its macros are the generator's.
        if name(&path).contains("generated") {
            continue;
        }
        let code = code(&path);
        crossed.extend(
            NEVER.iter().filter(|line| code.contains(**line)).map(|line| format!("{}: {line}", name(&path))),
        );
    }
    assert!(crossed.is_empty(), "{crossed:#?}");
    // Each package takes the workspace's lints.
    for package in crate::workspace::workspace() {
        let manifest = read_to_string(package.directory.join("Cargo.toml")).expect("a manifest");
        assert!(
            manifest.contains("[lints]\nworkspace = true") || manifest.contains("unsafe_code = \"forbid\""),
            "{} takes no lints",
            package.name
        );
    }
}

#[test]
fn a_test_that_boots_a_machine_needs_its_feature_and_a_fast_one_does_not() {
    let manifest = read_to_string(root().join("tests/Cargo.toml")).expect("the manifest");
    let gated: BTreeSet<&str> = manifest
        .split("[[test]]")
        .skip(1)
        .filter(|row| {
            row.contains("required-features = [\"machine\"]")
                || row.contains("required-features = [\"long\"]")
        })
        .filter_map(|row| row.split('"').nth(1))
        .collect();
    let mut booting = BTreeSet::new();
    for path in sources(&["tests/tests"]) {
        let text = code(&path);
        if [concat!("Machine", "::boot"), concat!("Installed", "::")].iter().any(|boots| text.contains(boots))
        {
            let inside = path.strip_prefix(root().join("tests/tests")).expect("a test").to_owned();
            let first =
                inside.components().next().expect("a name").as_os_str().to_string_lossy().into_owned();
            booting.insert(first.trim_end_matches(".rs").to_owned());
        }
    }
    let booting: BTreeSet<&str> = booting.iter().map(String::as_str).collect();
    assert!(booting.is_subset(&gated), "without the feature: {:?}", booting.difference(&gated));
    assert!(gated.len() > 20 && gated.iter().all(|name| *name != "structure"), "{gated:?}");
}

/// Tests of the helper that ask whether they run as root, and how often: to give power up, or to make the same assertions in
/// another way. What root alone can show is in a module `as_root`, which tests/run runs as root.
const ASKS_FOR_ROOT: &[(&str, usize)] = &[
    // A browser's sandbox does not work as root.
    ("privhelper/admin/tests/admin/page/browser.rs", 1),
    // Another user than the one who owns the socket.
    ("privhelper/admin/tests/greeting.rs", 2),
    ("privhelper/broker/tests/program.rs", 1),
    // A user namespace in the place of root's rights.
    ("privhelper/gateway/tests/gateway/process.rs", 1),
    ("privhelper/probe/tests/program.rs", 1),
    // RLIMIT_NPROC does not bind root.
    ("tests/corridor/tests/corridor/threads.rs", 1),
];

#[test]
fn no_test_of_the_helper_asserts_less_where_it_does_not_run_as_root() {
    let asks = |path: &PathBuf| {
        let code = code(path);
        let direct = code.matches("is_root()").count();
        // By number it is the same question.
        let by_number =
            ["geteuid().as_raw() == 0", "getuid().as_raw() == 0", "getuid() == 0", "geteuid() == 0"];
        direct + by_number.iter().map(|question| code.matches(question).count()).sum::<usize>()
    };
    let tests = sources(&["privhelper", "tests/corridor"]);
    let tests = tests.iter().filter(|path| path.components().any(|part| part.as_os_str() == "tests"));
    let found = tests.map(|path| (name(path), asks(path))).filter(|(_, asked)| *asked > 0);
    let known = ASKS_FOR_ROOT.iter().map(|(path, asked)| ((*path).to_owned(), *asked));
    assert_eq!(found.collect::<Vec<_>>(), known.collect::<Vec<_>>(), "move it into `mod as_root`");
    // Each such module is found by `tests/as-root`, which looks for it at the beginning of a line.
    let script = read_to_string(root().join("tests/as-root")).expect("tests/as-root");
    assert!(script.contains("'^mod as_root'") && script.contains("--ignored as_root::"), "{script}");
    let hidden = sources(&["privhelper", "agent", "tests"]).into_iter().filter(|path| {
        let code = code(path);
        code.contains(concat!("mod ", "as_root {")) && !code.contains(concat!("\nmod ", "as_root {"))
    });
    assert_eq!(hidden.collect::<Vec<_>>(), Vec::<PathBuf>::new());
}

/// The files of the product that name a variable of the locale: they give programs whose output is read a fixed one, keep a command
/// from getting one, or look whether a terminal shows UTF-8.
const LOCALE: &[&str] = &[
    "agent/src/client/hook.rs",
    "agent/src/sandbox/confined.rs",
    "agent/src/service/calendar.rs",
    "agent/src/shims/call.rs",
    "privhelper/admin/src/approvals/terminal.rs",
    "privhelper/admin/src/enforce/unit.rs",
    "privhelper/admin/src/lint/gather/run.rs",
    "privhelper/admin/src/programs.rs",
    "privhelper/command/src/lib.rs",
    "privhelper/probe/src/journal.rs",
    "privhelper/root/apt/src/programs.rs",
    "privhelper/root/units/src/systemctl.rs",
];

#[test]
fn texts_have_no_translations_and_ask_for_no_locale() {
    let product = product();
    let sources = sources(&product.iter().map(String::as_str).collect::<Vec<_>>());
    let names = |words: &'static [&str]| {
        let has = move |path: &&PathBuf| words.iter().any(|word| code(path).contains(word));
        sources.iter().filter(has).map(|path| name(path)).collect::<Vec<_>>()
    };
    assert_eq!(
        names(&["\"LANG\"", "\"LANGUAGE\"", "\"LC_"]),
        LOCALE,
        "another file reads or sets the locale"
    );
    assert_eq!(names(&["setlocale", "gettext", "localeconv", "nl_langinfo", "format_localized"]), [""; 0]);
    let lock = read_to_string(root().join("Cargo.lock")).expect("Cargo.lock");
    let crates = lock.lines().filter_map(|line| line.strip_prefix("name = \"")?.strip_suffix('"'));
    let crates = crates.collect::<Vec<_>>();
    assert!(crates.len() > 100, "{} crates", crates.len());
    let starts =
        ["gettext", "fluent", "i18n", "rust-i18n", "sys-locale", "locale_config", "pure-rust-locales"];
    let translating = crates.iter().filter(|name| starts.iter().any(|start| name.starts_with(start)));
    assert_eq!(translating.collect::<Vec<_>>(), Vec::<&&str>::new(), "texts of another language");
}

#[test]
fn coverage_is_held_against_its_floors() {
    let script = read_to_string(root().join("tests/coverage")).expect("tests/coverage");
    assert!(script.contains("readonly floors='agent 85 privhelper 92'"), "the floors are others");
    let run = read_to_string(root().join("tests/run")).expect("tests/run");
    assert!(
        run.contains("[ \"${1:-}\" != --coverage ] || exec ./tests/coverage"),
        "tests/run does not measure it"
    );
}

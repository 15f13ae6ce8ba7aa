//! `tests/trusted` counts lines of code and refuses what is over a bar of `privhelper/TRUST`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use postern_tests::Output;
use tempfile::TempDir;

/// A tree with this TRUST file and these sources.
fn tree(trust: &str, sources: &[(&str, &str)]) -> TempDir {
    let tree = tempfile::tempdir().expect("a directory");
    for (path, text) in [("privhelper/TRUST", trust)].iter().chain(sources) {
        let path = tree.path().join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        fs::write(path, text).expect("a file");
    }
    tree
}

/// Runs the script, from a directory that is not the tree.
fn count(tree: Option<&Path>) -> Output {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("trusted");
    let mut command = Command::new(script);
    command.args(tree).current_dir("/");
    let done = command.output().expect("the script starts");
    Output {
        command: "tests/trusted".to_owned(),
        code: done.status.code().unwrap_or(255),
        stdout: String::from_utf8(done.stdout).expect("text"),
        stderr: String::from_utf8(done.stderr).expect("text"),
    }
}

/// How many lines of code the script finds in these files and directories of this tree, which are named as in READING.md: from
/// `privhelper` or from the tree, a crate for its `src`, and a file without a directory beside the first one.
fn lines_at(names: &[&str]) -> u32 {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let beside = Path::new(names[0]).parent().expect("a parent");
    let find = |name: &&str| {
        let path = if name.contains('/') || Path::new(name).extension().is_none_or(|end| end != "rs") {
            (*name).into()
        } else {
            beside.join(name)
        };
        let places = [root.join("privhelper").join(&path), root.join(&path)];
        let at = places.iter().find(|at| at.exists()).unwrap_or_else(|| panic!("there is no {name}"));
        let at = Some(at.join("src")).filter(|src| src.exists()).unwrap_or_else(|| at.clone());
        at.to_str().expect("text").to_owned()
    };
    let paths = names.iter().map(find).collect::<Vec<_>>();
    let tree = tree(&format!("all 1000000 {}", paths.join(" ")), &[]);
    counted(&count(Some(tree.path())).ok(), "all")
}

/// The lines of a class in what the script printed.
fn counted(printed: &str, class: &str) -> u32 {
    let row = printed.lines().find_map(|line| line.strip_prefix(class)?.split_whitespace().next());
    row.and_then(|lines| lines.parse().ok()).expect("a number")
}

/// A number as documents write it: `1,310`.
fn number(text: &str) -> Option<u32> {
    let digits = text.chars().take_while(|c| c.is_ascii_digit() || *c == ',').filter(|c| *c != ',');
    digits.collect::<String>().parse().ok()
}

/// Documents round, and code changes a little between two versions of them.
fn assert_near(said: u32, is: u32, what: &str) {
    assert!(said.abs_diff(is) <= (is / 20).max(10), "{what}: the document says {said} lines, there are {is}");
}

#[test]
fn documents_say_how_many_lines_there_are() {
    let reading = include_str!("../../privhelper/READING.md");
    let mut rows = 0;
    for line in reading.lines().filter(|line| line.starts_with('|')) {
        let cells = line.split('|').map(str::trim).collect::<Vec<_>>();
        let Some(at) = cells.iter().position(|cell| cell.starts_with('`')) else { continue };
        let names = cells[at].split('`').skip(1).step_by(2).collect::<Vec<_>>();
        let Some(said) = number(cells[at + 1]) else { continue };
        assert_near(said, lines_at(&names), cells[at]);
        rows += 1;
        // "`rules` 1,310, `facts` 360": the parts of the policy.
        let parts = cells[at + 2].split('`').skip(1).collect::<Vec<_>>();
        for part in parts.chunks(2).filter(|_| names == ["policy"]) {
            let said = number(part[1].trim()).expect("a number");
            assert_near(said, lines_at(&[&format!("policy/src/{}", part[0])]), part[0]);
        }
    }
    assert!(rows >= 20, "only {rows} rows have a number of lines");
    let security = include_str!("../../SECURITY.md");
    let printed = count(None).stdout;
    for (words, class) in [
        ("root's programs have about ", "root"),
        ("recorder and seal have ", "recorder"),
        ("The policy has ", "policy"),
    ] {
        let said = security.split_once(words).and_then(|(_, rest)| number(rest)).expect(words);
        assert_near(said, counted(&printed, class), words);
    }
}

/// How many lines of code the script finds in one file.
fn lines_of(source: &str) -> u32 {
    let tree = tree("root 1000 src", &[("src/lib.rs", source)]);
    let printed = count(Some(tree.path())).ok();
    let row = printed.lines().nth(1).expect("a row");
    row.split_whitespace().nth(1).and_then(|lines| lines.parse().ok()).expect("a number")
}

#[test]
fn this_tree_is_within_its_bars() {
    let output = count(None);
    assert_eq!(output.code, 0, "{output}");
    for class in ["root", "messages", "gateway"] {
        assert!(output.stdout.lines().any(|line| line.starts_with(&format!("{class} "))), "{output}");
    }
}

/// The version of TRUST since which each raise is a row of [`RAISES`]; earlier ones are in its comments.
const SINCE: &str = "97f9a4b6d5c79eb59d2b6b71a0b7dd3b6c023224";

/// Raises of a bar: class, lines, and the issue that names both.
const RAISES: &[(&str, u32, &str)] = &[];

/// The bar of each class in a TRUST file.
fn bars(trust: &str) -> BTreeMap<String, u32> {
    let rows = trust.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty());
    let rows = rows.map(|row| {
        let mut words = row.split_whitespace();
        let class = words.next().expect("a class").to_owned();
        (class, words.next().and_then(|bar| bar.parse().ok()).expect("a bar"))
    });
    rows.collect()
}

/// The classes that rose by more lines from one version to the next than these raises have.
fn risen(versions: &[String], raises: &[(&str, u32, &str)]) -> BTreeMap<String, u32> {
    let mut left = BTreeMap::<String, u32>::new();
    for pair in versions.windows(2) {
        let before = bars(&pair[0]);
        for (class, bar) in bars(&pair[1]) {
            let rise = bar.saturating_sub(before.get(&class).copied().unwrap_or(0));
            *left.entry(class).or_default() += rise;
        }
    }
    for (class, lines, issue) in raises {
        assert!(issue.starts_with("issue "), "{class}: {issue}");
        left.entry((*class).to_owned()).and_modify(|over| *over = over.saturating_sub(*lines));
    }
    left.retain(|_, over| *over > 0);
    left
}

#[test]
fn a_bar_only_falls_or_rises_by_an_issue() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    if !root.join(".git").exists() {
        println!("no history here: not compared");
        return;
    }
    let git = |arguments: &[&str]| {
        // Root may read a tree of another user.
        let mut command = Command::new("git");
        let done = command.args(["-c", "safe.directory=*", "-C"]).arg(&root).args(arguments).output();
        let done = done.expect("git");
        done.status.success().then(|| String::from_utf8(done.stdout).expect("text"))
    };
    let head = git(&["rev-parse", "HEAD"]).expect("a repository that git can read");
    if git(&["merge-base", "--is-ancestor", SINCE, "HEAD"]).is_none() {
        let shallow = git(&["rev-parse", "--is-shallow-repository"]);
        assert_eq!(shallow.as_deref(), Some("true\n"), "{SINCE} is not in the history of {head}");
        println!("a part of the history only: not compared");
        return;
    }
    let range = format!("{SINCE}..HEAD");
    let log = ["log", "--first-parent", "--reverse", "--format=%H", &range, "--", "privhelper/TRUST"];
    let commits = git(&log).expect("the history");
    let mut versions = Vec::new();
    for commit in std::iter::once(SINCE).chain(commits.lines()) {
        versions.push(git(&["show", &format!("{commit}:privhelper/TRUST")]).expect("a version"));
    }
    versions.push(fs::read_to_string(root.join("privhelper/TRUST")).expect("TRUST"));
    let risen = risen(&versions, RAISES);
    assert!(risen.is_empty(), "raised without an issue's row in RAISES, by lines: {risen:?}");
}

#[test]
fn a_raised_bar_is_found_also_where_it_fell_before_or_is_a_new_class() {
    let of = |versions: &[&str], raises: &[(&str, u32, &str)]| {
        let versions = versions.iter().map(|rows| format!("# why\n\n{rows}\n")).collect::<Vec<_>>();
        risen(&versions, raises).into_iter().collect::<Vec<_>>()
    };
    let over = |class: &str, lines| vec![(class.to_owned(), lines)];
    assert_eq!(of(&["root 9 a", "root 7 a b"], &[]), []);
    assert_eq!(of(&["root 9 a", "root 7 a", "root 8 a"], &[]), over("root", 1));
    assert_eq!(of(&["root 9 a", "root 9 a\nprobe 3 b"], &[]), over("probe", 3));
    let row = ("root", 2, "issue 99: why");
    assert_eq!(of(&["root 9 a", "root 11 a"], &[row]), []);
    assert_eq!(of(&["root 9 a", "root 12 a"], &[row]), over("root", 1));
    assert_eq!(of(&["root 9 a\nprobe 1 b", "root 9 a\nprobe 3 b"], &[row]), over("probe", 2));
}

#[test]
fn fails_when_a_class_is_over_its_bar() {
    let sources = [("a/src/lib.rs", "fn a() {\n}\n"), ("b/src/lib.rs", "fn b() {\n}\n")];
    for (trust, code) in [
        ("root 4 a/src b/src", 0),
        ("root 3 a/src b/src", 1),
        ("root 2 a/src\nprobe 1 b/src", 1),
        ("root 1 a/src\nprobe 2 b/src", 1),
        ("# why\n\nroot 2 a/src\nprobe 2 b/src\n", 0),
    ] {
        let tree = tree(trust, &sources);
        let output = count(Some(tree.path()));
        assert_eq!(output.code, code, "{trust}: {output}");
    }
}

#[test]
fn prints_class_lines_and_bar() {
    let tree = tree("root 1 a/src\nprobe 9 b", &[("a/src/lib.rs", "a!();\nb!();\n"), ("b/c/d.rs", "c!();")]);
    let output = count(Some(tree.path()));
    let rows: Vec<Vec<&str>> = output.stdout.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows, [["class", "lines", "bar"], ["root", "2", "1"], ["probe", "1", "9"]]);
    assert!(output.stderr.contains("root is over its bar by 1:"), "{output}");
}

#[test]
fn refuses_a_trust_file_that_is_wrong() {
    let sources = [("src/lib.rs", "a!();\n"), ("empty/README.md", "")];
    for trust in
        ["root 9 src nowhere", "root nine src", "root 9", "root", "root 9 empty", "root 9 src\nroot 9 src"]
    {
        let tree = tree(trust, &sources);
        let output = count(Some(tree.path()));
        assert_eq!(output.code, 2, "{trust}: {output}");
        assert!(output.stderr.contains("privhelper/TRUST"), "{output}");
    }
}

#[test]
fn counts_a_file_once_and_no_generated_or_other_file() {
    let sources = [
        ("src/lib.rs", "a!();\n"),
        ("src/x/mod.rs", "b!();\nc!();\n"),
        ("src/generated/wire.rs", "d!();\n"),
        ("src/notes.txt", "e\n"),
    ];
    let tree = tree("root 3 src src/x src/lib.rs", &sources);
    let output = count(Some(tree.path()));
    assert_eq!(output.code, 0, "{output}");
    assert!(output.stdout.lines().any(|line| line.split_whitespace().eq(["root", "3", "3"])), "{output}");
}

#[test]
fn counts_code_and_neither_blank_lines_nor_comments() {
    for (source, lines) in [
        ("", 0),
        ("\n \t\n\r\n", 0),
        ("//! module\n/// item\n// why\n    //indented\n", 0),
        ("fn a() {} // why\n", 1),
        ("/* one */\n/* two\n lines */\n/** doc\n * more\n */\n/*! inner */\n", 0),
        ("/* outer /* inner */ still a comment\n */\nfn a() {}\n", 1),
        ("fn a() {} /* begins\n goes on\n ends */ fn b() {}\n", 2),
        ("/* a */ /* b */ fn a() {}\n", 1),
        // Strings that look like comments.
        ("a(\"/*\");\nb();\n", 2),
        ("a(\"//\"); /*\n*/\n", 1),
        ("a(\"\\\"/*\");\nb();\n", 2),
        ("a(\"\\\\\"); /* why\n*/\n", 1),
        ("a(\"one \\\n   // two\n\n three\");\n", 3),
        ("a(r\"\\\"); /* why\n*/\n", 1),
        ("a(r#\"\"/*\"#);\nb(br##\"\"#/*\"##);\nc();\n", 3),
        ("a(b\"/*\", c\"/*\");\nb();\n", 2),
        // Characters and lifetimes.
        ("a('\"'); // \"\nb();\n// \"\n", 2),
        ("a('\\'', '\"', '\\\\', '\\u{22}', 'é', '\"');\n/* why */\nb(b'\"');\n// \"\n", 2),
        ("fn a<'a>(x: &'a str) {}\n// 'a\nfn b<'b, 'c>() {}\n", 2),
        ("let r#type = r#match; /*\n*/\n", 1),
        // Division and dereferences are no comments.
        ("a = b / c;\nd = *e / *f;\n", 2),
    ] {
        assert_eq!(lines_of(source), lines, "{source:?}");
    }
}

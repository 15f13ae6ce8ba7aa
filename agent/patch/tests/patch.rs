//! Diffs that are applied where they fit, and those that are refused by name.

use postern_patch::{Applied, Conflict, FileDiff, Kind, Moved, Reason, apply, difference, parse};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

fn one(diff: &str) -> FileDiff {
    let mut files = parse(diff.as_bytes()).unwrap_or_else(|e| panic!("{e}\n{diff}"));
    assert_eq!(files.len(), 1, "{diff}");
    files.remove(0)
}

fn applied(diff: &str, content: &str) -> Result<Applied, Conflict> {
    apply(&one(diff), Some(content.as_bytes()))
}

fn text(diff: &str, content: &str) -> String {
    let applied = applied(diff, content).unwrap_or_else(|e| panic!("{e}"));
    String::from_utf8(applied.content).unwrap()
}

fn fault(diff: &str) -> String {
    parse(diff.as_bytes()).expect_err(diff).to_string()
}

const SWAP: &str = "--- a/etc/x\n+++ b/etc/x\n@@ -2,3 +2,3 @@\n two\n-three\n+THREE\n four\n";

#[test]
fn a_path_is_absolute_less_its_side() {
    let vectors = [
        ("a/etc/x", "b/etc/x", "/etc/x"),
        ("/etc/x", "/etc/x", "/etc/x"),
        ("etc/x", "etc/x", "/etc/x"),
        ("/a/x", "/a/x", "/a/x"),
        ("a//etc/x", "b//etc/x", "/etc/x"),
        ("a/etc/x\t2026-01-01 00:00:00", "b/etc/x\t2026-01-02", "/etc/x"),
        ("\"a/etc/a \\\"b\\\"\"", "\"b/etc/a \\\"b\\\"\"", "/etc/a \"b\""),
        ("\"a/etc/\\303\\244\"", "b/etc/ä", "/etc/ä"),
    ];
    for (old, new, path) in vectors {
        let diff = format!("--- {old}\n+++ {new}\n@@ -1 +1 @@\n-a\n+b\n");
        assert_eq!((one(&diff).path.as_str(), one(&diff).kind), (path, Kind::Modify), "{diff}");
    }
    for path in ["a/../etc/x", "a/etc//x", "a/etc/./x", "a/", "", "a/etc/", "\"a/x\\001\"", "\"a/x"] {
        let diff = format!("--- {path}\n+++ {path}\n@@ -1 +1 @@\n-a\n+b\n");
        let why = fault(&diff);
        assert!(why.contains("is no plain path") || why.contains("quoted path is broken"), "{path}: {why}");
    }
}

#[test]
fn dev_null_creates_and_deletes() {
    let create = one("--- /dev/null\n+++ b/srv/new\n@@ -0,0 +1,2 @@\n+a\n+b\n");
    assert_eq!((create.path.as_str(), create.kind, create.counts()), ("/srv/new", Kind::Create, (2, 0)));
    assert_eq!(apply(&create, None).unwrap().content, b"a\nb\n");
    assert_eq!(apply(&create, Some(b"")).unwrap_err().reason, Reason::Exists);

    let delete = one("--- a/srv/old\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-a\n-b\n");
    assert_eq!((delete.path.as_str(), delete.kind, delete.counts()), ("/srv/old", Kind::Delete, (0, 2)));
    assert_eq!(apply(&delete, Some(b"a\nb\n")).unwrap().content, b"");
    assert_eq!(apply(&delete, Some(b"a\nb\nc\n")).unwrap_err().reason, Reason::Rest(1));
}

#[test]
fn reads_what_git_and_mail_put_around_it() {
    let diff = "From 1234 Mon Sep 17 00:00:00 2001\nSubject: x\n\n---\n etc/x | 2 +-\n\n\
        diff --git a/etc/x b/etc/x\nindex 257cc56..5716ca5 100644\n--- a/etc/x\n+++ b/etc/x\n@@ -1 +1 @@ main {\n-foo\n+bar\n\
        diff --git a/srv/empty b/srv/empty\nnew file mode 100644\nindex 0000000..e69de29\n\
        diff --git a/srv/gone b/srv/gone\ndeleted file mode 100755\nindex e69de29..0000000\n\
        diff --git a/srv/n b/srv/n\nnew file mode 100644\n--- /dev/null\n+++ b/srv/n\n@@ -0,0 +1 @@\n+n\n-- \n2.39.5\n";
    let files = parse(diff.as_bytes()).unwrap();
    let found: Vec<_> = files.iter().map(|f| (f.path.as_str(), f.kind, f.hunks.len())).collect();
    let expected = [
        ("/etc/x", Kind::Modify, 1),
        ("/srv/empty", Kind::Create, 0),
        ("/srv/gone", Kind::Delete, 0),
        ("/srv/n", Kind::Create, 1),
    ];
    assert_eq!(found, expected);
    assert_eq!(apply(&files[1], None).unwrap().content, b"");
    assert_eq!(apply(&files[2], Some(b"x")).unwrap_err().reason, Reason::Rest(1));
    assert_eq!(files[3].hunks[0].lines.len(), 1, "the mail's end is no line of the hunk");
}

#[test]
fn a_line_that_looks_like_a_header_is_a_line_of_its_hunk() {
    let diff = "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n--- a/y\n-a\n+++ b/y\n+@@ -1 +1 @@\n";
    assert_eq!(text(diff, "-- a/y\na\n"), "++ b/y\n@@ -1 +1 @@\n");
}

#[test]
fn refuses_renames_modes_and_binary_parts() {
    let vectors = [
        ("diff --git a/x b/y\nsimilarity index 100%\nrename from x\nrename to y\n", "renames and copies"),
        ("diff --git a/x b/y\ncopy from x\ncopy to y\n", "renames and copies"),
        ("--- a/x\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n", "renames are not patched: \"/x\" is not \"/y\""),
        ("diff --git a/x b/x\nold mode 100644\nnew mode 100755\n", "modes are not patched"),
        (
            "diff --git a/x b/x\nnew file mode 100755\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+a\n",
            "modes are",
        ),
        (
            "diff --git a/x b/x\nnew file mode 120000\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+/etc\n",
            "modes are",
        ),
        ("diff --git a/x b/x\nindex 1..2 100644\nBinary files a/x and b/x differ\n", "text files"),
        ("diff --git a/x b/x\nGIT binary patch\nliteral 1\nIcmZ\n", "text files"),
        ("Binary files a/x and b/x differ\n", "text files"),
        ("Only in /etc: x\n", "text files"),
    ];
    for (diff, why) in vectors {
        let said = fault(diff);
        assert!(said.contains(why), "{diff}: {said}");
    }
}

#[test]
fn nothing_of_a_diff_is_passed_over() {
    let head = "--- a/x\n+++ b/x\n";
    let vectors = [
        ("", "no file in it"),
        ("just words\n", "no file in it"),
        ("@@ -1 +1 @@\n-a\n+b\n", "line 1 of the diff: a hunk without"),
        ("--- a/x\n+++ b/x\n", "line 2 of the diff: a hunk, which begins"),
        ("+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", "a \"+++\" line without"),
        ("--- /dev/null\n+++ /dev/null\n@@ -1 +1 @@\n-a\n+b\n", "both paths"),
        ("HEAD@@ -1,2 +1,1 @@\n-a\n", "line 3 of the diff: this hunk has fewer lines"),
        ("HEAD@@ -1,2 +1,1 @@\n-a\n@@ -9 +9 @@\n-a\n+b\n", "line 3 of the diff: this hunk has fewer lines"),
        ("HEAD@@ -1,2 +1,1 @@\n-a\nwords\n", "line 5 of the diff: this hunk has fewer lines"),
        ("HEAD@@ -1 +1 @@\n-a\n+b\n+c\n", "line 3 of the diff: this hunk has more lines"),
        ("HEAD@@ -1 +1 @@\n-a\n+b\n c\n", "line 3 of the diff: this hunk has more lines"),
        ("HEAD@@ -1 +1 @@\n-a\n-b\n+b\n", "line 3 of the diff: this hunk has more lines of a kind"),
        ("HEAD@@ -1 +1 @@\n-a\n+b\nwords\n@@ -9 +9 @@\n-a\n+b\n", "line 7 of the diff: a hunk without"),
        ("HEAD@@ ... @@\n-a\n+b\n", "line 3 of the diff: a hunk's header is"),
        ("HEAD@@ -1,-1 +1 @@\n-a\n+b\n", "a hunk's header is"),
        ("HEAD@@ -1,0 +1,0 @@\n", "a hunk's header is"),
        ("HEAD@@ -1 +1 @@\n\\ No newline\n-a\n+b\n", "no line comes before this"),
        ("HEAD@@ -1 +1 @@\n-a\n\\ No newline\n\\ No newline\n+b\n", "this stands here twice"),
        ("HEAD@@ -1,2 +1 @@\n-a\n\\ No newline\n-b\n+b\n", "comes after the one that has no line end"),
        ("HEAD@@ -1 +1 @@\n-a\n+b\nHEAD@@ -1 +1 @@\n-a\n+b\n", "stands in the diff twice"),
        ("diff --git a/x b/x\nindex 1..2\n", "line 1 of the diff: nothing follows"),
        ("diff --git a/x b/y\nnew file mode 100644\n", "cannot tell the two paths apart"),
        ("diff --git a/x b/x\n+evil\n", "fits no header"),
        ("--- /dev/null\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", "is new and yet has old lines"),
        ("--- a/x\n+++ /dev/null\n@@ -1 +1 @@\n-a\n+b\n", "is to be gone and yet keeps lines"),
    ];
    for (diff, why) in vectors {
        let diff = diff.replace("HEAD", head);
        let said = fault(&diff);
        assert!(said.contains(why), "{diff}: {said}");
    }
}

#[test]
fn a_hunk_goes_where_the_diff_says_though_it_fits_elsewhere_too() {
    let content = "one\ntwo\nthree\nfour\ntwo\nthree\nfour\n";
    assert_eq!(text(SWAP, content), "one\ntwo\nTHREE\nfour\ntwo\nthree\nfour\n");
}

#[test]
fn a_hunk_moves_to_the_one_other_place_where_it_fits() {
    let done = applied(SWAP, "zero\nzero\none\ntwo\nthree\nfour\n").unwrap();
    assert_eq!(done.content, b"zero\nzero\none\ntwo\nTHREE\nfour\n");
    assert_eq!(done.moved, [Moved { hunk: 1, from: 2, to: 4 }]);
    assert_eq!(applied(SWAP, "one\ntwo\nthree\nfour\n").unwrap().moved, []);
}

#[test]
fn an_ambiguous_hunk_is_named_and_not_placed() {
    let error = applied(SWAP, "two\nthree\nfour\n\n\ntwo\nthree\nfour\n").unwrap_err();
    assert_eq!(error.reason, Reason::Several(vec![1, 6]));
    assert_eq!(
        error.to_string(),
        "hunk 1 of \"/etc/x\" fits in several places, lines 1, 6: give it more context"
    );
}

#[test]
fn a_hunk_that_fits_nowhere_names_what_it_expected_and_what_stands_there() {
    let error = applied(SWAP, "one\ntwo\ntree\nfour\n").unwrap_err();
    let said = "hunk 1 of \"/etc/x\" does not fit: line 3: expected \"three\", actual \"tree\"";
    assert_eq!(error.to_string(), said);
    let error = applied(SWAP, "one\ntwo\n").unwrap_err();
    assert!(error.to_string().ends_with("line 3: expected \"three\", actual the file's end"), "{error}");
    let error = applied(SWAP, "one\ntwo\nthree\nfour").unwrap_err();
    assert!(error.to_string().ends_with("expected \"four\", actual \"four\" without a line end"), "{error}");
    let error = applied(SWAP, "one\ntwo\n\u{1b}[2J\nfour\n").unwrap_err();
    assert!(error.to_string().ends_with("actual \"\\u{1b}[2J\""), "{error}");
}

#[test]
fn hunks_stay_in_their_order() {
    let diff = "--- a/x\n+++ b/x\n@@ -3 +3 @@\n-c\n+C\n@@ -9 +9 @@\n-a\n+A\n";
    let error = applied(diff, "a\nb\nc\n").unwrap_err();
    assert_eq!((error.hunk, error.reason), (2, Reason::Taken(1)));
    let twice = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n@@ -1 +1 @@\n-a\n+c\n";
    assert_eq!(applied(twice, "a\n").unwrap_err().reason, Reason::Taken(1), "one line is not changed twice");
}

#[test]
fn lines_without_context_have_no_place() {
    let diff = "--- a/x\n+++ b/x\n@@ -1,0 +2 @@\n+evil\n";
    assert_eq!(applied(diff, "a\nb\n").unwrap_err().reason, Reason::NoContext);
    let first = "--- a/x\n+++ b/x\n@@ -0,0 +1 @@\n+a\n";
    assert_eq!(text(first, ""), "a\n", "but an empty file has just one");
}

#[test]
fn line_ends_are_the_files_own() {
    let crlf = |text: &str| text.replace('\n', "\r\n");
    let content = "one\ntwo\nthree\nfour\n";
    let changed = "one\ntwo\nTHREE\nfour\n";
    assert_eq!(text(SWAP, &crlf(content)), crlf(changed));
    assert_eq!(text(&crlf(SWAP), content), changed);
    assert_eq!(text(&crlf(SWAP), &crlf(content)), crlf(changed));
    assert!(applied(SWAP, "one\r\ntwo\r\nthree\nfour\r\n").is_err(), "a mixture is taken as it is");
    let mixed = "--- a/etc/x\n+++ b/etc/x\n@@ -1,2 +1,2 @@\n one\r\n-two\n+TWO\n";
    assert_eq!(text(mixed, "one\r\ntwo\n"), "one\r\nTWO\n");
}

#[test]
fn a_missing_last_line_end_stays_missing() {
    let content = "one\ntwo\nthree\nfour\nfive\nsix";
    assert_eq!(text(SWAP, content), "one\ntwo\nTHREE\nfour\nfive\nsix");
    let marked = |line: &str| format!("{line}\n\\ No newline at end of file\n");
    let diff = format!("--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a\n{}{}", marked("-b"), marked("+c"));
    assert_eq!(text(&diff, "a\nb"), "a\nc");
    let added = format!("--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a\n{}+b\n", marked("-b"));
    assert_eq!(text(&added, "a\nb"), "a\nb\n");
    let crlf = format!("--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a\n{}{}", marked("-b"), marked("+c"));
    assert_eq!(text(&crlf.replace('\n', "\r\n"), "a\r\nb"), "a\r\nc");
}

#[test]
fn an_empty_line_of_context_may_have_lost_its_blank() {
    let diff = "--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n a\n\n-b\n+c";
    assert_eq!(text(diff, "a\n\nb\n"), "a\n\nc\n");
}

#[test]
fn what_differs_is_shown_and_counted() {
    let made = difference("/etc/x", Some(b"a\nb\n"), Some(b"a\nc\nd"));
    let expected =
        "--- a/etc/x\n+++ b/etc/x\n@@ -1,2 +1,3 @@\n a\n-b\n+c\n+d\n\\ No newline at end of file\n";
    assert_eq!((String::from_utf8(made.text).unwrap().as_str(), made.added, made.removed), (expected, 2, 1));
    assert_eq!(difference("/etc/x", Some(b"a"), Some(b"a")).text, b"");
    assert_eq!(difference("/x", Some(b"a\0"), Some(b"b")).text, b"Binary files a/x and b/x differ\n");
    assert!(
        difference("/x", None, Some(b"a\n")).text.starts_with(b"--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+a\n")
    );
    let quoted = difference("/a\"\u{1}b", Some(b"a\n"), Some(b"b\n")).text;
    assert!(quoted.starts_with(b"--- \"a/a\\\"\\001b\"\n"), "{}", String::from_utf8_lossy(&quoted));
}

#[test]
fn a_large_repetitive_file_costs_no_more_than_its_length() {
    // Quadratic, this would be 10^10 comparisons.
    let content = "x\n".repeat(300_000);
    let hunk = " x\n".repeat(100_000);
    let diff = format!("--- a/x\n+++ b/x\n@@ -1,100001 +1,100001 @@\n{hunk}-y\n+z\n");
    assert!(matches!(applied(&diff, &content).unwrap_err().reason, Reason::Nowhere { .. }));
}

/// Lines that are often alike, with all the ends there are.
fn contents() -> impl Strategy<Value = Vec<u8>> {
    let line =
        prop::sample::select(vec!["a", "b", "", "-- c", "++ d", "@@ -1 +1 @@", "e\r", "\\ f", "g\rh", "ä"]);
    let end = prop::sample::select(vec!["\n", "\n", "\n", "\r\n"]);
    let lines = prop::collection::vec((line, end), 0..30);
    (lines, any::<bool>()).prop_map(|(lines, is_open)| {
        let mut text: String = lines.iter().flat_map(|(line, end)| [*line, *end]).collect();
        if is_open && text.ends_with('\n') {
            text.pop();
        }
        text.into_bytes()
    })
}

fn config() -> ProptestConfig {
    ProptestConfig {
        cases: 2000,
        rng_seed: RngSeed::Fixed(7),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_difference_applied_to_the_old_is_the_new(old in contents(), new in contents()) {
        let made = difference("/srv/x", Some(&old), Some(&new));
        if old == new {
            prop_assert!(made.text.is_empty());
            return Ok(());
        }
        let files = parse(&made.text).map_err(|e| TestCaseError::fail(format!("{e}\n{made:?}")))?;
        prop_assert_eq!(files.len(), 1);
        prop_assert_eq!(files[0].counts(), (made.added, made.removed));
        let done = apply(&files[0], Some(&old)).map_err(|e| TestCaseError::fail(e.to_string()))?;
        prop_assert_eq!(done.content, new);
        prop_assert!(done.moved.is_empty());
    }

    #[test]
    fn difference_is_applied_by_diffy_to_the_same_content(old in contents(), new in contents()) {
        let made = difference("/srv/x", Some(&old), Some(&new));
        if old != new {
            let theirs = diffy::Patch::from_bytes(&made.text).map_err(|e| TestCaseError::fail(e.to_string()))?;
            let done = diffy::apply_bytes(&old, &theirs).map_err(|e| TestCaseError::fail(e.to_string()))?;
            prop_assert_eq!(done, new);
        }
    }

    #[test]
    fn difference_that_diffy_makes_is_applied_to_the_same_content(old in contents(), new in contents()) {
        if old != new {
            let mut options = diffy::DiffOptions::new();
            options.set_original_filename("a/srv/x").set_modified_filename("b/srv/x");
            let theirs = options.create_patch_bytes(&old, &new).to_bytes();
            let files = parse(&theirs).map_err(|e| TestCaseError::fail(format!("{e}\n{theirs:?}")))?;
            let done = apply(&files[0], Some(&old)).map_err(|e| TestCaseError::fail(e.to_string()))?;
            prop_assert_eq!(done.content, new);
        }
    }

    #[test]
    fn a_difference_makes_and_removes_files(content in contents()) {
        let made = difference("/srv/x", None, Some(&content));
        let files = parse(&made.text).map_err(|e| TestCaseError::fail(format!("{e}\n{made:?}")))?;
        prop_assert_eq!(files[0].kind, Kind::Create);
        prop_assert_eq!(&apply(&files[0], None).unwrap().content, &content);
        let gone = difference("/srv/x", Some(&content), None);
        let files = parse(&gone.text).unwrap();
        prop_assert_eq!(files[0].kind, Kind::Delete);
        prop_assert_eq!(apply(&files[0], Some(&content)).unwrap().content, b"");
    }

    #[test]
    fn no_text_is_read_with_a_crash(text in prop::collection::vec(
        prop::sample::select(vec!["--- a/x\n", "+++ b/x\n", "@@ -1 +1 @@\n", "@@ -1,2 +1,2 @@\n", "-a\n", "+b\n", " c\n", "\n", "\\ n\n", "d",
            "diff --git a/x b/x\n", "new file mode 100644\n", "--- /dev/null\n", "\u{ff}", "@@ -99999999999999999999 +1 @@\n"]), 0..14)) {
        if let Ok(files) = parse(text.concat().as_bytes()) {
            for file in files {
                let _ = apply(&file, Some(b"a\nc\n"));
                let _ = apply(&file, None);
            }
        }
    }
}

//! An unknown word's error lists the permitted ones and names the nearest.

use postern_text::{did_you_mean, unknown, with_nearest};

#[test]
fn names_a_near_word_and_no_far_one() {
    for (word, hint) in [
        ("stop", ""),
        ("strat", ": did you mean `start`?"),
        ("relod", ": did you mean `reload`?"),
        ("frobnicate", ""),
        ("", ""),
    ] {
        let text = unknown("action", word, ["start", "reload"]);
        assert_eq!(text, format!("unknown action {word:?}{hint} (permitted: start, reload)"));
    }
}

#[test]
fn says_so_where_nothing_is_permitted() {
    assert_eq!(unknown("source", "debian", []), "unknown source \"debian\" (none is defined)");
}

#[test]
fn errors_of_serde_name_the_nearest_word() {
    for (message, expected) in [
        (
            "unknown field `misformat`, expected one of `steps`, `misformats`",
            "unknown field `misformat`: did you mean `misformats`? (permitted: steps, misformats)",
        ),
        (
            "line 2 column 1: unknown variant `gpt`, expected `openai` or `offline` at line 3",
            "line 2 column 1: unknown variant `gpt` (permitted: openai, offline) at line 3",
        ),
        ("unknown field `b`, expected `a`", "unknown field `b`: did you mean `a`? (permitted: a)"),
        (
            "unknown field `step`, expected one of name, steps, notes at line 3, column 1",
            "unknown field `step`: did you mean `steps`? (permitted: name, steps, notes) at line 3, column 1",
        ),
        // Words that look like serde's own text.
        (
            "unknown field `x`, expected `y`, expected `stop`",
            "unknown field `x`, expected `y` (permitted: stop)",
        ),
        ("unknown field `x`, there are no fields", "unknown field `x`, there are no fields"),
        ("invalid type: string \"x\", expected u32", "invalid type: string \"x\", expected u32"),
    ] {
        assert_eq!(with_nearest(message), expected);
    }
}

#[test]
fn a_hint_without_a_list_is_empty_where_no_word_is_near() {
    assert_eq!(did_you_mean("nginx.conf", ["ngnix.conf", "motd"]), ": did you mean `ngnix.conf`?");
    assert_eq!(did_you_mean("nginx.conf", ["motd"]), "");
}

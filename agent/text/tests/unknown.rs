//! An unknown word's error lists the permitted ones and names the nearest.

use postern_text::unknown;

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

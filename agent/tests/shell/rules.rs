//! The rules' file.

use postern_agent::shell::Rules;

#[test]
fn the_built_in_rules_keep_every_promise_of_their_examples() {
    let rules = Rules::builtin().unwrap_or_else(|why| panic!("{why}"));
    assert!(rules.count() > 100, "{}", rules.count());
}

//! Ends of a model that does not end itself: the misformat breaker, the loop guard, the budget.

use postern_agent::agent_loop::breaker::{self, Breaker, Next};
use postern_agent::agent_loop::budget::Budget;
use postern_agent::agent_loop::guard::{Guard, Outcome};
use postern_agent::config::tables::Limits;
use postern_agent::config::values::Span;
use postern_agent::llm::conversation::Usage;
use postern_agent::llm::reply_parser;
use postern_agent::llm::tools::{Call, TOOLS};
use serde_json::{Value, json};
use std::num::NonZeroU32;
use std::time::Duration;

/// Unparseable, and parseable but no call.
const A: &[&str] = &[
    "plain text",
    "",
    "<tool_call name=\"shell\"><arg>ls</arg></tool_call>",
    "{\"tool_name\": \"shell\", \"tool_args\": {\"cmd\": \"df\"}",
    "[1, 2, 3]",
];
const B: &[&str] = &[
    "{\"tool_args\": {}}",
    "{\"tool_name\": \"\", \"tool_args\": {}}",
    "{\"tool_name\": 42, \"tool_args\": {}}",
    "{\"tool_name\": \"shell\"}",
    "{\"tool_name\": \"shell\", \"tool_args\": \"ls\"}",
    "{\"tool_name\": \"shell\", \"tool_args\": []}",
    "{\"tool_name\": \"shell\", \"tool_args\": {}}",
    "{\"result\": \"fine\"}",
];
/// Calls, the last with a name that no tool has.
const VALID: &[&str] = &[
    "{\"tool_name\": \"shell\", \"tool_args\": {\"cmd\": \"f() { echo {}; }\"}}",
    "Sure: {\"tool_name\": \"shell\", \"tool_args\": {\"cmd\": \"id\"}}\nsee /v1/{x}/y",
    "{\"tool_name\": \"browser\", \"tool_args\": {\"url\": \"x\"}}",
];

fn breaker() -> Breaker {
    Breaker::new(Limits::default().misformats)
}

/// Replies until the breaker ends it: the counts after each, and the end.
fn replies<'r>(replies: impl IntoIterator<Item = &'r &'r str>) -> (Vec<u32>, Option<String>) {
    let (mut breaker, mut counts) = (breaker(), Vec::new());
    for reply in replies {
        let next = match reply_parser::read(reply, TOOLS).call {
            Ok(_) => {
                breaker.valid();
                None
            }
            Err(malformed) => Some(breaker.failed(&malformed)),
        };
        counts.push(breaker.failures());
        if let Some(Next::End(why)) = next {
            return (counts, Some(why));
        }
    }
    (counts, None)
}

#[test]
fn each_kind_of_failure_counts_one() {
    for reply in A.iter().chain(B) {
        assert_eq!(replies([reply]).0, [1], "{reply}");
    }
}

#[test]
fn the_fifth_in_a_row_ends_the_task_and_the_fourth_does_not() {
    for reply in A.iter().chain(B) {
        let (counts, end) = replies([reply; 9]);
        assert_eq!(counts, [1, 2, 3, 4, 5], "{reply}");
        assert!(end.unwrap().starts_with("the model gave 5 replies in a row that are no call; the last: "));
        assert_eq!(replies([reply; 4]).1, None);
    }
}

#[test]
fn both_kinds_add_up() {
    let mixed = [A[0], B[0], A[1], B[1], A[2]];
    assert_eq!(replies(&mixed).0, [1, 2, 3, 4, 5]);
    assert!(replies(&mixed).1.is_some());
    let all_different = [A[0], A[2], B[7], B[1], A[3]];
    assert!(replies(&all_different).1.is_some());
}

#[test]
fn any_call_begins_the_count_anew_also_one_of_an_unknown_tool() {
    for valid in VALID {
        let (counts, end) = replies(&[A[0], B[0], A[1], valid, B[2], A[0], A[0], A[0]]);
        assert_eq!((counts, end), (vec![1, 2, 3, 0, 1, 2, 3, 4], None), "{valid}");
    }
}

#[test]
fn the_limit_is_configurable() {
    let mut breaker = Breaker::new(NonZeroU32::MIN);
    assert!(matches!(breaker.misformat("x"), Next::End(_)));
}

#[test]
fn the_model_is_told_the_attempt_the_error_and_one_example_on_one_line() {
    let mut breaker = breaker();
    let told = |next: Next| match next {
        Next::Again(told) => told,
        Next::End(why) => panic!("{why}"),
    };
    let malformed =
        reply_parser::read("{\"tool\": \"shell\",\n \"args\": {\"cmd\": 1}}", TOOLS).call.unwrap_err();
    breaker.failed(&malformed);
    assert_eq!(
        told(breaker.failed(&malformed)),
        "No tool was run, attempt 2/5: the arguments of shell are wrong: invalid type: integer `1`, expected a string. \
         Answer with exactly one JSON object on one line and nothing else, such as \
         {\"tool\": \"service\", \"args\": {\"action\": \"status\", \"name\": \"nginx\"}}"
    );
    let told = told(breaker.misformat("x"));
    assert!(!told.contains('\n') && !told.contains("```"));
    // The example is a call, and the only one: a model that copies it does no harm.
    let example = reply_parser::read(&told, TOOLS);
    assert!(example.call.is_ok() && !example.is_multiple);
}

#[test]
fn malformed_arguments_are_a_result_that_says_why() {
    let malformed = reply_parser::read_native("shell", "{\"cmd\": \"rm -rf /var", TOOLS).call.unwrap_err();
    let Next::Again(told) = breaker().failed(&malformed) else { panic!("the first failure ends nothing") };
    let result = breaker::not_run("c1", &told);
    let text: Value = serde_json::from_str(&result.text).unwrap();
    assert_eq!((result.id.as_str(), result.is_error, &text["status"]), ("c1", true, &json!("error")));
    let error = text["error"].as_str().unwrap();
    assert!(
        error
            .contains("they could not be parsed as JSON: it is cut off inside a string at line 1, column 21"),
        "{error}"
    );
}

fn shell(cmd: &str) -> Call {
    reply_parser::read(&json!({ "tool": "shell", "args": { "cmd": cmd } }).to_string(), TOOLS).call.unwrap()
}

#[test]
fn the_same_failing_call_with_the_same_result_is_not_run_a_third_time() {
    let mut guard = Guard::default();
    let (call, failed) = (shell("sudo id"), Outcome::Failed("exit 1: no new privileges"));
    assert!(guard.may_run(&call).is_ok());
    assert_eq!(guard.ran(&call, failed), None);
    assert!(guard.may_run(&call).is_ok());
    let told = guard.ran(&call, failed).unwrap();
    assert!(
        told.contains("failed twice in the same way") && told.contains("another try ends the task"),
        "{told}"
    );
    let end = guard.may_run(&call).unwrap_err();
    assert_eq!(end, "the model calls shell a third time that failed twice in the same way");
    // Not even with its members in another order, or another call between.
    assert!(guard.may_run(&shell("id")).is_ok());
    guard.ran(&shell("id"), Outcome::Fine);
    assert!(guard.may_run(&call).is_err());
}

#[test]
fn failures_of_other_calls_between_do_not_hide_a_loop() {
    let mut guard = Guard::default();
    for cmd in ["a", "b", "a"] {
        guard.ran(&shell(cmd), Outcome::Failed("no"));
    }
    assert!(guard.may_run(&shell("a")).is_err() && guard.may_run(&shell("b")).is_ok());
}

#[test]
fn another_result_is_another_failure() {
    let mut guard = Guard::default();
    assert_eq!(guard.ran(&shell("a"), Outcome::Failed("1")), None);
    assert_eq!(guard.ran(&shell("a"), Outcome::Failed("2")), None);
    assert!(guard.may_run(&shell("a")).is_ok());
    assert!(guard.ran(&shell("a"), Outcome::Failed("1")).is_some());
}

#[test]
fn a_change_lets_everything_be_tried_again_and_success_that_call() {
    let mut guard = Guard::default();
    let fail_twice = |guard: &mut Guard, cmd: &str| {
        guard.ran(&shell(cmd), Outcome::Failed("no"));
        guard.ran(&shell(cmd), Outcome::Failed("no"));
        assert!(guard.may_run(&shell(cmd)).is_err());
    };
    fail_twice(&mut guard, "a");
    guard.ran(&shell("b"), Outcome::Changed);
    assert!(guard.may_run(&shell("a")).is_ok());
    guard.ran(&shell("a"), Outcome::Failed("no"));
    guard.ran(&shell("a"), Outcome::Fine);
    guard.ran(&shell("a"), Outcome::Failed("no"));
    assert!(guard.may_run(&shell("a")).is_ok(), "a success between them ends the row");
    // A check that goes well may be made as often as one likes.
    for _ in 0..9 {
        assert!(guard.may_run(&shell("c")).is_ok());
        guard.ran(&shell("c"), Outcome::Fine);
    }
}

#[tokio::test(start_paused = true)]
async fn a_task_ends_when_its_steps_tokens_changes_or_time_are_used_up() {
    let limits = Limits {
        steps: NonZeroU32::new(3).unwrap(),
        tokens: 100,
        changes: 1,
        time: Span::seconds(60),
        ..Limits::default()
    };
    let mut budget = Budget::new(&limits);
    for _ in 0..3 {
        assert_eq!(budget.step(), Ok(()));
    }
    assert_eq!(budget.step(), Err("the 3 steps that a run may take are used up".to_owned()));
    let mut budget = Budget::new(&limits);
    budget.spent(Usage { input: 90, cached_input: 80, output: 9 });
    assert_eq!((budget.step(), budget.tokens()), (Ok(()), 99));
    budget.spent(Usage { output: 1, ..Usage::default() });
    assert_eq!(budget.step(), Err("the 100 tokens that a task may take are used up".to_owned()));
    let mut budget = Budget::new(&limits);
    assert_eq!(budget.change(), Ok(()));
    assert_eq!(budget.change(), Err("the 1 changes that a task may make are used up".to_owned()));
    tokio::time::advance(Duration::from_secs(60)).await;
    assert_eq!(budget.step(), Err("the time of 1m that a task may take is over".to_owned()));
}

//! Maintenance windows by the wall clock of a time zone with summer time.

use crate::common::{agent, rule, strings};
use crate::rules::{policy_with, unit};
use postern_policy::types::Digest;
use postern_policy::{Code, Denied, Facts, Identity, Object, Policy, VerbId};
use postern_proto::root::v1 as root;

const HOUR: u64 = 3600;
/// Sunday 2026-11-29 02:00 in Berlin, in winter.
const SUNDAY_2: u64 = 1_795_914_000;
/// Sunday 2026-03-29 01:00 UTC: 02:00 becomes 03:00.
const SUMMER: u64 = 1_774_746_000;
/// Sunday 2026-10-25 01:00 UTC: 03:00 becomes 02:00.
const WINTER: u64 = 1_792_890_000;
const SUN: u32 = 6 * 24 * 60;

fn berlin() -> Vec<root::ClockChange> {
    let change = |unix_s: u64, offset_s| root::ClockChange { unix_s: unix_s.try_into().unwrap(), offset_s };
    vec![change(1_577_836_800, 3600), change(SUMMER, 7200), change(WINTER, 3600)]
}

fn windows(hours: &[(u32, u32)]) -> Vec<root::Window> {
    hours.iter().map(|(start, minutes)| root::Window { start: *start, minutes: *minutes }).collect()
}

fn open_in(hours: &[(u32, u32)]) -> root::Rule {
    root::Rule { hours: windows(hours), units: strings(&["a.service"]), ..rule("night", &["unit.stop"]) }
}

fn policy(rules: Vec<root::Rule>) -> Policy {
    let zone = "Europe/Berlin".to_owned();
    policy_with(root::Rules { rules, zone, clock_changes: berlin(), ..root::Rules::default() })
}

fn agent_at(unix_s: u64) -> Identity {
    Identity { unix_s, ..agent() }
}

fn at(policy: &Policy, unix_s: u64) -> Result<String, Denied> {
    let grant = policy.decide(&agent_at(unix_s), &[(VerbId::UnitStop, unit("a.service"))]);
    grant.map(|grant| grant.rule_id().to_owned())
}

#[test]
fn grants_within_a_window_and_says_when_it_opens_next() {
    let policy = policy(vec![open_in(&[(SUN + 120, 180)])]);
    for (unix_s, is_open) in [
        (SUNDAY_2 - 1, false),
        (SUNDAY_2, true),
        (SUNDAY_2 + 3 * HOUR - 1, true),
        (SUNDAY_2 + 3 * HOUR, false),
        (SUNDAY_2 + 7 * 24 * HOUR, true),
        // A clock of before the policy's calendar is in no window.
        (0, false),
    ] {
        assert_eq!(at(&policy, unix_s).is_ok(), is_open, "{unix_s}");
    }
    let closed = at(&policy, SUNDAY_2 - 50 * HOUR - 30).unwrap_err();
    assert_eq!((closed.code, closed.retry_after_s), (Code::LimitExceeded, 50 * 3600 + 30));
    assert_eq!(
        closed.message,
        "rule night is closed at this time (`hours`); it opens next on Sun 02:00 (Europe/Berlin)"
    );
}

#[test]
fn a_window_over_midnight_and_over_the_end_of_the_week_is_one() {
    let monday = SUNDAY_2 + 22 * HOUR;
    let policy = policy(vec![open_in(&[(SUN + 22 * 60, 480)])]);
    for (unix_s, is_open) in [
        (monday - 2 * HOUR - 1, false),
        (monday - 2 * HOUR, true),
        (monday + 6 * HOUR - 1, true),
        (monday + 6 * HOUR, false),
    ] {
        assert_eq!(at(&policy, unix_s).is_ok(), is_open, "{unix_s}");
    }
}

#[test]
fn a_window_in_the_hour_that_summer_time_skips_opens_a_week_later() {
    let policy = policy(vec![open_in(&[(SUN + 120, 60)])]);
    for unix_s in (SUMMER - 2 * HOUR..SUMMER + 2 * HOUR).step_by(60) {
        assert!(at(&policy, unix_s).is_err(), "{unix_s}");
    }
    // The next Sunday at 02:00 of summer time.
    let next = SUMMER + 7 * 24 * HOUR - HOUR;
    assert_eq!(at(&policy, SUMMER).unwrap_err().retry_after_s, u32::try_from(next - SUMMER).unwrap());
    assert!(at(&policy, next).is_ok());
    let longer = self::policy(vec![open_in(&[(SUN + 60, 180)])]);
    assert!(at(&longer, SUMMER - 1).is_ok() && at(&longer, SUMMER + HOUR - 1).is_ok());
    assert!(at(&longer, SUMMER + HOUR).is_err(), "04:00 of summer time");
}

#[test]
fn a_window_in_the_hour_that_comes_twice_opens_twice() {
    let policy = policy(vec![open_in(&[(SUN + 120, 60)])]);
    assert!(at(&policy, WINTER - HOUR - 1).is_err());
    assert!(at(&policy, WINTER - HOUR).is_ok() && at(&policy, WINTER + HOUR - 1).is_ok());
    assert!(at(&policy, WINTER + HOUR).is_err());
}

#[test]
fn one_open_rule_of_the_strictest_decision_is_enough_and_no_weaker_one_steps_in() {
    let night = open_in(&[(SUN + 120, 180)]);
    let day = root::Rule { id: "day".to_owned(), ..open_in(&[(SUN + 600, 60)]) };
    let both = policy(vec![night.clone(), day]);
    assert_eq!(at(&both, SUNDAY_2).as_deref(), Ok("night"));
    assert_eq!(at(&both, SUNDAY_2 + 8 * HOUR).as_deref(), Ok("day"));
    let ask = root::Rule { id: "ask".to_owned(), decision: root::Decision::Ask.into(), ..night };
    let always = root::Rule { hours: Vec::new(), id: "always".to_owned(), ..open_in(&[]) };
    let stricter = policy(vec![ask, always]);
    assert_eq!(at(&stricter, SUNDAY_2).as_deref(), Ok("ask"));
    assert_eq!(at(&stricter, SUNDAY_2 - HOUR).unwrap_err().code, Code::LimitExceeded);
}

#[test]
fn what_an_answer_may_contain_depends_on_the_hours_too() {
    let read = root::Rule {
        directories: strings(&["/srv/x"]),
        files: strings(&["*"]),
        hours: windows(&[(SUN + 120, 180)]),
        ..rule("read", &["file.read"])
    };
    let policy = policy(vec![read]);
    let path = postern_policy::types::TargetPath::new("/srv/x/a").unwrap();
    let may = |unix_s| policy.grants(&agent_at(unix_s), VerbId::FileRead, &Object::read(path.clone()));
    assert!(may(SUNDAY_2) && !may(SUNDAY_2 - HOUR));
}

#[test]
fn a_name_that_only_the_facts_tell_is_decided_at_the_same_time() {
    let policy = policy(vec![open_in(&[(SUN + 120, 180)])]);
    let who = agent_at(SUNDAY_2);
    let grant = policy.decide(&who, &[(VerbId::UnitStop, unit("a.service"))]).unwrap();
    assert!(policy.decide_facts(grant, &who, &Facts::None).is_ok());
}

#[test]
fn refuses_hours_without_a_time_zone() {
    let client = root::Client { name: "agent".to_owned(), user: "postern".to_owned(), group: String::new() };
    let rules = vec![open_in(&[(0, 60)])];
    let rules = root::Rules { version: 1, clients: vec![client], rules, ..root::Rules::default() };
    let why = Policy::compile(&rules, Digest::ZERO).unwrap_err();
    assert_eq!(why, "rule \"night\": `hours` without a time zone");
}

#[test]
fn the_next_opening_is_the_first_open_minute_also_around_changes_of_the_clock() {
    let policy = policy(vec![open_in(&[(SUN + 120, 60), (SUN + 23 * 60, 90), (2 * 1440, 1)])]);
    for change in [SUMMER, WINTER] {
        for now in (change - 8 * 24 * HOUR..change + 2 * 24 * HOUR).step_by(11 * 3600 + 420) {
            let Err(closed) = at(&policy, now) else { continue };
            let next = now + u64::from(closed.retry_after_s);
            assert!(at(&policy, next).is_ok(), "{now}");
            let minutes = (now / 60 + 1..next.div_ceil(60)).map(|minute| minute * 60);
            assert!(minutes.into_iter().all(|minute| at(&policy, minute).is_err()), "{now}");
        }
    }
}

//! When a run is due, by a clock that stands where the test sets it.

use postern_agent::protocol::schedule::{
    CalendarEvent, OnFailure, RUNS_A_DAY, SPACING, Schedule, ScheduleState, Trigger, UnitName,
};
use serde_json::json;

const NOW: i64 = 1_774_742_400;

fn schedule(trigger: &serde_json::Value) -> Schedule {
    serde_json::from_value(json!({
        "id": "0", "person": "anna", "task": "restart nginx", "trigger": trigger, "state": "active", "planned_unix_s": NOW,
        "next_unix_s": NOW + 100, "begun_unix_s": [],
    }))
    .expect("a schedule")
}

fn on_failed() -> Schedule {
    Schedule { next_unix_s: None, ..schedule(&json!({ "on_failed": "nginx.service" })) }
}

#[test]
fn a_run_is_due_from_its_time_on_however_late_it_is() {
    let mut daily = schedule(&json!({ "at": "daily 02:00" }));
    assert!(!daily.is_due(NOW + 99));
    assert!(daily.is_due(NOW + 100));
    assert!(daily.is_due(NOW + 1_000_000));
    daily.pause("");
    assert!(!daily.is_due(NOW + 1_000_000));
    daily.state = ScheduleState::Active;
    daily.plan(NOW + 200, Some(NOW + 300));
    assert!(!daily.is_due(NOW + 200));
    daily.plan(NOW + 300, None);
    assert_eq!((daily.state, daily.is_due(i64::MAX)), (ScheduleState::Ended, false));
}

#[test]
fn the_next_run_is_looked_for_after_now_and_after_the_time_that_was_due() {
    let after = |now: i64| {
        let mut daily = schedule(&json!({ "at": "daily 02:00" }));
        daily.take_due(now);
        assert!(daily.needs_plan(now) && !daily.is_due(i64::MAX));
        daily.plan_from(now)
    };
    // Systemd tells whole seconds: from this second on, the same time would come again.
    assert_eq!(after(NOW + 100), NOW + 101);
    assert_eq!(after(NOW + 5000), NOW + 5000);
    // The clock was set back: what was planned then counts no more.
    assert_eq!(schedule(&json!({ "at": "daily 02:00" })).plan_from(NOW - 5000), NOW - 5000);
}

#[test]
fn an_interval_stays_in_step_and_makes_up_for_one_run_only() {
    let next = |now: i64| {
        let mut hourly = schedule(&json!({ "every_s": 3600 }));
        hourly.take_due(now);
        assert!(!hourly.needs_plan(now));
        hourly.next_unix_s.unwrap()
    };
    assert_eq!(next(NOW + 101), NOW + 100 + 3600);
    assert_eq!(next(NOW + 100_000), NOW + 100_000 + 3600);
}

#[test]
fn a_run_that_its_person_starts_counts_for_no_rate_and_keeps_the_note_of_a_paused_schedule() {
    let mut unit = on_failed();
    unit.pause("anna is no longer in the group postern-users");
    for _ in 0..RUNS_A_DAY {
        unit.begin(None, "task");
    }
    assert_eq!((unit.begun_unix_s.len(), unit.last_task.as_deref()), (0, Some("task")));
    assert_eq!(unit.note, "anna is no longer in the group postern-users");
}

#[test]
fn a_clock_that_was_set_back_has_the_next_run_planned_anew() {
    let daily = schedule(&json!({ "at": "daily 02:00" }));
    // A clock that is slewed by some seconds makes nothing come twice.
    assert!(!daily.was_set_back(NOW - 30));
    assert!(daily.was_set_back(NOW - 61));
    assert!(!daily.was_set_back(NOW + 1_000_000));
    assert!(!Schedule { state: ScheduleState::Paused, ..daily }.was_set_back(NOW - 5000));
}

#[test]
fn each_failure_of_a_unit_begins_one_run() {
    let mut unit = on_failed();
    assert_eq!(unit.on_failure(NOW, None, false), OnFailure::Nothing);
    assert_eq!(unit.on_failure(NOW, Some(1), false), OnFailure::Run);
    unit.begin(Some(NOW), "task");
    unit.seen_failure_us = Some(1);
    assert_eq!(unit.on_failure(NOW + 10_000, Some(1), false), OnFailure::Nothing);
    assert_eq!(unit.on_failure(NOW + 10_000, Some(2), false), OnFailure::Run);
    unit.pause("");
    assert_eq!(unit.on_failure(NOW + 10_000, Some(2), false), OnFailure::Nothing);
}

#[test]
fn a_unit_that_fails_again_while_the_task_runs_begins_no_second_run() {
    let unit = on_failed();
    assert!(matches!(unit.on_failure(NOW, Some(2), true), OnFailure::LeaveOut(_)));
}

#[test]
fn a_task_that_does_not_mend_its_unit_is_run_at_a_bounded_rate() {
    let mut unit = on_failed();
    let mut now = NOW;
    for run in 0..RUNS_A_DAY {
        let failure = Some(u64::try_from(run).unwrap() + 1);
        assert_eq!(unit.on_failure(now, failure, false), OnFailure::Run, "run {run}");
        unit.begin(Some(now), "task");
        unit.seen_failure_us = failure;
        // Its end fails the unit again.
        let again = Some(u64::try_from(run).unwrap() + 2);
        if run + 1 < RUNS_A_DAY {
            assert_eq!(unit.on_failure(now + SPACING - 1, again, false), OnFailure::Wait, "run {run}");
        }
        now += SPACING;
    }
    assert!(matches!(unit.on_failure(now, Some(99), false), OnFailure::Pause(_)));
    // A day later the old runs count no more.
    assert_eq!(unit.on_failure(now + 24 * 3600, Some(99), false), OnFailure::Run);
    assert_eq!(unit.begun_unix_s.len(), RUNS_A_DAY);
}

#[test]
fn reads_triggers_strictly() {
    let reads = |trigger: serde_json::Value| serde_json::from_value::<Trigger>(trigger);
    for good in [
        json!({ "at": "daily 02:00" }),
        json!({ "at": "Mon..Fri *-*-* 06:30:00 America/Argentina/Buenos_Aires" }),
        json!({ "at": "*-*~01" }),
        json!({ "every_s": 60 }),
        json!({ "every_s": 366 * 24 * 3600 }),
        json!({ "on_failed": "getty@tty1.service" }),
    ] {
        let trigger = reads(good.clone()).expect("a trigger");
        assert_eq!(serde_json::to_value(&trigger).unwrap(), good);
    }
    for bad in [
        json!({ "at": "" }),
        json!({ "at": " " }),
        json!({ "at": "02:00\n03:00" }),
        json!({ "at": "02:00; id" }),
        json!({ "at": "@123" }),
        json!({ "at": "1".repeat(201) }),
        json!({ "every_s": 59 }),
        json!({ "every_s": 366 * 24 * 3600 + 1 }),
        json!({ "every_s": -1 }),
        json!({ "on_failed": "" }),
        json!({ "on_failed": "a b.service" }),
        json!({ "on_failed": "../x.service" }),
        json!({ "on_failed": "-x.service" }),
        json!({ "on_failed": format!("{}.service", "x".repeat(250)) }),
        json!({ "at": "daily", "every_s": 60 }),
        json!("daily"),
    ] {
        assert!(reads(bad.clone()).is_err(), "{bad}");
    }
    let unit = UnitName::try_from("nginx".to_owned()).unwrap();
    assert_eq!(unit.as_str(), "nginx.service");
}

#[test]
fn daily_and_a_time_is_a_time_to_systemd() {
    let of = |text: &str| CalendarEvent::try_from(text.to_owned()).unwrap().for_systemd().to_owned();
    assert_eq!(of("daily 02:00"), "02:00");
    assert_eq!(of("daily  02:00 Europe/Berlin"), "02:00 Europe/Berlin");
    // These are systemd's own.
    assert_eq!(of("daily"), "daily");
    assert_eq!(of("daily Europe/Berlin"), "daily Europe/Berlin");
    assert_eq!(of("weekly 02:00"), "weekly 02:00");
}

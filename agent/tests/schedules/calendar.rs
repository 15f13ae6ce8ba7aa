//! Calendar events: when they come next, in any time zone and over the changes of summer time, as systemd says. The
//! table was checked by hand against a calendar and the zones' rules.

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use postern_agent::protocol::schedule::CalendarEvent;
use postern_agent::service::calendar::{CalendarError, next_times, times};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

const SYSTEMD: &str = "/usr/bin/systemd-analyze";

/// A host's time zone, a time in UTC, an event, and its next times in UTC.
type Row = (&'static str, &'static str, &'static str, &'static [&'static str]);

#[rustfmt::skip]
const TABLE: &[Row] = &[
    ("UTC", "2026-03-28 12:00", "02:00", &["2026-03-29 02:00:00", "2026-03-30 02:00:00", "2026-03-31 02:00:00"]),
    ("UTC", "2026-03-28 12:00", "daily 02:00", &["2026-03-29 02:00:00", "2026-03-30 02:00:00", "2026-03-31 02:00:00"]),
    ("UTC", "2026-03-28 12:00", "daily", &["2026-03-29 00:00:00", "2026-03-30 00:00:00", "2026-03-31 00:00:00"]),
    ("UTC", "2026-03-28 12:00", "hourly", &["2026-03-28 13:00:00", "2026-03-28 14:00:00", "2026-03-28 15:00:00"]),
    ("UTC", "2026-03-28 12:00", "weekly", &["2026-03-30 00:00:00", "2026-04-06 00:00:00", "2026-04-13 00:00:00"]),
    ("UTC", "2026-03-28 12:00", "monthly", &["2026-04-01 00:00:00", "2026-05-01 00:00:00", "2026-06-01 00:00:00"]),
    ("UTC", "2026-03-28 12:00", "yearly", &["2027-01-01 00:00:00", "2028-01-01 00:00:00", "2029-01-01 00:00:00"]),
    ("UTC", "2026-03-28 12:00", "quarterly", &["2026-04-01 00:00:00", "2026-07-01 00:00:00", "2026-10-01 00:00:00"]),
    ("UTC", "2026-03-28 12:00", "semiannually", &["2026-07-01 00:00:00", "2027-01-01 00:00:00", "2027-07-01 00:00:00"]),
    ("UTC", "2026-03-28 12:00", "Mon..Fri 06:30", &["2026-03-30 06:30:00", "2026-03-31 06:30:00", "2026-04-01 06:30:00"]),
    ("UTC", "2026-03-28 12:00", "Sat,Sun *-*-* 10:00", &["2026-03-29 10:00:00", "2026-04-04 10:00:00", "2026-04-05 10:00:00"]),
    ("UTC", "2026-03-28 12:00", "*-*-01 04:00", &["2026-04-01 04:00:00", "2026-05-01 04:00:00", "2026-06-01 04:00:00"]),
    ("UTC", "2026-03-28 12:00", "*-*~01", &["2026-03-31 00:00:00", "2026-04-30 00:00:00", "2026-05-31 00:00:00"]),
    ("UTC", "2026-03-28 12:00", "*-02-29 00:00", &["2028-02-29 00:00:00", "2032-02-29 00:00:00", "2036-02-29 00:00:00"]),
    ("UTC", "2026-03-28 12:00", "Mon *-*-1..7 09:00", &["2026-04-06 09:00:00", "2026-05-04 09:00:00", "2026-06-01 09:00:00"]),
    ("UTC", "2026-03-28 12:00", "*:0/15", &["2026-03-28 12:15:00", "2026-03-28 12:30:00", "2026-03-28 12:45:00"]),
    ("UTC", "2026-03-28 12:00", "00/6:00", &["2026-03-28 18:00:00", "2026-03-29 00:00:00", "2026-03-29 06:00:00"]),
    ("UTC", "2026-03-28 12:00", "2027-01-01 00:00:00 UTC", &["2027-01-01 00:00:00"]),
    ("UTC", "2026-03-28 12:00", "Sun 2026-03-29 02:00:00 UTC", &["2026-03-29 02:00:00"]),
    ("UTC", "2026-03-28 12:00", "Sun 2020-03-29 02:00:00 UTC", &[]),
    ("UTC", "2026-03-28 12:00", "*-*-* 02:30:00 Europe/Berlin", &["2026-03-30 00:30:00", "2026-03-31 00:30:00", "2026-04-01 00:30:00"]),
    ("UTC", "2026-03-28 12:00", "daily 03:30 America/New_York", &["2026-03-29 07:30:00", "2026-03-30 07:30:00", "2026-03-31 07:30:00"]),
    ("UTC", "2026-03-28 12:00", "*-*-* 23:59:59 Asia/Kolkata", &["2026-03-28 18:29:59", "2026-03-29 18:29:59", "2026-03-30 18:29:59"]),
    ("UTC", "2026-03-28 12:00", "Tue 2026-*-* 11:00", &["2026-03-31 11:00:00", "2026-04-07 11:00:00", "2026-04-14 11:00:00"]),
    ("Europe/Berlin", "2026-03-28 12:00", "02:30", &["2026-03-30 00:30:00", "2026-03-31 00:30:00", "2026-04-01 00:30:00"]),
    ("Europe/Berlin", "2026-03-28 12:00", "daily 03:00", &["2026-03-29 01:00:00", "2026-03-30 01:00:00", "2026-03-31 01:00:00"]),
    ("Europe/Berlin", "2026-03-28 12:00", "daily", &["2026-03-28 23:00:00", "2026-03-29 22:00:00", "2026-03-30 22:00:00"]),
    ("Europe/Berlin", "2026-03-28 12:00", "*:30", &["2026-03-28 12:30:00", "2026-03-28 13:30:00", "2026-03-28 14:30:00"]),
    ("Europe/Berlin", "2026-03-28 12:00", "Sun 02:30", &["2026-04-05 00:30:00", "2026-04-12 00:30:00", "2026-04-19 00:30:00"]),
    ("Europe/Berlin", "2026-03-28 12:00", "12:00 UTC", &["2026-03-29 12:00:00", "2026-03-30 12:00:00", "2026-03-31 12:00:00"]),
    ("Europe/Berlin", "2026-10-24 12:00", "02:30", &["2026-10-25 00:30:00", "2026-10-26 01:30:00", "2026-10-27 01:30:00"]),
    ("Europe/Berlin", "2026-10-24 12:00", "03:00", &["2026-10-25 02:00:00", "2026-10-26 02:00:00", "2026-10-27 02:00:00"]),
    ("Europe/Berlin", "2026-10-24 12:00", "daily", &["2026-10-24 22:00:00", "2026-10-25 23:00:00", "2026-10-26 23:00:00"]),
    ("Europe/Berlin", "2026-10-24 12:00", "hourly", &["2026-10-24 13:00:00", "2026-10-24 14:00:00", "2026-10-24 15:00:00"]),
    ("Europe/Berlin", "2026-10-25 00:45", "02:30", &["2026-10-26 01:30:00", "2026-10-27 01:30:00", "2026-10-28 01:30:00"]),
    ("Europe/Berlin", "2026-10-25 00:45", "*:0/30", &["2026-10-25 02:00:00", "2026-10-25 02:30:00", "2026-10-25 03:00:00"]),
    ("America/New_York", "2026-03-07 20:00", "02:30", &["2026-03-09 06:30:00", "2026-03-10 06:30:00", "2026-03-11 06:30:00"]),
    ("America/New_York", "2026-03-07 20:00", "01:30", &["2026-03-08 06:30:00", "2026-03-09 05:30:00", "2026-03-10 05:30:00"]),
    ("America/New_York", "2026-10-31 20:00", "01:30", &["2026-11-01 05:30:00", "2026-11-02 06:30:00", "2026-11-03 06:30:00"]),
    ("Africa/Abidjan", "2026-03-28 12:00", "02:00", &["2026-03-29 02:00:00", "2026-03-30 02:00:00", "2026-03-31 02:00:00"]),
    ("Europe/London", "2026-03-28 12:00", "02:00", &["2026-03-29 01:00:00", "2026-03-30 01:00:00", "2026-03-31 01:00:00"]),
    ("Europe/London", "2026-03-28 12:00", "01:30", &["2026-03-30 00:30:00", "2026-03-31 00:30:00", "2026-04-01 00:30:00"]),
    ("Asia/Kolkata", "2026-03-28 12:00", "02:00", &["2026-03-28 20:30:00", "2026-03-29 20:30:00", "2026-03-30 20:30:00"]),
    ("Asia/Kolkata", "2026-03-28 12:00", "hourly", &["2026-03-28 12:30:00", "2026-03-28 13:30:00", "2026-03-28 14:30:00"]),
    ("Australia/Lord_Howe", "2026-04-04 12:00", "02:00", &["2026-04-04 15:30:00", "2026-04-05 15:30:00", "2026-04-06 15:30:00"]),
];

fn at(text: &str) -> i64 {
    let text = if text.len() == 16 { format!("{text}:00") } else { text.to_owned() };
    let time = DateTime::strptime("%Y-%m-%d %H:%M:%S", &text).expect("a time");
    time.to_zoned(TimeZone::UTC).expect("in UTC").timestamp().as_second()
}

fn event(text: &str) -> CalendarEvent {
    CalendarEvent::try_from(text.to_owned()).expect("an event")
}

fn script(directory: &Path, text: &str) -> PathBuf {
    let path = directory.join("program");
    std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).expect("write");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("chmod");
    path
}

#[tokio::test]
async fn calendar_events_come_when_systemd_says_in_every_time_zone() {
    let directory = tempfile::tempdir().expect("a directory");
    for (zone, from, text, expected) in TABLE {
        let program = script(directory.path(), &format!("TZ={zone} exec {SYSTEMD} \"$@\""));
        let next = next_times(&program, &event(text), at(from), 3).await.expect("times");
        let expected: Vec<i64> = expected.iter().map(|time| at(time)).collect();
        assert_eq!(next, expected, "{text:?} in {zone} from {from}");
    }
}

#[tokio::test]
async fn text_that_is_no_calendar_event_is_refused() {
    for text in [
        "sometimes",
        "25:00",
        "Foo 10:00",
        "*-13-01",
        "daily 02:00 Mars/Phobos",
        "-1",
        "--help",
        "monthly 02:00",
    ] {
        let found = next_times(Path::new(SYSTEMD), &event(text), 0, 1).await;
        assert!(
            matches!(&found, Err(CalendarError::Invalid(why)) if why.contains(text.trim_start_matches("daily "))),
            "{text}: {found:?}"
        );
    }
}

#[tokio::test]
async fn an_answer_that_cannot_be_read_is_no_time() {
    let directory = tempfile::tempdir().expect("a directory");
    for (text, why) in [
        ("exit 1", "it failed"),
        ("echo broken >&2; exit 3", "broken"),
        ("echo; echo '    Next elapse: soon'", "its answer has no time"),
        ("kill -9 $$", "it failed"),
    ] {
        let program = script(directory.path(), text);
        let found = next_times(&program, &event("daily"), 0, 1).await;
        assert!(
            matches!(&found, Err(CalendarError::Unavailable(said)) if said.ends_with(why)),
            "{text}: {found:?}"
        );
    }
    let found = next_times(&directory.path().join("none"), &event("daily"), 0, 1).await;
    assert!(matches!(found, Err(CalendarError::Unavailable(_))));
}

#[test]
fn reads_the_answers_of_older_and_newer_systemd() {
    let debian_12 = "  Original form: 02:00\nNormalized form: *-*-* 02:00:00\n    Next elapse: Mon 2026-03-30 02:00:00 CEST\n       \
                     (in UTC): Mon 2026-03-30 00:00:00 UTC\n       From now: 7 months left\n       Iter. #2: Tue 2026-03-31 02:00:00 CEST\n       \
                     (in UTC): Tue 2026-03-31 00:00:00 UTC\n";
    let expected = [at("2026-03-30 00:00"), at("2026-03-31 00:00")];
    assert_eq!(times(debian_12), expected);
    assert_eq!(times(&debian_12.replace("Iter. #2", "Iteration #2")), expected);
    assert_eq!(
        times("Original form: Sun 2026-03-29 02:00:00 UTC\n    Next elapse: never\n"),
        Vec::<i64>::new()
    );
}

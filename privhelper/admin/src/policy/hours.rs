//! `hours` of a rule: weekly windows, and the time zone in which they are meant.

use super::table::Table;
use jiff::Timestamp;
use jiff::tz::{Offset, TimeZone};
use postern_proto::root::v1::{ClockChange, Window};
use std::io;
use std::path::Path;

const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
/// Minutes of a day and of a week.
const DAY: u32 = 24 * 60;
const WEEK: u32 = 7 * DAY;
/// The years of which the accepted policy has the changes of the clock: 2020 to 2100, in seconds since 1970.
const YEARS: [i64; 2] = [1_577_836_800, 4_102_444_800];

/// The windows of a rule, in the order of the week; none = always.
pub fn windows(table: Table<'_>) -> Vec<Window> {
    let texts = table.text_or_texts("hours").unwrap_or_default();
    if let Some(at) = table.place("hours").filter(|_| texts.is_empty()) {
        table.error(at, "`hours` names no window: the rule would let nothing through");
    }
    let mut windows = Vec::new();
    for text in texts {
        match parse(text.value) {
            Ok(of_days) => windows.extend(of_days),
            Err(why) => table.error(text.at, format!("{:?} {why}", text.value)),
        }
    }
    windows.sort_by_key(|window: &Window| (window.start, window.minutes));
    windows.dedup();
    windows
}

/// Each day's window of `"Sun 02:00-05:00"`, `"Mon..Fri 22:00-06:00"`, `"Sat,Sun 00:00-24:00"` or, of every day, `"02:00-05:00"`.
fn parse(text: &str) -> Result<Vec<Window>, String> {
    let bad = || {
        "is not valid: write days and times such as \"Sun 02:00-05:00\", \"Mon..Fri 22:00-06:00\" or \"02:00-05:00\" for every day".to_owned()
    };
    let (days, times) = text.split_once(' ').unwrap_or(("Mon..Sun", text));
    let (from, to) = times.split_once('-').ok_or_else(bad)?;
    let from = minute(from).filter(|from| *from < DAY).ok_or_else(bad)?;
    let to = minute(to).ok_or_else(bad)?;
    if from == to {
        return Err("never opens: it ends when it begins; a whole day is 00:00-24:00".to_owned());
    }
    // A window that ends before it begins ends on the next day.
    let minutes = if to > from { to - from } else { to + DAY - from };
    let mut windows = Vec::new();
    for part in days.split(',') {
        let (first, last) = days_of(part).ok_or_else(bad)?;
        // Sat..Mon goes over the end of the week.
        let count = (last + 7 - first) % 7;
        windows
            .extend((first..=first + count).map(|day| Window { start: (day * DAY + from) % WEEK, minutes }));
    }
    Ok(windows)
}

fn days_of(text: &str) -> Option<(u32, u32)> {
    let day = |name: &str| DAYS.iter().zip(0..).find(|(day, _)| **day == name).map(|(_, number)| number);
    let (first, last) = text.split_once("..").unwrap_or((text, text));
    Some((day(first)?, day(last)?))
}

/// The minute of the day of `hh:mm`, up to 24:00.
fn minute(text: &str) -> Option<u32> {
    let (hours, minutes) = text.split_once(':')?;
    let number = |text: &str| {
        let is_two_digits = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
        is_two_digits.then(|| text.parse::<u32>().ok()).flatten()
    };
    let (hours, minutes) = (number(hours)?, number(minutes)?);
    let minute = hours * 60 + minutes;
    (minutes < 60 && minute <= DAY).then_some(minute)
}

/// The host's time zone: its name, and the changes of its clock. Without the file it is UTC (localtime(5)).
///
/// # Errors
/// The file cannot be read or is no time zone, in words.
pub fn zone(localtime: &Path) -> Result<(String, Vec<ClockChange>), String> {
    let failed = |why: &dyn std::fmt::Display| format!("{}: {why}", localtime.display());
    let (name, zone) = match std::fs::read(localtime) {
        Ok(bytes) => {
            // The link of localtime(5), which names the zone.
            let target = std::fs::canonicalize(localtime).unwrap_or_default();
            let name = target.to_string_lossy().split_once("/zoneinfo/").map(|(_, name)| name.to_owned());
            let name = name.unwrap_or_else(|| "local time".to_owned());
            let zone = TimeZone::tzif(&name, &bytes).map_err(|error| failed(&error))?;
            (name, zone)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => ("UTC".to_owned(), TimeZone::UTC),
        Err(error) => return Err(failed(&error)),
    };
    let [first, last] = YEARS.map(|unix_s| Timestamp::from_second(unix_s).unwrap_or_default());
    let change =
        |at: Timestamp, offset: Offset| ClockChange { unix_s: at.as_second(), offset_s: offset.seconds() };
    let later = zone.following(first).take_while(|change| change.timestamp() < last);
    let later = later.map(|next| change(next.timestamp(), next.offset()));
    let mut changes = vec![change(first, zone.to_offset(first))];
    changes.extend(later);
    changes.dedup_by_key(|change| change.offset_s);
    Ok((name, changes))
}

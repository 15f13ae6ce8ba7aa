//! RFC 3339 in UTC with microseconds.

use std::time::Duration;

/// Writes a time since 1970 as `2026-11-21T04:13:14.000001Z`. Days to dates after Howard Hinnant's `civil_from_days`.
#[must_use]
pub fn rfc3339(unix: Duration) -> String {
    let (days, second) = (unix.as_secs().div_euclid(86_400), unix.as_secs().rem_euclid(86_400));
    let shifted = days.wrapping_add(719_468);
    let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let leap = day_of_era.div_euclid(1_460).wrapping_add(day_of_era.div_euclid(146_096));
    let leap = leap.wrapping_sub(day_of_era.div_euclid(36_524));
    let year_of_era = day_of_era.wrapping_sub(leap).div_euclid(365);
    let before = year_of_era.wrapping_mul(365).wrapping_add(year_of_era.div_euclid(4));
    let day_of_year = day_of_era.wrapping_sub(before.wrapping_sub(year_of_era.div_euclid(100)));
    let shifted_month = day_of_year.wrapping_mul(5).wrapping_add(2).div_euclid(153);
    let day = day_of_year
        .wrapping_sub(shifted_month.wrapping_mul(153).wrapping_add(2).div_euclid(5))
        .wrapping_add(1);
    let month =
        if shifted_month < 10 { shifted_month.wrapping_add(3) } else { shifted_month.wrapping_sub(9) };
    let year = year_of_era.wrapping_add(era.wrapping_mul(400)).wrapping_add(u64::from(month <= 2));
    let (hour, minute) = (second.div_euclid(3_600), second.div_euclid(60).rem_euclid(60));
    let second = second.rem_euclid(60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{:06}Z", unix.subsec_micros())
}

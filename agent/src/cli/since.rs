//! A time on the command line: how long ago, or a date.

use std::time::{SystemTime, UNIX_EPOCH};

/// Seconds since 1970 of a time, or of a time ago.
pub fn since(text: &str) -> Result<u64, String> {
    if let Ok(ago) = humantime::parse_duration(text) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        return Ok(now.saturating_sub(ago).as_secs());
    }
    let time = if text.len() == 10 { format!("{text} 00:00:00") } else { text.to_owned() };
    let time = humantime::parse_rfc3339_weak(&time).ok();
    let time = time.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    time.map(|time| time.as_secs()).ok_or_else(|| {
        "write 90s, 10m, 1h or 7d for a time ago, or a time in UTC such as 2026-11-21 or \"2026-11-21 04:13:00\""
            .to_owned()
    })
}

//! Texts of a policy that mean numbers or patterns.

use postern_policy::types::{FileMode, PackageName, Pattern, TargetPath, UnitName, UserName};
/// Longest time that a policy may say: 30 days, in seconds.
pub const TIME_MAX_S: u64 = 30 * 24 * 3600;
/// Most begin records that a rate counts.
const RATE_MAX: u32 = 100_000;

/// Seconds of `"90s"`, `"10m"`, `"1h"` or `"2d"`.
///
/// # Errors
/// Another form, 0, or more than 30 days.
pub fn seconds(text: &str) -> Result<u64, String> {
    let bad = || {
        format!(
            "{text:?} is not a valid time: write a number and s, m, h or d, such as \"10m\", up to 30 days"
        )
    };
    let unit = match text.bytes().last() {
        Some(b's') => 1,
        Some(b'm') => 60,
        Some(b'h') => 3600,
        Some(b'd') => 24 * 3600,
        _ => return Err(bad()),
    };
    let number = whole(&text[..text.len() - 1]).ok_or_else(bad)?;
    let seconds = u64::from(number).checked_mul(unit).ok_or_else(bad)?;
    if (1..=TIME_MAX_S).contains(&seconds) { Ok(seconds) } else { Err(bad()) }
}

/// Count and seconds of `"12/1h"`.
///
/// # Errors
/// Another form, a count outside 1 to 100000, or more than the day for which the helper keeps what it did.
pub fn rate(text: &str) -> Result<(u32, u64), String> {
    let bad =
        || format!("{text:?} is not a valid rate: write a count and a time up to a day, such as \"12/1h\"");
    let (count, window) = text.split_once('/').ok_or_else(bad)?;
    let count = whole(count).filter(|count| (1..=RATE_MAX).contains(count)).ok_or_else(bad)?;
    let window = seconds(window)?;
    if window <= 24 * 3600 { Ok((count, window)) } else { Err(bad()) }
}

fn whole(text: &str) -> Option<u32> {
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if digits { text.parse().ok() } else { None }
}

/// A rule's id or a client's name.
#[must_use]
pub fn is_id(text: &str) -> bool {
    (1..=64).contains(&text.len()) && text.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'-'))
}

/// A pattern of package names that some name can match.
///
/// # Errors
/// No pattern, or one that no package's name is like.
pub fn package_pattern(text: &str) -> Result<(), String> {
    pattern(text)?;
    // With its stars replaced it must be a valid name.
    let like = text.replace('*', "a0");
    if PackageName::new(&like).is_ok() {
        Ok(())
    } else {
        Err(format!("{text:?} matches no valid package name"))
    }
}

/// A pattern of unit names that some name can match.
///
/// # Errors
/// No pattern, or one that no unit's name is like, such as a name without its suffix.
pub fn unit_pattern(text: &str) -> Result<(), String> {
    pattern(text)?;
    let whole = format!("{text}.service");
    let is_name = |text: &str| UnitName::new(&text.replace('*', "a")).is_ok();
    if is_name(text) || (text.ends_with('*') && is_name(&whole)) {
        return Ok(());
    }
    let hint = if is_name(&whole) { format!(": did you mean {whole:?}?") } else { String::new() };
    Err(format!("{text:?} matches no valid full unit name{hint}"))
}

/// Any pattern.
///
/// # Errors
/// Empty, too long, or with other special characters than `*`.
pub fn pattern(text: &str) -> Result<(), String> {
    Pattern::new(text).map(drop).map_err(|invalid| format!("{text:?}: a pattern {}", invalid.why))
}

/// A directory: literal, absolute and plain.
///
/// # Errors
/// Relative, with `.`, `..`, `//` or `*`, or `/` itself.
pub fn directory(text: &str) -> Result<(), String> {
    if text.contains(['*', '?', '[', ']', '{', '}']) {
        return Err(format!(
            "{text:?}: a directory is literal; patterns belong in `files`, levels in `depth`"
        ));
    }
    TargetPath::new(text).map(drop).map_err(|invalid| format!("{text:?}: a directory {}", invalid.why))
}

/// A pattern of lines or texts.
///
/// # Errors
/// Empty, too long, not printable ASCII, or with a last backslash.
pub fn text_pattern(text: &str) -> Result<(), String> {
    Pattern::of_text(text).map(drop).map_err(|invalid| format!("{text:?}: a pattern {}", invalid.why))
}

/// A pattern of commands' names.
///
/// # Errors
/// No pattern, or one that no command's name is like.
pub fn command_pattern(text: &str) -> Result<(), String> {
    if is_id(&text.replace('*', "a")) {
        Ok(())
    } else {
        Err(format!("{text:?} matches no valid command name: use a-z, 0-9, '-' and '*'"))
    }
}

/// A path: literal, absolute and plain.
///
/// # Errors
/// Relative, with `.`, `..` or `//`, or `/` itself.
pub fn path(text: &str) -> Result<(), String> {
    TargetPath::new(text).map(drop).map_err(|invalid| format!("{text:?}: a path {}", invalid.why))
}

/// Permission bits.
///
/// # Errors
/// Other than four octal digits, or with setuid, setgid or sticky.
pub fn mode(text: &str) -> Result<(), String> {
    FileMode::new(text).map(drop).map_err(|invalid| format!("{text:?}: {invalid}"))
}

/// A user's or group's name.
///
/// # Errors
/// Another form, a number included.
pub fn account(text: &str) -> Result<(), String> {
    UserName::new("name", text).map(drop).map_err(|invalid| format!("{text:?} {}", invalid.why))
}

/// A user of `people`, or `group:` and a group.
///
/// # Errors
/// No name of a user or group.
pub fn person(text: &str) -> Result<(), String> {
    account(text.strip_prefix("group:").unwrap_or(text))
}

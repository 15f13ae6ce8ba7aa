//! The text of unit files: values that systemd reads as they were meant (systemd.syntax(7), systemd.unit(5)).

/// First line of every file that is written here. A file without it is somebody else's, and never replaced or removed.
pub(super) const HEADER: &str = "# Written by `postern-admin policy apply`: changes are lost.\n";

/// A path, user or number without any character that systemd gives a meaning: no blank, quote, backslash, colon, `$`
/// or `%`.
///
/// # Errors
/// Another character, in words.
pub(super) fn plain(value: &str) -> Result<&str, String> {
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || b"/._-+@,".contains(&b);
    if value.bytes().all(is_plain) {
        return Ok(value);
    }
    Err(format!("{value:?} cannot be written into a unit; use letters, digits and / . _ - + @ , only"))
}

/// A value in quotes, of any characters but control characters. `$` has no meaning in it, except in `ExecStart=`
/// without the prefix `:`.
///
/// # Errors
/// A control character, in words.
pub(super) fn quoted(value: &str) -> Result<String, String> {
    if value.chars().any(char::is_control) {
        return Err(format!("{value:?} holds a control character, which no unit can hold"));
    }
    let mut text = String::from("\"");
    for character in value.chars() {
        match character {
            '"' | '\\' => text.extend(['\\', character]),
            '%' => text.push_str("%%"),
            other => text.push(other),
        }
    }
    text.push('"');
    Ok(text)
}

/// The lines of a unit file.
pub(super) struct Lines(pub String);

impl Lines {
    pub(super) fn new() -> Self {
        Self(HEADER.to_owned())
    }

    pub(super) fn add(&mut self, lines: &str) {
        self.0.push_str(lines);
    }

    pub(super) fn set(&mut self, name: &str, value: impl std::fmt::Display) {
        self.0.extend([format!("{name}={value}\n")]);
    }
}

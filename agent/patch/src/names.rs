//! Paths in the headers of diffs.

use crate::lines::bare;

/// The name in a `---` or `+++` line: up to a tab, or quoted as C does.
pub fn name(text: &[u8]) -> Result<Vec<u8>, String> {
    let text = bare(text);
    let Some(quoted) = text.strip_prefix(b"\"") else {
        return Ok(text.split(|byte| *byte == b'\t').next().unwrap_or_default().to_owned());
    };
    unquoted(quoted).ok_or_else(|| "the quoted path is broken".to_owned())
}

fn unquoted(text: &[u8]) -> Option<Vec<u8>> {
    let mut name = Vec::new();
    let mut bytes = text.iter().copied();
    loop {
        match bytes.next()? {
            b'"' => return bytes.next().is_none_or(|byte| byte == b'\t').then_some(name),
            b'\\' => match bytes.next()? {
                c @ (b'"' | b'\\') => name.push(c),
                first @ b'0'..=b'3' => {
                    let digits = [first, bytes.next()?, bytes.next()?];
                    let text = std::str::from_utf8(&digits).ok()?;
                    name.push(u8::from_str_radix(text, 8).ok()?);
                }
                // The others stand for control characters, which no path may hold.
                _ => return None,
            },
            byte => name.push(byte),
        }
    }
}

/// The path that a name in a diff means: less `a/` or `b/`, from the root on.
pub fn absolute(name: &[u8]) -> Result<String, String> {
    let text = std::str::from_utf8(name).map_err(|_| "the path is not UTF-8".to_owned())?;
    let relative = text.strip_prefix("a/").or_else(|| text.strip_prefix("b/")).unwrap_or(text);
    let relative = relative.strip_prefix('/').unwrap_or(relative);
    let is_plain = relative.split('/').all(|part| !matches!(part, "" | "." | ".."));
    if !is_plain || relative.chars().any(char::is_control) {
        return Err(format!("{text:?} is no plain path"));
    }
    Ok(format!("/{relative}"))
}

//! Whether two patterns can match the same text: exact, without trying texts.

/// The characters that `*` of a pattern matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Star {
    /// Any run of characters.
    Anything,
    /// Any run without `@`, as in unit names of a policy.
    NoAt,
}

impl Star {
    const fn takes(self, byte: u8) -> bool {
        match self {
            Self::Anything => true,
            Self::NoAt => byte != b'@',
        }
    }
}

/// Whether some text is matched by `a` as well as by `b`: in `len(a) × len(b)` steps, however many stars there are.
#[must_use]
pub fn both(a: &str, a_star: Star, b: &str, b_star: Star) -> bool {
    if a.contains('*') || b.contains('*') { meet(a, a_star, b, b_star).is_some() } else { a == b }
}

/// A short text that is matched by `a` as well as by `b`.
#[must_use]
pub fn meet(a: &str, a_star: Star, b: &str, b_star: Star) -> Option<String> {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    // meets[i][j]: whether the ends a[i..] and b[j..] share a text.
    let mut meets = vec![vec![false; b.len() + 1]; a.len() + 1];
    for i in (0..=a.len()).rev() {
        for j in (0..=b.len()).rev() {
            meets[i][j] = match (a.get(i), b.get(j)) {
                (None, None) => true,
                (Some(b'*'), None) => meets[i + 1][j],
                (None, Some(b'*')) => meets[i][j + 1],
                (Some(b'*'), Some(b'*')) => meets[i + 1][j] || meets[i][j + 1],
                // The star ends here, or takes what the other pattern says.
                (Some(b'*'), Some(byte)) => meets[i + 1][j] || (a_star.takes(*byte) && meets[i][j + 1]),
                (Some(byte), Some(b'*')) => meets[i][j + 1] || (b_star.takes(*byte) && meets[i + 1][j]),
                (Some(x), Some(y)) => x == y && meets[i + 1][j + 1],
                (None, Some(_)) | (Some(_), None) => false,
            };
        }
    }
    if !meets[0][0] {
        return None;
    }
    let (mut i, mut j, mut text) = (0, 0, Vec::new());
    while i < a.len() || j < b.len() {
        match (a.get(i), b.get(j)) {
            // Stars end as soon as they can, so the text stays short.
            (Some(b'*'), _) if meets[i + 1][j] => i += 1,
            (_, Some(b'*')) if meets[i][j + 1] => j += 1,
            (Some(b'*'), Some(byte)) => {
                text.push(*byte);
                j += 1;
            }
            (Some(byte), Some(b'*')) => {
                text.push(*byte);
                i += 1;
            }
            (Some(byte), _) => {
                text.push(*byte);
                i += 1;
                j += 1;
            }
            (None, _) => break,
        }
    }
    // Patterns are ASCII; other bytes come out as they went in.
    Some(String::from_utf8_lossy(&text).into_owned())
}

/// As [`both`] for a file's name: the `*` that begins `granted` takes no leading dot.
///
/// Exact: where both patterns begin with `*`, any letter before a common name makes another one.
#[must_use]
pub fn both_files(granted: &str, entry: &str) -> bool {
    !(granted.starts_with('*') && entry.starts_with('.'))
        && both(granted, Star::Anything, entry, Star::Anything)
}

/// Whether a pattern, in which `*` matches anything, matches this text.
#[must_use]
pub fn matches(pattern: &str, text: &str) -> bool {
    // A text may hold a star of its own only in names that no table has.
    both(pattern, Star::Anything, text, Star::Anything)
}

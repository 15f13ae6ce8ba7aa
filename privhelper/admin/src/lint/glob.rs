//! Whether two patterns can match the same text: exact, without trying texts.

/// What `*` of a pattern does not stand for.
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

/// Whether some text is matched by `a` as well as by `b`.
///
/// One row of the table of all pairs of ends at a time: `len(a) × len(b)` steps, however many stars there are.
#[must_use]
pub fn both(a: &str, a_star: Star, b: &str, b_star: Star) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    if !a.contains(&b'*') && !b.contains(&b'*') {
        return a == b;
    }
    // below[j]: whether the ends a[i + 1..] and b[j..] share a text; row is the same for a[i..].
    let mut below = vec![false; b.len() + 1];
    for i in (0..=a.len()).rev() {
        let mut row = vec![false; b.len() + 1];
        for j in (0..=b.len()).rev() {
            row[j] = match (a.get(i), b.get(j)) {
                (None, None) => true,
                (Some(b'*'), None) => below[j],
                (None, Some(b'*')) => row[j + 1],
                (Some(b'*'), Some(b'*')) => below[j] || row[j + 1],
                // The star ends here, or takes what the other pattern says.
                (Some(b'*'), Some(byte)) => below[j] || (a_star.takes(*byte) && row[j + 1]),
                (Some(byte), Some(b'*')) => row[j + 1] || (b_star.takes(*byte) && below[j]),
                (Some(x), Some(y)) => x == y && below[j + 1],
                (None, Some(_)) | (Some(_), None) => false,
            };
        }
        below = row;
    }
    below[0]
}

/// As [`both`] for a file's name: the `*` that begins `granted` takes no leading dot.
///
/// Exact: where both patterns begin with `*`, any letter before a common name makes another one.
#[must_use]
pub fn both_files(granted: &str, entry: &str) -> bool {
    !(granted.starts_with('*') && entry.starts_with('.'))
        && both(granted, Star::Anything, entry, Star::Anything)
}

/// Whether a pattern, in which `*` stands for anything, matches this very text.
#[must_use]
pub fn matches(pattern: &str, text: &str) -> bool {
    // A text may hold a star of its own only in names that no table has.
    both(pattern, Star::Anything, text, Star::Anything)
}

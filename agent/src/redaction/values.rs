//! Values, found in whatever form they are likely to have.

use super::redact::MARK;
use aho_corasick::{AhoCorasick, MatchKind};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use percent_encoding::{AsciiSet, CONTROLS, NON_ALPHANUMERIC, utf8_percent_encode};
use secrecy::{ExposeSecret, SecretString};
use serde_json::json;
use std::fmt::Write;

/// So much of a value at the end or the beginning of a text is taken for one that is cut off.
const SHORTEST_PART: usize = 8;
/// The most bytes of all forms of all values: a matcher takes some thirty times as much memory while it is built.
const MOST: usize = 4 << 20;
/// Characters that a part of a URL may hold unescaped (RFC 3986, unreserved).
const UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
/// Characters that browsers escape in a path.
const PATH: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'%')
    .add(b'<')
    .add(b'>')
    .add(b'?')
    .add(b'`')
    .add(b'{')
    .add(b'}');

/// The values that are held.
#[derive(Debug, Default)]
pub struct Values {
    values: Vec<SecretString>,
    /// Absent where nothing is held.
    matcher: Option<AhoCorasick>,
}

impl Values {
    /// All forms of all values.
    ///
    /// # Errors
    /// They are too many to be looked for: nothing would be taken out.
    pub fn new(values: &[SecretString]) -> Result<Self, String> {
        let mut forms: Vec<String> = values.iter().flat_map(|value| forms(value.expose_secret())).collect();
        forms.sort();
        forms.dedup();
        let size: usize = forms.iter().map(String::len).sum();
        if size > MOST {
            return Err(format!(
                "the secrets are too large to be kept out of what is shown: {size} bytes in all their forms, and {MOST} \
                 are the most"
            ));
        }
        let matcher = match forms.as_slice() {
            [] => None,
            // Of several that begin at one place, the longest.
            forms => Some(
                AhoCorasick::builder()
                    .match_kind(MatchKind::LeftmostLongest)
                    .build(forms)
                    .map_err(|error| format!("the secrets cannot be kept out of what is shown: {error}"))?,
            ),
        };
        Ok(Self { values: values.to_vec(), matcher })
    }

    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// A text without them, and how many were taken out.
    pub fn redact(&self, text: &str) -> (String, usize) {
        let Some(matcher) = &self.matcher else { return (text.to_owned(), 0) };
        let mut count = 0;
        let mut clean = String::with_capacity(text.len());
        matcher.replace_all_with(text, &mut clean, |_, _, clean| {
            clean.push_str(MARK);
            count += 1;
            true
        });
        let mut text = clean;
        if let Some(at) = self.values.iter().filter_map(|value| cut_off(&text, value.expose_secret())).min() {
            text.truncate(at);
            text.push_str(MARK);
            count += 1;
        }
        // Text read from an offset may begin in the middle of a value.
        if let Some(length) =
            self.values.iter().filter_map(|value| cut_on(&text, value.expose_secret())).max()
        {
            text.replace_range(..length, MARK);
            count += 1;
        }
        (text, count)
    }
}

/// Where a value begins that the end of a text cuts off.
fn cut_off(text: &str, value: &str) -> Option<usize> {
    let ends = value.char_indices().map(|(at, _)| at).filter(|at| *at >= SHORTEST_PART).rev();
    let part = ends.filter_map(|end| value.get(..end)).find(|part| text.ends_with(part))?;
    text.len().checked_sub(part.len())
}

/// How much of a text is the end of a value that its beginning cuts off.
fn cut_on(text: &str, value: &str) -> Option<usize> {
    let begins = value.char_indices().skip(1).filter_map(|(at, _)| value.get(at..));
    begins.take_while(|part| part.len() >= SHORTEST_PART).find(|part| text.starts_with(part)).map(str::len)
}

/// A value as itself, in base64 by itself or with something before and after it, in a URL, and in JSON.
fn forms(value: &str) -> Vec<String> {
    let mut forms = vec![value.to_owned()];
    for engine in [&STANDARD, &URL_SAFE] {
        for before in 0..3_usize {
            let text = engine.encode([&vec![0; before], value.as_bytes()].concat());
            // Characters that also encode bits of the neighbours are left out.
            let (from, rest) = ((before * 8).div_ceil(6), (before + value.len()) * 8 / 6);
            forms.extend(text.get(from..rest).filter(|form| form.len() >= SHORTEST_PART).map(str::to_owned));
        }
    }
    for set in [UNRESERVED, PATH] {
        let upper = utf8_percent_encode(value, set).to_string();
        let lower = lower_case_escapes(&upper);
        // As forms have a blank.
        forms.extend([upper.replace("%20", "+"), lower.replace("%20", "+"), upper, lower]);
    }
    let json = json!(value).to_string();
    let json = json.trim_start_matches('"').strip_suffix('"').unwrap_or_default().to_owned();
    forms.push(json.replace('/', "\\/"));
    forms.push(ascii(&json));
    forms.push(json);
    forms
}

/// `%2F` as `%2f`. A percent sign of the value is an escape itself.
fn lower_case_escapes(encoded: &str) -> String {
    let mut parts = encoded.split('%');
    let mut lower = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (digits, rest) = part.split_at_checked(2).unwrap_or((part, ""));
        lower.push('%');
        lower.push_str(&digits.to_ascii_lowercase());
        lower.push_str(rest);
    }
    lower
}

/// JSON as those write it who keep to ASCII.
fn ascii(json: &str) -> String {
    let mut text = String::new();
    let mut units = [0; 2];
    for c in json.chars() {
        if c.is_ascii() {
            text.push(c);
        } else {
            for unit in c.encode_utf16(&mut units) {
                let _ = write!(text, "\\u{unit:04x}");
            }
        }
    }
    text
}

//! Values, found in whatever form they are likely to have.

use crate::model::redact::MARK;
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use regex::Regex;
use secrecy::{ExposeSecret, SecretString};
use serde_json::json;
use std::fmt::Write;

/// So much of a value at the end or the beginning of a text is taken for one that is cut off.
const SHORTEST_PART: usize = 8;

/// The values that are held.
#[derive(Debug, Default)]
pub struct Values {
    values: Vec<SecretString>,
    pattern: Option<Regex>,
}

impl Values {
    /// All forms of all values.
    pub fn new(values: &[SecretString]) -> Self {
        let mut forms: Vec<String> = values.iter().flat_map(|value| forms(value.expose_secret())).collect();
        // The first that fits is taken: the longest comes first.
        forms.sort_by(|one, other| other.len().cmp(&one.len()).then_with(|| one.cmp(other)));
        forms.dedup();
        let quoted: Vec<String> = forms.iter().map(|form| regex::escape(form)).collect();
        let pattern = if quoted.is_empty() { None } else { Regex::new(&quoted.join("|")).ok() };
        Self { values: values.to_vec(), pattern }
    }

    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// A text without them, and how many were taken out.
    pub fn redact(&self, text: &str) -> (String, usize) {
        let Some(pattern) = &self.pattern else { return (text.to_owned(), 0) };
        let mut count = pattern.find_iter(text).count();
        let mut text = if count > 0 { pattern.replace_all(text, MARK).into_owned() } else { text.to_owned() };
        if let Some(at) = self.values.iter().filter_map(|value| cut_off(&text, value.expose_secret())).min() {
            text.truncate(at);
            text.push_str(MARK);
            count += 1;
        }
        // What is read from an offset on begins in the middle of one.
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
            // What the neighbours share in is left out.
            let (from, rest) = ((before * 8).div_ceil(6), (before + value.len()) * 8 / 6);
            forms.extend(text.get(from..rest).filter(|form| form.len() >= SHORTEST_PART).map(str::to_owned));
        }
    }
    for (upper, space) in [(true, "%20"), (false, "%20"), (true, "+"), (false, "+")] {
        forms.push(percent(value, upper, space, &|byte| {
            byte.is_ascii_alphanumeric() || b"-._~".contains(&byte)
        }));
    }
    // As browsers leave a path.
    forms
        .push(percent(value, true, "%20", &|byte| byte.is_ascii_graphic() && !b"\"#%<>?`{}".contains(&byte)));
    let json = json!(value).to_string();
    let json = json.trim_start_matches('"').strip_suffix('"').unwrap_or_default().to_owned();
    forms.push(json.replace('/', "\\/"));
    forms.push(ascii(&json));
    forms.push(json);
    forms
}

fn percent(value: &str, upper: bool, space: &str, is_plain: &dyn Fn(u8) -> bool) -> String {
    let mut text = String::new();
    for byte in value.bytes() {
        // Writing to a string cannot fail.
        let _ = match byte {
            b' ' => write!(text, "{space}"),
            byte if is_plain(byte) => write!(text, "{}", char::from(byte)),
            byte if upper => write!(text, "%{byte:02X}"),
            byte => write!(text, "%{byte:02x}"),
        };
    }
    text
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

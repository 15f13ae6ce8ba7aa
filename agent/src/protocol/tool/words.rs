//! Parts of a step in words.

use postern_text::line;

/// The step that writes a file, in words.
pub fn written(path: &str, content: &str) -> String {
    format!("write {} bytes to {path}", content.len())
}

/// A value in a line of several: as it is, or its beginning.
pub fn brief(value: &str) -> String {
    let value = line(value);
    if value.chars().count() <= VALUE { value } else { value.chars().take(VALUE).chain(['…']).collect() }
}

/// As many characters of a parameter's value stand in a line.
const VALUE: usize = 60;

//! The output of a step, of limited length.

/// Most bytes of a step's output in the task's record.
pub const OUTPUT_LIMIT: usize = 64 << 10;

/// A text of at most so many bytes, and whether something was cut off.
pub fn cut(mut text: String) -> (String, bool) {
    let end = (0..=OUTPUT_LIMIT.min(text.len())).rev().find(|&n| text.is_char_boundary(n)).unwrap_or(0);
    let is_cut = end < text.len();
    text.truncate(end);
    (text, is_cut)
}

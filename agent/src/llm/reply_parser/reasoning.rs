//! Reasoning that a model writes into its reply: nothing in it is run.

const NAMES: [&str; 3] = ["think", "thinking", "reasoning"];

/// A tag in prose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tag {
    /// A whole block; the byte after it, which is the text's end where the block is never closed.
    Block(usize),
    /// A close tag whose open tag is missing, as chat templates eat it; the byte after it.
    StrayClose(usize),
}

/// The tag whose `<` stands at `at`, if it is one.
pub fn tag(text: &str, at: usize) -> Option<Tag> {
    let rest = &text[at + 1..];
    if let Some(rest) = rest.strip_prefix('/') {
        let length = NAMES.iter().find_map(|name| close(rest, name))?;
        return Some(Tag::StrayClose(at + 2 + length));
    }
    let (name, length) = NAMES.iter().find_map(|name| open(rest, name).map(|length| (name, length)))?;
    let inner = at + 1 + length;
    let ends = text[inner..].match_indices("</").find_map(|(start, _)| {
        let after = inner + start + 2;
        close(&text[after..], name).map(|length| after + length)
    });
    Some(Tag::Block(ends.unwrap_or(text.len())))
}

/// The length of `NAME>` or `NAME ATTRIBUTES>` at the beginning of a text.
fn open(text: &str, name: &str) -> Option<usize> {
    let rest = after_name(text, name)?;
    let end = rest.find(['<', '>', '{', '}'])?;
    let is_tag = rest[end..].starts_with('>') && (end == 0 || rest.starts_with(char::is_whitespace));
    is_tag.then_some(name.len() + end + 1)
}

/// The length of `NAME>` at the beginning of a text, blanks before the bracket allowed.
fn close(text: &str, name: &str) -> Option<usize> {
    let rest = after_name(text, name)?;
    let blanks = rest.len() - rest.trim_start().len();
    rest[blanks..].starts_with('>').then_some(name.len() + blanks + 1)
}

fn after_name<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    text.get(..name.len()).filter(|word| word.eq_ignore_ascii_case(name)).map(|_| &text[name.len()..])
}

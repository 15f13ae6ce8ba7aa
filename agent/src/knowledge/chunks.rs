//! Divides a document into chunks: at headings, and where a part grows too long.

use super::line::Line;
use super::man;

/// A chunk this long ends at the next blank line or heading.
const FULL: usize = 1200;
/// Longest chunk, in bytes.
const LIMIT: usize = 2000;
/// A heading begins a new chunk only after so many bytes, which bounds the number of chunks.
const SHORT: usize = 200;
/// Longest title and path of headings, in bytes.
const HEADING_LIMIT: usize = 200;

/// A part of a document.
#[derive(Debug, PartialEq, Eq)]
pub struct Chunk {
    /// Its first line.
    pub line: usize,
    /// The headings above it, from the outermost.
    pub heading: String,
    /// Its text.
    pub body: String,
}

/// Divides a document: its title, and its chunks.
pub fn divide(source: &str, text: &str) -> (String, Vec<Chunk>) {
    let name = source.rsplit('/').next().unwrap_or(source);
    let name = name.strip_suffix(".gz").unwrap_or(name);
    if man::is_page(text) {
        let (title, lines) = man::read(name, text);
        return (cut(&title, HEADING_LIMIT).to_owned(), chunks(lines));
    }
    let lines = if is_markdown(name) { markdown(text) } else { plain(text) };
    let heading = lines.iter().find(|line| line.level.is_some()).map(|line| line.text.clone());
    let title = heading.map_or_else(|| name.to_owned(), |heading| format!("{name}: {heading}"));
    (cut(&title, HEADING_LIMIT).to_owned(), chunks(lines))
}

fn is_markdown(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let end = name.rsplit_once('.').map(|(_, end)| end);
    matches!(end, Some("md" | "markdown")) || name.starts_with("task ")
}

fn plain(text: &str) -> Vec<Line> {
    let line = |(at, text): (usize, &str)| Line { number: at + 1, level: None, text: text.to_owned() };
    text.lines().enumerate().map(line).collect()
}

/// Finds the headings of `CommonMark`: `#` to `######`, and lines that are underlined.
fn markdown(text: &str) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    let mut fence = None;
    for (at, line) in text.lines().enumerate() {
        let bare = line.trim_start();
        let mark = ["```", "~~~"].into_iter().find(|mark| bare.starts_with(mark));
        match (fence, mark) {
            (None, Some(mark)) => fence = Some(mark),
            (Some(open), Some(mark)) if open == mark => fence = None,
            _ => {}
        }
        let is_text = fence.is_none() && mark.is_none();
        let is_underline = |c: char| bare.len() >= 3 && bare.trim_end().chars().all(|other| other == c);
        if let (true, Some(above)) = (is_text, lines.last_mut())
            && above.level.is_none()
            && !above.text.trim().is_empty()
            && (is_underline('=') || is_underline('-'))
        {
            above.level = Some(if is_underline('=') { 1 } else { 2 });
            continue;
        }
        let marks = bare.len() - bare.trim_start_matches('#').len();
        let heading = bare.get(marks..).filter(|rest| (1..=6).contains(&marks) && rest.starts_with(' '));
        lines.push(match heading.filter(|_| is_text) {
            Some(rest) => {
                let text = rest.trim().trim_end_matches('#').trim_end().to_owned();
                Line { number: at + 1, level: Some(marks), text }
            }
            None => Line { number: at + 1, level: None, text: line.to_owned() },
        });
    }
    lines
}

/// Joins lines to chunks.
pub fn chunks(lines: Vec<Line>) -> Vec<Chunk> {
    let (mut chunks, mut headings) = (Vec::new(), Vec::<(usize, String)>::new());
    let mut chunk = Chunk { line: 1, heading: String::new(), body: String::new() };
    for Line { number, level, text } in lines {
        if let Some(level) = level {
            headings.retain(|(above, _)| *above < level);
            headings.push((level, text.clone()));
        }
        let is_break = level.is_some() && chunk.body.len() >= SHORT
            || text.trim().is_empty() && chunk.body.len() >= FULL
            || chunk.body.len() + text.len() >= LIMIT;
        if is_break {
            finish(&mut chunks, &mut chunk);
        }
        let mut rest = text.as_str();
        loop {
            if chunk.body.is_empty() {
                if rest.trim().is_empty() {
                    break;
                }
                let path: Vec<&str> = headings.iter().map(|(_, heading)| heading.as_str()).collect();
                cut(&path.join(" > "), HEADING_LIMIT).clone_into(&mut chunk.heading);
                chunk.line = number;
            }
            let part = cut(rest, LIMIT);
            chunk.body.push_str(part);
            chunk.body.push('\n');
            rest = rest.get(part.len()..).unwrap_or_default();
            if rest.is_empty() {
                break;
            }
            finish(&mut chunks, &mut chunk);
        }
    }
    finish(&mut chunks, &mut chunk);
    chunks
}

fn finish(chunks: &mut Vec<Chunk>, chunk: &mut Chunk) {
    let body = std::mem::take(&mut chunk.body);
    let body = body.trim_end();
    if !body.is_empty() {
        chunks.push(Chunk { line: chunk.line, heading: chunk.heading.clone(), body: body.to_owned() });
    }
}

/// The beginning of a text, at most so many bytes, no character cut through.
pub fn cut(text: &str, most: usize) -> &str {
    let mut end = most.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or(text)
}

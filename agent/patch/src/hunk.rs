//! Reads one hunk: its header, and as many lines as that says.

use crate::lines::bare;
use crate::parse::{ParseError, Reader};
use crate::{Hunk, Mark};

impl Reader<'_> {
    /// A hunk, from its header on.
    pub(crate) fn hunk(&mut self) -> Result<Hunk, ParseError> {
        let header = self.peek().unwrap_or_default();
        self.at += 1;
        let start = self.at;
        let form = "a hunk's header is \"@@ -LINE,COUNT +LINE,COUNT @@\"";
        let (old_start, mut old, mut new) = ranges(header).ok_or_else(|| self.wrong(form))?;
        let mut lines: Vec<(Mark, Vec<u8>)> = Vec::new();
        // Whether the file's last line was there, without its end.
        let (mut is_old_open, mut is_new_open) = (false, false);
        while old > 0 || new > 0 {
            let line = self.peek().filter(|line| !line.starts_with(b"@@"));
            let line =
                line.ok_or_else(|| self.fault(start, "this hunk has fewer lines than its header says"))?;
            self.at += 1;
            let (mark, text) = match line.split_first() {
                Some((b' ', text)) => (Mark::Context, text),
                Some((b'-', text)) => (Mark::Delete, text),
                Some((b'+', text)) => (Mark::Insert, text),
                Some((b'\\', _)) => {
                    let mark = self.open_end(&mut lines)?;
                    is_old_open |= mark != Mark::Insert;
                    is_new_open |= mark != Mark::Delete;
                    continue;
                }
                // Mail and editors take the blank from an empty line of context.
                Some((b'\n', _) | (b'\r', b"\n")) => (Mark::Context, line),
                _ => return Err(self.wrong("this hunk has fewer lines than its header says")),
            };
            for (count, is_counted) in [(&mut old, mark != Mark::Insert), (&mut new, mark != Mark::Delete)] {
                if is_counted {
                    let why = "this hunk has more lines of a kind than its header says";
                    *count = count.checked_sub(1).ok_or_else(|| self.fault(start, why))?;
                }
            }
            if (is_old_open && mark != Mark::Insert) || (is_new_open && mark != Mark::Delete) {
                return Err(self.wrong("a line comes after the one that has no line end"));
            }
            // The diff's own last line may have lost its end.
            lines.push((mark, if text.ends_with(b"\n") { text.to_owned() } else { [text, b"\n"].concat() }));
        }
        if self.peek().is_some_and(|line| line.starts_with(b"\\")) {
            self.at += 1;
            self.open_end(&mut lines)?;
        }
        let is_more = |line: &[u8]| matches!(line.first(), Some(b' ' | b'+' | b'-')) && bare(line) != b"-- ";
        let is_header = |line: &[u8]| line.starts_with(b"--- ");
        if self.peek().is_some_and(|line| is_more(line) && !is_header(line)) {
            return Err(self.fault(start, "this hunk has more lines than its header says"));
        }
        Ok(Hunk { old_start, lines })
    }

    /// `\ No newline at end of file`: the line before it has none.
    fn open_end(&self, lines: &mut [(Mark, Vec<u8>)]) -> Result<Mark, ParseError> {
        let Some((mark, line)) = lines.last_mut() else {
            return Err(self.wrong("no line comes before this"));
        };
        if line.pop() != Some(b'\n') {
            return Err(self.wrong("this stands here twice"));
        }
        if line.last() == Some(&b'\r') && self.lines[self.at - 1].ends_with(b"\r\n") {
            // The whole diff has such line ends, this line has none.
            line.pop();
        }
        Ok(*mark)
    }
}

/// `@@ -3,4 +3,5 @@ what it is in` as (3, 4, 5).
fn ranges(header: &[u8]) -> Option<(usize, usize, usize)> {
    // The text after the ranges is for people, and may be as long as a line.
    let text = String::from_utf8_lossy(&header[..header.len().min(100)]);
    let (ranges, _) = text.strip_prefix("@@ -")?.split_once(" @@")?;
    let (old, new) = ranges.split_once(" +")?;
    let range = |text: &str| {
        let (start, count) = text.split_once(',').unwrap_or((text, "1"));
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        (is_number(start) && is_number(count)).then_some(())?;
        Some((start.parse::<usize>().ok()?, count.parse::<usize>().ok()?))
    };
    let ((old_start, old), (_, new)) = (range(old)?, range(new)?);
    (old.checked_add(new)? > 0).then_some((old_start, old, new))
}

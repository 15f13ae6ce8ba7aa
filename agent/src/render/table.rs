//! Columns under a heading, no wider than the terminal.

use postern_text::line;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Blanks between columns.
const GAP: usize = 2;

/// Rows of cells, made fit for a terminal.
#[derive(Default)]
pub struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Adds a row. Empty cells at its end take no room.
    pub fn row<const N: usize>(&mut self, cells: [&str; N]) {
        self.rows.push(cells.map(line).to_vec());
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// The rows after an indent, each cut to `width` columns.
    pub fn render(&self, indent: &str, width: Option<usize>) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or_default();
        let widest = |column: usize| {
            self.rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.width()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(widest).collect();
        let mut text = String::new();
        for row in &self.rows {
            let mut one = String::from(indent);
            for (cell, width) in row.iter().zip(&widths).filter(|(_, width)| **width > 0) {
                one.push_str(cell);
                one.extend(std::iter::repeat_n(' ', width - cell.width() + GAP));
            }
            text.push_str(&cut(one.trim_end(), width));
            text.push('\n');
        }
        text
    }
}

/// At most so many columns of a line; what is cut off is marked.
fn cut(line: &str, width: Option<usize>) -> String {
    let Some(width) = width.filter(|width| line.width() > *width) else { return line.to_owned() };
    let mut taken = 0;
    let fits = |c: &char| {
        taken += c.width().unwrap_or(0);
        taken < width
    };
    line.chars().take_while(fits).chain(['…']).collect()
}

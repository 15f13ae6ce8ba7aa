//! Reads unified diffs, also git's.

use crate::lines::bare;
use crate::names::{absolute, name};
use crate::{FileDiff, Kind, Mark};
use std::fmt;

/// Where a diff is wrong, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// The diff's line, from 1.
    pub line: usize,
    /// The fault.
    pub why: String,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {} of the diff: {}", self.line, self.why)
    }
}

impl std::error::Error for ParseError {}

/// git's own header lines for the file that follows.
#[derive(Default)]
struct Git<'a> {
    /// The two paths, not yet told apart.
    paths: &'a [u8],
    empty: Option<Kind>,
    line: usize,
}

/// The lines of a diff, and how far they are read.
pub(crate) struct Reader<'a> {
    pub(crate) lines: Vec<&'a [u8]>,
    pub(crate) at: usize,
    files: Vec<FileDiff>,
    git: Option<Git<'a>>,
}

/// Reads a diff of one or many files. Text before, between and after the files' parts is passed over, where
/// none of it can have been meant as a part.
///
/// # Errors
/// The first line that fits no place, a rename, a mode, a binary part, a path that is not plain, a file that
/// stands twice in the diff, or no file at all.
pub fn parse(diff: &[u8]) -> Result<Vec<FileDiff>, ParseError> {
    let mut reader = Reader { lines: crate::lines::split(diff), at: 0, files: Vec::new(), git: None };
    while reader.at < reader.lines.len() {
        reader.next()?;
    }
    reader.end_git()?;
    if reader.files.is_empty() {
        return Err(reader.fault(1, "there is no file in it: no \"--- a/PATH\" with \"+++ b/PATH\" after it"));
    }
    Ok(reader.files)
}

impl<'a> Reader<'a> {
    pub(crate) fn fault(&self, line: usize, why: impl Into<String>) -> ParseError {
        ParseError { line: line.min(self.lines.len().max(1)), why: why.into() }
    }

    /// The fault of the line that was taken last.
    pub(crate) fn wrong(&self, why: impl Into<String>) -> ParseError {
        self.fault(self.at, why)
    }

    pub(crate) fn peek(&self) -> Option<&'a [u8]> {
        self.lines.get(self.at).copied()
    }

    fn next(&mut self) -> Result<(), ParseError> {
        let line = self.lines[self.at];
        self.at += 1;
        if let Some(paths) = line.strip_prefix(b"diff --git ") {
            self.end_git()?;
            self.git = Some(Git { paths: bare(paths), empty: None, line: self.at });
        } else if line.starts_with(b"--- ") && self.peek().is_some_and(|next| next.starts_with(b"+++ ")) {
            self.git = None;
            self.file(&line[4..])?;
        } else if line.starts_with(b"@@") {
            return Err(self.wrong("a hunk without the \"---\" and \"+++\" lines of its file"));
        } else if self.git.is_some() {
            self.git_header(bare(line))?;
        } else if line.starts_with(b"Binary files ") || line.starts_with(b"Only in ") {
            return Err(self.wrong("only the content of text files can be patched"));
        } else if line.starts_with(b"+++ ") {
            return Err(self.wrong("a \"+++\" line without the \"---\" line before it"));
        }
        Ok(())
    }

    /// A header line of git's.
    fn git_header(&mut self, line: &[u8]) -> Result<(), ParseError> {
        let starts = |words: &[&str]| words.iter().any(|word| line.starts_with(word.as_bytes()));
        if starts(&["rename ", "copy ", "similarity ", "dissimilarity "]) {
            return Err(
                self.wrong("renames and copies are not patched: write the new file and remove the old")
            );
        }
        if starts(&["old mode ", "new mode "]) {
            return Err(self.wrong("modes are not patched: see `postern file set-mode`"));
        }
        if starts(&["Binary files ", "GIT binary patch"]) {
            return Err(self.wrong("only the content of text files can be patched"));
        }
        let kind = if starts(&["new file mode "]) {
            Kind::Create
        } else if starts(&["deleted file mode "]) {
            Kind::Delete
        } else {
            return if line.is_empty() || starts(&["index "]) {
                Ok(())
            } else {
                Err(self.wrong("this fits no header of a file"))
            };
        };
        let is_plain = line.ends_with(b" 100644") || (kind == Kind::Delete && line.ends_with(b" 100755"));
        if !is_plain {
            return Err(self.wrong("modes are not patched: only plain files of mode 100644 are created"));
        }
        if let Some(git) = &mut self.git {
            git.empty = Some(kind);
        }
        Ok(())
    }

    /// A file of git's that had no hunks: an empty one that comes or goes.
    fn end_git(&mut self) -> Result<(), ParseError> {
        let Some(Git { paths, empty, line }) = self.git.take() else { return Ok(()) };
        let Some(kind) = empty else { return Err(self.fault(line, "nothing follows for this file")) };
        // `a/PATH b/PATH`
        let (old, new) = paths.split_at(paths.len() / 2);
        let pair = new.strip_prefix(b" ").and_then(|new| Some((absolute(old).ok()?, absolute(new).ok()?)));
        match pair {
            Some((old, new)) if old == new => self.add(FileDiff { path: old, kind, hunks: Vec::new() }, line),
            Some(_) | None => Err(self.fault(line, "cannot tell the two paths apart")),
        }
    }

    /// A file, from its `---` line on.
    fn file(&mut self, old: &[u8]) -> Result<(), ParseError> {
        let start = self.at;
        let old = name(old).map_err(|why| self.wrong(why))?;
        let new = self.peek().unwrap_or_default();
        self.at += 1;
        let new = name(&new[4..]).map_err(|why| self.wrong(why))?;
        let path = |name: &[u8]| absolute(name).map_err(|why| self.fault(start, why));
        let (path, kind) = match (old.as_slice(), new.as_slice()) {
            (b"/dev/null", b"/dev/null") => return Err(self.wrong("both paths are /dev/null")),
            (b"/dev/null", new) => (path(new)?, Kind::Create),
            (old, b"/dev/null") => (path(old)?, Kind::Delete),
            (old, new) => {
                let (old, new) = (path(old)?, path(new)?);
                if old != new {
                    return Err(self.wrong(format!("renames are not patched: {old:?} is not {new:?}")));
                }
                (new, Kind::Modify)
            }
        };
        let mut hunks = Vec::new();
        while self.peek().is_some_and(|line| line.starts_with(b"@@")) {
            hunks.push(self.hunk()?);
        }
        if hunks.is_empty() {
            return Err(self.wrong("a hunk, which begins with \"@@ -\", is missing after this line"));
        }
        if kind == Kind::Create && hunks.iter().flat_map(|h| &h.lines).any(|(mark, _)| *mark != Mark::Insert)
        {
            return Err(self.wrong(format!("{path:?} is new and yet has old lines")));
        }
        if kind == Kind::Delete && hunks.iter().flat_map(|h| &h.lines).any(|(mark, _)| *mark != Mark::Delete)
        {
            return Err(self.wrong(format!("{path:?} is to be gone and yet keeps lines")));
        }
        self.add(FileDiff { path, kind, hunks }, start)
    }

    fn add(&mut self, file: FileDiff, line: usize) -> Result<(), ParseError> {
        if self.files.iter().any(|known| known.path == file.path) {
            return Err(self.fault(line, format!("{:?} stands in the diff twice", file.path)));
        }
        self.files.push(file);
        Ok(())
    }
}

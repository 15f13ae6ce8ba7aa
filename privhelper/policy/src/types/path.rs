//! Paths of files that a client names.

use crate::error::Invalid;

/// An absolute path in its plain form: no `.`, `..`, `//` or final `/`, no control
/// characters; at most 4096 bytes, 255 a component. Says nothing about what exists.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TargetPath(String);

impl TargetPath {
    /// Checks the path's text.
    ///
    /// # Errors
    /// Relative, not in plain form, too long, or with control characters; `/` itself.
    pub fn new(text: &str) -> Result<Self, Invalid> {
        let bad = |why| Err(Invalid::new("path", why));
        let Some(rest) = text.strip_prefix('/') else {
            return bad("must be absolute");
        };
        if text.len() > 4096 {
            return bad("must be at most 4096 bytes");
        }
        if text.chars().any(|c| c.is_control() || is_bidi(c)) {
            return bad("must hold no control characters");
        }
        for component in rest.split('/') {
            match component {
                "" => return bad("must hold no empty component and not end in '/'"),
                "." | ".." => return bad("must hold no '.' or '..'"),
                long if long.len() > 255 => return bad("must have components of at most 255 bytes"),
                _ => {}
            }
        }
        Ok(Self(text.to_owned()))
    }

    /// The directory and the last component. The directory of `/x` is `/`.
    pub fn split(&self) -> (&str, &str) {
        match self.0.rsplit_once('/') {
            Some(("", name)) => ("/", name),
            Some(pair) => pair,
            None => ("/", &self.0),
        }
    }

    /// The rest of the path below `directory`, if it is below it: `b/c` of `/a/b/c` below `/a`.
    pub fn below(&self, directory: &Self) -> Option<&str> {
        self.0.strip_prefix(&directory.0)?.strip_prefix('/')
    }
}

/// Characters that turn the text around them, so that a person reads another path.
pub(super) fn is_bidi(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

readers!(TargetPath, 0);

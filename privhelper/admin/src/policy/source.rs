//! One file of a policy as text, and who must own it.

/// One file of a policy.
#[derive(Debug)]
pub struct Source {
    /// Its path, for people.
    pub name: String,
    /// Its path below the policy's directory: `policy.toml` or `policy.d/x.toml`.
    pub relative: String,
    /// Its place in the policy; 0 is `policy.toml`.
    pub rank: usize,
    /// Its content.
    pub text: String,
}

impl Source {
    /// Line and column, from 1, of a byte of the text. The column counts characters.
    #[must_use]
    pub fn position(&self, at: usize) -> (usize, usize) {
        let before = self.text.get(..at).unwrap_or(&self.text);
        let line_start = before.rfind('\n').map_or(0, |lf| lf + 1);
        (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
    }
}

/// The required owner of the policy's files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// This uid, and nobody else may write to it: a policy that is to be accepted.
    Only(u32),
    /// Anybody: files that a reviewer looks at, which have no effect.
    Anybody,
}

//! Lines as bytes, each with its end.

/// A text's lines. The last may have no end.
pub fn split(text: &[u8]) -> Vec<&[u8]> {
    text.split_inclusive(|byte| *byte == b'\n').collect()
}

/// A text's line ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ends {
    /// Every line that ends does so in CR LF.
    CrLf,
    /// None does.
    Lf,
    /// Some do, or there is no line.
    Mixed,
}

/// The line ends of a text.
pub fn ends<'a>(lines: impl IntoIterator<Item = &'a [u8]>) -> Ends {
    let (mut crlf, mut lf) = (false, false);
    for line in lines.into_iter().filter(|line| line.ends_with(b"\n")) {
        *(if line.ends_with(b"\r\n") { &mut crlf } else { &mut lf }) = true;
    }
    match (crlf, lf) {
        (true, false) => Ends::CrLf,
        (false, true) => Ends::Lf,
        (true, true) | (false, false) => Ends::Mixed,
    }
}

/// A line with the end that is asked for.
pub fn with_end(line: &[u8], ends: Ends) -> Vec<u8> {
    let Some(bare) = line.strip_suffix(b"\n") else { return line.to_owned() };
    let bare = bare.strip_suffix(b"\r").unwrap_or(bare);
    let end: &[u8] = if ends == Ends::CrLf { b"\r\n" } else { b"\n" };
    [bare, end].concat()
}

/// A line for people: quoted and escaped, at most 200 characters of it.
pub fn shown(line: &[u8]) -> String {
    let (bare, end) = match line.strip_suffix(b"\n") {
        Some(bare) => (bare, ""),
        None => (line, " without a line end"),
    };
    let text = String::from_utf8_lossy(bare);
    let cut: String = text.chars().take(200).collect();
    let more = if cut.len() < text.len() { "…" } else { "" };
    format!("{cut:?}{more}{end}")
}

/// A line without its end.
pub(crate) fn bare(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

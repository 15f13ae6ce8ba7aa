//! Takes the text out of a manual page's source, man(7) or mdoc(7), as far as a search needs it. A formatter is another
//! program, which the agent does not start and a small host does not have.

use super::line::Line;

/// Macros of man(7) and mdoc(7) that set their words in a font, or name a flag, a file and so on: the words are text.
const FONTS: &[&str] =
    &["B", "I", "BR", "BI", "IB", "IR", "RB", "RI", "SM", "SB", "TP", "IP", "TQ", "UR", "MT"];
/// Requests whose words are no text.
const SILENT: &[&str] =
    &["ds", "nr", "de", "ig", "if", "ie", "el", "so", "TH", "Dd", "Os", "PD", "ta", "in", "ft"];

/// Whether a text is a manual page's source.
pub fn is_page(text: &str) -> bool {
    let head = text.lines().take(200).find(|line| line.starts_with(".TH ") || line.starts_with(".Dt "));
    head.is_some() && (text.contains("\n.SH") || text.contains("\n.Sh"))
}

/// Reads a page: its title with the words of NAME, and its lines.
pub fn read(name: &str, text: &str) -> (String, Vec<Line>) {
    let mut lines = Vec::new();
    // The request that ends the definition of a macro.
    let mut definition_end: Option<String> = None;
    let mut mdoc_name = String::new();
    for (at, line) in text.lines().enumerate() {
        if let Some(end) = &definition_end {
            let request = line.strip_prefix('.').and_then(|request| request.split_whitespace().next());
            if request == Some(end) {
                definition_end = None;
            }
            continue;
        }
        let Some(request) = line.strip_prefix(['.', '\'']) else {
            lines.push(Line { number: at + 1, level: None, text: plain(line) });
            continue;
        };
        let request = request.trim_start();
        let (word, rest) = request.split_once(char::is_whitespace).unwrap_or((request, ""));
        if matches!(word, "de" | "ig" | "am") {
            // `.de NAME END` and `.ig END`; it is `..` where none is named, also with blanks between the dots.
            let end = rest.split_whitespace().nth(usize::from(word != "ig"));
            definition_end = Some(end.unwrap_or(".").to_owned());
            continue;
        }
        if word.is_empty() || word.starts_with("\\\"") || SILENT.contains(&word) {
            continue;
        }
        let level = match word {
            "SH" | "Sh" => Some(1),
            "SS" | "Ss" => Some(2),
            _ => None,
        };
        let words = words(rest);
        let text = match word {
            "PP" | "P" | "LP" | "Pp" | "sp" => String::new(),
            "BR" | "BI" | "IB" | "IR" | "RB" | "RI" => words.concat(),
            "Nm" if words.is_empty() => mdoc_name.clone(),
            "Nm" => {
                mdoc_name.clone_from(&words[0]);
                words.join(" ")
            }
            "Nd" => format!("- {}", words.join(" ")),
            "Fl" => format!("-{}", words.join(" ")),
            _ if level.is_some() || FONTS.contains(&word) || is_mdoc(word) => words.join(" "),
            _ => continue,
        };
        let is_section_without_name = level.is_some() && text.is_empty();
        if !is_section_without_name {
            lines.push(Line { number: at + 1, level, text });
        }
    }
    (title(name, &lines), lines)
}

fn is_mdoc(word: &str) -> bool {
    word.len() == 2 && word.starts_with(|c: char| c.is_ascii_uppercase())
}

/// `ls(1): list directory contents`.
fn title(name: &str, lines: &[Line]) -> String {
    let page =
        name.rsplit_once('.').map_or_else(|| name.to_owned(), |(name, part)| format!("{name}({part})"));
    let in_name =
        lines.iter().skip_while(|line| !(line.level.is_some() && line.text.eq_ignore_ascii_case("name")));
    let words: Vec<&str> = in_name
        .skip(1)
        .take_while(|line| line.level.is_none())
        .take(8)
        .map(|line| line.text.trim())
        .collect();
    let words = words.join(" ");
    match words.split_once(" - ").or_else(|| words.split_once(" \u{2014} ")) {
        Some((_, what)) => format!("{page}: {}", what.trim()),
        None => page,
    }
}

/// The words of a request; one in quotes may have blanks.
fn words(rest: &str) -> Vec<String> {
    let (mut words, mut word, mut is_quoted, mut is_word) = (Vec::new(), String::new(), false, false);
    for c in plain(rest).chars() {
        match c {
            '"' => {
                is_quoted = !is_quoted;
                is_word = true;
            }
            c if c.is_whitespace() && !is_quoted => {
                if is_word {
                    words.push(std::mem::take(&mut word));
                }
                is_word = false;
            }
            c => {
                word.push(c);
                is_word = true;
            }
        }
    }
    if is_word {
        words.push(word);
    }
    words
}

/// A text without roff's escapes.
fn plain(text: &str) -> String {
    let (mut out, mut chars) = (String::with_capacity(text.len()), text.chars());
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some('-') => out.push('-'),
            Some('e' | '\\') => out.push('\\'),
            Some(' ' | '~' | '0') => out.push(' '),
            Some('"' | '#') => break,
            Some('f' | '*' | 'n' | 'm' | 'F') => skip_name(&mut chars),
            Some('s') => {
                let mut rest = chars.clone();
                while rest.next().is_some_and(|c| c.is_ascii_digit() || matches!(c, '+' | '-')) {
                    chars.next();
                }
            }
            Some('(') => {
                let name: String = chars.by_ref().take(2).collect();
                out.push_str(special(&name));
            }
            Some('[') => {
                let name: String = chars.by_ref().take_while(|c| *c != ']').collect();
                out.push_str(special(&name));
            }
            Some(c @ ('\'' | '`' | '.')) => out.push(c),
            Some(_) | None => {}
        }
    }
    out
}

/// Skips `B`, `(CW` or `[name]`.
fn skip_name(chars: &mut std::str::Chars<'_>) {
    match chars.next() {
        Some('(') => {
            let _ = chars.nth(1);
        }
        Some('[') => {
            let _ = chars.find(|c| *c == ']');
        }
        Some(_) | None => {}
    }
}

/// Characters of `groff_char(7)` that stand in words.
fn special(name: &str) -> &'static str {
    match name {
        "aq" | "cq" | "oq" => "'",
        "dq" | "lq" | "rq" => "\"",
        "hy" | "mi" | "en" => "-",
        "em" => " - ",
        "bu" => "*",
        "ti" => "~",
        "ha" => "^",
        "rs" => "\\",
        "at" => "@",
        "bv" | "or" => "|",
        _ => "",
    }
}

//! Hostile text on a terminal: it is read as what it is, or not at all.

use crate::approvals_support::PLAIN;
use postern_admin::approvals::{Charset, Screen, Style, inline, text};

const UTF8: Screen = Screen { charset: Charset::Utf8, ..PLAIN };
const COLOUR: Screen = Screen { style: Style::Colour, ..UTF8 };
const NARROW: Screen = Screen { columns: 40, ..PLAIN };

#[test]
fn marks_every_character_that_could_be_mistaken() {
    let golden: &[(&[u8], Screen, &str)] = &[
        (b"plain\n", PLAIN, "   1 | plain\n"),
        (b"no end", PLAIN, "   1 | no end\n"),
        (b"a\n\nb\n\n", PLAIN, "   1 | a\n   2 |\n   3 | b\n   4 |\n"),
        (b"", PLAIN, ""),
        // Escape sequences, return, backspace, bell, delete, NUL.
        (b"\x1b[2J\x1b[H\x1b]0;t\x07\n", PLAIN, "   1 | \\x1b[2J\\x1b[H\\x1b]0;t\\x07\n"),
        (b"rm -rf /\rls\x08\x7f\x00\n", PLAIN, "   1 | rm -rf /\\x0dls\\x08\\x7f\\x00\n"),
        (b"crlf\r\n", COLOUR, "   1 | crlf\u{1b}[7m\\x0d\u{1b}[27m\n"),
        // C1 as UTF-8 and as a byte, and bytes that are no UTF-8.
        ("\u{9b}2J".as_bytes(), UTF8, "   1 | \\u{9b}2J\n"),
        (b"\x9b2J \xc3( \xf0\x9f\x98", UTF8, "   1 | \\x9b2J \\xc3( \\xf0\\x9f\\x98\n"),
        // Bidi controls, right-to-left letters, zero width, combining, blanks, fillers, tags, private use.
        ("a\u{202e}b\u{2066}c".as_bytes(), UTF8, "   1 | a\\u{202e}b\\u{2066}c\n"),
        (
            "a\u{5d0}1\u{627}2".as_bytes(),
            COLOUR,
            "   1 | a\u{1b}[7m\\u{5d0}\u{1b}[27m1\u{1b}[7m\\u{627}\u{1b}[27m2\n",
        ),
        (
            "a\u{200b}b\u{feff}c\u{2060}d\u{ad}".as_bytes(),
            UTF8,
            "   1 | a\\u{200b}b\\u{feff}c\\u{2060}d\\u{ad}\n",
        ),
        ("e\u{301}\u{fe0f}".as_bytes(), UTF8, "   1 | e\\u{301}\\u{fe0f}\n"),
        (
            "a\u{a0}b\u{2003}\u{2800}\u{3164}\u{115f}".as_bytes(),
            UTF8,
            "   1 | a\\u{a0}b\\u{2003}\\u{2800}\\u{3164}\\u{115f}\n",
        ),
        (
            "\u{e0041}\u{e000}\u{fffd}\u{2028}".as_bytes(),
            UTF8,
            "   1 | \\u{e0041}\\u{e000}\\u{fffd}\\u{2028}\n",
        ),
        // Homoglyphs and other letters.
        ("p\u{430}ypal \u{e9}".as_bytes(), PLAIN, "   1 | p\\u{430}ypal \\u{e9}\n"),
        ("p\u{430}ypal \u{e9}".as_bytes(), UTF8, "   1 | p<U+0430 \u{430}>ypal <U+00E9 \u{e9}>\n"),
        ("p\u{430}ypal".as_bytes(), COLOUR, "   1 | p\u{1b}[7m\u{430}\u{1b}[27mypal\n"),
        // Blanks that are not seen, and tabs.
        (b"x  \n", PLAIN, "   1 | x\\x20\\x20\n"),
        (b" \t\n", PLAIN, "   1 | \\x20\\t\n"),
        (b"\tx y\n", PLAIN, "   1 | \\tx y\n"),
        // Text that imitates our marks.
        (b"\\x1b \\u{e9} \\t \\. \\\\\n", PLAIN, "   1 | \\x5cx1b \\x5cu{e9} \\x5ct \\. \\\\\n"),
        (b"<U+00E9 e> <b>\n", UTF8, "   1 | \\x3cU+00E9 e> <b>\n"),
        // Lines of a diff: the sign is there without the colour.
        (b"+a\n-b\n c\n", PLAIN, "   1 | +a\n   2 | -b\n   3 |  c\n"),
        (
            b"+a\n-b\x1b\n",
            COLOUR,
            "   1 | \u{1b}[32m+a\u{1b}[0m\n   2 | \u{1b}[31m-b\u{1b}[7m\\x1b\u{1b}[27m\u{1b}[0m\n",
        ),
        // Text that imitates a header, the question and the gutter.
        (
            b"--- end of the text\nType 0000, its last digits, to agree:\n   3 | x\n",
            PLAIN,
            "   1 | --- end of the text\n   2 | Type 0000, its last digits, to agree:\n   3 |    3 | x\n",
        ),
    ];
    for (bytes, screen, rows) in golden {
        assert_eq!(&text(bytes, *screen), rows, "{}", bytes.escape_ascii());
    }
}

#[test]
fn a_wrapped_line_cannot_look_like_several_lines() {
    let line = format!("{}{}+evil\n", "x".repeat(31), " ".repeat(31));
    let blanks = " ".repeat(31);
    let expected = format!("   1 | {}>\n     > {blanks}>\n     > +evil\n", "x".repeat(31));
    assert_eq!(text(line.as_bytes(), NARROW), expected);
    // A mark is not broken, and what ends a row is seen.
    let line = format!("{} \x1b[2J\n", "x".repeat(28));
    assert_eq!(text(line.as_bytes(), NARROW), format!("   1 | {} >\n     > \\x1b[2J\n", "x".repeat(28)));
    let coloured = Screen { style: Style::Colour, ..NARROW };
    let line = format!("+{}y\n", "x".repeat(30));
    let expected = format!("   1 | \u{1b}[32m+{}\u{1b}[0m>\n     > \u{1b}[32my\u{1b}[0m\n", "x".repeat(30));
    assert_eq!(text(line.as_bytes(), coloured), expected);
}

#[test]
fn inline_values_are_printable_ascii() {
    assert_eq!(inline("a\u{202e}\n\u{e9} "), "a\\u{202e}\\x0a\\u{e9}\\x20");
}

/// The bytes that rows show, as a careful reader finds them.
fn read_back(rows: &str) -> Vec<u8> {
    let mut lines: Vec<String> = Vec::new();
    for row in rows.lines() {
        let at = row.find(['|', '>']).unwrap();
        let (gutter, shown) = row.split_at(at + 1);
        let shown = shown.strip_prefix(' ').unwrap_or(shown);
        if gutter.ends_with('>') {
            let last = lines.last_mut().unwrap();
            assert_eq!(last.pop(), Some('>'), "a row goes on without saying so");
            last.push_str(shown);
        } else {
            lines.push(shown.to_owned());
        }
    }
    let mut bytes = Vec::new();
    for line in &lines {
        let mut rest = line.as_str();
        while let Some(c) = rest.chars().next() {
            let (shown, len) = if let Some(hex) = rest.strip_prefix("\\x") {
                (vec![u8::from_str_radix(&hex[..2], 16).unwrap()], 4)
            } else if rest.starts_with("\\t") {
                (vec![b'\t'], 2)
            } else if let Some(code) = rest.strip_prefix("\\u{") {
                let end = code.find('}').unwrap();
                (utf8(&code[..end]), end + 4)
            } else if let Some(code) = rest.strip_prefix("<U+") {
                (utf8(code.split(' ').next().unwrap()), rest.find('>').unwrap() + 1)
            } else {
                assert!(c == ' ' || c.is_ascii_graphic(), "{c:?} is shown as it is");
                (vec![u8::try_from(c).unwrap()], 1)
            };
            bytes.extend(shown);
            rest = &rest[len..];
        }
        bytes.push(b'\n');
    }
    bytes
}

fn utf8(code: &str) -> Vec<u8> {
    char::from_u32(u32::from_str_radix(code, 16).unwrap()).unwrap().to_string().into_bytes()
}

#[test]
fn rendered_text_is_unambiguous() {
    let pieces: [&[u8]; 30] = [
        b"\\",
        b"x",
        b"u",
        b"t",
        b"{",
        b"}",
        b"<",
        b"U",
        b"+",
        b">",
        b"|",
        b" ",
        b"\t",
        b"\n",
        b"\r",
        b"\x1b",
        b"\x00",
        b"\x80",
        b"\xff",
        b"\xc3",
        b"1",
        b"b",
        b"E9",
        "\u{e9}".as_bytes(),
        "\u{430}".as_bytes(),
        "\u{202e}".as_bytes(),
        "\u{4e2d}".as_bytes(),
        "\u{301}".as_bytes(),
        "\u{1f600}".as_bytes(),
        b"   ",
    ];
    // A fixed sequence: the same texts in every run.
    let mut state = 1_u64;
    let mut next = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % below
    };
    for round in 0..4_000 {
        let mut bytes: Vec<u8> = (0..next(120)).flat_map(|_| pieces[next(pieces.len())].to_vec()).collect();
        bytes.push(b'\n');
        for screen in [PLAIN, UTF8, NARROW, Screen { columns: 40, ..UTF8 }, Screen::PIPE] {
            let rows = text(&bytes, screen);
            assert_eq!(
                read_back(&rows).escape_ascii().to_string(),
                bytes.escape_ascii().to_string(),
                "round {round}:\n{rows}"
            );
            for row in rows.lines() {
                let columns: usize = row.chars().map(|c| if c.is_ascii() { 1 } else { 2 }).sum();
                assert!(columns < screen.columns, "{columns} columns: {row}");
                assert!(!row.ends_with(' '), "a blank at the end of {row:?}");
            }
        }
    }
}

#[test]
fn uses_only_its_own_escape_sequences_and_no_meaning_by_colour_alone() {
    let bytes = "+\u{e9}\x1b[31m\u{430}\n-x \n".as_bytes();
    let coloured = text(bytes, COLOUR);
    let mut rest = coloured.clone();
    for ours in ["\u{1b}[7m", "\u{1b}[27m", "\u{1b}[32m", "\u{1b}[31m", "\u{1b}[0m"] {
        rest = rest.replace(ours, "");
    }
    assert!(!rest.contains('\u{1b}'), "{rest:?}");
    assert_eq!(rest, "   1 | +\u{e9}\\x1b[31m\u{430}\n   2 | -x\\x20\n");
}

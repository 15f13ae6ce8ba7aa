//! One vector of hostile characters, in every form in which text is printed.

use postern_text::{braced, is_hostile, json, line, lines};

/// Both ends of every range, and what stands beside it.
const HOSTILE: &[u32] = &[
    0x00, 0x09, 0x0a, 0x0d, 0x1b, 0x1f, 0x7f, 0x80, 0x9b, 0x9f, 0xad, 0x34f, 0x61c, 0x115f, 0x1160, 0x17b4,
    0x17b5, 0x180b, 0x180e, 0x180f, 0x200b, 0x200d, 0x200f, 0x2028, 0x2029, 0x202a, 0x202e, 0x2060, 0x2066,
    0x206f, 0x3164, 0xfeff, 0xffa0, 0xfff0, 0xfff9, 0xfffb, 0x1_bca0, 0x1_bca3, 0x1_d173, 0x1_d17a, 0xe_0000,
    0xe_0001, 0xe_0020, 0xe_0041, 0xe_007f, 0xe_0100, 0xe_01ef, 0xe_0fff,
];
const HARMLESS: &[u32] = &[
    0x20, 0x7e, 0xa0, 0xac, 0xae, 0xe9, 0x34e, 0x350, 0x5d0, 0x61b, 0x627, 0x1161, 0x200a, 0x2010, 0x2027,
    0x202f, 0x3042, 0xfe0f, 0xfffc, 0xfffd, 0x1_f600, 0xe_1000,
];

fn of(codes: &[u32]) -> impl Iterator<Item = char> + '_ {
    codes.iter().filter_map(|code| char::from_u32(*code))
}

#[test]
fn no_hostile_character_is_printed_as_it_is() {
    let text: String = of(HOSTILE).flat_map(|c| [c, 'x']).collect();
    assert_eq!(text.chars().filter(|c| *c == 'x').count(), HOSTILE.len());
    for printed in [line(&text), braced(&text), json(&text)] {
        assert!(!printed.chars().any(is_hostile), "{printed:?}");
        assert!(of(HOSTILE).all(|c| !printed.contains(c)), "{printed:?}");
    }
    let printed = lines(&text);
    assert_eq!(printed.chars().filter(|c| is_hostile(*c)).collect::<String>(), "\t\n");
}

#[test]
fn harmless_characters_stay() {
    let text: String = of(HARMLESS).collect();
    assert_eq!(text.chars().count(), HARMLESS.len());
    assert_eq!([line(&text), lines(&text), braced(&text), json(&text)], [(); 4].map(|()| text.clone()));
}

#[test]
fn escaped_json_is_the_same_json() {
    let text: String = of(HOSTILE).chain(of(HARMLESS)).collect();
    let quoted = serde_json::to_string(&text).expect("JSON");
    let escaped = json(&quoted);
    assert!(!escaped.chars().any(is_hostile));
    assert_eq!(serde_json::from_str::<String>(&escaped).expect("the same"), text);
}

#[test]
fn escapes_say_which_character_it_is() {
    assert_eq!(line("a\u{1b}[2J\u{9b}\u{202e}\u{e0041}\n"), "a\\x1b[2J\\x9b\\u{202e}\\u{e0041}\\x0a");
    assert_eq!(lines("a\tb\n\u{1b}c\n\nd"), "a\tb\n\\x1bc\n\nd");
    assert_eq!(braced("\u{1b}\u{ad}"), "\\u{1b}\\u{ad}");
    assert_eq!(json("\u{ad}\u{e0041}"), "\\u00ad\\udb40\\udc41");
}

//! Strings in JSON: escapes as JSON has them, and no other.

/// A string that was read.
pub struct Read {
    /// Its unescaped text.
    pub text: String,
    /// The byte after its closing quote.
    pub end: usize,
    /// It held a raw line break or tab.
    pub has_raw_controls: bool,
}

/// Reads the string whose opening `quote` stands at `start`.
///
/// # Errors
/// The byte and what is wrong there. An escape that JSON does not have is never guessed at: `\d` could
/// mean a backslash and a d, but then the `\n` beside it would have to mean two characters as well.
pub fn read(text: &str, start: usize, quote: u8) -> Result<Read, (usize, &'static str)> {
    let bytes = text.as_bytes();
    let (mut out, mut has_raw_controls) = (String::new(), false);
    let mut at = start + 1;
    loop {
        let Some(run) = bytes[at..].iter().position(|&b| b == quote || b == b'\\' || b < b' ') else {
            return Err((bytes.len(), "it is cut off inside a string"));
        };
        out.push_str(&text[at..at + run]);
        at += run;
        match bytes[at] {
            b'\\' => {
                let (character, length) = escape(&text[at + 1..], quote).map_err(|why| (at, why))?;
                out.push(character);
                at += 1 + length;
            }
            control @ (b'\n' | b'\r' | b'\t') => {
                has_raw_controls = true;
                out.push(char::from(control));
                at += 1;
            }
            byte if byte == quote => return Ok(Read { text: out, end: at + 1, has_raw_controls }),
            _ => return Err((at, "a control character stands in a string")),
        }
    }
}

/// The character that an escape means, and how long it is without its backslash.
fn escape(rest: &str, quote: u8) -> Result<(char, usize), &'static str> {
    let character = match rest.as_bytes().first() {
        Some(b'"') => '"',
        Some(b'\'') if quote == b'\'' => '\'',
        Some(b'\\') => '\\',
        Some(b'/') => '/',
        Some(b'b') => '\u{8}',
        Some(b'f') => '\u{c}',
        Some(b'n') => '\n',
        Some(b'r') => '\r',
        Some(b't') => '\t',
        Some(b'u') => return unicode(&rest[1..]).map(|(character, length)| (character, length + 1)),
        Some(_) => return Err("JSON has no such escape; write a backslash as \\\\"),
        None => return Err("it is cut off inside a string"),
    };
    Ok((character, 1))
}

fn unicode(rest: &str) -> Result<(char, usize), &'static str> {
    let first = unit(rest)?;
    if let Some(character) = char::from_u32(first) {
        return Ok((character, 4));
    }
    let second = rest[4..].strip_prefix("\\u").map(unit).transpose()?;
    let pair = second.filter(|low| first < 0xdc00 && (0xdc00..0xe000).contains(low));
    let character = pair.and_then(|low| char::from_u32(0x1_0000 + ((first - 0xd800) << 10) + (low - 0xdc00)));
    character.map(|character| (character, 10)).ok_or("half of a surrogate pair stands alone")
}

fn unit(rest: &str) -> Result<u32, &'static str> {
    let digits = rest.get(..4).filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()));
    digits.and_then(|digits| u32::from_str_radix(digits, 16).ok()).ok_or("\\u needs four hex digits")
}

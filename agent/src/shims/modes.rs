//! Modes as `chmod` takes them: octal, or changes in letters such as `u+x,go-w`.

use super::operands::mode_of;

/// Root's umask, which counts where no letter says whose.
const UMASK: u32 = 0o022;

/// The mode that a file of this mode gets.
pub fn changed_mode(text: &str, old: Option<&str>, is_directory: bool) -> Result<String, String> {
    if text.starts_with(|first: char| first.is_ascii_digit()) {
        return mode_of(text);
    }
    let unknown = || format!("give the mode in octal, such as 0644, not {text:?}");
    let old = old.and_then(|mode| u32::from_str_radix(mode, 8).ok()).ok_or_else(unknown)?;
    let mut mode = old;
    for clause in text.split(',') {
        let at = clause.find(['+', '-', '=']).ok_or_else(unknown)?;
        let (who, rest) = clause.split_at(at);
        let whose =
            who.chars().try_fold(0, |bits, letter| Some(bits | class(letter)?)).ok_or_else(unknown)?;
        let mask = if who.is_empty() { 0o777 & !UMASK } else { whose };
        let (action, letters) = rest.split_at(1);
        let may_run = is_directory || mode & 0o111 != 0;
        let bits = letters.chars().try_fold(0, |bits, letter| Some(bits | right(letter, may_run)?));
        let bits = bits.ok_or_else(unknown)? & mask;
        mode = match action {
            "+" => mode | bits,
            "-" => mode & !bits,
            _ => mode & !(if who.is_empty() { 0o777 } else { whose }) | bits,
        };
    }
    Ok(format!("{mode:04o}"))
}

fn class(letter: char) -> Option<u32> {
    Some(match letter {
        'u' => 0o700,
        'g' => 0o070,
        'o' => 0o007,
        'a' => 0o777,
        _ => return None,
    })
}

fn right(letter: char, may_run: bool) -> Option<u32> {
    Some(match letter {
        'r' => 0o444,
        'w' => 0o222,
        'x' => 0o111,
        'X' if may_run => 0o111,
        'X' => 0,
        _ => return None,
    })
}

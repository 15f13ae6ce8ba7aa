//! Operands and options that programs for files share.

use super::call::ShimHost;

/// An absolute path without `..`, which a symbolic link on the way would make another.
pub fn absolute(path: &str, place: &dyn ShimHost) -> Result<String, String> {
    let joined = if path.starts_with('/') {
        path.to_owned()
    } else {
        format!("{}/{path}", place.directory().trim_end_matches('/'))
    };
    let parts: Vec<&str> = joined.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    if path.is_empty() || parts.contains(&"..") {
        return Err(format!("name {path:?} by its absolute path"));
    }
    Ok(format!("/{}", parts.join("/")))
}

/// The last value of an option with one of these names.
pub fn option<'a>(options: &'a [(String, Option<String>)], names: &[&str]) -> Option<&'a str> {
    let mut given = options.iter().rev().filter(|(name, _)| names.contains(&name.as_str()));
    given.find_map(|(_, value)| value.as_deref())
}

/// Whether an option with one of these names is given.
pub fn has(options: &[(String, Option<String>)], names: &[&str]) -> bool {
    options.iter().any(|(name, _)| names.contains(&name.as_str()))
}

/// An octal mode with four digits and no power of its own.
pub fn mode_of(text: &str) -> Result<String, String> {
    let digits = text.trim_start_matches('0');
    if text.is_empty() || !text.bytes().all(|b| (b'0'..=b'7').contains(&b)) {
        return Err(format!("give the mode in octal, such as 0644, not {text:?}"));
    }
    if digits.len() > 3 {
        return Err("setuid, setgid and sticky are refused always".into());
    }
    Ok(format!("0{digits:0>3}"))
}

/// The mode that `mkdir -m` gives.
pub fn given_mode(options: &[(String, Option<String>)]) -> Result<String, String> {
    option(options, &["m", "mode"]).map_or(Ok(String::new()), mode_of)
}

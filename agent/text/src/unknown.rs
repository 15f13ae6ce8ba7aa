//! Errors about a word that is none of the permitted ones.

/// The error for a word that is none of `permitted`: it names the nearest of them, if one is near, and lists them all.
#[must_use]
pub fn unknown<'a>(what: &str, word: &str, permitted: impl IntoIterator<Item = &'a str>) -> String {
    let permitted = permitted.into_iter().collect::<Vec<_>>();
    let hint = nearest(word, &permitted).map_or_else(String::new, |near| format!(": did you mean `{near}`?"));
    let list = if permitted.is_empty() {
        "none is defined".to_owned()
    } else {
        format!("permitted: {}", permitted.join(", "))
    };
    format!("unknown {what} {word:?}{hint} ({list})")
}

/// The nearest of `permitted` to a word that is none of them, if one is near.
fn nearest<'a>(word: &str, permitted: &[&'a str]) -> Option<&'a str> {
    let far = (word.chars().count() / 3).clamp(1, 4);
    let with_distance = permitted.iter().map(|known| (strsim::damerau_levenshtein(word, known), *known));
    with_distance
        .filter(|(distance, _)| *distance <= far)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, known)| known)
}

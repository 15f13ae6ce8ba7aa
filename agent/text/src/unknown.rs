//! Errors about a word that is none of the permitted ones.

/// The error for a word that is none of `permitted`: it names the nearest of them, if one is near, and lists them all.
#[must_use]
pub fn unknown<'a>(what: &str, word: &str, permitted: impl IntoIterator<Item = &'a str>) -> String {
    let permitted = permitted.into_iter().collect::<Vec<_>>();
    let hint = did_you_mean(word, permitted.iter().copied());
    let list = if permitted.is_empty() {
        "none is defined".to_owned()
    } else {
        format!("permitted: {}", permitted.join(", "))
    };
    format!("unknown {what} {word:?}{hint} ({list})")
}

/// `: did you mean …?` with the nearest of `permitted`; empty if none is near. For words that are too many for a list.
#[must_use]
pub fn did_you_mean<'a>(word: &str, permitted: impl IntoIterator<Item = &'a str>) -> String {
    let permitted = permitted.into_iter().collect::<Vec<_>>();
    nearest(word, &permitted).map_or_else(String::new, |near| format!(": did you mean `{near}`?"))
}

/// An error text of serde's with the nearest of the permitted words, where it is about an unknown field or variant:
/// "unknown field `x`, expected one of `a`, `b`". Any other text is returned as it is.
#[must_use]
pub fn with_nearest(message: &str) -> String {
    nearest_in(message).unwrap_or_else(|| message.to_owned())
}

fn nearest_in(message: &str) -> Option<String> {
    let starts = ["unknown field `", "unknown variant `"];
    let start = starts.iter().find_map(|words| Some(message.find(words)? + words.len()))?;
    let (head, rest) = message.split_at(start);
    // The word may hold anything, also the words that follow it: the last place is serde's own.
    let (word, expected) = rest.rsplit_once("`, expected ")?;
    let list = expected.strip_prefix("one of ").unwrap_or(expected);
    let (mut permitted, mut tail) = (Vec::new(), list);
    while let Some((name, after)) = permitted_word(tail) {
        permitted.push(name);
        tail = after;
        let next = [", ", " or "].iter().find_map(|separator| after.strip_prefix(separator));
        let Some(next) = next.filter(|next| permitted_word(next).is_some()) else { break };
        tail = next;
    }
    let hint = did_you_mean(word, permitted.iter().copied());
    let is_list = !permitted.is_empty();
    is_list.then(|| format!("{head}{word}`{hint} (permitted: {}){tail}", permitted.join(", ")))
}

/// The word at the begin of a list of serde's, and the text after it. JSON and TOML write it in backticks, YAML without.
fn permitted_word(list: &str) -> Option<(&str, &str)> {
    if let Some(quoted) = list.strip_prefix('`') {
        return quoted.split_once('`');
    }
    let is_part = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    let (word, after) = list.split_at(list.find(|c| !is_part(c)).unwrap_or(list.len()));
    (!word.is_empty()).then_some((word, after))
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

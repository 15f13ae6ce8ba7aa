//! Texts of the log as TOML.

/// A text in TOML.
pub fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

/// A list of texts in TOML.
pub fn list(items: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    let items = items.into_iter().map(|item| quoted(item.as_ref())).collect::<Vec<_>>();
    format!("[{}]", items.join(", "))
}

//! Warnings of changes to places that amount to root. The list is that of the policy's check, so that both say the same.

use crate::client::patching::contents;
use crate::protocol::file_view::FileView;
use crate::protocol::request::Request;
use postern_dangers::of_write;

/// Returns a warning for each such place that a request writes to. Nothing is written to a file that is removed.
#[must_use]
pub fn of_request(request: &Request, views: &[FileView]) -> Vec<String> {
    let one = |(path, content): (String, Option<Vec<u8>>)| {
        let content = content?;
        if let Some(view) = views.iter().find(|view| view.path == path) {
            return of_view(view);
        }
        let text = String::from_utf8_lossy(&content);
        of_file(&path, &text.lines().collect::<Vec<_>>())
    };
    contents(request).into_iter().filter_map(one).collect()
}

/// Returns the warning for a file whose change is known.
#[must_use]
pub fn of_view(view: &FileView) -> Option<String> {
    let diff = view.text();
    let hunks = diff.lines().skip_while(|line| !line.starts_with("@@"));
    let added: Vec<&str> = hunks.filter_map(|line| line.strip_prefix('+')).collect();
    of_file(&view.path, &added)
}

/// Returns the warning for a file that gets these lines.
#[must_use]
pub fn of_file(path: &str, written: &[&str]) -> Option<String> {
    of_write(path, written).map(|row| format!("high risk: {path}: {}", row.how))
}

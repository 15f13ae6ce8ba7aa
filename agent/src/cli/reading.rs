//! Reads the current content of files, as far as the client may: for diffs and for patches.

use super::session::Session;
use crate::client::patching::{Old, Unread, contents, is_allowed, read_of};
use crate::protocol::file_view::FileView;
use crate::protocol::mode::Mode;
use crate::protocol::request::Request;

impl Session<'_> {
    /// Reads a file, and waits for a person where the policy wants one asked.
    pub(super) async fn read(&mut self, path: &str) -> Result<Old, Unread> {
        let ask = self.prepare(read_of(path), Mode::Execute);
        let transport = self.transport();
        Old::of(self.follow(&transport, &ask).await)
    }

    /// Returns the differences of the files that a request changes. Files that cannot be read without asking are
    /// left out: a dry run asks nobody.
    pub(super) async fn views(&mut self, request: &Request) -> Vec<FileView> {
        let mut views = Vec::new();
        for (path, new) in contents(request) {
            let transport = self.transport();
            let may = transport.ask(&self.prepare(read_of(&path), Mode::Check), &mut |_| {}).await;
            if is_allowed(&may.end)
                && let Ok(old) = self.read(&path).await
            {
                views.push(old.view(&path, new.as_deref()));
            } else if !self.is_silent() {
                self.console.say(&format!("no diff of {path}: it may not be read"));
            }
        }
        views
    }
}

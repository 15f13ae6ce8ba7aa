//! What files hold now, as far as the client may read them: for diffs, and for what a patch is applied to.

use super::session::Session;
use crate::ask::Mode;
use crate::patching::{Old, Unread, contents, is_allowed, read_of};
use crate::request::Request;
use crate::show::FileView;

impl Session<'_> {
    /// Reads a file, and waits for a person where the policy wants one asked.
    pub(super) async fn read(&mut self, path: &str) -> Result<Old, Unread> {
        let ask = self.prepare(read_of(path), Mode::Execute);
        let door = self.door();
        Old::of(self.follow(&door, &ask).await)
    }

    /// How the files that a request changes would differ. What may not be read, or not without a person's word, is
    /// left out: a dry run asks nobody.
    pub(super) async fn views(&mut self, request: &Request) -> Vec<FileView> {
        let mut views = Vec::new();
        for (path, new) in contents(request) {
            let door = self.door();
            let may = door.ask(&self.prepare(read_of(&path), Mode::Check), &mut |_| {}).await;
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

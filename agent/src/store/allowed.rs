//! Commands that a person said may always run in a session: kept over a restart, with the time at which it was said.

use super::database::{Database, Wait};
use super::entry::text;
use crate::sandbox::Program;
use rusqlite::{OptionalExtension, params};
use std::sync::Arc;

/// Answers that are kept, over all sessions.
const KEPT: i64 = 1000;

/// The answers; without a database there are none, and nobody who could give one.
#[derive(Clone, Default)]
pub struct Allowed(Option<Arc<Database>>);

impl Allowed {
    pub(super) fn new(database: &Arc<Database>) -> Self {
        Self(Some(Arc::clone(database)))
    }

    /// Whether exactly this may always run in the session. An entry that cannot be read counts as no.
    #[must_use]
    pub fn has(&self, session: &str, program: &Program) -> bool {
        let Some(database) = &self.0 else { return false };
        let known = database.read(|sql| {
            let find = "SELECT 1 FROM allowed WHERE session = ? AND program = ?";
            sql.query_row(find, [session, &text(program)], |_| Ok(())).optional()
        });
        matches!(known, Ok(Some(())))
    }

    /// Keeps that word; the oldest ones go.
    pub fn add(&self, session: &str, program: &Program) {
        let Some(database) = &self.0 else { return };
        tracing::info!(
            event = "always_allowed",
            session,
            program = text(program),
            "a person lets a command always run"
        );
        // Not kept, it is asked about again.
        let _ = database.write(Wait::ForDisk, |sql| {
            let add =
                "INSERT OR IGNORE INTO allowed (session, program, at) VALUES (?, ?, strftime('%FT%TZ'))";
            sql.execute(add, [session, &text(program)])?;
            let gone = "DELETE FROM allowed WHERE seq <=
                (SELECT seq FROM allowed ORDER BY seq DESC LIMIT 1 OFFSET ?)";
            sql.execute(gone, params![KEPT])
        });
    }
}

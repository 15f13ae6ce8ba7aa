//! Idempotency keys of orders: the same key of the same person is the same task, also after a restart.

use super::database::Database;
use super::entry::text;
use crate::client::patching::sha256;
use crate::protocol::owner::Owner;
use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension, params};

/// Seconds for which a key is kept, and the most that one person has.
const KEPT_S: i64 = 24 * 60 * 60;
const KEPT_EACH: i64 = 1000;

/// A key, and the order that it came with.
#[derive(Clone, Debug)]
pub struct IdempotencyKey {
    key: String,
    /// SHA-256 of the order, in hexadecimal digits.
    digest: String,
}

/// The task of an order that was given before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownOrder {
    /// The task's id.
    pub task: String,
    /// Whether it was the same order.
    pub is_same: bool,
}

impl IdempotencyKey {
    /// A key that came with an order, as bytes.
    #[must_use]
    pub fn new(key: &str, order: &[u8]) -> Self {
        Self { key: key.to_owned(), digest: sha256(order) }
    }

    /// Finds the task of a person's key.
    pub(super) fn find(&self, sql: &Connection, owner: Owner) -> rusqlite::Result<Option<KnownOrder>> {
        let find = "SELECT task, digest FROM idempotency_keys WHERE owner = ? AND key = ? AND at > ?";
        sql.prepare(find)?
            .query_row(params![text(&owner), self.key, oldest()], |row| {
                Ok(KnownOrder { task: row.get(0)?, is_same: row.get::<_, String>(1)? == self.digest })
            })
            .optional()
    }

    /// Keeps the key of a new task, and lets old ones go.
    pub(super) fn keep(&self, sql: &Connection, owner: Owner, task: &str) -> rusqlite::Result<()> {
        let owner = text(&owner);
        let keep =
            "INSERT OR REPLACE INTO idempotency_keys (owner, key, digest, task, at) VALUES (?, ?, ?, ?, ?)";
        sql.execute(keep, params![owner, self.key, self.digest, task, Timestamp::now().as_second()])?;
        sql.execute("DELETE FROM idempotency_keys WHERE at <= ?", [oldest()])?;
        let gone = "DELETE FROM idempotency_keys WHERE owner = ?1 AND seq <=
            (SELECT seq FROM idempotency_keys WHERE owner = ?1 ORDER BY seq DESC LIMIT 1 OFFSET ?2)";
        sql.execute(gone, params![owner, KEPT_EACH]).map(|_| ())
    }
}

/// Finds the order that a person gave under a key before.
///
/// # Errors
/// The database cannot be read.
pub(super) fn known(
    database: &Database,
    owner: Owner,
    key: &IdempotencyKey,
) -> Result<Option<KnownOrder>, String> {
    database.read(|sql| key.find(sql, owner))
}

/// Keys are kept that are newer, in Unix seconds.
fn oldest() -> i64 {
    Timestamp::now().as_second().saturating_sub(KEPT_S)
}

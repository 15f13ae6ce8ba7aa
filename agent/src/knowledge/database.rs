//! The base's own database file.

use super::document::Fault;
use rusqlite::{Connection, OpenFlags};
use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::time::Duration;

/// Each brings a database from one version to the next, as those of the tasks' database do.
const MIGRATIONS: &[&str] = &[include_str!("database/1.sql"), include_str!("database/2.sql")];

/// Describes an error of the database.
pub fn failed(error: &rusqlite::Error) -> Fault {
    Fault::Failed(format!("the knowledge base does not work: {error}"))
}

/// Opens the database for writing, and makes it if there is none.
pub fn open(path: &Path) -> Result<Connection, String> {
    let cannot = |error: &dyn std::fmt::Display| format!("cannot open {}: {error}", path.display());
    if let Some(directory) = path.parent() {
        match std::fs::DirBuilder::new().mode(0o700).create(directory) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(cannot(&error)),
            Ok(()) | Err(_) => {}
        }
    }
    // Made first: SQLite gives its other files the same mode.
    let file = OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(path);
    file.and_then(|file| file.set_permissions(PermissionsExt::from_mode(0o600))).map_err(|e| cannot(&e))?;
    let mut connection = Connection::open(path).map_err(|e| cannot(&e))?;
    prepare(&mut connection).map_err(|why| cannot(&why))?;
    Ok(connection)
}

/// Opens the database for one search. A search of its own connection waits for no indexing run.
pub fn open_to_read(path: &Path) -> Result<Connection, Fault> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(|error| failed(&error))?;
    connection.busy_timeout(Duration::from_secs(1)).map_err(|error| failed(&error))?;
    connection.pragma_update(None, "query_only", true).map_err(|error| failed(&error))?;
    Ok(connection)
}

fn prepare(connection: &mut Connection) -> Result<(), String> {
    let sql = |error: rusqlite::Error| error.to_string();
    connection.busy_timeout(Duration::from_secs(2)).map_err(sql)?;
    connection.pragma_update(None, "auto_vacuum", "INCREMENTAL").map_err(sql)?;
    connection.pragma_update(None, "journal_mode", "WAL").map_err(sql)?;
    connection.pragma_update(None, "journal_size_limit", 4 << 20).map_err(sql)?;
    connection.pragma_update(None, "synchronous", "NORMAL").map_err(sql)?;
    let version: i64 = connection.query_row("PRAGMA user_version", (), |row| row.get(0)).map_err(sql)?;
    let version = usize::try_from(version).unwrap_or(usize::MAX);
    if version > MIGRATIONS.len() {
        return Err(format!(
            "it has version {version}, which a newer Postern has made; this one knows up to version {}: install the \
             newer one again, or move the file away and add your documents again",
            MIGRATIONS.len()
        ));
    }
    for (number, step) in MIGRATIONS.iter().enumerate().skip(version) {
        let transaction = connection.transaction().map_err(sql)?;
        transaction.execute_batch(step).map_err(sql)?;
        transaction.execute_batch(&format!("PRAGMA user_version = {}", number + 1)).map_err(sql)?;
        transaction.commit().map_err(sql)?;
    }
    Ok(())
}

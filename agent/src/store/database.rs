//! The database behind the store: `SQLite` in one file, which only the agent may open.
//!
//! `SQLite` is synchronous, and so are we: a write is one short transaction on the agent's one thread, without the
//! trouble of another. `synchronous = NORMAL` in WAL mode outlives a kill of the agent at any point without waiting
//! for the disk. A crash of the whole host could lose the last writes; the one that must not be lost, that a request
//! is about to be sent, waits for the disk: an effect takes longer than that.

use rusqlite::Connection;
use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Each brings a database from one version to the next; `user_version` counts them. Never changed, only added to.
const MIGRATIONS: &[&str] = &[
    include_str!("database/1.sql"),
    include_str!("database/2.sql"),
    include_str!("database/3.sql"),
    include_str!("database/4.sql"),
    include_str!("database/5.sql"),
    include_str!("database/6.sql"),
    include_str!("database/7.sql"),
];

/// An open database.
pub struct Database {
    connection: Mutex<Connection>,
    /// Why the file is not in use; what is kept is kept in memory then.
    unused: Option<String>,
    /// The last error, until a write succeeds.
    failed: Mutex<Option<String>>,
}

/// Whether a write waits for the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// It outlives the end of this process.
    ForKernel,
    /// It outlives a crash of the host.
    ForDisk,
}

impl Database {
    /// The database in a directory. If it cannot be opened, one in memory stands in, so that what needs no
    /// memory works; [`Self::fault`] tells why.
    ///
    /// # Errors
    /// Not even memory can be had.
    pub fn open(directory: &Path) -> io::Result<Self> {
        let (connection, unused) = match open(&directory.join("postern.db"), directory) {
            Ok(connection) => (connection, None),
            Err(why) => {
                let mut connection = Connection::open_in_memory().map_err(io::Error::other)?;
                prepare(&mut connection, None).map_err(io::Error::other)?;
                (connection, Some(why))
            }
        };
        Ok(Self { connection: Mutex::new(connection), unused, failed: Mutex::default() })
    }

    /// Why the file is not in use, if it is not: a task that is begun now would be lost with the process.
    pub fn unused(&self) -> Option<&str> {
        self.unused.as_deref()
    }

    /// Returns the current error, if any.
    pub fn fault(&self) -> Option<String> {
        self.unused.clone().or_else(|| self.failed.lock().unwrap_or_else(PoisonError::into_inner).clone())
    }

    /// Reads. An error is never taken for an absent row, such as "nothing was sent".
    ///
    /// # Errors
    /// Why it cannot be read.
    pub fn read<T>(&self, look: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, String> {
        let connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        look(&connection).map_err(|error| {
            tracing::error!(event = "database", "the database cannot be read: {error}");
            let why = format!("the agent's database cannot be read: {error}");
            *self.failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(why.clone());
            why
        })
    }

    /// Gives the room of what was deleted back to the disk.
    pub fn shrink(&self) {
        let connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        let shrunk = connection.prepare("PRAGMA incremental_vacuum").and_then(|mut vacuum| {
            // A page a row.
            let mut pages = vacuum.query(())?;
            while pages.next()?.is_some() {}
            Ok(())
        });
        if let Err(error) = shrunk {
            tracing::error!("the database does not shrink: {error}");
        }
    }

    /// Writes in one transaction: all of it or nothing.
    ///
    /// # Errors
    /// Why it is not written.
    pub fn write<T>(
        &self,
        wait: Wait,
        change: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, String> {
        let mut connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        let written = write(&mut connection, wait, change).map_err(|error| {
            tracing::error!("the database cannot be written: {error}");
            format!("the agent's database cannot be written: {error}")
        });
        *self.failed.lock().unwrap_or_else(PoisonError::into_inner) = written.as_ref().err().cloned();
        written
    }
}

fn write<T>(
    connection: &mut Connection,
    wait: Wait,
    change: impl FnOnce(&Connection) -> rusqlite::Result<T>,
) -> rusqlite::Result<T> {
    let level = match wait {
        Wait::ForKernel => "NORMAL",
        Wait::ForDisk => "FULL",
    };
    connection.pragma_update(None, "synchronous", level)?;
    let transaction = connection.transaction()?;
    let value = change(&transaction)?;
    transaction.commit()?;
    Ok(value)
}

fn open(path: &Path, directory: &Path) -> Result<Connection, String> {
    let cannot = |error: &dyn std::fmt::Display| format!("cannot open {}: {error}", path.display());
    match std::fs::DirBuilder::new().mode(0o700).create(directory) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(cannot(&error)),
        Ok(()) | Err(_) => {}
    }
    // Made first: what SQLite puts beside it gets its mode.
    let file = OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(path);
    file.and_then(|file| file.set_permissions(PermissionsExt::from_mode(0o600))).map_err(|e| cannot(&e))?;
    let mut connection = Connection::open(path).map_err(|e| cannot(&e))?;
    prepare(&mut connection, Some(path)).map_err(|e| cannot(&e))?;
    Ok(connection)
}

/// Makes an open database fit for use. One in memory has no path.
fn prepare(connection: &mut Connection, path: Option<&Path>) -> Result<(), String> {
    let sql = |error: rusqlite::Error| error.to_string();
    connection.busy_timeout(Duration::from_secs(2)).map_err(sql)?;
    // Only an empty database takes the first; it lets what is deleted give its room back.
    connection.pragma_update(None, "auto_vacuum", "INCREMENTAL").map_err(sql)?;
    connection.pragma_update(None, "journal_mode", "WAL").map_err(sql)?;
    connection.pragma_update(None, "journal_size_limit", 4 << 20).map_err(sql)?;
    connection.pragma_update(None, "foreign_keys", true).map_err(sql)?;
    let damage: String = connection.query_row("PRAGMA quick_check(1)", (), |row| row.get(0)).map_err(sql)?;
    if damage != "ok" {
        return Err(format!("it is damaged ({damage}); move it away, and a new one is made"));
    }
    migrate(connection, path)
}

/// Brings the database to the newest version, each step whole or not at all, after a copy of the old one was made.
fn migrate(connection: &mut Connection, path: Option<&Path>) -> Result<(), String> {
    let sql = |error: rusqlite::Error| error.to_string();
    let version: i64 = connection.query_row("PRAGMA user_version", (), |row| row.get(0)).map_err(sql)?;
    let newest = MIGRATIONS.len();
    let done = usize::try_from(version)
        .ok()
        .filter(|done| *done <= newest)
        .ok_or_else(|| is_newer(version, newest, path))?;
    if let (1.., true, Some(path)) = (done, done < newest, path) {
        back_up(connection, path, done)?;
    }
    for (number, step) in MIGRATIONS.iter().enumerate().skip(done) {
        let transaction = connection.transaction().map_err(sql)?;
        transaction.execute_batch(step).map_err(sql)?;
        transaction.execute_batch(&format!("PRAGMA user_version = {}", number + 1)).map_err(sql)?;
        transaction.commit().map_err(sql)?;
    }
    Ok(())
}

/// Says how to continue with a database that only a newer Postern can read.
fn is_newer(version: i64, newest: usize, path: Option<&Path>) -> String {
    let copy = path.map(|path| copy_path(path, newest)).filter(|copy| copy.exists());
    let back = copy.map_or_else(String::new, |copy| {
        format!(
            ", or stop postern-agent, remove the file with its -wal and -shm, and move {} in its place",
            copy.display()
        )
    });
    format!(
        "it has version {version}, which a newer Postern has made; this one knows up to version {newest}: \
         install the newer one again{back}, or move the file away"
    )
}

/// Keeps a copy of a database of this version beside it. An older Postern, installed again, can use it.
fn back_up(connection: &Connection, path: &Path, version: usize) -> Result<(), String> {
    let cannot = |error: &dyn std::fmt::Display| format!("cannot keep a copy of version {version}: {error}");
    let (copy, unfinished) = (copy_path(path, version), path.with_extension("db.copy"));
    match std::fs::remove_file(&unfinished) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(cannot(&error)),
        Ok(()) | Err(_) => {}
    }
    // SQLite writes into an empty file, and leaves its mode.
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(&unfinished).map_err(|e| cannot(&e))?;
    let name = unfinished.to_str().ok_or_else(|| cannot(&"its path is not UTF-8"))?;
    connection.execute("VACUUM INTO ?", [name]).map_err(|e| cannot(&e))?;
    std::fs::rename(&unfinished, copy).map_err(|e| cannot(&e))
}

fn copy_path(path: &Path, version: usize) -> PathBuf {
    path.with_extension(format!("db.version-{version}"))
}

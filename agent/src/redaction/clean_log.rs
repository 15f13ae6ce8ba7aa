//! A log that holds no credentials: each line loses them on its way.

use super::secrets::Secrets;
use std::io::{self, Write};
use std::sync::{Arc, PoisonError, RwLock};
use tracing_subscriber::fmt::MakeWriter;

/// Secrets that the log must not contain. One list, since a process has one log.
static HELD: RwLock<Vec<Arc<Secrets>>> = RwLock::new(Vec::new());

impl Secrets {
    /// Keeps them out of this process's log from now on.
    pub fn keep_out_of_log(self: &Arc<Self>) {
        if !self.is_empty() {
            HELD.write().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(self));
        }
    }
}

/// Writes the log to stderr, each event of it without credentials.
#[derive(Clone, Copy, Debug, Default)]
pub struct CleanLog;

impl<'a> MakeWriter<'a> for CleanLog {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        Self
    }
}

impl Write for CleanLog {
    /// Gets one event whole.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        io::stderr().write_all(clean(&String::from_utf8_lossy(bytes)).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

/// One event without credentials. One that is JSON stays JSON.
#[must_use]
pub fn clean(event: &str) -> String {
    let held = HELD.read().unwrap_or_else(PoisonError::into_inner);
    let of = |text: &str| {
        let text = held.iter().fold(text.to_owned(), |text, secrets| secrets.values(&text).0);
        super::redact::text(&text)
    };
    match serde_json::from_str::<serde_json::Value>(event) {
        Ok(mut value) if value.is_object() => {
            super::redact::each(&mut value, &of);
            format!("{}\n", postern_text::json(&value.to_string()))
        }
        Ok(_) | Err(_) => of(event).0,
    }
}

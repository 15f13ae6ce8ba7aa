//! Limits that protect the reader from a hostile text.
//!
//! A parser may panic, recurse or never return on a text that is written for it: it runs on a thread of its own, with a
//! stack of its own and so much time.

use postern_text::is_hostile;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::Duration;

/// A command's text is at most so long, in bytes.
pub const LONGEST: usize = 2048;
/// Reading a text takes less than a millisecond; on a machine that does much else, more.
const PATIENCE: Duration = Duration::from_secs(10);
/// Stack of the parser's thread in bytes: many times the need of the most deeply nested text.
const STACK: usize = 32 << 20;
/// A thread that did not return. It is left behind once; from then on no text is read on one.
static IS_STUCK: AtomicBool = AtomicBool::new(false);

/// Reads on a thread of its own: the text is hostile, and neither a panic, nor a stack, nor a loop of the
/// parser's may become this one's.
pub fn bounded<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    if IS_STUCK.load(Ordering::Relaxed) {
        return None;
    }
    let (answer, answered) = mpsc::channel();
    let reader = move || {
        // Nobody waits any more after the time is up.
        let _ = answer.send(work());
    };
    std::thread::Builder::new().name("shell-reader".to_owned()).stack_size(STACK).spawn(reader).ok()?;
    match answered.recv_timeout(PATIENCE) {
        Ok(read) => Some(read),
        Err(mpsc::RecvTimeoutError::Timeout) => {
            IS_STUCK.store(true, Ordering::Relaxed);
            None
        }
        Err(mpsc::RecvTimeoutError::Disconnected) => None,
    }
}

/// Characters that no command needs, and that hide what it does.
pub fn is_bad(text: &str) -> bool {
    let hides = |c: char| is_hostile(c) && !matches!(c, '\n' | '\t');
    text.len() > LONGEST || text.chars().any(hides)
}

//! The planner without a model: parses plain imperative English, and refuses a text that it does not understand
//! whole.
//!
//! The language is small on purpose. Words that do not fit are named in the error and nothing is done, since a
//! guess would run as root. Quoted text is taken literally: there are no escapes, and other kinds of quotes in it
//! are text. A line break is added to written text that does not end in one, as pages and configuration files do.

mod changes;
mod cursor;
mod names;
mod not_understood;
mod orders;
mod paths;
mod texts;
mod vocabulary;
mod words;

pub use not_understood::NotUnderstood;

use crate::protocol::tool::Tool;
use cursor::Cursor;
use orders::Orders;

/// More steps than this are not one task.
const STEPS_LIMIT: usize = 25;
/// Most words outside quotes of one task.
const WORDS_LIMIT: usize = 1000;

/// Splits a task into steps.
///
/// # Errors
/// The first words that do not fit.
pub fn plan(text: &str) -> Result<Vec<Tool>, NotUnderstood> {
    let fault = |words: &str, hint: &str| NotUnderstood { words: words.to_owned(), hint: hint.to_owned() };
    let tokens = words::split(text).map_err(|rest| fault(&rest, "the quote is not closed"))?;
    if tokens.len() > WORDS_LIMIT {
        return Err(fault("", "the task is too long; give it as several tasks"));
    }
    let mut orders = Orders::new(Cursor::new(text, &tokens));
    while orders.next()? {}
    let steps = orders.steps;
    if steps.is_empty() {
        return Err(fault(
            text.trim(),
            "say what to do, such as \"install nginx and make sure it is running\"",
        ));
    }
    if steps.len() > STEPS_LIMIT {
        return Err(fault(text.trim(), "more than 25 steps; give them as several tasks"));
    }
    Ok(steps)
}

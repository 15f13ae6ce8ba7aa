//! The planner without a model: plain imperative English, understood whole or not at all.
//!
//! It knows a small language on purpose. What does not fit is named and nothing is done, since a
//! guess would be carried out as root's work. Text in quotes is taken as it stands: there are no
//! escapes, and any other kind of quote is text in it. A written text that does not end in a line
//! break gets one: pages and configuration files end in one.

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

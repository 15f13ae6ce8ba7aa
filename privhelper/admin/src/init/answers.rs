//! One question, with what is there as its default.

use crate::io::{Exit, Io};
use crate::packs::CommandError;
use crate::text::escape;

/// How often a person may answer one question wrongly.
const TRIES: u32 = 5;
/// The answer that names nothing.
const NONE: &str = "none";

/// A question whose answer is a list of names.
pub struct Question<'a> {
    /// Such as `1/5`.
    pub number: &'static str,
    /// Text of the question.
    pub text: &'static str,
    /// The flag's value.
    pub given: Option<&'a str>,
    /// Names taken for an empty line.
    pub proposed: Vec<String>,
}

impl Question<'_> {
    /// Returns the names; a flag is not asked again.
    pub fn ask(
        &self,
        io: &mut Io<'_>,
        check: impl Fn(&[String]) -> Result<(), String>,
    ) -> Result<Vec<String>, CommandError> {
        if let Some(given) = self.given {
            let names = list(given);
            return check(&names).map(|()| names).map_err(|why| CommandError::Message(Exit::Usage, why));
        }
        let proposed = if self.proposed.is_empty() { NONE.to_owned() } else { self.proposed.join(", ") };
        for _ in 0..TRIES {
            let line = line(io, &format!("{} {} [{proposed}] ", self.number, self.text))?;
            let names = if line.is_empty() { self.proposed.clone() } else { list(&line) };
            match check(&names) {
                Ok(()) => return Ok(names),
                Err(why) => writeln!(io.err, "{}", escape(&why))?,
            }
        }
        Err(no_answer())
    }
}

/// The names in a text, blanks or commas between them; `none` is none.
#[must_use]
pub fn list(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    for name in text.split([',', ' ']).map(str::trim).filter(|name| !name.is_empty() && *name != NONE) {
        if !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    }
    names
}

/// Asks, and returns the line without its end.
pub fn line(io: &mut Io<'_>, question: &str) -> Result<String, CommandError> {
    write!(io.err, "{question}")?;
    io.err.flush()?;
    let line = io.answers.as_mut().map_or(Ok(String::new()), |answers| answers.line())?;
    // The end of the input is no answer.
    if line.is_empty() { Err(no_answer()) } else { Ok(line.trim().to_owned()) }
}

/// Asks for a yes, which Enter is.
pub fn yes(io: &mut Io<'_>, question: &str) -> Result<bool, CommandError> {
    Ok(matches!(line(io, question)?.as_str(), "" | "y" | "Y" | "yes"))
}

fn no_answer() -> CommandError {
    CommandError::Message(Exit::NotApproved, "\nno answer".to_owned())
}

//! A question on the person's terminal, wherever the streams go.

use super::Session;
use crate::event::Fault;
use crate::show;
use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Write};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;

impl Session<'_> {
    /// The person's answer, in lower case; an interrupt is no answer.
    pub(super) async fn answer(&mut self, question: &str) -> Result<String, Fault> {
        let no_terminal = |e| Fault::new("invalid_argument", format!("there is no terminal to ask on: {e}"));
        let mut terminal = OpenOptions::new().read(true).write(true).open("/dev/tty").map_err(no_terminal)?;
        write!(terminal, "{}", show::line(question)).map_err(no_terminal)?;
        let (answered, answer) = oneshot::channel();
        // A thread that nothing waits for: an interrupt leaves it at its reading.
        std::thread::spawn(move || {
            let mut line = String::new();
            let read = BufReader::new(terminal).read_line(&mut line);
            let _ = answered.send(read.map(|_| line));
        });
        let mut interrupts = signal(SignalKind::interrupt()).map_err(no_terminal)?;
        tokio::select! {
            answer = answer => {
                let answer = answer.ok().and_then(Result::ok).unwrap_or_default();
                Ok(answer.trim().to_lowercase())
            }
            _ = interrupts.recv() => Err(Fault::new("cancelled", "nothing has been sent")),
        }
    }
}

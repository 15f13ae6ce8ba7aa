//! `postern model`.

use super::Session;
use crate::event::Fault;
use crate::exit::Exit;
use crate::model::reader::{self, Code, Reading};
use crate::model::tools::{Call, TOOLS};
use clap::Subcommand;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::io::Read;
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub enum Model {
    /// What is made of a model's reply, taken from stdin: a call or an error's code
    Read {
        /// Read a JSON Lines file of rows {id, text, expect, multiple} instead and count the rows that hold
        #[arg(long, value_name = "FILE")]
        corpus: Option<PathBuf>,
    },
}

/// A reading as it is printed.
#[derive(Serialize)]
#[serde(untagged)]
enum Printed<'r> {
    Call {
        #[serde(flatten)]
        call: &'r Call,
        multiple: bool,
    },
    Error {
        error: Code,
        multiple: bool,
    },
}

impl<'r> From<&'r Reading> for Printed<'r> {
    fn from(reading: &'r Reading) -> Self {
        let multiple = reading.is_multiple;
        match &reading.call {
            Ok(call) => Self::Call { call, multiple },
            Err(misread) => Self::Error { error: misread.code, multiple },
        }
    }
}

/// A row of a corpus: `expect` is a call or an error's code.
#[derive(Deserialize)]
struct Row {
    id: String,
    text: String,
    expect: Value,
    multiple: bool,
}

impl Session<'_> {
    pub(super) fn model(&mut self, command: Model) -> Exit {
        let done = match command {
            Model::Read { corpus: None } => self.read_reply(),
            Model::Read { corpus: Some(corpus) } => self.read_corpus(&corpus),
        };
        done.unwrap_or_else(|why| self.fail(&Fault::new("failed", why)))
    }

    fn read_reply(&mut self) -> Result<Exit, String> {
        let mut reply = String::new();
        self.console.input.read_to_string(&mut reply).map_err(|e| format!("cannot read the reply: {e}"))?;
        let reading = reader::read(&reply, TOOLS);
        self.console.json(&Printed::from(&reading));
        if let Err(misread) = &reading.call
            && !self.is_silent()
        {
            self.console.say(&misread.why);
        }
        Ok(Exit::Done)
    }

    fn read_corpus(&mut self, corpus: &PathBuf) -> Result<Exit, String> {
        let name = corpus.display();
        let text = std::fs::read_to_string(corpus).map_err(|e| format!("cannot read {name}: {e}"))?;
        let (mut rows, mut held) = (0, 0);
        for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let row: Row = serde_json::from_str(line).map_err(|e| format!("{name}:{}: {e}", index + 1))?;
            let reading = reader::read(&row.text, TOOLS);
            let got = match &reading.call {
                Ok(call) => json!(call),
                Err(misread) => json!(misread.code),
            };
            rows += 1;
            if got == row.expect && reading.is_multiple == row.multiple {
                held += 1;
                continue;
            }
            let differs =
                |expect: &Value, multiple| format!("{expect}{}", if multiple { " of several" } else { "" });
            let (expected, got) = (differs(&row.expect, row.multiple), differs(&got, reading.is_multiple));
            self.console.result(&format!("{}: expected {expected}, read {got}", row.id));
        }
        self.console.result(&format!("{held} of {rows}"));
        Ok(if held == rows { Exit::Done } else { Exit::Failed })
    }
}

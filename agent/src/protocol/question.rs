//! Questions to the person in the middle of a task.
//!
//! Nothing of it reaches the helper: it is the agent's own carefulness, and a policy never rests on it.

use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;
use utoipa::ToSchema;

/// A question. Both texts are shown escaped, never as they are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Question {
    /// Counts from 1 within its task.
    pub number: u32,
    /// Why it is asked.
    pub kind: Kind,
    /// One line.
    pub what: String,
    /// Details for the person, such as a diff or an argv; lines, may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub details: String,
    /// The answers that are taken.
    pub choices: Vec<Choice>,
    /// The files among which a person can choose; empty where they cannot.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<AskedFile>,
}

/// A file of a patch that a person can leave out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AskedFile {
    /// The file.
    pub path: String,
    /// `+3 -1`, and what a person should know of it.
    pub counts: String,
}

/// Why a person is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The first change of a session.
    FirstChange,
    /// A file would be made where one stands.
    Overwrite,
    /// Much of a file would go.
    Rewrite,
    /// A command of the agent's own whose judge says `CONFIRM`.
    Command,
    /// The model wants to know something.
    Input,
    /// A plan of the model's would take the place of one that failed.
    Plan,
    /// The steps of a failed plan would be undone.
    Rollback,
    /// A change was read from a reply that is no exact JSON.
    Repaired,
}

/// An answer that is accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Choice {
    /// Yes, this once.
    Yes,
    /// Yes, and likewise for exactly the same in this session.
    Always,
    /// No.
    No,
    /// Words: another text for what was asked about, or what the model wants to know.
    Text,
    /// Yes to some of the files.
    Files,
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UserAnswer {
    /// Yes, this once.
    Yes,
    /// Yes, and likewise for exactly the same in this session.
    Always,
    /// No; also what counts where nobody is there to ask, or the task was cancelled.
    No,
    /// Words.
    Text(String),
    /// Yes to these files of the question, and no to its others.
    Files(Vec<String>),
}

impl UserAnswer {
    /// Its choice in a word.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::Always => "always",
            Self::No => "no",
            Self::Text(_) => "text",
            Self::Files(_) => "files",
        }
    }
}

/// The person behind a task.
#[derive(Debug)]
pub enum Person {
    /// Nobody can be asked: whatever is asked is answered with no.
    Absent,
    /// Answers come here, each with its question's number.
    Present(mpsc::Receiver<(u32, UserAnswer)>),
}

impl Person {
    /// Waits for the answer to a question; answers to others are dropped.
    pub async fn answer(&mut self, number: u32) -> UserAnswer {
        let Self::Present(answers) = self else { return UserAnswer::No };
        loop {
            match answers.recv().await {
                Some((to, answer)) if to == number => return answer,
                Some(_) => {}
                None => return UserAnswer::No,
            }
        }
    }
}

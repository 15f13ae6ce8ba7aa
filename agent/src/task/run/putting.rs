//! A question to the person behind a task, put in the middle of it.

use super::runner::Runner;
use crate::model::done::{Done, Went};
use crate::task::question::{Answer, Choice, Kind, Question};
use crate::task::{Task, TaskStatus};
use serde_json::json;

impl Runner<'_> {
    /// Asks and waits, while other tasks go on. Nobody there, or a task that was cancelled meanwhile, is a no.
    pub(super) async fn put(
        &mut self,
        task: &mut Task,
        kind: Kind,
        what: String,
        details: String,
        choices: &[Choice],
    ) -> Answer {
        if !self.order.interactive {
            return Answer::No;
        }
        self.questions += 1;
        let number = self.questions;
        let [what, details] = [what, details].map(|text| self.secrets.text(&text).0);
        let question = Question { number, kind, what, details, choices: choices.to_vec() };
        let data = json!(question);
        task.question = Some(question);
        task.status = TaskStatus::Waiting;
        self.slot.give();
        (self.on)("question", data, task);
        let mut cancel = self.cancel.clone();
        let answer = tokio::select! {
            answer = self.person.answer(number) => answer,
            _ = cancel.wait_for(|cancelled| *cancelled) => Answer::No,
        };
        task.question = None;
        task.status = TaskStatus::Running;
        (self.on)("answered", json!({ "number": number, "answer": word(&answer) }), task);
        self.slot.take().await;
        answer
    }
}

impl Runner<'_> {
    /// What a model wants to know of the person.
    pub(super) async fn ask_person(&mut self, task: &mut Task, question: &str) -> Done {
        let what = question.to_owned();
        let why = if self.order.interactive { NO_ANSWER } else { NOBODY };
        match self.put(task, Kind::Input, what, String::new(), &[Choice::Text, Choice::No]).await {
            Answer::Text(words) => {
                Done { told: json!({ "status": "ok", "answer": words }), went: Went::Well }
            }
            Answer::Yes | Answer::Always | Answer::No => {
                Done { told: json!({ "status": "denied", "error": why }), went: Went::Badly }
            }
        }
    }
}

const NOBODY: &str = "nobody is there to be asked: go by what you can find out, or end the task and say what you \
    would have to know";
const NO_ANSWER: &str = "the person gave no answer: go by what you can find out, or end the task and say what you \
    would have to know";

fn word(answer: &Answer) -> &'static str {
    match answer {
        Answer::Yes => "yes",
        Answer::Always => "always",
        Answer::No => "no",
        Answer::Text(_) => "text",
    }
}

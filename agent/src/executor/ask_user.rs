//! A question to the person behind a task, put in the middle of it.

use super::runner::Runner;
use crate::agent_loop::tool_result::{CallOutcome, ToolResult};
use crate::audit::Record;
use crate::protocol::question::{AskedFile, Choice, Kind, Question, UserAnswer};
use crate::protocol::task::{Task, TaskStatus};
use serde_json::json;
use tokio::time::Instant;

impl Runner<'_> {
    /// Asks and waits, while other tasks go on. Nobody there, or a task that was cancelled meanwhile, is a no.
    pub(super) async fn ask_user(
        &mut self,
        task: &mut Task,
        kind: Kind,
        what: String,
        details: String,
        choices: &[Choice],
    ) -> UserAnswer {
        self.ask_of_files(task, (kind, what, details), choices, Vec::new()).await
    }

    /// The same of a patch, of whose files the person can choose some.
    pub(super) async fn ask_of_files(
        &mut self,
        task: &mut Task,
        (kind, what, details): (Kind, String, String),
        choices: &[Choice],
        files: Vec<AskedFile>,
    ) -> UserAnswer {
        if !self.order.interactive {
            return UserAnswer::No;
        }
        self.questions += 1;
        let number = self.questions;
        let [what, details] = [what, details].map(|text| self.secrets.text(&text).0);
        let question = Question { number, kind, what, details, choices: choices.to_vec(), files };
        let (data, began) = (json!(question), Instant::now());
        task.question = Some(question.clone());
        task.status = TaskStatus::Waiting;
        self.slot.give();
        (self.on)("question", data, task);
        let mut cancel = self.cancel.clone();
        let answer = tokio::select! {
            answer = self.person.answer(number) => answer,
            _ = cancel.wait_for(|cancelled| *cancelled) => UserAnswer::No,
        };
        task.question = None;
        task.status = TaskStatus::Running;
        self.audit.append(&Record::question(task, &question, &answer, began.elapsed()));
        (self.on)("answered", json!({ "number": number, "answer": answer.word() }), task);
        self.slot.take().await;
        answer
    }
}

impl Runner<'_> {
    /// Asks the person a question of the model's.
    pub(super) async fn ask_person(&mut self, task: &mut Task, question: &str) -> ToolResult {
        let what = question.to_owned();
        let why = if self.order.interactive { NO_ANSWER } else { NOBODY };
        match self.ask_user(task, Kind::Input, what, String::new(), &[Choice::Text, Choice::No]).await {
            UserAnswer::Text(words) => {
                ToolResult { content: json!({ "status": "ok", "answer": words }), outcome: CallOutcome::Ok }
            }
            UserAnswer::Yes | UserAnswer::Always | UserAnswer::No | UserAnswer::Files(_) => ToolResult {
                content: json!({ "status": "denied", "error": why }),
                outcome: CallOutcome::Failed,
            },
        }
    }
}

const NOBODY: &str = "nobody is there to be asked: go by what you can find out, or end the task and say what you \
    would have to know";
const NO_ANSWER: &str = "the person gave no answer: go by what you can find out, or end the task and say what you \
    would have to know";

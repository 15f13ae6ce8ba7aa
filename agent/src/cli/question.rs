//! Questions of a task to its person: showing them, and reading the answer.

use super::picking::{Picked, Picker};
use super::session::Session;
use super::terminal::TerminalPrompt;
use crate::client::agent::AgentClient;
use crate::protocol::event::AgentError;
use crate::protocol::exit::Exit;
use crate::protocol::question::{Choice, Question};
use crate::protocol::task::Task;
use hyper::Method;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

/// A question that stands on the terminal.
pub struct OpenQuestion {
    /// The question, as the agent sent it.
    pub question: Question,
    asked: TerminalPrompt,
    /// The choice of files, once the person has begun with it.
    picker: Option<Picker>,
}

impl OpenQuestion {
    /// The body of the answer, once the person has given it.
    pub async fn answer(&mut self) -> Value {
        loop {
            let words = self.asked.answer().await;
            let picked = match &mut self.picker {
                Some(picker) => picker.take(&words),
                None if wants_files(&self.question, &words) => {
                    self.picker = Some(Picker::new(self.question.files.len()));
                    Picked::Next
                }
                None => return body(&self.question, &words).unwrap_or_else(|| no(&self.question)),
            };
            match picked {
                Picked::Next => {
                    let next = self.picker.as_ref().and_then(|picker| self.question.files.get(picker.at()));
                    let prompt = next.map(|file| Picker::question(&file.path, &file.counts, "change"));
                    match prompt.map(|prompt| TerminalPrompt::new(&prompt)) {
                        Some(Ok(asked)) => self.asked = asked,
                        // The terminal is gone.
                        Some(Err(_)) | None => return no(&self.question),
                    }
                }
                Picked::Done(chosen) if chosen.is_empty() => return no(&self.question),
                Picked::Done(chosen) => return files(&self.question, &chosen),
                Picked::Quit => return no(&self.question),
            }
        }
    }
}

/// Whether the words begin the choice of files.
fn wants_files(question: &Question, words: &str) -> bool {
    question.choices.contains(&Choice::Files) && matches!(words.to_lowercase().as_str(), "f" | "files")
}

/// The body that says yes to the files at these places alone.
fn files(question: &Question, chosen: &[usize]) -> Value {
    let paths = chosen.iter().filter_map(|at| question.files.get(*at)).map(|file| &file.path);
    json!({ "question": question.number, "answer": Choice::Files, "files": paths.collect::<Vec<_>>() })
}

/// The body that says no: what a malformed answer counts as, and one that cannot be asked for.
pub fn no(question: &Question) -> Value {
    json!({ "question": question.number, "answer": Choice::No })
}

/// The answer that a person's words are; `None` if they are none.
fn body(question: &Question, words: &str) -> Option<Value> {
    let of = |choice: Choice| {
        question.choices.contains(&choice).then(|| json!({ "question": question.number, "answer": choice }))
    };
    let text = |text: &str| {
        let mut body = of(Choice::Text).filter(|_| !text.is_empty())?;
        body["text"] = json!(text);
        Some(body)
    };
    if is_open(question) {
        return text(words);
    }
    if let Some(words) = words.strip_prefix("t ") {
        return text(words.trim());
    }
    if let Some(numbers) = words.strip_prefix("f ").or_else(|| words.strip_prefix("files ")) {
        let chosen: Option<Vec<usize>> =
            numbers.split([' ', ',']).filter(|one| !one.is_empty()).map(place).collect();
        let is_one =
            |chosen: &Vec<usize>| !chosen.is_empty() && chosen.iter().all(|at| *at < question.files.len());
        return chosen.filter(is_one).map(|chosen| files(question, &chosen));
    }
    match words.to_lowercase().as_str() {
        "y" | "yes" => of(Choice::Yes),
        "a" | "always" => of(Choice::Always),
        "n" | "no" => of(Choice::No),
        _ => None,
    }
}

/// The place of a file by its number, which counts from 1.
fn place(number: &str) -> Option<usize> {
    number.parse::<usize>().ok()?.checked_sub(1)
}

/// Words are wanted and nothing else.
fn is_open(question: &Question) -> bool {
    !question.choices.contains(&Choice::Yes)
}

/// The answers that are taken, in one line.
fn choices(question: &Question) -> String {
    if is_open(question) {
        return "your answer (nothing = none): ".to_owned();
    }
    let words = question.choices.iter().map(|choice| match choice {
        Choice::Yes => "[y]es",
        Choice::Always => "[a]lways for exactly this",
        Choice::No => "[n]o",
        Choice::Text => "t WORDS for something else",
        Choice::Files => "[f]iles one by one",
    });
    words.collect::<Vec<_>>().join(", ") + ": "
}

impl Session<'_> {
    /// Shows the subject of a question. Returns the pager that shows it, if it is long.
    pub(super) fn show_question(&mut self, question: &Question) -> Option<JoinHandle<Option<String>>> {
        self.console.say(&question.what);
        self.console.say_diff(&question.details)
    }

    /// Asks a question that was shown; `None` if there is no terminal.
    pub(super) fn put(question: Question) -> Option<OpenQuestion> {
        let asked = TerminalPrompt::new(&choices(&question)).ok()?;
        Some(OpenQuestion { question, asked, picker: None })
    }

    /// Shows the question of a task elsewhere, and how it is answered.
    pub(super) fn tell_question(&mut self, task: &Task) {
        if let Some(question) = &task.question {
            self.console.result(&format!("  asks: {}", question.what.replace('\n', " ")));
            self.console.result(&question.details);
            for (at, file) in question.files.iter().enumerate() {
                let text = format!("  file {}: {} {}", at + 1, file.path, file.counts);
                self.console.result(&postern_text::line(&text));
            }
            let words = match (is_open(question), question.files.is_empty()) {
                (true, _) => "WORDS",
                (false, true) => "yes|no",
                (false, false) => "yes|no|files 1 2",
            };
            self.console.result(&format!("  with: postern tasks answer {} {words}", task.id));
        }
    }

    /// `tasks answer`.
    pub(super) async fn give_answer(&mut self, id: &str, words: &str) -> Exit {
        let agent = self.agent();
        match self.given(&agent, id, words).await {
            Ok(task) if self.global.json.is_some() => {
                self.console.json(&task);
                Exit::Done
            }
            Ok(_) => Exit::Done,
            Err(fault) => self.fail(&fault),
        }
    }

    async fn given(&mut self, agent: &AgentClient, id: &str, words: &str) -> Result<Value, AgentError> {
        let task = self.call(agent, Method::GET, &format!("/tasks/{id}"), None).await?.body;
        let question: Question = serde_json::from_value(task["question"].clone())
            .map_err(|_| AgentError::new("not_found", "the task asks nothing now"))?;
        let body = body(&question, words.trim()).ok_or_else(|| {
            AgentError::new(
                "invalid_argument",
                format!("{words:?} is no answer to it: {}", choices(&question)),
            )
        })?;
        let path = format!("/tasks/{}/answer", task["id"].as_str().unwrap_or(id));
        Ok(self.call(agent, Method::POST, &path, Some(&body)).await?.body)
    }
}

//! `tasks`: what the agent knows of one's tasks.

use super::ids::is_part;
use super::options::Tasks;
use super::session::Session;
use crate::protocol::event::AgentError;
use crate::protocol::exit::Exit;
use crate::protocol::task::{Task, TaskStatus};
use crate::protocol::tool::brief;
use crate::render;
use hyper::Method;
use serde_json::Value;

impl Session<'_> {
    pub(super) async fn tasks(&mut self, command: Tasks) -> Exit {
        let agent = self.agent();
        if let Tasks::Show { id, .. } | Tasks::Cancel { id } | Tasks::Resume { id } | Tasks::Answer { id, .. } =
            &command
            && !is_part(id)
        {
            return self.fail(&AgentError::new("invalid_argument", "a task's id is hex digits and dashes"));
        }
        match &command {
            Tasks::Answer { id, words } => return self.give_answer(id, &words.join(" ")).await,
            Tasks::Resume { id } => return self.resume(id).await,
            Tasks::List | Tasks::Show { .. } | Tasks::Cancel { .. } => {}
        }
        let (method, path) = match &command {
            Tasks::List => (Method::GET, "/tasks".to_owned()),
            Tasks::Show { id, replies: true } => (Method::GET, format!("/tasks/{id}/replies")),
            Tasks::Show { id, .. } | Tasks::Resume { id } | Tasks::Answer { id, .. } => {
                (Method::GET, format!("/tasks/{id}"))
            }
            Tasks::Cancel { id } => (Method::POST, format!("/tasks/{id}/cancel")),
        };
        let answer = match self.call(&agent, method, &path, None).await {
            Ok(answer) => answer,
            Err(fault) => return self.fail(&fault),
        };
        if self.global.json.is_some() {
            self.console.json(&answer.body);
            return Exit::Done;
        }
        if let Tasks::Show { replies: true, .. } = &command {
            self.show_replies(&answer.body);
            return Exit::Done;
        }
        let tasks: Vec<Task> = match serde_json::from_value(answer.body.clone()) {
            Ok(tasks) => tasks,
            Err(_) => serde_json::from_value(answer.body).into_iter().collect(),
        };
        for task in &tasks {
            self.console.result(&format!(
                "{} {} {}\n",
                task.id,
                word(task.status),
                task.task.replace('\n', " ")
            ));
            for waits in task.waits() {
                let until = render::clock(waits.expires_unix_s);
                let target = std::iter::once(waits.target.clone());
                let target: Vec<String> =
                    target.chain(waits.parameters.iter().map(|one| brief(one))).collect();
                let what = format!("{} {}", waits.verb, target.join(" "));
                let text = format!("  step {} waits for approval until {until}: {what}", waits.step);
                self.console.result(&postern_text::line(&text));
                let text = format!("  with: postern-admin approve {}", waits.approval_id);
                self.console.result(&postern_text::line(&text));
            }
            if !task.also_waiting.is_empty() {
                let text = format!("  all of them with: postern-admin approve --task {}", task.id);
                self.console.result(&postern_text::line(&text));
            }
            self.tell_question(task);
            if !matches!(command, Tasks::List) {
                self.show(task);
            }
        }
        Exit::Done
    }

    /// Prints a model's replies as they came.
    fn show_replies(&mut self, answer: &Value) {
        let replies = answer["replies"].as_array().map(Vec::as_slice).unwrap_or_default();
        if replies.is_empty() {
            self.console.say("no reply of a model is kept of this task");
        }
        if let Some(count @ 1..) = answer["left_out"].as_u64() {
            self.console.say(&format!("{count} older replies are too long to be shown"));
        }
        for reply in replies {
            let text = |part: &Value| part.as_str().unwrap_or_default().to_owned();
            let (number, stop) = (&reply["number"], text(&reply["stop"]));
            let (input, output) = (&reply["input_tokens"], &reply["output_tokens"]);
            self.console.result(&format!("reply {number} ({stop}; tokens: {input} in, {output} out)\n"));
            self.console.result(&text(&reply["text"]));
            for call in reply["calls"].as_array().into_iter().flatten() {
                self.console.result(&format!("call {} {}\n", text(&call["name"]), text(&call["arguments"])));
            }
        }
    }

    fn show(&mut self, task: &Task) {
        if !task.trace_id.is_empty() {
            self.console.result(&format!("trace {}\n", task.trace_id));
        }
        for result in &task.results {
            self.console.result(&format!("[{}] {}\n", result.step, result.tool.describe()));
            self.console.result(result.stdout.as_deref().or(result.error.as_deref()).unwrap_or_default());
            for hidden in &result.hidden {
                self.console.result(&format!("  the sandbox hid {hidden}\n"));
            }
        }
        for warning in &task.warnings {
            self.console.result(&format!("warning: {warning}\n"));
        }
        self.console.result(&task.summary);
        for what in &task.look_at {
            self.console.result(&postern_text::line(&format!("look at: {what}")));
        }
    }
}

/// A task's status for people.
pub(super) fn word(status: TaskStatus) -> &'static str {
    match status {
        TaskStatus::Queued => "queued",
        TaskStatus::Running => "running",
        TaskStatus::Waiting => "waiting",
        TaskStatus::Completed => "completed",
        TaskStatus::Partial => "partly done",
        TaskStatus::Failed => "failed",
        TaskStatus::Refused => "refused",
        TaskStatus::Cancelled => "cancelled",
        TaskStatus::OutOfBudget => "out of budget",
        TaskStatus::NeedsPerson => "needs a person",
    }
}

//! `run --at`, `--every` and `--on-failed`, and `schedule`.

use super::ids::is_part;
use super::listing::word;
use super::session::Session;
use super::subcommands::{Schedules, When};
use super::tasks::RunRequest;
use crate::client::pending_request::reason;
use crate::protocol::event::AgentError;
use crate::protocol::exit::Exit;
use crate::protocol::schedule::{Schedule, ScheduleState, Trigger};
use crate::protocol::task::Task;
use crate::render::moment;
use hyper::Method;
use serde::Deserialize;
use serde_json::{Value, json};

/// The answer to a new schedule.
#[derive(Deserialize)]
struct NewlyScheduled {
    schedule: Schedule,
    next_unix_s: Vec<i64>,
    warnings: Vec<String>,
}

/// A schedule and its runs.
#[derive(Deserialize)]
struct Runs {
    schedule: Schedule,
    tasks: Vec<Task>,
}

impl When {
    /// Reads the trigger; `None` where the task is to begin now.
    fn trigger(&self) -> Result<Option<Trigger>, String> {
        Ok(match self {
            Self { at: Some(event), .. } => Some(Trigger::At(event.clone().try_into()?)),
            Self { every: Some(every), .. } => Some(Trigger::EveryS(every.as_secs().try_into()?)),
            Self { on_failed: Some(unit), .. } => Some(Trigger::OnFailed(unit.clone().try_into()?)),
            Self { at: None, every: None, on_failed: None } => None,
        })
    }
}

impl Session<'_> {
    /// Has something done: now, or by itself later.
    pub(super) async fn run_or_schedule(&mut self, wanted: RunRequest, when: &When) -> Exit {
        match when.trigger() {
            Ok(None) => self.carry_out(wanted).await,
            Ok(Some(trigger)) => self.schedule(&wanted, &trigger).await,
            Err(why) => self.fail(&AgentError::new("invalid_argument", why)),
        }
    }

    async fn schedule(&mut self, wanted: &RunRequest, trigger: &Trigger) -> Exit {
        let mut body = json!({
            "trigger": trigger, "task": wanted.task, "mode": self.mode(), "wait_ms": self.wait_ms(),
            "reason": reason(self.global.reason.as_deref().unwrap_or_default()),
        });
        wanted.carried_out(&mut body);
        let answer = match self.of_agent(Method::POST, "/schedules", Some(&body)).await {
            Ok(answer) => answer,
            Err(fault) => return self.fail(&fault),
        };
        if self.global.json.is_some() {
            self.console.json(&answer);
            return Exit::Done;
        }
        let Ok(NewlyScheduled { schedule, next_unix_s, warnings }) = serde_json::from_value(answer) else {
            return self.fail(&AgentError::new("internal", "the agent's answer is no schedule"));
        };
        let times: Vec<String> = next_unix_s.iter().take(3).map(|time| at(*time)).collect();
        let next = if times.is_empty() { String::new() } else { format!(": next {}", times.join(", ")) };
        let text = if self.global.dry_run {
            format!("would run {}{next}; nothing is scheduled", when(&schedule.trigger))
        } else {
            format!("schedule {} runs {}{next}", schedule.id, when(&schedule.trigger))
        };
        self.console.result(&postern_text::line(&text));
        for warning in warnings {
            self.console.say(&format!("warning: {warning}"));
        }
        Exit::Done
    }

    pub(super) async fn schedules(&mut self, command: Schedules) -> Exit {
        if let Some(id) = command.id()
            && !is_part(id)
        {
            return self
                .fail(&AgentError::new("invalid_argument", "a schedule's id is hex digits and dashes"));
        }
        let (method, path) = match &command {
            Schedules::List => (Method::GET, "/schedules".to_owned()),
            Schedules::Show { id } => (Method::GET, format!("/schedules/{id}")),
            Schedules::Pause { id } => (Method::POST, format!("/schedules/{id}/pause")),
            Schedules::Resume { id } => (Method::POST, format!("/schedules/{id}/resume")),
            Schedules::Remove { id } => (Method::DELETE, format!("/schedules/{id}")),
            Schedules::RunNow { id } => return self.run_now(id).await,
        };
        let answer = match self.of_agent(method, &path, None).await {
            Ok(answer) => answer,
            Err(fault) => return self.fail(&fault),
        };
        if self.global.json.is_some() {
            self.console.json(&answer);
            return Exit::Done;
        }
        match self.show_schedules(&command, answer) {
            Ok(()) => Exit::Done,
            Err(error) => {
                let why = format!("the agent's answer cannot be read: {error}");
                self.fail(&AgentError::new("internal", why))
            }
        }
    }

    fn show_schedules(&mut self, command: &Schedules, answer: Value) -> serde_json::Result<()> {
        match command {
            Schedules::List => {
                for schedule in &serde_json::from_value::<Vec<Schedule>>(answer)? {
                    self.show_schedule(schedule);
                }
            }
            Schedules::Show { .. } => {
                let Runs { schedule, tasks } = serde_json::from_value(answer)?;
                self.show_schedule(&schedule);
                for task in tasks {
                    let text = format!("  task {} {}: {}", task.id, word(task.status), task.summary);
                    self.console.result(&postern_text::line(&text));
                }
            }
            Schedules::Remove { .. } => {
                let id = answer["id"].as_str().unwrap_or_default();
                self.console.result(&postern_text::line(&format!("removed {id}")));
            }
            Schedules::Pause { .. } | Schedules::Resume { .. } | Schedules::RunNow { .. } => {
                self.show_schedule(&serde_json::from_value(answer)?);
            }
        }
        Ok(())
    }

    fn show_schedule(&mut self, schedule: &Schedule) {
        let state = match schedule.state {
            ScheduleState::Active => "active",
            ScheduleState::Paused => "paused",
            ScheduleState::Ended => "ended",
        };
        let next = schedule.next_unix_s.map_or_else(String::new, |time| format!(", next {}", at(time)));
        let text = format!("{} {state} {}{next}: {}", schedule.id, when(&schedule.trigger), schedule.task);
        self.console.result(&postern_text::line(&text));
        if !schedule.note.is_empty() {
            self.console.result(&postern_text::line(&format!("  {}", schedule.note)));
        }
    }

    /// Calls the agent.
    pub(super) async fn of_agent(
        &mut self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Value, AgentError> {
        self.not_direct()?;
        let agent = self.agent();
        Ok(self.call(&agent, method, path, body).await?.body)
    }

    /// Refuses `--direct`: the helper knows no schedules.
    fn not_direct(&self) -> Result<(), AgentError> {
        if self.global.direct {
            let why = "schedules are the agent's; leave --direct out";
            return Err(AgentError::new("invalid_argument", why));
        }
        Ok(())
    }

    /// Begins a run and follows it to its end.
    async fn run_now(&mut self, id: &str) -> Exit {
        if let Err(fault) = self.not_direct() {
            return self.fail(&fault);
        }
        match self.begin_there(&format!("/schedules/{id}/run"), &json!({})).await {
            Ok(task) => self.end(&task),
            Err(fault) => self.fail(&fault),
        }
    }
}

fn at(unix_s: i64) -> String {
    moment(unix_s.max(0).unsigned_abs())
}

/// Describes a trigger for people.
fn when(trigger: &Trigger) -> String {
    match trigger {
        Trigger::At(event) => format!("at {:?}", String::from(event.clone())),
        Trigger::EveryS(interval) => {
            let time = std::time::Duration::from_secs(u64::from(*interval));
            format!("every {}", humantime::format_duration(time))
        }
        Trigger::OnFailed(unit) => format!("when {} has failed", unit.as_str()),
    }
}

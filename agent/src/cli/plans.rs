//! `plan TASK` and `run --plan FILE`.

use super::session::Session;
use super::subcommands::When;
use super::tasks::{Going, RunRequest, not_understood};
use crate::config;
use crate::config::values::Provider;
use crate::llm::reply_parser;
use crate::offline_planner;
use crate::plan;
use crate::protocol::event::AgentError;
use crate::protocol::exit::Exit;
use crate::protocol::plan::{Code, Plan, unfit};
use crate::protocol::task::Work;
use std::io::Read;
use std::path::Path;

/// No plan is larger.
const LIMIT: u64 = 1 << 20;

impl Session<'_> {
    /// Shows a plan: the model's where the agent has one.
    pub(super) async fn plan(&mut self, text: String) -> Exit {
        // A configuration that its people may not read is the agent's to know.
        let has_model =
            config::read(&self.host.config).map_or(true, |config| config.model.provider != Provider::Offline);
        if has_model && !self.global.direct {
            return self
                .carry_out(RunRequest {
                    task: text,
                    steps: Vec::new(),
                    work: Work::MakePlan,
                    going: Going::Anew,
                    runbook: None,
                })
                .await;
        }
        match offline_planner::plan(&text) {
            Ok(steps) => {
                self.show_plan(&Plan::of_steps(&text, steps));
                Exit::Done
            }
            Err(why) => self.fail(&not_understood(&why)),
        }
    }

    /// Prints a plan, as JSON in the form that `run --plan` reads.
    pub(super) fn show_plan(&mut self, plan: &Plan) {
        if self.global.json.is_some() {
            self.console.json(plan);
        } else {
            let width = self.console.width;
            self.console.result(&plan::table(plan, width));
        }
    }

    /// Carries out the plan of a file, or of standard input, now or when it is scheduled.
    pub(super) async fn run_plan(&mut self, file: &Path, when: &When) -> Exit {
        let text = match self.plan_text(file) {
            Ok(text) => text,
            Err(why) => return self.fail(&AgentError::new("invalid_argument", why)),
        };
        let value = reply_parser::strict(&text).map_err(|why| unfit(Code::InvalidJson, why));
        match value.and_then(Plan::of) {
            Ok(plan) => {
                let task = plan.goal().to_owned();
                let wanted = RunRequest {
                    task,
                    steps: Vec::new(),
                    work: Work::CarryOut(Box::new(plan)),
                    going: Going::Anew,
                    runbook: None,
                };
                self.run_or_schedule(wanted, when).await
            }
            Err(unfit) => {
                let message = format!("{}; nothing has been done", unfit.why);
                self.fail(&AgentError::new(unfit.code.name(), message))
            }
        }
    }

    fn plan_text(&mut self, file: &Path) -> Result<String, String> {
        let mut text = String::new();
        let read = if file == Path::new("-") {
            (&mut self.console.input).take(LIMIT + 1).read_to_string(&mut text)
        } else {
            std::fs::File::open(file).and_then(|file| file.take(LIMIT + 1).read_to_string(&mut text))
        };
        match read {
            Ok(_) if text.len() as u64 > LIMIT => Err(format!("{} is larger than 1 MiB", file.display())),
            Ok(_) => Ok(text),
            Err(error) => Err(format!("cannot read {}: {error}", file.display())),
        }
    }
}

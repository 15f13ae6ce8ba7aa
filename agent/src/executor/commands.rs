//! A command of the agent's own as a step: judged, asked about, run in the sandbox.

use super::output::{OUTPUT_LIMIT, cut};
use super::runner::Runner;
use crate::audit::Record as AuditRecord;
use crate::protocol::confinement::Profile;
use crate::protocol::event::AgentError;
use crate::protocol::mode::Mode;
use crate::protocol::question::{Choice, Kind, UserAnswer};
use crate::protocol::step::{StepResult, StepStatus};
use crate::protocol::task::Task;
use crate::protocol::tool::Tool;
use crate::sandbox::{Ended, Job, Program, Record, View, hidden};
use crate::shell_parser::interpreter;
use crate::shell_policy::{Decision, Level};
use std::fmt::Write;
use std::time::Duration;
use tokio::time::Instant;

/// How long a command may take of which nothing else is said, and one whose programs ask the helper: packages take
/// their time, and people theirs to approve.
const TIME: Duration = Duration::from_secs(60);
const TIME_WITH_REQUESTS: Duration = Duration::from_secs(900);
/// So often a person may put another command in its place.
const EDITS: usize = 5;

/// One command line and what it may come to.
#[derive(Clone, Copy, Debug)]
pub struct Line<'a> {
    /// As `sh -c` would get it.
    pub cmd: &'a str,
    /// After which it is killed; `None`: as for any.
    pub time: Option<Duration>,
    /// Exit codes that are no failure; `None`: 0, and what `grep` and its like mean by 1.
    pub acceptable: Option<&'a [u8]>,
}

impl<'a> Line<'a> {
    /// One of which nothing else is said.
    #[must_use]
    pub fn new(cmd: &'a str) -> Self {
        Self { cmd, time: None, acceptable: None }
    }
}

/// A command that may run.
struct Admitted {
    text: String,
    program: Program,
    decision: Decision,
    /// What lets it run: `rule`, a person's `yes`, or an earlier `always`.
    consent: &'static str,
}

impl Runner<'_> {
    /// Runs a command of the agent's own. Programs in it that have a shim ask the helper by this task, each request a
    /// step of its own.
    pub(super) async fn shell(&mut self, task: &mut Task, number: usize, line: &Line<'_>) -> StepResult {
        let tool = Tool::Shell { cmd: line.cmd.to_owned() };
        if let Some(lost) = self.lost(task, number, &tool).await {
            return lost;
        }
        let ended = |status, fault: &AgentError| StepResult {
            error: Some(format!("{}: {}", fault.code, fault.message)),
            ..StepResult::new(number, tool.clone(), status)
        };
        let admitted = match self.admit(task, line.cmd).await {
            Ok(admitted) => admitted,
            Err((status, fault)) => return ended(status, &fault),
        };
        let tool = Tool::Shell { cmd: admitted.text.clone() };
        let profile = self.commands.profile(&admitted.decision);
        if let Some((program, hidden, instead)) = answered_by(&admitted.program, profile) {
            let why = format!("{program} shows nothing in this sandbox ({hidden}): use {instead}");
            return ended(StepStatus::Error, &AgentError::new("unsupported", why));
        }
        let is_shimmed = !admitted.decision.shims.is_empty();
        let usual = if is_shimmed { TIME_WITH_REQUESTS } else { TIME };
        let left = self.budget.deadline().saturating_duration_since(Instant::now());
        let job = Job {
            program: admitted.program.clone(),
            profile,
            task: task.id.clone(),
            time: line.time.unwrap_or(usual).min(left),
            // With the line that says how much is left out, and what stands for halves of characters, no more than is kept:
            // the end is what matters.
            output: OUTPUT_LIMIT - 256,
            ports: self.commands.tools.ports.clone(),
            shim: None,
        };
        let time = job.time;
        let result = match self.call(task, number, job, is_shimmed).await {
            Ok(record) => {
                let result = of_record(number, tool, &admitted.program, line.acceptable, record, time);
                self.cleaned(self.with_hidden(result, &admitted.program))
            }
            Err(fault) if fault.code == "cancelled" => ended(StepStatus::Cancelled, &fault),
            Err(fault) => ended(StepStatus::Error, &fault),
        };
        let argv = match &admitted.program {
            Program::Argv(words) => words.iter().map(String::as_str).collect(),
            Program::Shell(text) => vec!["sh", "-c", text],
        };
        self.audit.append(&AuditRecord::command(task, &result, (&argv, profile, admitted.consent)));
        result
    }

    /// Says what the sandbox hid from a command.
    fn with_hidden(&self, result: StepResult, program: &Program) -> StepResult {
        let profile = result.sandbox.as_ref().map_or(Profile::None, |sandbox| sandbox.profile);
        let view = View { profile, read_roots: &self.commands.sandbox.read_roots };
        let hidden = hidden(program, result.stderr.as_deref().unwrap_or_default(), view);
        StepResult { hidden, ..result }
    }

    /// Decides whether a command may run: by the rules, the configuration, and a person.
    async fn admit(&mut self, task: &mut Task, cmd: &str) -> Result<Admitted, (StepStatus, AgentError)> {
        let refused = |code: &str, why: String| (StepStatus::Refused, AgentError::new(code, why));
        let mut text = cmd.to_owned();
        for _ in 0..=EDITS {
            let decision = self.commands.judge(&text).await.map_err(|fault| (StepStatus::Error, fault))?;
            let program = match (self.commands.words(&text).await, interpreter(&text)) {
                (Some(words), _) => Program::Argv(words),
                (None, Ok(None)) => Program::Shell(text.clone()),
                (None, Ok(Some(start))) => {
                    Program::Argv(start.into_iter().chain(["-c".to_owned(), text.clone()]).collect())
                }
                (None, Err(why)) => return Err(refused("unsupported", why)),
            };
            if !decision.untranslated.is_empty() {
                let why =
                    format!("nothing was run: no request does this: {}", decision.untranslated.join("; "));
                return Err(refused("unsupported", why));
            }
            let level = decision.effective();
            if level != Level::Block && self.commands.profile(&decision) == Profile::None {
                let why = "no commands are run here: profile in [tools] of agent.toml is \"none\"";
                return Err(refused("unsupported", why.to_owned()));
            }
            let admitted = Admitted { text: text.clone(), program, decision, consent: "rule" };
            match level {
                Level::Block => {
                    let why = format!("not run at all, whoever says yes: {}", admitted.decision.reason());
                    return Err(refused("blocked", why));
                }
                Level::Safe => return Ok(admitted),
                Level::Confirm if self.commands.allowed.has(&self.session(task), &admitted.program) => {
                    return Ok(Admitted { consent: "always", ..admitted });
                }
                Level::Confirm => {}
            }
            match self.confirm(task, &admitted).await {
                UserAnswer::Yes => return Ok(Admitted { consent: "yes", ..admitted }),
                UserAnswer::Always => {
                    self.commands.allowed.add(&self.session(task), &admitted.program);
                    return Ok(Admitted { consent: "yes", ..admitted });
                }
                UserAnswer::Text(other) => text = other,
                // No files are offered.
                UserAnswer::No | UserAnswer::Files(_) => {
                    let why = not_confirmed(self.order.interactive, &admitted.decision);
                    return Err((StepStatus::Denied, AgentError::new("not_approved", why)));
                }
            }
        }
        Err((StepStatus::Denied, AgentError::new("not_approved", format!("changed more than {EDITS} times"))))
    }

    /// Asks the person. In a dry run nobody is asked.
    async fn confirm(&mut self, task: &mut Task, admitted: &Admitted) -> UserAnswer {
        if self.order.mode != Mode::Execute {
            return UserAnswer::No;
        }
        let mut choices = vec![Choice::Yes, Choice::No, Choice::Text];
        if admitted.decision.can_remember {
            choices.insert(1, Choice::Always);
        }
        let what = format!("run {}", postern_text::line(&admitted.text));
        let profile = self.commands.profile(&admitted.decision);
        self.ask_user(
            task,
            Kind::Command,
            what,
            details(admitted, profile, &self.commands.tools.ports),
            &choices,
        )
        .await
    }

    /// Names the session that a consent holds for; a task without a session is one by itself.
    fn session(&self, task: &Task) -> String {
        let Self { order, .. } = self;
        if order.session.is_empty() {
            task.id.clone()
        } else {
            format!("{:?} {}", order.owner, order.session)
        }
    }
}

fn not_confirmed(is_there: bool, decision: &Decision) -> String {
    let why = match decision.reason() {
        "" => "no rule knows it",
        reason => reason,
    };
    if is_there {
        format!("its person does not want it run ({why})")
    } else {
        format!("a person would have to be asked, and nobody is there ({why}); use a typed tool instead")
    }
}

/// Describes a command for its confirmation: the text by lines, argv or shell, the judgement, the sandbox.
fn details(admitted: &Admitted, profile: Profile, ports: &[u16]) -> String {
    let mut text = String::new();
    if admitted.text.contains('\n') {
        for (at, line) in admitted.text.lines().enumerate() {
            let _ = writeln!(text, "{:>4}  {line}", at + 1);
        }
    }
    if let Program::Argv(words) = &admitted.program {
        let _ = writeln!(text, "argv: {}", serde_json::json!(words));
    }
    text.push_str(&admitted.decision.describe());
    let profile = serde_json::json!(profile);
    let network = match ports {
        [] => "no network".to_owned(),
        ports => format!("network: TCP to ports {ports:?}"),
    };
    let _ = writeln!(text, "  sandbox: {}, {network}", profile.as_str().unwrap_or_default());
    if !admitted.decision.shims.is_empty() {
        let _ = writeln!(text, "  asks the helper: {}", admitted.decision.shims.join(", "));
    }
    text
}

/// Programs that ask the kernel over netlink, which `RestrictAddressFamilies` of the sandbox's unit refuses under every
/// profile: `ss` would print an empty list with exit code 0.
const NETLINK: &[&str] = &["ss", "ip"];

/// Programs that read what the profile `read_only` hides, and the tools that tell the same.
const ANSWERED: &[(&[&str], &str)] = &[
    (&["ps", "pgrep", "pidof", "pstree", "top"], "list_processes"),
    (&["netstat", "lsof"], "get_network"),
    (&["df", "mount", "findmnt", "lsblk"], "list_disks"),
    (&["dpkg", "dpkg-query"], "list_packages"),
    (&["free", "uptime", "vmstat"], "get_system_info"),
    (&["journalctl"], "unit_journal"),
];

/// The program, why it shows nothing under this profile, and the tool that answers in its place.
fn answered_by(program: &Program, profile: Profile) -> Option<(&str, &'static str, &'static str)> {
    let Program::Argv(words) = program else { return None };
    let name = words.first()?.rsplit('/').next()?;
    if NETLINK.contains(&name) {
        return Some((name, "no netlink sockets", "get_network"));
    }
    let (_, instead) = ANSWERED.iter().find(|(programs, _)| programs.contains(&name))?;
    (profile == Profile::ReadOnly).then_some((name, "profile read_only in [tools] of agent.toml", *instead))
}

/// Programs that say something with exit code 1 that is no failure.
const ANSWERS: &[&str] = &[
    "grep",
    "egrep",
    "fgrep",
    "zgrep",
    "which",
    "diff",
    "cmp",
    "test",
    "[",
    "pgrep",
    "pidof",
    "expr",
    "systemd-detect-virt",
];

fn is_acceptable(program: &Program, acceptable: Option<&[u8]>, code: i32) -> bool {
    if let Some(codes) = acceptable {
        return codes.iter().any(|known| i32::from(*known) == code);
    }
    let name = match program {
        Program::Argv(words) => words.first().map(|word| word.rsplit('/').next().unwrap_or_default()),
        Program::Shell(_) => None,
    };
    code == 0 || code == 1 && name.is_some_and(|name| ANSWERS.contains(&name))
}

/// Builds the step's result from a run's record. `stderr` holds only the program's own output.
fn of_record(
    number: usize,
    tool: Tool,
    program: &Program,
    acceptable: Option<&[u8]>,
    record: Record,
    time: Duration,
) -> StepResult {
    let (status, error) = match (record.ended, record.exit_code, record.signal) {
        (Ended::Exited, Some(code), _) if is_acceptable(program, acceptable, code) => {
            (if record.truncated { StepStatus::Truncated } else { StepStatus::Ok }, None)
        }
        (Ended::Exited, Some(code), _) => (StepStatus::Error, Some(format!("failed: exit code {code}"))),
        (Ended::Timeout, ..) => {
            let time = humantime::format_duration(time);
            (StepStatus::Timeout, Some(format!("timeout: killed after {time}, with all that it had started")))
        }
        (Ended::Disk, ..) => (
            StepStatus::Error,
            Some(
                "failed: killed: its workspace holds more than it may, or the disk is nearly full".to_owned(),
            ),
        ),
        (Ended::Killed | Ended::Exited, _, signal) => {
            let signal = signal.map_or_else(|| "a signal".to_owned(), |signal| format!("signal {signal}"));
            (StepStatus::Error, Some(format!("failed: ended by {signal}")))
        }
    };
    let text = |bytes: Vec<u8>| {
        Some(cut(String::from_utf8_lossy(&bytes).into_owned()).0).filter(|text| !text.is_empty())
    };
    StepResult {
        exit_code: record.exit_code,
        stdout: text(record.stdout),
        stderr: text(record.stderr),
        error,
        duration_ms: Some(record.duration_ms),
        sandbox: Some(record.sandbox),
        ..StepResult::new(number, tool, status)
    }
}

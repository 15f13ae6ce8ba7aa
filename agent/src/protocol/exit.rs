//! Exit codes: the one place where a code or a status becomes a number.

use super::event::{Event, Status};
use super::plan;
use super::task::{Task, TaskStatus};
use postern_proto::code::{ExitKind, exit_kind};

/// How the command line ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Done, or nothing was to be done.
    Done = 0,
    /// Failed.
    Failed = 1,
    /// The command or an argument is wrong.
    Usage = 2,
    /// Refused by policy or by the helper's own rules.
    Refused = 3,
    /// A person said no, or nobody said yes in time.
    NotApproved = 4,
    /// Nobody answers on the socket.
    Unreachable = 5,
    /// Partly done.
    Partly = 6,
    /// A person has to look at it or decide.
    NeedsPerson = 7,
}

impl From<Exit> for std::process::ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.number())
    }
}

impl Exit {
    /// The number.
    #[must_use]
    pub fn number(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Refused => 3,
            Self::NotApproved => 4,
            Self::Unreachable => 5,
            Self::Partly => 6,
            Self::NeedsPerson => 7,
        }
    }

    /// Of a stable code. A code that is not known here is a failure.
    #[must_use]
    pub fn of_code(code: &str) -> Self {
        // A plan that cannot be read is the person's own.
        let is_plan = plan::Code::ALL.iter().any(|known| known.name() == code);
        match code {
            "unreachable" => Self::Unreachable,
            _ if is_plan => Self::Usage,
            _ => Self::known(code).unwrap_or(Self::Failed),
        }
    }

    fn known(code: &str) -> Option<Self> {
        Some(match exit_kind(code)? {
            ExitKind::Usage => Self::Usage,
            ExitKind::Refused => Self::Refused,
            ExitKind::NotApproved => Self::NotApproved,
            ExitKind::Failed => Self::Failed,
        })
    }

    /// Of a request's last event.
    #[must_use]
    pub fn of_end(end: &Event) -> Self {
        match end {
            Event::Completed(completed) => match completed.status {
                Status::Done | Status::Unchanged | Status::Previewed => Self::Done,
                Status::Partly => Self::Partly,
                Status::Failed | Status::Interrupted | Status::Unspecified => Self::of_code(&completed.code),
            },
            Event::Refused(refused) => match Self::of_code(&refused.code) {
                // A refusal with a code that is newer than this program is still a refusal.
                Self::Failed => Self::known(&refused.code).unwrap_or(Self::Refused),
                exit => exit,
            },
            Event::Error(fault) => Self::of_code(&fault.code),
            Event::Accepted(_) | Event::Waiting(_) | Event::Progress(_) | Event::Output(_) => Self::Failed,
        }
    }

    /// Of a task that has ended.
    #[must_use]
    pub fn of_task(task: &Task) -> Self {
        match task.status {
            TaskStatus::Completed => Self::Done,
            TaskStatus::Partial => Self::Partly,
            TaskStatus::NeedsPerson => Self::NeedsPerson,
            TaskStatus::Refused => match task.deciding_code().map(Self::of_code) {
                Some(exit @ (Self::NotApproved | Self::Usage)) => exit,
                Some(_) | None => Self::Refused,
            },
            TaskStatus::Failed => task.deciding_code().map_or(Self::Failed, Self::of_code),
            TaskStatus::Queued
            | TaskStatus::Running
            | TaskStatus::Waiting
            | TaskStatus::Cancelled
            | TaskStatus::OutOfBudget => Self::Failed,
        }
    }
}

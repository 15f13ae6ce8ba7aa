//! Exit statuses and error lines for scripts that believe they called the real program.

/// As which program a step ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramFamily {
    /// `apt-get`, `apt`, `dpkg`: 0 or 100.
    Apt,
    /// `systemctl`: 0, 1, 4 (may not), 5 (no such unit).
    Systemctl,
    /// `tee`, `cp`, `rm` and their like: 0 or 1.
    Files,
    /// `sed -i`: 0 or 4.
    Sed,
    /// `sudo` itself: 0 or 1.
    Sudo,
}

/// Exit code and stderr of a step, for the calling script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExitStatus {
    /// The exit code.
    pub exit: u8,
    /// One line for stderr, or none: all of these programs are silent when they succeed, but for apt.
    pub line: String,
}

impl ProgramFamily {
    /// The family of a program.
    #[must_use]
    pub fn of(program: &str) -> Self {
        match program {
            "apt" | "apt-get" | "apt-mark" | "dpkg" => Self::Apt,
            "systemctl" | "service" | "reboot" | "shutdown" => Self::Systemctl,
            "sed" => Self::Sed,
            "sudo" | "sh" => Self::Sudo,
            _ => Self::Files,
        }
    }

    /// The exit code of a failure of which nothing else is known.
    #[must_use]
    pub fn failure(self) -> u8 {
        match self {
            Self::Apt => 100,
            Self::Systemctl | Self::Files | Self::Sudo => 1,
            Self::Sed => 4,
        }
    }

    /// How a step that ended with this code is told; an empty code is success.
    #[must_use]
    pub fn exit_status(self, code: &str, message: &str, excused: &[&str], verb: &str) -> ExitStatus {
        let is_job = ["start", "stop", "restart", "reload", "status"].iter().any(|word| verb.ends_with(word));
        if code.is_empty() || excused.contains(&code) {
            return ExitStatus { exit: 0, line: String::new() };
        }
        let exit = match (self, code) {
            // systemctl tells an action that the unit does not have from one that fails.
            (Self::Systemctl, "unit_failed") if message.contains("is not applicable for unit") => 3,
            // Only a job is refused with a code of its own, as LSB has it: the program is not installed.
            (Self::Systemctl, "not_found") if is_job => 5,
            (Self::Systemctl, "no_grant" | "denied" | "not_approved" | "protected" | "unknown_client") => 4,
            (Self::Apt | Self::Systemctl | Self::Files | Self::Sed | Self::Sudo, _) => self.failure(),
        };
        // Prefix of this program's errors; scripts look for it.
        let start = match self {
            Self::Apt => "E: ",
            Self::Systemctl => "Failed: ",
            Self::Files | Self::Sed | Self::Sudo => "postern: ",
        };
        ExitStatus { exit, line: format!("{start}{message} ({code})") }
    }
}

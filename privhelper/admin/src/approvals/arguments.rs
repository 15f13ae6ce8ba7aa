//! Arguments of `approve` and `deny`: the requests, and how a person or a script agrees.

use super::render::inline;
use super::result::CommandError;
use crate::io::Exit;
use clap::Args;
use postern_policy::types::Digest;

/// Most bytes of a reason.
const REASON_MAX: usize = 500;

/// Selection requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selection {
    /// The one whose id begins so.
    Id(String),
    /// All of a task.
    Task(String),
}

/// How somebody agrees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Agreement {
    /// A person is shown the text and types the digits.
    Ask,
    /// The command's author has reviewed the order with this digest.
    Digest(Digest),
}

/// An agreement to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// How.
    pub agreement: Agreement,
    /// For the record.
    pub reason: String,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct SelectionArgs {
    /// The approval's id; the beginning will do, at least 4 digits
    id: Option<String>,
    /// All that waits of this task
    #[arg(long)]
    task: Option<String>,
}

impl SelectionArgs {
    fn which(&self) -> Selection {
        match (&self.id, &self.task) {
            (_, Some(task)) => Selection::Task(task.clone()),
            // clap sees to it that one is given.
            (id, None) => Selection::Id(id.clone().unwrap_or_default()),
        }
    }
}

/// `approve`.
#[derive(Debug, Args)]
pub struct ApproveArgs {
    #[command(flatten)]
    which: SelectionArgs,
    /// Do not ask: the order with this digest (`sha256` of `show --json`) was reviewed
    ///
    /// With --task: the SHA-256 of the requests' digests (32 bytes each), in the order of `pending`.
    #[arg(long, value_name = "HEX64")]
    digest: Option<String>,
    /// For the record
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    reason: String,
}

impl ApproveArgs {
    pub(super) fn decision(&self) -> Result<(Selection, Decision), CommandError> {
        let agreement = match &self.digest {
            None => Agreement::Ask,
            Some(hex) => Agreement::Digest(digest(hex)?),
        };
        Ok((self.which.which(), Decision { agreement, reason: reason(&self.reason)? }))
    }
}

/// `deny`.
#[derive(Debug, Args)]
pub struct DenyArgs {
    #[command(flatten)]
    which: SelectionArgs,
    /// Why; the client and its model are told
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    reason: String,
}

impl DenyArgs {
    pub(super) fn decision(&self) -> Result<(Selection, String), CommandError> {
        Ok((self.which.which(), reason(&self.reason)?))
    }
}

fn digest(hex: &str) -> Result<Digest, CommandError> {
    Digest::from_hex(&hex.to_ascii_lowercase()).ok_or_else(|| {
        let why = "--digest takes the 64 hexadecimal digits of a SHA-256; see `postern-admin show --json`";
        CommandError::Message(Exit::Usage, why.to_owned())
    })
}

/// A reason that the recorder accepts.
pub(super) fn reason(text: &str) -> Result<String, CommandError> {
    if text.len() <= REASON_MAX && !text.chars().any(char::is_control) {
        return Ok(text.to_owned());
    }
    let why =
        format!("a reason is at most {REASON_MAX} bytes without control characters: `{}`", inline(text));
    Err(CommandError::Message(Exit::Usage, why))
}

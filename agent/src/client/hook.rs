//! Announces each request that starts to wait for approval: runs the administrator's program, and queues a message
//! of the webhook.
//!
//! The program runs as the agent does, in the agent's sandbox. Its exit status does not affect the request.

use super::notices::Notices;
use super::pending_request::PendingRequest;
use crate::config::host::host_name;
use crate::config::values::WebhookEvent;
use crate::protocol::event::Waiting;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use serde_json::json;
use std::collections::VecDeque;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::process::{Child, Command};
use tokio::sync::Semaphore;

/// Runs at a time; the others come after them.
const RUNS: usize = 4;
/// Approvals that were told and are remembered: a request that is asked again still has the same one.
const REMEMBERED: usize = 200;
/// Characters of the target in a message.
const TARGET_LIMIT: usize = 1000;

/// A program to tell, a webhook, or both.
pub struct Hook {
    /// The program and its arguments; empty where there is none.
    command: Arc<[String]>,
    webhook: Notices,
    /// Longest time of one run.
    time: Duration,
    notified: Mutex<VecDeque<String>>,
    slots: Arc<Semaphore>,
}

impl Hook {
    /// A hook with a program's absolute path and its arguments, and the webhook; `None` where there is neither.
    #[must_use]
    pub fn new(command: &[String], time: Duration, webhook: Notices) -> Option<Self> {
        (!command.is_empty() || !webhook.is_empty()).then(|| Self {
            command: command.into(),
            webhook,
            time,
            notified: Mutex::default(),
            slots: Arc::new(Semaphore::new(RUNS)),
        })
    }

    /// Starts the program and tells the webhook of a request that came to wait under a rule, once an approval. Returns
    /// at once.
    pub fn tell(&self, ask: &PendingRequest, rule: &str, waiting: &Waiting) {
        if !self.is_new(&waiting.approval_id) {
            return;
        }
        let target: String = ask.request.target().chars().take(TARGET_LIMIT).collect();
        let message = json!({
            "v": 1, "approval_id": waiting.approval_id, "task": ask.task, "verb": ask.request.verb(),
            "target": target, "rule": rule, "expires_unix_s": waiting.expires_unix_s, "host": host_name().unwrap_or_default(),
        });
        self.webhook.send(WebhookEvent::Waiting, message.clone());
        if self.command.is_empty() {
            return;
        }
        let message = postern_text::json(&message.to_string()) + "\n";
        let (command, slots, time) = (Arc::clone(&self.command), Arc::clone(&self.slots), self.time);
        tokio::spawn(async move {
            let Ok(_slot) = slots.acquire().await else { return };
            if let Err(why) = run(&command, message.as_bytes(), time).await {
                tracing::warn!(hook = postern_text::line(&command.join(" ")), "the hook failed: {why}");
            }
        });
    }

    fn is_new(&self, approval_id: &str) -> bool {
        let mut notified = self.notified.lock().unwrap_or_else(PoisonError::into_inner);
        if notified.iter().any(|known| known == approval_id) {
            return false;
        }
        if notified.len() == REMEMBERED {
            notified.pop_front();
        }
        notified.push_back(approval_id.to_owned());
        true
    }
}

async fn run(command: &[String], message: &[u8], time: Duration) -> Result<(), String> {
    let Some((program, arguments)) = command.split_first() else { return Ok(()) };
    let mut child = Command::new(program)
        .args(arguments)
        .env_clear()
        .env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
        .env("LANG", "C.UTF-8")
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        // On a timeout its children are killed with it.
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
        .map_err(|e| format!("cannot start it: {e}"))?;
    let group = child.id().and_then(|id| i32::try_from(id).ok()).map(Pid::from_raw);
    let ended = tokio::time::timeout(time, feed(&mut child, message)).await;
    if ended.is_err()
        && let Some(group) = group
    {
        // It is not waited for yet, so that the number is still its own.
        let _ = killpg(group, Signal::SIGKILL);
    }
    match ended {
        Ok(Ok(status)) if status.success() => Ok(()),
        Ok(Ok(status)) => Err(status.to_string()),
        Ok(Err(e)) => Err(e.to_string()),
        Err(_) => Err(format!("it did not end within {} and was killed", humantime::format_duration(time))),
    }
}

async fn feed(child: &mut Child, message: &[u8]) -> std::io::Result<std::process::ExitStatus> {
    if let Some(mut stdin) = child.stdin.take() {
        // A program that does not read is none that fails.
        let _ = stdin.write_all(message).await;
    }
    child.wait().await
}

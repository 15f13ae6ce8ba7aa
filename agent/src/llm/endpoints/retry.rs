//! Retries a call that failed for the moment.

use super::chunk::NextTry;
use super::failure::{Failure, Kind};
use crate::config::tables::Retry;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// Past this many doublings every wait is the longest one.
const DOUBLINGS_LIMIT: u32 = 30;

/// The waits of one call.
#[derive(Clone, Debug)]
pub struct Schedule {
    retry: Retry,
    failures: u32,
}

impl Schedule {
    /// Of a call that was not tried yet.
    #[must_use]
    pub fn new(retry: &Retry) -> Self {
        Self { retry: retry.clone(), failures: 0 }
    }

    /// Returns the number of the try that follows the failures so far.
    fn next_attempt(&self) -> u32 {
        self.failures.saturating_add(1)
    }

    /// Returns the wait after a failure; `None` if there is no further try. `jitter` is from 0 to 1.
    ///
    /// Full jitter: any wait up to the doubled one, so that many clients do not come back together. A wait that the
    /// endpoint asks for replaces it, up to the longest wait. A model that is being loaded costs no try.
    pub fn wait(&mut self, failure: &Failure, jitter: f64) -> Option<Duration> {
        let longest = self.retry.backoff_max.0;
        if !failure.is_passing() {
            return None;
        }
        if failure.kind != Kind::Loading {
            if self.failures == self.retry.max_attempts {
                return None;
            }
            self.failures += 1;
        }
        if let Some(asked) = failure.retry_after {
            return Some(asked.min(longest));
        }
        if failure.kind == Kind::Loading {
            return Some(self.retry.backoff_base.0.min(longest));
        }
        let doubled = 2_u32.saturating_pow((self.failures - 1).min(DOUBLINGS_LIMIT));
        let most = self.retry.backoff_base.0.saturating_mul(doubled).min(longest);
        Some(most.mul_f64(jitter.clamp(0.0, 1.0)))
    }
}

/// Tries until it is done, until trying again cannot help, or until the next try would begin after `deadline`.
/// `on_retry` gets each try after the first before its wait.
///
/// # Errors
/// The last failure.
pub async fn persist<T, F: Future<Output = Result<T, Failure>>>(
    retry: &Retry,
    deadline: Instant,
    on_retry: &(dyn Fn(NextTry<'_>) + Send + Sync),
    mut attempt: impl FnMut() -> F,
) -> Result<T, Failure> {
    let mut schedule = Schedule::new(retry);
    loop {
        let failure = match tokio::time::timeout_at(deadline, attempt()).await {
            Ok(Ok(done)) => return Ok(done),
            Ok(Err(failure)) => failure,
            Err(_) => return Err(Failure::new(Kind::Timeout, "the time for this call is over")),
        };
        let Some(wait) = schedule.wait(&failure, fastrand::f64()) else { return Err(failure) };
        if Instant::now() + wait >= deadline {
            return Err(Failure {
                message: format!("{failure}; there is no time for another try"),
                ..failure
            });
        }
        let (number, of) = (schedule.next_attempt(), retry.max_attempts.saturating_add(1));
        let wait_ms = wait.as_millis();
        tracing::info!(
            event = "model_retry",
            attempt = number,
            of,
            wait_ms,
            "attempt {number}/{of} follows: {failure}"
        );
        on_retry(NextTry { attempt: number, of, wait, why: &failure.message });
        sleep(wait).await;
    }
}

//! The helper's client: gRPC over its Unix socket.

use super::alias;
use super::counts::Counts;
use super::hook::Hook;
use super::pending_request::{AttemptError, PendingRequest, new_id};
use super::rates::{Kind, Rates};
use crate::protocol::event::{AgentError, Completed, Decision, Event, Phase, Progress, Refused, Waiting};
use crate::protocol::mode::{Effect, Mode};
use crate::protocol::request::Request;
use crate::protocol::tool::unit_name;
use hyper_util::rt::TokioIo;
use postern_proto::v1;
use postern_proto::v1::helper_client::HelperClient;
use std::error::Error;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::time::Duration;
use tokio::net::UnixStream;
use tokio::sync::Mutex;
use tokio::time::timeout;
use tonic::transport::{Channel, Endpoint, Uri};
use tonic::{Code, Status};

/// A connection to the helper that is made when it is needed and kept while it works.
pub struct Helper {
    path: PathBuf,
    /// The root directory of the host, for the aliases of units.
    root: PathBuf,
    channel: Mutex<Option<Channel>>,
    hook: Option<Box<Hook>>,
    rates: Box<Rates>,
    counts: Box<Counts>,
}

impl Helper {
    /// The helper at a socket; nothing is connected yet.
    #[must_use]
    pub fn new(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            root: "/".into(),
            channel: Mutex::new(None),
            hook: None,
            rates: Box::default(),
            counts: Box::default(),
        }
    }

    /// The same, with a program that hears of what comes to wait.
    #[must_use]
    pub fn with_hook(self, hook: Option<Hook>) -> Self {
        Self { hook: hook.map(Box::new), ..self }
    }

    /// The same, on a host whose root directory is elsewhere.
    #[must_use]
    pub fn with_root(self, root: &Path) -> Self {
        Self { root: root.to_owned(), ..self }
    }

    /// The counts of its requests.
    #[must_use]
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Its socket.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Asks once. The last event, or why there is none; `on` sees those before it.
    pub async fn attempt(
        &self,
        ask: &PendingRequest,
        on: &mut (dyn FnMut(&Event) + Send),
    ) -> Result<Event, AttemptError> {
        self.wait_for_share(ask, on).await;
        if matches!(ask.request, Request::RequestKeep(_)) {
            // The helper takes it over a connection that is newer than the change.
            self.channel.lock().await.take();
        }
        let mut client = HelperClient::new(self.connect().await?);
        let mut events = match ask.request.send(&mut client, meta(ask)).await {
            Ok(events) => events,
            Err(status) => return self.failed(&status).await,
        };
        let mut rule = String::new();
        let mut download = Download::default();
        loop {
            let message = tokio::select! {
                biased;
                size = ready(&mut download.asked) => {
                    download.bytes = size;
                    continue;
                }
                message = events.message() => message,
            };
            match message {
                Ok(Some(message)) => {
                    let Some(mut event) = Event::from_message(message) else { continue };
                    if let Event::Progress(progress) = &mut event {
                        self.size_up(ask, progress, &mut download).await;
                    }
                    if event.is_last() {
                        if let Event::Refused(refused) = &mut event
                            && refused.code == "no_grant"
                        {
                            // On the heap: it would make the future of every request larger.
                            Box::pin(self.name_unit(ask, refused)).await;
                        }
                        return Ok(event);
                    }
                    match (&event, &self.hook) {
                        (Event::Accepted(accepted), _) => rule.clone_from(&accepted.rule),
                        (Event::Waiting(waiting), Some(hook)) => hook.tell(ask, &rule, waiting),
                        _ => {}
                    }
                    if let Event::Waiting(Waiting { plan: Some(plan), .. }) = &event {
                        download.bytes = plan.download_bytes;
                    }
                    on(&event);
                }
                Ok(None) => {
                    return Err(AttemptError::Midway("the answer ended without an outcome".to_owned()));
                }
                Err(status) => return self.failed(&status).await,
            }
        }
    }

    /// Names the unit where a request has an alias of it: the helper refuses an alias that no rule grants, and the unit behind it
    /// may be granted.
    async fn name_unit(&self, ask: &PendingRequest, refused: &mut Refused) {
        let mut other = beside(ask, Mode::Check, ALIAS);
        let Some(unit) = other.request.unit_mut() else { return };
        let name = unit_name(unit);
        let Some(own) = alias::own_name(&self.root, &name) else { return };
        own.clone_into(unit);
        let Ok(channel) = self.connect().await else { return };
        // A refusal does not wait for long.
        if let Ok(Some(done)) = timeout(ALIAS_TIME, completed(channel, other)).await
            && done.decision != Decision::Deny
        {
            refused.message = format!("{name} is an alias of {own}, which is granted: ask for that");
        }
    }

    /// Fills in how large a download is, by the plan. People who are asked get one with the question. An order that is let
    /// through at once comes without: its plan is asked for beside the work, once something is downloaded.
    async fn size_up(&self, ask: &PendingRequest, progress: &mut Progress, download: &mut Download) {
        if progress.phase != Phase::Download || ask.mode != Mode::Execute {
            return;
        }
        if !std::mem::replace(&mut download.is_begun, true)
            && download.bytes == 0
            && matches!(ask.request, Request::PackageInstall(_) | Request::PackageUpgrade(_))
            && let Ok(channel) = self.connect().await
        {
            download.asked = Some(Box::pin(download_size(channel, ask.clone())));
        }
        progress.total_bytes = download.bytes;
    }

    /// Waits until a request of this person's may go, and says so.
    async fn wait_for_share(&self, ask: &PendingRequest, on: &mut (dyn FnMut(&Event) + Send)) {
        let kind = if ask.effect() == Effect::Possible { Kind::Effect } else { Kind::Read };
        while let Err(wait) = self.rates.take(ask.claimed_uid, kind) {
            let what = if kind == Kind::Effect { "changes" } else { "requests" };
            let detail =
                format!("your {what} of this minute are used up; goes on in {} s", wait.as_secs() + 1);
            on(&Event::Progress(Progress { phase: Phase::Waiting, detail, ..Progress::default() }));
            tokio::time::sleep(wait).await;
        }
    }

    pub(super) async fn connect(&self) -> Result<Channel, AttemptError> {
        let mut kept = self.channel.lock().await;
        if let Some(channel) = &*kept {
            return Ok(channel.clone());
        }
        // The URI gives the `:authority`; where the connection goes is the connector's matter. The
        // pings find out a peer that holds the socket but never answers.
        let endpoint = Endpoint::from_static("http://localhost")
            .connect_timeout(Duration::from_secs(5))
            .http2_keep_alive_interval(Duration::from_secs(5))
            .keep_alive_timeout(Duration::from_secs(10));
        let path = self.path.clone();
        let connector = tower::service_fn(move |_: Uri| {
            let path = path.clone();
            async move { UnixStream::connect(path).await.map(TokioIo::new) }
        });
        let channel = endpoint.connect_with_connector(connector).await.map_err(|e| {
            let io = sources(&e).find_map(|e| e.downcast_ref::<std::io::Error>());
            AttemptError::Closed(io.map_or(ErrorKind::Other, std::io::Error::kind), innermost(&e))
        })?;
        Ok(kept.insert(channel).clone())
    }

    /// A status that the helper sent is an answer; one that stands for a broken connection is not.
    pub(super) async fn failed(&self, status: &Status) -> Result<Event, AttemptError> {
        let is_local = status.source().is_some() || status.message().starts_with("Service was not ready");
        if is_local || status.code() == Code::Unavailable {
            *self.channel.lock().await = None;
            return Err(AttemptError::Midway(innermost(status)));
        }
        let code = match status.code() {
            Code::InvalidArgument | Code::OutOfRange => "invalid_argument",
            Code::Unimplemented => "unsupported",
            Code::ResourceExhausted => "busy",
            Code::PermissionDenied | Code::Unauthenticated => "unknown_client",
            Code::DeadlineExceeded => "timeout",
            _ => "internal",
        };
        let message = match (code, status.message()) {
            ("unsupported", "") => "this helper does not have the verb".to_owned(),
            (_, "") => status.code().description().to_lowercase(),
            (_, text) => text.to_owned(),
        };
        let fault = AgentError::new(code, message);
        // These are said before a request is decided on.
        let is_at_the_door = matches!(code, "invalid_argument" | "unsupported" | "busy" | "unknown_client");
        Ok(Event::Error(if is_at_the_door { fault.not_begun() } else { fault }))
    }
}

/// The size of one request's download.
#[derive(Default)]
struct Download {
    is_begun: bool,
    asked: Option<Pin<Box<dyn Future<Output = u64> + Send>>>,
    /// 0 before it is known.
    bytes: u64,
}

async fn ready(asked: &mut Option<Pin<Box<dyn Future<Output = u64> + Send>>>) -> u64 {
    match asked {
        Some(size) => {
            let size = size.await;
            *asked = None;
            size
        }
        None => std::future::pending().await,
    }
}

/// The bytes that the plan of a request would download; 0 where no plan is to be had.
async fn download_size(channel: Channel, ask: PendingRequest) -> u64 {
    let done = completed(channel, beside(&ask, Mode::Preview, SIZE)).await;
    done.and_then(|done| done.plan).map_or(0, |plan| plan.download_bytes)
}

/// A request of the agent's own beside one of a person, with its reason for the helper's log. It has no effect.
fn beside(ask: &PendingRequest, mode: Mode, reason: &str) -> PendingRequest {
    PendingRequest { id: new_id(), mode, reason: reason.to_owned(), ..ask.clone() }
}

/// The outcome of a request that is sent once; none if it is refused or not to be had.
async fn completed(channel: Channel, ask: PendingRequest) -> Option<Box<Completed>> {
    let mut events = ask.request.send(&mut HelperClient::new(channel), meta(&ask)).await.ok()?;
    while let Ok(Some(message)) = events.message().await {
        if let Some(Event::Completed(done)) = Event::from_message(message) {
            return Some(done);
        }
    }
    None
}

/// How long a refusal waits for the decision on the unit's own name.
const ALIAS_TIME: Duration = Duration::from_secs(2);

/// Why the helper is asked for a decision after a refusal, for its log.
const ALIAS: &str = "whether the unit is granted by its own name";

/// Why the helper is asked for a plan beside the work, for its log.
const SIZE: &str = "how large the download is";

fn meta(ask: &PendingRequest) -> v1::Meta {
    let mode = match ask.mode {
        Mode::Execute => v1::Mode::Execute,
        Mode::Preview => v1::Mode::Preview,
        Mode::Check => v1::Mode::Check,
    };
    v1::Meta {
        request_id: ask.id.clone(),
        mode: mode.into(),
        reason: ask.reason.clone(),
        traceparent: crate::protocol::trace::traceparent_of(&ask.id),
        task: ask.task.clone(),
        wait_ms: ask.wait_ms,
        claimed_uid: ask.claimed_uid,
        session: ask.session.clone(),
    }
}

fn sources<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |e: &&'a (dyn Error + 'static)| (*e).source())
}

fn innermost(error: &(dyn Error + 'static)) -> String {
    sources(error).last().map_or_else(String::new, ToString::to_string)
}

//! Endpoints of models over HTTP: one wire format each, one way of failing and trying again.

mod abilities;
mod calls;
pub mod chat;
mod chunk;
pub mod embeddings;
pub mod failure;
mod http;
pub mod messages;
pub mod retry;
mod scripted;
mod wire;

pub use abilities::{Abilities, Format, ToolCalls};
pub use chunk::{Chunk, NextTry};

pub use http::{client, retry_after};

use super::conversation::{Prompt, Reply};
use super::repairs::Repairs;
use super::text_calls::Form;
use crate::client::counts::seconds;
use crate::client::sse::Decoder;
use crate::config::model_extra::Price;
use crate::config::secret;
use crate::config::tables::{Model, Retry};
use crate::config::values::{BaseUrl, Provider, Value as _};
use crate::protocol::trace;
use failure::{Failure, Keys, Kind};
use http::{ReplyBuilder, body_text, content_type, headers, refusal, without_key};
use prometheus_client::metrics::histogram::Histogram;
use reqwest::header::HeaderMap;
use scripted::Script;
use secrecy::SecretString;
use std::num::NonZeroU32;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::time::{Instant, timeout};
use tracing::Instrument;

/// More is no answer of a model.
const ANSWER_LIMIT: usize = 16 << 20;
/// More than this in one event is no answer of a model.
const EVENT_LIMIT: usize = 4 << 20;

/// `OpenAI`'s own address.
const OPENAI: &str = "https://api.openai.com/v1";

/// The address in the configuration, or the provider's own.
fn base_url(model: &Model, address: &str) -> Result<BaseUrl, String> {
    model.base_url.clone().map_or_else(|| BaseUrl::from_text(address), Ok)
}

/// An endpoint.
#[derive(Debug)]
pub struct Endpoint {
    client: reqwest::Client,
    model: Model,
    retry: Retry,
    url: String,
    headers: HeaderMap,
    key: Option<SecretString>,
    abilities: Mutex<Abilities>,
    /// Counts of repaired replies.
    pub repairs: Repairs,
    /// The times of its calls.
    seconds: Histogram,
    /// The replies of the scripted provider.
    script: Option<Script>,
}

impl Endpoint {
    /// The endpoint that the configuration names; `None` if it names none.
    ///
    /// # Errors
    /// Its key is not to be had, or TLS does not start.
    pub fn new(model: &Model, retry: &Retry) -> Result<Option<Self>, String> {
        let (address, path) = match model.provider {
            Provider::Offline => return Ok(None),
            // Its address is asked by nobody.
            Provider::Scripted => ("http://localhost", "scripted"),
            Provider::Openai => (OPENAI, "chat/completions"),
            Provider::Anthropic => ("https://api.anthropic.com", "v1/messages"),
        };
        let base = base_url(model, address)?;
        let key = model.key.as_ref().map(secret::fetch).transpose()?;
        let client = client(&base)?;
        let headers = headers(model, key.as_ref())?;
        let script = model.script.as_ref().filter(|_| model.provider == Provider::Scripted);
        Ok(Some(Self {
            script: script.map(|path| Script::read(path.path())).transpose()?,
            client,
            url: base.join(path),
            headers,
            key,
            abilities: Mutex::new(Abilities::of(model.response_format)),
            repairs: Repairs::default(),
            seconds: seconds(),
            model: model.clone(),
            retry: retry.clone(),
        }))
    }

    /// The model's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.model.name
    }

    /// Where it answers.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns the histogram of its calls' times.
    #[must_use]
    pub fn seconds(&self) -> Histogram {
        self.seconds.clone()
    }

    /// Returns the abilities learned so far.
    #[must_use]
    pub fn abilities(&self) -> Abilities {
        *self.abilities.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How calls are asked for there.
    #[must_use]
    pub fn form(&self) -> Form {
        let is_native = self.model.provider != Provider::Openai || self.abilities().tools.may_be_used();
        if is_native { Form::Native } else { Form::Text }
    }

    /// The same endpoint, used as if it had no calls of its own; `None` where the wire format always has.
    #[must_use]
    pub fn with_calls_in_text(&self) -> Option<Self> {
        let abilities = match self.model.provider {
            Provider::Anthropic | Provider::Offline | Provider::Scripted => return None,
            Provider::Openai => Abilities { tools: ToolCalls::Refused, ..self.abilities() },
        };
        Some(Self {
            client: self.client.clone(),
            model: self.model.clone(),
            retry: self.retry.clone(),
            url: self.url.clone(),
            headers: self.headers.clone(),
            key: self.key.clone(),
            abilities: Mutex::new(abilities),
            repairs: Repairs::default(),
            seconds: self.seconds.clone(),
            script: self.script.clone(),
        })
    }

    /// Whether a conversation that had so many tokens leaves no room for another answer.
    #[must_use]
    pub fn is_full(&self, tokens: u64) -> bool {
        let room = |context: NonZeroU32| u64::from(context.get().saturating_sub(self.model.max_tokens.get()));
        self.model.context.is_some_and(|context| tokens > room(context))
    }

    /// The price of its tokens.
    #[must_use]
    pub fn price(&self) -> Option<&Price> {
        self.model.price.as_ref()
    }

    /// Whether somebody answers there who knows the key: `ok`, or what is wrong.
    pub async fn probe(&self, limit: Duration) -> String {
        if self.script.is_some() {
            return "ok".to_owned();
        }
        // Next to what is asked for calls, wherever that is.
        let list = self.url.replace("/chat/completions", "/models").replace("/messages", "/models");
        let asked = self.client.get(list).headers(self.headers.clone()).send();
        let failure = match timeout(limit, asked).await {
            Err(_) => return format!("no answer within {} s", limit.as_secs()),
            Ok(Err(error)) => Failure::of_connection(&error),
            // Not every endpoint has a list of models, but whoever says so is there.
            Ok(Ok(response)) if response.status().is_success() || response.status().as_u16() == 404 => {
                return "ok".to_owned();
            }
            Ok(Ok(response)) => refusal(response, &Keys::MODEL).await,
        };
        without_key(failure, self.key.as_ref()).message
    }

    /// Asks the model, again if the failure may pass, until `deadline`. `listener` gets the words as they come.
    ///
    /// # Errors
    /// The last failure.
    pub async fn ask(
        &self,
        prompt: &Prompt<'_>,
        deadline: Instant,
        listener: &(dyn Fn(Chunk<'_>) + Send + Sync),
    ) -> Result<Reply, Failure> {
        if let Some(script) = &self.script {
            return script.answer(prompt, listener);
        }
        let call = calls::Call::begin(&self.model.name);
        let asked = self.persist(prompt, deadline, listener).instrument(call.span()).await;
        self.seconds.observe(call.end(&asked).as_secs_f64());
        asked
    }

    async fn persist(
        &self,
        prompt: &Prompt<'_>,
        deadline: Instant,
        listener: &(dyn Fn(Chunk<'_>) + Send + Sync),
    ) -> Result<Reply, Failure> {
        loop {
            let abilities = self.abilities();
            let attempt = || self.attempt(prompt, abilities, listener);
            let on_retry = |next: NextTry<'_>| listener(Chunk::Retry(next));
            match retry::persist(&self.retry, deadline, &on_retry, attempt).await? {
                Tried::Answered(reply) => {
                    if !prompt.tools.is_empty() && abilities.tools == ToolCalls::Untried {
                        self.learn(Abilities { tools: ToolCalls::Taken, ..abilities });
                    }
                    return Ok(reply);
                }
                // Each time round there is less to refuse.
                Tried::Refused(less) => self.learn(less),
            }
        }
    }

    fn learn(&self, abilities: Abilities) {
        *self.abilities.lock().unwrap_or_else(PoisonError::into_inner) = abilities;
    }

    /// One try, limited in time. That something is refused is an answer: trying the same again is no use,
    /// whatever the status.
    async fn attempt(
        &self,
        prompt: &Prompt<'_>,
        abilities: Abilities,
        listener: &(dyn Fn(Chunk<'_>) + Send + Sync),
    ) -> Result<Tried, Failure> {
        let limit = self.model.timeout.0;
        let asked = timeout(limit, self.once(prompt, abilities, listener)).await;
        let late = || {
            Failure::new(Kind::Timeout, format!("the endpoint did not answer within {}", self.model.timeout))
        };
        let failure = match asked.unwrap_or_else(|_| Err(late())) {
            Ok(reply) => return Ok(Tried::Answered(reply)),
            Err(failure) => without_key(failure, self.key.as_ref()),
        };
        let less = abilities.without_refused(&failure, !prompt.tools.is_empty());
        if less.is_some() {
            tracing::info!(event = "model_ability", "the endpoint refuses a part of the request: {failure}");
        }
        less.map(Tried::Refused).ok_or(failure)
    }

    async fn once(
        &self,
        prompt: &Prompt<'_>,
        abilities: Abilities,
        listener: &(dyn Fn(Chunk<'_>) + Send + Sync),
    ) -> Result<Reply, Failure> {
        listener(Chunk::Again);
        let mut answer = ReplyBuilder::of(self.model.provider);
        let body = match &answer {
            ReplyBuilder::Messages(_) => messages::request(&self.model, prompt),
            ReplyBuilder::Chat(_) => chat::request(&self.model, prompt, abilities),
        };
        let mut request = self.client.post(&self.url).headers(self.headers.clone()).body(body.to_string());
        if trace::current().is_some() {
            request = request.header("traceparent", trace::traceparent());
        }
        let mut response = request.send().await.map_err(|e| Failure::of_connection(&e))?;
        let status = response.status();
        if !status.is_success() {
            return Err(refusal(response, &Keys::MODEL).await);
        }
        let is_stream = content_type(response.headers()).starts_with("text/event-stream");
        if is_stream {
            let mut decoder = Decoder::new(EVENT_LIMIT);
            let mut read = 0;
            while let Some(bytes) = response.chunk().await.map_err(|e| Failure::of_connection(&e))? {
                read += bytes.len();
                let mut events = Vec::new();
                let pushed = decoder.push(&bytes, |event| events.push(event.data));
                pushed.map_err(|why| Failure::new(Kind::Form, why))?;
                answer.take_all(&events, listener)?;
                if read > ANSWER_LIMIT {
                    return Err(Failure::new(Kind::Form, "the endpoint's answer does not end"));
                }
            }
            let mut events = Vec::new();
            decoder.finish(|event| events.push(event.data));
            // A last event that is cut off is a lost connection.
            let cut_off = |failure: Failure| match failure.kind {
                Kind::Form => Failure::new(Kind::Connection, "the endpoint's answer broke off"),
                Kind::Connection | Kind::Timeout | Kind::Status(_) | Kind::Loading => failure,
            };
            answer.take_all(&events, listener).map_err(cut_off)?;
        } else {
            let text = body_text(&mut response, ANSWER_LIMIT).await?;
            if text.trim_start().starts_with('<') {
                let why = "the endpoint answers with a page of HTML; see base_url in [model]";
                return Err(Failure::new(Kind::Form, why));
            }
            answer.take_all(&[text], listener)?;
        }
        answer.finish()
    }
}

/// Result of a try without failure.
enum Tried {
    Answered(Reply),
    Refused(Abilities),
}

//! The tables of the configuration: keys, kinds and defaults from one list.

use super::model_extra::{Extra, Price};
use super::values::{
    AbsolutePath, BaseUrl, LogFormat, LogLevel, Loopback, Profile, Provider, ResponseFormat, SecretRef, Span,
    TelemetryExporter, TokenParameter, Unenforced, Value, WebhookEvent, WebhookUrl,
};
use serde::{Deserialize, Serialize};
use std::num::NonZeroU32;

macro_rules! tables {
    ($($(#[$doc:meta])* $name:ident { $($(#[$key_doc:meta])* $key:ident: $type:ty = $default:expr,)+ })+) => {
        $($(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(default, deny_unknown_fields)]
        pub struct $name { $($(#[$key_doc])* pub $key: $type,)+ }

        impl Default for $name {
            fn default() -> Self {
                Self { $($key: $default,)+ }
            }
        }

        impl Table for $name {
            fn set(&mut self, key: &str, text: &str) -> Result<(), String> {
                match key {
                    $(stringify!($key) => self.$key = Value::from_text(text)?,)+
                    _ => return Err(postern_text::unknown("key", key, [$(stringify!($key)),+])),
                }
                Ok(())
            }
        })+
    };
}

/// A table whose keys can be set one by one.
pub trait Table {
    /// Sets a key from text.
    ///
    /// # Errors
    /// There is no such key, or the text is no value for it.
    fn set(&mut self, key: &str, text: &str) -> Result<(), String>;
}

tables! {
    /// `[model]`: who makes the steps of a task.
    Model {
        /// Its kind.
        provider: Provider = Provider::Offline,
        /// Where it answers; the provider's own address if absent.
        base_url: Option<BaseUrl> = None,
        /// The model's name there.
        name: String = String::new(),
        /// Where its key is kept.
        key: Option<SecretRef> = None,
        /// Most tokens of one answer.
        max_tokens: NonZeroU32 = NonZeroU32::MIN.saturating_add(4095),
        /// Wire name of that limit.
        token_parameter: TokenParameter = TokenParameter::MaxTokens,
        /// The longest that one try may take.
        timeout: Span = Span::seconds(300),
        /// Response format requested from the endpoint.
        response_format: ResponseFormat = ResponseFormat::Auto,
        /// Tokens that a conversation may have before it is compacted; what the endpoint takes if absent.
        context: Option<NonZeroU32> = None,
        /// The file of replies of the scripted provider.
        script: Option<AbsolutePath> = None,
        /// More parts of every request.
        extra: Extra = Extra::default(),
        /// The price of tokens.
        price: Option<Price> = None,
    }
    /// `[retry]`: what is done when an endpoint fails for the moment.
    Retry {
        /// Tries after the first.
        max_attempts: u32 = 3,
        /// The first wait; it doubles with each try.
        backoff_base: Span = Span::seconds(1),
        /// The longest wait, also where the endpoint asks for a longer one.
        backoff_max: Span = Span::seconds(30),
    }
    /// `[limits]`: what ends a task that does not end itself.
    Limits {
        /// Replies in a row that are no call.
        misformats: NonZeroU32 = NonZeroU32::MIN.saturating_add(4),
        /// Steps of one run.
        steps: NonZeroU32 = NonZeroU32::MIN.saturating_add(24),
        /// Runs of one task.
        runs: NonZeroU32 = NonZeroU32::MIN.saturating_add(3),
        /// Repairs of a plan.
        repairs: u32 = 2,
        /// Tokens, in and out.
        tokens: u64 = 500_000,
        /// Time.
        time: Span = Span::seconds(1800),
        /// Requests that change something.
        changes: u32 = 50,
        /// Tasks of one person that wait.
        queue: NonZeroU32 = NonZeroU32::MIN.saturating_add(99),
        /// Tasks that act at once; one person's are at most half of them.
        parallel: NonZeroU32 = NonZeroU32::MIN.saturating_add(7),
    }
    /// `[http]`: the service beyond its socket.
    Http {
        /// An address of this host.
        tcp: Option<Loopback> = None,
        /// Where the token is kept that TCP asks for.
        token: Option<SecretRef> = None,
    }
    /// `[webhook]`: signed messages about requests that wait and tasks that ended.
    Webhook {
        /// The URL that they are posted to.
        url: Option<WebhookUrl> = None,
        /// Where the key of the signatures is kept.
        secret: Option<SecretRef> = None,
        /// The events that they are about.
        events: Vec<WebhookEvent> = vec![WebhookEvent::Waiting, WebhookEvent::Completed],
    }
    /// `[tools]`: the agent's own tools.
    Tools {
        /// Sandbox profile of their child processes.
        profile: Profile = Profile::SystemInspect,
        /// Directories that they may read.
        read_roots: Vec<AbsolutePath> = Vec::new(),
        /// Local ports that they may reach.
        ports: Vec<u16> = Vec::new(),
        /// Behaviour where this host cannot enforce a part of their sandbox.
        unenforced: Unenforced = Unenforced::Refuse,
    }
    /// `[log]`.
    Log {
        /// How lines look.
        format: LogFormat = LogFormat::Text,
        /// Which lines there are.
        level: LogLevel = LogLevel::Info,
    }
    /// `[knowledge]`: the knowledge base.
    Knowledge {
        /// Whether there is one.
        enabled: bool = true,
        /// Whether manual pages and /usr/share/doc are indexed when somebody first searches.
        host_documents: bool = true,
        /// The model whose embeddings re-rank what a search found; none if empty.
        embedding_model: String = String::new(),
        /// Where it answers, without /embeddings; the address and the key of [model] if absent.
        embedding_url: Option<BaseUrl> = None,
        /// Where the key of that address is kept.
        embedding_key: Option<SecretRef> = None,
        /// The longest that a search waits for it.
        embedding_timeout: Span = Span::seconds(2),
    }
    /// `[telemetry]`: OpenTelemetry spans, without any text of people, models, files or commands.
    Telemetry {
        /// The place that they are sent to.
        exporter: TelemetryExporter = TelemetryExporter::Off,
        /// The file of the exporter jsonl; /dev/stdout is the journal.
        file: AbsolutePath = AbsolutePath::of("/var/lib/postern/spans.jsonl"),
        /// The collector of the exporter otlp, without /v1/traces.
        endpoint: BaseUrl = BaseUrl::of("http://127.0.0.1:4318"),
    }
}

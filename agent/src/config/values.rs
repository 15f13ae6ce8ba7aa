//! Values of the configuration: each can stand in the file and in an environment variable.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A value that an environment variable can hold.
pub trait Value: Sized {
    /// Parses the value.
    ///
    /// # Errors
    /// The expected form.
    fn from_text(text: &str) -> Result<Self, String>;
}

macro_rules! by_from_str {
    ($($type:ty = $what:literal)+) => {
        $(impl Value for $type {
            fn from_text(text: &str) -> Result<Self, String> {
                text.parse().map_err(|_| format!("{text:?} is not {}", $what))
            }
        })+
    };
}
by_from_str! {
    bool = "true or false"
    u16 = "a whole number below 65536"
    u32 = "a whole number"
    u64 = "a whole number"
    std::num::NonZeroU32 = "a whole number above 0"
}

impl Value for String {
    fn from_text(text: &str) -> Result<Self, String> {
        Ok(text.to_owned())
    }
}

impl<T: Value> Value for Option<T> {
    fn from_text(text: &str) -> Result<Self, String> {
        if text.is_empty() { Ok(None) } else { T::from_text(text).map(Some) }
    }
}

/// In a variable, commas stand between the elements.
impl<T: Value> Value for Vec<T> {
    fn from_text(text: &str) -> Result<Self, String> {
        text.split(',').filter(|part| !part.is_empty()).map(T::from_text).collect()
    }
}

/// Words that a value can be.
macro_rules! words {
    ($($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $word:literal,)+ })+) => {
        $($(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
        pub enum $name {
            $($(#[$variant_doc])* #[serde(rename = $word)] #[value(name = $word)] $variant,)+
        }

        impl Value for $name {
            fn from_text(text: &str) -> Result<Self, String> {
                match text {
                    $($word => Ok(Self::$variant),)+
                    _ => Err(postern_text::unknown("word", text, [$($word),+])),
                }
            }
        })+
    };
}

words! {
    /// Model provider.
    Provider {
        /// No model: plain imperative orders.
        Offline = "offline",
        /// An endpoint of the form of `OpenAI`'s chat completions.
        Openai = "openai",
        /// An endpoint of the form of Anthropic's messages.
        Anthropic = "anthropic",
        /// Replies from a file, one after the other: for trying without a model.
        Scripted = "scripted",
    }
    /// Wire name of the limit of an answer's tokens.
    TokenParameter {
        /// Known to most servers.
        MaxTokens = "max_tokens",
        /// Required by newer models of `OpenAI`.
        MaxCompletionTokens = "max_completion_tokens",
    }
    /// Response format requested from the endpoint, where calls are text.
    ResponseFormat {
        /// The strictest that the endpoint does not refuse.
        Auto = "auto",
        /// A JSON Schema.
        JsonSchema = "json_schema",
        /// Any JSON object.
        JsonObject = "json_object",
        /// Nothing.
        Off = "off",
    }
    /// Sandbox profile of a tool's child process.
    Profile {
        /// There are no such children.
        None = "none",
        /// Read below the read roots.
        ReadOnly = "read_only",
        /// Besides, look at the system.
        SystemInspect = "system_inspect",
        /// Besides, write in a directory of its own.
        WorkspaceWrite = "workspace_write",
    }
    /// Behaviour where this host cannot enforce a part of the sandbox.
    Unenforced {
        /// Nothing is run.
        Refuse = "refuse",
        /// It is run, and its result says what was not in force.
        Report = "report",
    }
    /// An event that a webhook's messages are about.
    WebhookEvent {
        /// A request waits for an operator's approval.
        Waiting = "waiting",
        /// A task ended, however it did.
        Completed = "completed",
    }
    /// The place that spans are sent to.
    TelemetryExporter {
        /// None: no spans are made.
        Off = "off",
        /// A file with one OTLP message a line.
        Jsonl = "jsonl",
        /// A collector, over OTLP/HTTP.
        Otlp = "otlp",
    }
    /// How log lines look.
    LogFormat {
        /// Words.
        Text = "text",
        /// One JSON object a line.
        Json = "json",
    }
    /// Which log lines there are.
    LogLevel {
        /// Failures.
        Error = "error",
        /// And what deserves a look.
        Warn = "warn",
        /// And what happens.
        Info = "info",
        /// And how.
        Debug = "debug",
        /// And everything else.
        Trace = "trace",
    }
}

/// Serde by way of text, so that file and environment say the same.
macro_rules! as_text {
    ($($type:ty)+) => {
        $(impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Self::from_text(&String::deserialize(deserializer)?).map_err(de::Error::custom)
            }
        }

        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        })+
    };
}
as_text! { Span BaseUrl WebhookUrl SecretRef AbsolutePath Loopback }

/// A time such as `30s` or `5m`, above 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span(pub Duration);

impl Span {
    /// So many seconds.
    #[must_use]
    pub const fn seconds(seconds: u64) -> Self {
        Self(Duration::from_secs(seconds))
    }
}

impl Value for Span {
    fn from_text(text: &str) -> Result<Self, String> {
        match humantime::parse_duration(text) {
            Ok(span) if !span.is_zero() => Ok(Self(span)),
            Ok(_) | Err(_) => Err(format!("{text:?} is no time above 0 such as \"30s\" or \"5m\"")),
        }
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        humantime::format_duration(self.0).fmt(f)
    }
}

/// Where an endpoint is, without a slash at the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaseUrl(String);

impl BaseUrl {
    /// One of the program's own.
    pub(super) fn of(url: &'static str) -> Self {
        Self(url.to_owned())
    }

    /// The URL of a path below it.
    #[must_use]
    pub fn join(&self, path: &str) -> String {
        format!("{}/{path}", self.0)
    }

    /// It is without TLS.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.0.starts_with("http:")
    }

    /// It is on this host.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        let url = reqwest::Url::parse(&self.0).ok();
        let host = url.as_ref().and_then(reqwest::Url::host_str).unwrap_or_default();
        let address = host.trim_matches(['[', ']']).parse::<std::net::IpAddr>();
        host == "localhost" || address.is_ok_and(|address| address.is_loopback())
    }
}

impl Value for BaseUrl {
    fn from_text(text: &str) -> Result<Self, String> {
        let url = web_url(text, "base URL", "http:// or https://")?;
        if has_login(&url) {
            return Err("no name or password belongs into the base URL: give a key".to_owned());
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err("the base URL must end with its path".to_owned());
        }
        Ok(Self(url.as_str().trim_end_matches('/').to_owned()))
    }
}

impl fmt::Display for BaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// An http or https URL with a host.
fn web_url(text: &str, what: &str, beginning: &str) -> Result<reqwest::Url, String> {
    // The text is not repeated where a password may stand in it.
    let url = reqwest::Url::parse(text).map_err(|e| format!("the {what} cannot be read: {e}"))?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err(format!("the {what} must begin with {beginning} and name a host"));
    }
    Ok(url)
}

fn has_login(url: &reqwest::Url) -> bool {
    !url.username().is_empty() || url.password().is_some()
}

/// The URL that a webhook's messages are posted to, exactly as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookUrl(BaseUrl);

impl WebhookUrl {
    /// The URL.
    #[must_use]
    pub fn url(&self) -> &BaseUrl {
        &self.0
    }
}

impl Value for WebhookUrl {
    fn from_text(text: &str) -> Result<Self, String> {
        let url = web_url(text, "webhook's URL", "https://")?;
        if has_login(&url) || url.fragment().is_some() {
            return Err("the webhook's URL takes no user name, password or fragment".to_owned());
        }
        let url = Self(BaseUrl(url.as_str().to_owned()));
        if url.0.is_plain() && !url.0.is_loopback() {
            return Err("the webhook's URL must begin with https:// unless it is on this host".to_owned());
        }
        Ok(url)
    }
}

impl fmt::Display for WebhookUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Where a secret is kept; never the secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SecretRef {
    /// A credential that systemd passes to the unit.
    Credential(String),
    /// A file that only its owner may read.
    File(PathBuf),
    /// An environment variable.
    Env(String),
}

impl Value for SecretRef {
    fn from_text(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            Some(("credential", name)) if is_name(name) => Ok(Self::Credential(name.to_owned())),
            Some(("file", path)) if path.starts_with('/') => Ok(Self::File(path.into())),
            Some(("env", name)) if is_name(name) => Ok(Self::Env(name.to_owned())),
            // It may be the secret itself: it is not repeated.
            Some(_) | None => {
                Err("a secret is named as credential:NAME, file:/PATH or env:NAME, and does not \
                                   stand here itself"
                    .to_owned())
            }
        }
    }
}

/// A name that is no path and no other option.
fn is_name(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with('.')
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'))
}

impl fmt::Display for SecretRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Credential(name) => write!(f, "credential:{name}"),
            Self::File(path) => write!(f, "file:{}", path.display()),
            Self::Env(name) => write!(f, "env:{name}"),
        }
    }
}

/// A path from the root on, without `..`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AbsolutePath(PathBuf);

impl Value for AbsolutePath {
    fn from_text(text: &str) -> Result<Self, String> {
        let path = Path::new(text);
        let is_plain = !path.components().any(|part| part == std::path::Component::ParentDir);
        if path.is_absolute() && is_plain && !text.contains('\0') {
            Ok(Self(path.to_owned()))
        } else {
            Err(format!("{text:?} is no absolute path without .."))
        }
    }
}

impl AbsolutePath {
    /// One of the program's own.
    pub(super) fn of(path: &'static str) -> Self {
        Self(path.into())
    }

    /// The path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl fmt::Display for AbsolutePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.display().fmt(f)
    }
}

/// An address and a port of this host itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loopback(pub std::net::SocketAddr);

impl Value for Loopback {
    fn from_text(text: &str) -> Result<Self, String> {
        match text.parse::<std::net::SocketAddr>() {
            Ok(address) if address.ip().is_loopback() => Ok(Self(address)),
            Ok(_) | Err(_) => {
                Err(format!("{text:?} is no loopback address with a port such as 127.0.0.1:9000"))
            }
        }
    }
}

impl fmt::Display for Loopback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

//! `/etc/postern/agent.toml`: what root configures of the agent.
//!
//! Strict: an unknown key is an error with its line, so that no limit is believed to hold that nobody reads.
//! A variable `POSTERN_TABLE_KEY` of the environment stands over the file.

pub mod clock;
pub(crate) mod host;
pub mod model_extra;
pub mod secret;
pub mod secrets;
pub(crate) mod site_prompt;
pub mod tables;
pub mod values;

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::Path;
use tables::{Http, Knowledge, Limits, Log, Model, Retry, Table, Telemetry, Tools, Webhook};
use toml::Spanned;
use values::{Provider, SecretRef, Span};

/// The agent's configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Config {
    /// Provider and endpoint of the model.
    pub model: Model,
    /// Retries when a model's endpoint fails temporarily.
    pub retry: Retry,
    /// Limits of a task.
    pub limits: Limits,
    /// The service beyond its socket.
    pub http: Http,
    /// Signed messages about requests that wait and tasks that ended.
    pub webhook: Webhook,
    /// The agent's own tools.
    pub tools: Tools,
    /// The log.
    pub log: Log,
    /// The knowledge base.
    pub knowledge: Knowledge,
    /// OpenTelemetry spans.
    pub telemetry: Telemetry,
    /// How a request that waits for approval is told.
    pub approvals: Approvals,
    /// Secrets that calls can name, and the calls that may.
    pub secrets: BTreeMap<String, secrets::Row>,
}

/// `[approvals]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Approvals {
    /// A program and its arguments, started for each request that comes to wait; empty = none.
    pub hook: Vec<String>,
    /// The longest that it may take.
    pub hook_timeout: Span,
}

impl Default for Approvals {
    fn default() -> Self {
        Self { hook: Vec::new(), hook_timeout: Span::seconds(10) }
    }
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct File {
    approvals: ApprovalsTable,
    model: Model,
    retry: Retry,
    limits: Limits,
    http: Http,
    webhook: Webhook,
    tools: Tools,
    log: Log,
    knowledge: Knowledge,
    telemetry: Telemetry,
    secrets: BTreeMap<Spanned<String>, secrets::Row>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct ApprovalsTable {
    hook: Option<Spanned<Vec<String>>>,
    hook_timeout: Option<Span>,
}

/// Reads the configuration: the file, and this process's environment over it. A file that is not there
/// configures nothing.
///
/// # Errors
/// One line: the file with the line in it or the variable, and what is wrong there.
pub fn read(path: &Path) -> Result<Config, String> {
    read_under(path, std::env::vars_os())
}

/// The same with an environment that is given.
///
/// # Errors
/// As above.
pub fn read_under(
    path: &Path,
    environment: impl IntoIterator<Item = (OsString, OsString)>,
) -> Result<Config, String> {
    let name = path.display();
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(e) if e.kind() == ErrorKind::NotFound => String::new(),
        Err(e) => return Err(format!("cannot read {name}: {e}")),
    };
    let mut config = parse(&text).map_err(|(at, why)| {
        let line = text.get(..at).unwrap_or_default().matches('\n').count() + 1;
        format!("{name}:{line}: {}", why.replace('\n', " "))
    })?;
    for (variable, value) in environment {
        let Some(variable) = variable.to_str() else { continue };
        let Some((table, key)) = config.table(variable) else { continue };
        let value = value.to_str().ok_or_else(|| format!("{variable}: not UTF-8"))?;
        table.set(&key, value).map_err(|why| format!("{variable}: {why}"))?;
    }
    let Config { model, http, webhook, knowledge, .. } = &config;
    let whole = model.whole().and_then(|()| http.whole()).and_then(|()| webhook.whole());
    let whole = whole.and_then(|()| knowledge.whole(model.provider));
    whole.map_err(|why| format!("{name}: {why}"))?;
    Ok(config)
}

impl Config {
    /// Lists the agent's own keys, which no model may read. A new table with a key gets an entry here.
    pub fn own_keys(&self) -> impl Iterator<Item = &SecretRef> {
        let keys = [&self.model.key, &self.http.token, &self.webhook.secret, &self.knowledge.embedding_key];
        keys.into_iter().flatten()
    }

    /// The table and the key that a variable stands for; `None` for a variable of somebody else.
    fn table(&mut self, variable: &str) -> Option<(&mut dyn Table, String)> {
        let (table, key) = variable.strip_prefix("POSTERN_")?.split_once('_')?;
        let table: &mut dyn Table = match table {
            "MODEL" => &mut self.model,
            "RETRY" => &mut self.retry,
            "LIMITS" => &mut self.limits,
            "HTTP" => &mut self.http,
            "WEBHOOK" => &mut self.webhook,
            "TOOLS" => &mut self.tools,
            "LOG" => &mut self.log,
            "KNOWLEDGE" => &mut self.knowledge,
            "TELEMETRY" => &mut self.telemetry,
            _ => return None,
        };
        Some((table, key.to_ascii_lowercase()))
    }
}

impl Model {
    /// # Errors
    /// A key is missing that the provider needs.
    fn whole(&self) -> Result<(), String> {
        if self.provider == Provider::Anthropic && self.name.is_empty() {
            return Err("the provider anthropic needs a model: give name in [model]".to_owned());
        }
        if self.provider == Provider::Scripted && self.script.is_none() {
            return Err("the provider scripted needs its replies: give script in [model]".to_owned());
        }
        self.extra.whole()
    }
}

impl Http {
    fn whole(&self) -> Result<(), String> {
        if self.tcp.is_some() && self.token.is_none() {
            return Err("tcp needs a token, since whoever reaches it could give tasks: give token in [http]"
                .to_owned());
        }
        Ok(())
    }
}

impl Knowledge {
    fn whole(&self, provider: Provider) -> Result<(), String> {
        let has_model = !self.embedding_model.is_empty();
        let why = match (&self.embedding_url, &self.embedding_key) {
            (None, Some(_)) => {
                "embedding_key is without embedding_url: give embedding_url in [knowledge], or leave embedding_key out \
                 to have the address and the key of [model]"
            }
            (Some(_), _) if !has_model => {
                "embedding_url is without embedding_model: give embedding_model in [knowledge]"
            }
            (None, None) if has_model && provider != Provider::Openai => {
                "embedding_model needs an address: give embedding_url in [knowledge], since [model] has no endpoint of \
                 the provider openai"
            }
            (None | Some(_), None | Some(_)) => return Ok(()),
        };
        Err(why.to_owned())
    }
}

impl Webhook {
    fn whole(&self) -> Result<(), String> {
        let why = match (&self.url, &self.secret) {
            (None, Some(_)) => "secret is without url: give url in [webhook]",
            (Some(_), None) => {
                "a webhook needs a secret, since nobody could tell its messages from forged ones: give secret \
                 in [webhook]"
            }
            (Some(_), Some(_)) if self.events.is_empty() => {
                "events is empty in [webhook]: leave it out to have all, or leave out url to have none"
            }
            (None, None) | (Some(_), Some(_)) => return Ok(()),
        };
        Err(why.to_owned())
    }
}

/// The error has the byte that it is about.
fn parse(text: &str) -> Result<Config, (usize, String)> {
    let file: File = toml::from_str(text)
        .map_err(|e| (e.span().map_or(0, |span| span.start), postern_text::with_nearest(e.message())))?;
    let File { approvals, model, retry, limits, http, webhook, tools, log, knowledge, telemetry, secrets } =
        file;
    let hook = approvals.hook.map(hook).transpose()?.unwrap_or_default();
    let time = approvals.hook_timeout.unwrap_or(Approvals::default().hook_timeout);
    let approvals = Approvals { hook, hook_timeout: time };
    let secrets = secrets.into_iter().map(secret_row).collect::<Result<_, _>>()?;
    Ok(Config { model, retry, limits, http, webhook, tools, log, knowledge, telemetry, approvals, secrets })
}

fn secret_row(
    (name, row): (Spanned<String>, secrets::Row),
) -> Result<(String, secrets::Row), (usize, String)> {
    let at = name.span().start;
    let name = name.into_inner();
    let is_name = |name: &str| {
        !name.is_empty()
            && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"_-".contains(&b))
    };
    if !is_name(&name) {
        return Err((
            at,
            format!("{name:?} is no name of a secret: small letters, digits, _ and - make one"),
        ));
    }
    row.whole().map_err(|why| (at, format!("secrets.{name}: {why}")))?;
    Ok((name, row))
}

fn hook(hook: Spanned<Vec<String>>) -> Result<Vec<String>, (usize, String)> {
    let at = hook.span().start;
    let hook = hook.into_inner();
    match hook.first() {
        None => Err((at, "hook is empty: leave it out to have none".to_owned())),
        Some(program) if !program.starts_with('/') => {
            Err((at, format!("the hook's program must be an absolute path, not {program:?}")))
        }
        Some(_) if hook.iter().any(|word| word.contains('\0')) => {
            Err((at, "hook holds a zero byte".to_owned()))
        }
        Some(_) => Ok(hook),
    }
}

//! Which model makes the steps of a task: a block of `agent.toml` between two marks.

use super::answers::line;
use super::args::{InitArgs, Provider};
use crate::file::{self, Access};
use crate::host::{Host, ModelPorts};
use crate::io::{Exit, Io};
use crate::packs::CommandError;
use crate::text::escape;
use clap::ValueEnum;
use std::fs;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

/// Lines around the block, so that it is found again.
const BEGIN: &str =
    "# Written by `postern-admin init`; an edit between these two lines is lost at the next run.\n";
const END: &str = "# End of what `postern-admin init` wrote.\n";
/// How long an endpoint on loopback has to answer.
const PATIENCE: Duration = Duration::from_secs(2);
/// Most bytes of its answer.
const ANSWER_MAX: u64 = 256 * 1024;

/// Asks the fifth question and writes the answer.
pub fn ask(host: &Host, args: &InitArgs, io: &mut Io<'_>) -> Result<Exit, CommandError> {
    let path = host.etc.join("agent.toml");
    let before = fs::read_to_string(&path).map_err(|error| told(format!("{}: {error}", path.display())))?;
    let rest = without_block(&before);
    if rest.lines().any(|line| line.trim() == "[model]") {
        writeln!(io.out, "model: agent.toml has a [model] of your own, which stays")?;
        return Ok(Exit::Done);
    }
    let has_block = rest.len() != before.len();
    let provider = match args.model {
        Some(provider) => provider,
        None if has_block && line(io, "5/5 A model is set up already. Change it? [y/N] ")? != "y" => {
            return Ok(Exit::Done);
        }
        None => choose(host.model_ports, io)?,
    };
    let text = match block(provider, (host.model_ports, args), io)? {
        Some(block) => format!("{}\n{BEGIN}{block}{END}", rest.trim_end()),
        None => rest.trim_end().to_owned(),
    };
    let text = format!("{}\n", text.trim_end());
    if text == before {
        writeln!(io.out, "model: {} (as before)", provider.name())?;
        return Ok(Exit::Done);
    }
    replace(&path, &text).map_err(|error| told(format!("{}: {error}", path.display())))?;
    let postern = host.programs.postern.clone();
    if let Err(why) = host.programs.change(&postern, &["config", "check"]) {
        replace(&path, &before).map_err(|error| told(format!("{}: {error}", path.display())))?;
        return Err(told(format!("agent.toml stays as it was: {why}")));
    }
    let restarted = host.programs.change(&host.programs.systemctl, &["restart", "postern-agent.service"]);
    restarted.map_err(told)?;
    writeln!(io.out, "model: {}; the agent was restarted. To try it: postern model test", provider.name())?;
    Ok(Exit::Done)
}

fn told(why: String) -> CommandError {
    CommandError::Message(Exit::Failed, why)
}

/// Asks for a provider; what answers on loopback is proposed.
fn choose(ports: ModelPorts, io: &mut Io<'_>) -> Result<Provider, CommandError> {
    let mut local = [Provider::Ollama, Provider::LlamaCpp].into_iter();
    let here = local.find(|provider| provider.port(ports).is_some_and(|port| models(port).is_ok()));
    let proposed = here.unwrap_or(Provider::None);
    let words =
        Provider::value_variants().iter().map(|provider| provider.name()).collect::<Vec<_>>().join(", ");
    loop {
        let question = format!(
            "5/5 Which model makes the steps of a task ({words})? Without one plain orders are understood. [{}] ",
            proposed.name()
        );
        let answer = line(io, &question)?;
        if answer.is_empty() {
            return Ok(proposed);
        }
        match Provider::value_variants().iter().find(|provider| provider.name() == answer) {
            Some(provider) => return Ok(*provider),
            None => writeln!(io.err, "{answer:?} is none of {words}")?,
        }
    }
}

/// The lines of `[model]`; none without a model.
fn block(
    provider: Provider,
    (ports, args): (ModelPorts, &InitArgs),
    io: &mut Io<'_>,
) -> Result<Option<String>, CommandError> {
    if provider == Provider::None {
        return Ok(None);
    }
    let api = if provider == Provider::Anthropic { "anthropic" } else { "openai" };
    let mut lines = vec!["[model]".to_owned(), format!("provider = {}", quoted(api)?)];
    let port = provider.port(ports);
    let local = port.map(|port| format!("http://127.0.0.1:{port}/v1"));
    if let Some(url) = args.model_url.clone().or(local) {
        lines.push(format!("base_url = {}", quoted(&url)?));
    }
    // A URL names another server than the one on the usual port.
    let known = port.filter(|_| args.model_url.is_none()).map(models).transpose().unwrap_or_default();
    let first = known.and_then(|models| models.first().cloned());
    let name = match (&args.model_name, first) {
        (Some(name), _) => name.clone(),
        (None, Some(first)) if io.answers.is_none() => first,
        (None, None) if io.answers.is_none() => {
            return Err(CommandError::Message(
                Exit::Usage,
                "no endpoint names its models: give --model-name NAME".to_owned(),
            ));
        }
        (None, first) => {
            let first = first.unwrap_or_default();
            let answer = line(io, &format!("The model's name there? [{}] ", escape(&first)))?;
            if answer.is_empty() { first } else { answer }
        }
    };
    lines.push(format!("name = {}", quoted(&name)?));
    let key = match (&args.model_key, port) {
        (Some(file), _) => Some(file.clone()),
        (None, Some(_)) => None,
        (None, None) if io.answers.is_none() => {
            return Err(CommandError::Message(
                Exit::Usage,
                "the endpoint needs a key: give --model-key FILE".to_owned(),
            ));
        }
        (None, None) => Some(line(io, "The file with its key (of root or postern, mode 0600)? ")?),
    };
    if let Some(file) = key {
        if !file.starts_with('/') {
            let why = format!("the file with the key is no absolute path: {file:?}");
            return Err(CommandError::Message(Exit::Usage, why));
        }
        lines.push(format!("key = {}", quoted(&format!("file:{file}"))?));
    }
    Ok(Some(lines.join("\n") + "\n"))
}

/// A value as TOML writes it. A control character or quote is in no name, address or path that is meant.
fn quoted(value: &str) -> Result<String, CommandError> {
    let is_plain = !value.is_empty() && !value.contains(['"', '\\']) && !value.chars().any(char::is_control);
    if is_plain {
        return Ok(format!("\"{value}\""));
    }
    Err(CommandError::Message(Exit::Usage, format!("{value:?} cannot be written into agent.toml")))
}

/// The text without the block of an earlier run.
fn without_block(text: &str) -> String {
    let Some((before, rest)) = text.split_once(BEGIN) else {
        return text.to_owned();
    };
    // Without its end the block is somebody's edit: it stays.
    rest.split_once(END).map_or_else(|| text.to_owned(), |(_, after)| format!("{before}{after}"))
}

/// Asks an endpoint on loopback for its models, in HTTP/1.0: no connection is kept.
fn models(port: u16) -> io::Result<Vec<String>> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    write!(stream, "GET /v1/models HTTP/1.0\r\nHost: localhost\r\nAccept: application/json\r\n\r\n")?;
    let mut answer = String::new();
    stream.take(ANSWER_MAX).read_to_string(&mut answer)?;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_default();
    let list: serde_json::Value = serde_json::from_str(body)?;
    // Any other program may have the port.
    let is_list = head.split(' ').nth(1) == Some("200") && list.get("data").is_some();
    if !is_list {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let ids = list["data"].as_array().into_iter().flatten().filter_map(|model| model["id"].as_str());
    Ok(ids.filter(|id| id.chars().all(|c| c.is_ascii_graphic())).map(str::to_owned).collect())
}

/// Replaces the file whole, with the owner, group and mode that it had.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    let facts = fs::symlink_metadata(path)?;
    let access = Access { uid: Some(facts.uid()), gid: Some(facts.gid()), mode: facts.mode() };
    file::replace(path, text.as_bytes(), access)
}

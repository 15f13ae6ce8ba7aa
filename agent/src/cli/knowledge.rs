//! `postern kb`. Files are read as the person who runs it and sent to the agent, which opens none of them.

use super::session::Session;
use super::subcommands::Knowledge;
use crate::knowledge::{Added, DOCUMENT_LIMIT, Hit, Indexing, Listed, Status};
use crate::protocol::event::AgentError;
use crate::protocol::exit::Exit;
use flate2::read::MultiGzDecoder;
use hyper::Method;
use nix::fcntl::OFlag;
use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde::Deserialize;
use serde_json::{Value, json};
use std::fs::OpenOptions;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Most files that one call adds, and most directories within each other.
const FILES_LIMIT: usize = 10_000;
const DEPTH_LIMIT: usize = 16;

#[derive(Deserialize)]
struct Found {
    results: Vec<Hit>,
    not_reranked: Option<String>,
    indexing: Indexing,
}

impl Session<'_> {
    pub(super) async fn knowledge(&mut self, command: Knowledge) -> Exit {
        if self.global.direct {
            let why = "the knowledge base is the agent's; leave --direct out";
            return self.fail(&AgentError::new("invalid_argument", why));
        }
        let path = match &command {
            Knowledge::Add { paths, name } => return self.add_documents(paths, name.as_deref()).await,
            Knowledge::List => "/knowledge".to_owned(),
            Knowledge::Status => "/knowledge/status".to_owned(),
            Knowledge::Remove { document } => format!("/knowledge?document={}", encoded(document)),
            Knowledge::Search { question, limit } => {
                let limit = limit.map_or_else(String::new, |limit| format!("&limit={limit}"));
                format!("/knowledge/search?q={}{limit}", encoded(&question.join(" ")))
            }
        };
        let method = if matches!(command, Knowledge::Remove { .. }) { Method::DELETE } else { Method::GET };
        let agent = self.agent();
        let answer = match self.call(&agent, method, &path, None).await {
            Ok(answer) => answer.body,
            Err(fault) => return self.fail(&fault),
        };
        if self.global.json.is_some() {
            self.console.json(&answer);
            return Exit::Done;
        }
        match self.show_knowledge(&command, answer) {
            Ok(()) => Exit::Done,
            Err(error) => {
                let why = format!("the agent's answer cannot be read: {error}");
                self.fail(&AgentError::new("internal", why))
            }
        }
    }

    fn show_knowledge(&mut self, command: &Knowledge, answer: Value) -> serde_json::Result<()> {
        let mut line = |text: &str| self.console.result(&format!("{}\n", postern_text::line(text)));
        match command {
            Knowledge::Add { .. } => {}
            Knowledge::Remove { .. } => {
                line(&format!("removed {}", answer["removed"].as_str().unwrap_or_default()));
            }
            Knowledge::List => {
                for Listed { id, origin, source, title, bytes, .. } in
                    serde_json::from_value::<Vec<_>>(answer)?
                {
                    line(&format!("{id} {} {source} ({bytes} bytes): {title}", origin.word()));
                }
            }
            Knowledge::Status => {
                let Status { state, documents, bytes, host_documents, chunks, reranking, indexing } =
                    serde_json::from_value(answer)?;
                line(&format!("state      {state}"));
                line(&format!("yours      {documents} documents, {bytes} bytes"));
                line(&format!("everybody  {host_documents} documents"));
                line(&format!("index      {chunks} parts that you can find"));
                line(&format!("re-ranking {reranking}"));
                if let Some(why) = &indexing.why {
                    line(&format!("left out   {} files, such as {why}", indexing.left_out));
                }
                if indexing.running {
                    line(&format!("indexing   {} of {}", indexing.done, indexing.total));
                }
            }
            Knowledge::Search { .. } => {
                let Found { results, not_reranked, indexing } = serde_json::from_value(answer)?;
                for hit in &results {
                    self.show_hit(hit);
                }
                if results.is_empty() {
                    self.console.say("nothing was found");
                }
                if let Some(why) = not_reranked {
                    self.console.say(&postern_text::line(&format!("the results are not re-ranked: {why}")));
                }
                if indexing.running {
                    let Indexing { done, total, .. } = indexing;
                    self.console.say(&format!(
                        "the host's documents are being indexed ({done} of {total}); search again later for more"
                    ));
                }
            }
        }
        Ok(())
    }

    fn show_hit(&mut self, hit: &Hit) {
        let heading = if hit.heading.is_empty() { String::new() } else { format!(" [{}]", hit.heading) };
        let head = format!("{}:{} {}{heading}", hit.source, hit.line, hit.title);
        self.console.result(&format!("{}\n", postern_text::line(&head)));
        for text in hit.text.lines().filter(|text| !text.trim().is_empty()).take(4) {
            self.console.result(&format!("    {}\n", postern_text::line(text.trim_end())));
        }
    }

    async fn add_documents(&mut self, paths: &[PathBuf], name: Option<&str>) -> Exit {
        let mut files = Vec::new();
        for path in paths {
            let path = match local(path) {
                Ok(path) => path,
                Err(why) => return self.fail(&AgentError::new("invalid_argument", why)),
            };
            if let Err(why) = find_files(&path, 0, &mut files) {
                return self.fail(&AgentError::new("failed", why));
            }
        }
        if name.is_some() && files.len() != 1 {
            return self.fail(&AgentError::new("invalid_argument", "--name is for one document"));
        }
        let (mut added, mut failed) = (Vec::new(), 0);
        for file in files {
            let text = if file == Path::new("-") { self.read_input() } else { read_file(&file) };
            let source = name.map_or_else(|| file.display().to_string(), str::to_owned);
            let sent = match text {
                Ok(text) => self.add_document(&source, &text).await,
                Err(why) => Err(AgentError::new("failed", format!("{source}: {why}"))),
            };
            match sent {
                Ok(one) => {
                    if self.global.json.is_none() {
                        let state = if one.unchanged { "unchanged" } else { "added" };
                        let text = format!("{state} {} {} ({} parts)", one.id, one.source, one.chunks);
                        self.console.result(&format!("{}\n", postern_text::line(&text)));
                    }
                    if one.redacted > 0 {
                        let text = format!("{} credentials were taken out of {}", one.redacted, one.source);
                        self.console.say(&postern_text::line(&text));
                    }
                    added.push(one);
                }
                // The others may be well.
                Err(fault) => {
                    failed += 1;
                    self.console.say(&postern_text::line(&format!("not added: {}", fault.message)));
                }
            }
        }
        if self.global.json.is_some() {
            self.console.json(&json!({ "added": added, "failed": failed }));
        }
        match (failed, added.is_empty()) {
            (0, _) => Exit::Done,
            (_, true) => Exit::Failed,
            (_, false) => Exit::Partly,
        }
    }

    fn read_input(&mut self) -> Result<String, String> {
        bounded(&mut self.console.input)
    }

    async fn add_document(&mut self, source: &str, text: &str) -> Result<Added, AgentError> {
        let body = json!({ "source": source, "text": text });
        let agent = self.agent();
        let answer = self.call(&agent, Method::POST, "/knowledge", Some(&body)).await?;
        serde_json::from_value(answer.body).map_err(|error| {
            AgentError::new("internal", format!("the agent's answer cannot be read: {error}"))
        })
    }
}

fn encoded(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}

/// The path of a `file:` URL or a path; other URLs are fetched by the person's own programs.
fn local(path: &Path) -> Result<PathBuf, String> {
    let text = path.to_string_lossy();
    if let Some(rest) = text.strip_prefix("file://") {
        return Ok(PathBuf::from(percent_decode_str(rest).decode_utf8_lossy().into_owned()));
    }
    if text.contains("://") {
        return Err(format!(
            "{text} is not fetched by Postern; fetch it and add its text: curl -s {text} | postern kb add - --name {text}"
        ));
    }
    if path == Path::new("-") {
        return Ok(path.to_owned());
    }
    std::path::absolute(path).map_err(|error| format!("{text}: {error}"))
}

/// Finds the text files at a path that the person names; below a directory no symbolic link is followed.
fn find_files(path: &Path, depth: usize, files: &mut Vec<PathBuf>) -> Result<(), String> {
    if path == Path::new("-") || !path.is_dir() {
        files.push(path.to_owned());
        return Ok(());
    }
    let cannot = |error: std::io::Error| format!("{}: {error}", path.display());
    let mut entries =
        std::fs::read_dir(path).map_err(cannot)?.collect::<Result<Vec<_>, _>>().map_err(cannot)?;
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let (name, below) = (entry.file_name(), entry.path());
        let Ok(kind) = entry.file_type() else { continue };
        let name = name.to_string_lossy();
        if name.starts_with('.') {
            continue;
        }
        if kind.is_dir() && depth < DEPTH_LIMIT {
            find_files(&below, depth + 1, files)?;
        } else if kind.is_file() && is_document(&name) {
            files.push(below);
        }
        if files.len() > FILES_LIMIT {
            return Err(format!("{} has more than {FILES_LIMIT} documents; add its parts", path.display()));
        }
    }
    Ok(())
}

/// Whether a file below a directory is a document by its name.
fn is_document(name: &str) -> bool {
    let name = name.strip_suffix(".gz").unwrap_or(name).to_ascii_lowercase();
    let end = name.rsplit_once('.').map_or("", |(_, end)| end);
    name.starts_with("readme")
        || matches!(end, "md" | "markdown" | "txt" | "text" | "rst" | "log" | "adoc" | "org")
        || end.starts_with(|c: char| ('1'..='9').contains(&c)) && end.len() <= 4
}

fn read_file(path: &Path) -> Result<String, String> {
    // A FIFO would wait for its writer.
    let file = OpenOptions::new().read(true).custom_flags(OFlag::O_NONBLOCK.bits()).open(path);
    let mut file = file.map_err(|error| error.to_string())?;
    if !file.metadata().is_ok_and(|facts| facts.is_file()) {
        return Err("it is no regular file".to_owned());
    }
    if path.extension().is_some_and(|end| end == "gz") {
        // A legal file may hold millions of empty members: what goes in is bounded too.
        return bounded(&mut MultiGzDecoder::new(file.take(DOCUMENT_LIMIT as u64)));
    }
    bounded(&mut file)
}

fn bounded(from: &mut dyn Read) -> Result<String, String> {
    let mut bytes = Vec::new();
    from.take(DOCUMENT_LIMIT as u64 + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() > DOCUMENT_LIMIT {
        return Err(format!("it is larger than {} MiB; add it in parts", DOCUMENT_LIMIT >> 20));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

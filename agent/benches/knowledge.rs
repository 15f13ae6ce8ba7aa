//! Measures the knowledge base: `cargo bench -p postern-agent --bench knowledge`.
//!
//! Prints rows of BENCHMARKS.md. `POSTERN_MAN` is a directory in place of `/` for the manual pages of the questions;
//! `POSTERN_MISSED=1` prints the questions that are not answered, and ends there; `POSTERN_KEEP` is a path to which the index of the
//! manual pages is copied; `POSTERN_EMBEDDINGS` is the address of an endpoint whose embeddings re-rank the results.

#[path = "../tests/knowledge/questions.rs"]
mod questions;

use flate2::read::MultiGzDecoder;
use postern_agent::Host;
use postern_agent::config::Config;
use postern_agent::config::tables::{Knowledge, Model};
use postern_agent::config::values::{BaseUrl, Span, Value as _};
use postern_agent::knowledge::{KnowledgeBase, Limits};
use postern_agent::protocol::owner::Owner;
use postern_agent::redaction::Secrets;
use std::fmt::Write;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const OWNER: Owner = Owner::Uid(1000);
/// The corpus: so many documents of so many bytes.
const DOCUMENTS: usize = 10_000;
const BYTES: usize = 10_000;
/// Times that each question is asked.
const ROUNDS: usize = 3;

fn base(root: &Path, state: &Path) -> KnowledgeBase {
    let host = Host {
        root: root.to_owned(),
        state: state.to_owned(),
        config: state.join("agent.toml"),
        ..Host::default()
    };
    let mut knowledge = Knowledge::default();
    if let Ok(url) = std::env::var("POSTERN_EMBEDDINGS") {
        "any".clone_into(&mut knowledge.embedding_model);
        knowledge.embedding_url = Some(BaseUrl::from_text(&url).expect("an address"));
        knowledge.embedding_timeout = Span::seconds(60);
    }
    let (secrets, _) = Secrets::fetch(&Config::default()).expect("no secrets");
    KnowledgeBase::open(&host, &knowledge, &Model::default(), secrets, Limits::default())
}

/// Searches, and waits until all documents are indexed.
async fn index(base: &KnowledgeBase) -> Duration {
    let begin = Instant::now();
    base.search(OWNER, "postern", None).await.expect("an answer");
    while base.indexing().running {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    begin.elapsed()
}

/// Sizes of the database and its log.
fn size(state: &Path) -> u64 {
    let files = std::fs::read_dir(state).expect("the state").flatten();
    files.map(|file| file.metadata().map_or(0, |facts| facts.len())).sum()
}

/// The texts of manual pages, in pieces of the wanted size.
fn pieces(man: &Path) -> Vec<String> {
    let mut pages: Vec<PathBuf> = ["man1", "man5", "man7", "man8"]
        .iter()
        .flat_map(|section| std::fs::read_dir(man.join("usr/share/man").join(section)).into_iter().flatten())
        .flatten()
        .filter(|file| file.file_type().is_ok_and(|kind| kind.is_file()))
        .map(|file| file.path())
        .collect();
    pages.sort();
    let (mut pieces, mut piece) = (Vec::new(), String::new());
    for page in pages {
        let mut text = Vec::new();
        let packed = std::fs::File::open(&page).expect("a page");
        if MultiGzDecoder::new(packed).read_to_end(&mut text).is_err() {
            continue;
        }
        for line in String::from_utf8_lossy(&text).lines() {
            piece.push_str(line);
            piece.push('\n');
            if piece.len() >= BYTES {
                pieces.push(std::mem::take(&mut piece));
            }
        }
    }
    assert!(pieces.len() > 100, "{} has too few manual pages", man.display());
    pieces
}

/// A piece with other words: the long ones of every so many lines get a number, another one in each pass.
fn varied(piece: &str, pass: usize) -> String {
    let mut text = String::with_capacity(piece.len() + 100);
    for (at, line) in piece.lines().enumerate() {
        for word in line.split_inclusive(' ') {
            let bare = word.trim_end();
            if pass > 0
                && (at + pass).is_multiple_of(3)
                && bare.len() > 8
                && bare.bytes().all(|c| c.is_ascii_alphabetic())
            {
                let _ = write!(text, "{bare}{pass} ");
            } else {
                text.push_str(word);
            }
        }
        text.push('\n');
    }
    text
}

/// Writes the corpus: its bytes.
fn write_corpus(root: &Path, man: &Path) -> usize {
    let pieces = pieces(man);
    let mut bytes = 0;
    for number in 0..DOCUMENTS {
        let text = varied(&pieces[number % pieces.len()], number / pieces.len());
        let directory = root.join(format!("usr/share/doc/p{number:05}"));
        std::fs::create_dir_all(&directory).expect("a directory");
        std::fs::write(directory.join("README"), &text).expect("a document");
        bytes += text.len();
    }
    bytes
}

async fn figures() {
    let man = PathBuf::from(std::env::var_os("POSTERN_MAN").unwrap_or_else(|| "/".into()));
    let scratch = tempfile::tempdir().expect("a directory");
    let questions = questions::read();

    let state = scratch.path().join("recall");
    let knowledge = base(&man, &state);
    let took = index(&knowledge).await;
    let documents = knowledge.status(OWNER).await.expect("a status").host_documents;
    let missed = questions::missed(&knowledge, OWNER, &questions).await;
    println!(
        "recall@5, {documents} documents of a host, indexed in {:.1} s: {} of {}",
        took.as_secs_f64(),
        questions.len() - missed.len(),
        questions.len()
    );
    if std::env::var_os("POSTERN_MISSED").is_some() {
        for missed in &missed {
            println!("    {missed}");
        }
    }
    drop(knowledge);
    if let Some(kept) = std::env::var_os("POSTERN_KEEP") {
        std::fs::copy(state.join("knowledge.db"), kept).expect("a copy");
    }
    if std::env::var_os("POSTERN_MISSED").is_some() {
        return;
    }

    let root = scratch.path().join("root");
    let bytes = write_corpus(&root, &man);
    std::fs::create_dir_all(root.join("var/lib/dpkg")).expect("a directory");
    let state = scratch.path().join("size");
    let knowledge = base(&root, &state);
    let took = index(&knowledge).await;
    let status = knowledge.status(OWNER).await.expect("a status");
    println!(
        "index of {} documents, {} MB, {} parts: {:.1} s, {} MB on disk",
        status.host_documents,
        bytes / 1_000_000,
        status.chunks,
        took.as_secs_f64(),
        size(&state) / 1_000_000,
    );
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        for question in &questions {
            let begin = Instant::now();
            knowledge.search(OWNER, &question.ask, None).await.expect("an answer");
            times.push(begin.elapsed());
        }
    }
    times.sort();
    println!(
        "search in them: p50 {:.1} ms, p95 {:.1} ms",
        times[times.len() / 2].as_secs_f64() * 1e3,
        times[times.len() * 95 / 100].as_secs_f64() * 1e3
    );
    std::fs::write(root.join("var/lib/dpkg/status"), "changed").expect("a state");
    println!("run in which nothing changed: {:.2} s", index(&knowledge).await.as_secs_f64());
}

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(figures());
}

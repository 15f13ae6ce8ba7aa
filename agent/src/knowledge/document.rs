//! Documents, their owners and limits, and the results of a search.

use crate::protocol::owner::Owner;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Largest document, in bytes, also after unpacking.
pub const DOCUMENT_LIMIT: usize = 4 << 20;
/// Limits of each owner's documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most documents.
    pub documents: i64,
    /// Most bytes of all of them.
    pub bytes: i64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { documents: 50_000, bytes: 512 << 20 }
    }
}

/// Longest name of a source, in bytes.
pub const SOURCE_LIMIT: usize = 1024;
/// Task logs of one owner that are kept, the newest.
pub const TASK_LOGS: i64 = 200;
/// Results of a search where no number is asked for, and at most.
pub const RESULTS: (usize, usize) = (5, 20);

/// The people who find a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Everybody: the host's documentation and the site's notes.
    Host,
    /// Its owner alone.
    Owner(Owner),
}

impl Scope {
    /// Its name in the database, which is one word of the full-text index.
    #[must_use]
    pub fn name(self) -> String {
        match self {
            Self::Host => "host".to_owned(),
            Self::Owner(Owner::Uid(uid)) => format!("uid{uid}"),
            Self::Owner(Owner::Token) => "token".to_owned(),
        }
    }
}

/// Origin of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// `postern kb add`.
    Added,
    /// The log of a task.
    Task,
    /// `/etc/postern/knowledge.d`.
    Site,
    /// A manual page.
    Man,
    /// `/usr/share/doc`.
    Doc,
}

impl Origin {
    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Task => "task",
            Self::Site => "site",
            Self::Man => "man",
            Self::Doc => "doc",
        }
    }

    pub(super) fn of_word(word: &str) -> Option<Self> {
        [Self::Added, Self::Task, Self::Site, Self::Man, Self::Doc].into_iter().find(|one| one.word() == word)
    }
}

/// A document to keep.
#[derive(Clone, Debug)]
pub struct Document {
    /// Its origin.
    pub origin: Origin,
    /// Its path, URL or task, for people.
    pub source: String,
    /// The state of its file when it was read; empty without a file.
    pub stamp: String,
    /// Its text, as it was read.
    pub text: String,
}

/// Outcome of adding a document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Added {
    /// Its number.
    pub id: i64,
    /// Its name.
    pub source: String,
    /// Its parts in the index.
    pub chunks: usize,
    /// The same text was there already.
    pub unchanged: bool,
    /// Credentials that were taken out.
    pub redacted: usize,
}

/// A document in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Listed {
    /// Its number.
    pub id: i64,
    /// Its origin.
    pub origin: Origin,
    /// Its path, URL or task.
    pub source: String,
    /// Its title.
    pub title: String,
    /// Its size.
    pub bytes: i64,
    /// When it was added.
    pub added_unix_s: i64,
}

/// A part of a document that a search found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Hit {
    /// The document's number.
    pub id: i64,
    /// Its origin.
    pub origin: Origin,
    /// Its path, URL or task.
    pub source: String,
    /// Its title.
    pub title: String,
    /// The headings above the part.
    pub heading: String,
    /// Its first line in the document.
    pub line: i64,
    /// Its text, without credentials.
    pub text: String,
}

/// Outcome of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The best part of each document, the best document first.
    pub hits: Vec<Hit>,
    /// Why they are in the order of full-text search although they should be re-ranked.
    pub not_reranked: Option<String>,
}

/// How far the host's documents are indexed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Indexing {
    /// It is under way.
    pub running: bool,
    /// Documents that were looked at.
    pub done: usize,
    /// Documents in all.
    pub total: usize,
    /// Files that were left out, with the reason of the first.
    pub left_out: usize,
    /// Why one was left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// State of the knowledge base.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Status {
    /// `ok`, `off`, or what is wrong.
    pub state: String,
    /// One's own documents.
    pub documents: i64,
    /// Their bytes.
    pub bytes: i64,
    /// Documents for everybody.
    pub host_documents: i64,
    /// Parts in the index, of all that one may find.
    pub chunks: i64,
    /// Whether results are re-ranked by embeddings: `on`, `off`, or the last failure.
    pub reranking: String,
    /// Whether the host's documents are being indexed.
    pub indexing: Indexing,
}

/// Why the knowledge base did not do what was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It is not in use.
    Off(String),
    /// The document or the search is not as it must be.
    Invalid(String),
    /// A limit is reached.
    Full(String),
    /// There is no such document of this owner.
    NotFound(String),
    /// It does not work.
    Failed(String),
}

impl Fault {
    /// Its code for the wire.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Off(_) => "unavailable",
            Self::Invalid(_) => "invalid_argument",
            Self::Full(_) => "limit",
            Self::NotFound(_) => "not_found",
            Self::Failed(_) => "internal",
        }
    }

    /// Its message.
    #[must_use]
    pub fn message(&self) -> &str {
        match self {
            Self::Off(why)
            | Self::Invalid(why)
            | Self::Full(why)
            | Self::NotFound(why)
            | Self::Failed(why) => why,
        }
    }
}

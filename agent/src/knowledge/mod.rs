//! The knowledge base: documents of people, past tasks, site notes and the host's own documentation, found by full-text
//! search (`SQLite` FTS5, BM25).
//!
//! A document belongs to its owner or to the host. Every query names the owner twice: in the full-text expression, and in
//! the join with the documents. The base is a file of its own, `knowledge.db`, so that indexing locks no task's record.
//! Reading and writing happen on threads that may block. Credentials are taken out before a text is kept.

mod base;
mod chunks;
mod database;
mod document;
mod files;
mod index;
mod line;
mod man;
mod query;
mod refresh;
mod rerank;
mod search;
mod shared;
mod task_log;
mod vectors;

pub use base::KnowledgeBase;
pub use document::{
    Added, DOCUMENT_LIMIT, Document, Fault, Found, Hit, Indexing, Limits, Listed, Origin, RESULTS,
    SOURCE_LIMIT, Scope, Status,
};
pub use task_log::log;

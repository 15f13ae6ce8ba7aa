//! The knowledge base: one for the agent, shared by its routes and tasks.

use super::database::{failed, open};
use super::document::{
    Added, Document, Fault, Found, Indexing, Limits, Listed, Origin, RESULTS, SOURCE_LIMIT, Scope, Status,
};
use super::files::{Places, stamp_at};
use super::index::{prepare, put, remove, remove_old_logs, usage};
use super::refresh::index_host;
use super::rerank::{RERANKED, Reranker};
use super::search::{Candidate, search};
use super::shared::{Inner, TIME};
use crate::config::host::Host;
use crate::config::tables::{Knowledge, Model};
use crate::protocol::owner::Owner;
use crate::redaction::Secrets;
use rusqlite::params;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;

/// Searches and changes at a time.
const CONCURRENT: usize = 4;
/// Longest time of a search with its re-ranking: a model's tool waits for 5 s.
const SEARCH_TIME: Duration = Duration::from_millis(4500);
/// A first search waits so long for the host's documents.
const FIRST_WAIT: Duration = Duration::from_millis(1500);

/// The knowledge base.
#[derive(Clone)]
pub struct KnowledgeBase {
    inner: Arc<Inner>,
    reranker: Arc<Reranker>,
}

impl KnowledgeBase {
    /// The base in the agent's state directory. One whose file cannot be opened says so in [`Self::status`].
    #[must_use]
    pub fn open(
        host: &Host,
        config: &Knowledge,
        model: &Model,
        secrets: Arc<Secrets>,
        limits: Limits,
    ) -> Self {
        let path = host.state.join("knowledge.db");
        let (writer, fault) = match config.enabled.then(|| open(&path)) {
            Some(Ok(writer)) => (Some(writer), None),
            Some(Err(why)) => {
                tracing::error!(event = "knowledge", "the knowledge base is not in use: {why}");
                (None, Some(why))
            }
            None => (None, Some("off".to_owned())),
        };
        Self {
            reranker: Arc::new(Reranker::new(config, model)),
            inner: Arc::new(Inner {
                path,
                writer: Mutex::new(writer),
                fault,
                places: Places {
                    root: host.root.clone(),
                    notes: host.config.with_file_name("knowledge.d"),
                    has_host_documents: config.host_documents,
                },
                reading: Arc::new(Semaphore::new(CONCURRENT)),
                writing: Arc::new(Semaphore::new(1)),
                limits,
                secrets,
                indexing: Mutex::default(),
                seen: Mutex::default(),
            }),
        }
    }

    /// Adds a text that its owner sent. The name is a label: no file is opened by it.
    ///
    /// # Errors
    /// The text or its name is not as it must be, or a limit is reached.
    pub async fn add(&self, owner: Owner, source: String, text: String) -> Result<Added, Fault> {
        let document = Document { origin: Origin::Added, source, stamp: String::new(), text };
        self.keep(owner, document).await
    }

    /// Keeps the log of a task for its owner.
    ///
    /// # Errors
    /// As above.
    pub async fn add_task(&self, owner: Owner, id: &str, log: String) -> Result<Added, Fault> {
        let source = format!("task {id}");
        self.keep(owner, Document { origin: Origin::Task, source, stamp: String::new(), text: log }).await
    }

    async fn keep(&self, owner: Owner, document: Document) -> Result<Added, Fault> {
        let scope = Scope::Owner(owner);
        self.inner
            .change(move |inner| {
                inner.has_space()?;
                let ready = prepare(&document, &inner.secrets)?;
                inner.write(|sql| {
                    let added = put(sql, scope, &ready, &inner.limits)?;
                    if document.origin == Origin::Task {
                        remove_old_logs(sql, scope).map_err(|error| failed(&error))?;
                    }
                    Ok(added)
                })
            })
            .await
    }

    /// Removes a document of an owner's by its name or number; its name.
    ///
    /// # Errors
    /// There is none.
    pub async fn remove(&self, owner: Owner, which: String) -> Result<String, Fault> {
        if which.len() > SOURCE_LIMIT {
            return Err(Fault::Invalid(format!("a document's name has at most {SOURCE_LIMIT} bytes")));
        }
        self.inner.change(move |inner| inner.write(|sql| remove(sql, Scope::Owner(owner), &which))).await
    }

    /// Lists an owner's documents and the site's notes, by name.
    ///
    /// # Errors
    /// The base does not work.
    pub async fn list(&self, owner: Owner) -> Result<Vec<Listed>, Fault> {
        self.inner
            .read(move |inner| {
                let sql = inner.reader()?;
                let find = "SELECT id, origin, source, title, bytes, added_unix_s FROM documents
                        WHERE scope = ? OR (scope = 'host' AND origin = 'site') ORDER BY origin, source";
                let listed = |row: &rusqlite::Row<'_>| {
                    let origin: String = row.get(1)?;
                    Ok(Listed {
                        id: row.get(0)?,
                        origin: Origin::of_word(&origin).unwrap_or(Origin::Added),
                        source: row.get(2)?,
                        title: row.get(3)?,
                        bytes: row.get(4)?,
                        added_unix_s: row.get(5)?,
                    })
                };
                let mut find = sql.prepare(find).map_err(|error| failed(&error))?;
                let rows = find
                    .query_map(params![Scope::Owner(owner).name()], listed)
                    .map_err(|error| failed(&error))?;
                rows.collect::<rusqlite::Result<_>>().map_err(|error| failed(&error))
            })
            .await
    }

    /// Finds what an owner may find. The host's documents are indexed when they are first asked for, and again after
    /// packages or site notes changed.
    ///
    /// # Errors
    /// The question is not as it must be, or the base does not work.
    pub async fn search(&self, owner: Owner, question: &str, most: Option<usize>) -> Result<Found, Fault> {
        let deadline = Instant::now() + SEARCH_TIME;
        self.refresh_if_changed().await?;
        let most = most.unwrap_or(RESULTS.0).clamp(1, RESULTS.1);
        let reranker = &self.reranker;
        let candidates = if reranker.is_on() { most.max(RERANKED) } else { most };
        let mut found = self.find(owner, question, candidates).await?;
        let time = deadline.saturating_duration_since(Instant::now());
        let ordered = reranker.order(&self.inner, question, &mut found, time).await;
        found.truncate(most);
        Ok(Found { hits: found.into_iter().map(|one| one.hit).collect(), not_reranked: ordered.err() })
    }

    async fn find(&self, owner: Owner, question: &str, most: usize) -> Result<Vec<Candidate>, Fault> {
        let question = question.to_owned();
        let (handle, interrupt) = tokio::sync::oneshot::channel();
        let searching = self.inner.read(move |inner| {
            let sql = inner.reader()?;
            let _ = handle.send(sql.get_interrupt_handle());
            search(&sql, Scope::Owner(owner), &question, most, is_there)
        });
        let mut searching = std::pin::pin!(searching);
        if let Ok(found) = tokio::time::timeout(TIME, &mut searching).await {
            return found;
        }
        if let Ok(handle) = interrupt.await {
            handle.interrupt();
        }
        let _ = searching.await;
        Err(Fault::Failed(format!("nothing was found within {} s; ask with fewer words", TIME.as_secs())))
    }

    /// `ok`, or why no question can be answered: by a question to the base itself.
    pub async fn probe(&self) -> String {
        if let Some(why) = &self.inner.fault {
            return why.clone();
        }
        match self.find(Owner::Token, "postern", 1).await {
            Ok(_) => "ok".to_owned(),
            Err(fault) => fault.message().to_owned(),
        }
    }

    /// The base's state, as an owner may know it.
    ///
    /// # Errors
    /// The base does not work.
    pub async fn status(&self, owner: Owner) -> Result<Status, Fault> {
        let state = self.probe().await;
        let reranking = self.reranker.state();
        self.inner
            .read(move |inner| {
                let sql = inner.reader()?;
                let scope = Scope::Owner(owner);
                let (documents, bytes) = usage(&sql, scope)?;
                let (host_documents, _) = usage(&sql, Scope::Host)?;
                let count = "SELECT count(*) FROM chunks JOIN documents ON documents.id = document
                         WHERE scope = 'host' OR scope = ?";
                let chunks =
                    sql.query_row(count, [scope.name()], |row| row.get(0)).map_err(|error| failed(&error))?;
                let indexing = inner.indexing.lock().unwrap_or_else(PoisonError::into_inner).clone();

                Ok(Status { state, documents, bytes, host_documents, chunks, reranking, indexing })
            })
            .await
    }

    /// How far the host's documents are indexed.
    #[must_use]
    pub fn indexing(&self) -> Indexing {
        self.inner.indexing.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Begins to index the host's documents where they changed, and waits for a short while.
    async fn refresh_if_changed(&self) -> Result<(), Fault> {
        let state = self
            .inner
            .read(|inner| {
                let state = inner.places.state();
                let seen = inner.seen.lock().unwrap_or_else(PoisonError::into_inner);
                Ok((*seen != state).then_some(state))
            })
            .await?;
        let Some(state) = state else { return Ok(()) };
        if std::mem::replace(
            &mut self.inner.indexing.lock().unwrap_or_else(PoisonError::into_inner).running,
            true,
        ) {
            return Ok(());
        }
        let inner = Arc::clone(&self.inner);
        let indexing = tokio::task::spawn_blocking(move || index_host(inner, state));
        // It goes on without this search.
        let _ = tokio::time::timeout(FIRST_WAIT, indexing).await;
        Ok(())
    }
}

/// Whether a document of the host's is still the file that was indexed.
fn is_there(candidate: &Candidate) -> bool {
    match candidate.hit.origin {
        Origin::Added | Origin::Task => true,
        Origin::Site | Origin::Man | Origin::Doc => {
            stamp_at(Path::new(&candidate.hit.source)).is_some_and(|stamp| stamp == candidate.stamp)
        }
    }
}

//! Re-ranks what full-text search found by embeddings: by how near the meaning of each part is to the question's.
//!
//! Off unless `embedding_model` is configured. What leaves the host is the question and the best parts that the search of
//! this person found, both without credentials. A fault of the endpoint leaves the order of full-text search.

use super::chunks::cut;
use super::database::failed;
use super::search::Candidate;
use super::shared::Inner;
use super::vectors::{Part, keep, look_up};
use crate::config::tables::{Knowledge, Model};
use crate::llm::endpoints::embeddings::Embeddings;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Documents that are re-ranked, the first of full-text search.
pub const RERANKED: usize = 30;
/// Texts of one request. Their vectors are kept before the next one, so that a slow endpoint gets further with each search.
const BATCH: usize = 8;
/// Bytes of a part that are sent.
const TEXT_LIMIT: usize = 1500;
/// Weight of full-text search beside the similarity.
const SEARCH_WEIGHT: f64 = 1.0;

/// Re-ranking as it is configured.
pub struct Reranker {
    /// Absent if it is off; why it cannot be used.
    endpoint: Option<Result<Embeddings, String>>,
    timeout: Duration,
    /// The failure of the last search.
    failure: Mutex<Option<String>>,
}

impl Reranker {
    /// As the configuration wants it.
    pub fn new(knowledge: &Knowledge, model: &Model) -> Self {
        let endpoint = Embeddings::new(knowledge, model).transpose();
        if let Some(Err(why)) = &endpoint {
            tracing::error!(event = "knowledge", "results are not re-ranked: {why}");
        }
        Self { endpoint, timeout: knowledge.embedding_timeout.0, failure: Mutex::default() }
    }

    /// Whether there is any.
    pub fn is_on(&self) -> bool {
        self.endpoint.is_some()
    }

    /// `on`, `off`, or the last failure.
    pub fn state(&self) -> String {
        match &self.endpoint {
            None => "off".to_owned(),
            Some(Err(why)) => why.clone(),
            Some(Ok(_)) => {
                let failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
                failure.clone().unwrap_or_else(|| "on".to_owned())
            }
        }
    }

    /// Orders candidates by the question, within a time.
    ///
    /// # Errors
    /// Why they keep their order.
    pub async fn order(
        &self,
        inner: &Arc<Inner>,
        question: &str,
        candidates: &mut Vec<Candidate>,
        time: Duration,
    ) -> Result<(), String> {
        let Some(endpoint) = &self.endpoint else { return Ok(()) };
        let endpoint = endpoint.as_ref().map_err(Clone::clone)?;
        let time = time.min(self.timeout);
        let similarities = tokio::time::timeout(time, similarities(endpoint, inner, question, candidates));
        let late = |_| Err(format!("the endpoint of embeddings needs longer than {} ms", time.as_millis()));
        let similarities = similarities.await.unwrap_or_else(late);
        let failure = similarities.as_ref().err().cloned();
        if let Some(why) = &failure {
            tracing::warn!(event = "knowledge", "results are not re-ranked: {why}");
        }
        *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = failure;
        sort(candidates, &similarities?);
        Ok(())
    }
}

/// The similarity of each candidate and the question, from -1 to 1.
async fn similarities(
    endpoint: &Embeddings,
    inner: &Arc<Inner>,
    question: &str,
    candidates: &[Candidate],
) -> Result<Vec<f32>, String> {
    let text = |candidate: &Candidate| {
        let hit = &candidate.hit;
        let (text, _) = inner.secrets.text(&format!("{}\n{}\n{}", hit.title, hit.heading, hit.text));
        cut(&text, TEXT_LIMIT).to_owned()
    };
    let mut parts: Vec<Part> = candidates.iter().map(|one| Part::new(one, text(one))).collect();
    let model = endpoint.name();
    let looked_up = inner.read(move |inner| {
        look_up(&inner.reader()?, &model, &mut parts).map_err(|error| failed(&error))?;
        Ok(parts)
    });
    let mut parts = looked_up.await.map_err(|fault| fault.message().to_owned())?;
    let (question, _) = inner.secrets.text(question);
    let mut meant: Option<Vec<f32>> = None;
    loop {
        let length = meant.as_ref().map(Vec::len);
        let is_known = |part: &Part| {
            part.vector.as_ref().is_some_and(|vector| length.is_none_or(|length| vector.len() == length))
        };
        let places: Vec<usize> = parts
            .iter()
            .enumerate()
            .filter(|(_, part)| !is_known(part))
            .map(|(at, _)| at)
            .take(BATCH)
            .collect();
        let texts: Vec<String> = meant
            .is_none()
            .then(|| question.clone())
            .into_iter()
            .chain(places.iter().map(|at| parts[*at].text.clone()))
            .collect();
        if texts.is_empty() {
            break;
        }
        let mut vectors = endpoint.of(&texts).await.map_err(|failure| failure.message)?.into_iter();
        if meant.is_none() {
            meant = vectors.next();
        }
        let length = meant.as_ref().map(Vec::len);
        let mut new = Vec::new();
        for (at, vector) in places.into_iter().zip(vectors) {
            if Some(vector.len()) != length {
                return Err("the endpoint's embeddings have different lengths".to_owned());
            }
            parts[at].vector = Some(vector);
            new.push(parts[at].clone());
        }
        let model = endpoint.name();
        let kept = inner.change(move |inner| {
            inner.has_space()?;
            inner.write(|sql| keep(sql, &model, &new).map_err(|error| failed(&error)))
        });
        if let Err(fault) = kept.await {
            tracing::warn!(event = "knowledge", "embeddings are not kept: {}", fault.message());
        }
    }
    let meant = meant.unwrap_or_default();
    let similarity = |part: &Part| {
        let vector = part.vector.as_deref().unwrap_or_default();
        meant.iter().zip(vector).map(|(one, other)| one * other).sum()
    };
    Ok(parts.iter().map(similarity).collect())
}

/// Sorts candidates by similarity and their place in full-text search, each as a share of the best.
fn sort(candidates: &mut Vec<Candidate>, similarities: &[f32]) {
    let (low, high) =
        similarities.iter().fold((f32::MAX, f32::MIN), |(low, high), one| (low.min(*one), high.max(*one)));
    let range = f64::from(high - low).max(f64::EPSILON);
    let best = candidates.first().map_or(1.0, |first| first.score).max(f64::EPSILON);
    let mut scored: Vec<(f64, Candidate)> = std::mem::take(candidates)
        .into_iter()
        .zip(similarities)
        .map(|(one, similarity)| {
            (f64::from(similarity - low) / range + SEARCH_WEIGHT * one.score / best, one)
        })
        .collect();
    // Stable: of two equal ones the one that came first stays first.
    scored.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    candidates.extend(scored.into_iter().map(|(_, one)| one));
}

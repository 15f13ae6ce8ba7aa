//! Embeddings of texts from an endpoint of the form of `OpenAI`'s: one vector a text, near each other where meanings are.

use super::failure::{Failure, Keys, Kind, one_line};
use super::http::{body_text, client, headers, refusal, without_key};
use super::{OPENAI, base_url};
use crate::config::secret;
use crate::config::tables::{Knowledge, Model};
use crate::config::values::Provider;
use reqwest::header::HeaderMap;
use secrecy::SecretString;
use serde::Deserialize;
use serde_json::json;

/// Longest answer, in bytes.
const ANSWER_LIMIT: usize = 8 << 20;
/// Most numbers of a vector.
const DIMENSIONS: usize = 8192;

/// An endpoint of embeddings.
#[derive(Debug)]
pub struct Embeddings {
    client: reqwest::Client,
    url: String,
    headers: HeaderMap,
    key: Option<SecretString>,
    model: String,
}

#[derive(Deserialize)]
struct Answer {
    data: Vec<Embedding>,
}

#[derive(Deserialize)]
struct Embedding {
    index: Option<usize>,
    embedding: Vec<f32>,
}

impl Embeddings {
    /// The endpoint that `[knowledge]` names: its own address and key, or those of `[model]`. `None` if it names none.
    ///
    /// # Errors
    /// Its key is not to be had, or TLS does not start.
    pub fn new(knowledge: &Knowledge, model: &Model) -> Result<Option<Self>, String> {
        if knowledge.embedding_model.is_empty() {
            return Ok(None);
        }
        // The key of [model] is for its address alone.
        let own = Model {
            provider: Provider::Openai,
            base_url: knowledge.embedding_url.clone(),
            key: knowledge.embedding_key.clone(),
            ..Model::default()
        };
        let place = if knowledge.embedding_url.is_some() { &own } else { model };
        let base = base_url(place, OPENAI)?;
        let key = place.key.as_ref().map(secret::fetch).transpose()?;
        Ok(Some(Self {
            client: client(&base)?,
            url: base.join("embeddings"),
            headers: headers(place, key.as_ref())?,
            key,
            model: knowledge.embedding_model.clone(),
        }))
    }

    /// The address and the model: vectors of different ones cannot be compared.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{} {}", self.url, self.model)
    }

    /// The vectors of texts, in their order, each of length 1.
    ///
    /// # Errors
    /// The endpoint cannot be reached, refuses, or its answer has not one vector for each text.
    pub async fn of(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, Failure> {
        self.ask(texts).await.map_err(|failure| without_key(failure, self.key.as_ref()))
    }

    async fn ask(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, Failure> {
        let body = json!({ "model": self.model, "input": texts }).to_string();
        let request = self.client.post(&self.url).headers(self.headers.clone()).body(body);
        let mut response = request.send().await.map_err(|error| Failure::of_connection(&error))?;
        if !response.status().is_success() {
            return Err(refusal(response, &Keys::EMBEDDINGS).await);
        }
        let text = body_text(&mut response, ANSWER_LIMIT).await?;
        vectors(&text, texts.len())
    }
}

fn vectors(text: &str, count: usize) -> Result<Vec<Vec<f32>>, Failure> {
    let form =
        |why: String| Failure::new(Kind::Form, format!("the endpoint's answer has no embeddings: {why}"));
    let Answer { data } = serde_json::from_str(text).map_err(|error| form(one_line(&error.to_string())))?;
    if data.len() != count {
        return Err(form(format!("{} in place of {count}", data.len())));
    }
    let mut vectors = vec![Vec::new(); count];
    for (at, Embedding { index, embedding }) in data.into_iter().enumerate() {
        let place = vectors.get_mut(index.unwrap_or(at)).filter(|place| place.is_empty());
        let place = place.ok_or_else(|| form("their numbers are not those of the texts".to_owned()))?;
        *place = unit(embedding)
            .ok_or_else(|| form(format!("one is empty, without length or longer than {DIMENSIONS}")))?;
    }
    let dimensions = vectors.first().map(Vec::len);
    if vectors.iter().any(|vector| Some(vector.len()) != dimensions) {
        return Err(form("they have different lengths".to_owned()));
    }
    Ok(vectors)
}

/// The vector with length 1; `None` if it has none.
fn unit(mut vector: Vec<f32>) -> Option<Vec<f32>> {
    let length = vector.iter().map(|number| number * number).sum::<f32>().sqrt();
    if vector.len() > DIMENSIONS || !length.is_normal() {
        return None;
    }
    for number in &mut vector {
        *number /= length;
    }
    Some(vector)
}

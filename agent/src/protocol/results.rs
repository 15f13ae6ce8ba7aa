//! Results of a task's steps, and replies of a model that were no step.

use super::step::StepResult;
use serde::ser::SerializeSeq;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::ops::{Deref, DerefMut};
use utoipa::ToSchema;

/// So many such replies are kept.
const MISFORMAT_LIMIT: usize = 100;

/// The results of a task. As a list it is that of its steps; written down, the replies that were no call stand
/// in their places between them.
#[derive(Clone, Debug, Default)]
pub struct Results {
    steps: Vec<StepResult>,
    misformats: Vec<(usize, Misformat)>,
}

/// A reply that was no call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Misformat {
    /// The step that came instead, from 1.
    pub step: usize,
    /// Its fault.
    pub error: MalformedReply,
    /// How it begins, without credentials.
    pub response: String,
}

/// Fault of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum MalformedReply {
    /// It cannot be read as a call.
    ParseError,
}

/// One entry.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub enum Entry {
    /// A step that was tried.
    Step(Box<StepResult>),
    /// A reply that was no call.
    Misformat(Misformat),
}

impl Results {
    /// Returns the number of the next step. Requests of a command's programs have that command's; a reply that was
    /// no call has that of the step which came instead.
    #[must_use]
    pub fn next_number(&self) -> usize {
        self.own().saturating_add(1)
    }

    /// The entries that stand by themselves: steps of the order's own, and replies that were no call.
    #[must_use]
    pub fn entry_count(&self) -> usize {
        self.own().saturating_add(self.misformats.len())
    }

    fn own(&self) -> usize {
        self.steps.iter().filter(|step| step.is_own()).count()
    }

    /// The entries after the first so many, each as JSON.
    #[must_use]
    pub fn texts_after(&self, first: usize) -> Vec<String> {
        let text = |entry| match entry {
            Ok(step) => serde_json::to_string(step),
            Err(misformat) => serde_json::to_string(misformat),
        };
        self.entries().skip(first).map(|entry| text(entry).unwrap_or_default()).collect()
    }

    /// Keeps the beginning of a reply that was no call. It holds no credentials.
    pub fn misformat(&mut self, response: String) {
        if self.misformats.len() < MISFORMAT_LIMIT {
            let step = self.next_number();
            let entry = Misformat { step, error: MalformedReply::ParseError, response };
            self.misformats.push((self.steps.len(), entry));
        }
    }

    fn entries(&self) -> impl Iterator<Item = Result<&StepResult, &Misformat>> {
        let before = |place: usize| self.misformats.iter().filter(move |(at, _)| *at == place);
        let steps = self.steps.iter().map(Some).chain([None]).enumerate();
        steps.flat_map(move |(place, step)| before(place).map(|(_, m)| Err(m)).chain(step.map(Ok)))
    }
}

impl<'r> IntoIterator for &'r Results {
    type Item = &'r StepResult;
    type IntoIter = std::slice::Iter<'r, StepResult>;

    fn into_iter(self) -> Self::IntoIter {
        self.steps.iter()
    }
}

impl Deref for Results {
    type Target = Vec<StepResult>;

    fn deref(&self) -> &Self::Target {
        &self.steps
    }
}

impl DerefMut for Results {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.steps
    }
}

impl Serialize for Results {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(self.steps.len() + self.misformats.len()))?;
        for entry in self.entries() {
            match entry {
                Ok(step) => list.serialize_element(step)?,
                Err(misformat) => list.serialize_element(misformat)?,
            }
        }
        list.end()
    }
}

impl<'de> Deserialize<'de> for Results {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut results = Self::default();
        for entry in Vec::<Entry>::deserialize(deserializer)? {
            match entry {
                Entry::Step(step) => results.steps.push(*step),
                Entry::Misformat(misformat) => results.misformats.push((results.steps.len(), misformat)),
            }
        }
        Ok(results)
    }
}
